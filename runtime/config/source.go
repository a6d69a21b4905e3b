package config

import (
	"errors"
	"reflect"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// dialect is Starlark with sets and top-level if and for; without while and recursion every config ends.
var dialect = syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}

// compile parses and resolves one file. Names that nobody defines become broken values, so that the run goes on and
// finds the other mistakes too. A nil program means that a mistake was recorded and there is nothing to run.
func (l *loader) compile(name string, src []byte) (*starlark.Program, starlark.StringDict) {
	file, err := dialect.Parse(name, src, 0)
	if err != nil {
		l.addStatic(name, err)
		return nil, nil
	}
	l.guardOperators(reflect.ValueOf(file))
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			l.calls[placeOf(c.Lparen)] = c
		}
		return true
	})
	predeclared := l.predeclared
	undefined := map[string]bool{}
	prog, err := starlark.FileProgram(file, func(name string) bool {
		if !predeclared.Has(name) && !starlark.Universe.Has(name) {
			undefined[name] = true
		}
		return !starlark.Universe.Has(name) || predeclared.Has(name)
	})
	if err != nil {
		l.addStatic(name, err)
		prog = nil // go on to report the undefined names as well
	}
	if len(undefined) > 0 {
		predeclared = l.withBroken(file, undefined)
	}
	return prog, predeclared
}

// withBroken reports every use of the undefined names and returns predeclared names that hold them too.
func (l *loader) withBroken(file *syntax.File, undefined map[string]bool) starlark.StringDict {
	known := []string{"True", "False", "None"}
	if m, ok := file.Module.(*resolve.Module); ok {
		for _, g := range m.Globals {
			known = append(known, g.First.Name)
		}
	}
	all := starlark.StringDict{}
	for name, v := range l.predeclared {
		all[name] = v
		if isName(name) {
			known = append(known, name)
		}
	}
	for name := range undefined {
		all[name] = broken{}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && undefined[id.Name] {
			if b, ok := id.Binding.(*resolve.Binding); ok && b.Scope == resolve.Predeclared {
				l.add(id.NamePos, suggestName(id.Name, known), "%s is not defined", id.Name)
			}
		}
		return true
	})
	return all
}

func isName(s string) bool { return s[0] == '_' || s[0] >= 'A' }

func suggestName(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "define it above, or load() it"
}

// addStatic records what the parser or the resolver says.
func (l *loader) addStatic(name string, err error) {
	if list, ok := errors.AsType[resolve.ErrorList](err); ok {
		for _, e := range list {
			l.add(e.Pos, syntaxFix(e.Msg), "%s", e.Msg)
		}
		return
	}
	if e, ok := errors.AsType[syntax.Error](err); ok {
		l.add(e.Pos, syntaxFix(e.Msg), "%s", e.Msg)
		return
	}
	l.add(syntax.MakePosition(&name, 1, 1), "", "%s", err)
}

// syntaxFix answers the two mistakes that people who know Python make most.
func syntaxFix(msg string) string {
	switch {
	case strings.Contains(msg, "while"):
		return "use a for loop over a range or a list"
	case strings.Contains(msg, "got import"), strings.Contains(msg, "got class"), strings.Contains(msg, "got try"):
		return "this is Starlark, not Python: it has def, for, if and load()"
	}
	return ""
}

// place is where a call's parenthesis stands: all that Starlark tells a built-in about its call.
type place struct {
	file      string
	line, col int32
}

func placeOf(p syntax.Position) place { return place{p.Filename(), p.Line, p.Col} }

// guards are the names, which no file can write, of the functions that stand in for operators.
var guards = map[syntax.Token]string{syntax.STAR: "*", syntax.PLUS: "+", syntax.PLUS_EQ: "+="}

// guardOperators turns x * y and x + y into calls that bound the result: Starlark itself would make a list of 16 GB in
// one step, and nothing can stop a step.
func (l *loader) guardOperators(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			l.guardOperators(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			l.guardSlot(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				l.guardSlot(f)
			}
		}
		if v.CanAddr() {
			if s, ok := v.Addr().Interface().(*syntax.AssignStmt); ok {
				l.guardAssign(s)
			}
		}
	}
}

func (l *loader) guardSlot(v reflect.Value) {
	l.guardOperators(v)
	if v.Kind() != reflect.Interface || v.IsNil() {
		return
	}
	if b, ok := v.Interface().(*syntax.BinaryExpr); ok && (b.Op == syntax.STAR || b.Op == syntax.PLUS) {
		v.Set(reflect.ValueOf(guardCall(b.Op, b.OpPos, b.X, b.Y)))
	}
}

// guardAssign keeps x += y as it is, since for a list that is another thing than x = x + y.
func (l *loader) guardAssign(s *syntax.AssignStmt) {
	id, ok := s.LHS.(*syntax.Ident)
	switch {
	case s.Op == syntax.STAR_EQ && !ok:
		l.add(s.OpPos, "write x[i] = x[i] * n", "*= works on plain names only")
	case s.Op == syntax.STAR_EQ:
		s.Op, s.RHS = syntax.EQ, guardCall(syntax.STAR, s.OpPos, &syntax.Ident{NamePos: id.NamePos, Name: id.Name}, s.RHS)
	case s.Op == syntax.PLUS_EQ && ok:
		s.RHS = guardCall(syntax.PLUS_EQ, s.OpPos, &syntax.Ident{NamePos: id.NamePos, Name: id.Name}, s.RHS)
	}
}

func guardCall(op syntax.Token, at syntax.Position, x, y syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{
		Fn:     &syntax.Ident{NamePos: syntax.Start(x), Name: guards[op]},
		Lparen: at, Args: []syntax.Expr{x, y}, Rparen: at,
	}
}
