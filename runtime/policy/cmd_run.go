package policy

import (
	"slices"
	"strings"
)

// cmdInternal are the commands that cmd.exe itself provides: their name ends at a character that no blank need follow.
var cmdInternal = set(strings.Fields(`assoc break call cd chdir cls color copy date del dir echo endlocal erase exit for ftype goto if md mkdir mklink move path
	pause popd prompt pushd rd rem ren rename rmdir set setlocal shift start time title type ver verify vol`))

// simple judges one command by its name and opens what it starts.
func (r *cmdReader) simple(s scope) {
	from := r.i
	words := r.words()
	if r.failed || len(words) == 0 {
		if r.i == from {
			r.i++
		}
		return
	}
	name := words[0]
	if name.expnd || r.loop && strings.Contains(name.text, "%") {
		r.a.issue(Issue{Rule: "R4", Command: name.text, Via: s.via, At: name.at, Message: "the name of the command is only known at run time"})
		return
	}
	if cut := strings.IndexAny(name.text, `/.:\+[]`); cut > 0 && cmdInternal[strings.ToLower(name.text[:cut])] {
		rest := name
		rest.text = name.text[cut:]
		name.text = name.text[:cut]
		words = append([]cmdToken{name, rest}, words[1:]...)
	} else if cut := strings.IndexByte(name.text, '/'); cut > 0 && name.bare {
		rest := name
		rest.text = name.text[cut:]
		name.text = name.text[:cut]
		words = append([]cmdToken{name, rest}, words[1:]...)
	}
	r.start(name, words, s)
}

func (r *cmdReader) start(name cmdToken, words []cmdToken, s scope) {
	a := r.a
	args := make([]arg, len(words))
	for i, w := range words {
		args[i] = lit(w.text, w.at)
		if w.expnd {
			args[i] = arg{kind: aOne, at: w.at, val: w.text[:strings.IndexByte(w.text, '%')], free: true}
		}
	}
	folded := fold(strings.TrimRight(name.text, ". "))
	switch folded {
	case "call", "start", "cmd", "forfiles", "runas", "schtasks", "wmic", "conhost", "pcalua", "psexec":
		a.record(Exec{Name: folded, Raw: name.text, Args: a.strings(args[1:]), Via: s.via, Kind: s.kind, Shell: "cmd", At: name.at})
		r.wrapper(folded, words, s)
	case "doskey":
		a.record(Exec{Name: folded, Raw: name.text, Via: s.via, Kind: s.kind, Shell: "cmd", At: name.at})
		if len(words) > 1 {
			a.issue(Issue{Rule: "R12", Command: "doskey", Via: s.via, At: name.at, Message: "doskey gives a name another meaning"})
		}
	case "set", "setx":
		a.record(Exec{Name: folded, Raw: name.text, Via: s.via, Kind: s.kind, Shell: "cmd", At: name.at})
		r.set(words)
	case "cd", "chdir", "pushd", "popd":
		a.out.Chdir = true
		fallthrough
	case "find", "sort", "more", "echo", "type", "date", "time", "rem", "timeout", "exit", "at", "path", "prompt", "help", "title", "copy", "move", "dir", "md", "mkdir", "rd", "rmdir":
		a.record(Exec{Name: folded, Raw: name.text, Args: a.strings(args[1:]), Via: s.via, Kind: s.kind, Shell: "cmd", At: name.at})
	default:
		a.start(strings.TrimRight(name.text, ". "), false, args, s)
	}
}

// set changes a variable of a later line.
func (r *cmdReader) set(words []cmdToken) {
	for _, w := range words[1:] {
		if strings.HasPrefix(w.text, "/") {
			continue
		}
		name, value, _ := strings.Cut(w.text, "=")
		r.a.sets(EnvSet{Name: strings.ToUpper(name), At: w.at})
		if value == "" && len(words) > 2 {
			value = "?"
		}
		r.a.vars.add(name, value+" ")
		return
	}
}

// wrapper opens the programs that start others.
func (r *cmdReader) wrapper(name string, words []cmdToken, s scope) {
	a := r.a
	rest := words[1:]
	s = s.wrapped(name)
	switch name {
	case "call":
		if len(rest) > 0 && !strings.HasPrefix(rest[0].text, ":") {
			if slices.ContainsFunc(rest, func(w cmdToken) bool { return strings.Contains(w.text, "%") }) {
				a.issue(Issue{Rule: "R8", Command: "call", Via: s.via, At: rest[0].at, Message: "call expands its words a second time"})
				return
			}
			r.inner(rest, s)
		}
	case "start", "conhost", "pcalua":
		if len(rest) > 0 && !rest[0].bare && name == "start" {
			rest = rest[1:] // a title
		}
		for len(rest) > 0 && (strings.HasPrefix(rest[0].text, "/") || name == "pcalua" && rest[0].text == "-a") {
			if strings.EqualFold(rest[0].text, "/d") || strings.EqualFold(rest[0].text, "/node") || strings.EqualFold(rest[0].text, "/affinity") {
				rest = rest[min(1, len(rest)):]
			}
			rest = rest[min(1, len(rest)):]
		}
		r.inner(rest, s)
	case "cmd":
		r.nestedCmd(rest, s)
	case "forfiles":
		for i, w := range rest {
			if strings.EqualFold(w.text, "/c") && i+1 < len(rest) {
				a.cmdText(fileTokens(rest[i+1].text), rest[i+1].at, true, s)
			}
		}
	case "runas":
		if len(rest) > 0 {
			a.cmdText(rest[len(rest)-1].text, rest[len(rest)-1].at, true, s)
		}
	case "schtasks":
		for i, w := range rest {
			if strings.EqualFold(w.text, "/tr") && i+1 < len(rest) {
				a.cmdText(rest[i+1].text, rest[i+1].at, true, s)
			}
		}
	case "wmic":
		for i, w := range rest {
			if strings.EqualFold(w.text, "create") && i+1 < len(rest) {
				a.cmdText(rest[i+1].text, rest[i+1].at, true, s)
			}
		}
	case "psexec":
		a.issue(Issue{Rule: "R7", Command: "psexec", Via: s.via, At: words[0].at, Message: "the options of psexec are not known here"})
	}
}

