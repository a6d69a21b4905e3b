package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// call is one call of a config function: it knows where in the file each of its arguments is written.
type call struct {
	*loader
	fn     string
	pos    syntax.Position  // of the whole call
	expr   *syntax.CallExpr // nil when it was called in an unusual way, by a built-in
	fields []field
	broken bool // a mistake was reported, or an argument came out of one
}

// decode fills the struct behind ptr from the arguments. Every mistake is recorded; c.broken tells whether there is any.
func (c *call) decode(ptr any, args starlark.Tuple, kwargs []starlark.Tuple) {
	dst := reflect.ValueOf(ptr).Elem()
	given := map[string]bool{}
	c.positional(dst, args, given)
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		i := slices.IndexFunc(c.fields, func(f field) bool { return f.name == name })
		if i < 0 {
			c.fail(c.at(name), didYouMean(name, names(c.fields)), "%s: there is no argument %s", c.fn, name)
			continue
		}
		if given[name] {
			c.fail(c.at(name), "write it once", "%s: %s is given twice", c.fn, name)
			continue
		}
		given[name] = true
		c.field(dst, c.fields[i], kv[1], c.where(name))
	}
	for _, f := range c.fields {
		if f.required && !given[f.name] {
			c.fail(c.pos, fmt.Sprintf("write %s=%s", f.name, example(f)), "%s: %s is missing", c.fn, f.name)
		}
	}
	if v, ok := ptr.(interface{ Validate() error }); ok && !c.broken {
		c.failWith(v.Validate())
	}
}

func (c *call) positional(dst reflect.Value, args starlark.Tuple, given map[string]bool) {
	var allowed []field
	for _, f := range c.fields {
		if f.positional {
			allowed = append(allowed, f)
		}
	}
	for i, v := range args {
		if i >= len(allowed) {
			c.fail(c.where(fmt.Sprint(i)).pos, "write NAME="+show(v)+"; "+didYouMean("", names(c.fields)),
				"%s: argument %d needs its name", c.fn, i+1)
			return
		}
		given[allowed[i].name] = true
		c.field(dst, allowed[i], v, c.where(allowed[i].name))
	}
}

// field decodes one argument. None means the default, which is in the struct already.
func (c *call) field(dst reflect.Value, f field, v starlark.Value, w where) {
	if v == starlark.None {
		if f.required {
			c.fail(w.pos, fmt.Sprintf("write %s=%s", f.name, example(f)), "%s: %s is None", c.fn, f.name)
		}
		return
	}
	w.field = f
	c.value(dst.Field(f.index), v, w)
}

// fail records a mistake at pos.
func (c *call) fail(pos syntax.Position, fix, format string, args ...any) {
	c.broken = true
	c.add(pos, fix, format, args...)
}

// failWith records what Validate or a compiler says. The argument that its text begins with is where it is reported.
func (c *call) failWith(err error) {
	if err == nil {
		return
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range list.Unwrap() {
			c.failWith(e)
		}
		return
	}
	msg, fix := err.Error(), hintOf(err)
	msg = strings.TrimPrefix(msg, c.fn+": ")
	pos := c.pos
	if l, ok := errors.AsType[located](err); ok {
		pos = c.at(l.arg, l.steps...)
	} else if f, ok := c.mentioned(msg); ok {
		pos = c.at(f.name)
	}
	c.fail(pos, fix, "%s: %s", c.fn, msg)
}

// mentioned returns the argument whose name comes first in msg.
func (c *call) mentioned(msg string) (field, bool) {
	words := strings.FieldsFunc(msg, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for _, w := range words {
		for _, f := range c.fields {
			if f.name == w {
				return f, true
			}
		}
	}
	return field{}, false
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*job.Error](err); ok {
		return e.Hint
	}
	return ""
}
