package policy

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// expand evaluates one word: brace expansion, then each of its words. Unquoted words that end up empty vanish.
func (a *analyser) expand(w *syntax.Word) []arg {
	if !hasBraces(w) {
		return []arg{a.arg(w, false)}
	}
	if rebuilt(w) {
		return []arg{{kind: aSplit, at: a.offset(w.Pos()), word: w, vals: []string{""}, special: true, vanish: true}}
	}
	split := *w
	split.Parts = append([]syntax.WordPart(nil), w.Parts...)
	if !syntax.SplitBraces(&split) {
		return []arg{a.arg(w, false)}
	}
	if variants(&split, 0) > maxBraces {
		a.issue(Issue{Rule: "R14", At: a.offset(w.Pos()), Message: "a brace expansion makes too many words"})
		return []arg{{kind: aSplit, at: a.offset(w.Pos()), word: w, vals: []string{""}, special: true, vanish: true}}
	}
	if a.u.posix { // one literal word: in front of a command it does not vanish as {,} does in bash
		whole := a.arg(w, false)
		whole.special = true
		return []arg{whole}
	}
	var out []arg
	n := 0
	for x, err := range expand.BracesSeq(nil, &split) {
		a.expanded++
		if n++; err != nil || n > maxBraces || a.expanded > maxExpanded {
			a.issue(Issue{Rule: "R14", At: a.offset(w.Pos()), Message: "a brace expansion makes too many words"})
			return out
		}
		if len(x.Parts) == 0 {
			continue
		}
		v := a.arg(x, true)
		v.word, v.at = w, a.offset(w.Pos())
		if v.kind == aLit && v.vanish {
			continue
		}
		if a.u.shell == "sh" { // dash takes the braces literally: one word here, several there
			v.special = true
		}
		out = append(out, v)
	}
	return out
}

// variants counts the words that a brace expansion makes, without making them: it stops counting beyond maxBraces.
func variants(w *syntax.Word, depth int) int {
	const deepest = 50
	if depth > deepest {
		return maxBraces + 1
	}
	n := 1
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		sum := 0
		if b.Sequence {
			sum = sequence(b)
		}
		for _, e := range b.Elems {
			if b.Sequence || sum > maxBraces {
				break
			}
			sum += variants(e, depth+1)
		}
		if n *= sum; n > maxBraces {
			return maxBraces + 1
		}
	}
	return n
}

// sequence is the length of {from..to}, whatever its step.
func sequence(b *syntax.BraceExp) int {
	if len(b.Elems) < 2 {
		return 1
	}
	from, err1 := strconv.Atoi(b.Elems[0].Lit())
	to, err2 := strconv.Atoi(b.Elems[1].Lit())
	if err1 != nil || err2 != nil {
		return 64 // letters
	}
	if n := max(from, to) - min(from, to); n >= 0 && n <= maxBraces {
		return n + 1
	}
	return maxBraces + 1
}

// rebuilt says whether brace expansion would build an expansion that the tree does not show: {$,}x becomes $x, and $x{a,b}
// becomes $xa $xb.
func rebuilt(w *syntax.Word) bool {
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.IndexByte(unquotedOnly(p.Value), '$') >= 0 || strings.IndexByte(p.Value, '`') >= 0 {
				return true
			}
		case *syntax.ParamExp:
			if p.Short && i+1 < len(w.Parts) {
				if l, ok := w.Parts[i+1].(*syntax.Lit); ok && strings.HasPrefix(l.Value, "{") {
					return true
				}
			}
		}
	}
	return false
}

// formsBraces says whether the word holds a brace expansion, not braces alone.
func formsBraces(w *syntax.Word) bool {
	open, parts := false, false
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		v := unquotedOnly(l.Value)
		open = open || strings.IndexByte(v, '{') >= 0
		parts = parts || open && (strings.IndexByte(v, ',') >= 0 || strings.Contains(v, ".."))
		if parts && strings.IndexByte(v, '}') >= 0 {
			return true
		}
	}
	return false
}

// unquotedOnly drops what a backslash quotes.
func unquotedOnly(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
