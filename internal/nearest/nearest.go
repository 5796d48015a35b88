// Package nearest finds the known word that a person most likely meant.
package nearest

import "strings"

// Of returns the candidate closest to word by Damerau-Levenshtein distance
// (optimal string alignment), ignoring case, or "" when the closest needs more
// edits than a third of the longer word, at least two. Equal distances resolve
// to the earlier candidate.
func Of(word string, candidates []string) string {
	best, bestDistance := "", -1
	for _, c := range candidates {
		limit := max(2, max(len(word), len(c))/3)
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if d <= limit && (bestDistance < 0 || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	prev2, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(y)]
}
