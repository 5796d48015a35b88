package catalog

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/provider-measure/provider-measure/provider"
)

// identifyFunc identifies one provider; a composite asks component for its
// components.
type identifyFunc func(ctx context.Context, m *provider.Manifest, component provider.ComponentFunc) (provider.Identification, error)

// outcome is the one identification of one provider. done is closed when id and
// err are set; started belongs to the goroutine that sets them.
type outcome struct {
	started atomic.Bool
	done    chan struct{}
	id      provider.Identification
	err     error
}

// gate identifies each provider once, whoever asks first: the queue, or a
// composite that it is a component of.
type gate struct {
	identify identifyFunc
	outcomes map[string]*outcome
}

// get returns the identification of m, made here when nobody has begun it. A
// composite that waits can't deadlock: what it waits for runs in another
// goroutine, and components never form a cycle.
func (g *gate) get(ctx context.Context, m *provider.Manifest) (provider.Identification, error) {
	o, ok := g.outcomes[m.ID]
	if !ok {
		return g.identify(ctx, m, g.get)
	}
	if o.started.CompareAndSwap(false, true) {
		defer close(o.done)
		o.id, o.err = g.identify(ctx, m, g.get)
		return o.id, o.err
	}
	select {
	case <-o.done:
		return o.id, o.err
	case <-ctx.Done():
		return provider.Identification{}, ctx.Err()
	}
}

// identifyAll returns the outcomes in the order of manifests, when every
// identification has ended. No more than workers are under way at once.
func identifyAll(ctx context.Context, manifests []*provider.Manifest, identify identifyFunc, workers int) []*outcome {
	g := &gate{identify: identify, outcomes: map[string]*outcome{}}
	outcomes := make([]*outcome, len(manifests))
	for i, m := range manifests {
		outcomes[i] = &outcome{done: make(chan struct{})}
		g.outcomes[m.ID] = outcomes[i]
	}
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(workers, len(manifests)) {
		running.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(manifests) || ctx.Err() != nil {
					return
				}
				_, _ = g.get(ctx, manifests[i]) // kept in the outcome
			}
		})
	}
	running.Wait()
	return outcomes
}
