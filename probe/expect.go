package probe

import "fmt"

// difference names the first of a file's numbers that is not as wanted.
func difference(dev, ino uint64, size, ctime int64, want *Expectation) string {
	for _, n := range []struct {
		name      string
		got, want any
	}{
		{"device", dev, want.Dev},
		{"inode", ino, want.Ino},
		{"size", size, want.Size},
		{"ctime", ctime, want.CtimeNS},
	} {
		if n.got != n.want {
			return fmt.Sprintf("%s is %d, and was %d when it was measured", n.name, n.got, n.want)
		}
	}
	return ""
}
