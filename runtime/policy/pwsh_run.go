package policy

import (
	"strings"
)

// word reads one word; known says that no part of it depends on the run.
func (r *pwshReader) word(s scope, closing byte) (w arg, known bool) {
	w.at, known = r.offset(r.i), true
	var b strings.Builder
	start := r.i
	for r.more() {
		c := r.src[r.i]
		switch {
		case c == '\'':
			b.WriteString(r.single())
		case c == '"':
			known = r.double(&b, s) && known
		case c == '`':
			if r.i+1 >= len(r.src) {
				r.refuse("a backquote at the end")
				return w, false
			}
			r.escape(&b)
		case c == '$':
			r.variable(s)
			known = false
		case strings.IndexByte(" \t\n;|&(){},><", c) >= 0 || closing != 0 && c == closing:
			if c == '(' && r.i > start {
				r.refuse("a method call")
			}
			w.val = b.String()
			return w, known
		case c == '#' && r.i == start:
			w.val = b.String()
			return w, known
		case (c == '[' || strings.HasPrefix(r.src[r.i:], "::")) && !known:
			r.refuse("an expression with an index or a type")
			return w, false
		case strings.HasPrefix(r.src[r.i:], "\xe2\x80\x98") || strings.HasPrefix(r.src[r.i:], "\xe2\x80\x99") || strings.HasPrefix(r.src[r.i:], "\xe2\x80\x9c") || strings.HasPrefix(r.src[r.i:], "\xe2\x80\x9d"):
			r.refuse("a typographic quote, which PowerShell takes for a plain one,")
			return w, false
		default:
			b.WriteByte(c)
			r.i++
		}
	}
	w.val = b.String()
	return w, known
}

// escape reads a backquote and what follows it.
func (r *pwshReader) escape(b *strings.Builder) {
	if r.src[r.i+1] == 'u' && r.i+2 < len(r.src) && r.src[r.i+2] == '{' {
		r.refuse("a character behind a number")
		return
	}
	// Some letters make control characters, e only in newer versions. No name holds one, so each is read as itself.
	b.WriteByte(r.src[r.i+1])
	r.i += 2
}

func (r *pwshReader) single() string {
	var b strings.Builder
	r.i++
	for {
		end := strings.IndexByte(r.src[r.i:], '\'')
		if end < 0 {
			r.refuse("an open quote")
			return ""
		}
		b.WriteString(r.src[r.i : r.i+end])
		r.i += end + 1
		if r.i >= len(r.src) || r.src[r.i] != '\'' {
			return b.String()
		}
		b.WriteByte('\'')
		r.i++
	}
}

// double reads a string in double quotes; a subexpression in it runs.
func (r *pwshReader) double(b *strings.Builder, s scope) (known bool) {
	known = true
	for r.i++; r.more(); {
		switch c := r.src[r.i]; c {
		case '"':
			r.i++
			if r.i >= len(r.src) || r.src[r.i] != '"' {
				return known
			}
			b.WriteByte('"')
			r.i++
		case '`':
			if r.i+1 >= len(r.src) {
				r.refuse("an open quote")
				return false
			}
			r.escape(b)
		case '$':
			if r.variable(s) {
				known = false
			} else {
				b.WriteByte('$')
			}
		default:
			b.WriteByte(c)
			r.i++
		}
	}
	if !r.failed {
		r.refuse("an open quote")
	}
	return false
}

// variable reads $name, ${name} or $(..), and says whether it was one.
func (r *pwshReader) variable(s scope) bool {
	rest := r.src[r.i:]
	switch {
	case strings.HasPrefix(rest, "$("):
		r.i += 2
		r.statements(s.from(unknownStdin("a subexpression")), ')')
		r.i++
		return true
	case strings.HasPrefix(rest, "${"):
		end := strings.IndexByte(rest, '}')
		if end < 0 || strings.Contains(strings.ToLower(rest[:end]), "function:") || strings.Contains(strings.ToLower(rest[:end]), "alias:") {
			r.refuse("this variable")
			return true
		}
		r.i += end + 1
		return true
	}
	j := 1
	for j < len(rest) && (rest[j] == '_' || rest[j] == ':' || rest[j] == '?' || 'a' <= rest[j] && rest[j] <= 'z' || 'A' <= rest[j] && rest[j] <= 'Z' || '0' <= rest[j] && rest[j] <= '9') {
		j++
	}
	name := strings.ToLower(rest[1:j])
	if strings.HasPrefix(name, "function:") || strings.HasPrefix(name, "alias:") || name == "executioncontext" {
		r.refuse("this variable")
	}
	r.i += j
	return j > 1
}

