package policy

import (
	"strings"
)

// codeShell is the dialect in which code text in the present text is read.
func (a *analyser) codeShell() string { return a.u.shell }

// eval joins its arguments and runs them here.
func (a *analyser) eval(p *program, args []arg, s scope) {
	rest := args[1:]
	if len(rest) > 0 && rest[0].is("--") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	if len(rest) == 1 && a.producer(rest[0].word) {
		return
	}
	if len(rest) == 3 && rest[0].is("set") && rest[1].is("--") && a.getopt(rest[2].word) {
		return
	}
	if rest[0].kind == aTail {
		a.cannotTell("R8", &rest[0], s, "eval runs what the data says", "")
		return
	}
	a.runCode(a.codeShell(), rest, s, "eval")
}

// producers print code for the shell that is known well enough; the exact command counts.
var producers = set([]string{
	"ssh-agent -s", "ssh-agent", "ssh-agent -c", "direnv export bash", "direnv hook bash", "pyenv init -", "pyenv init --path", "pyenv init - bash", "pyenv virtualenv-init -",
	"rbenv init -", "rbenv init - bash", "nodenv init -", "jenv init -", "goenv init -", "minikube docker-env", "minikube -p minikube docker-env",
	"docker-machine env", "docker-machine env default", "kubectl completion bash", "helm completion bash", "gh completion -s bash", "docker completion bash",
	"starship init bash", "zoxide init bash", "fnm env", "fnm env --use-on-cd", "mise activate bash", "brew shellenv", "/opt/homebrew/bin/brew shellenv",
	"opam env", "luarocks path", "dircolors", "dircolors -b", "lesspipe", "conda shell.bash hook", "npm completion", "pip completion --bash", "poetry completions bash", "rustup completions bash", "minikube completion bash",
})

// source runs a file here: opaque like any script file, unless it is a stream.
func (a *analyser) source(p *program, args []arg, s scope) {
	rest := args[1:]
	if len(rest) > 0 && rest[0].is("--") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	w := &rest[0]
	if w.is("/dev/stdin") || w.is("/dev/fd/0") || w.is("/proc/self/fd/0") {
		a.feed(a.codeShell(), w, s, "source")
		return
	}
	a.scriptFile(a.codeShell(), w, s, "source")
	a.scriptName(w, s, "source")
}

// scriptFile judges the word that names a script.
func (a *analyser) scriptFile(dialect string, w *arg, s scope, via string) {
	switch {
	case w.proc:
		if !a.producer(w.word) {
			a.cannotTell("R9", w, s, via+" reads code from another command's output", "")
		}
	case w.kind == aTail:
		a.cannotTell("R9", w, s, "the script that "+via+" runs comes from the data", "")
	case streamPath(w):
		a.cannotTell("R9", w, s, via+" reads code from a stream", "")
	case w.special && w.word != nil && globbedName(a.u.source(w.word)):
		a.cannotTell("R9", w, s, "this pattern may name any program", "name the script")
	case w.kind == aLit, w.kind == aOne, w.free:
	case w.all, w.special && w.val != "", w.kind == aSplit && a.ends(w):
	default:
		a.cannotTell("R9", w, s, "which script "+via+" runs is only known at run time", "quote the variable")
	}
}

// globbedName: what is behind the last slash is a pattern. One with a dot, like *.sh, names scripts and not programs.
func globbedName(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return strings.ContainsAny(name, "*?[") && !strings.Contains(name, ".")
}

// trap runs its first argument later.
func (a *analyser) trap(p *program, args []arg, s scope) {
	rest := args[1:]
	for len(rest) > 0 && rest[0].kind == aLit && (rest[0].val == "--" || rest[0].val == "-p" || rest[0].val == "-l" || rest[0].val == "-P") {
		if rest[0].val != "--" {
			return
		}
		rest = rest[1:]
	}
	if len(rest) < 2 && (len(rest) == 0 || rest[0].kind == aLit && rest[0].val != "" && signalName(rest[0].val)) {
		return
	}
	if rest[0].is("-") || rest[0].is("") {
		return
	}
	// The trap may run anywhere, so its stdin is not known.
	a.runCode(a.codeShell(), rest[:1], s.from(unknownStdin("a trap")), "trap")
}

func signalName(s string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-") == ""
}

func (a *analyser) rebind(w *arg, s scope, message string) {
	a.issue(Issue{Rule: "R12", Command: a.show(w), Via: s.via, At: w.at, Message: message})
}

func (a *analyser) alias(p *program, args []arg, s scope) {
	for i := range args[1:] {
		if w := &args[1+i]; w.kind != aLit || strings.Contains(w.val, "=") {
			a.rebind(w, s, "an alias gives a name another meaning")
			return
		}
	}
}

// hasFlag says whether one of the letters stands in an option cluster, or cannot be told not to.
func hasFlag(args []arg, letters string) *arg {
	for i := range args {
		w := &args[i]
		switch {
		case w.is("--"):
			return nil
		case w.kind != aLit && (w.val == "" || w.dash()) && !w.free:
			return w
		case w.kind == aLit && !w.dash():
			return nil
		case w.dash() && !strings.HasPrefix(w.val, "--") && strings.ContainsAny(w.val, letters):
			return w
		}
	}
	return nil
}

func (a *analyser) hash(p *program, args []arg, s scope) {
	if w := hasFlag(args[1:], "p"); w != nil {
		a.rebind(w, s, "hash -p gives a name another meaning")
	}
}

