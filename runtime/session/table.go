// Package session follows processes to their end. Attached calls and detached sessions are one path: a job is started,
// its output pumped into a log, its end observed; whether it is listed as a session is a flag that may be set later.
// It knows no backend by name.
package session

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/stream"
)

// Limits are the table's. All are counts, bytes or durations; none may be zero but MaxLife (none).
type Limits struct {
	Attached int // jobs that a call waits for, at once
	Sessions int // running sessions
	Output   stream.Limits
	Session  stream.Limits
	Inline   int           // bytes of output in a reply
	Preview  int           // bytes of output in a reply that has an output file
	Alive    time.Duration // a session's life without a call about it; job.Unlimited: for ever
	MaxLife  time.Duration // a session's life in all; job.Unlimited or 0: no limit
	Queue    time.Duration // how long a call waits for a free slot
	Keep     time.Duration // how long an ended session can be read
	Kept     int           // how many ended sessions can be read
}

// Table holds all jobs, attached ones too, so that Close reaches them. It is safe for concurrent use.
type Table struct {
	limits atomic.Pointer[Limits]
	spill  *stream.Spill
	slots  chan struct{}

	mu       sync.Mutex
	jobs     map[string]*Job
	sessions int    // listed and running
	ended    []*Job // readable, oldest first
	closed   bool
}

// NewTable returns an empty table. Long logs go to spill, which may be nil.
func NewTable(l Limits, spill *stream.Spill) *Table {
	t := &Table{spill: spill, slots: make(chan struct{}, l.Attached), jobs: map[string]*Job{}}
	t.limits.Store(&l)
	return t
}

// acquire takes a slot for an attached job. Kinds: Busy, Canceled.
func (t *Table) acquire(ctx context.Context) error {
	select {
	case t.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(t.limits.Load().Queue)
	defer timer.Stop()
	select {
	case t.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return canceled(ctx)
	case <-timer.C:
		return job.Errorf(job.Busy, "%d commands are running, which is the limit", t.limits.Load().Attached).
			WithHint("wait for one to end, or kill a session; the owner can raise server(max_concurrent=)")
	}
}

func canceled(ctx context.Context) error {
	return &job.Error{Op: "wait", Kind: job.Canceled, Err: context.Cause(ctx)}
}

// add enters j; with listed it counts as a session. Kinds: Busy, Unavailable.
func (t *Table) add(j *Job, listed bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return job.Errorf(job.Unavailable, "the server is shutting down")
	}
	if listed && !t.listLocked(j) {
		return t.full()
	}
	t.jobs[j.id] = j
	return nil
}

func (t *Table) full() *job.Error {
	return job.Errorf(job.Busy, "%d sessions are running, which is the limit", t.limits.Load().Sessions).
		WithHint("end one with action=\"kill\"; action=\"list\" shows them; the owner can raise server(max_sessions=)")
}

func (t *Table) listLocked(j *Job) bool {
	if j.listed {
		return true
	}
	if !j.retired {
		if t.sessions >= t.limits.Load().Sessions {
			return false
		}
		t.sessions++
	}
	j.listed = true
	return true
}

// list makes a job a session; ok is false when the table is full. late: it has ended meanwhile, and nobody keeps it yet.
func (t *Table) list(j *Job) (ok, late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listLocked(j), j.retired
}

// Get returns the job with this id if it belongs to tool. Kind: NotFound.
func (t *Table) Get(tool, id string) (*Job, error) {
	t.mu.Lock()
	j := t.jobs[id]
	t.mu.Unlock()
	if j == nil || !j.readable() {
		return nil, job.Errorf(job.NotFound, "no session %q", id).
			WithHint("action=\"list\" shows this tool's sessions; ended ones can be read for %s", t.limits.Load().Keep)
	}
	if j.spec.Request.Tool != tool {
		return nil, job.Errorf(job.NotFound, "session %q belongs to another tool", id).WithHint("use %s for it", j.spec.Request.Tool)
	}
	return j, nil
}

// Any returns a session of whatever tool. Kind: NotFound.
func (t *Table) Any(id string) (*Job, error) {
	t.mu.Lock()
	j := t.jobs[id]
	t.mu.Unlock()
	if j == nil {
		return t.Get("", id)
	}
	return t.Get(j.spec.Request.Tool, id)
}

// List returns the sessions of a tool, oldest first.
func (t *Table) List(tool string) []job.SessionInfo {
	t.mu.Lock()
	var own []*Job
	for _, j := range t.jobs {
		if j.spec.Request.Tool == tool {
			own = append(own, j)
		}
	}
	t.mu.Unlock()
	own = slices.DeleteFunc(own, func(j *Job) bool { return !j.readable() })
	slices.SortFunc(own, func(a, b *Job) int { return a.started.Compare(b.started) })
	infos := make([]job.SessionInfo, len(own))
	for i, j := range own {
		infos[i] = j.info()
	}
	return infos
}

// retire is called once when j has ended. It returns whether j is a session, which is then to be kept.
func (t *Table) retire(j *Job) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	j.retired = true
	if j.listed {
		t.sessions--
	}
	return j.listed
}

// keep makes an ended job readable for Limits.Keep; the oldest beyond Limits.Kept are forgotten.
func (t *Table) keep(j *Job) {
	t.mu.Lock()
	j.kept = true
	t.ended = append(t.ended, j)
	var old []*Job
	if extra := len(t.ended) - t.limits.Load().Kept; extra > 0 {
		old = slices.Clone(t.ended[:extra])
	}
	t.mu.Unlock()
	for _, o := range old {
		t.forget(o)
	}
	j.expire(t.limits.Load().Keep)
}

// forget removes j and frees its log.
func (t *Table) forget(j *Job) {
	t.mu.Lock()
	_, present := t.jobs[j.id]
	delete(t.jobs, j.id)
	t.ended = slices.DeleteFunc(t.ended, func(o *Job) bool { return o == j })
	t.mu.Unlock()
	if present {
		j.free()
	}
}

// Limit puts other limits in force. What runs keeps its own; the number of slots and sessions stays as it was.
func (t *Table) Limit(l Limits) {
	old := t.limits.Load()
	l.Attached, l.Sessions = old.Attached, old.Sessions
	t.limits.Store(&l)
}

// EndTool ends the jobs of a tool that is no more, without waiting for them.
func (t *Table) EndTool(ctx context.Context, tool string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		if j.spec.Request.Tool == tool {
			go j.end(context.WithoutCancel(ctx), job.Killed)
		}
	}
}

// Close ends every job by the ladder, side by side, and returns when all have ended or ctx is done: a hook or a disk that
// hangs may keep a job from being over. It may be called again, also at the same time.
func (t *Table) Close(ctx context.Context) {
	t.mu.Lock()
	t.closed = true
	all := make([]*Job, 0, len(t.jobs))
	for _, j := range t.jobs {
		all = append(all, j)
	}
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, j := range all {
		wg.Go(func() { j.end(ctx, job.Killed) })
	}
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	wait(ctx, ended)
	for _, j := range all {
		t.forget(j)
	}
}

// Running returns how many jobs have not ended.
func (t *Table) Running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, j := range t.jobs {
		if !j.over() {
			n++
		}
	}
	return n
}

// NewID returns 128 random bits in lower-case base32 behind a letter, "s_..." for sessions.
func NewID(prefix string) string {
	var b [16]byte
	rand.Read(b[:])
	return prefix + "_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}
