package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// find runs what follows -exec and its like, up to ; or +.
func (a *analyser) find(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit {
			a.mayHide(args, i, s, "-exec", "-ok")
			a.mayBecome(w, s, "-exec", "-execdir", "-ok", "-okdir")
			continue
		}
		switch w.val {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && !args[end].is(";") && !(args[end].is("+") && args[end-1].is("{}")) {
				if args[end].kind == aSplit && !args[end].free && end > i+1 {
					a.assigned(s, args[end].at)
				}
				end++
			}
			inner := slices.Clone(args[i+1 : end])
			punch(inner, "{}")
			a.call(inner, s.from(&stdin{kind: stdinEmpty}).wrapped("find "+w.val))
			i = end
		}
	}
}

// mayHide: a word that is only known at run time is data, unless a value that the text assigns holds a listed name or may
// become one of the options that begin a command.
func (a *analyser) mayHide(args []arg, i int, s scope, options ...string) {
	w := &args[i]
	if w.kind == aTail || w.hole || w.free || a.suspects > 0 {
		return
	}
	a.assigned(s, w.at)
	a.printed(w, s)
	for _, o := range options {
		if a.mayHold(w, o) {
			a.cannotTell("R7", w, s, "this word may become the option "+o, "write the option as a word of its own")
			return
		}
	}
}

// mayHold says whether w, by what the text says of it, could contain the option: in its own pieces, in a value of one of
// its variables, or put together of both.
func (a *analyser) mayHold(w *arg, option string) bool {
	contains := func(s string) bool { return strings.Contains(s, option) }
	if w.word == nil {
		return false
	}
	if w.all {
		return slices.ContainsFunc(w.vals, contains)
	}
	var b strings.Builder
	pieces(&b, w.word.Parts)
	if contains(b.String()) {
		return true
	}
	dashed := func(s string) bool {
		return strings.HasPrefix(s, "-") || strings.Contains(s, " -") || strings.Contains(s, "\t-") || strings.Contains(s, "\n-")
	}
	joined := strings.Trim(b.String(), "\x00") != "" // there is more to the word than one expansion
	for _, name := range append(wordVariables(w.word), inExpansion) {
		if v := a.vars.m[name]; v != nil && slices.ContainsFunc(v.values, func(value string) bool { return contains(value) || joined && dashed(value) }) {
			return true
		}
	}
	return false
}

// printed compares the literal words inside a substitution: echo may print them.
func (a *analyser) printed(w *arg, s scope) {
	if w.word == nil {
		return
	}
	syntax.Walk(w.word, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for _, x := range c.Args {
			v, _ := literal(x)
			a.tokens(v, s, w.at)
		}
		return true
	})
}

// mayBecome refuses a word whose known beginning is that of one of the options, if the rest is only known at run time.
func (a *analyser) mayBecome(w *arg, s scope, options ...string) bool {
	if w.kind == aLit || w.val == "" || strings.Contains(w.val, "=") {
		return false
	}
	for _, o := range options {
		if strings.HasPrefix(o, w.val) {
			a.cannotTell("R7", w, s, "whether this is the option "+o+" is only known at run time", "")
			return true
		}
	}
	return false
}

// fd runs what follows -x or -X.
func (a *analyser) fd(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit {
			a.mayHide(args, i, s, "-x", "-X", "--exec")
			a.mayBecome(w, s, "-x", "-X", "--exec", "--exec-batch")
			continue
		}
		var inner []arg
		switch {
		case w.val == "-x" || w.val == "-X" || w.val == "--exec" || w.val == "--exec-batch":
			inner = slices.Clone(args[i+1:])
		case strings.HasPrefix(w.val, "--exec=") || strings.HasPrefix(w.val, "--exec-batch="):
			_, v, _ := strings.Cut(w.val, "=")
			inner = append([]arg{lit(v, w.at)}, args[i+1:]...)
		case len(w.val) > 2 && w.val[0] == '-' && w.val[1] != '-' && (strings.HasSuffix(w.val, "x") || strings.HasSuffix(w.val, "X")):
			inner = slices.Clone(args[i+1:])
		default:
			continue
		}
		if end := slices.IndexFunc(inner, func(v arg) bool { return v.is(";") }); end >= 0 {
			inner = inner[:end]
		}
		before := slices.Clone(inner)
		punch(inner, "{}", "{/}", "{//}", "{.}", "{/.}")
		if !slices.ContainsFunc(inner, func(v arg) bool { return v.hole }) && len(before) > 0 {
			inner = append(inner, arg{kind: aOne, val: "./", at: w.at, hole: true})
		}
		a.call(inner, s.from(&stdin{kind: stdinEmpty}).wrapped("fd -x"))
		return
	}
}

