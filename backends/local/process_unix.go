//go:build unix

package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"cmd-exec-mcp/runtime/job"
	"golang.org/x/sys/unix"
)

// process is one command and what it started.
type process struct {
	backend *backend
	leader  leader
	tree    *tree // nil: never ran
	tty     *os.File
	search  string // its PATH
	stdin   io.WriteCloser
	input   *os.File // our end of the stdin pipe, closed when the leader ends
	readers []*reader

	ended      atomic.Int64  // unix nanoseconds, 0 while the leader runs
	over       chan struct{} // closed when ended is set
	delivering sync.WaitGroup
	open       atomic.Int32 // streams not yet closed
	done       chan struct{}

	killing sync.Mutex // held while Kill works, so that Wait sees what it found
	killed  atomic.Bool
	exit    job.Exit // written before done is closed, then under killing
	err     error
}

// Stdin implements backends.Process.
func (p *process) Stdin() io.WriteCloser { return p.stdin }

// Resize implements backends.Process.
func (p *process) Resize(size job.Size) error {
	if p.tty == nil {
		return job.Errorf(job.Unsupported, "this command has no terminal").WithHint("start it with tty=true")
	}
	if size.Cols <= 0 || size.Rows <= 0 || size.Cols > 1<<15 || size.Rows > 1<<15 {
		return job.Errorf(job.Invalid, "a terminal of %d by %d cells cannot be", size.Cols, size.Rows).WithHint("80 by 24 is usual")
	}
	if p.ended.Load() != 0 {
		return nil
	}
	if err := setSize(p.tty, size); err != nil && p.ended.Load() == 0 {
		return &job.Error{Op: "local.Resize", Kind: job.Internal, Err: err}
	}
	return nil
}

// Signal implements backends.Process.
func (p *process) Signal(ctx context.Context, s job.Signal) error {
	if p.tree == nil {
		return nil
	}
	switch s {
	case job.Interrupt:
		p.tree.signal(&p.leader, unix.SIGINT)
	case job.Terminate:
		p.tree.signal(&p.leader, unix.SIGTERM)
		p.tree.signal(&p.leader, unix.SIGCONT) // a stopped process acts on TERM only when it goes on
	case job.Kill:
		return p.Kill(ctx)
	default:
		return job.Errorf(job.Invalid, "no signal has number %d", s)
	}
	return nil
}

// Kill implements backends.Process. It also ends what a finished command left in the background.
func (p *process) Kill(ctx context.Context) error {
	if p.tree == nil {
		return nil
	}
	p.killing.Lock()
	defer p.killing.Unlock()
	p.killed.Store(true)
	survivors := p.tree.kill(ctx, &p.leader)
	p.exit.Survivors = survivors
	if len(survivors) > 0 {
		return job.Errorf(job.Lost, "processes %v could not be ended", survivors).WithHint("end them by hand")
	}
	return nil
}

// Wait implements backends.Process.
func (p *process) Wait() (job.Exit, error) {
	<-p.done
	p.killing.Lock()
	defer p.killing.Unlock()
	exit := p.exit
	if p.killed.Load() {
		exit.Notes = nil // they speak of background processes, which Kill has ended
	}
	return exit, p.err
}

// read delivers one stream, then keeps it flowing for whoever still holds it.
func (p *process) read(r *reader) {
	held := r.deliver()
	r.held = held
	p.delivering.Done()
	if held {
		r.discard()
	}
	r.file.Close()
	if p.open.Add(-1) == 0 {
		<-p.done
		p.backend.leave(p)
	}
}

// follow observes the leader's end and puts the answer together.
func (p *process) follow() {
	defer p.backend.running.Done()
	status, err := p.leader.await()
	p.ended.Store(time.Now().UnixNano())
	close(p.over)
	if p.input != nil {
		p.input.Close()
	}
	for _, r := range p.readers {
		r.file.SetReadDeadline(time.Now().Add(silence))
	}
	p.delivering.Wait()
	held := p.held()
	notes := p.background(held)
	p.killing.Lock()
	if err != nil {
		p.err = &job.Error{Op: "local.Wait", Kind: job.Lost, Err: err, Hint: "the command's end could not be observed; it may still run"}
	} else {
		survivors := p.exit.Survivors
		p.exit = result(status, p.killed.Load())
		p.exit.Survivors, p.exit.Notes = survivors, notes
		p.exit.Hint = hint(p.exit.Code, p.readers[len(p.readers)-1].tail, p.search)
	}
	p.killing.Unlock()
	p.backend.forest.clear(p.tree)
	close(p.done)
}

func (p *process) held() bool {
	for _, r := range p.readers {
		if r.held {
			return true
		}
	}
	return false
}

// letGo stops following the streams that are still held, when the server ends.
func (p *process) letGo() {
	for _, r := range p.readers {
		r.file.Close()
	}
}

// result translates the kernel's word.
func result(status syscall.WaitStatus, killed bool) job.Exit {
	if !status.Signaled() {
		return job.Exit{Code: status.ExitStatus()}
	}
	signal := status.Signal()
	name := strings.TrimPrefix(unix.SignalName(signal), "SIG")
	if name == "" {
		name = fmt.Sprint(int(signal))
	}
	exit := job.Exit{Code: 128 + int(signal), Signal: name, Cause: job.Signaled}
	if killed && signal == unix.SIGKILL {
		exit.Cause = job.Killed
	}
	return exit
}

// background says what the command left running.
func (p *process) background(held bool) []string {
	// Those that die with the leader, like the far end of a pipe, take a moment.
	for wait := 250 * time.Microsecond; !held && wait < 8*time.Millisecond; wait *= 2 {
		if !p.tree.inhabited() {
			return nil
		}
		time.Sleep(wait)
	}
	pids := p.tree.pids()
	if len(pids) == 0 && !held {
		return nil
	}
	does := "is still running"
	if held {
		does = "still holds the output"
	}
	switch len(pids) {
	case 0:
		return []string{"a background process " + does}
	case 1:
		return []string{fmt.Sprintf("a background process (%s) %s; it ends with the server, or with kill %d", describe(pids[0]), does, pids[0])}
	}
	names := make([]string, 0, 5)
	for _, pid := range pids[:min(len(pids), cap(names))] {
		names = append(names, describe(pid))
	}
	if more := len(pids) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	does = strings.NewReplacer("is", "are", "holds", "hold").Replace(does)
	return []string{fmt.Sprintf("background processes (%s) %s; they end with the server, or with kill", strings.Join(names, "; "), does)}
}

func describe(pid int) string {
	if name := processName(pid); name != "" {
		return fmt.Sprintf("pid %d, %s", pid, name)
	}
	return fmt.Sprintf("pid %d", pid)
}
