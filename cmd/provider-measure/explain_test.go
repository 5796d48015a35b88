package main

import (
	"bytes"
	"testing"

	"github.com/provider-measure/provider-measure/docs"
)

// TestExplainEvery explains every code that is listed.
func TestExplainEvery(t *testing.T) {
	all := explanations(docs.Codes)
	if len(all) < 100 {
		t.Fatalf("%d codes, there were more than 100", len(all))
	}
	for _, want := range all {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), []string{programName, "explain", want.Code}, outside{
			stdout: &stdout, stderr: &stderr, lookup: func(string) (string, bool) { return "", false },
		})
		if status != exitGood || stderr.Len() > 0 {
			t.Errorf("%s: exit status %d: %s", want.Code, status, stderr.String())
			continue
		}
		document := decoded(t, stdout.String())
		for _, key := range []string{"/code", "/meaning", "/mend"} {
			if at(t, document, key) == "" {
				t.Errorf("%s: %s is empty", want.Code, key)
			}
		}
	}
}
