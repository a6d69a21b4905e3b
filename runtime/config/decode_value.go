package config

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/starlark"
)

// starDecoder is for the few arguments that need more than plain Go values: order, or a function as it is.
type starDecoder interface {
	fromStarlark(c *call, v starlark.Value, w where)
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	funcType     = reflect.TypeFor[func(context.Context, map[string]any) (any, error)]()
)

// value decodes v into dst, or records why it cannot.
func (c *call) value(dst reflect.Value, v starlark.Value, w where) {
	if _, ok := v.(broken); ok {
		c.broken = true
		return
	}
	if dst.CanAddr() {
		if d, ok := dst.Addr().Interface().(starDecoder); ok {
			d.fromStarlark(c, v, w)
			return
		}
	}
	if m, ok := v.(*made); ok && c.assign(dst, m) {
		return
	}
	if dst.Kind() == reflect.Slice && dst.Type().Elem().Kind() == reflect.Interface && dst.Type().Elem().NumMethod() > 0 {
		c.list(dst, v, w) // each element is a value of a config function, and has its own place
		return
	}
	if union(dst, func(u fromConfig) { c.union(u, v, w) }) {
		return
	}
	switch {
	case dst.Type().ConvertibleTo(funcType) && dst.Kind() == reflect.Func:
		c.function(dst, v, w)
	case dst.Type() == durationType:
		c.duration(dst, v, w)
	default:
		c.kind(dst, v, w)
	}
}

// assign takes a config function's value as it is, by pointer or by value.
func (c *call) assign(dst reflect.Value, m *made) bool {
	v := reflect.ValueOf(m.v)
	switch {
	case dst.Kind() == reflect.Interface && dst.NumMethod() == 0:
		return false
	case v.Type().AssignableTo(dst.Type()):
		dst.Set(v)
	case v.Type().Elem().AssignableTo(dst.Type()):
		dst.Set(v.Elem())
	default:
		return false
	}
	return true
}

// fromConfig is a type that takes several shapes of value.
type fromConfig interface{ FromConfig(v any) error }

func union(dst reflect.Value, f func(fromConfig)) bool {
	if dst.Kind() == reflect.Pointer && dst.Type().Implements(reflect.TypeFor[fromConfig]()) {
		p := reflect.New(dst.Type().Elem())
		f(p.Interface().(fromConfig))
		dst.Set(p)
		return true
	}
	if !dst.CanAddr() {
		return false
	}
	u, ok := dst.Addr().Interface().(fromConfig)
	if ok {
		f(u)
	}
	return ok
}

func (c *call) union(u fromConfig, v starlark.Value, w where) {
	conv := converter{left: maxValues, nested: true}
	plain, err := conv.value(v, maxDepth)
	if err != nil {
		c.fail(w.pos, "", "%s: %s: %s", c.fn, w, err)
		return
	}
	if conv.broken {
		c.broken = true
		return
	}
	if err := u.FromConfig(plain); err != nil {
		c.fail(w.pos, hintOf(err), "%s: %s: %s", c.fn, w, strings.TrimPrefix(err.Error(), w.field.name+": "))
	}
}

func (c *call) kind(dst reflect.Value, v starlark.Value, w where) {
	switch dst.Kind() {
	case reflect.String:
		if s, ok := starlark.AsString(v); ok {
			dst.SetString(c.text(s, w))
			return
		}
	case reflect.Bool:
		if b, ok := v.(starlark.Bool); ok {
			dst.SetBool(bool(b))
			return
		}
	case reflect.Int, reflect.Int64:
		c.integer(dst, v, w)
		return
	case reflect.Float64:
		if f, ok := starlark.AsFloat(v); ok && !math.IsInf(f, 0) && !math.IsNaN(f) {
			dst.SetFloat(f)
			return
		}
	case reflect.Slice:
		c.list(dst, v, w)
		return
	case reflect.Map:
		c.dict(dst, v, w)
		return
	case reflect.Pointer:
		if dst.Type().Elem().Kind() != reflect.Struct {
			p := reflect.New(dst.Type().Elem())
			c.value(p.Elem(), v, w)
			dst.Set(p)
			return
		}
	case reflect.Interface:
		if dst.NumMethod() == 0 {
			c.any(dst, v, w)
			return
		}
	}
	c.wrong(v, w, c.want(dst.Type(), w.field))
}

// wrong records that v has the wrong type.
func (c *call) wrong(v starlark.Value, w where, want string) {
	c.fail(w.pos, "write "+want, "%s: %s is %s", c.fn, w, show(v))
}

func (w where) String() string { return w.field.name + w.path }

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
	if fn.NumParams() != 1 {
		c.fail(w.pos, "write def "+fn.Name()+"(x):", "%s: %s takes %d parameters, not one", c.fn, w, fn.NumParams())
		return
	}
	dst.Set(reflect.ValueOf(c.goFunc(fn, callSteps)).Convert(dst.Type()))
}

// show is how a message quotes what was given.
func show(v starlark.Value) string {
	s := v.String()
	if r := []rune(s); len(r) > 40 {
		s = string(r[:37]) + "..."
	}
	if v == starlark.None {
		return s
	}
	return fmt.Sprintf("%s (%s)", s, article(v.Type()))
}

func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
