package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// argKind says what a word of the text becomes.
type argKind uint8

const (
	aLit   argKind = iota // exactly one word, known
	aOne                  // exactly one word that is only known at run time
	aSplit                // nothing, one word or many
	aTail                 // words that a wrapper adds at the end: any number, any content
)

// arg is a word of a command after quote removal.
type arg struct {
	kind argKind
	val  string   // aLit: the word; else what is known of its beginning
	vals []string // every possible value, if all are literals of the text; else the possible ends after what is unknown
	at   int
	word *syntax.Word // nil for words that a wrapper made

	all     bool // vals are whole values, not ends
	vanish  bool // aSplit: may be nothing at all
	free    bool // what is unknown comes from variables that nobody sets, or is one of the counted substitutions: one operand
	dirOK   bool // what is unknown may be a directory: it can neither split nor vanish
	hole    bool // holds a wrapper's placeholder
	special bool // unquoted glob, tilde or brace: no plain literal
	proc    bool // a process substitution: a stream
}

func lit(s string, at int) arg { return arg{val: s, at: at} }

// known says whether the word is exactly s.
func (w *arg) is(s string) bool { return w.kind == aLit && w.val == s }

// dash says whether the word is, or may be, an option.
func (w *arg) dash() bool { return strings.HasPrefix(w.val, "-") }

// builder puts an arg together from the parts of a word.
type builder struct {
	a       *analyser
	out     arg
	ends    []string // possible values since the last unknown part
	unknown bool
	empty   bool // so far the word may be nothing
	free    bool
	dirOK   bool
	split   bool
	braced  bool // the word held a brace expansion
}

// arg evaluates one word without braces.
func (a *analyser) arg(w *syntax.Word, braced bool) arg {
	if len(w.Parts) == 1 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && (!strings.ContainsAny(l.Value, "\\*?[~$") || l.Value == "[") {
			return arg{val: l.Value, at: a.offset(l.ValuePos), word: w, vanish: l.Value == ""}
		}
		if q, ok := w.Parts[0].(*syntax.SglQuoted); ok && !q.Dollar {
			return arg{val: q.Value, at: a.offset(q.Left), word: w}
		}
	}
	b := builder{a: a, ends: []string{""}, empty: true, free: true, dirOK: true, braced: braced}
	b.out.at, b.out.word = a.offset(w.Pos()), w
	for i, p := range w.Parts {
		b.part(p, i == 0)
	}
	return b.finish()
}

func (b *builder) finish() arg {
	o := &b.out
	o.free, o.dirOK, o.vals = b.free, b.dirOK, b.ends
	switch {
	case !b.unknown && len(b.ends) == 1 && !b.split:
		o.kind, o.val, o.vals = aLit, b.ends[0], nil
		o.vanish = b.empty
	case b.split:
		o.kind, o.all = aSplit, !b.unknown
		o.vanish = b.empty
	default:
		o.kind, o.all = aOne, !b.unknown
	}
	if o.all {
		o.val = commonPrefix(b.ends)
	}
	return *o
}

func commonPrefix(list []string) string {
	p := list[0]
	for _, s := range list[1:] {
		for !strings.HasPrefix(s, p) {
			p = p[:len(p)-1]
		}
	}
	return p
}

func (b *builder) lit(s string) {
	if !b.unknown && len(b.ends) == 1 {
		b.out.val += s
	}
	for i := range b.ends {
		b.ends[i] += s
	}
	if s != "" {
		b.empty = false
	}
}

// maybe appends one of several values.
func (b *builder) maybe(values []string) {
	const most = 64
	if len(b.ends)*len(values) > most {
		b.unclear(false)
		return
	}
	ends := make([]string, 0, len(b.ends)*len(values))
	for _, e := range b.ends {
		for _, v := range values {
			ends = append(ends, e+v)
		}
	}
	b.ends = ends
}

// unclear appends something that is only known at run time.
func (b *builder) unclear(dir bool) {
	if len(b.ends) > 1 && !b.unknown {
		b.out.val = commonPrefix(b.ends)
	}
	b.unknown, b.ends = true, []string{""}
	b.dirOK = b.dirOK && dir
}

func (b *builder) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.bare(p.Value, first)
	case *syntax.SglQuoted:
		b.empty = false
		if !p.Dollar {
			b.lit(p.Value)
		} else if s, ok := decodeDollar(p.Value); ok {
			b.lit(s)
		} else {
			b.unclear(false)
			b.free = false
		}
	case *syntax.DblQuoted:
		b.empty = false
		if p.Dollar { // translated by the locale
			b.unclear(false)
			b.free = false
			return
		}
		for _, q := range p.Parts {
			b.quoted(q)
		}
	case *syntax.ParamExp:
		b.param(p)
	case *syntax.CmdSubst:
		b.split = true
		b.unclear(false)
		b.free = b.free && counted(p)
	case *syntax.ArithmExp:
		b.unclear(false)
		b.empty = false
		if b.a.vars.ifs() {
			b.split = true
		}
	case *syntax.ProcSubst:
		b.out.proc = true
		b.unclear(false)
		b.empty, b.free = false, false
	default: // extended globs
		b.split, b.out.special = true, true
		b.unclear(false)
		b.free = false
	}
}

