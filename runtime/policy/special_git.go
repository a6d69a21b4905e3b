package policy

import (
	"slices"
	"strings"
)

// gitGlobal are git's own options before the subcommand; the second row takes a value in the next word.
var (
	gitFlags  = set(strings.Fields("--version -v --help -h --html-path --man-path --info-path -p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-advice --no-lazy-fetch --exec-path"))
	gitValues = set(strings.Fields("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --list-cmds --exec-path --shallow-file"))
)

// git opens what its options, keys and subcommands name as commands.
func (a *analyser) git(p *program, args []arg, s scope) {
	a.inShell++ // a setting that cannot be told is code that cannot
	defer func() { a.inShell-- }()
	i := 1
	for ; i < len(args); i++ {
		w := &args[i]
		if w.kind == aTail {
			return
		}
		if w.kind != aLit && !w.dash() {
			if w.val == "" {
				a.mayHide(args, i, s, "-c", "--config", "--exec", "--upload", "--receive", "alias", "ext::", "--extcmd", "-x", "-O")
			}
			if w.kind == aSplit || w.free {
				continue
			}
			break
		}
		if !w.dash() {
			break
		}
		if w.kind != aLit && a.mayBecome(w, s, "-c", "--config-env", "--exec-path") {
			return
		}
		name, _, glued := strings.Cut(w.val, "=")
		switch {
		case name == "-c":
			if i++; i < len(args) {
				a.gitKey(&args[i], s)
			}
		case name == "--config-env":
			a.cannotTell("R7", w, s, "--config-env takes a setting of git from a variable", "write the setting with -c")
			if !glued {
				i++
			}
		case name == "--exec-path" && glued:
			a.sets(EnvSet{Name: "GIT_EXEC_PATH", At: w.at, Via: "git --exec-path"})
		case strings.HasPrefix(w.val, "-c") && len(w.val) > 2 && w.val[1] == 'c':
			a.gitKey(gluedValue(w, 2), s)
		case gitValues[name] && !glued:
			if i++; i < len(args) && args[i].kind == aSplit && !args[i].free {
				a.assigned(s, args[i].at)
			}
		case gitFlags[name], gitValues[name]:
		}
	}
	if i < len(args) {
		a.gitCommand(args[i:], s)
	}
}

// gitCommand looks at a subcommand and its arguments.
func (a *analyser) gitCommand(args []arg, s scope) {
	for i := range args {
		w := &args[i]
		if i > 0 && w.kind != aLit {
			a.mayBecome(w, s, "--exec", "--upload-pack", "--receive-pack", "--extcmd", "--open-files-in-pager", "--config", "--tree-filter", "--smtp-server", "ext::")
		}
		if i > 0 && w.kind != aLit && w.val == "" {
			a.mayHide(args, i, s, "--exec", "--upload", "--receive", "ext::", "--extcmd", "-x", "-O", "!")
		}
		if _, code, ok := strings.Cut(w.val, "ext::"); ok {
			if w.kind != aLit {
				a.cannotTell("R7", w, s, "the command of the ext transport is only known at run time", "")
			} else {
				a.codeUnit("sh", strings.NewReplacer("%S", "x", "%s", "x", "%G", "x", "%V", "x", "% ", "\\ ", "%%", "%").Replace(code), w.at, s, "git ext::")
			}
		}
	}
	switch name := args[0].val; name {
	case "config":
		a.gitConfig(args, s)
	case "clone", "fetch", "pull", "push", "ls-remote", "fetch-pack", "send-pack", "archive", "remote":
		a.gitOption(args, s, "--upload-pack", "--receive-pack", "--exec")
		if name == "clone" {
			a.gitOption(args, s, "-u")
			a.gitKeys(args, s, "-c", "--config")
		}
	case "rebase":
		a.gitOption(args, s, "-x", "--exec")
	case "difftool":
		a.gitOption(args, s, "-x", "--extcmd")
	case "grep":
		a.gitOption(args, s, "-O", "--open-files-in-pager")
	case "submodule":
		a.gitSubmodule(args, s)
	case "bisect":
		if k := wordAt(args, "run"); k > 0 {
			a.call(args[k+1:], s.wrapped("git bisect run"))
		}
	case "filter-branch":
		a.gitOption(args, s, "--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--parent-filter", "--commit-filter", "--tag-name-filter", "--setup")
	case "send-email":
		a.gitOption(args, s, "--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd", "--sendmail-cmd")
	case "instaweb":
		a.gitOption(args, s, "-d", "--httpd", "-b", "--browser")
	case "daemon":
		a.gitOption(args, s, "--access-hook")
	case "for-each-repo", "credential", "hook":
	case "worktree", "init":
		a.gitKeys(args, s, "--config")
	}
}

