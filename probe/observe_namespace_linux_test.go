package probe

import "testing"

// TestObservedInNamespaces checks that the numbers and names that the host's /proc
// has lead to the files of a run in namespaces of its own.
func TestObservedInNamespaces(t *testing.T) {
	all := allNamespaces()
	for i := range all {
		t.Run(string(all[i]), func(t *testing.T) { observedIn(t, all[i:i+1]) })
	}
	t.Run("all", func(t *testing.T) { observedIn(t, all) })
}

func observedIn(t *testing.T, spaces []Namespace) {
	s := shell(t, `echo a > new; cat new /etc/passwd > /dev/null; (exec cat new)`)
	s.Isolation.Namespaces = spaces
	needNamespaces(t, spaces...)
	r, files := observe(t, s)
	complete(t, r)
	if f := files[ScratchVar+"/new"]; !f.Opened || !f.Write || f.Kind != FileRegular {
		t.Errorf("a new file is %+v", f)
	}
	for _, path := range []string{"/bin/sh", "/bin/cat"} {
		if f := files[resolved(t, path)]; !f.Executed || !f.Mapped || f.ByPath && f.Opened {
			t.Errorf("%s is %+v", path, f)
		}
	}
	if f := files["/etc/passwd"]; !f.Opened || f.Ino == 0 {
		t.Errorf("a file of the host's is %+v", f)
	}
}
