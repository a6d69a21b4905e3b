package docker

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// outer is our side of one outer shell: the two streams' scanners and what they heard.
type outer struct {
	stdout, stderr *scanner
	start          sync.Once
	started        chan struct{} // closed when the command began, was refused, or the shell ended
	began          atomic.Bool
	refusal        string // set before started is closed
	report         string
}

// errShellEnded means that the outer shell was gone before it began the command.
var errShellEnded = errors.New("the shell ended before the command began")

func newOuter(d dialog, p *process, to backends.IO) *outer {
	o := &outer{started: make(chan struct{})}
	o.stdout = &scanner{mark: d.mark, out: to.Stdout, said: func(kind byte, body string) {
		switch kind {
		case clean:
			return
		case begins:
			pid, _ := strconv.ParseInt(body, 10, 64)
			p.pid.Store(pid)
			o.began.Store(true)
		case refuses:
			if !o.began.Load() { // after it, it is the command that says so
				o.refusal = body
			}
		case ends:
			o.report = body
		}
		o.start.Do(func() { close(o.started) })
	}}
	o.stderr = &scanner{mark: d.mark, out: to.Stderr, said: func(byte, string) {}}
	return o
}

func (o *outer) ended() bool { return o.stdout.ended && o.stderr.ended }

// follow reads the streams to their ends. The end that counts is the shell's word on both of them: with one only, the
// other could still be on its way.
func (p *process) follow() {
	o := p.outer
	err := demux(p.stream.Reader, o.stdout.write, o.stderr.write, o.ended)
	if err == nil {
		exit, err := parseReport(o.report)
		p.finish(exit, err)
		return
	}
	o.stdout.flush()
	o.stderr.flush()
	if o.began.Load() {
		p.finish(p.autopsy())
	} else {
		p.finish(job.Exit{}, errShellEnded)
	}
	o.start.Do(func() { close(o.started) })
}

// run sends the command to the shell and returns once it began. send is the whole text, input what the command reads.
func (p *process) run(ctx context.Context, send string, cmd job.Command) (*process, error) {
	go p.follow()
	go func() {
		_, err := io.WriteString(p.stream.Conn, send)
		if err != nil || cmd.Stdin != job.StdinBytes {
			return
		}
		if _, err := p.stream.Conn.Write(cmd.Input); err == nil {
			_ = p.stream.CloseWrite()
		}
	}()
	return p.begun(ctx, cmd)
}

// begun waits until the command began or was refused.
func (p *process) begun(ctx context.Context, cmd job.Command) (*process, error) {
	select {
	case <-p.outer.started:
	case <-ctx.Done():
		return nil, p.abandon(ctx)
	}
	switch {
	case p.outer.refusal != "":
		return nil, noDirectory(cmd.Dir, p.outer.refusal)
	case !p.outer.began.Load():
		return nil, errShellEnded
	}
	return p, nil
}

// abandon gives a command up that was sent but not seen to begin. It may begin all the same when the engine comes back,
// until its container is removed.
func (p *process) abandon(ctx context.Context) error {
	p.killed.Store(true)
	if p.exec == "" && !p.owns {
		p.backend.cleaner.remove(p.id)
	}
	p.finish(job.Exit{}, errShellEnded)
	if errors.Is(ctx.Err(), context.Canceled) {
		return job.Errorf(job.Canceled, "the call was cancelled")
	}
	return job.Errorf(job.Lost, "Docker at %s did not answer in time; whether the command ran is not confirmed", p.backend.where()).
		WithHint("`docker info` says whether the engine is stuck; the container is removed as soon as it answers")
}

// noDirectory words the shell's refusal: a letter for the reason, then the nearest folder there is.
func noDirectory(dir, refusal string) error {
	reason, nearest := refusal[:1], refusal[1:]
	switch reason {
	case "f":
		return job.Errorf(job.NotFound, "the working directory %s is a file; nothing was run", dir).WithHint("give a folder, like %s", nearest)
	case "p":
		return job.Errorf(job.NotFound, "no permission to enter the working directory %s; nothing was run", dir).WithHint("choose another, or docker(user=)")
	}
	return job.Errorf(job.NotFound, "the working directory %s does not exist in the container; nothing was run", dir).
		WithHint("the nearest folder that exists is %s", nearest)
}

// parseReport reads "CODE/OOM PID:NAME PID:NAME".
func parseReport(report string) (job.Exit, error) {
	code, rest, _ := strings.Cut(report, "/")
	oom, left, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(code)
	if err != nil || n < 0 || n > 255 {
		return job.Exit{}, job.Errorf(job.Lost, "the command ended, but how is not known").
			WithHint("what it printed may be incomplete: run it again, or have it write to a file")
	}
	exit := exitOf(n)
	if oom != "" && oom != "0" {
		exit = outOfMemory(exit)
	}
	if left != "" {
		exit.Notes = append(exit.Notes, leftovers(left))
	}
	return exit, nil
}

func leftovers(list string) string {
	var names []string
	for entry := range strings.FieldsSeq(list) {
		if pid, name, ok := strings.Cut(entry, ":"); ok {
			names = append(names, "pid "+pid+", "+strings.Map(printable, name))
		}
	}
	const most = 5
	more := ""
	if n := len(names); n > most {
		names, more = names[:most], ", and "+strconv.Itoa(n-most)+" more"
	}
	return "a background process (" + strings.Join(names, "; ") + more + ") ended with the container: start a session (detach) to keep one running"
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// exitOf reads a shell's or an engine's exit code: above 128 it names a signal.
func exitOf(code int) job.Exit {
	exit := job.Exit{Code: code}
	if name := signals[code-128]; name != "" {
		exit.Signal, exit.Cause = name, job.Signaled
	}
	return exit
}

func outOfMemory(exit job.Exit) job.Exit {
	exit.Notes = append(exit.Notes, "OOM-killed: a process of it needed more memory than the container may use")
	if exit.Code == 137 {
		exit.Cause = job.OOM
	}
	return exit
}

// signals are those of Linux, since that is where containers run.
var signals = map[int]string{
	1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV",
	12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU", 25: "XFSZ", 31: "SYS",
}
