package policy

import (
	"strings"
)

// shell opens bash and sh: options, then code text, a script, or the code on its stdin.
func (a *analyser) shell(p *program, args []arg, s scope) {
	a.inShell++
	defer func() { a.inShell-- }()
	dialect, via := p.rest, args[0].val
	if i := strings.LastIndexByte(via, '/'); i >= 0 {
		via = via[i+1:]
	}
	if via == "" {
		via = p.first
	}
	var command, stdin, never bool
	i := 1
options:
	for ; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.kind == aTail:
			break options
		case w.is("-"), w.is("--"):
			i++
			break options
		case w.is("+"): // an option cluster without letters
		case w.kind == aLit && strings.HasPrefix(w.val, "--"):
			if !a.shellLong(p, w, s, &i, args) {
				return
			}
		case w.kind == aLit && len(w.val) > 1 && (w.val[0] == '-' || w.val[0] == '+'):
			if k := p.long["-"+w.val]; dialect == "bash" && k != 0 { // -norc is --norc
				if !a.shellLong(p, w, s, &i, args) {
					return
				}
				continue
			}
			for j := 1; j < len(w.val); j++ {
				switch c := w.val[j]; {
				case c == 'c':
					command = true
				case c == 's':
					stdin = true
				case c == 'n' || c == 'D':
					never = never || w.val[0] == '-'
				case c == 'i':
					a.cannotTell("R9", w, s, "an interactive shell reads its startup files and history", "leave -i out")
					return
				case c == 'o' || c == 'O':
					if i+1 < len(args) {
						i++
						if a.badOption(&args[i], s) {
							return
						}
					}
				case p.short[c] == 0:
					a.cannotTell("R7", w, s, a.show(w)+" is no documented option of "+via, "")
					return
				}
			}
		case w.kind != aLit && w.val != "" && (w.val[0] == '-' || w.val[0] == '+'):
			a.cannotTell("R7", w, s, "which options of "+via+" these are is only known at run time", "")
			a.doubt(args[i:], s.wrapped(via))
			return
		default:
			break options
		}
	}
	never = never && !command
	switch {
	case command:
		a.shellCommand(dialect, via, args[i:], s)
	case i < len(args) && !stdin:
		a.scriptOperand(dialect, via, args[i:], s, never)
	default:
		a.feed(dialect, &args[0], s, via)
	}
}

func (a *analyser) shellLong(p *program, w *arg, s scope, i *int, args []arg) bool {
	name := strings.TrimLeft(w.val, "-")
	switch p.long["--"+name] {
	case optNone:
		return true
	case optInfo:
		return false
	case optDeny:
		if *i+1 < len(args) {
			*i++
			if f := &args[*i]; f.kind == aLit && !streamPath(f) {
				return true
			}
		}
		a.cannotTell("R9", w, s, "the startup file of "+p.first+" cannot be seen here", "")
		return false
	}
	a.cannotTell("R7", w, s, a.show(w)+" is no documented option of "+p.first, "")
	return false
}

// badOption refuses the long names of the options that change how a text is read.
func (a *analyser) badOption(w *arg, s scope) bool {
	if w.kind != aLit {
		a.cannotTell("R7", w, s, "which shell option this is is only known at run time", "")
		return true
	}
	switch w.val {
	case "keyword", "history", "histexpand", "expand_aliases":
		a.rebind(w, s, "the option "+w.val+" changes how the text is read")
		return true
	}
	return false
}

// shellCommand is -c: the first operand is code, the rest are its parameters.
func (a *analyser) shellCommand(dialect, via string, rest []arg, s scope) {
	if len(rest) == 0 {
		return
	}
	if w := &rest[0]; w.kind == aTail {
		a.cannotTell("R8", w, s, "the code text for "+via+" comes from the data", "")
		return
	}
	for i := range rest[1:] {
		a.literalValue(&rest[1+i])
	}
	a.runCode(dialect, rest[:1], s, via+" -c")
}

