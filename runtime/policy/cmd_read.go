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
	fd    bool // an operator with a descriptor in front
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

// cmdTokens splits a line. Substring and replacement expansions and !delayed! ones are refused.
func cmdTokens(text string) ([]cmdToken, *Issue) {
	refuse := func(at int, message string) ([]cmdToken, *Issue) {
		return nil, &Issue{Rule: "R2", At: at, Message: message}
	}
	var out []cmdToken
	var word strings.Builder
	start, inWord, quoted, expanded, glued := 0, false, false, false, true
	begin := func(i int) {
		if !inWord {
			inWord, start, quoted, expanded = true, i, false, false
		}
	}
	flush := func() {
		if inWord {
			out = append(out, cmdToken{text: word.String(), at: start, bare: !quoted, expnd: expanded, glued: glued})
			word.Reset()
			inWord, glued = false, true
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '^':
			if i+1 >= len(text) || text[i+1] == '\n' {
				return refuse(i, "a caret at the end of a line joins it to the next")
			}
			begin(i)
			i++
			quoted = true
			word.WriteByte(text[i])
		case '"':
			begin(i)
			quoted = true
			end := strings.IndexByte(text[i+1:], '"')
			if end < 0 || strings.IndexByte(text[i+1:i+1+end], '\n') >= 0 {
				return refuse(i, "a quote is not closed")
			}
			inner := text[i+1 : i+1+end]
			expanded = expanded || strings.IndexByte(inner, '%') >= 0
			if bad := oddExpansion(inner); bad != "" {
				return refuse(i, bad)
			}
			word.WriteString(inner)
			i += end + 1
		case '%':
			begin(i)
			expanded = true
			if bad := oddExpansion(text[i:]); bad != "" {
				return refuse(i, bad)
			}
			word.WriteByte(c)
		case '!':
			if end := strings.IndexByte(text[i+1:], '!'); end > 0 && !strings.ContainsAny(text[i+1:i+1+end], " \t\n\"&|") {
				return refuse(i, "a delayed expansion")
			}
			begin(i)
			word.WriteByte(c)
		case ' ', '\t', ',', ';', '=':
			flush()
			glued = false
			if c == '=' { // == compares in if
				out = append(out, cmdToken{op: "=", at: i})
			}
		case '\n', '(', ')':
			flush()
			op := string(c)
			if c == '\n' {
				op = "&"
			}
			out = append(out, cmdToken{op: op, at: i, glued: glued})
			glued = true
		case '&', '|', '<', '>':
			fd := c != '&' && c != '|' && inWord && word.Len() == 1 && !quoted && strings.Contains("0123456789", word.String())
			if fd {
				word.Reset()
				inWord = false
			}
			flush()
			n := 1
			if i+1 < len(text) && text[i+1] == c && c != '<' {
				n = 2
			}
			out = append(out, cmdToken{op: text[i : i+n], at: i, fd: fd})
			i += n - 1
			if (c == '>' || c == '<') && i+2 < len(text) && text[i+1] == '&' && text[i+2] >= '0' && text[i+2] <= '9' {
				out[len(out)-1].op = "dup"
				i += 2
			}
			glued = true
		default:
			begin(i)
			word.WriteByte(c)
		}
	}
	flush()
	return out, nil
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
