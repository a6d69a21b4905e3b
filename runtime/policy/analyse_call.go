package policy

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simple walks a simple command: its assignments, the substitutions in its words, and what it starts.
func (a *analyser) simple(c *syntax.CallExpr, s scope, st *syntax.Stmt) {
	for _, as := range c.Assigns {
		a.assignment(as, s)
	}
	if len(c.Args) == 0 {
		return
	}
	for _, w := range c.Args {
		a.word(w, s)
	}
	mark := len(a.pool)
	args := a.expandAll(c.Args)
	defer func() { a.pool = a.pool[:mark] }()
	if len(args) == 0 {
		return
	}
	if args[0].is("exec") && len(args) == 1 {
		a.execRedirect(s, st)
	}
	a.call(args, s)
	if a.u.shell == "sh" {
		a.bracesAsText(c.Args, s)
	}
}

// execRedirect: an exec without a command changes the stdin of all that follows. Only at the top level is it certain
// that it happens.
func (a *analyser) execRedirect(s scope, st *syntax.Stmt) {
	if !slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool {
		return (r.N == nil || r.N.Value == "0") && r.Op != syntax.RdrOut && r.Op != syntax.AppOut && r.Op != syntax.RdrClob && r.Op != syntax.RdrAll && r.Op != syntax.AppAll && r.Op != syntax.DplOut
	}) {
		return
	}
	if s.depth > 0 {
		a.issue(Issue{Rule: "R9", Command: "exec", At: a.u.at(st.Pos()), Message: "exec replaces the standard input inside a group, a list or a function"})
		return
	}
	a.replaced = s.stdin
}

// expandAll evaluates the words of a command: brace expansion first, empty words dropped.
func (a *analyser) expandAll(words []*syntax.Word) []arg {
	from := len(a.pool)
	for _, w := range words {
		if !hasBraces(w) {
			if v := a.arg(w, false); v.kind != aLit || !v.vanish {
				a.pool = append(a.pool, v)
			}
			continue
		}
		a.pool = append(a.pool, a.expand(w)...)
	}
	return a.pool[from:len(a.pool):len(a.pool)]
}

func hasBraces(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			return true
		}
	}
	return false
}

// call judges a command whose words are args.
func (a *analyser) call(args []arg, s scope) {
	if len(args) == 0 || a.tooDeep(s) || a.over() {
		return
	}
	n := &args[0]
	switch {
	case n.kind == aLit && !n.special:
		a.start(n.val, false, args, s)
	case n.kind == aTail:
		a.cannotTell("R7", n, s, "the name of the command comes from the data", "name the command, as in xargs COMMAND")
	case n.all && !n.special:
		for _, v := range n.vals {
			if v != "" {
				a.start(v, false, args, s)
			}
		}
		if n.vanish {
			a.call(args[1:], s)
		}
	case a.ends(n) && (n.dirOK || n.kind == aSplit && n.free && !n.special):
		for _, v := range n.vals {
			a.start(v, true, args, s)
		}
	default:
		a.cannotTell("R4", n, s, "the name of the command is only known at run time", "")
	}
}

// ends says whether every possible end of an unknown word names a file in some directory.
func (a *analyser) ends(n *arg) bool {
	if n.kind == aLit || n.hole {
		return false
	}
	for _, v := range n.vals {
		i := strings.LastIndexByte(v, '/')
		if i < 0 || i == len(v)-1 {
			return false
		}
	}
	return len(n.vals) > 0
}

func (a *analyser) cannotTell(rule string, w *arg, s scope, message, suggest string) {
	a.issue(Issue{Rule: rule, Command: a.show(w), Via: s.via, At: w.at, Message: message, Suggest: suggest})
}

// show is a word for a message.
func (a *analyser) show(w *arg) string {
	if w.kind == aLit {
		return w.val
	}
	if w.word != nil && a.u != nil {
		if src := a.u.source(w.word); len(src) > 0 && len(src) <= 60 {
			return src
		}
	}
	return w.val
}

