package policy

import (
	"slices"
	"strings"
)

// editor commands: vim -c, ex, ed. What follows an exclamation mark goes to a shell.
func (a *analyser) vim(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.is("-c"), w.is("--cmd"):
			if i++; i < len(args) {
				a.exCommand(&args[i], s)
			}
		case strings.HasPrefix(w.val, "+"), strings.HasPrefix(w.val, "-c") && len(w.val) > 2, strings.HasPrefix(w.val, "--cmd="):
			a.exCommand(w, s)
		case w.kind == aLit && w.dash():
		}
	}
	a.editorInput(args, s)
}

func (a *analyser) exCommand(w *arg, s scope) {
	if w.kind != aLit {
		if !w.free && w.kind != aOne || strings.Contains(w.val, "!") {
			a.cannotTell("R8", w, s, "the command of the editor is only known at run time", "")
		}
		return
	}
	a.exText(w.val, w.at, s)
}

func (a *analyser) exText(text string, at int, s scope) {
	if _, code, ok := strings.Cut(text, "!"); ok {
		code = strings.TrimLeft(code, "! ")
		if i := strings.LastIndex(code, "|"); i >= 0 && strings.TrimSpace(code[i+1:]) == "q" {
			code = code[:i]
		}
		a.codeUnit("sh", code, at, s, "editor !")
	}
	for _, call := range []string{"system(", "systemlist(", "term_start(", "job_start(", "jobstart(", "termopen("} {
		if _, rest, ok := strings.Cut(text, call); ok {
			quote, rest := rest[:min(1, len(rest))], rest[min(1, len(rest)):]
			code, _, closed := strings.Cut(rest, quote)
			if (quote != "'" && quote != `"`) || !closed {
				a.issue(Issue{Rule: "R8", Via: s.via, At: at, Message: "the command of the editor is only known at run time"})
				continue
			}
			a.codeUnit("sh", code, at, s, "editor "+call+")")
		}
	}
	for _, word := range []string{"terminal ", "term ", "te "} {
		if i := strings.Index(text, word); i == 0 || i > 0 && strings.IndexByte(":|+ ", text[i-1]) >= 0 {
			a.codeUnit("sh", text[i+len(word):], at, s, "editor "+word)
		}
	}
}

// editorInput: a line editor reads its commands from stdin.
func (a *analyser) editorInput(args []arg, s scope) {
	in := s.stdin
	if in.kind != stdinCode {
		return
	}
	for line := range strings.SplitSeq(in.body, "\n") {
		if strings.Contains(line, "!") {
			a.exText(line, in.at, s)
		}
	}
}

func (a *analyser) ed(p *program, args []arg, s scope) {
	for i := range args[1:] {
		if w := &args[1+i]; w.kind == aLit && strings.HasPrefix(w.val, "!") {
			a.codeUnit("sh", w.val[1:], w.at, s, "ed !")
		}
	}
	a.editorInput(args, s)
}

// less runs what stands after +!.
func (a *analyser) less(p *program, args []arg, s scope) {
	for i := range args[1:] {
		if w := &args[1+i]; strings.HasPrefix(w.val, "+") && strings.Contains(w.val, "!") {
			a.exText(w.val, w.at, s)
		} else if strings.HasPrefix(w.val, "+") && strings.Contains(w.val, "|") {
			a.codeUnit("sh", w.val[strings.IndexByte(w.val, '|')+1:], w.at, s, "less |")
		}
	}
}

