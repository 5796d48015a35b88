package judge

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCheck(t *testing.T) {
	tests := []struct {
		in   string
		want Check
		err  error
	}{
		{"cold-start-ms <= 2000", Check{"cold-start-ms", "<=", 2000}, nil},
		{"  p50\t!=  007 ", Check{"p50", "!=", 7}, nil},
		{"n < 18446744073709551615", Check{"n", "<", 1<<64 - 1}, nil},
		{"n < 18446744073709551616", Check{}, CodeUnparsableCheck},
		{"p50<=105", Check{}, CodeUnparsableCheck},
		{"p50 =< 105", Check{}, CodeUnparsableCheck},
		{"p50 <= many", Check{}, CodeUnparsableCheck},
		{"p50 <= -1", Check{}, CodeUnparsableCheck},
		{"p50 <= +1", Check{}, CodeUnparsableCheck},
		{"p50 <= 1.5", Check{}, CodeUnparsableCheck},
		{"p50 <= 1_000", Check{}, CodeUnparsableCheck},
		{"p50 <= 0x10", Check{}, CodeUnparsableCheck},
		{"P50 <= 1", Check{}, CodeUnparsableCheck},
		{"p50 <= 1 ms", Check{}, CodeUnparsableCheck},
		{"p50", Check{}, CodeUnparsableCheck},
		{"", Check{}, CodeUnparsableCheck},
	}
	for _, tt := range tests {
		got, err := ParseCheck(tt.in)
		if !errors.Is(err, tt.err) || got != tt.want {
			t.Errorf("ParseCheck(%q) = %+v, %v; want %+v, %v", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func TestJudge(t *testing.T) {
	u := func(v uint64) *uint64 { return &v }
	reported := map[string]uint64{"zero": 0, "five": 5}
	tests := []struct {
		check   string
		verdict Verdict
		value   *uint64
	}{
		{"five > 4", Met, u(5)},
		{"five > 5", Unmet, u(5)},
		{"five >= 5", Met, u(5)},
		{"five >= 6", Unmet, u(5)},
		{"five < 6", Met, u(5)},
		{"five < 5", Unmet, u(5)},
		{"five <= 5", Met, u(5)},
		{"five <= 4", Unmet, u(5)},
		{"five == 5", Met, u(5)},
		{"five == 4", Unmet, u(5)},
		{"five != 4", Met, u(5)},
		{"five != 5", Unmet, u(5)},
		{"zero <= 0", Met, u(0)},
		{"absent <= 9", Undecided, nil},
		{"absent != 9", Undecided, nil},
	}
	for _, tt := range tests {
		c, err := ParseCheck(tt.check)
		if err != nil {
			t.Fatal(err)
		}
		got := Judge(c, reported)
		if got.Verdict != tt.verdict || cmp.Diff(got.Reported, tt.value) != "" {
			t.Errorf("%s: %+v", tt.check, got)
		}
		if (got.Verdict == Undecided) != (got.Reason != "") {
			t.Errorf("%s: reason %q", tt.check, got.Reason)
		}
	}
	if (Check{Measurement: "five"}).Holds(5) {
		t.Error("a zero check holds")
	}
}

func FuzzParseCheck(f *testing.F) {
	for _, s := range []string{"a <= 1", "a<=1", "p50 == 18446744073709551615", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		c, err := ParseCheck(in)
		if err != nil {
			if c != (Check{}) || !errors.Is(err, CodeUnparsableCheck) {
				t.Fatalf("%q: %+v, %v", in, c, err)
			}
			return
		}
		again, err := ParseCheck(c.String())
		if err != nil || again != c {
			t.Fatalf("%q prints as %q, which reads as %+v, %v", in, c, again, err)
		}
	})
}
