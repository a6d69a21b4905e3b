package session

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// Spec is what a job needs. The caller has resolved it, and policy and hooks have seen it.
type Spec struct {
	Request job.Request // as it runs
	Echo    string      // the text as it came
	Dir     string      // where it runs, when that is not where it was asked to; else ""
	Start   func(context.Context, backends.IO) (backends.Process, error)
	Taps    []Tap
	Rules   *stream.Rules
	Secrets []string       // values that never appear in output
	Timeout time.Duration  // until the tree is killed; job.Unlimited or 0: none
	Wait    time.Duration  // how long the call waits for the start, whatever the progress; 0 or less: no limit
	Assumed bool           // Timeout is only the default: a hand-over drops it
	Typist  Typist         // checks what is typed; nil: input is data
	File    io.WriteCloser // takes the whole standard output; nil: none
	Part    int            // which part of a parallel call
	Notes   []string       // said with the result
	Warn    func(string)   // for the log: why a hook failed; may be nil
	Ended   func(*Job)     // once, when the process has ended and its output is complete
}

// Typist decides on what is typed into a shell. Its methods are not called concurrently.
type Typist interface {
	// Type returns what may be written now; held says that something waits for the rest of its statement.
	// On an error nothing of data passes.
	Type(ctx context.Context, data []byte) (pass []byte, held bool, err error)
	EOF(ctx context.Context) (pass []byte, err error)
	Clear()
}

// Job is a started command, attached to a call or listed as a session.
type Job struct {
	id      string
	spec    Spec
	table   *Table
	log     *stream.Log
	pump    *pump
	screen  *stream.Screen // nil: no terminal
	process backends.Process
	started time.Time
	cause   atomic.Uint32 // job.Cause that an ender set before the process ended
	ending  sync.Once
	ready   chan struct{} // closed when the process has started; until then only Start and Close know the job
	waited  chan struct{} // closed when the leader has ended and its output was delivered
	done    chan struct{} // closed when the job is over: also its tree, if we ended it; or given up
	slot    atomic.Bool   // holds one of the table's slots

	typing chan struct{} // one send at a time; nothing else takes it
	closed atomic.Bool   // stdin is closed

	listed, kept, retired bool // guarded by table.mu: a session, readable after its end, ended

	mu       sync.Mutex
	cursor   int64 // what was read
	touched  time.Time
	visitors int // calls about the session right now
	timers   []*time.Timer
	idle     *time.Timer
	timeout  *time.Timer
	exit     *job.Exit // set before done is closed
	err      error
	ended    time.Time
}

// Start begins a job. With Request.Detach it is a session from the start. ctx bounds the waiting for a slot and the
// starting, not the process. On an error nothing runs, and spec.Ended is not called.
func (t *Table) Start(ctx context.Context, spec Spec, sink job.Sink) (*Job, error) {
	j := &Job{
		id: cmp.Or(spec.Request.Job, NewID("s")), spec: spec, table: t, ready: make(chan struct{}), waited: make(chan struct{}), done: make(chan struct{}), typing: make(chan struct{}, 1),
		log: stream.NewLog(t.outputLimits(spec.Request.Detach), t.spill),
	}
	if !spec.Request.Detach {
		if err := t.acquire(ctx); err != nil {
			return nil, err
		}
		j.slot.Store(true)
	}
	if size := spec.Request.Command.TTY; size != nil {
		j.screen = stream.NewScreen(size.Cols, size.Rows)
	}
	j.started = time.Now()
	j.touched = j.started
	if err := t.add(j, spec.Request.Detach); err != nil {
		j.release()
		return nil, err
	}
	if err := j.start(ctx, sink); err != nil {
		close(j.done)
		t.retire(j)
		t.forget(j)
		j.release()
		return nil, err
	}
	return j, nil
}

func (t *Table) outputLimits(session bool) stream.Limits {
	if session {
		return t.limits.Load().Session
	}
	return t.limits.Load().Output
}

func (j *Job) start(ctx context.Context, sink job.Sink) error {
	pump, err := newPump(j, sink)
	if err != nil {
		return err
	}
	j.pump = pump
	starting := newClock(ctx, j.spec.Timeout, j.spec.Wait)
	defer starting.close()
	progress := func(p job.Progress) {
		starting.progress()
		sink.Progress(p)
	}
	j.process, err = j.spec.Start(starting, backends.IO{Stdout: pump.stdout(), Stderr: pump.stderr(), Progress: progress})
	if err != nil {
		return startError(ctx, starting, j.spec.Timeout, err)
	}
	close(j.ready)
	go j.follow()
	if j.spec.Timeout > 0 {
		j.timeout = j.after(j.spec.Timeout-starting.since(), func() { j.end(context.Background(), job.TimedOut) })
	}
	if j.spec.Request.Detach {
		j.watch()
	}
	return nil
}