// fzf: placeholders in braces are quoted by fzf; a binding runs what stands in execute(..) and its like.
func (a *analyser) fzf(p *program, args []arg, s scope) {
	code := func(v *arg, name string) {
		if v.kind != aLit {
			a.runCode("sh", []arg{*v}, s, "fzf "+name)
			return
		}
		a.codeUnit("sh", fill(*v).val, v.at, s, "fzf "+name)
	}
	for i := 1; i < len(args); i++ {
		name, _, glued := strings.Cut(args[i].val, "=")
		if name != "--preview" && name != "--bind" {
			continue
		}
		v := gluedValue(&args[i], len(name)+1)
		if !glued {
			if i++; i >= len(args) {
				return
			}
			v = &args[i]
		}
		if name == "--preview" {
			code(v, name)
			continue
		}
		if v.kind != aLit {
			a.cannotTell("R8", v, s, "the binding is only known at run time", "")
			continue
		}
		for _, action := range []string{"execute", "execute-silent", "become", "reload", "reload-sync", "transform", "preview"} {
			for _, pair := range []string{"()", "[]", "{}", "<>"} {
				for rest := v.val; ; {
					_, after, ok := strings.Cut(rest, action+pair[:1])
					if !ok {
						break
					}
					inner := after
					if end := strings.LastIndex(after, pair[1:]); end >= 0 {
						inner = after[:end]
					}
					w := arg{val: inner, at: v.at}
					code(&w, name)
					rest = after
				}
			}
			if _, after, ok := strings.Cut(v.val, action+":"); ok {
				w := arg{val: after, at: v.at}
				code(&w, name)
			}
		}
	}
}

// crontab takes a table from stdin: each line ends in code.
func (a *analyser) crontab(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	o.strict = false
	listing := false
	o.seen = func(name string, _ *arg) {
		listing = listing || name == "-l" || name == "-r" || name == "-e"
	}
	i := o.next()
	if listing || i >= 0 && !args[i].is("-") && !stdinPath(&args[i]) {
		return
	}
	in := s.stdin
	switch in.kind {
	case stdinFile, stdinEmpty:
	case stdinCode:
		if !in.plain {
			a.cannotTell("R9", &args[0], s, "the table for crontab is only known at run time", "")
			return
		}
		for line := range strings.SplitSeq(in.body, "\n") {
			a.cronLine(line, in.at, s)
		}
	default:
		a.cannotTell("R9", &args[0], s, "crontab reads commands from a stream", "")
	}
}

func (a *analyser) cronLine(line string, at int, s scope) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return
	}
	n := 5
	if line[0] == '@' {
		n = 1
	}
	for range n {
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return
		}
		line = strings.TrimLeft(line[i:], " \t")
	}
	a.codeUnit("sh", line, at, s, "crontab")
}

// at reads commands from its stdin unless it is given a file or only lists.
func (a *analyser) at(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	o.strict = false
	other := false
	o.seen = func(name string, v *arg) {
		switch name {
		case "-l", "-r", "-d", "-c", "-V":
			other = true
		case "-f":
			other = true
			if v != nil {
				a.scriptFile("sh", v, s, p.first)
			}
		}
	}
	for i := o.next(); i >= 0 && !o.failed; i = o.next() {
		o.i++
	}
	if !other {
		a.feed("sh", &args[0], s, fold(args[0].val))
	}
}

// perf: stat, record and trace run a command after their options.
func (a *analyser) perf(p *program, args []arg, s scope) {
	if len(args) < 2 || !slices.Contains([]string{"stat", "record", "trace", "kvm", "mem", "sched", "lock"}, args[1].val) {
		return
	}
	row := &program{names: "perf", first: "perf " + args[1].val, rest: "command", opts: "-e: --event= -a --all-cpus -d --detailed -g -r: --repeat= -o: --output= -C: --cpu= -p: --pid= -t: --tid= -v --verbose -q --quiet -x: --field-separator= -A --no-aggr -B --big-num -c: --count= -F: --freq= --call-graph= -s --summary -S -i --no-inherit -I: --interval-print= -n --null --per-core --per-socket --per-thread --per-node -M: --metrics= -T --transaction -m: --mmap-pages= -D: --delay= --pre!  --post! -h% --help% --append -G: --cgroup= -k: --clockid= -R --raw-samples -b -j: --branch-filter= -u: --uid= -w --timeout= --topdown -y"}
	row.once.Do(row.parseOptions)
	o := a.options(row, args[1:], s)
	o.via, o.lax = row.first, true
	if i := o.next(); i >= 0 && !o.failed {
		a.inner(o, "command", i)
	}
}

