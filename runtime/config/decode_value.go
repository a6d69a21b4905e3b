package config

import (
	"context"
	"math"
	"reflect"
	"strings"
	"time"

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
	case dst.Kind() == reflect.Func && (dst.Type().ConvertibleTo(funcType) || dst.Type() == reflect.TypeFor[Func2]()):
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
