package provider

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-measure/provider-measure/internal/canonjson"
)

// Expect is what a probe must answer. The zero value expects exit code 0 and
// says nothing of the streams.
type Expect struct {
	Exit   int
	Stdout StreamExpect
	Stderr StreamExpect
}

// StreamExpect is what one output stream must be; all that is given must hold.
type StreamExpect struct {
	Equals   *string
	Contains *string
	Matches  *regexp.Regexp // RE2; a group named version is the measured version
	JSON     jsontext.Value // canonical; the whole stream as one JSON value must equal it
}

const versionGroup = "version"

func (s StreamExpect) namesVersion() bool {
	return s.Matches != nil && s.Matches.SubexpIndex(versionGroup) >= 0
}

func (e Expect) namesVersion() bool { return e.Stdout.namesVersion() || e.Stderr.namesVersion() }

// version extracts the measured version, "" when no expectation names one or it
// did not match.
func (e Expect) version(stdout, stderr []byte) string {
	for _, s := range []struct {
		expect StreamExpect
		output []byte
	}{{e.Stdout, stdout}, {e.Stderr, stderr}} {
		if !s.expect.namesVersion() {
			continue
		}
		if m := s.expect.Matches.FindSubmatch(s.output); m != nil {
			return string(m[s.expect.Matches.SubexpIndex(versionGroup)])
		}
	}
	return ""
}

// mismatch says how the answer differs from what was expected, "" when it
// doesn't. On a mismatch of one stream both are shown, since programs answer on
// the other one more often than not.
func (e Expect) mismatch(exit int, stdout, stderr []byte) string {
	var wrong []string
	if exit != e.Exit {
		wrong = append(wrong, fmt.Sprintf("exit code is %d, want %d", exit, e.Exit))
	}
	wrong = append(wrong, e.Stdout.mismatch("stdout", stdout)...)
	wrong = append(wrong, e.Stderr.mismatch("stderr", stderr)...)
	if len(wrong) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (stdout %s; stderr %s)", strings.Join(wrong, "; "), excerpt(stdout), excerpt(stderr))
}

func (s StreamExpect) mismatch(name string, got []byte) []string {
	var wrong []string
	if s.Equals != nil && string(got) != *s.Equals {
		how := ""
		if strings.ReplaceAll(string(got), "\r\n", "\n") == strings.ReplaceAll(*s.Equals, "\r\n", "\n") {
			how = ", only in line endings"
		}
		wrong = append(wrong, fmt.Sprintf("%s differs from %s%s", name, excerpt([]byte(*s.Equals)), how))
	}
	if s.Contains != nil && !bytes.Contains(got, []byte(*s.Contains)) {
		wrong = append(wrong, fmt.Sprintf("%s lacks %s", name, excerpt([]byte(*s.Contains))))
	}
	if s.Matches != nil && !s.Matches.Match(got) {
		wrong = append(wrong, fmt.Sprintf("%s does not match %s", name, excerpt([]byte(s.Matches.String()))))
	}
	if s.JSON != nil {
		canonical, err := canonjson.Canonicalize(got)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s is not the expected JSON: %v", name, err))
		case !bytes.Equal(canonical, s.JSON):
			wrong = append(wrong, fmt.Sprintf("%s is other JSON than %s", name, excerpt(s.JSON)))
		}
	}
	return wrong
}

// excerpt quotes some output with control characters escaped, short enough that a
// diagnostic holds two. Of a long one it keeps the beginning and, as a program
// says last what went wrong, more of the end.
func excerpt(b []byte) string {
	const head, tail = 40, 100
	if len(b) == 0 {
		return "empty"
	}
	if len(b) <= 5*(head+tail) {
		if runes := []rune(strings.ToValidUTF8(string(b), "\ufffd")); len(runes) <= head+tail {
			return fmt.Sprintf("%+q", string(runes))
		}
	}
	first := []rune(strings.ToValidUTF8(string(b[:min(len(b), 5*head)]), "\ufffd"))
	last := []rune(strings.ToValidUTF8(string(b[max(0, len(b)-5*tail):]), "\ufffd"))
	return fmt.Sprintf("%+q … %+q", string(first[:min(len(first), head)]), string(last[max(0, len(last)-tail):]))
}
