package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scope is where a statement stands.
type scope struct {
	stdin *stdin
	via   string // the wrapper that brought us here
	depth int
	top   bool // in the request's own text, where its functions are known
	kind  Kind
}

func (s scope) in() scope { s.depth++; return s }

// from returns the scope with another stdin.
func (s scope) from(in *stdin) scope { s.stdin = in; return s }

// wrapped is the scope of what the named wrapper starts.
func (s scope) wrapped(via string) scope {
	if s.via != "" {
		via = s.via + " " + via
	}
	s.via, s.top = via, false
	s.kind = max(s.kind, Wrapped)
	return s.in()
}

func (a *analyser) tooDeep(s scope) bool {
	if s.depth <= maxDepth {
		return false
	}
	a.issue(Issue{Rule: "R14", At: a.u.start(), Message: "the text is nested too deeply"})
	return true
}

func (a *analyser) stmts(list []*syntax.Stmt, s scope) {
	for _, st := range list {
		a.stmt(st, s)
	}
}

// stmt walks one statement. Lists and pipelines are long chains, so they are taken apart in a loop.
func (a *analyser) stmt(st *syntax.Stmt, s scope) {
	if a.tooDeep(s) || a.over() {
		return
	}
	if _, ok := st.Cmd.(*syntax.BinaryCmd); !ok {
		a.single(st, s)
		return
	}
	type item struct {
		st *syntax.Stmt
		s  scope
	}
	stack := []item{{st, s}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		list, ok := it.st.Cmd.(*syntax.BinaryCmd)
		if !ok {
			a.single(it.st, it.s)
			continue
		}
		in := a.redirects(it.st, it.s)
		left, right := it.s.from(in), it.s.from(in)
		if list.Op == syntax.Pipe || list.Op == syntax.PipeAll {
			if a.pipe == nil {
				a.pipe = pipeStdin()
			}
			right = right.from(a.pipe)
		}
		left.depth, right.depth = s.depth+1, s.depth+1
		stack = append(stack, item{list.Y, right}, item{list.X, left})
	}
}

// single walks a statement that is no list.
func (a *analyser) single(st *syntax.Stmt, s scope) {
	in := s.stdin
	if len(st.Redirs) > 0 {
		in = a.redirects(st, s)
	}
	if st.Cmd == nil {
		return
	}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok {
		a.simple(call, s.from(in), st)
		if a.replaced != nil { // an exec redirection: s.stdin is shared with the statements that follow
			*s.stdin = *a.replaced
			a.replaced = nil
		}
		return
	}
	a.command(st.Cmd, s.from(in).in())
}

// command walks a compound command.
func (a *analyser) command(cmd syntax.Command, s scope) {
	switch c := cmd.(type) {
	case *syntax.Block:
		a.stmts(c.Stmts, s)
	case *syntax.Subshell:
		a.stmts(c.Stmts, s)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			a.stmts(c.Cond, s)
			a.stmts(c.Then, s)
		}
	case *syntax.WhileClause:
		s = s.from(s.stdin.again())
		a.stmts(c.Cond, s)
		a.stmts(c.Do, s)
	case *syntax.ForClause:
		a.loop(c, s)
	case *syntax.CaseClause:
		a.caseClause(c, s)
	case *syntax.FuncDecl:
		if c.Body != nil {
			a.stmt(c.Body, s.from(unknownStdin("a function")))
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			a.stmt(c.Stmt, s)
		}
	case *syntax.CoprocClause:
		a.stmt(c.Stmt, s.from(pipeStdin()))
	case *syntax.DeclClause:
		for _, as := range c.Args {
			a.assignment(as, s)
		}
	case *syntax.ArithmCmd:
		a.inside(c.X, s)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			a.inside(x, s)
		}
	case *syntax.TestClause:
		a.inside(c.X, s)
	}
}

func (a *analyser) loop(c *syntax.ForClause, s scope) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		for _, w := range l.Items {
			a.word(w, s)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if x != nil {
				a.inside(x, s)
			}
		}
	}
	a.stmts(c.Do, s.from(s.stdin.again()))
}

func (a *analyser) caseClause(c *syntax.CaseClause, s scope) {
	a.word(c.Word, s)
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			a.word(p, s)
		}
		a.stmts(item.Stmts, s)
	}
}