// bare reads unquoted literal text: backslashes quote, globs and a leading tilde are expanded.
func (b *builder) bare(s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		end := strings.IndexByte(s, '/')
		b.out.special = true
		b.out.val = s
		if end < 0 {
			b.unclear(false)
			b.empty = false
			return
		}
		b.out.val = s[:end]
		b.unclear(true)
		b.empty = false
		s = s[end:]
	}
	if !strings.ContainsAny(s, "\\*?[") {
		b.lit(s)
		return
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				out.WriteByte(s[i])
			}
			b.empty = b.empty && (i >= len(s) || s[i] == '\n')
		case '*', '?', '[':
			b.lit(out.String())
			out.Reset()
			b.split, b.out.special, b.empty = true, true, false
			b.unclear(false)
			b.free = false
		default:
			out.WriteByte(c)
		}
	}
	b.lit(out.String())
}

// quoted reads a part of a double-quoted string.
func (b *builder) quoted(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.lit(unescapeDouble(p.Value))
	case *syntax.ParamExp:
		if many(p) {
			b.split = true
			b.unclear(false)
			b.free = false
			return
		}
		if values, ok := b.a.vars.constants(p); ok && !b.braced {
			b.maybe(append([]string{""}, values...))
			b.free = false
			return
		}
		b.unclear(true)
		b.free = b.free && b.a.vars.free(p)
	case *syntax.CmdSubst:
		b.unclear(true)
		b.free = b.free && counted(p)
	default:
		b.unclear(true)
	}
}

// param reads an unquoted expansion.
func (b *builder) param(p *syntax.ParamExp) {
	vars := b.a.vars
	if values, ok := vars.constants(p); ok && !b.braced && !vars.ifs() {
		b.split = true // it may be empty, and then it is no word
		b.maybe(append([]string{""}, values...))
		b.free = false
		return
	}
	free := vars.free(p) && !vars.ifs() && !b.braced
	if numeric(p) && !vars.ifs() {
		b.unclear(false)
		b.empty = false
		return
	}
	b.split = true
	b.unclear(free)
	b.free = b.free && free
}

// numeric expansions are one word of digits: $? $# $$ $! and ${#x}.
func numeric(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Excl || p.Exp != nil || p.Repl != nil || p.Slice != nil {
		return false
	}
	if p.Length {
		return true
	}
	switch p.Param.Value {
	case "?", "#", "$":
		return p.Index == nil
	}
	return false
}

// many says whether a quoted expansion may be several words, or none.
func many(p *syntax.ParamExp) bool {
	if p.Length {
		return false
	}
	if p.Param != nil && p.Param.Value == "@" || p.Names != 0 || p.Excl {
		return true
	}
	if w, ok := p.Index.(*syntax.Word); ok && w.Lit() == "@" {
		return true
	}
	return p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word.Lit() == "a" // ${x@a}
}

// counted substitutions stand for exactly one operand: $(pwd) $(nproc) $(id -u).
func counted(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) > 0 || c.Stmts[0].Negated || c.Stmts[0].Background {
		return false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return false
	}
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		words[i] = w.Lit()
	}
	switch strings.Join(words, " ") {
	case "pwd", "nproc", "id -u":
		return true
	}
	return false
}

// unescapeDouble removes what a backslash quotes inside double quotes.
func unescapeDouble(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// decodeDollar decodes $'..'. Escapes that shells decode in different ways are refused.
func decodeDollar(s string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		if j := strings.IndexByte(`abefnrtv\'"?E`, s[i]); j >= 0 {
			out.WriteByte("\a\b\x1b\f\n\r\t\v\\'\"?\x1b"[j])
			continue
		}
		digits, radix := "", 16
		switch {
		case s[i] == 'x':
			digits = span(s[i+1:], 2, "0123456789abcdefABCDEF")
			i += len(digits)
		case s[i] == 'u' || s[i] == 'U':
			digits = span(s[i+1:], map[byte]int{'u': 4, 'U': 8}[s[i]], "0123456789abcdefABCDEF")
			i += len(digits)
		case s[i] >= '0' && s[i] <= '7':
			digits, radix = span(s[i:], 3, "01234567"), 8
			i += len(digits) - 1
		}
		v := 0
		for _, d := range []byte(digits) {
			v = v*radix + hexValue(d)
		}
		if digits == "" || v == 0 || v > 0x7f {
			return "", false
		}
		out.WriteByte(byte(v))
	}
	return out.String(), true
}

func span(s string, most int, set string) string {
	n := 0
	for n < len(s) && n < most && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return s[:n]
}

func hexValue(c byte) int {
	switch {
	case c >= 'a':
		return int(c-'a') + 10
	case c >= 'A':
		return int(c-'A') + 10
	}
	return int(c - '0')
}
