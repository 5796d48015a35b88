package measure

import (
	"slices"
	"strings"

	godigest "github.com/opencontainers/go-digest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/internal/canonjson"
	"github.com/provider-measure/provider-measure/provider"
)

// contract is what two records must share for their numbers to be comparable.
type contract struct {
	Version      string           `json:"measurement_version"`
	ColdStart    *contractProbe   `json:"cold_start"`
	Reproduction *contractProbe   `json:"reproduction"`
	Install      *contractInstall `json:"install"`
	Isolation    contractIsolated `json:"isolation"`
}

type contractProbe struct {
	Argv      []string          `json:"argv"`
	Stdin     string            `json:"stdin"`
	TimeoutMS int64             `json:"timeout_ms"`
	Env       []string          `json:"env"`
	Set       map[string]string `json:"set"`
	Path      []string          `json:"path"`
	Expect    contractExpect    `json:"expect"`
}

type contractExpect struct {
	Exit   int            `json:"exit"`
	Stdout contractStream `json:"stdout"`
	Stderr contractStream `json:"stderr"`
}

type contractStream struct {
	Equals   *string        `json:"equals"`
	Contains *string        `json:"contains"`
	Matches  *string        `json:"matches"`
	JSON     jsontext.Value `json:"json"`
}

type contractInstall struct {
	Method    provider.InstallMethod `json:"method"`
	Package   string                 `json:"package"`
	Version   string                 `json:"version"`
	Argv      [][]string             `json:"argv"` // of every installer of the method, first choice first
	TimeoutMS int64                  `json:"timeout_ms"`
	Env       []string               `json:"env"`
	Limits    contractLimits         `json:"limits"`
}

type contractLimits struct {
	Memory    int64 `json:"memory"`
	FileSize  int64 `json:"file_size"`
	Processes int   `json:"processes"`
}

type contractIsolated struct {
	Network bool     `json:"network"`
	Require []string `json:"require"`
	Read    []string `json:"read"`
	Write   []string `json:"write"`
}

// contractDigest is sha256 over the canonical JSON of [contract]: for the cold
// start, the reproduction case and the install, the argument lists as they are
// written, before ${python} and the like are replaced, with standard input,
// environment, limits and expectations. It is therefore the same on two hosts
// that measure by the same manifest, wherever their files are, and whichever
// installer they have. The number of runs is not part of it, since it changes no
// single run. Limits that a manifest can't set are this program's own and change
// only together with measurement_version; the files that a command names are not
// part of it either, but of an identity or of nothing.
func contractDigest(m *provider.Manifest) (godigest.Digest, error) {
	c := contract{
		Version: Version, ColdStart: contractOf(m.Probes.ColdStart), Reproduction: contractOf(m.Probes.Reproduction),
		Isolation: contractIsolated{
			Network: m.Isolation.AllowNetwork, Require: sorted(m.Isolation.Require),
			Read: sorted(m.Isolation.Read), Write: sorted(m.Isolation.Write),
		},
	}
	if in := m.Install; in != nil {
		c.Install = &contractInstall{
			Method: in.Method, Package: in.Package, Version: in.Version, Argv: installArgv(in),
			TimeoutMS: in.Timeout.Milliseconds(), Env: sorted(in.Env),
			Limits: contractLimits{Memory: installMemory, FileSize: installFileSize, Processes: installProcesses},
		}
	}
	return canonjson.Digest(c)
}

func contractOf(p *provider.Probe) *contractProbe {
	if p == nil {
		return nil
	}
	c := &contractProbe{
		Argv: notNil(p.Argv), Stdin: p.Stdin, TimeoutMS: p.Timeout.Milliseconds(), Env: sorted(p.Env), Set: p.Set, Path: notNil(p.Path),
		Expect: contractExpect{Exit: p.Expect.Exit, Stdout: contractStreamOf(p.Expect.Stdout), Stderr: contractStreamOf(p.Expect.Stderr)},
	}
	if c.Set == nil {
		c.Set = map[string]string{}
	}
	return c
}

func contractStreamOf(s provider.StreamExpect) contractStream {
	c := contractStream{Equals: s.Equals, Contains: s.Contains, JSON: s.JSON}
	if s.Matches != nil {
		text := s.Matches.String()
		c.Matches = &text
	}
	if c.JSON == nil {
		c.JSON = jsontext.Value("null")
	}
	return c
}

func notNil(list []string) []string { return append([]string{}, list...) }

func sorted(list []string) []string {
	out := notNil(list)
	slices.Sort(out)
	return out
}

// usesPython reports whether a manifest's processes are run by ${python}.
func usesPython(m *provider.Manifest) bool {
	if m.Identity.Kind == digest.PythonRecord {
		return true
	}
	commands := []provider.Command{m.Runtime}
	for _, p := range []*provider.Probe{m.Probes.Health, m.Probes.Readiness, m.Probes.ColdStart, m.Probes.Reproduction} {
		if p != nil {
			commands = append(commands, p.Command)
		}
	}
	for _, c := range commands {
		text := strings.Join(c.Argv, "\x00") + "\x00" + strings.Join(c.Path, "\x00")
		for _, value := range c.Set {
			text += "\x00" + value
		}
		if strings.Contains(text, pythonVar) {
			return true
		}
	}
	return false
}

// pythonVar is the manifest's interpolation of the interpreter.
const pythonVar = "${python}"