// tar has options that are commands, and an old style in which the first word is a cluster without a dash.
func (a *analyser) tar(p *program, args []arg, s scope) {
	code := func(w *arg, name string) { a.runCode("sh", []arg{*w}, s, "tar "+name) }
	if len(args) > 1 && args[1].kind != aLit && args[1].val != "" && !args[1].dash() {
		a.cannotTell("R7", &args[1], s, "which options of tar these are is only known at run time", "")
		return
	}
	if len(args) > 1 && args[1].kind == aLit && !args[1].dash() {
		next := 2
		for _, c := range args[1].val {
			if !strings.ContainsRune("bCfFgHIKLNTVX", c) {
				continue
			}
			if next < len(args) && (c == 'I' || c == 'F') {
				code(&args[next], "-"+string(c))
			}
			next++
		}
	}
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit && w.val == "" {
			a.mayHide(args, i, s, "-I", "--to-command", "--checkpoint", "--use-compress", "-F", "--info", "--rsh", "--new-volume")
			continue
		}
		if a.mayBecome(w, s, tarCommands...) {
			return
		}
		if strings.HasPrefix(w.val, "--") {
			a.tarLong(args, i, s, code)
			continue
		}
		if !w.dash() {
			continue
		}
		for j := 1; j < len(w.val); j++ {
			c := w.val[j]
			if strings.IndexByte("bCfFgHIKLNTVX", c) < 0 {
				continue
			}
			value := gluedValue(w, j+1)
			if j+1 == len(w.val) && i+1 < len(args) {
				value = &args[i+1]
			}
			if c == 'I' || c == 'F' {
				code(value, "-"+string(c))
			}
			break
		}
	}
}

// tarCommands are the long options whose values run.
var tarCommands = []string{"--use-compress-program", "--to-command", "--checkpoint-action", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"}

func (a *analyser) tarLong(args []arg, i int, s scope, code func(*arg, string)) {
	w := &args[i]
	name, value, glued := strings.Cut(w.val, "=")
	for _, full := range tarCommands {
		if len(name) < 3 || !strings.HasPrefix(full, name) {
			continue
		}
		v := gluedValue(w, len(name)+1)
		if !glued {
			if i+1 >= len(args) {
				return
			}
			v = &args[i+1]
			value = v.val
		}
		if full == "--checkpoint-action" {
			command, ok := strings.CutPrefix(value, "exec=")
			if !ok && v.kind == aLit {
				return
			}
			if v.kind == aLit { // tar removes one level of quotes by itself
				a.codeUnit("sh", strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(command), w.at, s, "tar "+full)
				v = &arg{val: command, at: w.at}
			}
		}
		code(v, full)
		return
	}
}

// sed has a command and a flag, both e, that run a shell. A script that is not literal is opaque (R15).
func (a *analyser) sed(p *program, args []arg, s scope) {
	given := false
	var operands []*arg
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.is("-e"), w.is("--expression"), w.is("-f"), w.is("--file"):
			if i++; i < len(args) && (w.val == "-e" || w.val == "--expression") {
				a.sedScript(&args[i], s)
			}
			given = true
		case strings.HasPrefix(w.val, "--expression="):
			a.sedScript(gluedValue(w, len("--expression=")), s)
			given = true
		case w.kind == aLit && w.dash() && !strings.HasPrefix(w.val, "--") && strings.ContainsAny(w.val[1:], "ef") && !strings.HasPrefix(w.val, "-i"):
			j := strings.IndexAny(w.val, "ef")
			value := gluedValue(w, j+1)
			if j+1 == len(w.val) {
				if i++; i >= len(args) {
					return
				}
				value = &args[i]
			}
			if w.val[j] == 'e' {
				a.sedScript(value, s)
			}
			given = true
		case w.kind == aLit && w.dash() && len(w.val) > 1:
		default:
			operands = append(operands, w)
		}
	}
	for _, w := range operands {
		if given {
			return
		}
		given = !(w.kind == aLit && w.val == "")
		a.sedScript(w, s)
	}
}

