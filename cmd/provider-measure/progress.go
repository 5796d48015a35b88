package main

import (
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/provider-measure/provider-measure/measure"
)

// progress shows what a measurement is doing on standard error, when that is a
// terminal; elsewhere nothing is written.
type progress struct {
	bars *mpb.Progress // nil when silent
	bar  *mpb.Bar

	mu    sync.Mutex
	stage string
}

func (s *session) startProgress() *progress {
	if !s.stderrTerminal {
		return &progress{}
	}
	p := &progress{bars: mpb.New(mpb.WithOutput(s.stderr), mpb.WithWidth(1))}
	p.bar = p.bars.New(0, mpb.SpinnerStyle().PositionLeft(), mpb.BarRemoveOnComplete(),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return " " + p.stage
		}), decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 8})))
	return p
}

func (p *progress) event(e measure.Event) {
	if p.bars == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage = stageText(e)
}

// stop takes the line away, so that the result stands alone.
func (p *progress) stop() {
	if p.bars == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}
