package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

type pos = syntax.Position

// located is an error that knows which part of an argument it is about.
type located struct {
	error
	arg   string
	steps []any
}

func (l located) Unwrap() error { return l.error }

func at(err error, arg string, steps ...any) error { return located{err, arg, steps} }

// targets is backend=: one backend, or a dict of several whose order counts.
type targets struct{ list []Target }

func (t *targets) names() []string {
	names := make([]string, len(t.list))
	for i, x := range t.list {
		names[i] = x.Name
	}
	return names
}

var targetPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63}$`)

func (t *targets) fromStarlark(c *call, v starlark.Value, w where) {
	want := strings.Join(c.backendNames(), "() or ") + `(), or a dict like {"name": backend, ...}`
	if b, ok := backendOf(v); ok {
		t.list = []Target{{Backend: b}}
		return
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		c.wrong(v, w, want)
		return
	}
	if d.Len() == 0 {
		c.fail(w.pos, "name at least one backend", "%s: %s is empty", c.fn, w)
		return
	}
	for k, v := range d.Entries() {
		name, _ := starlark.AsString(k)
		e := w.key(name)
		if !targetPattern.MatchString(name) {
			c.fail(e.pos, `write a name like "prod" or "db-1"`, "%s: the target %s cannot be a name", c.fn, k)
			continue
		}
		if _, ok := v.(broken); ok {
			c.broken = true
			continue
		}
		b, ok := backendOf(v)
		if !ok {
			c.wrong(v, e, strings.Join(c.backendNames(), "() or ")+"()")
			continue
		}
		t.list = append(t.list, Target{Name: name, Backend: b})
	}
}

func backendOf(v starlark.Value) (backends.Config, bool) {
	m, ok := v.(*made)
	if !ok {
		return nil, false
	}
	b, ok := m.v.(backends.Config)
	return b, ok
}

func (l *loader) backendNames() []string {
	names := make([]string, len(l.o.Backends))
	for i, d := range l.o.Backends {
		names[i] = d.Name
	}
	return names
}

// annotations is annotations={...}, with the names of the protocol.
type annotations job.Annotations

// FromConfig sets what the dict names and leaves the rest as the kind of tool has it.
func (a *annotations) FromConfig(v any) error {
	d, ok := v.(map[string]any)
	if !ok {
		return job.Errorf(job.Invalid, "is no dict").WithHint(`write a dict, like {"readOnlyHint": True}`)
	}
	bools := map[string]*bool{
		"readOnlyHint": &a.ReadOnly, "destructiveHint": &a.Destructive,
		"idempotentHint": &a.Idempotent, "openWorldHint": &a.OpenWorld,
	}
	if d["readOnlyHint"] == true {
		a.Destructive = false // what only reads destroys nothing, unless the dict says so itself
	}
	var errs []error
	for k, v := range d {
		if title, ok := v.(string); ok && k == "title" {
			a.Title = title
			continue
		}
		p, known := bools[k]
		b, isBool := v.(bool)
		switch {
		case k == "title":
			errs = append(errs, job.Errorf(job.Invalid, "title is no string").WithHint(`write "title": "..."`))
		case !known:
			errs = append(errs, job.Errorf(job.Invalid, "there is no %q", k).
				WithHint("%s", didYouMean(k, []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})))
		case !isBool:
			errs = append(errs, job.Errorf(job.Invalid, "%s is %v", k, v).WithHint("write True or False"))
		default:
			*p = b
		}
	}
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (t *targets) String() string { return fmt.Sprint(t.names()) }
