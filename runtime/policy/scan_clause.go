package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call looks at the assignments before a command and at builtins that take variable names.
func (s *scanner) call(n *syntax.CallExpr) {
	read := false
	if len(n.Args) > 0 {
		name, _ := literal(n.Args[0])
		switch name {
		case "coproc":
			s.refuse(n, "coproc is read in two ways")
		case "read":
			read = true
		}
		s.setters(n.Args)
	}
	for _, as := range n.Assigns {
		ifs := read && as.Name != nil && as.Name.Value == "IFS" && as.Array == nil && as.Index == nil && !as.Append
		if ifs {
			v, ok := literal(as.Value)
			ifs = ok && v == ""
		}
		s.sets(as, ifs)
	}
}

// setters notes the variables that read, mapfile, printf -v and their like fill.
func (s *scanner) setters(args []*syntax.Word) {
	found := false
	for _, w := range args[:min(len(args), 3)] {
		switch v, _ := literal(w); v {
		case "read", "mapfile", "readarray":
			s.a.reads = true
			found = true
		case "getopts", "printf", "wait", "let", "declare", "typeset", "local", "export", "readonly", "unset":
			found = true
		case "cd", "pushd", "popd":
			s.a.vars.unknown("PWD")
			s.a.vars.unknown("OLDPWD")
		}
	}
	if !found {
		return
	}
	for _, w := range args[1:] {
		v, ok := literal(w)
		name, value, assigned := strings.Cut(v, "=")
		if !ok && !assigned {
			continue
		}
		if i := strings.IndexByte(name, '['); i > 0 {
			name = name[:i]
		}
		name = strings.TrimSuffix(name, "+")
		for strings.HasPrefix(name, "-") && len(name) > 2 {
			name = name[2:] // -vNAME, -pNAME, -aNAME
		}
		switch {
		case !identifier(name):
		case assigned && ok && !strings.HasPrefix(v, "-"):
			s.a.vars.add(name, value)
		default:
			s.a.vars.unknown(name)
		}
	}
}

// sets notes one assignment as a variable that is set.
func (s *scanner) sets(as *syntax.Assign, ifs bool) {
	if as.Name == nil {
		return
	}
	s.a.sets(EnvSet{Name: as.Name.Value, At: s.u.at(as.Pos()), IFS: ifs})
	if ifs {
		return // for one read only: nothing else is split differently
	}
	s.a.vars.assign(as)
	if as.Array != nil {
		for _, e := range as.Array.Elems {
			if e.Value != nil {
				s.a.later(as.Name.Value, e.Value, s.u)
			}
		}
		return
	}
	s.a.later(as.Name.Value, as.Value, s.u)
}

// assign looks at what an assignment's parts mean; that it sets a variable was noted at its command.
func (s *scanner) assign(n *syntax.Assign) {
	if n.Index != nil {
		s.subscript(n.Index)
		s.sub = n.Index
	}
	if n.Value != nil {
		s.value(n.Value)
	}
}

// decl looks at declare and its like.
func (s *scanner) decl(n *syntax.DeclClause) {
	array := false
	for _, as := range n.Args {
		if as.Name == nil && as.Value != nil { // an option, or a name that is not literal
			v, whole := literal(as.Value)
			switch {
			case strings.HasPrefix(v, "-") || strings.HasPrefix(v, "+"):
				s.declOption(n, v, whole)
				array = array || strings.ContainsAny(v, "aA")
			default:
				s.a.nameArg(lit(v, s.u.at(as.Pos())), whole)
				s.a.setArg(n.Variant.Value, v, whole, s.u.at(as.Pos()))
			}
			continue
		}
		s.sets(as, false)
		if array && as.Value != nil {
			s.a.evals(s.u.at(as.Pos()))
		}
	}
	if n.Variant.Value == "nameref" {
		s.a.issue(Issue{Rule: "R12", Command: "nameref", At: s.u.at(n.Pos()), Message: "a name reference assigns variables under another name"})
	}
}

func (s *scanner) declOption(n *syntax.DeclClause, v string, whole bool) {
	if !whole {
		s.a.issue(Issue{Rule: "R12", Command: n.Variant.Value, At: s.u.at(n.Pos()), Message: "an option of " + n.Variant.Value + " is only known at run time"})
	}
	if n.Variant.Value != "export" && n.Variant.Value != "readonly" && v[0] == '-' {
		if strings.Contains(v, "n") {
			s.a.issue(Issue{Rule: "R12", Command: n.Variant.Value, At: s.u.at(n.Pos()), Message: "a name reference assigns variables under another name"})
		}
		if strings.Contains(v, "i") {
			s.a.evals(s.u.at(n.Pos()))
		}
	}
	if v[0] == '-' && n.Variant.Value == "export" && strings.Contains(v, "f") {
		s.a.issue(Issue{Rule: "R12", Command: "export -f", At: s.u.at(n.Pos()), Message: "an exported function takes the place of a command in every child shell"})
	}
}

// iterate notes what a loop's variable becomes.
func (s *scanner) iterate(n *syntax.WordIter) {
	name := n.Name.Value
	s.a.sets(EnvSet{Name: name, At: s.u.at(n.Pos())})
	if !n.InPos.IsValid() {
		s.a.vars.unknown(name)
	}
	s.a.vars.get(name)
	for _, w := range n.Items {
		s.value(w)
		s.a.later(name, w, s.u)
		s.a.vars.word(name, w)
	}
}

func (s *scanner) function(n *syntax.FuncDecl) {
	if n.Name == nil {
		s.refuse(n, "a function without a name")
		return
	}
	name := n.Name.Value
	switch name {
	case "command", "builtin", "exec", "eval", "unset", "alias", "trap", "source", ".", "set":
		s.a.issue(Issue{Rule: "R12", Command: name, At: s.u.at(n.Pos()), Message: "the function takes the place of the builtin " + name})
	}
	s.a.functions[name] = true
}

