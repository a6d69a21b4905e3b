package policy

import (
	"slices"
	"strings"
)

// A wrapper whose row is not the whole story is handled here.

// envProgram: the value of -S is split into words that take the option's place.
func (a *analyser) envProgram(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind == aLit && !w.dash() && !strings.Contains(w.val, "=") || w.is("--") {
			break
		}
		at := strings.IndexByte(w.val, 'S')
		long := strings.HasPrefix(w.val, "--s") && strings.HasPrefix("--split-string", strings.SplitN(w.val, "=", 2)[0])
		if !long && (at < 0 || !w.dash() || strings.HasPrefix(w.val, "--") || strings.ContainsAny(w.val[:at], "uCaPLU")) {
			continue
		}
		value, rest := gluedValue(w, at+1), args[i+1:]
		if long {
			value = gluedValue(w, strings.IndexByte(w.val+"=", '=')+1)
		}
		if value.val == "" && w.kind == aLit && !strings.Contains(w.val, "=") {
			if len(rest) == 0 {
				return
			}
			value, rest = &rest[0], rest[1:]
		}
		if value.kind != aLit || strings.ContainsAny(value.val, "\\'\"$#\n") {
			a.splitString(value, rest, s)
			return
		}
		words := append([]arg{}, args[:i]...)
		if at > 1 && !long {
			words = append(words, lit(w.val[:at], w.at))
		}
		words = append(append(words, splitWords(*value)...), rest...)
		a.envProgram(p, words, s.in())
		return
	}
	if a.tooDeep(s) {
		return
	}
	a.wrapper(p, args, s)
}

// splitString: env has quotes and variables of its own in -S. A command line in it is read as a shell would; what follows
// it makes that a guess.
func (a *analyser) splitString(value *arg, rest []arg, s scope) {
	if value.kind != aLit || len(rest) > 0 && !strings.Contains(value.val, "'") {
		a.cannotTell("R7", value, s, "how env splits this text is not known here", "write the words apart")
		a.assigned(s, value.at)
		return
	}
	a.codeUnit("sh", "env "+value.val, value.at, s, "env -S")
}

// sudo with -s or -i and no command is a shell; with -e the operands are files, with -l nothing runs.
func (a *analyser) sudo(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	login, harmless := false, false
	o.seen = func(name string, _ *arg) {
		switch name {
		case "-s", "--shell", "-i", "--login":
			login = true
		case "-e", "--edit", "-l", "--list", "-v", "--validate", "-K", "--remove-timestamp":
			harmless = true
		}
	}
	for {
		i := o.next()
		switch {
		case o.failed || harmless || o.info:
			return
		case i < 0:
			if login {
				a.feed("sh", &args[0], s, p.first)
			}
			return
		case o.assignment(&args[i]):
		default:
			a.inner(o, "command", i)
			return
		}
	}
}

// watch runs its operands as code, with -x as a command.
func (a *analyser) watch(p *program, args []arg, s scope) {
	a.switched(p, args, s, "code", map[string]string{"-x": "command", "--exec": "command"})
}

// entr runs a command, with -s code.
func (a *analyser) entr(p *program, args []arg, s scope) {
	a.switched(p, args, s, "command", map[string]string{"-s": "code"})
}

// switched reads operands in a way that an option decides.
func (a *analyser) switched(p *program, args []arg, s scope, what string, by map[string]string) {
	o := a.options(p, args, s)
	o.seen = func(name string, _ *arg) {
		if w, ok := by[name]; ok {
			what = w
		}
	}
	if i := o.next(); i >= 0 && !o.failed {
		a.inner(o, what, i)
	}
}

// script starts a shell if it is given no command.
func (a *analyser) script(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	given := false
	o.seen = func(name string, _ *arg) { given = given || name == "-c" || name == "--command" }
	i := o.next()
	if i >= 0 && !o.failed {
		o.i++
		if j := o.next(); j >= 0 && !o.failed {
			a.inner(o, "command", j)
			return
		}
	}
	if !given && !o.failed && !o.info {
		a.feed("sh", &args[0], s, "script")
	}
}

// su gives what follows the user to the user's shell.
func (a *analyser) su(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	given, user := false, false
	shell := ""
	o.seen = func(name string, v *arg) {
		switch name {
		case "-c", "--command", "--session-command":
			given = true
		case "-u", "--user":
			user = true
		case "-s", "--shell":
			shell = v.val
			if v.kind != aLit {
				shell = "?"
			}
		}
	}
	var operands []arg
	for {
		i := o.next()
		if o.failed || o.info {
			return
		}
		if i < 0 {
			break
		}
		if user {
			a.inner(o, "command", i)
			return
		}
		if args[i].is("-") && len(operands) == 0 {
			o.i++
			continue
		}
		operands = append(operands, args[i])
		o.i++
	}
	if base := fold(shell); shell != "" {
		a.record(Exec{Name: base, Raw: shell, Via: strings.TrimSpace(s.via + " su -s"), Kind: max(Wrapped, s.kind), Shell: "sh", At: args[0].at})
		if base != "bash" && base != "sh" && base != "dash" && given {
			a.issue(Issue{Rule: "R2", Command: shell, Via: s.via, At: args[0].at, Message: "there is no grammar for the code of " + base + " here"})
		}
	}
	if len(operands) > 1 { // the shell's own arguments
		sh := lit("sh", args[0].at)
		a.call(append([]arg{sh}, operands[1:]...), s.wrapped("su"))
		return
	}
	if !given && !user {
		a.feed("sh", &args[0], s, p.first)
	}
}

