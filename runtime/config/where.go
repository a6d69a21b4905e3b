package config

import (
	"fmt"

	"go.starlark.net/syntax"
)

// where is the place of a value: its position, and the expression if it is written out there.
type where struct {
	field field
	path  string // "[2]" inside the argument
	pos   syntax.Position
	expr  syntax.Expr
}

// where finds an argument by name; "0" is the first positional one.
func (c *call) where(name string) where {
	w := where{pos: c.pos}
	if c.expr == nil {
		return w
	}
	position := 0
	for _, arg := range c.expr.Args {
		if b, ok := arg.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			if b.X.(*syntax.Ident).Name == name {
				return where{pos: syntax.Start(arg), expr: b.Y}
			}
			continue
		}
		if u, ok := arg.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			w.pos = syntax.Start(arg) // it came by *args or **kwargs, unless it turns up by itself
			continue
		}
		if c.positionalName(position) == name || fmt.Sprint(position) == name {
			return where{pos: syntax.Start(arg), expr: arg}
		}
		position++
	}
	return w
}

func (c *call) positionalName(i int) string {
	for _, f := range c.fields {
		if f.positional {
			if i == 0 {
				return f.name
			}
			i--
		}
	}
	return ""
}

// at is the position of an argument, or of what lies in it: steps are indexes of a list and keys of a dict.
func (c *call) at(name string, steps ...any) syntax.Position {
	w := c.where(name)
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			w = w.item(s)
		case string:
			w = w.key(s)
		}
	}
	return w.pos
}

// item is the place of a list's element.
func (w where) item(i int) where {
	w.path += fmt.Sprintf("[%d]", i)
	var list []syntax.Expr
	switch e := w.literal().(type) {
	case *syntax.ListExpr:
		list = e.List
	case *syntax.TupleExpr:
		list = e.List
	}
	w.expr = nil
	if i < len(list) {
		w.pos, w.expr = syntax.Start(list[i]), list[i]
	}
	return w
}

// key is the place of a dict's entry.
func (w where) key(key string) where {
	w.path += fmt.Sprintf("[%q]", key)
	d, _ := w.literal().(*syntax.DictExpr)
	w.expr = nil
	if d == nil {
		return w
	}
	for _, e := range d.List {
		entry := e.(*syntax.DictEntry)
		if lit, ok := entry.Key.(*syntax.Literal); ok && lit.Value == key {
			w.pos, w.expr = syntax.Start(entry.Key), entry.Value
		}
	}
	return w
}

func (w where) literal() syntax.Expr {
	e := w.expr
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}
