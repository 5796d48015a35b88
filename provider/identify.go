package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	godigest "github.com/opencontainers/go-digest"
	"golang.org/x/text/unicode/norm"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
)

// Measured is what identification read, by kind of identity.
type Measured struct {
	Executable   *digest.ExecutableResult // EXECUTABLE
	Tree         *digest.TreeResult       // SOURCE_TREE, with its entries
	Distribution *digest.Distribution     // PYTHON_DISTRIBUTION_RECORD
	Inventory    *digest.Inventory        // the recorded files that are there
	Components   []Identification         // COMPOSITE, in order
}

// executable is what ${executable} stands for: the measured executable, or that
// of a composite's first component that has one.
func (m Measured) executable() *digest.ExecutableResult {
	if m.Executable != nil {
		return m.Executable
	}
	for _, c := range m.Components {
		if exe := c.Measured.executable(); exe != nil {
			return exe
		}
	}
	return nil
}

// Identification is the outcome of identifying one provider on this host.
type Identification struct {
	Manifest *Manifest
	Runtime  Runtime
	Failure  *Error   // why Runtime is UNAVAILABLE; nil when it is AVAILABLE
	Warnings []string // odd, and no reason to refuse
	Measured Measured
	Health   *probe.Result // the health probe's run, when there was one
}

// Identify measures the identity that m declares and runs its health probe. A
// provider that is missing, wrong or unhealthy is not an error: its Runtime is
// UNAVAILABLE and Failure says why. The error is the context's, when it ended,
// or that of a manifest that can't make a record.
//
// Python kinds are identified by reading files; no code of the provider is
// imported or run, save by a health probe that says so.
func (h *Host) Identify(ctx context.Context, m *Manifest) (Identification, error) {
	id := Identification{Manifest: m}
	version, kindDigest, config, failure := h.measure(ctx, m, &id)
	if err := ctx.Err(); err != nil {
		return Identification{}, err
	}
	if failure == nil {
		failure = checkPin(ctx, m, h.platform, kindDigest, id.Measured)
	}
	if failure == nil {
		version, failure = h.health(ctx, m, &id, version)
		if err := ctx.Err(); err != nil {
			return Identification{}, err
		}
	}
	if failure == nil && version != m.Version {
		failure = skewOf(m, version, id.Measured)
	}
	if failure != nil {
		return h.refused(id, failure)
	}
	record := h.record(m)
	if err := available(&record, m, &id, version, kindDigest, config); err != nil {
		return h.refused(id, err)
	}
	runtime, err := NewRuntime(record)
	if err != nil {
		return h.refused(id, AsError(err, CodeMalformedRuntime))
	}
	id.Runtime = runtime
	return id, nil
}

// refused makes the UNAVAILABLE record.
func (h *Host) refused(id Identification, failure *Error) (Identification, error) {
	id.Failure = named(id.Manifest, failure)
	text := id.Failure.Message
	if text == "" {
		text = id.Failure.Error()
	}
	var err error
	id.Runtime, err = NewRuntime(unavailable(h.record(id.Manifest), text))
	return id, err
}

func versionSkew(m *Manifest, measured string) *Error {
	return &Error{
		Code: CodeUnavailable, Reason: ReasonVersionSkew, Provider: m.ID,
		Message: fmt.Sprintf("version %s is installed, the manifest pins %s", measured, m.Version),
		Hint:    fmt.Sprintf("install version %s, or change the manifest after review", m.Version),
	}
}

// skewOf is versionSkew with the file that told the version.
func skewOf(m *Manifest, told string, measured Measured) *Error {
	e := versionSkew(m, told)
	switch {
	case measured.Executable != nil:
		e.Path = measured.Executable.Path
	case measured.Distribution != nil:
		e.Path = measured.Distribution.MetadataDir
	}
	return e
}

// record is what the manifest alone determines.
func (h *Host) record(m *Manifest) Record {
	return Record{RuntimeVersion: RuntimeVersion, Provider: m.ID, Platform: h.platform, InstallTier: m.InstallTier, LicenseID: m.LicenseID}
}

