package provider

// The TOML file as it is written. Every field has the key's one spelling; what
// is optional is a pointer, so that absent and zero are told apart. The json and
// jsonschema tags are for the published schema only.

type manifestFile struct {
	ManifestVersion int64             `toml:"manifest_version" json:"manifest_version" jsonschema:"version of this format, 1"`
	Provider        providerTable     `toml:"provider" json:"provider" jsonschema:"what is provided"`
	Identity        identityTable     `toml:"identity" json:"identity" jsonschema:"which bytes are the provider"`
	Runtime         commandTable      `toml:"runtime" json:"runtime,omitempty" jsonschema:"how a process of this provider is started"`
	Probes          probesTable       `toml:"probes" json:"probes,omitempty" jsonschema:"health, readiness, cold start and a small real case"`
	Install         *installTable     `toml:"install" json:"install,omitempty" jsonschema:"how a cold install is done; absent when there is no safe installer"`
	Isolation       isolationTable    `toml:"isolation" json:"isolation,omitempty" jsonschema:"what is asked of the host for each process"`
	Requirements    []requirementRow  `toml:"requirements" json:"requirements,omitempty" jsonschema:"rules over measured numbers, judged by the host"`
	Capabilities    []capabilityTable `toml:"capabilities" json:"capabilities,omitempty" jsonschema:"the operations that are offered"`
}

type providerTable struct {
	ID          string   `toml:"id" json:"id" jsonschema:"provider ID"`
	Title       string   `toml:"title" json:"title" jsonschema:"name for people"`
	Version     string   `toml:"version" json:"version" jsonschema:"the exact version; the measured one must equal it; composite-1 for a COMPOSITE"`
	InstallTier string   `toml:"install_tier" json:"install_tier" jsonschema:"T0 nothing beyond the locked base, T1 packaged wheels, T2 pinned external executable, T3 separately managed ecosystem"`
	LicenseID   string   `toml:"license_id" json:"license_id" jsonschema:"SPDX licence expression"`
	Features    []string `toml:"features" json:"features,omitempty" jsonschema:"what this provider can do, in words of its own"`
	Homepage    string   `toml:"homepage" json:"homepage,omitempty" jsonschema:"where a person reads more"`
}

type identityTable struct {
	Kind               string            `toml:"kind" json:"kind" jsonschema:"the kind of identity"`
	Executable         string            `toml:"executable" json:"executable,omitempty" jsonschema:"EXECUTABLE: a name to be found on the host's PATH, or an absolute path"`
	Entrypoint         string            `toml:"entrypoint" json:"entrypoint,omitempty" jsonschema:"SOURCE_TREE of a Python package: module.sub:attribute"`
	Root               string            `toml:"root" json:"root,omitempty" jsonschema:"SOURCE_TREE of a folder, relative to the manifest's or absolute"`
	SearchPath         []string          `toml:"search_path" json:"search_path,omitempty" jsonschema:"where the entrypoint's package is looked for first; default the manifest's folder"`
	Exclude            []string          `toml:"exclude" json:"exclude,omitempty" jsonschema:"paths below root that are not part of the identity"`
	Distribution       string            `toml:"distribution" json:"distribution,omitempty" jsonschema:"PYTHON_DISTRIBUTION_RECORD: the distribution; SOURCE_TREE: the editable install to look through"`
	ImportName         string            `toml:"import_name" json:"import_name,omitempty" jsonschema:"the module that the distribution is imported as"`
	RequiredAttributes []string          `toml:"required_attributes" json:"required_attributes,omitempty" jsonschema:"attributes of the module that must be there at first use"`
	VerifyFiles        bool              `toml:"verify_files" json:"verify_files,omitempty" jsonschema:"rehash every recorded file before AVAILABLE"`
	Components         []string          `toml:"components" json:"components,omitempty" jsonschema:"COMPOSITE: provider IDs in order"`
	Digest             map[string]string `toml:"digest" json:"digest,omitempty" jsonschema:"for each platform, the only digest that is accepted"`
}

type commandTable struct {
	Argv        []string          `toml:"argv" json:"argv,omitempty" jsonschema:"the argument list; there is no shell"`
	TimeoutSecs *int64            `toml:"timeout_secs" json:"timeout_secs,omitempty" jsonschema:"wall time limit in seconds, default 30"`
	Env         []string          `toml:"env" json:"env,omitempty" jsonschema:"names of variables admitted from the host"`
	Set         map[string]string `toml:"set" json:"set,omitempty" jsonschema:"variables with constant values"`
	Path        []string          `toml:"path" json:"path,omitempty" jsonschema:"the child's whole PATH, default empty"`
}

type probeTable struct {
	Argv        []string          `toml:"argv" json:"argv,omitempty" jsonschema:"the argument list, default that of runtime"`
	Stdin       string            `toml:"stdin" json:"stdin,omitempty" jsonschema:"given on standard input"`
	TimeoutSecs *int64            `toml:"timeout_secs" json:"timeout_secs,omitempty" jsonschema:"wall time limit in seconds, default that of runtime"`
	Env         []string          `toml:"env" json:"env,omitempty" jsonschema:"names of variables admitted from the host, default those of runtime"`
	Set         map[string]string `toml:"set" json:"set,omitempty" jsonschema:"variables with constant values, default those of runtime"`
	Path        []string          `toml:"path" json:"path,omitempty" jsonschema:"the child's whole PATH, default that of runtime"`
	Expect      *expectTable      `toml:"expect" json:"expect,omitempty" jsonschema:"what the answer must be, default exit code 0"`
}

