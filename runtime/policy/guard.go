package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// guardSource looks at the source text itself for what the tree does not show: comments that the parser ends elsewhere
// than a shell does, and line continuations inside a token.
func (a *analyser) guardSource(u *unit, f *syntax.File) {
	hash := strings.IndexByte(u.src, '#') >= 0
	joined := strings.Contains(u.src, "\\\n")
	if !hash && !joined {
		return
	}
	c := coverage(f, len(u.src))
	if hash {
		a.guardComments(u, c)
	}
	if joined {
		a.guardJoins(u, c)
	}
}

// cover says what the tree takes a byte of the source for.
type cover uint8

const (
	coverNone  cover = iota
	coverText        // literal text of some kind
	coverRaw         // text in which a backslash means nothing: single quotes, quoted here-documents
	coverParam       // an operator of ${}
	coverTick        // inside backquotes, which are read on their own
)

// coverage paints the bytes of the source. Later nodes are inner ones and win.
func coverage(f *syntax.File, size int) []cover {
	c := make([]cover, size)
	paint := func(from, to syntax.Pos, k cover) {
		for i := int(from.Offset()); i < min(int(to.Offset()), size); i++ {
			c[i] = k
		}
	}
	depth := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return false
		}
		depth++
		switch n := n.(type) {
		case *syntax.Lit:
			if c[min(int(n.Pos().Offset()), size-1)] != coverRaw {
				paint(n.Pos(), n.End(), coverText)
			}
		case *syntax.SglQuoted:
			paint(n.Pos(), n.End(), coverRaw)
		case *syntax.DblQuoted:
			paint(n.Pos(), n.End(), coverText)
		case *syntax.ArithmExp:
			paint(n.Pos(), n.End(), coverText)
		case *syntax.ArithmCmd:
			paint(n.Pos(), n.End(), coverText)
		case *syntax.ParamExp:
			paint(n.Pos(), n.End(), coverParam)
		case *syntax.ExtGlob:
			paint(n.Pos(), n.End(), coverText)
		case *syntax.Redirect:
			if n.Hdoc != nil && quotedDelimiter(n.Word) {
				paint(n.Hdoc.Pos(), n.Hdoc.End(), coverRaw)
			}
		case *syntax.CmdSubst:
			if n.Backquotes {
				paint(n.Pos(), n.End(), coverTick)
			} else {
				paint(n.Pos(), n.End(), coverNone)
			}
		case *syntax.ProcSubst:
			paint(n.Pos(), n.End(), coverNone)
		}
		if depth > scanDepth {
			depth--
			return false
		}
		return true
	})
	return c
}

// guardComments refuses a comment that does not stand where every shell begins one, and one that ends in a backslash: the
// parser joins the next line to it, and shells run that line.
func (a *analyser) guardComments(u *unit, c []cover) {
	for i := 0; i < len(u.src); i++ {
		if u.src[i] != '#' || c[i] != coverNone {
			continue
		}
		end := strings.IndexByte(u.src[i:], '\n')
		if end < 0 {
			end = len(u.src) - i
		}
		line := u.src[i : i+end]
		switch {
		case !commentMayStart(u.src, i):
			a.issue(Issue{Rule: "R2", At: u.origin + a.shift(u, i), Message: "a # that is glued to something is read in two ways", Suggest: "put a blank before the comment, or drop it"})
			return
		case strings.HasSuffix(line, `\`):
			a.issue(Issue{Rule: "R2", At: u.origin + a.shift(u, i), Message: "a comment that ends in a backslash is read in two ways", Suggest: "drop the comment"})
			return
		}
		i += end
	}
}

func (a *analyser) shift(u *unit, i int) int {
	if u.fixed {
		return 0
	}
	return i
}

func commentMayStart(src string, i int) bool {
	if i == 0 {
		return true
	}
	switch src[i-1] {
	case '\n':
		return i < 2 || src[i-2] != '\\'
	case ' ', '\t':
		return !escaped(src, i-1)
	case ';', '&', '|', '(':
		return !escaped(src, i-1)
	}
	return false
}

// escaped says whether an odd number of backslashes stands before src[i].
func escaped(src string, i int) bool {
	n := 0
	for i--; i >= 0 && src[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// guardJoins refuses a line continuation inside a token: the shell removes it before it looks, the parser in part after.
func (a *analyser) guardJoins(u *unit, c []cover) {
	for from := 0; ; {
		i := strings.Index(u.src[from:], "\\\n")
		if i < 0 {
			return
		}
		i += from
		from = i + 2
		if c[i] == coverRaw || i == 0 || escaped(u.src, i) {
			continue
		}
		before, after := u.src[i-1], byte(0)
		if from < len(u.src) {
			after = u.src[from]
		}
		// A lone $ or < before, or a character that would be something else without the break, makes another token.
		if strings.IndexByte("$<>`", before) >= 0 || before == '(' && after == '(' || before == '{' && !blankBefore(u.src, i-1) ||
			strings.IndexByte("&|;", before) >= 0 && before == after || before == '&' && after == '>' || after == '#' && before != ' ' && before != '\t' || after == '#' {
			a.issue(Issue{Rule: "R2", At: u.origin + a.shift(u, i), Message: "a line continuation inside a token is read in two ways", Suggest: "write the command on one line"})
			return
		}
	}
}

func blankBefore(src string, i int) bool {
	return i == 0 || strings.IndexByte(" \t\n;&|(", src[i-1]) >= 0
}

// producer says whether a word is exactly a substitution of a command that prints code for the shell and is known for it.
func (a *analyser) producer(w *syntax.Word) bool {
	if w == nil {
		return false
	}
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok && !q.Dollar {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return false
	}
	var list []*syntax.Stmt
	switch p := parts[0].(type) {
	case *syntax.CmdSubst:
		list = p.Stmts
		if u := a.quoted[p]; u != nil {
			list = u.files[len(u.files)-1].Stmts
		}
	case *syntax.ProcSubst:
		if p.Op == syntax.CmdIn {
			list = p.Stmts
		}
	}
	if len(list) != 1 || list[0].Negated || list[0].Background {
		return false
	}
	for _, r := range list[0].Redirs {
		if v, ok := literal(r.Word); !ok || v != "/dev/null" && v != "1" && v != "2" || r.Op == syntax.RdrIn {
			return false
		}
	}
	call, ok := list[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return false
	}
	words := make([]string, len(call.Args))
	for i, x := range call.Args {
		if words[i], ok = literal(x); !ok {
			return false
		}
	}
	known := producers[strings.Join(words, " ")] || len(words) > 2 && words[0] == "apt-config" && words[1] == "shell"
	return known && a.genuine(words[0])
}

// genuine says whether the text leaves the meaning of a name alone.
func (a *analyser) genuine(name string) bool { return !a.functions[name] && a.vars.m["PATH"] == nil }

// getopt prints words that it has quoted for eval, as in eval set -- "$(getopt ...)".
func (a *analyser) getopt(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	q, ok := w.Parts[0].(*syntax.DblQuoted)
	if !ok || len(q.Parts) != 1 {
		return false
	}
	c, ok := q.Parts[0].(*syntax.CmdSubst)
	if !ok || c.Backquotes || len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) > 0 {
		return false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || !a.genuine("getopt") {
		return false
	}
	for i, x := range call.Args {
		v, _ := literal(x)
		switch {
		case i == 0 && v != "getopt", i > 0 && strings.HasPrefix(v, "-u"), strings.HasPrefix(v, "--u"), i == 1 && !strings.HasPrefix(v, "-"):
			return false // without quotes, or in the old form that has none
		case v == "--":
			return true
		}
	}
	return false
}