// unavailable leaves features, checkers, configuration and licence files empty:
// nothing is claimed of what was not measured.
func unavailable(r Record, diagnostic string) Record {
	if diagnostic == "" {
		diagnostic = "unavailable, and the reason could not be determined"
	}
	r.Availability, r.Diagnostic = Unavailable, &diagnostic
	return r
}

// available fills in what was measured.
func available(r *Record, m *Manifest, id *Identification, version string, d godigest.Digest, config map[string]any) *Error {
	kind := m.Identity.Kind
	r.Availability, r.Version, r.Digest, r.DigestKind = Available, &version, &d, &kind
	r.Features = m.Features
	if path, ok := unrepresentable(config); ok {
		return &Error{
			Code: CodeIdentityIncomplete, Reason: ReasonPathUnrepresentable, Path: path,
			Message: fmt.Sprintf("path %+q is not Unicode text in form NFC, so no record can hold it and nobody could measure it again", path),
			Hint:    "install it under a plain name",
		}
	}
	data, err := json.Marshal(config)
	if err != nil {
		return AsError(err, CodeMalformedRuntime)
	}
	r.Configuration = data
	if kind == digest.PythonRecord {
		name := m.Identity.ImportName
		r.ImportName, r.RequiredAttribs = &name, m.Identity.RequiredAttributes
		r.LicenseFiles = id.Measured.Distribution.LicenseFiles
	}
	if kind == digest.CompositeKind {
		r.InstallTier, r.LicenseID = compositeTierAndLicense(id.Measured.Components)
		id.Warnings = append(id.Warnings, compositeWarnings(m, r)...)
	}
	return nil
}

// unrepresentable finds a string that would not survive canonical JSON.
func unrepresentable(config map[string]any) (string, bool) {
	bad := func(s string) bool { return !utf8.ValidString(s) || !norm.NFC.IsNormalString(s) }
	for _, key := range slices.Sorted(maps.Keys(config)) {
		list, _ := config[key].([]string)
		if s, ok := config[key].(string); ok {
			list = []string{s}
		}
		if i := slices.IndexFunc(list, bad); i >= 0 {
			return list[i], true
		}
	}
	return "", false
}

// measure computes the identity and what goes into configuration. Version is ""
// when only the health probe can tell it.
func (h *Host) measure(ctx context.Context, m *Manifest, id *Identification) (version string, d godigest.Digest, config map[string]any, failure *Error) {
	switch m.Identity.Kind {
	case digest.ExecutableKind:
		return h.measureExecutable(ctx, m, id)
	case digest.SourceTree:
		return h.measureTree(ctx, m, id)
	case digest.PythonRecord:
		return h.measureDistribution(ctx, m, id)
	case digest.CompositeKind:
		return h.measureComposite(ctx, m, id)
	}
	return "", "", nil, &Error{Code: CodeIdentityIncomplete, Message: fmt.Sprintf("identity kind %q", m.Identity.Kind)}
}

func (h *Host) measureExecutable(ctx context.Context, m *Manifest, id *Identification) (string, godigest.Digest, map[string]any, *Error) {
	path := m.Identity.Executable
	if !strings.HasPrefix(path, "/") {
		search, _ := h.options.Lookup("PATH")
		found, ok := findOnPath(search, path)
		if !ok {
			return "", "", nil, &Error{
				Code: CodeUnavailable, Reason: ReasonExecutableMissing, Path: path,
				Message: fmt.Sprintf("executable %q is not on PATH", path),
				Hint:    fmt.Sprintf("install %s %s, and put its folder on PATH", m.ID, m.Version),
			}
		}
		path = found
	}
	exe, err := digest.Executable(ctx, path)
	if err != nil {
		return "", "", nil, digestError(err, CodeUnavailable, "")
	}
	id.Measured.Executable = &exe
	return "", exe.Digest, map[string]any{"executable": exe.Path}, nil
}

