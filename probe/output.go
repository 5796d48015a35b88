package probe

import (
	"os"
	"time"
)

const (
	// readBlock is how much is read at once: the usual capacity of a pipe.
	// firstBlock is how much before one read was that long: most programs print
	// little, and a block that is not used has to be cleared all the same.
	readBlock  = 64 << 10
	firstBlock = 4 << 10
	// drainGrace bounds the reading of a stream whose other end was passed to a
	// process outside the tree. What the tree itself wrote is in the pipe by
	// then and needs no waiting.
	drainGrace = 3 * time.Second
)

// collector drains one output stream into memory, up to a limit.
type collector struct {
	file     *os.File // read end, non-blocking
	limit    int64
	data     []byte
	exceeded bool
	done     chan struct{}
}

// collect starts to read file. exceed is called once when the byte after the
// limit was read; reading goes on after that, so that a writer is never stuck,
// but nothing more is kept.
func collect(file *os.File, limit int64, exceed func()) *collector {
	c := &collector{file: file, limit: limit, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		block := make([]byte, firstBlock)
		for {
			n, err := file.Read(block)
			if c.keep(block[:n]) {
				exceed()
			}
			if err != nil {
				return
			}
			if n == firstBlock && len(block) == firstBlock {
				block = make([]byte, readBlock)
			}
		}
	}()
	return c
}

// keep appends what the limit allows and reports whether this block was the
// first to go beyond it.
func (c *collector) keep(block []byte) bool {
	room := c.limit - int64(len(c.data))
	if int64(len(block)) <= room {
		c.data = append(c.data, block...)
		return false
	}
	c.data = append(c.data, block[:room]...)
	first := !c.exceeded
	c.exceeded = true
	return first
}

// finish waits for the end of the stream, at most drainGrace, and closes it.
// Every process of the tree must be dead.
func (c *collector) finish() {
	// A pipe always takes a deadline; if it did not, closing it ends the read.
	if err := c.file.SetReadDeadline(time.Now().Add(drainGrace)); err != nil {
		_ = c.file.Close()
	}
	<-c.done
	_ = c.file.Close()
}