// run judges a command with its words.
func (r *pwshReader) run(args []arg, s scope) {
	a := r.a
	name := canonical(fold(args[0].val), "pwsh")
	record := func() {
		a.record(Exec{Name: fold(args[0].val), Raw: args[0].val, Args: a.strings(args[1:]), Via: s.via, Kind: s.kind, Shell: "pwsh", At: args[0].at})
	}
	rest := args[1:]
	switch name {
	case "invoke-expression":
		record()
		r.code(operand(rest, "command"), s, "Invoke-Expression")
	case "set-alias", "new-alias", "import-alias":
		record()
		a.rebind(&args[0], s, "an alias gives a name another meaning")
	case "start-process", "invoke-item", "ii":
		record()
		r.program(operand(rest, "filepath"), rest, s)
	case "cmd":
		record()
		r.nestedShell(args, s, "cmd")
	case "powershell", "pwsh":
		record()
		r.powershell(args, s)
	case "foreach-object":
		record()
		if len(rest) > 0 && (rest[0].kind == aLit && !rest[0].dash() || strings.HasPrefix(strings.ToLower(rest[0].val), "-m")) {
			a.issue(Issue{Rule: "R2", Command: args[0].val, Via: s.via, At: rest[0].at, Message: "ForEach-Object with a name calls a method", Suggest: "write { $_.Name }"})
		}
	case "set-item", "si", "new-item", "set-content", "copy-item":
		record()
		for i := range rest {
			if v := strings.ToLower(rest[i].val); strings.HasPrefix(v, "function:") || strings.HasPrefix(v, "alias:") {
				a.rebind(&rest[i], s, "this gives a name another meaning")
			}
		}
	case "set-location", "push-location", "pop-location", "pushd", "popd":
		record()
		a.out.Chdir = true
	case "add-type", "invoke-wmimethod", "invoke-cimmethod":
		record()
		a.issue(Issue{Rule: "R8", Command: args[0].val, Via: s.via, At: args[0].at, Message: args[0].val + " runs code that cannot be seen here"})
	case "invoke-command", "start-job", "start-threadjob", "measure-command", "trace-command", "where-object", "get-childitem", "get-content", "write-output", "get-location", "get-process", "stop-process", "move-item", "remove-item",
		"invoke-webrequest", "invoke-restmethod", "sort-object", "sort", "select-object", "select", "set", "set-variable", "get-history", "history", "type", "time", "find", "more":
		record()
		r.scriptBlocks(name, rest, s)
	default:
		a.start(args[0].val, false, args, s)
	}
}

// scriptBlocks: a block was judged where it stood; one that comes from a variable cannot be.
func (r *pwshReader) scriptBlocks(name string, rest []arg, s scope) {
	switch name {
	case "invoke-command", "start-job", "start-threadjob":
		for i := range rest {
			if w := &rest[i]; w.val != "{" && w.kind != aLit {
				r.a.cannotTell("R8", w, s, "the code for "+name+" is only known at run time", "")
				return
			}
		}
	}
}

// operand is the first word that is no option, or the value of the named option.
func operand(args []arg, option string) *arg {
	for i := 0; i < len(args); i++ {
		v := strings.ToLower(args[i].val)
		if args[i].kind == aLit && strings.HasPrefix(v, "-") && len(v) > 1 {
			if strings.HasPrefix("-"+option, v) {
				continue
			}
			switch v {
			case "-wait", "-nonewwindow", "-passthru", "-loaduserprofile", "-usenewenvironment":
			default:
				i++
			}
			continue
		}
		return &args[i]
	}
	return nil
}

