package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// Hook is an opened wasm(...). It compiles in the background; calls wait for that.
type Hook struct {
	name     string
	allow    bool
	log      zerolog.Logger
	trace    func(Usage)
	mask     func(job.Request, string) string // nil: leaves texts as they are
	json     string                           // the config
	values   map[string]string                // its top-level values
	features string
	pool     *pool

	cancel context.CancelFunc // of the loading
	loaded chan struct{}      // closed when guest, events and err are set
	closed chan struct{}      // closed when nothing is left
	guest  *guest
	events event
	err    *fault

	closing sync.Once

	mu     sync.Mutex
	status Status
	faults []time.Time // of the last minute
	broken time.Time   // until when the hook does not run
}

// load compiles the module and makes the first instance, whose mask of events counts.
func (h *Hook) load(ctx context.Context, m *module, l limits, folder string, exports event) {
	defer close(h.loaded)
	started := time.Now()
	g, err := compile(ctx, m, l, folder)
	if err != nil {
		h.failLoad(faultf(classLoad, "%s", shorten(err.Error())))
		return
	}
	c := &call{hook: h, event: eventInit}
	i, mask, err := g.start(ctx, c)
	if err != nil {
		g.close()
		f := err.(*fault)
		h.failLoad(&fault{class: classLoad, detail: f.Error(), reason: c.reason})
		return
	}
	h.guest, h.events = g, exports&mask
	if _, f := h.pool.take(ctx); f != nil {
		i.close()
	} else {
		h.pool.give(i, false)
	}
	h.mu.Lock()
	h.status.State, h.status.Load = "ready", time.Since(started)
	h.mu.Unlock()
	h.log.Debug().Dur("took", time.Since(started)).Msg("hook " + h.name + " is ready")
}

func (h *Hook) failLoad(f *fault) {
	h.err = f
	h.mu.Lock()
	h.status.State, h.status.Err = "failed", f.Error()
	h.mu.Unlock()
	event := h.log.Error()
	if h.allow {
		event = h.log.Warn()
	}
	event.Msg(fmt.Sprintf("hook %s cannot run: %s %s", h.name, f.Error(), f.reason))
}

// Ready waits until the hook is compiled. The error says why it cannot run.
func (h *Hook) Ready(ctx context.Context) error {
	if f := h.ready(ctx); f != nil {
		e := f.public(h.name)
		e.Err = fmt.Errorf("hook %s cannot run: %s", h.name, strings.TrimSpace(f.detail+" "+f.reason))
		return e
	}
	return nil
}

func (h *Hook) ready(ctx context.Context) *fault {
	select {
	case <-h.loaded:
		return h.err
	default:
	}
	select {
	case <-h.loaded:
		return h.err
	case <-ctx.Done():
		return faultf(classBusy, "the call ended while the hook was being compiled")
	}
}

// do runs one call on an instance of the pool and keeps the accounts.
func (h *Hook) do(ctx context.Context, c *call) (int32, *fault) {
	if f := h.ready(ctx); f != nil {
		return 0, f
	}
	if f := h.refuses(); f != nil {
		return 0, f
	}
	answer, f := h.doNow(ctx, c)
	h.account(c, f)
	return answer, f
}

func (h *Hook) doNow(ctx context.Context, c *call) (answer int32, f *fault) {
	i, f := h.pool.take(ctx)
	if f != nil {
		return 0, f
	}
	if i == nil {
		first := &call{hook: h, event: eventInit}
		made, _, err := h.guest.start(context.Background(), first)
		if err != nil {
			h.pool.give(nil, true)
			return 0, err.(*fault)
		}
		i = made
	}
	started := time.Now()
	answer, f = i.run(c)
	if h.trace != nil {
		h.trace(Usage{Event: eventName(c.event), Fuel: i.used(), Budget: i.budget, Memory: int64(i.memory.Size()), Elapsed: time.Since(started)})
	}
	h.pool.give(i, f != nil)
	return answer, f
}

// configured is field 16: the whole config as JSON, or one top-level value, strings as they are.
func (h *Hook) configured(key string) (string, int32) {
	if key == "" {
		return h.json, 0
	}
	value, ok := h.values[key]
	return present(value, ok)
}

func (h *Hook) configure(config map[string]any) error {
	whole, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if config == nil {
		whole = []byte("{}")
	}
	h.json, h.values = string(whole), map[string]string{}
	for key, value := range config {
		text, ok := value.(string)
		if !ok {
			b, err := json.Marshal(value)
			if err != nil {
				return err
			}
			text = string(b)
		}
		h.values[key] = text
	}
	return nil
}

// Close waits for the calls under way and frees the guest. When ctx ends first, that happens once they have ended. It may
// be called more than once.
func (h *Hook) Close(ctx context.Context) error {
	h.cancel()
	h.closing.Do(func() {
		go func() {
			defer close(h.closed)
			<-h.loaded
			h.pool.drain()
			if h.guest != nil {
				h.guest.close()
			}
		}()
	})
	select {
	case <-h.closed:
		return nil
	case <-ctx.Done():
		return job.Errorf(job.Lost, "hook %s still runs: %w", h.name, ctx.Err()).WithHint("it is freed when its call ends")
	}
}

var _ hooks.Hook = (*Hook)(nil)
