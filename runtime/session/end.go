package session

import (
	"context"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// The ladder: how long a tree has after each signal, and how long the last step may take before the job is called lost.
const (
	afterInterrupt = 300 * time.Millisecond
	afterTerminate = 500 * time.Millisecond
	afterKill      = 3 * time.Second
)

// end brings the job down by the ladder: INT, TERM, KILL to the whole tree. It returns when the job is over. It may be
// called any number of times; the first call's cause counts. A cancelled ctx goes straight to the last step.
func (j *Job) end(ctx context.Context, cause job.Cause) {
	if !j.isReady() {
		select {
		case <-j.ready:
		case <-j.done: // it never started
		case <-ctx.Done():
			return
		}
	}
	if j.over() {
		return
	}
	j.ending.Do(func() {
		j.cause.CompareAndSwap(uint32(job.Exited), uint32(cause))
		go j.ladder(ctx)
	})
	<-j.done
}

func (j *Job) ladder(ctx context.Context) {
	background := context.WithoutCancel(ctx)
	for _, step := range []struct {
		signal job.Signal
		wait   time.Duration
	}{{job.Interrupt, afterInterrupt}, {job.Terminate, afterTerminate}} {
		limited, cancel := context.WithTimeout(background, step.wait)
		go j.process.Signal(limited, step.signal)
		ended := j.leaderEnds(ctx, step.wait)
		cancel()
		if ended {
			break
		}
	}
	// The leader may have ended on INT while a child of it ignores everything: the last step is for the tree.
	limited, cancel := context.WithTimeout(background, afterKill)
	defer cancel()
	killed := make(chan struct{})
	go func() {
		j.process.Kill(limited)
		close(killed)
	}()
	if !wait(limited, killed) || !wait(limited, j.waited) {
		j.giveUp()
		return
	}
	exit, err := j.process.Wait()
	j.finish(exit, err)
}

// leaderEnds waits until the leader has ended, for d, or for ctx.
func (j *Job) leaderEnds(ctx context.Context, d time.Duration) bool {
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return wait(limited, j.waited)
}

func wait(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// giveUp cuts the output off: a process whose end cannot be observed must not hang a call.
func (j *Job) giveUp() {
	j.finish(job.Exit{}, job.Errorf(job.Lost, "the process was killed but its end was not confirmed").
		WithHint("it may still run; what it printed until now is here"))
}

// Kill ends the job and returns its last output.
func (j *Job) Kill(ctx context.Context) (job.Result, error) {
	already := j.over()
	j.end(ctx, job.Killed)
	result, err := j.Read(ctx, job.Read{Offset: job.Unread})
	if already {
		result.Notes = append(result.Notes, "it had already ended")
	}
	return result, err
}

// Visit counts as a call about the session until leave is called. The session cannot end for want of calls meanwhile,
// however long one waits.
func (j *Job) Visit() (leave func()) {
	j.visited(1)
	return func() { j.visited(-1) }
}

func (j *Job) visited(change int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.visitors += change
	j.touched = time.Now()
	if j.idle == nil || !j.ended.IsZero() {
		return
	}
	if j.visitors > 0 {
		j.idle.Stop()
	} else {
		j.idle.Reset(j.alive())
	}
}

// lonely ends a session that nobody has called for too long.
func (j *Job) lonely() {
	j.mu.Lock()
	visited := j.visitors > 0
	j.mu.Unlock()
	if !visited {
		j.end(context.Background(), job.Killed)
	}
}

func (j *Job) alive() time.Duration {
	if j.spec.Request.Alive != 0 {
		return j.spec.Request.Alive
	}
	return j.table.limits.Load().Alive
}

// watch starts the clocks of a session: its life without a call, and in all.
func (j *Job) watch() {
	if alive := j.alive(); alive > 0 {
		j.mu.Lock()
		if j.ended.IsZero() && j.idle == nil {
			j.idle = time.AfterFunc(alive, j.lonely)
		}
		j.mu.Unlock()
	}
	if life := j.table.limits.Load().MaxLife; life > 0 {
		j.after(life-time.Since(j.started), func() { j.end(context.Background(), job.Killed) })
	}
}
