package policy

import (
	"strings"
)

// pwshReader reads PowerShell where it is plain: pipelines of commands with words, quotes and blocks. Types, method calls,
// assignments and statements with keywords are refused.
type pwshReader struct {
	a      *analyser
	src    string
	i      int
	at     int // offset of src in the request's text
	fixed  bool
	failed bool
	depth  int
}

// pwsh reads the request's text as PowerShell.
func (a *analyser) pwsh(text string) {
	a.u = &unit{src: text, shell: "pwsh"}
	a.mark = a.known()
	a.pwshText(text, 0, false, scope{stdin: topStdin(), top: true})
}

func (a *analyser) pwshText(text string, at int, fixed bool, s scope) {
	if a.tooDeep(s) {
		return
	}
	r := pwshReader{a: a, src: text, at: at, fixed: fixed, depth: s.depth}
	r.statements(s, 0)
}

// nested analyses code text for cmd or PowerShell that stands in another shell's text. text begins with the program.
func (a *analyser) nested(s scope, dialect, text string, at int) {
	outer := a.u
	a.u = &unit{src: text, shell: dialect, origin: at, fixed: true, via: s.via}
	if outer != nil {
		a.u.level = outer.level + 1
	}
	if dialect == "cmd" {
		a.cmdText(text, at, true, s.in())
	} else {
		a.pwshText(text, at, true, s.in())
	}
	a.u = outer
}

func (r *pwshReader) offset(i int) int {
	if r.fixed {
		return r.at
	}
	return r.at + i
}

func (r *pwshReader) refuse(what string) {
	if !r.failed {
		r.a.issue(Issue{Rule: "R2", At: r.offset(r.i), Message: what + " is not understood in text for PowerShell", Suggest: "send plain commands with quoted arguments"})
	}
	r.failed = true
}

func (r *pwshReader) more() bool { return r.i < len(r.src) && !r.failed }

// blanks skips white space, line continuations and comments; newlines only if asked to.
func (r *pwshReader) blanks(lines bool) {
	for r.i < len(r.src) {
		switch c := r.src[r.i]; {
		case c == ' ' || c == '\t', c == '\n' && lines:
			r.i++
		case c == '`' && r.i+1 < len(r.src) && r.src[r.i+1] == '\n':
			r.i += 2
		case strings.HasPrefix(r.src[r.i:], "<#"):
			end := strings.Index(r.src[r.i:], "#>")
			if end < 0 {
				r.refuse("an open comment")
				return
			}
			r.i += end + 2
		case c == '#':
			end := strings.IndexByte(r.src[r.i:], '\n')
			if end < 0 {
				end = len(r.src) - r.i
			}
			r.i += end
		default:
			return
		}
	}
}

// statements reads up to the end or a closing character, which is left.
func (r *pwshReader) statements(s scope, closing byte) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth/4 {
		r.a.issue(Issue{Rule: "R14", At: r.offset(r.i), Message: "the text is nested too deeply"})
		r.failed = true
	}
	piped := false
	for r.more() {
		r.blanks(true)
		if r.i >= len(r.src) {
			break
		}
		c := r.src[r.i]
		switch {
		case closing != 0 && c == closing:
			return
		case c == ';':
			r.i++
			piped = false
		case c == '|' || strings.HasPrefix(r.src[r.i:], "&&"):
			piped = c == '|' && !strings.HasPrefix(r.src[r.i:], "||")
			r.i++
			if r.i < len(r.src) && r.src[r.i] == c {
				r.i++
			}
		default:
			in := s
			if piped {
				in = s.from(pipeStdin())
			}
			r.command(in, closing, piped)
			piped = false
		}
	}
	if closing != 0 && !r.failed {
		r.refuse("an open bracket")
	}
}

// pwshKeywords begin statements that are not understood here.
var pwshKeywords = set(strings.Fields("if else elseif for foreach while do until switch function filter workflow class enum try catch finally trap data param begin process end dynamicparam throw return using configuration exit break continue in hidden static parallel sequence inlinescript"))

// command reads one command of a pipeline.
func (r *pwshReader) command(s scope, closing byte, piped bool) {
	start := r.i
	c := r.src[r.i]
	call := false
	if c == '&' || c == '.' && r.i+1 < len(r.src) && strings.IndexByte(" \t'\"$(", r.src[r.i+1]) >= 0 {
		call = true
		r.i++
		r.blanks(false)
		if r.i >= len(r.src) {
			return
		}
		c = r.src[r.i]
	}
	switch {
	case call && c == '{', c == '(' && !call:
		r.i++
		r.statements(s.from(unknownStdin("a block")), map[byte]byte{'{': '}', '(': ')'}[c])
		r.i++
		if r.more() && !r.atEnd(closing) && (r.src[r.i] == '.' || r.src[r.i] == '[') {
			r.refuse("a method call")
			return
		}
		r.arguments(s, closing)
		return
	case call && c != '\'' && c != '"' && !bareStart(c):
		r.a.issue(Issue{Rule: "R4", Via: s.via, At: r.offset(start), Message: "the name of the command is only known at run time"})
		r.failed = true
		return
	case !call && (c == '$' || c == '\'' || c == '"' || c >= '0' && c <= '9' || c == '-' || c == '!' || c == ','):
		r.expression(s, closing)
		return
	case !call && (c == '[' || c == '@' || c == '{' || c == ')' || c == '}' || c == ']'):
		r.refuse("a .NET expression")
		return
	}
	name, known := r.word(s, closing)
	if r.failed {
		return
	}
	if !known || name.val == "" {
		r.a.issue(Issue{Rule: "R4", Via: s.via, At: r.offset(start), Message: "the name of the command is only known at run time"})
		r.failed = true
		return
	}
	if !call && pwshKeywords[strings.ToLower(name.val)] && !(piped && strings.EqualFold(name.val, "foreach")) {
		r.i = start
		r.refuse("the statement " + strings.ToLower(name.val))
		return
	}
	args := append([]arg{name}, r.arguments(s, closing)...)
	if !r.failed {
		r.run(args, s)
	}
}

