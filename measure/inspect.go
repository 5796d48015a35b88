package measure

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// inspected is what was found in an installer's folder before it was removed.
type inspected struct {
	bytes   *int64
	wrong   string // what is not as it was asked for
	unknown string // why there are no bytes
}

func inspect(ctx context.Context, c *installer, target string) inspected {
	if c.check != nil {
		if wrong := c.check(ctx, target); wrong != "" {
			return inspected{wrong: wrong}
		}
	}
	n, err := treeBytes(ctx, target)
	if err != nil {
		return inspected{unknown: err.Error()}
	}
	return inspected{bytes: &n}
}

// treeBytes adds up the regular files below dir by lstat, each inode once. No
// link is followed, and links themselves do not count.
func treeBytes(ctx context.Context, dir string) (int64, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		return 0, errors.New(dir + " is not a folder")
	}
	set := fileSet{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.New("this system tells no inode numbers")
		}
		set[inode{uint64(st.Dev), st.Ino}] = info.Size() //nolint:gosec,unconvert // signed on darwin, and only compared
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(set) == 0 {
		return 0, errors.New("nothing was installed")
	}
	n, _ := set.totals()
	return *n, nil
}
