package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word that is only known at run time may turn out to be an option, or nothing, and then a program reads its other words
// otherwise. Besides the reading in which it is one operand, two more are tried on each program of the tables: every
// variable unset, and every variable holding what the text assigns to it. They add names to compare, and a refusal only
// where a shell's code cannot be told.

// otherReadings tries them.
func (a *analyser) otherReadings(p *program, args []arg, s scope) {
	if a.suspects > 0 || !unclear(args) {
		return
	}
	const most = 3 // values of a variable that are tried
	s.kind = Suspect
	for pick := -1; pick < min(most, a.mostValues(args)); pick++ {
		words := a.simulate(args, pick)
		a.suspects++
		a.simulated = true
		p.open(a, words, s.in())
		a.simulated = false
		a.suspects--
		a.settleDoubt(&args[0], s)
	}
}

func unclear(args []arg) bool {
	for i := range args {
		if w := &args[i]; w.kind != aLit && w.word != nil && !w.hole {
			return true
		}
	}
	return false
}

func (a *analyser) mostValues(args []arg) int {
	n := 0
	for i := range args {
		if w := &args[i]; w.kind != aLit && w.word != nil {
			for _, name := range wordVariables(w.word) {
				if v := a.vars.m[name]; v != nil {
					n = max(n, len(v.values))
				}
			}
		}
	}
	return n
}

// simulate returns the words with each expansion replaced: by nothing or its default with pick -1, else by that value.
func (a *analyser) simulate(args []arg, pick int) []arg {
	out := make([]arg, 0, len(args))
	for _, w := range args {
		if w.kind == aLit || w.word == nil || w.hole {
			out = append(out, w)
			continue
		}
		f := fields{a: a, pick: pick}
		f.parts(w.word.Parts, false)
		for _, text := range f.end() {
			out = append(out, lit(text, w.at))
		}
	}
	return out
}

// fields splits what expansions yield, as the shell does with blanks.
type fields struct {
	a    *analyser
	pick int
	done []string
	cur  strings.Builder
	open bool // a field has begun, if only with quotes
}

func (f *fields) end() []string {
	if f.open {
		f.done = append(f.done, f.cur.String())
	}
	return f.done
}

func (f *fields) text(s string, quoted bool) {
	if quoted {
		f.cur.WriteString(s)
		f.open = true
		return
	}
	for _, r := range s {
		if r != ' ' && r != '\t' && r != '\n' {
			f.cur.WriteRune(r)
			f.open = true
		} else if f.open {
			f.done = append(f.done, f.cur.String())
			f.cur.Reset()
			f.open = false
		}
	}
}

func (f *fields) parts(parts []syntax.WordPart, quoted bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if v := unescapeBare(p.Value); quoted {
				f.text(unescapeDouble(p.Value), true)
			} else if v != "" {
				f.text(v, true)
			}
		case *syntax.SglQuoted:
			v := p.Value
			if p.Dollar {
				v, _ = decodeDollar(v)
			}
			f.text(v, true)
		case *syntax.DblQuoted:
			f.open = f.open || !onlyMany(p.Parts)
			f.parts(p.Parts, true)
		case *syntax.ParamExp:
			f.param(p, quoted)
		}
	}
}

// onlyMany: "$@" alone is no word at all when there is nothing in it.
func onlyMany(parts []syntax.WordPart) bool {
	if len(parts) != 1 {
		return false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	return ok && many(p)
}

func (f *fields) param(p *syntax.ParamExp, quoted bool) {
	if f.pick >= 0 && p.Param != nil {
		if v := f.a.vars.m[p.Param.Value]; v != nil && len(v.values) > 0 {
			value := strings.ReplaceAll(v.values[f.pick%len(v.values)], "\x00", "")
			if value != "" || !quoted {
				f.text(value, quoted)
			}
			return
		}
	}
	if p.Exp == nil || p.Exp.Word == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		var b strings.Builder
		pieces(&b, p.Exp.Word.Parts)
		f.text(strings.ReplaceAll(b.String(), "\x00", ""), quoted)
	}
}

// bracesAsText: dash has no brace expansion, so under the name of sh the words are also taken as they are written.
func (a *analyser) bracesAsText(words []*syntax.Word, s scope) {
	if a.suspects > 0 {
		return
	}
	args, braces := make([]arg, 0, len(words)), false
	for _, w := range words {
		braces = braces || hasBraces(w)
		if v := a.arg(w, false); v.kind != aLit || !v.vanish {
			args = append(args, v)
		}
	}
	if !braces || len(args) == 0 || args[0].kind != aLit {
		return
	}
	s.kind = Suspect
	a.suspects++
	a.call(args, s)
	a.suspects--
	a.settleDoubt(&args[0], s)
}