// wordAt finds a literal word among the arguments.
func wordAt(args []arg, word string) int {
	return slices.IndexFunc(args, func(w arg) bool { return w.is(word) })
}

// gitOption runs the values of options as code; abbreviations of the long ones count.
func (a *analyser) gitOption(args []arg, s scope, names ...string) {
	a.gitValues(args, names, func(w *arg, name string) {
		via := "git " + args[0].val + " " + name
		if w.kind == aLit && w.val != "" && strings.Trim(w.val, "0123456789") == "" {
			return // -u1 and its like are something else
		}
		if src, ok := a.codeOf([]arg{*w}); ok && w.kind != aSplit && !args[0].is("rebase") && !strings.HasSuffix(name, "filter") {
			a.codeUnit("sh", src+` "$1"`, w.at, s, via) // git adds the repository or file: behind a mere assignment it is the command
			return
		}
		a.runCode("sh", []arg{*w}, s, via)
	})
}

func (a *analyser) gitKeys(args []arg, s scope, names ...string) {
	a.gitValues(args, names, func(w *arg, _ string) { a.gitKey(w, s) })
}

func (a *analyser) gitValues(args []arg, names []string, found func(*arg, string)) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.is("--") {
			return
		}
		for _, name := range names {
			switch {
			case strings.HasPrefix(name, "--"):
				option, _, glued := strings.Cut(w.val, "=")
				if len(option) < 3 || !strings.HasPrefix(name, option) {
					continue
				}
				if glued {
					found(gluedValue(w, len(option)+1), name)
				} else if i+1 < len(args) && name != "--open-files-in-pager" {
					found(&args[i+1], name)
				}
			case w.is(name):
				if i+1 < len(args) && name != "-O" {
					found(&args[i+1], name)
				}
			case strings.HasPrefix(w.val, name) && len(w.val) > 2:
				found(gluedValue(w, 2), name)
			}
		}
	}
}

// gitSubmodule: foreach runs its operands as code.
func (a *analyser) gitSubmodule(args []arg, s scope) {
	k := wordAt(args, "foreach")
	if k < 0 {
		return
	}
	rest := args[k+1:]
	for len(rest) > 0 && (rest[0].is("--recursive") || rest[0].is("--quiet") || rest[0].is("-q") || rest[0].is("--")) {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	if rest[0].kind == aLit && rest[0].dash() {
		a.cannotTell("R7", &rest[0], s, a.show(&rest[0])+" is no documented option of git submodule foreach", "")
		return
	}
	a.runCode("sh", rest, s, "git submodule foreach")
}

// gitConfig stores a setting: a command in it runs later.
func (a *analyser) gitConfig(args []arg, s scope) {
	var operands []*arg
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.is("-f"), w.is("--file"), w.is("--blob"), w.is("-t"), w.is("--type"), w.is("--default"), w.is("--comment"), w.is("--value"), w.is("--url"):
			i++
		case w.kind == aLit && w.dash() && len(operands) == 0:
		default:
			operands = append(operands, w)
		}
	}
	if len(operands) > 0 && operands[0].kind == aLit && slices.Contains([]string{"set", "get", "list", "unset", "edit", "rename-section", "remove-section"}, operands[0].val) {
		operands = operands[1:]
	}
	if len(operands) < 2 {
		return
	}
	key := operands[0]
	if key.kind != aLit {
		a.cannotTell("R7", key, s, "which setting of git this is is only known at run time", "write the key literally")
		return
	}
	a.gitSetting(key.val, operands[1], s)
}

// gitKey is KEY=VALUE of -c.
func (a *analyser) gitKey(w *arg, s scope) {
	key, value, assigned := strings.Cut(w.val, "=")
	if w.kind != aLit && !assigned {
		a.cannotTell("R7", w, s, "which setting of git this is is only known at run time", "write the key literally")
		return
	}
	v := gluedValue(w, len(key)+1)
	if w.kind == aLit {
		v = &arg{val: value, at: w.at}
	}
	a.gitSetting(key, v, s)
}

