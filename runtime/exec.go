package runtime

import (
	"context"
	"errors"
	"time"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/session"
)

// handOver is how long a call is held without progress: most clients give up at 60 s.
const handOver = 50 * time.Second

// firstMoments is how long a detached start waits for what the command prints at once.
const firstMoments = 150 * time.Millisecond

// Exec runs one command. A command that still runs when the call ends is a session, and the result names it. An error of
// kind Lost comes with what was printed; every other error means that nothing runs.
func (e *Engine) Exec(ctx context.Context, req job.Request, sink job.Sink) (job.Result, error) {
	p, err := e.prepare(ctx, req, sink)
	if err != nil {
		return job.Result{}, err
	}
	return e.run(ctx, p, sink)
}

// run starts what was prepared and follows it as far as its call goes.
func (e *Engine) run(ctx context.Context, p *prepared, sink job.Sink) (job.Result, error) {
	if p.session != nil {
		defer p.session.Visit()()
	}
	j, err := e.start(ctx, p, sink)
	if err != nil {
		e.abandon(p, err)
		return job.Result{}, err
	}
	if p.req.Detach {
		return e.detached(ctx, j)
	}
	if j.Attach(ctx, p.waiter, p.wait) == session.Gone {
		return job.Result{}, &job.Error{Op: "exec", Kind: job.Canceled, Err: context.Cause(ctx)}
	}
	return j.Result()
}

// detached answers at once, with the whole result if the command was that fast.
func (e *Engine) detached(ctx context.Context, j *session.Job) (job.Result, error) {
	first, _ := session.NewWaiter("output")
	if j.Wait(ctx, first, firstMoments, 0) == session.Matched {
		j.Wait(ctx, session.Waiter{}, firstMoments, 0)
	}
	return j.Read(ctx, job.Read{Offset: job.Unread})
}

// ExecAll runs requests side by side: the parts of a parallel one, or one request per target. A denial fails all before
// any starts; any other failure is its own part's. Outcomes are in the order of the requests and their parts.
func (e *Engine) ExecAll(ctx context.Context, reqs []job.Request, sink job.Sink) ([]job.Outcome, error) {
	parts, err := e.split(ctx, reqs)
	if err != nil {
		return nil, err
	}
	outcomes := make([]job.Outcome, len(parts))
	ready := make([]*prepared, len(parts))
	each(len(parts), func(i int) {
		ready[i], outcomes[i].Err = e.prepare(ctx, parts[i], sink)
		if ready[i] != nil {
			ready[i].part = i
		}
	})
	for i, o := range outcomes {
		if o.Err != nil && job.KindOf(o.Err) == job.Denied {
			e.abandonAll(ready)
			return nil, partError(o.Err, i, len(parts))
		}
	}
	each(len(parts), func(i int) {
		if ready[i] != nil {
			outcomes[i].Result, outcomes[i].Err = e.run(ctx, ready[i], sink)
		}
	})
	return outcomes, nil
}

func (e *Engine) abandonAll(ready []*prepared) {
	for _, p := range ready {
		if p != nil {
			e.abandon(p, errors.New("another part was denied"))
		}
	}
}
