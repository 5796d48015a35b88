package measure

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/provider-measure/provider-measure/digest"
	"github.com/provider-measure/provider-measure/probe"
	"github.com/provider-measure/provider-measure/provider"
)

// maxDetail is the longest detail or reason, in characters.
const maxDetail = 512

// clean makes text fit for a detail: one line, valid UTF-8, no control
// characters, no user and password in a URL, at most maxDetail characters.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	// Installers repeat the index and proxy that they were given.
	s = regexp.MustCompile(`://[^/\s@"']*@`).ReplaceAllString(s, "://***@")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) > maxDetail {
		s = string([]rune(s)[:maxDetail-1]) + "…"
	}
	return s
}

// detail is `code: text`.
func detail(code error, text string) *string {
	s := clean(code.Error() + ": " + text)
	return &s
}

// joined is the detail of several texts, nil for none.
func joined(texts []string) *string {
	if len(texts) == 0 {
		return nil
	}
	s := clean(strings.Join(texts, "; "))
	return &s
}

// reasonOf finds the stable reason in a failure of another package.
func reasonOf(err error, fallback Code) error {
	var pe *provider.Error
	if errors.As(err, &pe) && pe.Reason != nil {
		return pe.Reason
	}
	var de *digest.Error
	if errors.As(err, &de) {
		return de.Code
	}
	var re *probe.Error
	if errors.As(err, &re) {
		return re.Code
	}
	return fallback
}

// messageOf is a failure's text without the provider's name, which the record
// has already.
func messageOf(err error) string {
	var pe *provider.Error
	if errors.As(err, &pe) && pe.Message != "" {
		return pe.Message
	}
	return err.Error()
}
