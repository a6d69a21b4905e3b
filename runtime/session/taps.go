package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// Tap is a hook's part in one job.
type Tap struct {
	Name  string
	Allow bool // when it breaks: pass the output on instead of withholding it
	hooks.Tap
}

// afterSilence is how long a stream is quiet before its taps may show what they carry: it may be a prompt.
const afterSilence = 150 * time.Millisecond

// taps runs a job's chain of taps; its calls are serialised over both streams.
type taps struct {
	pump *pump

	mu       sync.Mutex
	chain    []Tap
	broken   map[int]error
	withheld bool // a tap with Allow false broke: nothing more passes
	timer    *time.Timer
	over     bool
}

func newTaps(p *pump, chain []Tap) *taps {
	t := &taps{pump: p, chain: chain, broken: map[int]error{}}
	t.timer = time.AfterFunc(time.Hour, t.idle)
	t.timer.Stop()
	return t
}

// output sends a chunk through the chain, first to last, and what comes out of it on its way. Both streams share the hooks'
// buffers, so that way is gone under the lock. withheld says that nothing of the command's output passes any more. l.mu is
// held.
func (t *taps) output(l *lane, chunk []byte, f hooks.Flags) (withheld bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case f == 0:
		t.timer.Reset(afterSilence)
	case t.over:
		return t.withheld
	}
	chunk = t.walk(l.stream, chunk, f)
	l.pass(chunk, t.withheld)
	return t.withheld
}

// idle asks the chain for what it carries, on both streams.
func (t *taps) idle() {
	for _, l := range []*lane{&t.pump.out, &t.pump.err} {
		l.mu.Lock()
		t.output(l, nil, hooks.Idle)
		l.mu.Unlock()
	}
}

func (t *taps) walk(s job.Stream, chunk []byte, f hooks.Flags) []byte {
	if t.withheld {
		return nil
	}
	for i, tap := range t.chain {
		if t.broken[i] != nil || len(chunk) == 0 && f == 0 {
			continue
		}
		out, err := tap.Output(context.Background(), s, chunk, f)
		if err != nil {
			out = t.fail(i, out, err)
		}
		chunk = out
		if t.withheld {
			break
		}
	}
	return chunk
}

// fail marks a tap as broken. shown is what it had not passed on yet.
func (t *taps) fail(i int, shown []byte, err error) []byte {
	t.broken[i] = err
	t.warn(i, err)
	if t.chain[i].Allow {
		return shown
	}
	t.withheld = true
	return fmt.Appendf(nil, "\n[output withheld: hook %s: %s]\n", t.chain[i].Name, class(err))
}

// class is the one word about a failure that a caller is told; the rest, which may quote output, goes to the log.
func class(err error) string {
	if c, ok := errors.AsType[interface {
		error
		Class() string
	}](err); ok {
		return c.Class()
	}
	return "error"
}

func (t *taps) warn(i int, err error) {
	if warn := t.pump.job.spec.Warn; warn != nil {
		warn(fmt.Sprintf("hook %s failed: %v", t.chain[i].Name, err))
	}
}

// end tells the hooks how the job ended, last to first.
func (t *taps) end(exit job.Exit) job.Exit {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.timer.Stop()
	said := len(exit.Notes)
	for i := len(t.chain) - 1; i >= 0; i-- {
		tap := t.chain[i]
		if err := t.broken[i]; err != nil {
			exit.Notes = append(exit.Notes, fmt.Sprintf("hook %s failed: %s", tap.Name, class(err)))
		}
		changed, err := tap.End(context.Background(), exit)
		if err != nil {
			t.warn(i, err)
			exit.Notes = append(exit.Notes, fmt.Sprintf("hook %s failed at the end: %s", tap.Name, class(err)))
			continue
		}
		exit = changed
	}
	spec := &t.pump.job.spec
	for i := said; i < len(exit.Notes); i++ { // a hook may quote what it saw
		exit.Notes[i] = spec.Rules.String(exit.Notes[i], spec.Secrets)
	}
	return exit
}
