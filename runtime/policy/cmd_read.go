package policy

import (
	"strings"
)

// cmdToken is a word or an operator of a cmd.exe line.
type cmdToken struct {
	op    string // "" for a word: & && | || ( ) > >> < and a line end as &
	text  string // the word, carets and quotes removed
	at    int
	bare  bool // nothing in it was quoted
	expnd bool // holds a %VARIABLE% or a loop variable
	glued bool // no blank stood before it
}

// cmd reads text as cmd.exe does where that is plain, and refuses what it does not know.
func (a *analyser) cmd(text string) {
	u := &unit{src: text, shell: "cmd"}
	a.u = u
	a.mark = a.known()
	a.cmdText(text, 0, false, scope{stdin: topStdin(), top: true})
}

// cmdText analyses one text; fixed offsets belong to code text in another text.
func (a *analyser) cmdText(text string, at int, fixed bool, s scope) {
	if a.tooDeep(s) {
		return
	}
	tokens, issue := cmdTokens(text)
	if issue != nil {
		if fixed {
			issue.At = at
		}
		a.issue(*issue)
		return
	}
	for i := range tokens {
		if fixed {
			tokens[i].at = at
		}
		if name, bad := a.cmdVariable(tokens[i]); bad {
			a.issue(Issue{Rule: "R4", Command: tokens[i].text, Via: s.via, At: tokens[i].at, Message: "the variable " + name + " is set by the text or by env and may hold an operator"})
			return
		}
	}
	r := cmdReader{a: a, tokens: tokens, text: text}
	r.list(s, 0)
	if r.i < len(r.tokens) && !r.failed {
		r.refuse("an unexpected parenthesis")
	}
}

// cmdVariable: a variable is pasted in before the line is read, so a value of the request's own could be anything.
func (a *analyser) cmdVariable(t cmdToken) (string, bool) {
	if !t.expnd {
		return "", false
	}
	for name, v := range a.vars.m {
		for _, value := range v.values {
			if !plainValue(value) && strings.Contains(strings.ToUpper(t.text), "%"+strings.ToUpper(name)) {
				return name, true
			}
		}
	}
	return "", false
}

// cmdLexer splits a line. Substring and replacement expansions and !delayed! ones are refused.
type cmdLexer struct {
	text   string
	i      int
	out    []cmdToken
	word   strings.Builder
	inWord bool
	cur    cmdToken // what is known of the word so far
	glued  bool
	issue  *Issue
}

func cmdTokens(text string) ([]cmdToken, *Issue) {
	l := cmdLexer{text: text, glued: true}
	for l.i = 0; l.i < len(text) && l.issue == nil; l.i++ {
		l.next(text[l.i])
	}
	l.flush()
	return l.out, l.issue
}

func (l *cmdLexer) refuse(message string) {
	l.issue = &Issue{Rule: "R2", At: l.i, Message: message + " is not understood in text for cmd"}
}

func (l *cmdLexer) begin() {
	if !l.inWord {
		l.inWord = true
		l.cur = cmdToken{at: l.i, bare: true, glued: l.glued}
	}
}

func (l *cmdLexer) flush() {
	if l.inWord {
		l.cur.text = l.word.String()
		l.out = append(l.out, l.cur)
		l.word.Reset()
		l.inWord, l.glued = false, true
	}
}

func (l *cmdLexer) operator(op string) {
	l.flush()
	l.out = append(l.out, cmdToken{op: op, at: l.i, glued: l.glued})
	l.glued = true
}

func (l *cmdLexer) next(c byte) {
	switch c {
	case '^':
		if l.i+1 >= len(l.text) || l.text[l.i+1] == '\n' {
			l.refuse("a caret at the end of a line")
			return
		}
		l.begin()
		l.i++
		l.cur.bare = false
		l.word.WriteByte(l.text[l.i])
	case '"':
		l.quote()
	case '%':
		l.begin()
		l.cur.expnd = true
		if bad := oddExpansion(l.text[l.i:]); bad != "" {
			l.refuse(bad)
		}
		l.word.WriteByte(c)
	case '!':
		rest := l.text[l.i+1:]
		if end := strings.IndexByte(rest, '!'); end > 0 && !strings.ContainsAny(rest[:end], " \t\n\"&|") {
			l.refuse("a delayed expansion")
		}
		l.begin()
		l.word.WriteByte(c)
	case ' ', '\t', ',', ';', '=':
		l.flush()
		l.glued = false
		if c == '=' { // == compares in if
			l.out = append(l.out, cmdToken{op: "=", at: l.i})
		}
	case '\n':
		l.operator("&")
	case '(', ')':
		l.operator(string(c))
	case '&', '|', '<', '>':
		l.redirection(c)
	default:
		l.begin()
		l.word.WriteByte(c)
	}
}

func (l *cmdLexer) quote() {
	l.begin()
	l.cur.bare = false
	end := strings.IndexByte(l.text[l.i+1:], '"')
	if end < 0 || strings.IndexByte(l.text[l.i+1:l.i+1+end], '\n') >= 0 {
		l.refuse("an open quote")
		return
	}
	inner := l.text[l.i+1 : l.i+1+end]
	l.cur.expnd = l.cur.expnd || strings.IndexByte(inner, '%') >= 0
	if bad := oddExpansion(inner); bad != "" {
		l.refuse(bad)
	}
	l.word.WriteString(inner)
	l.i += end + 1
}

