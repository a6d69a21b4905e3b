package ssh

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
)

// process is an outer shell and, once it was given one, its command.
type process struct {
	backend  *Backend
	conn     *conn
	ch       *channel
	dialog   dialog
	login    bool
	tty      bool
	inline   bool   // the command went with the line that started the shell
	prepared bool   // the shell got its first chunk while it waited
	stdin    *stdin // nil unless the command reads a pipe

	stdout, stderr *scanner
	ready          chan struct{} // closed when the shell takes its command
	started        chan struct{} // closed when the command began or was refused, or the shell ended
	reported       chan struct{} // closed when the shell has said on all its streams how the command ended
	eof            chan struct{} // closed when the streams have ended
	start          sync.Once
	open           atomic.Int32 // streams on which the shell has not said that the command ended
	began          atomic.Bool
	killed         atomic.Bool
	pid            atomic.Int64
	refusal        string // set before started is closed
	report         string // set before reported is closed

	done chan struct{}
	once sync.Once
	mu   sync.Mutex
	exit job.Exit
	err  error
}

// newProcess starts a shell in a new channel of c; a place was reserved. Where the command is known already it goes along.
func (b *Backend) newProcess(ctx context.Context, c *conn, cmd job.Command, merged, known bool) (*process, error) {
	tty := cmd.TTY
	ch, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	b.pool.mu.Lock()
	c.serial++
	id := c.name + "_" + strconv.Itoa(c.serial)
	b.pool.mu.Unlock()
	p := &process{
		backend: b, conn: c, ch: ch, dialog: dialog{id: id, word: randomWord()}, login: cmd.Login, tty: tty != nil,
		ready: make(chan struct{}), started: make(chan struct{}), reported: make(chan struct{}), eof: make(chan struct{}), done: make(chan struct{}),
	}
	p.stdout = &scanner{mark: p.dialog.mark(), said: p.said}
	p.stderr = &scanner{mark: p.dialog.mark(), said: func(kind byte, _ string) { p.ending(kind) }}
	p.open.Store(2)
	if tty != nil {
		if err := ch.terminal(*tty); err != nil {
			_ = ch.Close()
			return nil, err
		}
	}
	text := ""
	if known && !p.tty && len(cmd.Env) == 0 && len(b.config.Env) == 0 {
		text = p.dialog.setup(nil) + p.dialog.command(cmd, c.facts, merged)
	}
	line := p.dialog.line(cmd.Login, p.tty, text)
	if p.inline = text != "" && len(line) < maxLine; !p.inline {
		line = p.dialog.line(cmd.Login, p.tty, "")
	}
	if err := ch.exec(line); err != nil {
		_ = ch.Close()
		return nil, err
	}
	go p.pump()
	return p, nil
}

// terminal asks for a pseudo-terminal; the request that runs the command follows at once.
func (s *channel) terminal(size job.Size) error {
	_, err := s.SendRequest("pty-req", false, ssh.Marshal(struct {
		Term                      string
		Cols, Rows, Width, Height uint32
		Modes                     string
	}{"xterm-256color", uint32(size.Cols), uint32(size.Rows), 0, 0, "\x00"}))
	if err != nil {
		return errNotSent
	}
	return nil
}

func (p *process) pump() {
	var wg sync.WaitGroup
	wg.Go(func() { p.stdout.pump(p.ch) })
	wg.Go(func() { p.stderr.pump(p.ch.Stderr()) })
	wg.Wait()
	close(p.eof)
	p.start.Do(func() { close(p.started) })
}

// said hears the shell on stdout. It is called with the scanner locked.
func (p *process) said(kind byte, body string) {
	switch kind {
	case clean:
		select {
		case <-p.ready:
		default:
			close(p.ready)
		}
		return
	case begins:
		pid, _ := strconv.ParseInt(body, 10, 64)
		p.pid.Store(pid)
		p.began.Store(true)
		p.stdout.plain = p.tty // the shell has become the command
	case refuses:
		if !p.began.Load() {
			p.refusal = body
		}
	case ends:
		p.report = body
	}
	p.start.Do(func() { close(p.started) })
	p.ending(kind)
}

func (p *process) ending(kind byte) {
	if (kind == ends || kind == refuses) && p.open.Add(-1) == 0 {
		close(p.reported)
	}
}

const (
	holdTime  = 25 * time.Millisecond  // how long after a command's end its output may stay open before somebody else holds it
	quietTime = 300 * time.Millisecond // silence after the exit status that stands for the end of the output
	drainTime = 10 * time.Second       // at most
)

