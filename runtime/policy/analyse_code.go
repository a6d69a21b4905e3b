package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// codeText renders a word as the code text it will be. A variable that nobody sets, or whose every value is plain, stands
// there as itself: the second reading then refuses it where it could be more than an argument.
func (a *analyser) codeText(w *syntax.Word, heredoc bool) (string, bool) {
	if w == nil {
		return "", true
	}
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			switch {
			case heredoc:
				b.WriteString(unescapeHeredoc(p.Value))
			case strings.ContainsAny(unquotedOnly(p.Value), "*?[{"):
				// A pattern may become other words, and they would be code.
				return "", false
			default:
				b.WriteString(unescapeBare(p.Value))
			}
		case *syntax.SglQuoted:
			v := p.Value
			if p.Dollar {
				s, ok := decodeDollar(v)
				if !ok {
					return "", false
				}
				v = s
			}
			b.WriteString(v)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, q := range p.Parts {
				switch q := q.(type) {
				case *syntax.Lit:
					b.WriteString(unescapeDouble(q.Value))
				default:
					if !a.codeParam(&b, q) {
						return "", false
					}
				}
			}
		default:
			if !a.codeParam(&b, p) {
				return "", false
			}
		}
	}
	return b.String(), true
}

func unescapeHeredoc(s string) string {
	return strings.ReplaceAll(unescapeDouble(strings.ReplaceAll(s, `\"`, "\\\x00")), "\\\x00", `\"`)
}

// codeParam writes an expansion into code text.
func (a *analyser) codeParam(b *strings.Builder, p syntax.WordPart) bool {
	x, ok := p.(*syntax.ParamExp)
	if !ok {
		if c, ok := p.(*syntax.CmdSubst); ok && counted(c) {
			b.WriteString("/")
			return true
		}
		if _, ok := p.(*syntax.ArithmExp); ok {
			b.WriteString("0")
			return true
		}
		return false
	}
	if numeric(x) {
		b.WriteString("0")
		return true
	}
	if !a.plainOrFree(x) {
		return false
	}
	b.WriteString("${" + x.Param.Value + "}")
	return true
}

// plainOrFree says whether a variable's value can only be plain text of the request, or is not the request's at all.
func (a *analyser) plainOrFree(p *syntax.ParamExp) bool {
	if _, ok := a.vars.constants(p); ok {
		return !a.vars.ifs()
	}
	return a.vars.free(p) && !a.vars.ifs()
}

// codeOf returns the code text that words joined by blanks make.
func (a *analyser) codeOf(args []arg) (string, bool) {
	parts := make([]string, 0, len(args))
	for i := range args {
		w := &args[i]
		switch {
		case w.hole || w.kind == aTail || w.proc:
			return "", false
		case w.kind == aLit && !w.special:
			parts = append(parts, w.val)
		case w.word == nil:
			return "", false
		default:
			s, ok := a.codeText(w.word, false)
			if !ok {
				return "", false
			}
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " "), true
}

// runCode analyses words as the code text of a shell, or refuses what is not literal.
func (a *analyser) runCode(dialect string, args []arg, s scope, via string) {
	if len(args) == 0 {
		return
	}
	src, ok := a.codeOf(args)
	if len(args) == 1 && args[0].kind == aSplit {
		ok = false // it may be nothing, and then the next word is the code
	}
	if !ok {
		if args[0].kind == aSplit || len(args) > 1 || a.suspects > 0 {
			a.assigned(s, args[0].at)
		}
		suggest := ""
		if args[0].hole {
			suggest = `pass the placeholder as an argument, as in sh -c '.. "$1"' _ {}`
		}
		a.cannotTell("R8", &args[0], s, "the code text for "+via+" is only known at run time", suggest)
		return
	}
	a.codeUnit(dialect, src, args[0].at, s, via)
}

// codeUnit analyses code text that was found at an offset.
func (a *analyser) codeUnit(dialect, src string, at int, s scope, via string) {
	if strings.TrimSpace(src) == "" {
		return
	}
	text, issue := normalise(src)
	if issue != nil {
		issue.At, issue.Via = at, via
		a.issue(*issue)
		return
	}
	if strings.Contains(src, "\r") {
		text = src
	}
	s = s.wrapped(via)
	u := &unit{src: text, shell: dialect, origin: at, fixed: true, via: s.via, nested: true}
	if a.u != nil {
		u.level = a.u.level + 1
	}
	if !a.parse(u) {
		return
	}
	a.run(u, s)
}