// gdb: --args begins a command; -ex runs a command of gdb's own, which may be a shell.
func (a *analyser) gdb(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.is("--args"), w.is("-args"), w.is("--"):
			a.call(args[i+1:], s.wrapped(p.first))
			return
		case w.is("-ex"), w.is("--ex"), w.is("--eval-command"), w.is("-o"), w.is("--one-line"), w.is("-iex"):
			if i++; i < len(args) {
				a.debugCommand(&args[i], s, p.first)
			}
		}
	}
}

func (a *analyser) debugCommand(w *arg, s scope, via string) {
	if w.kind != aLit {
		a.cannotTell("R8", w, s, "the command of the debugger is only known at run time", "")
		return
	}
	text := strings.TrimSpace(w.val)
	for _, prefix := range []string{"shell ", "!", "make ", "platform shell ", "pipe "} {
		if code, ok := strings.CutPrefix(text, prefix); ok {
			if prefix == "pipe " {
				_, code, _ = strings.Cut(code, "|")
			}
			a.codeUnit("sh", code, w.at, s, via+" "+strings.TrimSpace(prefix))
		}
	}
}

// ip netns exec NAME COMMAND, ip vrf exec NAME COMMAND.
func (a *analyser) ip(p *program, args []arg, s scope) {
	k := wordAt(args, "exec")
	if k < 0 {
		return
	}
	skip := 2
	if slices.ContainsFunc(args[:k], func(w arg) bool { return w.is("-all") || w.is("-a") }) {
		skip = 1
	}
	if k+skip < len(args) {
		if w := &args[k+1]; skip == 2 && w.kind == aSplit && !w.free {
			a.cannotTell("R7", w, s, "this word may become none or several before the command that ip starts", "quote it")
			return
		}
		a.call(args[k+skip:], s.wrapped("ip exec"))
		if skip == 2 && args[k+1].kind != aLit {
			a.doubt(args[k+skip:], s.wrapped("ip exec"))
		}
	}
}

// tmux and screen start programs and type into shells: every literal word counts as code.
func (a *analyser) tmux(p *program, args []arg, s scope) {
	starts := slices.ContainsFunc(args[1:], func(w arg) bool {
		switch w.val {
		case "new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "respawnp", "respawn-window", "respawnw", "run-shell", "run", "if-shell", "if", "pipe-pane", "pipep", "send-keys", "send", "display-popup", "popup", "set-hook", "bind-key", "bind", "stuff", "exec":
			return true
		}
		return w.kind != aLit
	})
	if !starts && p.first == "tmux" && args[0].val != "screen" {
		return
	}
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit {
			if !w.free && (w.kind == aSplit || w.val == "") {
				a.cannotTell("R8", w, s, "what "+fold(args[0].val)+" starts is only known at run time", "")
			}
			continue
		}
		if w.dash() || w.val == "Enter" || w.val == "C-m" {
			continue
		}
		text := strings.TrimRight(strings.ReplaceAll(w.val, "\r", "\n"), "\n")
		a.codeUnit("sh", strings.TrimSuffix(strings.TrimSuffix(text, `\n`), "^M"), w.at, s.from(unknownStdin("a terminal")), fold(args[0].val))
	}
}

// terminal emulators run what follows -e, -x or --.
func (a *analyser) terminal(p *program, args []arg, s scope) {
	for i := 1; i+1 < len(args); i++ {
		switch args[i].val {
		case "-e", "--execute", "-x", "--", "--command":
			if i+2 == len(args) {
				a.runCode("sh", args[i+1:], s, p.first)
			} else {
				a.call(args[i+1:], s.wrapped(p.first))
			}
			return
		}
	}
}