// follow waits for the end of a command that has begun.
func (p *process) follow() {
	select {
	case <-p.reported:
	case <-p.ch.exited:
		p.drain()
	}
	select {
	case <-p.reported:
		p.conclude()
	default:
		exit, err := p.autopsy()
		p.finish(exit, err, false)
	}
}

// conclude ends a command whose shell has said how it ended: all its output is here. The shell has closed the streams; if
// they stay open, somebody else holds them.
func (p *process) conclude() {
	exit, err := parseReport(p.report)
	select {
	case <-p.eof:
	case <-p.conn.dead:
	case <-time.After(holdTime):
		exit.Notes = append(exit.Notes, "a background process still holds the output; it goes on until this server, or its connection, ends")
		p.backend.pool.keep(p.ch)
		p.finish(exit, err, true)
		return
	}
	p.finish(exit, err, false)
}

// drain waits for the output that is on its way. A shell that ended by itself has said so before, so its word comes for
// certain; after a signal, or in a terminal, somebody else may hold the output, and silence has to do.
func (p *process) drain() {
	if !p.tty && p.ch.known && p.ch.signal == "" && !p.killed.Load() {
		select {
		case <-p.eof:
		case <-p.reported:
		case <-p.conn.dead:
		case <-p.ch.ended:
			<-p.eof
		}
		return
	}
	began := time.Now()
	for {
		select {
		case <-p.eof:
			return
		case <-p.reported:
			return
		case <-time.After(quietTime / 4):
			if min(p.stdout.silence(began), p.stderr.silence(began)) >= quietTime || time.Since(began) > drainTime {
				return
			}
		}
	}
}

// autopsy reads the end from what the server says of the channel.
func (p *process) autopsy() (job.Exit, error) {
	ch := p.ch
	switch {
	case ch.signal != "":
		for n, name := range signals {
			if name == ch.signal {
				return exitOf(128 + n), nil
			}
		}
		return job.Exit{Code: 128, Signal: ch.signal, Cause: job.Signaled}, nil
	case ch.known:
		return exitOf(ch.status), nil
	case p.killed.Load():
		return exitOf(137), nil
	}
	return job.Exit{}, p.lost()
}

func (p *process) lost() error {
	return job.Errorf(job.Lost, "the connection to %s was lost while the command ran; it may still be running", p.backend.config.Target).
		WithHint("what it had printed is kept; look there before you run it again")
}

// finish publishes the end, once. held: the channel stays open for somebody else.
func (p *process) finish(exit job.Exit, err error, held bool) {
	p.once.Do(func() {
		if err == nil && p.killed.Load() && exit.Cause == job.Signaled {
			exit.Cause = job.Killed
		}
		p.stdout.shut()
		p.stderr.shut()
		p.mu.Lock()
		exit.Survivors = p.exit.Survivors
		p.exit, p.err = exit, err
		p.mu.Unlock()
		p.backend.leave(p)
		if !held {
			_ = p.ch.Close()
		}
		close(p.done)
		p.backend.pool.end(p.conn)
	})
}

// Stdin implements backends.Process.
func (p *process) Stdin() io.WriteCloser {
	if p.stdin == nil {
		return nil
	}
	return p.stdin
}

// Wait implements backends.Process.
func (p *process) Wait() (job.Exit, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Resize implements backends.Process.
func (p *process) Resize(size job.Size) error {
	if !p.tty {
		return job.Errorf(job.Unsupported, "the command has no terminal").WithHint("start it with tty=true")
	}
	if p.over() {
		return nil
	}
	_, err := p.ch.SendRequest("window-change", false, ssh.Marshal(struct{ Cols, Rows, Width, Height uint32 }{uint32(size.Cols), uint32(size.Rows), 0, 0}))
	if err != nil && !errors.Is(err, io.EOF) && !p.over() {
		return p.lost()
	}
	return nil
}

// discard ends a shell that waits for a command no longer.
func (p *process) discard() { _ = p.ch.Close() }

// endOfFile is what ends the input of a terminal, at the beginning of a line.
var endOfFile = []byte{4}

// stdin is the command's end of a pipe.
type stdin struct {
	process *process
	mu      sync.Mutex
	closed  bool
}

var errEnded = errors.New("the process has ended")

func (s *stdin) Write(data []byte) (int, error) {
	if s.process.over() {
		return 0, errEnded
	}
	n, err := s.process.ch.Write(data)
	if err != nil && s.process.over() {
		err = errEnded
	}
	return n, err
}

func (s *stdin) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.process.over() {
		return nil
	}
	s.closed = true
	if s.process.tty {
		_, err := s.process.ch.Write(endOfFile)
		return err
	}
	return s.process.ch.CloseWrite()
}

var (
	_ backends.Process = (*process)(nil)
	_ backends.Filer   = (*process)(nil)
)
