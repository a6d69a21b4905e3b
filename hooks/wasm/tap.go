package wasm

import (
	"context"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// tap is a hook's part in one job: the carry, the job's state and its notes live here, so any instance serves any chunk.
type tap struct {
	hook    *Hook
	started time.Time
	carry   hooks.Carry
	call    call // the last one; the next reuses its buffers
	failed  bool
}

// orNil is nil for a job that the hook has nothing more to do with.
func (t *tap) orNil() hooks.Tap {
	if t.hook.events&(eventFilter|eventPost) == 0 && len(t.call.notes) == 0 {
		return nil
	}
	t.call.req = t.call.req.Clone() // the other one is the caller's from here on
	return t
}

// Output implements hooks.Tap.
func (t *tap) Output(ctx context.Context, s job.Stream, p []byte, flags hooks.Flags) ([]byte, error) {
	if t.hook.events&eventFilter == 0 {
		return p, nil
	}
	out, err := t.carry.Output(ctx, s, p, flags)
	if err == nil {
		return out, nil
	}
	t.failed = true
	f, ok := err.(*fault)
	if !ok {
		f = faultf(classProtocol, "%s", err)
	}
	return out, f.public(t.hook.name)
}

// filter is hooks.Filter over the guest's.
func (t *tap) filter(ctx context.Context, s job.Stream, in []byte, f hooks.Flags) ([]byte, int, error) {
	before := t.next(eventFilter)
	c := &t.call
	c.in, c.stream, c.flags = in, streamOf(s), flagsOf(f)
	answer, fault := t.hook.do(ctx, c)
	if fault != nil {
		t.call.notes, t.call.state = before.notes, before.state
		return nil, 0, fault
	}
	return c.out, int(answer), nil
}

// End implements hooks.Tap: post_exec, and the job's notes.
func (t *tap) End(ctx context.Context, exit job.Exit) (job.Exit, error) {
	var err error
	if t.hook.events&eventPost != 0 && !t.failed {
		before := t.next(eventPost)
		c := &t.call
		c.result = resultOf(exit, time.Since(t.started))
		if _, fault := t.hook.do(ctx, c); fault != nil {
			t.call.notes, err = before.notes, fault.public(t.hook.name)
		}
	}
	exit.Notes = append(exit.Notes, t.call.notes...)
	return exit, err
}

// saved is what a call that fails leaves as it was.
type saved struct {
	notes []string
	state map[string]string
}

func (t *tap) next(e event) saved {
	t.call.reset()
	t.call.event = e
	return saved{t.call.notes, t.call.state}
}

func streamOf(s job.Stream) uint64 {
	switch s {
	case job.Stdout:
		return 1
	case job.Stderr:
		return 2
	}
	return 0
}

func flagsOf(f hooks.Flags) uint64 {
	var bits uint64
	if f&hooks.Final != 0 {
		bits |= flagFinal
	}
	if f&hooks.Idle != 0 {
		bits |= flagIdle
	}
	return bits
}
