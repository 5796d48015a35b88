package measure

import (
	"math"
	"slices"
	"time"
)

// seconds turns a duration into a record's seconds, rounded to the microsecond,
// which is finer than anything here can be measured.
func seconds(d time.Duration) *float64 {
	return fromMicros(d.Round(time.Microsecond).Microseconds())
}

func fromMicros(n int64) *float64 {
	s := float64(n) / 1e6
	return &s
}

// micros is the inverse of fromMicros, exact up to centuries.
func micros(s float64) int64 { return int64(math.Round(s * 1e6)) }

// median of a non-empty list; of an even number, the mean of the middle two
// rounded down.
func median(values []int64) int64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	low, high := sorted[n/2-1], sorted[n/2]
	return low + (high-low)/2
}

// milliseconds rounds up, so that a limit is never met by rounding.
func milliseconds(s float64) uint64 { return uint64((max(micros(s), 0) + 999) / 1000) }
