package hooktest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm"
	"github.com/rs/zerolog"
)

// Options of a run. The zero value is the way hooks run in a server that names no limits.
type Options struct {
	Hook   func(*wasm.Config) // may change the limits of wasm(...)
	Log    zerolog.Logger     // where the guest's lines go; the zero value drops them
	Budget bool               // a case that uses more than half of its fuel fails
}

// Result is what became of one case.
type Result struct {
	Name    string
	Failure string // what is wrong, in a few lines; "" when it passed
	Got     Want   // what the hook did, for --update
	Runs    int    // ways in which the text was cut, over both limits
	Fuel    int64  // the most that one call used, and its budget
	Budget  int64
	Memory  int64 // the most that an instance had, in bytes
	Elapsed time.Duration
}

// Run runs every case on a hook of its own, with the fuel counter and without. An error means that the module cannot be
// loaded at all; what a case finds is in its Result.
func Run(ctx context.Context, path string, cases []Case, o Options) ([]Result, error) {
	cache, err := os.MkdirTemp("", "hooktest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	results := make([]Result, 0, len(cases))
	for _, c := range cases {
		r, err := runCase(ctx, path, c, o, cache)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

func runCase(ctx context.Context, path string, c Case, o Options, cache string) (Result, error) {
	r := Result{Name: c.Name}
	started := time.Now()
	for _, unmetered := range []bool{false, true} {
		h, err := open(ctx, path, c, o, cache, unmetered, r.note())
		if err != nil {
			return r, err
		}
		var got Want
		if c.Filter != nil {
			got = r.filter(ctx, h, c)
		} else {
			got = before(ctx, h, c)
		}
		h.Close(ctx)
		if unmetered {
			if r.Failure == "" {
				r.Failure = difference("without the fuel counter it does something else", r.Got, got)
			}
			break
		}
		r.Got = got
		if r.Failure == "" {
			r.Failure = compare(c.Want, got)
		}
		if r.Failure == "" && o.Budget && r.Fuel*2 > r.Budget {
			r.Failure = fmt.Sprintf("a call used %d of %d units of fuel, more than half", r.Fuel, r.Budget)
		}
	}
	r.Elapsed = time.Since(started)
	return r, nil
}

// note collects what calls need.
func (r *Result) note() func(wasm.Usage) {
	var mu sync.Mutex
	return func(u wasm.Usage) {
		mu.Lock()
		defer mu.Unlock()
		if u.Budget > 0 && (r.Budget == 0 || float64(u.Fuel)/float64(u.Budget) > float64(r.Fuel)/float64(r.Budget)) {
			r.Fuel, r.Budget = u.Fuel, u.Budget
		}
		r.Memory = max(r.Memory, u.Memory)
	}
}

// open opens a hook as a server would.
func open(ctx context.Context, path string, c Case, o Options, cache string, unmetered bool, trace func(wasm.Usage)) (*wasm.Hook, error) {
	config := wasm.Driver().New().(*wasm.Config)
	config.File, config.Config = path, c.Config
	if o.Hook != nil {
		o.Hook(config)
	}
	config.Unmetered, config.Trace = unmetered, trace
	if err := config.Validate(); err != nil {
		return nil, err
	}
	named, err := config.Open(ctx, hooks.Env{Cache: cache, Log: o.Log})
	if err != nil {
		return nil, err
	}
	h := named.Hook.(*wasm.Hook)
	if err := h.Ready(ctx); err != nil {
		h.Close(ctx)
		return nil, err
	}
	return h, nil
}

// Update returns the cases with what the hook did as what is wanted.
func Update(cases []Case, results []Result) []Case {
	updated := append([]Case(nil), cases...)
	for i, r := range results {
		updated[i].Want = r.Got
	}
	return updated
}
