package docker

import (
	"context"
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// warm is a container whose outer shell waits for one command. When our end of its stdin closes, be it because this
// process died, the shell ends and the engine removes the container.
type warm struct {
	backend *Backend
	id      string
	network string
	at      place
	dialog  dialog
	stream  types.HijackedResponse
}

// prestart makes such a container and sends it all that does not depend on the command.
func (b *Backend) prestart(ctx context.Context, at place, network, role string) (*warm, error) {
	id, err := b.create(ctx, box{
		image: at.image, network: network, role: role, argv: b.outerArgv(at.shellPath), env: at.image.baseEnv(false),
		stdin: true, autoRemove: true,
	})
	if err != nil {
		return nil, err
	}
	w := &warm{backend: b, id: id, network: network, at: at, dialog: newDialog()}
	if err := b.attachAndStart(ctx, id, false, &w.stream); err != nil {
		b.cleaner.remove(id)
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	_ = w.stream.Conn.SetWriteDeadline(deadline)
	_, err = io.WriteString(w.stream.Conn, b.setup(w.dialog, at.image, at.shell == "bash"))
	_ = w.stream.Conn.SetWriteDeadline(time.Time{})
	if err != nil {
		w.drop()
		return nil, b.fail("the container could not be prepared", err)
	}
	return w, nil
}

// attachAndStart attaches before the start, so that nothing is missed.
func (b *Backend) attachAndStart(ctx context.Context, id string, tty bool, stream *types.HijackedResponse) error {
	api, err := b.engine()
	if err != nil {
		return err
	}
	*stream, err = hijack(ctx, func(ctx context.Context) (types.HijackedResponse, error) {
		return api.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: !tty})
	})
	if err != nil {
		return b.fail("the container could not be attached to", err)
	}
	if err := api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		stream.Close()
		return b.fail("the container could not be started", err)
	}
	return nil
}

// run uses the container up.
func (w *warm) run(ctx context.Context, cmd job.Command, to backends.IO) (*process, error) {
	p := w.backend.newProcess(w.id, w.at, w.stream)
	p.outer = newOuter(w.dialog, p, to)
	p.watched = cmd.Stdin == job.StdinNull
	if cmd.Stdin == job.StdinPipe {
		p.stdin = &stdin{process: p}
	}
	return p.run(ctx, w.dialog.command(cmd, w.at), cmd)
}

// pool keeps warm containers of the default image and network. It is empty until the engine was used, is filled in the
// background, and empties itself when nobody uses it.
type pool struct {
	backend   *Backend
	size      int
	idleAfter time.Duration

	mu      sync.Mutex
	idle    []*warm
	want    place // what the pool is filled with
	fillers int
	filling sync.WaitGroup
	closed  bool
	timer   *time.Timer
}

const (
	maxFillers  = 2
	fillTimeout = time.Minute
	// A container's start takes a third of a second of processor time; the command that was just begun goes first.
	fillDelay = 20 * time.Millisecond
)

// take returns a warm container that fits, or nil, and has the pool filled again.
func (p *pool) take(at place, network string) *warm {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.backend.config
	if p.closed || p.size == 0 || at.image.name != c.images()[0] || network != c.networks()[0] {
		return nil
	}
	if at.shell != p.backend.outerShell(at.image) {
		return nil
	}
	var found *warm
	for len(p.idle) > 0 && found == nil {
		w := p.idle[0]
		p.idle = p.idle[1:]
		if w.at.image.id == at.image.id {
			found = w
		} else { // the name means another image now
			w.drop()
		}
	}
	p.want = at
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(p.idleAfter, p.empty)
	time.AfterFunc(fillDelay, p.fill)
	return found
}

// outerShell is the shell that the pool's containers run.
func (b *Backend) outerShell(x *image) string {
	name, _ := x.shell(b.config.Shell)
	return name
}

// fill starts as many fillers as are useful.
func (p *pool) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && p.want.image != nil && p.fillers < maxFillers && len(p.idle)+p.fillers < p.size {
		p.fillers++
		want := p.want
		p.filling.Go(func() { p.fillOne(want) })
	}
}

func (p *pool) fillOne(at place) {
	ctx, cancel := context.WithTimeout(context.Background(), fillTimeout) // an answered call tells us what to remove: Close waits for it
	w, err := p.backend.prestart(ctx, at, p.backend.config.networks()[0], rolePool)
	cancel()
	p.mu.Lock()
	p.fillers--
	keep := err == nil && !p.closed && p.want.image != nil && p.want.image.id == at.image.id
	if keep {
		p.idle = append(p.idle, w)
	}
	p.mu.Unlock()
	switch {
	case err != nil: // the next command says why; trying again at once would only load an engine in trouble
		p.backend.log.Debug().Err(err).Msg("the pool could not be filled")
	case !keep:
		w.drop()
	default:
		p.fill()
	}
}

// empty lets the idle containers go.
func (p *pool) empty() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.want = nil, place{}
	p.mu.Unlock()
	for _, w := range idle {
		w.drop()
	}
}

// drain is empty for good, also of what is being made.
func (p *pool) drain(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.empty()
	filled := make(chan struct{})
	go func() {
		p.filling.Wait()
		close(filled)
	}()
	select {
	case <-filled:
	case <-ctx.Done():
	}
}

func (w *warm) drop() {
	w.stream.Close()
	w.backend.cleaner.remove(w.id)
}

// newName names a container, so that one can be removed whose making was never answered.
func newName() string { return "cem-" + strings.ToLower(rand.Text()) }
