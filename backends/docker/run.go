package docker

import (
	"context"
	"io"
	"slices"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// Run implements backends.Runner: another command in this container, in a process group of its own. A signal to the
// container's own process reaches it too.
func (p *process) Run(ctx context.Context, cmd job.Command, to backends.IO) (backends.Process, error) {
	if p.over() || p.exec != "" {
		return nil, job.Errorf(job.NotFound, "the sandbox has ended").WithHint("start another session with detach=true")
	}
	if p.at.shellPath == "" && len(cmd.Argv) == 0 {
		_, _, err := p.backend.shellFor(p.at.image, job.Command{})
		return nil, err
	}
	at := p.at
	at.session = true
	if len(cmd.Argv) == 0 && cmd.Shell != "" && cmd.Shell != at.shell {
		at.shell, at.shellPath = p.at.image.shell(cmd.Shell)
		if at.shellPath == "" {
			_, _, err := p.backend.shellFor(p.at.image, cmd)
			return nil, err
		}
	}
	q, err := p.runIn(ctx, cmd, at, to)
	if err != nil {
		return nil, err
	}
	if !p.backend.enter(q) {
		_ = q.Kill(ctx)
		return nil, job.Errorf(job.Canceled, "the server is shutting down")
	}
	if q.over() {
		p.backend.leave(q)
	}
	return q, nil
}

func (p *process) runIn(ctx context.Context, cmd job.Command, at place, to backends.IO) (*process, error) {
	b, d := p.backend, newDialog()
	outer := cmd.TTY == nil && at.shellPath != ""
	options := container.ExecOptions{
		Tty: cmd.TTY != nil, AttachStdin: outer || cmd.TTY != nil || cmd.Stdin != job.StdinNull, AttachStdout: true, AttachStderr: true,
		Cmd: []string{at.shellPath, "-lc", bootstrap},
	}
	if !outer {
		options.Cmd, options.Env = b.plainArgv(d, cmd, at), slices.Concat(at.image.baseEnv(cmd.TTY != nil), environ(b.config.Env), environ(cmd.Env))
		if at.shellPath == "" {
			options.WorkingDir = cmd.Dir
		}
	}
	q := &process{backend: b, id: p.id, at: at, tty: options.Tty, done: make(chan struct{})}
	if err := q.attachExec(ctx, options); err != nil {
		return nil, err
	}
	if !outer {
		if cmd.TTY != nil {
			_ = q.resize(ctx, *cmd.TTY)
		}
		return q.runPlain(ctx, d, cmd, to)
	}
	q.outer = newOuter(d, q, to)
	q.watched = cmd.Stdin == job.StdinNull
	if cmd.Stdin == job.StdinPipe {
		q.stdin = &stdin{process: q}
	}
	return q.run(ctx, b.setup(d, at.image, at.shell == "bash")+d.command(cmd, at), cmd)
}

// attachExec makes and starts the process beside the container's own.
func (q *process) attachExec(ctx context.Context, options container.ExecOptions) error {
	api, err := q.backend.engine()
	if err != nil {
		return err
	}
	made, err := api.ContainerExecCreate(ctx, q.id, options)
	if err != nil {
		return q.backend.fail("the command could not be started in the session's container", err)
	}
	q.exec = made.ID
	q.stream, err = hijack(ctx, func(ctx context.Context) (types.HijackedResponse, error) {
		return api.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{Tty: options.Tty})
	})
	if err != nil {
		return q.backend.fail("the command could not be started in the session's container", err)
	}
	return nil
}

// autopsyExec asks the engine how an exec ended. The answer comes a moment after the end of its output.
func (p *process) autopsyExec(ctx context.Context) (job.Exit, error) {
	api, err := p.backend.engine()
	if err != nil {
		return killedExit(), nil
	}
	for {
		state, err := api.ContainerExecInspect(ctx, p.exec)
		if isGone(err) {
			exit := killedExit()
			exit.Notes = append(exit.Notes, "the session's container ended before the command was done")
			return exit, nil
		}
		if err != nil {
			return job.Exit{}, p.lost(err)
		}
		if !state.Running {
			return exitOf(state.ExitCode), nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return job.Exit{}, p.lost(io.ErrUnexpectedEOF)
		}
	}
}

func killedExit() job.Exit { return job.Exit{Code: 137, Signal: "KILL", Cause: job.Killed} }
