package session

import (
	"cmp"
	"context"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// sendWait is how long a send waits for the program to take its input when the call does not say.
const sendWait = time.Second

// Send types into the session and returns what came since, after the read's wait. A send is atomic: its bytes are in one
// piece in the program's input. Kinds: Invalid (ended, no input, end of file sent before), Denied, Busy.
func (j *Job) Send(ctx context.Context, in job.Input) (job.Result, error) {
	defer j.Visit()()
	grep, err := compileGrep(in.Grep)
	if err != nil {
		return job.Result{}, err
	}
	if err := j.canSend(in); err != nil {
		return job.Result{}, err
	}
	select {
	case j.typing <- struct{}{}:
	default:
		return job.Result{}, job.Errorf(job.Busy, "the program has not taken the input that was sent before").
			WithHint("read the session to see what it is doing, or kill it")
	}
	from := j.log.End() // what was there before is no answer, read or not: an old prompt looks like a new one
	if err := j.resize(in.Size); err != nil {
		<-j.typing
		return job.Result{}, err
	}
	held, sent, notes, err := j.typeIn(ctx, in)
	if err != nil {
		return job.Result{}, err
	}
	read := in.Read
	if read.Wait == 0 {
		read.Wait = sendWait
	}
	if held && (sent == 0 || in.WaitFor == "") {
		read.Wait, read.WaitFor = 0, "" // nothing will come before the rest of the statement
	}
	if err := j.await(ctx, read, from); err != nil {
		return job.Result{}, err
	}
	if grep != nil && in.Offset == job.Unread { // lines from before the send are no answer to it
		in.Offset = j.unread()
	}
	result, err := j.read(in.Read, grep)
	result.Sent, result.Held = sent, held
	result.Notes = append(result.Notes, notes...)
	return result, err
}

func (j *Job) canSend(in job.Input) error {
	switch {
	case j.over():
		return job.Errorf(job.Invalid, "the process has ended: nothing reads what is sent").
			WithHint("read the session for its last output and exit code, or start a new one")
	case j.process.Stdin() == nil && !onlyInterrupt(in, j):
		return job.Errorf(job.Invalid, "the process has no open input").
			WithHint("start it with detach, tty or a wait_for pattern, and without stdin, to be able to send")
	case j.closed.Load() && !onlyInterrupt(in, j):
		return job.Errorf(job.Invalid, "the end of the input was already sent").WithHint("start a new session to send more")
	}
	return nil
}

// onlyInterrupt says whether the input is a ctrl-c that needs no open input: without a terminal it is a signal.
func onlyInterrupt(in job.Input, j *Job) bool {
	return j.spec.Request.Command.TTY == nil && len(in.Keys) == 1 && keyName(in.Keys[0]) == "ctrl-c"
}

// resize gives the terminal another size, of which its program is told.
func (j *Job) resize(size *job.Size) error {
	if size == nil {
		return nil
	}
	if j.screen == nil {
		return job.Errorf(job.Invalid, "the session has no terminal to resize").WithHint("start it with tty=true")
	}
	cols, rows := j.screen.Size()
	next := job.Size{Cols: cmp.Or(size.Cols, cols), Rows: cmp.Or(size.Rows, rows)}
	if err := j.process.Resize(next); err != nil {
		return err
	}
	j.screen.Resize(next.Cols, next.Rows)
	return nil
}

// typeIn checks and writes the input. It owns j.typing, and gives it back when the program has taken everything.
func (j *Job) typeIn(ctx context.Context, in job.Input) (held bool, sent int, notes []string, err error) {
	p, err := j.plan(ctx, in)
	if err != nil {
		<-j.typing
		return false, 0, nil, err
	}
	taken := make(chan error, 1)
	go func() {
		err := j.perform(p)
		<-j.typing // first: who has the answer may send again
		taken <- err
	}()
	limit := sendWait
	if in.Wait > limit {
		limit = in.Wait
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-taken:
		if err != nil && !j.over() {
			return false, 0, nil, job.Errorf(job.Invalid, "the program does not take input: %v", err).WithHint("it has closed its input; read the session")
		}
	case <-j.done:
		if !took(taken) {
			notes = append(notes, "the process ended before it had taken all of the input")
		}
	case <-timer.C:
		notes = append(notes, "the program has not taken all of the input yet; the rest follows when it reads")
	case <-ctx.Done():
		return false, 0, nil, canceled(ctx)
	}
	return p.held, len(p.data), notes, nil
}

// took says of a process that has just ended whether it had taken everything. The write returns then, but not at once.
func took(taken <-chan error) bool {
	select {
	case err := <-taken:
		return err == nil
	case <-time.After(settle):
		return false
	}
}

// planned is what a send comes down to.
type planned struct {
	data      []byte
	interrupt bool // INT to the tree
	eof       bool
	held      bool
}

// plan turns text, keys or eof into what is written, after the typist's check.
func (j *Job) plan(ctx context.Context, in job.Input) (planned, error) {
	tty := j.spec.Request.Command.TTY != nil
	switch {
	case in.EOF:
		return j.planEOF(ctx, tty)
	case len(in.Keys) > 0:
		return j.planKeys(ctx, in.Keys, tty)
	case j.spec.Typist == nil:
		return planned{data: in.Data}, nil
	}
	pass, held, err := j.spec.Typist.Type(ctx, in.Data)
	return planned{data: pass, held: held}, err
}

func (j *Job) planEOF(ctx context.Context, tty bool) (planned, error) {
	p := planned{eof: true}
	if j.spec.Typist != nil {
		pass, err := j.spec.Typist.EOF(ctx)
		if err != nil {
			return planned{}, err
		}
		p.data = pass
	}
	if tty {
		p.data, p.eof = append(p.data, 0x04), false
	}
	return p, nil
}

func (j *Job) perform(p planned) error {
	if p.interrupt {
		return j.process.Signal(context.Background(), job.Interrupt)
	}
	stdin := j.process.Stdin()
	if len(p.data) > 0 {
		if _, err := stdin.Write(p.data); err != nil {
			return err
		}
	}
	if p.eof {
		j.closed.Store(true)
		return stdin.Close()
	}
	return nil
}