// sg: a group, then a command line.
func (a *analyser) sg(p *program, args []arg, s scope) {
	rest := args[1:]
	for len(rest) > 0 && (rest[0].is("-") || rest[0].is("-l")) {
		rest = rest[1:]
	}
	if len(rest) < 2 {
		a.feed("sh", &args[0], s, p.first)
		return
	}
	rest = rest[1:]
	if rest[0].is("-c") {
		rest = rest[1:]
	}
	a.runCode("sh", rest, s, p.first)
}

// capsh gives what follows -- to bash.
func (a *analyser) capsh(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		if w := &args[i]; w.kind != aLit {
			a.cannotTell("R7", w, s, "which option of capsh this is is only known at run time", "")
			return
		} else if w.val == "--" || w.val == "==" {
			a.call(append([]arg{lit("bash", w.at)}, args[i+1:]...), s.wrapped("capsh"))
			return
		} else if strings.HasPrefix(w.val, "--shell=") {
			a.cannotTell("R7", w, s, "--shell names a program that cannot be told here", "")
			return
		}
	}
}

// bubble holds the options of bwrap by how many words they take.
var bubble = [...]string{
	"--unshare-all --share-net --unshare-user --unshare-user-try --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --unshare-cgroup-try --clearenv --new-session --die-with-parent --as-pid-1 --disable-userns --assert-userns-disabled --help --version",
	"--argv0 --userns --userns2 --pidns --uid --gid --hostname --chdir --unsetenv --lock-file --sync-fd --remount-ro --exec-label --file-label --proc --dev --tmpfs --mqueue --dir --seccomp --add-seccomp-fd --block-fd --userns-block-fd --info-fd --json-status-fd --cap-add --cap-drop --perms --size",
	"--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --setenv --file --bind-data --ro-bind-data --symlink --chmod --overlay-src",
}

func (a *analyser) bwrap(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit && (w.val == "" || w.dash()) {
			a.cannotTell("R7", w, s, "this word may become none or several before the command that bwrap starts", "")
			return
		}
		if w.is("--") {
			a.call(args[i+1:], s.wrapped("bwrap"))
			return
		}
		if !w.dash() {
			a.call(args[i:], s.wrapped("bwrap"))
			return
		}
		n := slices.IndexFunc(bubble[:], func(row string) bool { return slices.Contains(strings.Fields(row), w.val) })
		if n < 0 {
			a.cannotTell("R7", w, s, a.show(w)+" is no documented option of bwrap", "")
			return
		}
		for k := i + 1; k <= i+n && k < len(args); k++ {
			if args[k].kind == aSplit && !args[k].free {
				a.cannotTell("R7", &args[k], s, "this word may become none or several before the command that bwrap starts", "")
				return
			}
		}
		i += n
	}
}

// startStopDaemon: the program is an option's value, its arguments follow --.
func (a *analyser) startStopDaemon(p *program, args []arg, s scope) {
	var program []arg
	rest := args[1:]
	for i := range rest {
		w := &rest[i]
		switch {
		case w.is("--"):
			if len(program) > 0 {
				a.call(append(slices.Clone(program), rest[i+1:]...), s.wrapped(p.first))
			}
			return
		case w.is("-x"), w.is("--exec"), w.is("-a"), w.is("--startas"):
			if i+1 < len(rest) {
				program = rest[i+1 : i+2]
			}
		case w.kind == aLit && (strings.HasPrefix(w.val, "--exec=") || strings.HasPrefix(w.val, "--startas=")):
			_, v, _ := strings.Cut(w.val, "=")
			program = []arg{lit(v, w.at)}
		}
	}
	if len(program) > 0 {
		a.call(program, s.wrapped(p.first))
	}
}

// afterWord: what follows -- is a command.
func (a *analyser) afterWord(p *program, args []arg, s scope) {
	for i := range args {
		if args[i].is("--") {
			a.call(args[i+1:], s.wrapped(p.first))
			return
		}
	}
}

// direnv exec DIR COMMAND.
func (a *analyser) direnv(p *program, args []arg, s scope) {
	if len(args) > 3 && args[1].is("exec") {
		if args[2].kind == aSplit && !args[2].free {
			a.cannotTell("R7", &args[2], s, "this word may become none or several before the command that direnv starts", "")
			return
		}
		a.call(args[3:], s.wrapped("direnv exec"))
		if args[2].kind != aLit {
			a.doubt(args[3:], s.wrapped("direnv exec"))
		}
	} else if len(args) > 1 && args[1].kind != aLit {
		a.doubt(args[1:], s.wrapped("direnv"))
	}
}

