package catalog

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provider-measure/provider-measure/provider"
)

// Composites take their components from the same identification, with one
// worker too, however deep they nest.
func TestIdentifyOnce(t *testing.T) {
	f := newFakes(t)
	manifests := []*provider.Manifest{
		f.composite(provider.BuiltIn, "aaa", []string{"bbb", "leaf"}), f.composite(provider.BuiltIn, "bbb", []string{"leaf", "other"}),
		f.manifest(provider.BuiltIn, "leaf", ""), f.manifest(provider.BuiltIn, "other", ""), f.composite(provider.BuiltIn, "zzz", []string{"aaa"}),
	}
	byID := map[string]*provider.Manifest{}
	for _, m := range manifests {
		byID[m.ID] = m
	}
	for workers := 1; workers <= 4; workers++ {
		var mu sync.Mutex
		got := map[string]int{}
		identify := func(ctx context.Context, m *provider.Manifest, component provider.ComponentFunc) (provider.Identification, error) {
			mu.Lock()
			got[m.ID]++
			mu.Unlock()
			for _, id := range m.Identity.Components {
				c, err := component(ctx, byID[id])
				if err != nil || c.Manifest != byID[id] {
					t.Errorf("%s gets %v, %v for %s", m.ID, c.Manifest, err, id)
				}
			}
			return provider.Identification{Manifest: m}, nil
		}
		outcomes := identifyAll(t.Context(), manifests, identify, workers)
		if diff := cmp.Diff(map[string]int{"aaa": 1, "bbb": 1, "leaf": 1, "other": 1, "zzz": 1}, got); diff != "" {
			t.Errorf("%d workers: -want +got\n%s", workers, diff)
		}
		for i, o := range outcomes {
			if o.id.Manifest != manifests[i] {
				t.Errorf("outcome %d is %v", i, o.id.Manifest)
			}
		}
	}
}