// redirection reads & && | || < > >> and >&1; a single digit in front belongs to it.
func (l *cmdLexer) redirection(c byte) {
	if (c == '<' || c == '>') && l.inWord && l.cur.bare && l.word.Len() == 1 && strings.Contains("0123456789", l.word.String()) {
		l.word.Reset()
		l.inWord = false
	}
	op := string(c)
	if l.i+1 < len(l.text) && l.text[l.i+1] == c && c != '<' {
		op += op
	}
	l.operator(op)
	l.i += len(op) - 1
	if rest := l.text[l.i+1:]; (c == '>' || c == '<') && len(rest) > 1 && rest[0] == '&' && rest[1] >= '0' && rest[1] <= '9' {
		l.out[len(l.out)-1].op = "dup"
		l.i += 2
	}
}

// oddExpansion finds %X:~0,3% and %X:a=b%, which build text that nobody has seen.
func oddExpansion(s string) string {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			return ""
		}
		s = s[i+1:]
		end := strings.IndexByte(s, '%')
		colon := strings.IndexByte(s, ':')
		if end > 0 && colon > 0 && colon < end && !strings.ContainsAny(s[:colon], " \t\n\"&|\\/") {
			return "an expansion that cuts or replaces"
		}
		if strings.HasPrefix(s, "~") { // %~dp0 of a loop variable or parameter
			return "an expansion of a parameter"
		}
	}
}

// cmdReader walks the tokens.
type cmdReader struct {
	a      *analyser
	tokens []cmdToken
	i      int
	text   string
	failed bool
	loop   bool // a loop variable may be part of a word
}

func (r *cmdReader) refuse(message string) {
	at := len(r.text)
	if r.i < len(r.tokens) {
		at = r.tokens[r.i].at
	}
	r.a.issue(Issue{Rule: "R2", At: at, Message: message + " is not understood in text for cmd", Suggest: "send plain commands joined by & or &&"})
	r.failed = true
}

func (r *cmdReader) peek() *cmdToken {
	if r.i < len(r.tokens) {
		return &r.tokens[r.i]
	}
	return &cmdToken{op: "end"}
}

// list reads commands up to the end or a closing parenthesis.
func (r *cmdReader) list(s scope, depth int) {
	if depth > maxDepth/4 {
		r.a.issue(Issue{Rule: "R14", Message: "the text is nested too deeply"})
		r.failed = true
	}
	piped := false
	for r.i < len(r.tokens) && !r.failed {
		in := s
		if piped {
			in = s.from(pipeStdin())
		}
		piped = false
		switch t := r.peek(); t.op {
		case ")":
			return
		case "&", "&&", "||":
			r.i++
		case "|":
			r.i++
			piped = true
			r.command(s.from(pipeStdin()), depth)
		default:
			r.command(in, depth)
		}
	}
}

// command reads one command with its redirections.
func (r *cmdReader) command(s scope, depth int) {
	r.redirects()
	t := r.peek()
	switch {
	case t.op == "(":
		r.i++
		r.list(s, depth+1)
		if r.peek().op != ")" {
			r.refuse("an open parenthesis")
			return
		}
		r.i++
		r.redirects()
		return
	case t.op == "=":
		r.i++
		r.command(s, depth)
		return
	case t.op != "":
		if t.op == "end" || t.op == ")" || t.op == "&" || t.op == "|" || t.op == "&&" || t.op == "||" {
			return
		}
		r.refuse("this operator")
		return
	}
	at := strings.HasPrefix(t.text, "@") && t.bare
	if at {
		t.text = strings.TrimLeft(t.text, "@")
		if t.text == "" {
			r.i++
			r.command(s, depth)
			return
		}
	}
	if t.bare {
		switch word := strings.ToLower(t.text); {
		case word == "if":
			r.i++
			r.ifClause(s, depth)
			return
		case word == "for":
			r.i++
			r.forClause(s, depth)
			return
		case word == "else":
			r.i++
			r.command(s, depth)
			return
		case strings.HasPrefix(word, ":"):
			for r.peek().op != "end" && r.peek().op != "&" {
				r.i++
			}
			return
		}
	}
	r.simple(s)
}

// redirects reads > file and < file wherever they stand.
func (r *cmdReader) redirects() {
	for {
		t := r.peek()
		switch t.op {
		case "dup":
			r.i++
		case ">", ">>", "<":
			r.i++
			f := r.peek()
			if f.op != "" {
				r.refuse("a redirection without a file")
				return
			}
			if t.op != "<" {
				r.a.out.Writes = append(r.a.out.Writes, Write{Path: f.text, Known: !f.expnd, At: f.at, Op: t.op})
			}
			r.i++
		default:
			return
		}
	}
}

// words reads the rest of a simple command.
func (r *cmdReader) words() []cmdToken {
	var words []cmdToken
	for {
		r.redirects()
		t := r.peek()
		switch {
		case r.failed, t.op == "end", t.op == "&", t.op == "&&", t.op == "|", t.op == "||", t.op == ")":
			return words
		case t.op == "=" || t.op == "(":
			r.i++
		default:
			words = append(words, *t)
			r.i++
		}
	}
}
