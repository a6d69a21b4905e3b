package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of one request (R14). A text within them costs at most some 50 ms.
const (
	maxText     = 131_071 // Linux takes no longer single argument
	maxDepth    = 400     // levels of the tree
	maxCommands = 2000
	maxLevels   = 16        // code text in code text
	maxCode     = 256 << 10 // bytes of it over all levels
	maxBraces   = 512       // words of one brace expansion
	maxExpanded = 10_000    // words of all brace expansions
	maxWords    = 200_000   // over all commands, counted again behind each wrapper
	scanDepth   = 3 * maxCommands
)

// where a node stands; a command substitution begins anew.
const (
	inParam  uint8 = 1 << iota // in ${}: quotes there do not quote for every shell
	inArith                    // in arithmetic, a subscript or a slice
	inDouble                   // in double quotes
	inSubst                    // somewhere in $( )
)

// scanner makes the first pass over a tree: it counts, applies the guards of R2, and notes what sets variables, defines
// functions or evaluates twice. What runs is the second pass's business.
type scanner struct {
	a     *analyser
	u     *unit
	flags []uint8
	here  uint8
	over  bool
	sub   syntax.Node  // the subscript among the next node's children
	ends  []uint       // offsets where substitutions end, inner ones last; some may be behind us
	body  *syntax.Word // a here-document's, where no braces are expanded
}

func (a *analyser) scan(u *unit, file *syntax.File) {
	s := scanner{a: a, u: u, flags: a.flags[:0]}
	syntax.Walk(file, s.visit)
	a.flags = s.flags[:0]
	if s.over {
		a.issue(Issue{Rule: "R14", At: u.start(), Message: "the text holds too many commands or is nested too deeply"})
	}
}

func (s *scanner) visit(n syntax.Node) bool {
	if n == nil {
		s.here = s.flags[len(s.flags)-1]
		s.flags = s.flags[:len(s.flags)-1]
		return false
	}
	if s.over || len(s.flags) > scanDepth {
		s.over = true
		return false
	}
	s.flags = append(s.flags, s.here)
	if !s.node(n) {
		s.here = s.flags[len(s.flags)-1]
		s.flags = s.flags[:len(s.flags)-1]
		return false
	}
	return true
}

// node looks at one node and says whether its children are of interest.
func (s *scanner) node(n syntax.Node) bool {
	if s.sub != nil && n == s.sub {
		s.here |= inArith
		s.sub = nil
	}
	switch n := n.(type) {
	case *syntax.Lit:
		s.literal(n)
	case *syntax.Word:
		if n != s.body && len(n.Parts) > 0 && hasBraces(n) && rebuilt(n) && formsBraces(n) {
			s.refuse(n, "a dollar beside braces builds an expansion that is not written")
		}
	case *syntax.SglQuoted:
		s.single(n)
	case *syntax.DblQuoted:
		s.double(n)
	case *syntax.ParamExp:
		s.param(n)
	case *syntax.CmdSubst:
		return s.subst(n)
	case *syntax.ProcSubst:
		s.here = inSubst
		s.ends = append(s.ends, n.Rparen.Offset())
	case *syntax.ExtGlob:
		if strings.ContainsAny(n.Pattern.Value, "$`<>'\"") {
			s.refuse(n, "an extended glob that holds an expansion is read in two ways")
		}
	case *syntax.ArithmExp:
		s.arith(n)
	case *syntax.CallExpr:
		s.call(n)
	case *syntax.Stmt:
		s.count(n)
	case *syntax.Redirect:
		s.redirect(n)
	default:
		return s.clause(n)
	}
	return true
}

// clause looks at the rarer nodes.
func (s *scanner) clause(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ArithmCmd:
		s.arith(n)
	case *syntax.LetClause:
		s.arith(n)
		s.let(n)
	case *syntax.CStyleLoop:
		s.arith(n)
	case *syntax.BinaryArithm:
		s.arithAssign(n.Op >= syntax.AddAssgn && n.Op <= syntax.PowAssgn || n.Op == syntax.Assgn, n.X)
		s.here |= inArith
	case *syntax.UnaryArithm:
		s.arithAssign(n.Op == syntax.Inc || n.Op == syntax.Dec, n.X)
		s.here |= inArith
	case *syntax.Assign:
		s.assign(n)
	case *syntax.ArrayElem:
		if n.Index != nil {
			s.subscript(n.Index)
			s.sub = n.Index
		}
		if n.Value != nil {
			s.value(n.Value)
		}
	case *syntax.DeclClause:
		s.decl(n)
	case *syntax.WordIter:
		s.iterate(n)
	case *syntax.FuncDecl:
		s.function(n)
	case *syntax.TimeClause:
		s.time(n)
	case *syntax.CoprocClause:
		s.refuse(n, "coproc is read in two ways")
	case *syntax.TestDecl:
		s.refuse(n, "this is no shell text")
	case *syntax.BinaryTest:
		s.binaryTest(n)
	case *syntax.UnaryTest:
		s.unaryTest(n)
	}
	return true
}

func (s *scanner) refuse(n syntax.Node, message string) {
	s.a.issue(Issue{Rule: "R2", At: s.u.at(n.Pos()), Message: message})
}

func (s *scanner) count(n *syntax.Stmt) {
	s.a.commands++
	if s.a.commands > maxCommands {
		s.over = true
	}
	if n.Coprocess || n.Disown {
		s.refuse(n, "this operator is read in two ways")
	}
}