type probesTable struct {
	Health       *probeTable `toml:"health" json:"health,omitempty" jsonschema:"availability; imports and runs no code of a Python provider"`
	Readiness    *probeTable `toml:"readiness" json:"readiness,omitempty" jsonschema:"first use"`
	ColdStart    *probeTable `toml:"cold_start" json:"cold_start,omitempty" jsonschema:"start and stop"`
	Reproduction *probeTable `toml:"reproduction" json:"reproduction,omitempty" jsonschema:"a small real case with its expected answer"`
}

type expectTable struct {
	Exit   *int64       `toml:"exit" json:"exit,omitempty" jsonschema:"exit code, default 0"`
	Stdout *streamTable `toml:"stdout" json:"stdout,omitempty" jsonschema:"standard output; all that is given must hold"`
	Stderr *streamTable `toml:"stderr" json:"stderr,omitempty" jsonschema:"standard error; all that is given must hold"`
}

type streamTable struct {
	Equals   *string `toml:"equals" json:"equals,omitempty" jsonschema:"the whole stream, to the byte"`
	Contains *string `toml:"contains" json:"contains,omitempty" jsonschema:"a part of the stream"`
	Matches  *string `toml:"matches" json:"matches,omitempty" jsonschema:"an RE2 pattern; a group named version is the measured version"`
	JSON     any     `toml:"json" json:"json,omitempty" jsonschema:"the whole stream as one JSON value"`
}

type installTable struct {
	Method      string   `toml:"method" json:"method" jsonschema:"python is uv, else pip"`
	Package     string   `toml:"package" json:"package,omitempty" jsonschema:"what the index calls it"`
	Version     string   `toml:"version" json:"version,omitempty" jsonschema:"exact, default the provider's"`
	Argv        []string `toml:"argv" json:"argv,omitempty" jsonschema:"method command only; fills ${scratch} and nothing else"`
	TimeoutSecs *int64   `toml:"timeout_secs" json:"timeout_secs,omitempty" jsonschema:"wall time limit in seconds, default 600"`
	Env         []string `toml:"env" json:"env,omitempty" jsonschema:"names of variables admitted from the host beyond the method's own"`
}

type isolationTable struct {
	Network string   `toml:"network" json:"network,omitempty" jsonschema:"deny (default) or allow"`
	Require []string `toml:"require" json:"require,omitempty" jsonschema:"what must be enforced, or nothing starts"`
	Read    []string `toml:"read" json:"read,omitempty" jsonschema:"absolute folders that reads are limited to; default unlimited"`
	Write   []string `toml:"write" json:"write,omitempty" jsonschema:"absolute folders that may be written beside the scratch folder"`
}

type requirementRow struct {
	Name  string `toml:"name" json:"name" jsonschema:"short name"`
	Says  string `toml:"says" json:"says" jsonschema:"the rule in words"`
	Check string `toml:"check" json:"check" jsonschema:"measurement, operator, whole number: cold-start-ms <= 2000"`
}

type capabilityTable struct {
	ID            string         `toml:"id" json:"id" jsonschema:"capability ID"`
	Version       string         `toml:"version" json:"version" jsonschema:"version of the capability's contract"`
	Title         string         `toml:"title" json:"title" jsonschema:"name for people"`
	Description   string         `toml:"description" json:"description" jsonschema:"what it answers"`
	ReadOnly      bool           `toml:"read_only" json:"read_only,omitempty" jsonschema:"whether a run changes nothing"`
	Tags          []string       `toml:"tags" json:"tags,omitempty" jsonschema:"words that policies select by"`
	Modes         []string       `toml:"modes" json:"modes,omitempty" jsonschema:"default EXPLORE"`
	InputKinds    []string       `toml:"accepted_input_kinds" json:"accepted_input_kinds,omitempty" jsonschema:"default STRUCTURED_REQUEST"`
	ArtifactTypes []string       `toml:"accepted_artifact_types" json:"accepted_artifact_types,omitempty" jsonschema:"needed exactly with TYPED_ARTIFACT"`
	InputSchema   string         `toml:"input_schema" json:"input_schema" jsonschema:"file with the input's JSON Schema 2020-12, relative to the manifest"`
	OutputSchema  string         `toml:"output_schema" json:"output_schema" jsonschema:"file with the output's JSON Schema 2020-12, relative to the manifest"`
	Examples      []exampleTable `toml:"examples" json:"examples,omitempty" jsonschema:"worked requests"`
}

type exampleTable struct {
	Name        string `toml:"name" json:"name" jsonschema:"short name"`
	Description string `toml:"description" json:"description" jsonschema:"what it shows"`
	Input       any    `toml:"input" json:"input" jsonschema:"the request's input"`
	Mode        string `toml:"mode" json:"mode,omitempty" jsonschema:"default the capability's first"`
}