// socat addresses and the -e and -c of netcat are commands.
func (a *analyser) socat(p *program, args []arg, s scope) {
	name := fold(args[0].val)
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if name != "socat" {
			if (w.is("-e") || w.is("-c") || w.is("--exec") || w.is("--sh-exec")) && i+1 < len(args) {
				a.runCode("sh", args[i+1:i+2], s, name)
			}
			continue
		}
		kind, code, ok := strings.Cut(w.val, ":")
		switch strings.ToUpper(kind) {
		case "EXEC", "SYSTEM", "SHELL":
			if ok && w.kind == aLit {
				code, _, _ = strings.Cut(code, ",")
				a.codeUnit("sh", strings.Trim(code, `"'`), w.at, s, "socat")
			} else {
				a.cannotTell("R8", w, s, "the command that socat runs is only known at run time", "")
			}
		}
	}
}

// apt: settings named Invoke and their like are commands.
func (a *analyser) apt(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		v := w
		if w.is("-o") || w.is("--option") {
			if i++; i >= len(args) {
				return
			}
			v = &args[i]
		} else if !strings.HasPrefix(w.val, "-o") {
			continue
		}
		if key, code, ok := strings.Cut(v.val, "="); ok && (strings.Contains(strings.ToLower(key), "invoke") || strings.Contains(strings.ToLower(key), "install-pkgs")) {
			a.codeUnit("sh", code, v.at, s, p.first+" -o")
		}
	}
}

// sqlClient: the clients' own escape to a shell.
func (a *analyser) sqlClient(p *program, args []arg, s scope) {
	look := func(text string, at int) {
		for line := range strings.SplitSeq(text, "\n") {
			for _, mark := range []string{`\!`, ".shell ", ".system ", "system ", `\system `} {
				line := strings.TrimSpace(line)
				i := strings.Index(line, mark)
				if i < 0 || mark != `\!` && i > 0 {
					continue
				}
				a.codeUnit("sh", strings.TrimSuffix(line[i+len(mark):], ";"), at, s, fold(args[0].val)+" "+strings.TrimSpace(mark))
			}
		}
	}
	for i := range args[1:] {
		if w := &args[1+i]; w.kind == aLit {
			look(w.val, w.at)
		}
	}
	if s.stdin.kind == stdinCode {
		look(s.stdin.body, s.stdin.at)
	}
}

// hg and svn: settings and options that are commands.
func (a *analyser) hg(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		name, _, glued := strings.Cut(w.val, "=")
		switch name {
		case "--diff-cmd", "--diff3-cmd", "--editor-cmd", "--merge-tool", "--ssh", "--remotecmd", "-e":
			v := gluedValue(w, len(name)+1)
			if !glued {
				if i++; i >= len(args) {
					return
				}
				v = &args[i]
			}
			a.runCode("sh", []arg{*v}, s, fold(args[0].val)+" "+name)
		case "--config", "--config-option":
			v := gluedValue(w, len(name)+1)
			if !glued {
				if i++; i >= len(args) {
					return
				}
				v = &args[i]
			}
			key, code, ok := strings.Cut(v.val, "=")
			switch {
			case v.kind != aLit && !ok:
				a.cannotTell("R7", v, s, "which setting this is is only known at run time", "")
			case strings.HasPrefix(key, "alias.") && strings.HasPrefix(code, "!"):
				a.codeUnit("sh", code[1:], v.at, s, name)
			case strings.HasPrefix(key, "hooks.") || strings.HasPrefix(key, "ui.editor") || strings.HasPrefix(key, "ui.ssh") || strings.HasPrefix(key, "pager.") || strings.Contains(key, "-cmd") || strings.HasPrefix(key, "extdiff.") || strings.Contains(key, "tunnels:"):
				a.codeUnit("sh", code, v.at, s, name)
			}
		}
	}
}

// goTool: -exec and -toolexec take a command line.
func (a *analyser) goTool(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		name, _, glued := strings.Cut(args[i].val, "=")
		name = strings.TrimPrefix(name, "-")
		if name != "-exec" && name != "-toolexec" && name != "exec" && name != "toolexec" || !args[i].dash() {
			continue
		}
		if glued {
			a.runCode("sh", []arg{*gluedValue(&args[i], strings.IndexByte(args[i].val, '=')+1)}, s, "go -exec")
		} else if i+1 < len(args) {
			a.runCode("sh", args[i+1:i+2], s, "go -exec")
		}
	}
}