// startError tells a caller that went away and a start that took too long from a backend's own errors.
func startError(ctx, starting context.Context, timeout time.Duration, err error) error {
	switch {
	case ctx.Err() != nil:
		return canceled(ctx)
	case job.KindOf(err) == job.Lost || job.KindOf(err) == job.Timeout || job.KindOf(err) == job.NotFound:
		return err // the backend knows better
	case errors.Is(starting.Err(), context.DeadlineExceeded):
		return &job.Error{Op: "start", Kind: job.Timeout, Err: err, Hint: "it did not start within " + timeout.String() + "; nothing runs"}
	}
	return err
}

// follow waits for the leader's end. Once the ladder has begun, the ladder finishes the job, since the tree counts then.
func (j *Job) follow() {
	exit, err := j.process.Wait()
	close(j.waited)
	j.ending.Do(func() { j.finish(exit, err) })
}

// finish completes the output and publishes the end. It runs once: in follow, or at the end of the ladder.
func (j *Job) finish(exit job.Exit, err error) {
	j.mu.Lock()
	j.ended = time.Now()
	timers := j.timers
	j.timers = nil
	if j.idle != nil {
		j.idle.Stop()
	}
	j.mu.Unlock()
	for _, t := range timers {
		t.Stop()
	}
	exit = j.pump.finish(exit)
	if cause := job.Cause(j.cause.Load()); cause != job.Exited && exit.Cause != job.OOM {
		exit.Cause = cause
		if cause == job.TimedOut {
			exit.Code = -1
		}
	}
	j.mu.Lock()
	if err != nil {
		j.err = err
	} else {
		j.exit = &exit
	}
	j.mu.Unlock()
	if j.table.retire(j) {
		j.table.keep(j)
	}
	j.log.Finish()
	j.release()
	if j.spec.Ended != nil {
		j.spec.Ended(j)
	}
	close(j.done)
}

// release gives the slot back, once.
func (j *Job) release() {
	if j.slot.CompareAndSwap(true, false) {
		<-j.table.slots
	}
}

func (j *Job) free() {
	j.mu.Lock()
	for _, t := range j.timers {
		t.Stop()
	}
	j.mu.Unlock()
	j.log.Close()
}

// after runs f once, unless the job ends before. The timer is nil when it has ended.
func (j *Job) after(d time.Duration, f func()) *time.Timer {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended.IsZero() {
		return nil
	}
	timer := time.AfterFunc(max(d, 0), f)
	j.timers = append(j.timers, timer)
	return timer
}

// expire forgets an ended job after d.
func (j *Job) expire(d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.timers = append(j.timers, time.AfterFunc(d, func() { j.table.forget(j) }))
}

// ID is the session's id; it exists before the job is listed.
func (j *Job) ID() string { return j.id }

// Request is the request as it runs.
func (j *Job) Request() job.Request { return j.spec.Request }

// Process is the running process, for backends.Runner and backends.Filer.
func (j *Job) Process() backends.Process { return j.process }

func (j *Job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

func (j *Job) isListed() bool {
	j.table.mu.Lock()
	defer j.table.mu.Unlock()
	return j.listed
}

func (j *Job) isReady() bool {
	select {
	case <-j.ready:
		return true
	default:
		return false
	}
}

func (j *Job) readable() bool {
	j.table.mu.Lock()
	defer j.table.mu.Unlock()
	return j.isReady() && (j.listed || j.kept)
}

func (j *Job) info() job.SessionInfo {
	j.mu.Lock()
	defer j.mu.Unlock()
	return job.SessionInfo{ID: j.id, Echo: j.spec.Echo, Exit: j.exit, Started: j.started, Idle: time.Since(j.touched)}
}

// Summary is how an ended job went, without its output: what a log says of it. Result.Next is how much it printed.
func (j *Job) Summary() job.Outcome {
	r := j.state()
	r.Next = j.log.End()
	j.mu.Lock()
	defer j.mu.Unlock()
	return job.Outcome{Result: r, Err: j.err}
}