// start records a command by its name and opens what it starts in turn.
func (a *analyser) start(raw string, hidden bool, args []arg, s scope) {
	name := fold(raw)
	x := Exec{Name: name, Raw: raw, Via: s.via, Kind: s.kind, Shell: a.u.shell, At: args[0].at, hidden: hidden}
	if s.kind == Program && s.top && a.u.level == 0 {
		if at, ok := a.free[raw]; ok && args[0].at >= at {
			x.Kind = Function
		}
	}
	x.Args = a.strings(args[1:])
	a.record(x)
	if a.functions[raw] {
		for i := range args[1:] {
			a.literalValue(&args[1+i])
		}
	}
	fresh := !s.stdin.used
	if p := a.program(name); p != nil {
		p.open(a, args, s)
		a.otherReadings(p, args, s)
	} else if name == "" || strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || name == "ld.so" {
		a.loader(args, s)
	}
	if fresh && !quiet[name] {
		s.stdin.used = true
	}
}

// literalValue notes an argument as a value of the text: it becomes $1 of a function.
func (a *analyser) literalValue(w *arg) {
	if w.kind == aLit {
		a.value(w.val, w.at)
		return
	}
	if w.word != nil {
		var b strings.Builder
		pieces(&b, w.word.Parts)
		a.value(b.String(), w.at)
	}
}

func (a *analyser) record(x Exec) {
	if x.Kind < Suspect {
		a.started++
		if a.started > 2*maxCommands {
			a.issue(Issue{Rule: "R14", At: x.At, Message: "the text starts too many commands"})
			return
		}
	} else if len(a.out.Execs) > 10*maxCommands {
		return
	}
	a.out.Execs = append(a.out.Execs, x)
}

// strings are the arguments as rules see them.
func (a *analyser) strings(args []arg) []string {
	if len(args) == 0 {
		return nil
	}
	from := len(a.args)
	if from+len(args) > maxWords {
		a.issue(Issue{Rule: "R14", At: args[0].at, Message: "the text has too many words"})
		return nil
	}
	for i := range args {
		v := ""
		if args[i].kind == aLit {
			v = args[i].val
		}
		a.args = append(a.args, v)
	}
	return a.args[from:len(a.args):len(a.args)]
}

// doubt compares every later literal word, and every value that the text assigns, with the lists: a word before them is
// only known at run time, and if it is an option or nothing, the command begins elsewhere.
func (a *analyser) doubt(rest []arg, s scope) {
	if a.suspects > 0 {
		return
	}
	s.kind = Suspect
	a.suspects++
	const most = 100
	for i := range rest[:min(len(rest), most)] {
		w := &rest[i]
		if w.kind != aLit {
			if w.word != nil {
				var b strings.Builder
				pieces(&b, w.word.Parts)
				a.tokens(b.String(), s, w.at)
			}
			continue
		}
		if strings.ContainsAny(w.val, " \t\n;|&$`") { // code, should a shell's -c stand before it
			a.codeUnit("sh", w.val, w.at, s, "a possible -c")
		}
		if name := fold(w.val); a.program(name) != nil {
			a.call(rest[i:], s.in())
		} else {
			a.record(Exec{Name: name, Raw: w.val, Via: s.via, Kind: Suspect, Shell: a.u.shell, At: w.at})
		}
	}
	a.suspects--
	a.assigned(s, rest[0].at)
	a.settleDoubt(&rest[0], s)
}

// settleDoubt refuses if a suspect was a shell whose code cannot be told.
func (a *analyser) settleDoubt(w *arg, s scope) {
	if a.trouble && a.suspects == 0 {
		a.trouble = false
		a.cannotTell("R7", w, s, "if a word before it is an option or nothing, a shell runs code that cannot be told", "quote the word, or write it literally")
	}
}

// tokens compares the words of a value.
func (a *analyser) tokens(value string, s scope, at int) {
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n;&|(){}<>`$'\"!=\x00", r) }) {
		a.record(Exec{Name: fold(word), Raw: word, Via: s.via, Kind: Suspect, Shell: a.u.shell, At: at})
	}
}

// assigned compares the words of all values that the text assigns.
func (a *analyser) assigned(s scope, at int) {
	for _, name := range slices.Sorted(maps.Keys(a.vars.m)) {
		v := a.vars.m[name]
		if a.probed[name] {
			continue
		}
		if a.probed == nil {
			a.probed = map[string]bool{}
		}
		a.probed[name] = true
		for _, value := range v.values {
			a.tokens(value, s, at)
		}
	}
}