// eachCode: every operand is code text.
func (a *analyser) eachCode(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	for i := o.next(); i >= 0 && !o.failed; i = o.next() {
		a.runCode("sh", args[i:i+1], s, p.first)
		o.i++
	}
}

// busybox runs the applet of that name.
func (a *analyser) busybox(p *program, args []arg, s scope) {
	if len(args) == 1 {
		return
	}
	a.wrapper(p, args, s)
}

// xargs adds words from its input: at the end, or with -I in the place of a text.
func (a *analyser) xargs(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	place, known := "", true
	o.seen = func(name string, v *arg) {
		switch name {
		case "-I", "-J", "-i", "--replace":
			place = "{}"
			if v != nil && (v.val != "" || v.kind != aLit) {
				place, known = v.val, v.kind == aLit
			}
		}
	}
	i := o.next()
	if o.failed || o.info {
		return
	}
	if !known {
		a.cannotTell("R7", &args[0], s, "the placeholder of xargs is only known at run time", "")
		return
	}
	if i < 0 {
		return // echo
	}
	inner := slices.Clone(args[i:])
	if place != "" {
		punch(inner, place)
	} else {
		inner = append(inner, arg{kind: aTail, at: args[len(args)-1].at, hole: true})
	}
	// Its commands read /dev/null, or what xargs has left of its input.
	in := s.from(&stdin{kind: stdinEmpty})
	a.call(inner, in.wrapped("xargs"))
	if o.unsure > 0 {
		a.doubt(args[i:], in.wrapped("xargs"))
	}
}

// punch marks the words that hold a placeholder: each is one word of unknown content.
func punch(args []arg, places ...string) {
	for i := range args {
		w := &args[i]
		for _, place := range places {
			if w.kind != aLit {
				if w.word != nil {
					if v, _ := literal(w.word); strings.Contains(v, place) {
						w.hole = true
					}
				}
				continue
			}
			if before, _, ok := strings.Cut(w.val, place); ok {
				*w = arg{kind: aOne, val: before, at: w.at, hole: true}
			}
		}
	}
}

// parallel builds command lines for a shell.
func (a *analyser) parallel(p *program, args []arg, s scope) {
	s = s.from(&stdin{kind: stdinEmpty})
	i := 1
	for ; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit || !w.dash() {
			break
		}
		switch w.val {
		case "-j", "-n", "-N", "-L", "-a", "--arg-file", "--jobs", "--colsep", "-C", "-d", "--delimiter", "--joblog", "--results", "--tmpdir", "--timeout", "--retries", "--delay", "--load", "--memfree", "--nice", "-I", "-P", "--max-procs", "--max-args":
			i++
		case "-k", "--keep-order", "--bar", "--progress", "--eta", "-v", "-t", "-X", "-m", "-0", "--null", "--line-buffer", "--lb", "-u", "--ungroup", "--tag", "--dry-run", "--will-cite", "--halt-on-error", "-q", "--quote", "-r", "--no-run-if-empty", "--verbose", "--pipe", "--xargs", "--silent":
		default:
			if strings.Contains(w.val, "=") && !strings.HasPrefix(w.val, "--pre") && !strings.HasPrefix(w.val, "--rpl") && !strings.HasPrefix(w.val, "--ssh") && !strings.HasPrefix(w.val, "--compress") || len(w.val) > 2 && strings.HasPrefix(w.val, "-j") {
				continue
			}
			a.cannotTell("R7", w, s, a.show(w)+" is no option of parallel that is known here", "")
			return
		}
	}
	end := i
	for end < len(args) && !(args[end].kind == aLit && strings.HasPrefix(args[end].val, ":::")) {
		end++
	}
	if i < end {
		words := slices.Clone(args[i:end])
		for k := range words {
			words[k] = fill(words[k])
		}
		if words[0].val == "" && words[0].kind == aLit || strings.HasPrefix(words[0].val, filled) {
			a.cannotTell("R4", &args[i], s, "the name of the command comes from the data", "")
			return
		}
		a.runCode("sh", words, s, "parallel")
		return
	}
	if end == len(args) {
		a.cannotTell("R9", &args[0], s, "parallel reads commands from a stream", "")
		return
	}
	for _, w := range args[end:] {
		if w.kind == aLit && strings.HasPrefix(w.val, ":::") {
			continue
		}
		a.runCode("sh", []arg{w}, s, "parallel")
	}
}

// filled stands for a placeholder that the program quotes by itself.
const filled = "x"

func fill(w arg) arg {
	if w.kind != aLit {
		return w
	}
	for _, place := range []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}", "{+}", "{q}"} {
		w.val = strings.ReplaceAll(w.val, place, filled)
	}
	return w
}
