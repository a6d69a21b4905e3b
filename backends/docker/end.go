package docker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"cmd-exec-mcp/runtime/job"
	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

const (
	autopsyTimeout = 10 * time.Second
	resizeTimeout  = 5 * time.Second
)

// isGone: killing what has ended, or is being removed, is no error.
func isGone(err error) bool {
	return cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err)
}

// autopsy finds out how a process ended whose stream broke off.
func (p *process) autopsy() (job.Exit, error) {
	if p.killed.Load() {
		return killedExit(), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), autopsyTimeout)
	defer cancel()
	if p.exec != "" {
		return p.autopsyExec(ctx)
	}
	b := p.backend
	api, err := b.engine()
	if err != nil {
		return killedExit(), nil // Close has begun: it ends everything
	}
	waits, errs := api.ContainerWait(ctx, p.id, container.WaitConditionNotRunning)
	var exit job.Exit
	select {
	case end := <-waits:
		exit = exitOf(int(end.StatusCode))
	case err := <-errs:
		if !cerrdefs.IsNotFound(err) {
			return job.Exit{}, p.lost(err)
		}
		exit = exitOf(137)
	}
	if p.killed.Load() {
		exit.Cause = job.Killed
		return exit, nil
	}
	state, err := api.ContainerInspect(ctx, p.id)
	if err == nil && state.State != nil && state.State.OOMKilled {
		return outOfMemory(exit), nil
	}
	if !p.owns {
		exit.Notes = append(exit.Notes, "the container was ended before the command was done: from outside, or because its memory ran out")
	}
	return exit, nil
}

func (p *process) lost(err error) error {
	return job.Errorf(job.Lost, "the connection to Docker at %s broke: %w", p.backend.where(), err).
		WithHint("the command may still run; its container is removed as soon as the engine answers")
}

// Signal implements backends.Process. It takes the attached stdin where a watcher listens there, which costs a
// millisecond; else another process in the container.
func (p *process) Signal(ctx context.Context, s job.Signal) error {
	name, ok := map[job.Signal]string{job.Interrupt: "INT", job.Terminate: "TERM", job.Kill: "KILL"}[s]
	switch {
	case !ok:
		return job.Errorf(job.Invalid, "no signal %d", s)
	case p.over():
		return nil
	case s == job.Kill:
		return p.Kill(ctx)
	case p.watched:
		return p.signalWatcher(ctx, name)
	case p.exec != "":
		return p.signalGroup(ctx, name)
	case p.at.shellPath != "":
		return p.inside(ctx, "kill -"+name+" -1")
	}
	api, err := p.backend.engine()
	if err == nil {
		err = api.ContainerKill(ctx, p.id, name)
	}
	if err == nil || isGone(err) {
		return nil
	}
	return p.backend.fail("the signal could not be sent", err)
}

func (p *process) signalWatcher(ctx context.Context, name string) error {
	p.typing.Lock()
	defer p.typing.Unlock()
	if deadline, ok := ctx.Deadline(); ok {
		_ = p.stream.Conn.SetWriteDeadline(deadline)
		defer func() { _ = p.stream.Conn.SetWriteDeadline(time.Time{}) }()
	}
	if _, err := fmt.Fprintln(p.stream.Conn, name); err != nil && !p.over() {
		return p.backend.fail("the signal could not be sent", err)
	}
	return nil
}

// signalGroup reaches the process group of a command beside a session's own process.
func (p *process) signalGroup(ctx context.Context, name string) error {
	if pid := p.pid.Load(); pid > 0 {
		return p.inside(ctx, "kill -"+name+" -"+strconv.FormatInt(pid, 10))
	}
	return nil
}

// inside runs shell text in the container, and waits for it to have been started.
func (p *process) inside(ctx context.Context, text string) error {
	b := p.backend
	api, err := b.engine()
	if err != nil {
		return err
	}
	made, err := api.ContainerExecCreate(ctx, p.id, container.ExecOptions{Cmd: []string{p.at.shellPath, "-c", text}})
	if err == nil {
		err = api.ContainerExecStart(ctx, made.ID, container.ExecStartOptions{Detach: true})
	}
	if err == nil || isGone(err) || p.over() {
		return nil
	}
	return b.fail("the signal could not be sent", err)
}

func (p *process) resize(ctx context.Context, size job.Size) error {
	api, err := p.backend.engine()
	if err != nil {
		return err
	}
	options := container.ResizeOptions{Height: uint(size.Rows), Width: uint(size.Cols)}
	if p.exec != "" {
		err = api.ContainerExecResize(ctx, p.exec, options)
	} else {
		err = api.ContainerResize(ctx, p.id, options)
	}
	if err == nil || isGone(err) || p.over() {
		return nil
	}
	return p.backend.fail("the terminal's size could not be changed", err)
}