func bareStart(c byte) bool {
	return c == '_' || c == '/' || c == '\\' || c == '~' || c == '.' || c == '%' || c == '?' || c == '`' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

func (r *pwshReader) atEnd(closing byte) bool {
	if r.i >= len(r.src) {
		return true
	}
	c := r.src[r.i]
	return c == ';' || c == '|' || c == '\n' || closing != 0 && c == closing || strings.HasPrefix(r.src[r.i:], "&&") || c == '&'
}

// arguments reads the words, blocks and redirections of a command.
func (r *pwshReader) arguments(s scope, closing byte) []arg {
	var args []arg
	for r.more() {
		r.blanks(false)
		if r.atEnd(closing) {
			if r.i < len(r.src) && r.src[r.i] == '&' && !strings.HasPrefix(r.src[r.i:], "&&") {
				r.i++ // a background job
			}
			return args
		}
		at := r.offset(r.i)
		switch c := r.src[r.i]; {
		case c == '{':
			r.i++
			r.statements(s.from(unknownStdin("a block")), '}')
			r.i++
			args = append(args, arg{kind: aOne, val: "{", at: at})
		case c == '(' || strings.HasPrefix(r.src[r.i:], "@("):
			if c == '@' {
				r.i++
			}
			r.i++
			r.statements(s.from(unknownStdin("an expression")), ')')
			r.i++
			if r.more() && (r.src[r.i] == '.' || r.src[r.i] == '[') {
				r.refuse("a method call")
			}
			args = append(args, arg{kind: aSplit, at: at})
		case c == '@' || c == '[' || c == ')' || c == '}' || c == ']':
			r.refuse("this expression")
		case c == ',':
			r.i++
		case c == '>' || c == '<' || (c >= '1' && c <= '6' || c == '*') && r.i+1 < len(r.src) && r.src[r.i+1] == '>':
			r.redirect(s, closing)
		case strings.HasPrefix(r.src[r.i:], "--%"):
			r.refuse("--%")
		default:
			w, known := r.word(s, closing)
			if !known {
				w.kind = aOne
			}
			args = append(args, w)
		}
	}
	return args
}

func (r *pwshReader) redirect(s scope, closing byte) {
	if r.src[r.i] == '<' {
		r.refuse("<")
		return
	}
	for r.i < len(r.src) && strings.IndexByte("123456*>", r.src[r.i]) >= 0 {
		r.i++
	}
	if strings.HasPrefix(r.src[r.i:], "&1") || strings.HasPrefix(r.src[r.i:], "&2") {
		r.i += 2
		return
	}
	r.blanks(false)
	if r.i >= len(r.src) {
		return
	}
	if strings.HasPrefix(r.src[r.i:], "$null") {
		r.i += len("$null")
		return
	}
	w, known := r.word(s, closing)
	r.a.out.Writes = append(r.a.out.Writes, Write{Path: w.val, Known: known, At: w.at, Op: ">"})
}

// expression reads a value: variables, properties, literals and comparison operators. What it would call is refused.
func (r *pwshReader) expression(s scope, closing byte) {
	for r.more() && !r.atEnd(closing) {
		switch c := r.src[r.i]; {
		case c == ' ' || c == '\t':
			r.i++
		case c == '(':
			if r.i > 0 && r.src[r.i-1] != ' ' && r.src[r.i-1] != '(' && r.src[r.i-1] != '!' && r.src[r.i-1] != ',' {
				r.refuse("a method call")
				return
			}
			r.i++
			r.statements(s, ')')
			r.i++
		case c == '[' || c == '@' || c == '{' || c == ':' && strings.HasPrefix(r.src[r.i:], "::"):
			r.refuse("a .NET expression")
			return
		case c == '=' && !strings.HasPrefix(r.src[r.i:], "=="), c == '+' && strings.HasPrefix(r.src[r.i:], "+="):
			r.refuse("an assignment")
			return
		case c == '\'' || c == '"' || c == '$' || bareStart(c) && c != '.':
			r.word(s, closing)
		case c == '>':
			r.redirect(s, closing)
		default:
			r.i++
		}
	}
}