func (h *Host) measureTree(ctx context.Context, m *Manifest, id *Identification) (string, godigest.Digest, map[string]any, *Error) {
	if m.Identity.Root != "" {
		root, failure := below(m, m.Identity.Root)
		if failure != nil {
			return "", "", nil, failure
		}
		tree, err := digest.Tree(ctx, root, digest.TreeOptions{Exclude: m.Identity.Exclude, CollectFiles: true})
		if err != nil {
			return "", "", nil, digestError(err, CodeUnavailable, "")
		}
		if tree.Files == 0 {
			return "", "", nil, &Error{Code: CodeUnavailable, Reason: digest.CodeNotFound, Path: root, Message: root + " holds no file"}
		}
		id.Measured.Tree = &tree
		config := map[string]any{"root": tree.Root, "tree_format": string(tree.Format)}
		if len(m.Identity.Exclude) > 0 {
			config["exclude"] = m.Identity.Exclude
		}
		return m.Version, tree.Digest, config, nil
	}
	search, declared, failure := h.entrypointPath(ctx, m)
	if failure != nil {
		return "", "", nil, failure
	}
	tree, err := digest.PythonPackage(ctx, search, m.Identity.Entrypoint, digest.TreeOptions{CollectFiles: true})
	if err != nil {
		return "", "", nil, digestError(err, CodeUnavailable, "")
	}
	id.Measured.Tree = &tree
	config := map[string]any{"entrypoint": m.Identity.Entrypoint, "tree_format": string(tree.Format)}
	if len(declared) > 0 {
		config["search_path"] = declared
	}
	return m.Version, tree.Digest, config, nil
}

// entrypointPath is where an entrypoint's package is looked for. What the
// manifest, the folder of an operator's manifest, or an editable install adds to
// the interpreter's own path is declared: it goes into configuration, or nobody could measure
// again without the manifest.
func (h *Host) entrypointPath(ctx context.Context, m *Manifest) (search, declared []string, failure *Error) {
	for _, dir := range m.Identity.SearchPath {
		dir, failure := below(m, dir)
		if failure != nil {
			return nil, nil, failure
		}
		declared = append(declared, dir)
	}
	if len(declared) == 0 && m.Origin == Operator && m.Dir != "" {
		declared = []string{m.Dir}
	}
	if m.Identity.Distribution != "" {
		dirs, failure := h.editableDirs(ctx, m)
		if failure != nil {
			return nil, nil, failure
		}
		declared = append(declared, dirs...)
	}
	return append(slices.Clone(declared), h.commonModulePath(ctx)...), declared, nil
}

// below makes a path of the manifest absolute.
func below(m *Manifest, path string) (string, *Error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if m.Dir == "" {
		return "", &Error{
			Code: CodeUnavailable, Reason: ReasonWorkersUnavailable, Path: path,
			Message: fmt.Sprintf("%s is relative to the manifest's folder, and the manifest was only read, not laid out", path),
		}
	}
	return filepath.Join(m.Dir, path), nil
}

// commonModulePath is where every entrypoint is looked for after its own path:
// the built-in workers, then the interpreter's path when there is one.
func (h *Host) commonModulePath(ctx context.Context) []string {
	var search []string
	if h.workerDir != "" {
		search = append(search, h.workerDir)
	}
	if python, err := h.Python(ctx); err == nil {
		search = append(search, python.Site...)
	}
	return search
}

// editableDirs are the folders that an editable install of the manifest's
// distribution imports from; none when it is not editable.
func (h *Host) editableDirs(ctx context.Context, m *Manifest) ([]string, *Error) {
	d, failure := h.findDistribution(ctx, m.Identity.Distribution)
	if failure != nil {
		return nil, failure
	}
	if d.Editable == nil {
		return nil, nil
	}
	if !d.Editable.CheckoutExists {
		return nil, &Error{
			Code: CodeUnavailable, Reason: ReasonEditable, Path: d.Editable.Checkout,
			Message: fmt.Sprintf("%s is an editable install of a checkout that is gone: %s", d.Name, d.Editable.URL),
			Hint:    "restore the checkout, or install the distribution again",
		}
	}
	dirs := slices.Clone(d.Editable.ImportDirs)
	if d.Editable.Checkout != "" {
		dirs = append(dirs, d.Editable.Checkout)
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Clean(dir)
	}
	return dirs, nil
}

