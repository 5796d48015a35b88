package probe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// engines are the engines of this host, each of which runs the whole suite.
func engines() []engine { return []engine{tracerEngine{}, portableEngine{}} }

// platformHelper is the helper programs that only Linux has.
func platformHelper(name string, _ []string) error {
	switch name {
	case "limits":
		for _, r := range []int{unix.RLIMIT_CPU, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE, unix.RLIMIT_CORE} {
			var l unix.Rlimit
			if err := unix.Getrlimit(r, &l); err != nil {
				return err
			}
			fmt.Println(l.Cur, l.Max)
		}
		return nil
	case "descriptors":
		// The listing's own descriptor is among them, as the highest.
		entries, err := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			target, _ := os.Readlink("/proc/self/fd/" + e.Name())
			fmt.Println(e.Name(), target)
		}
		return err
	}
	return fmt.Errorf("no helper %q", name)
}
