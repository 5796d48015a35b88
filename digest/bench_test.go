//go:build unix

package digest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// dirhash is how trees are commonly hashed: list the paths, sort, open each by
// its full path, and put the hashes into one.
func dirhash(root string) (string, error) {
	var paths []string
	err := filepath.Walk(root, func(p string, info fs.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			paths = append(paths, p)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(paths)
	outer := sha256.New()
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return "", err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		_ = f.Close()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(outer, "%x  %s\n", h.Sum(nil), p)
	}
	return fmt.Sprintf("%x", outer.Sum(nil)), nil
}

func benchTree(b *testing.B, files, size int) string {
	b.Helper()
	root := b.TempDir()
	content := strings.Repeat("0123456789abcdef", size/16)
	for i := range files {
		write(b, filepath.Join(root, fmt.Sprintf("d%02d", i%50), fmt.Sprintf("f%05d.py", i)), content)
	}
	return root
}

// BenchmarkTree measures both ways in turns, so that a busy machine slows both,
// and reports their ratio: above 1 is faster than the common way.
func BenchmarkTree(b *testing.B) {
	for _, c := range []struct {
		name        string
		files, size int
	}{{"small", 5000, 4 << 10}, {"large", 16, 16 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			root := benchTree(b, c.files, c.size)
			var ours, theirs time.Duration
			b.SetBytes(int64(c.files * c.size))
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				if _, err := Tree(b.Context(), root, TreeOptions{}); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
				b.StopTimer()
				start = time.Now()
				if _, err := dirhash(root); err != nil {
					b.Fatal(err)
				}
				theirs += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(theirs)/float64(ours), "times-dirhash")
		})
	}
}

func BenchmarkParseRecord(b *testing.B) {
	var s strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&s, "pkg/sub/module_%d.py,sha256=Crrh4K5yghbuRJk8Wjp1X4scOH2Uf8TE9yyrDkqEIUs,%d\n", i, i)
	}
	data := []byte(s.String())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		rec, err := ParseRecord(data)
		if err != nil {
			b.Fatal(err)
		}
		rec.Digest()
	}
}

// The heap of a walk must not grow with the number of files.
func TestTreeMemoryIsFlat(t *testing.T) {
	heap := func(dirs int) uint64 {
		root := t.TempDir()
		// Hard links: many names are made faster than many files.
		seed := filepath.Join(root, "seed")
		write(t, seed, "x")
		for d := range dirs {
			dir := filepath.Join(root, fmt.Sprintf("d%04d", d))
			must(t, os.Mkdir(dir, 0o755))
			for f := range 200 {
				must(t, os.Link(seed, filepath.Join(dir, fmt.Sprintf("file-%06d", f))))
			}
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var peak uint64
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			var m runtime.MemStats
			for {
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
		res := mustTree(t, root, TreeOptions{Workers: 2})
		close(stop)
		<-done
		if res.Files != int64(dirs*200+1) {
			t.Errorf("%d files", res.Files)
		}
		runtime.ReadMemStats(&after)
		t.Logf("%d files: peak heap %d KiB over %d KiB", res.Files, (peak-min(peak, before.HeapInuse))>>10, before.HeapInuse>>10)
		return peak - min(peak, before.HeapInuse)
	}
	small, large := heap(10), heap(200)
	if large > small+16<<20 {
		t.Errorf("peak heap grew from %d to %d bytes with 20 times the files", small, large)
	}
}