// fileTokens fills in what forfiles does: the name of a file, in quotes.
func fileTokens(s string) string {
	for _, v := range []string{"@file", "@fname", "@path", "@relpath", "@ext", "@isdir", "@fsize", "@fdate", "@ftime", "@FILE", "@PATH"} {
		s = strings.ReplaceAll(s, v, `"f"`)
	}
	return s
}

// inner judges words as a command of their own.
func (r *cmdReader) inner(words []cmdToken, s scope) {
	if len(words) == 0 {
		return
	}
	in := cmdReader{a: r.a, tokens: words, text: r.text, loop: r.loop}
	in.command(s, 1)
}

// nestedCmd is cmd /c: what follows is a line of its own.
func (r *cmdReader) nestedCmd(rest []cmdToken, s scope) {
	for i, w := range rest {
		if len(w.text) < 2 || w.text[0] != '/' {
			continue
		}
		switch w.text[1] {
		case 'c', 'C', 'k', 'K', 'r', 'R':
			line := w.text[2:]
			for _, v := range rest[i+1:] {
				if v.bare {
					line += " " + v.text
				} else {
					line += ` ` + v.text
				}
			}
			r.a.cmdText(strings.TrimSpace(line), w.at, true, s)
			return
		case 'v', 'V':
			r.a.issue(Issue{Rule: "R2", Command: "cmd", Via: s.via, At: w.at, Message: "delayed expansion is not understood in text for cmd"})
			return
		}
	}
	at := 0
	if len(r.tokens) > 0 {
		at = r.tokens[0].at
	}
	r.a.issue(Issue{Rule: "R9", Command: "cmd", Via: s.via, At: at, Message: "cmd would read commands from an input that cannot be seen here"})
}

// ifClause: if [/i] [not] CONDITION COMMAND [else COMMAND].
func (r *cmdReader) ifClause(s scope, depth int) {
	word := func() string {
		t := r.peek()
		if t.op != "" {
			return ""
		}
		return strings.ToLower(t.text)
	}
	for w := word(); w == "/i" || w == "not"; w = word() {
		r.i++
	}
	switch word() {
	case "exist", "defined", "errorlevel", "cmdextversion":
		r.i += 2
	default:
		if r.peek().op == "" {
			r.i++
		}
		switch {
		case r.peek().op == "=":
			for r.peek().op == "=" {
				r.i++
			}
			r.i++
		case slices.Contains([]string{"equ", "neq", "lss", "leq", "gtr", "geq"}, word()):
			r.i += 2
		default:
			// "%x%"=="y" may have been read as one word
			if r.i > 0 && !strings.Contains(r.tokens[r.i-1].text, "==") {
				r.refuse("this condition")
				return
			}
		}
	}
	r.command(s, depth+1)
	if r.peek().op == "" && strings.EqualFold(r.peek().text, "else") {
		r.i++
		r.command(s, depth+1)
	}
}

// forClause: for [/options] %v in (SET) do COMMAND; /f runs a quoted set.
func (r *cmdReader) forClause(s scope, depth int) {
	options := ""
	for r.peek().op == "" && !strings.HasPrefix(r.peek().text, "%") {
		options += " " + strings.ToLower(r.peek().text)
		r.i++
	}
	if r.peek().op != "" {
		r.refuse("this loop")
		return
	}
	r.i++
	if !strings.EqualFold(r.peek().text, "in") {
		r.refuse("this loop")
		return
	}
	r.i++
	if r.peek().op != "(" {
		r.refuse("this loop")
		return
	}
	open := r.peek().at
	for r.peek().op != ")" && r.peek().op != "end" {
		r.i++
	}
	if r.peek().op == "end" || !strings.Contains(options, "/f") {
		if r.peek().op == "end" {
			r.refuse("this loop")
			return
		}
	} else if end := r.peek().at; end > open && end <= len(r.text) && open < len(r.text) {
		inner := strings.TrimSpace(r.text[open+1 : end])
		if len(inner) > 1 && (inner[0] == '\'' || inner[0] == '`') {
			r.a.cmdText(strings.Trim(inner, "'`"), open, true, s.wrapped("for /f"))
		}
	}
	r.i++
	if !strings.EqualFold(r.peek().text, "do") {
		r.refuse("this loop")
		return
	}
	r.i++
	loop := r.loop
	r.loop = true
	r.command(s, depth+1)
	r.loop = loop
}
