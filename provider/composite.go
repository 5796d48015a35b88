package provider

import (
	"fmt"
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

// compositeWarnings says where a composite's manifest declares something else
// than what its components come to. The computed values are the ones recorded:
// they follow from what was measured.
func compositeWarnings(m *Manifest, r *Record) []string {
	var out []string
	if m.InstallTier != r.InstallTier {
		out = append(out, fmt.Sprintf("the manifest declares install_tier %s, the components come to %s, which is recorded", m.InstallTier, r.InstallTier))
	}
	if m.LicenseID != r.LicenseID {
		out = append(out, fmt.Sprintf("the manifest declares license_id %q, the components come to %q, which is recorded", m.LicenseID, r.LicenseID))
	}
	if strings.Contains(r.LicenseID, " OR ") && strings.Contains(r.LicenseID, " AND ") {
		out = append(out, fmt.Sprintf("license_id %q joins a choice with AND, which binds closer than OR: read the components' own", r.LicenseID))
	}
	return out
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
