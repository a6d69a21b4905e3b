package ssh

import (
	"context"
	"strconv"

	"cmd-exec-mcp/runtime/job"
)

// Kill implements backends.Process: the group and session, and then whatever carries the marker, until two looks agree
// that nothing is left. After the end it reaches what the command left running.
func (p *process) Kill(ctx context.Context) error {
	if !p.over() {
		p.killed.Store(true)
	}
	left, err := p.ask(ctx, "k", "")
	if err != nil {
		if p.over() {
			return nil
		}
		_ = p.ch.Close()
		lost := job.Errorf(job.Lost, "the command was killed but %s did not confirm it", p.backend.config.Target).
			WithHint("it may still run; its connection is closed, which ends what it started once the far side notices")
		p.finish(job.Exit{}, lost, false)
		return lost
	}
	p.mu.Lock()
	p.exit.Survivors = left
	p.mu.Unlock()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	p.finish(exitOf(137), nil, false)
	return nil
}

// giveUp ends a process of a backend that has been closed.
func (p *process) giveUp(ctx context.Context) {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.finish(job.Exit{}, p.lost(), false)
	}
}

// Signal implements backends.Process.
func (p *process) Signal(ctx context.Context, s job.Signal) error {
	name, ok := map[job.Signal]string{job.Interrupt: "INT", job.Terminate: "TERM", job.Kill: "KILL"}[s]
	switch {
	case !ok:
		return job.Errorf(job.Invalid, "no signal %d", s)
	case p.over():
		return nil
	case s == job.Kill:
		return p.Kill(ctx)
	}
	if _, err := p.ask(ctx, "s", name); err != nil && !p.over() {
		return job.Errorf(job.Unavailable, "the signal could not be sent to %s: %w", p.backend.config.Target, err).WithHint("kill ends the command in any case")
	}
	return nil
}

// ask goes through the control shell. One that was ended, as by a command that kills all its user's processes, is
// started again.
func (p *process) ask(ctx context.Context, verb, signal string) ([]int, error) {
	pid := p.pid.Load()
	if p.over() || !p.conn.facts.leader {
		pid = 0 // its number may be somebody else's by now
	}
	t, err := p.conn.controlShell(ctx)
	if err != nil {
		return nil, err
	}
	return t.ask(ctx, verb, p.dialog.id, pid, signal)
}

// parseReport reads the shell's word for how the command ended.
func parseReport(report string) (job.Exit, error) {
	n, err := strconv.Atoi(report)
	if err != nil || n < 0 || n > 255 {
		return job.Exit{}, job.Errorf(job.Lost, "the command ended, but how is not known").
			WithHint("what it printed may be incomplete: run it again, or have it write to a file")
	}
	return exitOf(n), nil
}

// exitOf reads a shell's exit code: above 128 it names a signal.
func exitOf(code int) job.Exit {
	exit := job.Exit{Code: code}
	switch name := signals[code-128]; {
	case name != "":
		exit.Signal, exit.Cause = name, job.Signaled
	case code == 127:
		exit.Hint = "check the name, or install it on the remote host, or give its full path"
	case code == 126:
		exit.Hint = "chmod +x makes a file executable; or run it with its interpreter"
	}
	return exit
}

// signals are the numbers that Linux, the BSDs and macOS share, and Linux's where they differ.
var signals = map[int]string{
	1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV",
	12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU", 25: "XFSZ", 31: "SYS",
}
