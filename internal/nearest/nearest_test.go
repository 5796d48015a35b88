package nearest

import "testing"

func TestOf(t *testing.T) {
	known := []string{"timeout_secs", "title", "version", "graph.compute.properties"}
	for _, tt := range []struct{ word, want string }{
		{"timout_secs", "timeout_secs"},
		{"tilte", "title"},
		{"Version", "version"},
		{"graph.compute.propertes", "graph.compute.properties"},
		{"graph.properties", "graph.compute.properties"},
		{"graph", ""},
		{"zebra", ""},
		{"", ""},
	} {
		if got := Of(tt.word, known); got != tt.want {
			t.Errorf("Of(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}
