package session

import (
	"context"
	"regexp"
	"time"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// Why says what ended a wait.
type Why uint8

const (
	Over    Why = iota // the job has ended
	Matched            // what was waited for came
	Elapsed            // the time was up
	Gone               // the caller went away
)

// Waiter is what a call waits for. Its zero value is the end of the job.
type Waiter struct {
	output  bool
	pattern *regexp.Regexp
}

// NewWaiter reads a wait_for parameter. Kind: Invalid.
func NewWaiter(text string) (Waiter, error) {
	switch text {
	case "", "exit":
		return Waiter{}, nil
	case "output":
		return Waiter{output: true}, nil
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return Waiter{}, job.Errorf(job.Invalid, "wait_for is no regular expression: %v", err).
			WithHint("write \"exit\", \"output\" or an RE2 pattern; a literal bracket or plus is escaped with a backslash")
	}
	return Waiter{pattern: pattern}, nil
}

// Pattern says whether the waiter looks for more than the end.
func (w Waiter) Pattern() bool { return w.output || w.pattern != nil }

// settle is how long output must be quiet before "output" is taken as having come: a prompt follows its line at once.
const settle = 20 * time.Millisecond

// rematch is how much of what was searched before is searched again, since a match may span two chunks.
const rematch = 4096

// Wait returns when the job is over, w's output came after position from, d has passed (negative: no limit), or ctx is done.
func (j *Job) Wait(ctx context.Context, w Waiter, d time.Duration, from int64) Why {
	var timer <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	searched := from
	for {
		var changed <-chan struct{}
		if w.Pattern() {
			changed = j.log.Changed()
			if j.came(w, from, &searched) {
				if w.output {
					j.quiet(ctx)
				}
				return Matched
			}
		}
		select {
		case <-j.done:
			return Over
		case <-changed:
		case <-timer:
			return Elapsed
		case <-ctx.Done():
			return Gone
		}
	}
}

// came looks for w in the output after from. searched is how far earlier calls have looked.
func (j *Job) came(w Waiter, from int64, searched *int64) bool {
	if w.output {
		return j.log.End() > from
	}
	start := max(from, *searched-rematch)
	view := j.log.View(start, 0)
	*searched = view.Next
	return w.pattern.Match(stream.Fold(view.Merged))
}

// quiet waits for a short silence, for five times that at most.
func (j *Job) quiet(ctx context.Context) {
	deadline := time.NewTimer(5 * settle)
	defer deadline.Stop()
	for {
		changed := j.log.Changed()
		silence := time.NewTimer(settle)
		select {
		case <-changed:
			silence.Stop()
			continue
		case <-silence.C:
		case <-deadline.C:
		case <-j.done:
		case <-ctx.Done():
		}
		silence.Stop()
		return
	}
}

// Attach waits for a job that was just started on behalf of a call, and ends the sink's part. Over: Result has it all.
// Gone: the tree has been ended. Elapsed, Matched: the job is a session now; with a full table the call stays attached.
func (j *Job) Attach(ctx context.Context, w Waiter, d time.Duration) Why {
	defer j.pump.detach()
	why := j.Wait(ctx, w, d, 0)
	if why == Elapsed || why == Matched {
		if ok, late := j.table.list(j); ok {
			j.handOver(late)
			return why
		}
		why = j.Wait(ctx, Waiter{}, -1, 0)
	}
	if why == Gone {
		j.end(context.WithoutCancel(ctx), job.Killed)
		j.table.forget(j)
	}
	return why
}

// handOver turns an attached job into a session: another slot, other limits, clocks of its own.
func (j *Job) handOver(late bool) {
	j.release()
	if j.spec.Assumed && j.timeout != nil {
		j.timeout.Stop()
	}
	j.log.Limit(j.table.limits.Load().Session)
	j.Visit()()
	j.watch()
	if late {
		j.table.keep(j)
	}
}