func (a *analyser) sedScript(w *arg, s scope) {
	if w.kind != aLit {
		return
	}
	a.inShell++
	defer func() { a.inShell-- }()
	codes, executes := sedCommands(w.val)
	for _, c := range codes {
		a.codeUnit("sh", c, w.at, s, "sed e")
	}
	if executes {
		a.cannotTell("R7", w, s, "the e command of sed runs what the data says", "leave the e out")
	}
}

// sedCommands reads a sed script as far as finding its e commands needs.
func sedCommands(src string) (codes []string, executes bool) {
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case strings.IndexByte(" \t\n;{}!0123456789,$~+", c) >= 0:
			i++
		case c == '/':
			i = sedDelimited(src, i+1, '/')
			i = skipSet(src, i, "IM")
		case c == '\\' && i+1 < len(src):
			i = sedDelimited(src, i+2, src[i+1])
			i = skipSet(src, i, "IM")
		case c == '#' || strings.IndexByte("aicrRwWbtT:lLqQ", c) >= 0:
			end := strings.IndexByte(src[i:], '\n')
			if strings.IndexByte("btT:lLqQ", c) >= 0 {
				if j := strings.IndexAny(src[i:], ";\n}"); j >= 0 {
					end = j
				}
			}
			for end > 0 && strings.IndexByte("aic", c) >= 0 && src[i+end-1] == '\\' {
				next := strings.IndexByte(src[i+end+1:], '\n')
				if next < 0 {
					end = -1
					break
				}
				end += next + 1
			}
			if end < 0 {
				return codes, executes
			}
			i += end + 1
		case c == 'e':
			line, _, _ := strings.Cut(src[i+1:], "\n")
			command := strings.TrimSpace(line)
			if command == "" || command[0] == ';' || command[0] == '}' {
				executes = true
			} else {
				codes = append(codes, command)
			}
			i += 1 + len(line)
		case (c == 's' || c == 'y') && i+1 < len(src):
			delim := src[i+1]
			with := sedDelimited(src, i+2, delim)
			i = sedDelimited(src, with, delim)
			from := i
			i = skipSet(src, i, "0123456789gpIMme")
			if c == 's' && strings.IndexByte(src[from:i], 'e') >= 0 {
				executes = true
				codes = append(codes, strings.TrimSuffix(src[with:from], string(delim)))
			}
			if i < len(src) && src[i] == 'w' {
				end := strings.IndexByte(src[i:], '\n')
				if end < 0 {
					return codes, executes
				}
				i += end
			}
		default:
			i++
		}
	}
	return codes, executes
}

func skipSet(s string, i int, set string) int {
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

// sedDelimited returns the index after the closing delimiter; a bracket expression may hold it.
func sedDelimited(s string, i int, delim byte) int {
	for i < len(s) {
		switch s[i] {
		case '\\':
			i++
		case delim:
			return i + 1
		}
		i++
	}
	return len(s)
}

// awk runs commands with system() and with pipes. A program that is not literal is opaque (R15).
func (a *analyser) awk(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.is("-f"), w.is("--file"), w.is("-E"), w.is("--exec"):
			return
		case w.is("-v"), w.is("-F"), w.is("--assign"), w.is("--field-separator"), w.is("-i"), w.is("--include"), w.is("-l"), w.is("--load"):
			i++
		case w.is("-e"), w.is("--source"):
			if i++; i < len(args) {
				a.awkProgram(&args[i], s)
			}
		case strings.HasPrefix(w.val, "--source="):
			a.awkProgram(gluedValue(w, len("--source=")), s)
		case w.is("--"):
			if i+1 < len(args) {
				a.awkProgram(&args[i+1], s)
			}
			return
		case w.dash() && len(w.val) > 1:
		default:
			a.awkProgram(w, s)
			return
		}
	}
}

func (a *analyser) awkProgram(w *arg, s scope) {
	if w.kind != aLit {
		return
	}
	a.inShell++
	defer func() { a.inShell-- }()
	codes, unclear := awkCommands(w.val)
	for _, c := range codes {
		a.codeUnit("sh", c, w.at, s, "awk")
	}
	if unclear {
		a.cannotTell("R7", w, s, "the command that awk runs is only known at run time", "")
	}
}