// isScript says whether the operand can only be a script file: a word that is only known at run time could be an option.
func (a *analyser) isScript(w *arg) bool {
	if w.kind == aLit || w.val != "" {
		return w.val == "" || w.val[0] != '-' && w.val[0] != '+'
	}
	if w.free {
		return true
	}
	if w.all {
		for _, v := range w.vals {
			if v == "" && w.kind == aSplit || strings.HasPrefix(v, "-") || strings.HasPrefix(v, "+") {
				return false
			}
		}
		return true
	}
	return w.kind == aOne && a.neverOption(w)
}

// neverOption says whether all that the text assigns to the variables in w begins like a path.
func (a *analyser) neverOption(w *arg) bool {
	if w.word == nil {
		return !w.hole || w.val != ""
	}
	names := wordVariables(w.word)
	if len(names) == 0 {
		return false
	}
	for _, name := range names {
		v := a.vars.m[name]
		if v == nil {
			continue
		}
		for _, value := range v.values {
			if value == "" || value[0] == '-' || value[0] == '+' {
				return false
			}
		}
		if len(v.values) == 0 {
			return false
		}
	}
	return true
}

// scriptOperand judges the operand that names a script file.
func (a *analyser) scriptOperand(dialect, via string, rest []arg, s scope, never bool) {
	w := &rest[0]
	if w.kind == aOne && !w.proc && !a.isScript(w) || w.kind == aSplit && !a.isScript(w) {
		if !never || len(rest) > 1 {
			a.cannotTell("R8", w, s, "whether this is a script or an option of "+via+" is only known at run time", "write ./ in front of the file name")
			a.assigned(s, w.at)
			return
		}
	}
	if never {
		return
	}
	if stdinPath(w) {
		a.feed(dialect, w, s, via)
		return
	}
	if w.kind == aSplit && len(rest) > 1 && rest[1].kind == aLit && rest[1].val != "" && (rest[1].val[0] == '-' || rest[1].val[0] == '+') {
		a.cannotTell("R8", w, s, "if this word is empty, what follows is an option of "+via, "quote the word")
		return
	}
	a.scriptFile(dialect, w, s, via)
	a.scriptName(w, s, via)
	if w.kind != aLit {
		a.doubtCode(rest, s, via)
	}
}

// scriptName compares the script's own name with the blacklist: sh /bin/rm is rm where rm is a script.
func (a *analyser) scriptName(w *arg, s scope, via string) {
	names := w.vals
	if w.kind == aLit {
		names = []string{w.val}
	}
	for _, name := range names {
		if name != "" {
			a.record(Exec{Name: fold(name), Raw: name, Via: strings.TrimSpace(s.via + " " + via), Kind: Script, Shell: a.u.shell, At: w.at})
		}
	}
}

// doubtCode: should the script's word be an option after all, a later word is the code.
func (a *analyser) doubtCode(rest []arg, s scope, via string) {
	if len(rest) < 2 || rest[0].kind == aLit || a.suspects > 0 {
		return
	}
	a.doubt(rest, s.wrapped(via))
	a.suspects++ // the word may vanish
	s.kind = Suspect
	a.call(append([]arg{lit(via, rest[0].at)}, rest[1:]...), s.in())
	a.suspects--
	a.settleDoubt(&rest[0], s)
}

func stdinPath(w *arg) bool {
	return w.is("/dev/stdin") || w.is("/dev/fd/0") || w.is("/proc/self/fd/0")
}

// feed judges what a shell reads from its standard input.
func (a *analyser) feed(dialect string, w *arg, s scope, via string) {
	in := s.stdin
	switch in.kind {
	case stdinFile, stdinEmpty:
		return
	case stdinTop:
		if !in.used {
			if a.suspects == 0 || a.simulated && a.inShell > 0 {
				a.out.Readers = append(a.out.Readers, dialect)
			}
			return
		}
		a.cannotTell("R9", w, s, via+" reads commands from an input that another command may have read before", "start the shell alone, or give it a script")
		return
	case stdinCode:
		switch {
		case in.used:
			a.cannotTell("R9", w, s, via+" reads commands from a text that another command may have read before", "")
		case !in.plain:
			a.cannotTell("R9", w, s, via+" reads commands from a text that is only known at run time", "")
		default:
			in.used = true
			a.codeUnit(dialect, in.body, in.at, s.from(&stdin{kind: stdinCode, used: true}), via)
		}
		return
	}
	message := via + " reads commands from a stream that cannot be seen here"
	if in.kind == stdinUnknown {
		message = "where " + via + " reads commands from is not known: it stands in " + in.why
	}
	a.cannotTell("R9", w, s, message, "")
}

