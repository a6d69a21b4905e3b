package config

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/starlark"
)

// text is a string argument; a path is made absolute.
func (c *call) text(s string, w where) string {
	if !w.field.path || s == "" {
		return s
	}
	return c.path(s)
}

// path resolves a path as every path of the config: relative to the config's folder, whichever file it is written in.
func (l *loader) path(s string) string {
	if rest, ok := strings.CutPrefix(s, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		for _, name := range []string{"HOME", "USERPROFILE"} {
			if home, _ := l.o.Getenv(name); home != "" {
				return filepath.Join(home, rest)
			}
		}
	}
	if filepath.IsAbs(s) || strings.HasPrefix(s, "/") || l.dir == "" {
		return s // "/x" is a path of the place where it will be used, also when this host is Windows
	}
	return filepath.Join(l.dir, filepath.FromSlash(s))
}

func (c *call) duration(dst reflect.Value, v starlark.Value, w where) {
	const want = "seconds as a number, like 30 or 0.5 (-1: no limit)"
	f, ok := starlark.AsFloat(v)
	switch {
	case !ok || math.IsNaN(f):
		c.wrong(v, w, want)
	case f == -1:
		dst.SetInt(int64(job.Unlimited))
	case f < 0 || f > 1e9:
		c.wrong(v, w, want)
	default:
		dst.SetInt(int64(math.Round(f * float64(time.Second))))
	}
}

func (c *call) integer(dst reflect.Value, v starlark.Value, w where) {
	n, ok := int64(0), false
	switch v := v.(type) {
	case starlark.Int:
		n, ok = v.Int64()
	case starlark.Float: // 1.5*GiB
		n = int64(v)
		ok = w.field.size && float64(n) == float64(v)
	}
	if !ok || w.field.size && n < 0 || dst.OverflowInt(n) {
		c.wrong(v, w, c.want(dst.Type(), w.field))
		return
	}
	dst.SetInt(n)
}

func (c *call) any(dst reflect.Value, v starlark.Value, w where) {
	conv := converter{left: maxValues}
	x, err := conv.value(v, maxDepth)
	c.broken = c.broken || conv.broken
	if err != nil {
		c.fail(w.pos, "write plain values: strings, numbers, True, False, None, lists and dicts", "%s: %s: %s", c.fn, w, err)
		return
	}
	if x != nil {
		dst.Set(reflect.ValueOf(x))
	}
}

func (c *call) list(dst reflect.Value, v starlark.Value, w where) {
	if s, ok := v.(starlark.String); ok && dst.Type().Elem().Kind() == reflect.String {
		c.wrong(v, w, "["+s.String()+"]")
		return
	}
	it, ok := v.(starlark.Sequence)
	if _, isMap := v.(starlark.Mapping); !ok || isMap {
		c.wrong(v, w, c.want(dst.Type(), w.field))
		return
	}
	out := reflect.MakeSlice(dst.Type(), 0, it.Len()) // [] is a list of nothing, and not the default
	i := 0
	for v := range starlark.Elements(it) {
		e := reflect.New(dst.Type().Elem()).Elem()
		c.value(e, v, w.item(i))
		out = reflect.Append(out, e)
		i++
	}
	dst.Set(out)
}

func (c *call) dict(dst reflect.Value, v starlark.Value, w where) {
	m, ok := v.(starlark.IterableMapping)
	if !ok {
		c.wrong(v, w, c.want(dst.Type(), w.field))
		return
	}
	out := reflect.MakeMap(dst.Type())
	for k, v := range starlark.Entries(m) {
		key, ok := starlark.AsString(k)
		if !ok {
			c.fail(w.pos, `write "..." around it`, "%s: the key %s in %s is no string", c.fn, k, w)
			continue
		}
		e := reflect.New(dst.Type().Elem()).Elem()
		if v != starlark.None || !nilable(e.Kind()) {
			c.value(e, v, w.key(key))
		}
		out.SetMapIndex(reflect.ValueOf(key), e)
	}
	dst.Set(out)
}

// nilable kinds of a dict's values may be None: params={"stdin": None}.
func nilable(k reflect.Kind) bool {
	return k == reflect.Map || k == reflect.Interface || k == reflect.Pointer
}

func (c *call) function(dst reflect.Value, v starlark.Value, w where) {
	fn, ok := v.(*starlark.Function)
	if !ok {
		c.wrong(v, w, c.want(dst.Type(), w.field))
		return
	}
	want, shape, made := 1, "(x):", any(nil)
	if dst.Type() == reflect.TypeFor[Func2]() {
		want, shape, made = 2, "(x, y):", c.goFunc2(fn, callSteps)
	} else {
		made = c.goFunc(fn, callSteps)
	}
	if fn.NumParams() != want {
		c.fail(w.pos, "write def "+fn.Name()+shape, "%s: %s takes %d parameters, not %s", c.fn, w, fn.NumParams(), [...]string{1: "one", 2: "two"}[want])
		return
	}
	dst.Set(reflect.ValueOf(made).Convert(dst.Type()))
}
