package ssh

import (
	"context"
	"errors"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// Start implements backends.Backend. Where a connection turns out to be gone before the command was sent, or takes no
// more channels, another one is taken.
func (b *Backend) Start(ctx context.Context, cmd job.Command, to backends.IO) (backends.Process, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx, b.config.Target)
	}
	if len(cmd.Argv) == 0 && cmd.Shell == "" {
		var err error
		if cmd, err = b.Resolve(ctx, cmd); err != nil {
			return nil, err
		}
	}
	for lost, single := 0, 0; ; {
		p, err := b.try(ctx, cmd, to)
		switch {
		case err == nil:
			return p, nil
		case errors.Is(err, errSingle) && single >= maxSingle:
			return nil, errMaxSessions(b.config.Target)
		case errors.Is(err, errFull) && ctx.Err() == nil:
			if errors.Is(err, errSingle) {
				single++
			}
			continue
		case errors.Is(err, errNotSent) && lost < 4:
			lost++
			continue
		}
		return nil, fail(err, b.config.Target)
	}
}

// maxSingle is how often a server may refuse a second session: it may not have noticed yet that the one before has ended.
const maxSingle = 20

func errMaxSessions(target string) error {
	return job.Errorf(job.Unavailable, "%s lets us in but runs one session on a connection at most", target).WithHint("MaxSessions must be at least 2 in the server's sshd_config")
}

func (b *Backend) try(ctx context.Context, cmd job.Command, to backends.IO) (*process, error) {
	p, err := b.shellFor(ctx, cmd, to.Merged())
	if err != nil {
		return nil, err
	}
	b.pool.begin(p.conn)
	p.stdout.direct(to.Stdout)
	p.stderr.direct(to.Stderr)
	if cmd.Stdin == job.StdinPipe {
		p.stdin = &stdin{process: p}
	}
	if !b.enter(p) {
		p.finish(job.Exit{}, errClosed(), false)
		return nil, errClosed()
	}
	if p.tty {
		if err := p.awaitTerminal(ctx); err != nil {
			p.finish(job.Exit{}, err, false)
			return nil, err
		}
	}
	go p.send(cmd, to)
	if err := p.begun(ctx, cmd); err != nil {
		p.finish(job.Exit{}, err, false)
		return nil, err
	}
	go p.follow()
	if !p.tty && b.config.Persistent {
		go func() {
			select { // it would take the processor from this one
			case <-p.done:
			case <-time.After(refillDelay):
			}
			b.pool.refill(p.conn, p.login)
		}()
	}
	return p, nil
}

// refillDelay is how long a command may have the far side for itself before the next shell is started there.
const refillDelay = 50 * time.Millisecond

// shellFor is an outer shell: the one that waits, or a new one.
func (b *Backend) shellFor(ctx context.Context, cmd job.Command, merged bool) (*process, error) {
	if cmd.TTY == nil {
		if p := b.pool.takeSpare(ctx, cmd.Login); p != nil {
			return p, nil
		}
	}
	c, err := b.pool.get(ctx)
	if err != nil {
		return nil, err
	}
	return b.newProcess(ctx, c, cmd, merged, true)
}

// awaitTerminal waits until the terminal no longer echoes what is typed.
func (p *process) awaitTerminal(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-p.eof:
		return job.Errorf(job.Unsupported, "%s gives no terminal", p.backend.config.Target).WithHint("run it without tty; PermitTTY may be off there, or stty missing")
	case <-ctx.Done():
		return contextError(ctx, p.backend.config.Target)
	}
}

// send types the command, after the setup where the shell did not get it yet, and then the command's own input.
func (p *process) send(cmd job.Command, to backends.IO) {
	var text string
	d, env := p.dialog, p.backend.config.Env
	switch {
	case p.tty:
		text = d.terminal(cmd, p.conn.facts, env)
	case p.prepared:
		text = d.chunk(d.command(cmd, p.conn.facts, to.Merged()))
	case !p.inline:
		text = d.typed(d.setup(env) + d.command(cmd, p.conn.facts, to.Merged()))
	}
	if _, err := p.ch.Write([]byte(text)); err != nil || cmd.Stdin != job.StdinBytes {
		return
	}
	if p.tty {
		select { // a raw terminal would keep what comes too early
		case <-p.started:
		case <-p.done:
		}
	}
	if _, err := p.ch.Write(cmd.Input); err != nil {
		return
	}
	if p.tty {
		_, _ = p.ch.Write(endOfFile)
		return
	}
	_ = p.ch.CloseWrite()
}

// begun waits until the command began or was refused.
func (p *process) begun(ctx context.Context, cmd job.Command) error {
	select {
	case <-p.started:
	case <-p.conn.dead:
		select {
		case <-p.started:
		case <-time.After(quietTime):
		}
	case <-ctx.Done():
		return p.abandon(ctx)
	}
	switch {
	case p.refusal != "":
		return noDirectory(cmd.Dir, p.refusal)
	case p.began.Load():
		return nil
	case p.prepared: // it waited too long, or was ended there; nothing ran, since it says so first
		return errNotSent
	}
	select {
	case <-p.conn.dead:
		return job.Errorf(job.Lost, "the connection to %s was lost before the command was seen to begin", p.backend.config.Target).WithHint("look there before you run it again")
	default:
	}
	return job.Errorf(job.Unavailable, "the shell at %s ended before the command began%s", p.backend.config.Target, said(p.stdout.preface()+p.stderr.preface())).
		WithHint("a login file there may end the shell: try `ssh %s true`", p.backend.config.Target)
}

// abandon gives a command up that was sent but not seen to begin.
func (p *process) abandon(ctx context.Context) error {
	p.killed.Store(true)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
		defer cancel()
		_, _ = p.ask(ctx, "k", "")
	}()
	if errors.Is(ctx.Err(), context.Canceled) {
		return job.Errorf(job.Canceled, "the call was cancelled")
	}
	return job.Errorf(job.Lost, "%s did not answer in time; whether the command ran is not confirmed", p.backend.config.Target).
		WithHint("what it may have started is killed as soon as the host answers")
}

const abandonTimeout = 10 * time.Second

// noDirectory words the shell's refusal: a letter for the reason, then the nearest folder there is.
func noDirectory(dir, refusal string) error {
	reason, nearest := refusal[:1], refusal[1:]
	switch reason {
	case "f":
		return job.Errorf(job.NotFound, "the working directory %s is a file; nothing was run", dir).WithHint("give a folder")
	case "p":
		return job.Errorf(job.NotFound, "no permission to enter the working directory %s; nothing was run", dir).WithHint("choose another, or another user")
	}
	return job.Errorf(job.NotFound, "the working directory %s does not exist on the remote host; nothing was run", dir).
		WithHint("the nearest folder that exists is %s", nearest)
}