func (a *analyser) assignment(as *syntax.Assign, s scope) {
	if as.Index != nil {
		a.inside(as.Index, s)
	}
	if as.Value != nil {
		a.word(as.Value, s)
	}
	if as.Array != nil {
		a.inside(as.Array, s)
	}
}

// word walks what runs inside a word. Most words are one literal.
func (a *analyser) word(w *syntax.Word, s scope) {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.ExtGlob:
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				switch q := q.(type) {
				case *syntax.Lit:
				case *syntax.CmdSubst:
					a.substitution(q, s)
				case *syntax.ParamExp:
					if !q.Short && !simple(q) {
						a.inside(q, s)
					}
				default:
					a.inside(q, s)
				}
			}
		case *syntax.ParamExp:
			if !p.Short && !simple(p) {
				a.inside(p, s)
			}
		case *syntax.CmdSubst:
			a.substitution(p, s)
		default:
			a.inside(p, s)
		}
	}
}

// inside walks any node for the substitutions in it; their stdin is not that of the command they stand in.
func (a *analyser) inside(n syntax.Node, s scope) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			a.substitution(n, s)
			return false
		case *syntax.ProcSubst:
			in := unknownStdin("a process substitution")
			if n.Op == syntax.CmdOut {
				in = pipeStdin()
			}
			a.stmts(n.Stmts, s.from(in).in())
			return false
		}
		return true
	})
}

func (a *analyser) substitution(n *syntax.CmdSubst, s scope) {
	if a.inSubst == nil {
		a.inSubst = unknownStdin("a substitution")
	}
	inner := s.from(a.inSubst).in()
	if !n.Backquotes {
		a.stmts(n.Stmts, inner)
		return
	}
	if u := a.quoted[n]; u != nil {
		a.run(u, inner)
	}
}

// backquotes reads the text of an old-style substitution as the shell does: up to the first backquote that is not
// escaped, one level of escapes removed.
func (a *analyser) backquotes(u *unit, n *syntax.CmdSubst, double bool) {
	from, to := int(n.Left.Offset())+1, int(n.Right.Offset())
	if from > to || to >= len(u.src) || u.src[from-1] != '`' || u.src[to] != '`' {
		a.issue(Issue{Rule: "R2", At: u.at(n.Pos()), Message: "nested backquotes are read in two ways", Suggest: "use $( )"})
		return
	}
	src := u.src[from:to]
	var out strings.Builder
	for i := 0; i < len(src); i++ {
		switch {
		case src[i] == '`':
			a.issue(Issue{Rule: "R2", At: u.at(n.Pos()), Message: "quotes inside backquotes are read in two ways", Suggest: "use $( )"})
			return
		case src[i] == '\\' && i+1 < len(src) && (strings.IndexByte("$`\\", src[i+1]) >= 0 || double && src[i+1] == '"'):
			i++
		}
		out.WriteByte(src[i])
	}
	inner := &unit{src: out.String(), shell: u.shell, nested: true, origin: u.at(n.Pos()), fixed: true, via: u.via, level: u.level + 1}
	if a.parse(inner) {
		if a.quoted == nil {
			a.quoted = map[*syntax.CmdSubst]*unit{}
		}
		a.quoted[n] = inner
	}
}

// freeFunctions returns the functions that a list need not name: defined at the top level of the text, unconditionally,
// in no pipeline and no background, and never unset.
func freeFunctions(f *syntax.File) map[string]int {
	var free map[string]int
	for _, st := range f.Stmts {
		fn, ok := st.Cmd.(*syntax.FuncDecl)
		if !ok || st.Background || st.Negated || len(st.Redirs) > 0 || fn.Name == nil || fn.Body == nil {
			continue
		}
		if _, piped := fn.Body.Cmd.(*syntax.BinaryCmd); piped || fn.Body.Background {
			continue
		}
		if free == nil {
			free = map[string]int{}
		}
		if _, twice := free[fn.Name.Value]; !twice {
			free[fn.Name.Value] = int(fn.Body.Pos().Offset())
		}
	}
	if free == nil {
		return nil
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			for i, w := range call.Args {
				if v, _ := literal(w); v == "unset" && i < 3 {
					dropUnset(free, call.Args[i+1:])
				}
			}
		}
		return true
	})
	return free
}

func dropUnset(free map[string]int, args []*syntax.Word) {
	for _, w := range args {
		v, whole := literal(w)
		if !whole || slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.BraceExp); return ok }) || strings.ContainsAny(v, "{*?[") {
			clear(free)
			return
		}
		delete(free, v)
	}
}
