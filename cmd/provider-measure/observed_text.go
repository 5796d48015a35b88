package main

import (
	"fmt"
	"strings"

	"github.com/provider-measure/provider-measure/probe"
)

// observedText lists the files that a run used, when that was asked for.
func observedText(b *strings.Builder, r *probe.Result) {
	if r.Observed == nil {
		return
	}
	fmt.Fprintf(b, "  files     %d used, %d openings refused\n", len(r.Observed), r.ObservedFailed)
	if r.ObservedIncomplete != "" {
		fmt.Fprintf(b, "    incomplete: %s\n", escape(r.ObservedIncomplete))
	}
	for _, f := range r.Observed {
		fmt.Fprintf(b, "    %s %-9s %s\n", usesText(f), f.Kind, escape(f.Path))
	}
}

// usesText is how a file was used, as ls writes modes: opened for reading, for
// writing, executed, mapped.
func usesText(f probe.ObservedFile) string {
	uses := []byte("----")
	for i, use := range []struct {
		letter byte
		holds  bool
	}{{'r', f.Opened}, {'w', f.Write}, {'x', f.Executed}, {'m', f.Mapped}} {
		if use.holds {
			uses[i] = use.letter
		}
	}
	return string(uses)
}