// code analyses literal code text.
func (r *pwshReader) code(w *arg, s scope, via string) {
	switch {
	case w == nil:
		r.a.issue(Issue{Rule: "R9", Command: via, Via: s.via, At: r.offset(r.i), Message: via + " runs what comes from a pipe"})
	case w.kind != aLit:
		r.a.cannotTell("R8", w, s, "the code text for "+via+" is only known at run time", "")
	default:
		r.a.pwshText(w.val, w.at, true, s.wrapped(via))
	}
}

// program is what Start-Process starts.
func (r *pwshReader) program(w *arg, rest []arg, s scope) {
	if w == nil {
		return
	}
	if w.kind != aLit {
		r.a.cannotTell("R4", w, s, "the name of the program is only known at run time", "")
		return
	}
	inner := []arg{*w}
	seen := false
	for i := range rest {
		if &rest[i] == w {
			seen = true
			continue
		}
		if seen && !(rest[i].kind == aLit && strings.HasPrefix(rest[i].val, "-") && len(rest[i].val) > 3) {
			inner = append(inner, splitWords(rest[i])...)
		}
	}
	r.run(inner, s.wrapped("Start-Process"))
}

func splitWords(w arg) []arg {
	if w.kind != aLit {
		return []arg{w}
	}
	var out []arg
	for v := range strings.FieldsSeq(w.val) {
		out = append(out, lit(v, w.at))
	}
	return out
}

// nestedShell is cmd /c from PowerShell.
func (r *pwshReader) nestedShell(args []arg, s scope, dialect string) {
	words := make([]string, len(args))
	for i := range args {
		if args[i].kind != aLit {
			r.a.cannotTell("R8", &args[i], s, "the code text for "+dialect+" is only known at run time", "")
			return
		}
		words[i] = args[i].val
	}
	r.a.nested(s, dialect, strings.Join(words, " "), args[0].at)
}

// powershell is a child PowerShell: literal -Command text is analysed, a file is a script.
func (r *pwshReader) powershell(args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		v := strings.ToLower(strings.TrimPrefix(w.val, "/"))
		v = strings.TrimLeft(v, "-")
		switch {
		case w.kind == aLit && !w.dash() && !strings.HasPrefix(w.val, "/"), w.kind != aLit, v != "" && strings.HasPrefix("command", v), v == "commandwithargs" || v == "cwa":
			from := i
			if v != "" && strings.HasPrefix("command", v) && w.kind == aLit && (w.dash() || strings.HasPrefix(w.val, "/")) {
				from++
			}
			if from < len(args) && args[from].val == "{" {
				return // a block, judged where it stood
			}
			words := make([]string, 0, len(args))
			for k := from; k < len(args); k++ {
				if args[k].kind != aLit || args[k].val == "-" {
					r.a.cannotTell("R8", &args[k], s, "the code text for PowerShell is only known at run time", "")
					return
				}
				words = append(words, args[k].val)
			}
			r.a.pwshText(strings.Join(words, " "), w.at, true, s.wrapped("powershell"))
			return
		case v != "" && strings.HasPrefix("encodedcommand", v), v == "ec", v == "enc":
			r.a.cannotTell("R8", w, s, "encoded code text cannot be read", "send the text itself")
			return
		case v != "" && strings.HasPrefix("file", v):
			return
		case v == "version" || v == "help" || v == "?":
			return
		case strings.HasPrefix("executionpolicy", v) || v == "ep" || strings.HasPrefix("windowstyle", v) || strings.HasPrefix("inputformat", v) || strings.HasPrefix("outputformat", v) || strings.HasPrefix("workingdirectory", v) || v == "wd" || strings.HasPrefix("configurationname", v):
			i++
		case strings.HasPrefix("noprofile", v) || strings.HasPrefix("nologo", v) || strings.HasPrefix("noninteractive", v) || strings.HasPrefix("noexit", v) || v == "sta" || v == "mta" || strings.HasPrefix("login", v):
		default:
			r.a.cannotTell("R7", w, s, w.val+" is no documented option of PowerShell", "")
			return
		}
	}
	r.a.issue(Issue{Rule: "R9", Command: args[0].val, Via: s.via, At: args[0].at, Message: "PowerShell would read commands from an input that cannot be seen here"})
}