func (h *Host) measureComposite(ctx context.Context, m *Manifest, id *Identification) (string, godigest.Digest, map[string]any, *Error) {
	var records [][]byte
	var raw []jsontext.Value
	var broken []error
	for _, name := range m.Identity.Components {
		component, ok := h.set.Provider(name)
		if !ok {
			return "", "", nil, &Error{Code: CodeUnavailable, Reason: ReasonComponentUnknown, Message: fmt.Sprintf("component %q is not a known provider", name)}
		}
		identified, err := h.Identify(ctx, component)
		if err != nil {
			return "", "", nil, AsError(err, CodeUnavailable)
		}
		id.Measured.Components = append(id.Measured.Components, identified)
		for _, w := range identified.Warnings {
			id.Warnings = append(id.Warnings, name+": "+w)
		}
		if identified.Failure != nil {
			broken = append(broken, identified.Failure)
			continue
		}
		data, err := json.Marshal(identified.Runtime)
		if err != nil {
			return "", "", nil, AsError(err, CodeMalformedRuntime)
		}
		records, raw = append(records, data), append(raw, data)
	}
	if len(broken) > 0 {
		return "", "", nil, componentFailure(broken)
	}
	d, err := digest.Composite(records)
	if err != nil {
		return "", "", nil, digestError(err, CodeMalformedRuntime, "")
	}
	return CompositeVersion, d, map[string]any{"components": raw}, nil
}

// componentFailure names every broken component; its hint and path are the
// first one's.
func componentFailure(broken []error) *Error {
	texts := make([]string, len(broken))
	for i, err := range broken {
		texts[i] = err.Error()
	}
	e := &Error{
		Code: CodeUnavailable, Reason: ReasonComponent,
		Message: "unavailable components: " + strings.Join(texts, "; "), Err: errors.Join(broken...),
	}
	var first *Error
	if errors.As(broken[0], &first) {
		e.Hint, e.Path = first.Hint, first.Path
	}
	return e
}

// checkPin compares with the digest that the manifest pins for this platform.
func checkPin(ctx context.Context, m *Manifest, platform string, d godigest.Digest, measured Measured) *Error {
	pin, ok := m.Identity.Pins[platform]
	if !ok || pin == d.String() {
		return nil
	}
	e := &Error{
		Code: CodeUnavailable, Reason: ReasonDigestPin,
		Message: fmt.Sprintf("measured %s, the manifest pins %s", d, pin),
		Hint:    "install the pinned build, or change the pin after review",
	}
	if measured.Executable != nil {
		e.Path = measured.Executable.Path
	}
	if measured.Distribution != nil {
		e.Path = measured.Distribution.MetadataDir
	}
	if measured.Tree != nil && m.Identity.Root != "" {
		e.Path = measured.Tree.Root
		noteLineEndings(ctx, e, godigest.Digest(pin), measured.Tree.Root, digest.TreeOptions{Exclude: m.Identity.Exclude})
	}
	return e
}

// health runs the health probe, if there is one, and returns the version that it
// told, or the given one.
func (h *Host) health(ctx context.Context, m *Manifest, id *Identification, version string) (string, *Error) {
	p := m.Probes.Health
	if p == nil {
		return version, nil
	}
	result, err := h.RunProbe(ctx, m, id.Measured, p, CodeUnavailable)
	id.Health = result
	if err != nil {
		e := AsError(err, CodeUnavailable)
		if result != nil && result.Outcome == probe.Exited {
			// Another version than the pinned one often answers in another form,
			// and then the version is the news.
			if told := p.Expect.version(result.Stdout, result.Stderr); told != "" && told != m.Version {
				return "", skewOf(m, told, id.Measured)
			}
		}
		failed := *e
		failed.Message = "health probe: " + e.Message
		return "", &failed
	}
	if told := p.Expect.version(result.Stdout, result.Stderr); told != "" {
		return told, nil
	}
	if version == "" {
		return "", &Error{Code: CodeUnavailable, Reason: ReasonVersionUnknown, Message: "the health probe told no version"}
	}
	return version, nil
}
