package measure

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// normalised replaces what differs between two hosts or two runs.
func normalised(text string) string {
	for _, r := range []struct{ pattern, with string }{
		{`("(?:seconds|user|system|period_seconds)": )(?:[0-9.e-]+|null)`, `${1}"TIME"`},
		{`("bytes": )[0-9]+(,\s+"method")`, `${1}"PEAK"${2}`},
		{`("method": )(?:"[^"]*"|null)`, `${1}"METHOD"`},
		{`("(?:kernel|machine|cpu_model|governor|virtualisation)": )(?:"[^"]*"|null)`, `${1}"FACT"`},
		{`("(?:cpu_count|memory_bytes)": )(?:[0-9]+|null)`, `${1}"FACT"`},
		{`("load": )(?:\[[^\]]*\]|null)`, `${1}"FACT"`},
		{`("unknown": )\{[^}]*\}`, `${1}"REASONS"`},
		{`("platform": )"[^"]*"`, `${1}"PLATFORM"`},
		{`"[^"]*/bin/tool`, `"TOOL`},
		{`("processes": )(?:1|null)`, `${1}"PROCESSES"`},
		{`("detail": )"(?:processes|user and system|peak_rss_bytes|tree_rss_bytes): [^"]*"`, `${1}null`},
		{`("reported": )[0-9]+`, `${1}"NUMBER"`},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return text
}

// The whole record, as it is printed for people; -update writes it anew.
func TestGolden(t *testing.T) {
	x := newTool(t)
	h := x.host(t, coldStartProbe+reproductionProbe+commandInstall+`[[requirements]]
name = "quick"
says = "starts within a minute"
check = "cold-start-ms < 60000"
[[requirements]]
name = "tiny"
says = "has one file"
check = "installed-files == 2"
`, nil)
	for name, opts := range map[string]Options{"record": {Runs: 1}, "record-install": {Runs: 2, ColdInstall: true}} {
		t.Run(name, func(t *testing.T) {
			r := measured(t, h, opts)
			data, err := r.Indented()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseRecord(data); err != nil {
				t.Fatal(err)
			}
			got := normalised(string(data))
			path := filepath.Join("testdata", name+".golden")
			if updating() {
				write(t, path, got, 0o644)
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