// literal guards unquoted text: a process substitution inside ${} is text to the parser and runs in bash.
func (s *scanner) literal(n *syntax.Lit) {
	if s.here&(inParam|inArith) == 0 {
		return
	}
	v := n.Value
	if strings.IndexByte(v, '(') >= 0 && (strings.Contains(v, "<(") || strings.Contains(v, ">(")) {
		s.refuse(n, "a process substitution inside an expansion is read in two ways")
	}
	for i := 0; i < len(v); i++ {
		switch {
		case v[i] == '\\' && i+1 < len(v):
			i++
			if s.here&inArith != 0 && strings.IndexByte("$`\\", v[i]) >= 0 || v[i] == '\n' {
				s.refuse(n, "a backslash in this place does not quote for every shell")
			}
		case v[i] == '$' || v[i] == '`':
			s.refuse(n, "a lone dollar or backquote inside an expansion is read in two ways")
		}
	}
}

const noQuotes = "quotes in this place do not quote for every shell"

func (s *scanner) single(n *syntax.SglQuoted) {
	if s.here&(inParam|inArith) != 0 && strings.ContainsAny(n.Value, "$`\\") {
		s.refuse(n, noQuotes)
	}
}

func (s *scanner) double(n *syntax.DblQuoted) {
	if s.here&(inParam|inArith) != 0 {
		for _, p := range n.Parts {
			if l, ok := p.(*syntax.Lit); ok && strings.ContainsAny(l.Value, "$`\\") {
				s.refuse(n, noQuotes)
				break
			}
		}
	}
	s.here |= inDouble
}

func (s *scanner) param(n *syntax.ParamExp) {
	if n.Short && n.Index == nil {
		return
	}
	if n.Index != nil {
		s.subscript(n.Index)
		s.sub = n.Index
	}
	if n.Slice != nil {
		s.a.evals(s.u.at(n.Pos()))
		s.here |= inArith
	}
	if n.Excl && n.Names == 0 {
		s.a.evals(s.u.at(n.Pos()))
	}
	if n.Repl != nil {
		s.defaultValue(n.Repl.With)
	}
	if n.Exp != nil {
		s.defaultValue(n.Exp.Word)
		switch n.Exp.Op {
		case syntax.OtherParamOps:
			if w, ok := literal(n.Exp.Word); !ok || strings.Contains(w, "P") {
				s.a.evals(s.u.at(n.Pos()))
			}
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			s.paramAssign(n)
		}
	}
	s.here |= inParam
}

// inExpansion is the name under which the texts of ${x:-text} and ${x/a/text} stand among the values: no variable has it.
const inExpansion = "${}"

func (s *scanner) defaultValue(w *syntax.Word) {
	if w == nil {
		return
	}
	var b strings.Builder
	pieces(&b, w.Parts)
	if b.Len() > 0 {
		s.a.vars.add(inExpansion, b.String())
	}
	s.value(w) // it may become a variable's value, quotes removed
}

// paramAssign notes ${x:=value}.
func (s *scanner) paramAssign(n *syntax.ParamExp) {
	if n.Param == nil {
		return
	}
	s.a.sets(EnvSet{Name: n.Param.Value, At: s.u.at(n.Pos())})
	if n.Exp.Word == nil {
		s.a.vars.add(n.Param.Value, "")
		return
	}
	if n.Index != nil {
		s.a.vars.unknown(n.Param.Value)
	}
	s.a.vars.word(n.Param.Value, n.Exp.Word)
	s.a.later(n.Param.Value, n.Exp.Word, s.u)
}

func (s *scanner) subst(n *syntax.CmdSubst) bool {
	if n.TempFile || n.ReplyVar {
		s.refuse(n, "this substitution is read in two ways")
	}
	s.a.reads = s.a.reads || s.a.where >= 0 // arithmetic may read what it prints
	if n.Backquotes {
		s.a.backquotes(s.u, n, s.here&inDouble != 0)
		return false
	}
	s.here = inSubst
	s.ends = append(s.ends, n.Right.Offset())
	return true
}

func (s *scanner) arith(n syntax.Node) {
	s.a.evals(s.u.at(n.Pos()))
	s.here |= inArith
}

// subscript notes an index that is evaluated: all but numbers, @ and *.
func (s *scanner) subscript(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok {
		if v := w.Lit(); v == "@" || v == "*" || v != "" && strings.Trim(v, "0123456789") == "" {
			return
		}
	}
	s.a.evals(s.u.at(x.Pos()))
}

func (s *scanner) arithAssign(is bool, x syntax.ArithmExpr) {
	if !is {
		return
	}
	name := ""
	if w, ok := x.(*syntax.Word); ok {
		name = w.Lit()
		if len(w.Parts) == 1 {
			if p, ok := w.Parts[0].(*syntax.ParamExp); ok && p.Param != nil && p.Index != nil {
				name = p.Param.Value
			}
		}
	}
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	if !identifier(name) {
		name = ""
	}
	s.a.sets(EnvSet{Name: name, At: s.u.at(x.Pos())})
	if name != "" {
		s.a.vars.unknown(name)
	}
}

// value looks at a literal that arithmetic elsewhere in the text may evaluate again (R13).
func (s *scanner) value(w *syntax.Word) {
	if len(w.Parts) == 1 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(l.Value, "[$`") {
			return
		}
	}
	var b strings.Builder
	pieces(&b, w.Parts)
	s.a.value(b.String(), s.u.at(w.Pos()))
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.CmdSubst:
			s.a.reads = true
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if _, ok := q.(*syntax.CmdSubst); ok {
					s.a.reads = true
				}
			}
		}
	}
}