// time guards `time --`, which bash accepts and the parser takes for a command.
func (s *scanner) time(n *syntax.TimeClause) {
	if n.Stmt == nil {
		return
	}
	first := n.Stmt
	for list, ok := first.Cmd.(*syntax.BinaryCmd); ok; list, ok = first.Cmd.(*syntax.BinaryCmd) {
		first = list.X
	}
	if call, ok := first.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		if v, _ := literal(call.Args[0]); strings.HasPrefix(v, "-") {
			s.refuse(n, "options of time are read in two ways")
		}
	}
}

// let guards its operands: an unquoted operator is one of the shell to bash and arithmetic to the parser.
func (s *scanner) let(n *syntax.LetClause) {
	src := s.u.source(n)
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '\'', '"':
			j := strings.IndexByte(src[i+1:], c)
			if j < 0 {
				s.refuse(n, "let with an open quote")
				return
			}
			i += j + 1
		case '|', '&', ';', '<', '>', '(', ')', '#', '`', '\\', '\n':
			s.refuse(n, "unquoted operators in let are read in two ways")
			return
		}
	}
	for _, x := range n.Exprs {
		if w, ok := x.(*syntax.Word); ok {
			s.value(w)
			v, whole := literal(w)
			name, _, _ := strings.Cut(v, "=")
			name = strings.Trim(name, " +-*/%&|^<>")
			if !identifier(name) || !whole {
				name = ""
			}
			if strings.ContainsAny(v, "=") || !whole {
				s.a.sets(EnvSet{Name: name, At: s.u.at(w.Pos())})
			}
		}
	}
}

func (s *scanner) binaryTest(n *syntax.BinaryTest) {
	if n.Op < syntax.TsEql || n.Op > syntax.TsGtr {
		return
	}
	s.a.evals(s.u.at(n.Pos()))
	for _, x := range []syntax.TestExpr{n.X, n.Y} {
		if w, ok := x.(*syntax.Word); ok {
			s.value(w)
		}
	}
}

func (s *scanner) unaryTest(n *syntax.UnaryTest) {
	if n.Op != syntax.TsVarSet && n.Op != syntax.TsRefVar {
		return
	}
	if w, ok := n.X.(*syntax.Word); ok {
		v, whole := literal(w)
		s.a.nameArg(lit(v, s.u.at(w.Pos())), whole)
	}
}

// redirect applies the guards on redirections and notes {name}>.
func (s *scanner) redirect(n *syntax.Redirect) {
	if n.N != nil {
		switch {
		case strings.HasPrefix(n.N.Value, "{"):
			name := strings.Trim(n.N.Value, "{}")
			if i := strings.IndexByte(name, '['); i > 0 {
				name = name[:i]
			}
			s.a.sets(EnvSet{Name: name, At: s.u.at(n.Pos())})
			s.a.vars.unknown(name)
		case len(n.N.Value) > 1 && s.u.posix:
			s.refuse(n, "a descriptor of two digits is a word to some shells")
		}
	}
	switch n.Op {
	case syntax.DplIn, syntax.DplOut:
		s.duplicate(n)
	case syntax.Hdoc, syntax.DashHdoc:
		s.body = n.Hdoc
		s.heredoc(n)
	case syntax.WordHdoc:
		if s.a.reads {
			s.value(n.Word)
		}
	}
}

// duplicate: bash takes the dash of <&-rm as all of the word, and expands the word of >& twice.
func (s *scanner) duplicate(n *syntax.Redirect) {
	v, whole := literal(n.Word)
	if !whole {
		if len(n.Word.Parts) == 1 {
			if p, ok := n.Word.Parts[0].(*syntax.ParamExp); ok && s.a.plainOrFree(p) {
				return
			}
			if d, ok := n.Word.Parts[0].(*syntax.DblQuoted); ok && len(d.Parts) == 1 {
				if p, ok := d.Parts[0].(*syntax.ParamExp); ok && s.a.plainOrFree(p) {
					return
				}
			}
		}
		s.refuse(n, "the word after >& is expanded twice")
		return
	}
	if v == "-" || v != "" && strings.Trim(strings.TrimSuffix(v, "-"), "0123456789") == "" && v[0] != '-' {
		return
	}
	if strings.ContainsAny(v, "$`\\*?[{") || strings.HasPrefix(v, "-") || n.Op == syntax.DplIn || !plainValue(v) {
		s.refuse(n, "the word after >& or <& is read in two ways")
	}
}

// heredoc: inside $( ) bash 5.2 ends a here-document at a line that only begins with its delimiter. One whose substitution
// ends before its body begins is empty to some shells, which then run the body.
func (s *scanner) heredoc(n *syntax.Redirect) {
	for len(s.ends) > 0 && s.ends[len(s.ends)-1] < n.Pos().Offset() {
		s.ends = s.ends[:len(s.ends)-1]
	}
	if len(s.ends) > 0 && (n.Hdoc == nil || n.Hdoc.End().Offset() > s.ends[len(s.ends)-1]) {
		s.refuse(n, "a here-document begins behind the substitution that it belongs to")
		return
	}
	if n.Hdoc == nil {
		return
	}
	if s.here&inSubst == 0 && !s.u.nested {
		return
	}
	end, _ := literal(n.Word)
	for line := range strings.SplitSeq(s.u.source(n.Hdoc), "\n") {
		if n.Op == syntax.DashHdoc {
			line = strings.TrimLeft(line, "\t")
		}
		if strings.HasPrefix(line, end) && line != end {
			s.refuse(n, "a line of this here-document begins with its delimiter")
			return
		}
	}
}