// gitSetting judges one setting. Keys fold, except for their middle part.
func (a *analyser) gitSetting(key string, v *arg, s scope) {
	key = strings.ToLower(key)
	via := "git " + key
	if key == "core.hookspath" || key == "init.templatedir" || key == "include.path" || strings.HasPrefix(key, "includeif.") {
		a.sets(EnvSet{Name: "GIT_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")), At: v.at, Via: via})
		return
	}
	code := false
	switch {
	case strings.HasPrefix(key, "alias."):
		if v.kind == aLit && !strings.HasPrefix(strings.TrimSpace(v.val), "!") {
			a.gitAlias(v, s, via)
			return
		}
		code = true
	case strings.HasPrefix(key, "credential.") && strings.HasSuffix(key, "helper"):
		// A plain name is git-credential-NAME.
		code = v.kind != aLit || strings.ContainsAny(v.val, "!/")
	case strings.HasPrefix(key, "submodule.") && strings.HasSuffix(key, ".update"):
		code = v.kind != aLit || strings.HasPrefix(v.val, "!")
	case strings.HasPrefix(key, "pager."):
		code = v.kind != aLit || v.val != "true" && v.val != "false"
	case key == "core.fsmonitor":
		code = v.kind != aLit || v.val != "true" && v.val != "false"
	default:
		code = gitCommandKey(key)
	}
	if !code {
		return
	}
	if v.kind == aLit {
		text := strings.TrimPrefix(strings.TrimSpace(v.val), "!")
		a.codeUnit("sh", strings.NewReplacer("%O", "x", "%A", "x", "%B", "x", "%P", "x", "%f", "x", "%L", "x").Replace(text), v.at, s, via)
		return
	}
	a.runCode("sh", []arg{*v}, s, via)
}

// gitAlias is an alias for words of git itself; they may hold options that are commands.
func (a *analyser) gitAlias(v *arg, s scope, via string) {
	if strings.ContainsAny(v.val, "\"'\\") || strings.Contains(v.val, "-c") || strings.Contains(v.val, "--") {
		a.codeUnit("sh", "git "+v.val, v.at, s, via)
	}
}

// gitCommandKey says whether a setting is a command.
func gitCommandKey(key string) bool {
	switch key {
	case "core.editor", "core.pager", "core.sshcommand", "core.askpass", "core.gitproxy", "core.alternaterefscommand", "sequence.editor", "diff.external", "gpg.program",
		"gpg.ssh.defaultkeycommand", "uploadpack.packobjectshook", "interactive.difffilter", "web.browser", "help.browser", "sendemail.smtpserver", "sendemail.tocmd", "sendemail.cccmd", "sendemail.headercmd", "sendemail.sendmailcmd",
		"instaweb.httpd", "instaweb.browser", "receive.procreceiverefs", "imap.tunnel", "ssh.variant.command":
		return true
	}
	section, rest, _ := strings.Cut(key, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "diff":
		return last == "command" || last == "textconv"
	case "difftool", "mergetool", "guitool", "browser", "man":
		return last == "cmd" || last == "path"
	case "merge":
		return last == "driver"
	case "filter":
		return last == "clean" || last == "smudge" || last == "process"
	case "gpg":
		return last == "program"
	case "trailer":
		return last == "command" || last == "cmd"
	case "remote":
		return last == "uploadpack" || last == "receivepack"
	case "tar":
		return last == "command"
	}
	return false
}

// gh: an alias that begins with ! is code; an extension is a program of its own.
func (a *analyser) gh(p *program, args []arg, s scope) {
	if len(args) > 4 && args[1].is("alias") && args[2].is("set") {
		w := &args[len(args)-1]
		if w.kind == aLit && !strings.HasPrefix(w.val, "!") && wordAt(args, "-s") < 0 && wordAt(args, "--shell") < 0 {
			return
		}
		if w.kind == aLit {
			a.codeUnit("sh", strings.TrimPrefix(w.val, "!"), w.at, s, "gh alias set")
			return
		}
		a.cannotTell("R8", w, s, "the alias is only known at run time", "")
	}
}
