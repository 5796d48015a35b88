package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/provider-measure/provider-measure/probe"
)

// probeMedian are the medians over the runs in which the program ran; null where
// no run has the figure.
type probeMedian struct {
	Runs          int      `json:"runs"`
	Seconds       *float64 `json:"seconds"`
	User          *float64 `json:"user"`
	System        *float64 `json:"system"`
	ProcessMemory *float64 `json:"process_memory_bytes"`
	TreeMemory    *float64 `json:"tree_memory_bytes"`
}

func medianOf(runs []probeRun) probeMedian {
	var m probeMedian
	var wall, user, system, process, tree []float64
	for _, r := range runs {
		if r.Outcome == probe.StartFailed || r.Outcome == probe.IdentityChanged {
			continue
		}
		m.Runs++
		wall = append(wall, r.Wall.Seconds())
		if r.CPU.Reason == "" {
			user, system = append(user, r.User.Seconds()), append(system, r.System.Seconds())
		}
		if n := r.Memory.Process.Bytes; n != nil {
			process = append(process, float64(*n))
		}
		if n := r.Memory.Tree.Bytes; n != nil {
			tree = append(tree, float64(*n))
		}
	}
	m.Seconds, m.User, m.System = middle(wall), middle(user), middle(system)
	m.ProcessMemory, m.TreeMemory = middle(process), middle(tree)
	return m
}

// middle is the median; of an even number, the mean of the middle two.
func middle(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	half := len(values) / 2
	median := values[half]
	if len(values)%2 == 0 {
		median = (values[half-1] + values[half]) / 2
	}
	return &median
}

func (r probeReport) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s  %s\n", escape(r.Path), r.Digest)
	for i, run := range r.Runs {
		if len(r.Runs) > 1 {
			fmt.Fprintf(b, "  run %-3d ", i+1)
		} else {
			b.WriteString("  ")
		}
		runLine(b, run)
	}
	last := r.Runs[len(r.Runs)-1]
	stream(b, "stdout", last.Result.Stdout, last.StdoutExceeded)
	stream(b, "stderr", last.Result.Stderr, last.StderrExceeded)
	if len(r.Runs) > 1 {
		m := r.Median
		fmt.Fprintf(b, "  median    %s (user %s, system %s), largest process %s, tree %s\n",
			secondsText(m.Seconds), secondsText(m.User), secondsText(m.System), sizeText(m.ProcessMemory), sizeText(m.TreeMemory))
	}
	observedText(b, last.Result)
	fmt.Fprintf(b, "  engine    %s\n", last.Engine)
	if len(last.Withheld) > 0 {
		fmt.Fprintf(b, "  withheld  %s\n", escape(strings.Join(last.Withheld, ", ")))
	}
	b.WriteString("  isolation\n")
	for _, p := range last.Isolation {
		capability(b, string(p.Property), p.Enforced, true, p.Method, p.Reason)
	}
}

func runLine(b *strings.Builder, r probeRun) {
	b.WriteString(r.Outcome.String())
	switch r.Outcome {
	case probe.Exited:
		fmt.Fprintf(b, " %d", *r.ExitCode)
	case probe.Signaled:
		b.WriteString(" " + r.Signal)
	case probe.StartFailed:
		fmt.Fprintf(b, ": %s (%s)\n", escape(r.StartError.Message), r.StartError.Code)
		return
	}
	wall, user, system := r.Wall.Seconds(), r.User.Seconds(), r.System.Seconds()
	fmt.Fprintf(b, "  %s (user %s, system %s)", secondsText(&wall), secondsText(&user), secondsText(&system))
	fmt.Fprintf(b, ", largest process %s, tree %s, %d processes", figureText(r.Memory.Process), figureText(r.Memory.Tree), r.Processes)
	if n := len(r.Leftover); n > 0 {
		fmt.Fprintf(b, ", %d left over and killed", n)
	}
	b.WriteString("\n")
}

func figureText(f probe.Figure) string {
	if f.Bytes == nil {
		return "unknown (" + escape(f.Reason) + ")"
	}
	return bytesText(f.Bytes)
}

func sizeText(n *float64) string {
	if n == nil {
		return "unknown"
	}
	whole := int64(*n)
	return bytesText(&whole)
}

// stream shows the first lines of an output, escaped.
func stream(b *strings.Builder, name string, data []byte, exceeded bool) {
	const most = 20
	if len(data) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s, %d bytes", name, len(data))
	if exceeded {
		b.WriteString(", cut at its limit")
	}
	b.WriteString("\n")
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, line := range lines[:min(len(lines), most)] {
		if len(line) > 400 {
			line = line[:400] + "..."
		}
		fmt.Fprintf(b, "    %s\n", escape(line))
	}
	if len(lines) > most {
		fmt.Fprintf(b, "    and %d more lines\n", len(lines)-most)
	}
}
