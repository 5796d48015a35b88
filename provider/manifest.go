package provider

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/digest"
)

// Manifest declares one provider: how it is identified, probed, measured and
// run, and its capabilities. It is made by [ParseManifest] only and is not
// changed afterwards. The file format is TOML; docs/formats.md has every key
// with its bounds.
type Manifest struct {
	ID          string
	Title       string
	Version     string // exact
	InstallTier Tier
	LicenseID   string
	Features    []string
	Homepage    string

	Identity     Identity
	Runtime      Command
	Probes       Probes
	Install      *Install // nil: no safe installer
	Isolation    Isolation
	Requirements []Requirement
	Capabilities []Capability

	Dir    string // folder of the manifest: ${manifest_dir}; "" while it is embedded and not laid out
	Source string // what to call the manifest's file in messages
	Origin Origin

	schemaFiles []string // as named, below Dir
}

// Origin says who promised a manifest's provider.
type Origin int

// The origins. A built-in manifest is an offer: its provider may be absent. An
// operator's is a promise: if it can't be kept, start-up fails.
const (
	UnknownOrigin Origin = iota
	BuiltIn
	Operator
)

func (o Origin) String() string {
	switch o {
	case BuiltIn:
		return "built-in"
	case Operator:
		return "operator"
	case UnknownOrigin:
	}
	return "unknown"
}

// Identity says which bytes are the provider.
type Identity struct {
	Kind digest.Kind

	Executable string // EXECUTABLE: a name to be found on the host's PATH, or an absolute path

	Entrypoint string   // SOURCE_TREE of a Python package, `module.sub:attribute`
	Root       string   // SOURCE_TREE of any directory; relative to the manifest's folder
	SearchPath []string // where Entrypoint's package is looked for; default the manifest's folder, then the interpreter's path
	Exclude    []string // paths below Root that are not part of the identity

	Distribution       string // PYTHON_DISTRIBUTION_RECORD
	ImportName         string
	RequiredAttributes []string
	VerifyFiles        bool // rehash every recorded file before AVAILABLE

	Components []string // COMPOSITE: provider IDs in order

	Pins map[string]string // platform to the only digest that is accepted there
}

// Command is an argument list with the environment that goes with it. Its
// strings may hold ${python}, ${manifest_dir}, ${executable} and ${scratch}.
type Command struct {
	Argv    []string
	Stdin   string
	Timeout time.Duration
	Env     []string          // names admitted from the host
	Set     map[string]string // constants
	Path    []string          // the child's whole PATH
}

// Probe is a command and what is expected of it.
type Probe struct {
	Command
	Expect Expect
}

// Probes are the four probes; nil where the manifest has none.
type Probes struct {
	Health       *Probe // availability
	Readiness    *Probe // first use
	ColdStart    *Probe // start and stop
	Reproduction *Probe // a small real case with its expected answer
}

// InstallMethod is how a cold install is done.
type InstallMethod string

// The methods: python is uv, else pip.
const (
	InstallPython  InstallMethod = "python"
	InstallNPM     InstallMethod = "npm"
	InstallGo      InstallMethod = "go"
	InstallCommand InstallMethod = "command"
)

// Install declares a cold install.
type Install struct {
	Method  InstallMethod
	Package string   // what the index calls it
	Version string   // exact; default the provider's
	Argv    []string // command only; ${scratch} is where it must put everything it writes
	Timeout time.Duration
	Env     []string // names admitted from the host beyond the method's own
}

// Isolation is what the manifest asks of the host for each of its processes.
type Isolation struct {
	AllowNetwork bool
	Require      []string // network, writes, processes, memory
	Read, Write  []string // absolute folders beyond the defaults
}

// Requirement is a rule as data over measured numbers.
type Requirement struct {
	Name  string `json:"name"`
	Says  string `json:"says"`
	Check string `json:"check"`
}

// Mode is what a caller may ask a capability for.
type Mode string

// The modes.
const (
	Explore Mode = "EXPLORE"
	Verify  Mode = "VERIFY"
)

// Capability is one named operation of the provider.
type Capability struct {
	ID            string
	Version       string
	Title         string
	Description   string
	ReadOnly      bool
	Tags          []string
	Modes         []Mode
	InputKinds    []string // accepted_input_kinds
	ArtifactTypes []string // accepted_artifact_types
	InputSchema   jsontext.Value
	OutputSchema  jsontext.Value
	Examples      []Example
}

// Example is a worked request.
type Example struct {
	Name        string
	Description string
	Input       jsontext.Value
	Mode        Mode
}
