// Package judge decides rules that are written as data over reported
// measurements. A rule is never met by absence: a measurement that was not
// reported leaves it undecided.
package judge

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Code names a failure of this package.
type Code string

func (c Code) Error() string { return string(c) }

// CodeUnparsableCheck: a check is not `measurement op integer`.
const CodeUnparsableCheck Code = "judge.unparsable_check"

// Check is one parsed rule, `measurement op integer`: exactly three tokens
// separated by white space; op is one of > >= < <= == !=; integer is a base-10
// number without sign that fits 64 bits. There are no units, floats or
// exponents, so every reader decides alike.
type Check struct {
	Measurement string
	Op          string
	Limit       uint64
}

// ParseCheck reads a check. The error is [CodeUnparsableCheck].
func ParseCheck(text string) (Check, error) {
	tokens := strings.Fields(text)
	if len(tokens) != 3 {
		return Check{}, fmt.Errorf("%w: %q has %d tokens, want `measurement op integer`", CodeUnparsableCheck, text, len(tokens))
	}
	c := Check{Measurement: tokens[0], Op: tokens[1]}
	if !regexp.MustCompile(`^[a-z][a-z0-9_.-]*$`).MatchString(c.Measurement) {
		return Check{}, fmt.Errorf("%w: %q is not a measurement's name", CodeUnparsableCheck, c.Measurement)
	}
	switch c.Op {
	case ">", ">=", "<", "<=", "==", "!=":
	default:
		return Check{}, fmt.Errorf("%w: %q is not one of > >= < <= == !=", CodeUnparsableCheck, c.Op)
	}
	limit, err := strconv.ParseUint(tokens[2], 10, 64)
	if err != nil {
		return Check{}, fmt.Errorf("%w: %q is not a whole number of 64 bits", CodeUnparsableCheck, tokens[2])
	}
	c.Limit = limit
	return c, nil
}

// String prints the check in its one normal form.
func (c Check) String() string { return fmt.Sprintf("%s %s %d", c.Measurement, c.Op, c.Limit) }

// Holds compares a reported value.
func (c Check) Holds(value uint64) bool {
	switch c.Op {
	case ">":
		return value > c.Limit
	case ">=":
		return value >= c.Limit
	case "<":
		return value < c.Limit
	case "<=":
		return value <= c.Limit
	case "==":
		return value == c.Limit
	case "!=":
		return value != c.Limit
	}
	return false
}

// Verdict on one rule; the zero value decides nothing.
type Verdict string

// The verdicts.
const (
	Undecided Verdict = "undecided"
	Met       Verdict = "met"
	Unmet     Verdict = "unmet"
)

// Finding is what Judge says of one check.
type Finding struct {
	Verdict  Verdict
	Reported *uint64 // the value that decided; nil when undecided
	Reason   string  // why it is undecided
}

// Judge decides a check over reported measurements.
func Judge(c Check, reported map[string]uint64) Finding {
	value, ok := reported[c.Measurement]
	if !ok {
		return Finding{Verdict: Undecided, Reason: fmt.Sprintf("measurement %q was not reported", c.Measurement)}
	}
	if c.Holds(value) {
		return Finding{Verdict: Met, Reported: &value}
	}
	return Finding{Verdict: Unmet, Reported: &value}
}
