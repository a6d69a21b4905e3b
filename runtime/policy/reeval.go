package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reeval gathers what R13 needs: bash evaluates the values of variables again in arithmetic, in subscripts and where a
// builtin takes a variable's name, so no value of such a text may hold an expansion.
type reeval struct {
	where   int  // offset of the first place that evaluates again, -1 for none
	bait    int  // offset of the first value that holds an expansion or an open bracket, -1 for none
	bracket int  // offset of the first value with brackets around an expansion, -1 for none
	dollar  bool // some value holds a dollar
	end     bool // some value, or what stands before an expansion in it, ends as an expansion begins: $ < >
	head    int  // offset of the first value that begins, or goes on after an expansion, with ( or {, -1 for none
	reads   bool // data of the text can come back into a variable: read, mapfile, x=$(..)
}

// evals notes a place where bash evaluates a value again.
func (a *analyser) evals(at int) {
	if a.where < 0 {
		a.where = max(at, 0)
	}
}

func baited(s string) bool {
	return strings.Contains(s, "$(") || strings.Contains(s, "${") || strings.IndexByte(s, '`') >= 0 ||
		strings.Contains(s, "<(") || strings.Contains(s, ">(") // a value taken for an array may hold a process substitution
}

// value notes a literal value, with a NUL for each expansion in it.
func (a *analyser) value(s string, at int) {
	if a.bait >= 0 || !strings.ContainsAny(s, "[$`(<>{") {
		return
	}
	if baited(s) || openBracket(s) {
		a.bait = max(at, 0) // a value of env stands nowhere in the text
		return
	}
	a.dollar = a.dollar || strings.IndexByte(s, '$') >= 0
	for piece := range strings.SplitSeq(s, "\x00") {
		a.end = a.end || piece != "" && strings.IndexByte("$<>", piece[len(piece)-1]) >= 0
		if a.head < 0 && piece != "" && (piece[0] == '(' || piece[0] == '{') {
			a.head = max(at, 0)
		}
	}
	if a.bracket < 0 && strings.IndexByte(s, 0) >= 0 && strings.IndexByte(s, '[') >= 0 {
		a.bracket = max(at, 0)
	}
}

func openBracket(s string) bool {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth = max(0, depth-1)
		}
	}
	return depth > 0
}

// nameArg judges a word in a place where a builtin takes a variable's name: bash evaluates its subscript.
func (a *analyser) nameArg(w arg, whole bool) {
	name := w.val
	if whole && w.kind == aLit {
		if identifier(name) {
			return
		}
		if i := strings.IndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") && strings.Trim(name[i+1:len(name)-1], "0123456789@*") == "" {
			return
		}
	}
	a.evals(w.at)
	a.literalValue(&w)
}

// finishReeval refuses the text if a place and a bait meet.
func (a *analyser) finishReeval() {
	if a.where < 0 {
		return
	}
	at := a.bait
	if at < 0 && a.bracket >= 0 && a.dollar {
		at = a.bracket
	}
	if at < 0 && a.end {
		at = a.head // two values side by side make an expansion that neither holds
	}
	if at < 0 && a.reads && a.anyBait() {
		at = a.where
	}
	if at >= 0 {
		a.issue(Issue{Rule: "R13", At: at, Message: "bash evaluates values a second time in this text, and one of them holds an expansion or an open bracket"})
	}
}

// anyBait looks for an expansion in any quoted text: with read or x=$(..) it may become a value.
func (a *analyser) anyBait() bool {
	found := false
	for _, u := range a.units {
		for _, f := range u.files {
			syntax.Walk(f, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.SglQuoted:
					found = found || baited(n.Value)
				case *syntax.Lit:
					found = found || baited(unescapeBare(n.Value)) || baited(n.Value)
				}
				return !found
			})
		}
	}
	return found
}
