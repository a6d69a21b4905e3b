package docker

import (
	"context"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// cleaner removes containers in the background, so that no reply waits for a removal. It has deadlines of its own and
// comes back when the engine did not answer.
type cleaner struct {
	backend *Backend
	slots   chan struct{} // a few at once: the engine takes them one after the other anyway

	mu      sync.Mutex
	pending int
	idle    chan struct{} // closed when nothing is pending
}

const (
	removeTimeout = 10 * time.Second
	removeTries   = 6
)

func newCleaner(b *Backend) *cleaner {
	c := &cleaner{backend: b, slots: make(chan struct{}, 4), idle: make(chan struct{})}
	close(c.idle)
	return c
}

// remove returns at once.
func (c *cleaner) remove(id string) { c.schedule(id, 0) }

// removeUnsure is for a container whose making was not answered: it may come to be only after a first try to remove it.
func (c *cleaner) removeUnsure(name string) { c.schedule(name, 3) }

func (c *cleaner) schedule(id string, missing int) {
	c.mu.Lock()
	if c.pending == 0 {
		c.idle = make(chan struct{})
	}
	c.pending++
	c.mu.Unlock()
	go func() {
		c.retry(id, missing)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pending--; c.pending == 0 {
			close(c.idle)
		}
	}()
}

// retry tries with growing pauses, some five minutes in all. What is left then is the reaper's, at the next start.
func (c *cleaner) retry(id string, missing int) {
	pause := time.Second
	for try := range removeTries {
		if try > 0 {
			time.Sleep(pause)
			pause *= 3
		}
		c.slots <- struct{}{}
		ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
		err := c.backend.removeNow(ctx, id)
		cancel()
		<-c.slots
		if cerrdefs.IsNotFound(err) && try < missing {
			continue
		}
		if err == nil || cerrdefs.IsNotFound(err) {
			return
		}
		c.backend.log.Warn().Err(err).Str("container", id).Msg("a container could not be removed")
	}
}

// removeNow kills and removes; a container that is going already is removed.
func (b *Backend) removeNow(ctx context.Context, id string) error {
	b.mu.Lock()
	api := b.api // also after Close has begun
	b.mu.Unlock()
	err := api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if cerrdefs.IsConflict(err) {
		return nil
	}
	return err
}

// wait returns when nothing is pending, or at the end of ctx.
func (c *cleaner) wait(ctx context.Context) {
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// sweep removes what is left of this instance.
func (b *Backend) sweep(ctx context.Context) error {
	b.mu.Lock()
	api := b.api
	b.mu.Unlock()
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner+"="+b.owner))})
	if err != nil {
		return b.fail("containers may be left", err)
	}
	return b.removeAll(ctx, list)
}

// reap removes containers of servers that are no more. Those of other hosts, and of servers that live, stay.
func (b *Backend) reap(ctx context.Context) {
	api, err := b.engine()
	if err != nil {
		return
	}
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
	if err != nil {
		return
	}
	me, _ := parseOwner(b.owner)
	var dead []container.Summary
	for _, c := range list {
		if o, ok := parseOwner(c.Labels[labelOwner]); ok && o.gone(me) {
			dead = append(dead, c)
		}
	}
	if len(dead) == 0 {
		return
	}
	b.log.Info().Int("containers", len(dead)).Msg("removing what an earlier server left behind")
	if err := b.removeAll(ctx, dead); err != nil {
		b.log.Warn().Err(err).Msg("not all could be removed")
	}
}

func (b *Backend) removeAll(ctx context.Context, list []container.Summary) error {
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	for i, c := range list {
		wg.Go(func() {
			b.cleaner.slots <- struct{}{}
			defer func() { <-b.cleaner.slots }()
			if err := b.removeNow(ctx, c.ID); !cerrdefs.IsNotFound(err) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return b.fail("a container could not be removed", err)
		}
	}
	return nil
}
