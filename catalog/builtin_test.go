package catalog

import (
	"testing"

	"github.com/provider-measure/provider-measure/provider"
)

// What is compiled in can be registered wherever its provider is available: the
// hosts that tests run on have few of them.
func TestBuiltInsRegister(t *testing.T) {
	manifests, err := provider.ParseBuiltins()
	if err != nil {
		t.Fatal(err)
	}
	var r Registry
	declared := 0
	for _, m := range manifests {
		for _, c := range m.Capabilities {
			declared++
			d, err := NewDescriptor(m, c, available(t, m.ID))
			if err != nil {
				t.Error(err)
				continue
			}
			roundTrip(t, d)
			if err := r.Register(d); err != nil {
				t.Error(err)
			}
			if len(c.Examples) == 0 {
				t.Errorf("%s has no example", c.ID)
			}
		}
	}
	if got := len(r.Descriptors()); declared == 0 || got != declared {
		t.Errorf("%d of %d registered", got, declared)
	}
}