// otherShell has no grammar here: only a script file, or nothing at all, can be told.
func (a *analyser) otherShell(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind == aLit && (w.val == "--version" || w.val == "--help") {
			return
		}
		if w.kind != aLit || w.dash() || strings.HasPrefix(w.val, "+") {
			break
		}
		if a.scriptFile(p.first, w, s, args[0].val); !streamPath(w) {
			return
		}
	}
	if s.stdin.kind == stdinFile && len(args) == 1 {
		return
	}
	a.issue(Issue{Rule: "R2", Command: args[0].val, Via: s.via, At: args[0].at, Message: "there is no grammar for the code of " + fold(args[0].val) + " here", Suggest: "use bash or sh, or run a script file"})
}

// windowsShell finds the other system's shells in POSIX text, as under WSL.
func (a *analyser) windowsShell(p *program, args []arg, s scope) {
	if len(args) == 1 {
		if s.stdin.kind == stdinTop {
			a.issue(Issue{Rule: "R2", Command: args[0].val, Via: s.via, At: args[0].at, Message: "what is typed into " + fold(args[0].val) + " cannot be checked here"})
			return
		}
		a.cannotTell("R9", &args[0], s, args[0].val+" reads commands from a stream", "")
		return
	}
	words := a.strings(args[1:])
	text := strings.Join(words, " ")
	for i := range args[1:] {
		if args[1+i].kind != aLit {
			a.cannotTell("R8", &args[1+i], s, "the code text for "+args[0].val+" is only known at run time", "")
			return
		}
	}
	if fold(args[0].val) == "cmd" {
		a.nested(s, "cmd", "cmd "+text, args[0].at)
	} else {
		a.nested(s, "pwsh", "pwsh "+text, args[0].at)
	}
}

// wsl runs its operands in a Linux shell.
func (a *analyser) wsl(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		switch w := &args[i]; {
		case w.is("-d"), w.is("-u"), w.is("--distribution"), w.is("--user"), w.is("--cd"), w.is("--shell-type"):
			i++
		case w.is("-e"), w.is("--exec"):
			a.call(args[i+1:], s.wrapped("wsl"))
			return
		case w.is("--"):
			a.runCode("sh", args[i+1:], s, "wsl")
			return
		case w.kind == aLit && (w.is("-l") || w.is("--list") || w.is("--status") || w.is("--version") || w.is("-v") || w.is("--shutdown") || w.is("--terminate") || w.is("-t") || w.is("--help")):
			return
		case w.kind != aLit || w.dash():
			a.cannotTell("R7", w, s, a.show(w)+" is no documented option of wsl", "")
			return
		default:
			a.runCode("sh", args[i:], s, "wsl")
			return
		}
	}
	a.feed("sh", &args[0], s, "wsl")
}

// loader: the ELF interpreter starts the program that its first operand names.
func (a *analyser) loader(args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.kind == aLit && (w.val == "--library-path" || w.val == "--preload" || w.val == "--argv0" || w.val == "--inhibit-rpath" || w.val == "--audit" || w.val == "--glibc-hwcaps-prepend" || w.val == "--glibc-hwcaps-mask"):
			i++
		case w.kind == aLit && strings.HasPrefix(w.val, "--"):
			if w.val != "--list" && w.val != "--verify" && w.val != "--inhibit-cache" && w.val != "--list-diagnostics" && w.val != "--list-tunables" && w.val != "--help" && w.val != "--version" {
				a.cannotTell("R7", w, s, a.show(w)+" is no documented option of the loader", "")
				return
			}
		default:
			a.call(args[i:], s.wrapped("ld.so"))
			return
		}
	}
}
