package provider

import (
	"slices"
	"strings"
)

// CompositeVersion is the version of every COMPOSITE runtime.
const CompositeVersion = "composite-1"

// compositeTierAndLicense are the highest tier and the sorted unique licences
// joined with AND.
func compositeTierAndLicense(components []Identification) (Tier, string) {
	tier := T0
	var licences []string
	for _, c := range components {
		tier = max(tier, c.Runtime.Tier())
		licences = append(licences, c.Runtime.LicenseID())
	}
	slices.Sort(licences)
	return tier, strings.Join(slices.Compact(licences), " AND ")
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