func (a *analyser) enable(p *program, args []arg, s scope) {
	if w := hasFlag(args[1:], "nfd"); w != nil {
		a.rebind(w, s, "enable -n, -f and -d change what a name means")
	}
}

// setBuiltin refuses the options that change how a text is read after it was read.
func (a *analyser) setBuiltin(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit {
			if w.val == "" || w.dash() {
				if w.kind != aOne || w.dash() {
					a.doubtfulSet(w, s)
				}
			}
			a.literalValue(w)
			continue
		}
		if w.val == "--" || w.val == "-" || !w.dash() && !strings.HasPrefix(w.val, "+") {
			for j := i; j < len(args); j++ {
				a.literalValue(&args[j])
			}
			return
		}
		if w.val[0] == '-' && strings.ContainsAny(w.val, "kH") {
			a.rebind(w, s, "set "+w.val+" changes how the rest of the text is read")
		}
		if strings.HasSuffix(w.val, "o") && i+1 < len(args) {
			i++
			v := &args[i]
			switch {
			case v.kind != aLit:
				a.doubtfulSet(v, s)
			case v.val == "keyword" || v.val == "history" || v.val == "histexpand":
				a.rebind(v, s, "set -o "+v.val+" changes how the rest of the text is read")
			}
		}
	}
}

func (a *analyser) doubtfulSet(w *arg, s scope) {
	if w.free || w.kind == aSplit && !w.all && !a.vars.ifs() && w.word != nil && len(w.word.Parts) == 1 {
		for _, v := range a.vars.m {
			for _, value := range v.values {
				if strings.HasPrefix(strings.TrimSpace(value), "-") {
					a.rebind(w, s, "whether this is an option of set is only known at run time")
					return
				}
			}
		}
		return
	}
	for _, v := range w.vals {
		if w.all && (v == "" || v[0] != '-') {
			continue
		}
		a.rebind(w, s, "whether this is an option of set is only known at run time")
		return
	}
}

func (a *analyser) shopt(p *program, args []arg, s scope) {
	for i := range args {
		switch args[i].val {
		case "keyword", "history", "histexpand":
			a.rebind(&args[i], s, "shopt changes how the rest of the text is read")
		}
	}
}

func (a *analyser) fc(p *program, args []arg, s scope) {
	if args[0].is("r") && len(args[0].val) == 1 {
		return // a program by that name; only ksh means fc
	}
	a.rebind(&args[0], s, "fc runs what the history holds")
}

func (a *analyser) history(p *program, args []arg, s scope) {
	if w := hasFlag(args[1:], "srn"); w != nil {
		a.rebind(w, s, "history stores what fc runs")
	}
}

// bindKeys: -x binds a key to code.
func (a *analyser) bindKeys(p *program, args []arg, s scope) {
	if w := hasFlag(args[1:], "xf"); w != nil {
		a.rebind(w, s, "bind -x and -f run code at a key")
	}
}

// complete: -C runs its value, -F names a function.
func (a *analyser) complete(p *program, args []arg, s scope) {
	a.codeOption(args, s, 'C', "AGXPSWFo")
	a.textOption(args, s, 'W')
}

// codeOption runs the value of one short option as code.
func (a *analyser) codeOption(args []arg, s scope, option byte, withValue string) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.is("--") || w.kind == aLit && !w.dash() {
			return
		}
		if w.kind != aLit {
			if !w.free || w.dash() {
				a.cannotTell("R8", w, s, "whether this is an option of "+args[0].val+" is only known at run time", "")
				return
			}
			continue
		}
		for j := 1; j < len(w.val); j++ {
			c := w.val[j]
			if c != option && strings.IndexByte(withValue, c) < 0 {
				continue
			}
			value := gluedValue(w, j+1)
			if j+1 == len(w.val) {
				if i++; i >= len(args) {
					return
				}
				value = &args[i]
			}
			if c == option {
				a.runCode(a.codeShell(), []arg{*value}, s, args[0].val+" -"+string(option))
			}
			break
		}
	}
}

// textOption: the value of compgen -W is expanded like a text in double quotes.
func (a *analyser) textOption(args []arg, s scope, option byte) {
	for i := 1; i+1 < len(args); i++ {
		if args[i].kind == aLit && strings.HasPrefix(args[i].val, "-") && strings.HasSuffix(args[i].val, string(option)) {
			if v := &args[i+1]; v.kind == aLit {
				a.expandable(v.val, v.at, s, args[0].val+" -"+string(option))
			} else if v.kind == aOne && !v.free {
				a.evals(v.at) // the words are expanded a second time
			}
		}
	}
}

// jobs -x runs the rest as a command.
func (a *analyser) jobs(p *program, args []arg, s scope) {
	runs := false
	for i := 1; i < len(args); i++ {
		switch w := &args[i]; {
		case w.kind != aLit && !runs:
			a.cannotTell("R7", w, s, "whether this is an option of jobs is only known at run time", "")
			return
		case w.is("--") && runs:
			a.call(args[i+1:], s.wrapped("jobs -x"))
			return
		case !w.dash() || w.val == "--":
			if runs {
				a.call(args[i:], s.wrapped("jobs -x"))
			}
			return
		}
		runs = runs || strings.Contains(args[i].val, "x")
	}
}

func (a *analyser) chdir(p *program, args []arg, s scope) {
	if a.suspects == 0 {
		a.out.Chdir = true
	}
}

func (a *analyser) coproc(p *program, args []arg, s scope) {
	a.issue(Issue{Rule: "R2", Command: "coproc", Via: s.via, At: args[0].at, Message: "coproc is read in two ways"})
}
