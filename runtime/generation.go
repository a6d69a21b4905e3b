package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/config"
	"cmd-exec-mcp/runtime/job"
)

// generation is one config with what it opened. A reload makes a new one; jobs go on in theirs.
type generation struct {
	config *config.Config
	tools  []*tool
	opened []*shared
}

// shared is a backend or a hook that was opened once for all who use it: the generations that name it, and the jobs. It
// is closed after the last of them.
type shared struct {
	made  any // the config value that opened it
	value any // backends.Backend or hooks.Named
	close func(context.Context) error

	mu     sync.Mutex
	users  int
	closed bool
}

// retain fails when it was closed already.
func (s *shared) retain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.users++
	return true
}

// release closes with the last user.
func (s *shared) release(ctx context.Context) error {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		return s.shut(ctx)
	}
	return nil
}

// shut closes whoever still uses it, once.
func (s *shared) shut(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	return s.close(ctx)
}

// opener makes a generation, and takes over from the old one what is the same.
type opener struct {
	engine *Engine
	old    *generation // nil at the start
	now    *generation
}

// generation opens what c declares. On an error everything that was opened for it is closed.
func (e *Engine) generation(ctx context.Context, c *config.Config, old *generation) (*generation, error) {
	o := &opener{engine: e, old: old, now: &generation{config: c}}
	for _, declared := range c.Tools {
		t, err := o.tool(ctx, declared)
		if err != nil {
			o.now.release(ctx)
			return nil, fmt.Errorf("%s: %s: %w", declared.Pos, declared.Name, err)
		}
		o.now.tools = append(o.now.tools, t)
	}
	return o.now, nil
}

func (o *opener) tool(ctx context.Context, declared config.Tool) (*tool, error) {
	t := &tool{Tool: declared, generation: o.now}
	for _, d := range declared.Targets {
		s, err := o.share(d.Backend, func() (any, func(context.Context) error, error) {
			b, err := d.Backend.Open(ctx, backends.Env{Data: o.engine.data, Instance: o.engine.env.Instance, Log: o.engine.log, Secrets: o.now.config.Secrets})
			if err != nil {
				return nil, nil, err
			}
			return b, b.Close, nil
		})
		if err != nil {
			return nil, err
		}
		t.targets = append(t.targets, target{d.Name, s.value.(backends.Backend), s})
	}
	t.secrets = append(secretValues(t.Redact, o.engine.env.Environ), o.now.config.SecretValues...)
	for _, h := range declared.Hooks {
		s, err := o.share(h, func() (any, func(context.Context) error, error) {
			mask := func(req job.Request, text string) string { return o.engine.mask(&prepared{tool: t, req: req}, text) }
			named, err := h.Open(ctx, hooks.Env{Data: o.engine.data, Cache: o.engine.env.Cache, Log: o.engine.log, Mask: mask})
			if err != nil {
				return nil, nil, err
			}
			return named, named.Close, nil
		})
		if err != nil {
			return nil, err
		}
		t.hooks = append(t.hooks, hook{s.value.(hooks.Named), s})
	}
	return t, nil
}

// share returns what this config value opened: in this generation the same pointer, in the old one an equal value.
// Functions are never equal, so a hook written in Starlark is opened anew.
func (o *opener) share(made any, open func() (any, func(context.Context) error, error)) (*shared, error) {
	for _, s := range o.now.opened {
		if s.made == made {
			return s, nil
		}
	}
	if o.old != nil && reflect.DeepEqual(o.old.config.Secrets, o.now.config.Secrets) {
		for _, s := range o.old.opened {
			if reflect.DeepEqual(s.made, made) && s.retain() {
				s.made = made
				o.now.opened = append(o.now.opened, s)
				return s, nil
			}
		}
	}
	value, closer, err := open()
	if err != nil {
		return nil, err
	}
	s := &shared{made: made, value: value, close: closer, users: 1}
	o.now.opened = append(o.now.opened, s)
	return s, nil
}

// release gives up the generation's own part in what it opened.
func (g *generation) release(ctx context.Context) error {
	var errs []error
	for _, s := range g.opened {
		errs = append(errs, s.release(ctx))
	}
	return errors.Join(errs...)
}

// hold keeps a tool's target and hooks open for one job. The returned function gives them back, once.
func (t *tool) hold(target target) (release func(), ok bool) {
	held := []*shared{target.shared}
	for _, h := range t.hooks {
		held = append(held, h.shared)
	}
	give := func(list []*shared) {
		for _, s := range list {
			s.release(context.Background())
		}
	}
	for i, s := range held {
		if !s.retain() {
			give(held[:i])
			return nil, false
		}
	}
	return sync.OnceFunc(func() { give(held) }), true
}

// Reload puts another config in force: calls from now on use it, what runs goes on under the old one, and what the two
// have in common stays open. server(...) is read at the start only. On an error nothing changes.
func (e *Engine) Reload(ctx context.Context, c *config.Config) error {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	old := e.now.Load()
	next, err := e.generation(ctx, c, old)
	if err != nil {
		return err
	}
	e.now.Store(next)
	e.table.Limit(limitsOf(c))
	for _, t := range old.tools {
		if _, err := e.tool(t.Name); job.KindOf(err) == job.NotFound {
			e.table.EndTool(ctx, t.Name)
		}
	}
	go old.release(context.WithoutCancel(ctx))
	e.log.Info().Str("name", "config").Msgf("reloaded: %d tools", len(next.tools))
	return nil
}
