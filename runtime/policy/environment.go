package policy

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// varKind says what a variable's value is to the programs that read it.
type varKind uint8

const (
	dataVar   varKind = iota
	codeVar           // a command
	textVar           // text that a shell expands
	optionVar         // options of a program
)

// codeVars name a command that some program runs. MAKEFLAGS and its like are the interpreter's own business (R15).
var codeVars = set(strings.Fields(`
	PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER BAT_PAGER DELTA_PAGER AWS_PAGER GH_PAGER PSQL_PAGER HGPAGER
	EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SVN_EDITOR HGEDITOR CVSEDITOR SUDO_EDITOR SYSTEMD_EDITOR FCEDIT KUBE_EDITOR GH_EDITOR PSQL_EDITOR BUNDLER_EDITOR P4EDITOR
	GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ALTERNATE_OBJECT_COMMAND
	LESSOPEN LESSCLOSE LESSEDIT BROWSER GH_BROWSER RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH CVS_SERVER SVN_SSH BORG_RSH
	PROMPT_COMMAND FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND FZF_ALT_C_COMMAND TAR_RSH MANROFF MANDOC TROFF
	CARGO_BUILD_RUSTC_WRAPPER RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER GIT_TEMPLATE_COMMAND DIFFTOOL ACLOCAL_COMMAND XDG_OPEN_COMMAND TERMINAL MAILER SHELL_COMMAND DOCKER_PAGER PULUMI_EDITOR
`))

// holdsCode says how a variable's value must be judged.
func holdsCode(name string) varKind {
	switch name {
	case "PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV":
		return textVar
	case "TAR_OPTIONS", "LESS", "MANOPT", "FZF_DEFAULT_OPTS", "RSYNC_OPTIONS", "GREP_OPTIONS", "ZIPOPT", "UNZIP", "RIPGREP_OPTIONS", "XZ_OPT":
		return optionVar
	}
	if codeVars[name] {
		return codeVar
	}
	return dataVar
}

// rebinding variables give names another meaning, in either mode (R12).
func rebinding(name string) bool {
	switch name {
	case "BASH_ALIASES", "BASH_CMDS", "GIT_CONFIG_PARAMETERS":
		return true
	}
	return strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// identityNames and identityPrefixes are variables that decide what a listed name does (R10, whitelist mode).
var identityNames = set(strings.Fields(`
	PATH IFS HOME CDPATH SHELLOPTS BASHOPTS BASH_ENV ENV EXECIGNORE GLOBIGNORE FIGNORE POSIXLY_CORRECT BASH_COMPAT BASH_LOADABLES_PATH FUNCNEST
	SHELL TMPDIR INPUTRC HISTFILE MAILPATH MAIL HOSTFILE TERMINFO TERMINFO_DIRS TERMCAP LOCPATH NLSPATH GCONV_PATH HOSTALIASES RESOLV_HOST_CONF GETCONF_DIR
	GLIBC_TUNABLES MALLOC_CONF CLASSPATH JDK_JAVA_OPTIONS _JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES MAKESHELL
	CC CXX CPP LD AR AS RANLIB STRIP LESSKEY LESSKEYIN LESSKEY_SYSTEM MANPATH INFOPATH PKG_CONFIG PKG_CONFIG_PATH ACLOCAL_PATH
	SSH_AUTH_SOCK EXINIT VIMINIT GVIMINIT VIM VIMRUNTIME MYVIMRC EMACSLOADPATH COLUMNS_COMMAND PROMPT_COMMAND DOCKER_HOST DOCKER_CONFIG KUBECONFIG
	RIPGREP_CONFIG_PATH FZF_DEFAULT_OPTS_FILE CURL_HOME WGETRC SYSTEM_WGETRC NETRC GNUPGHOME PERL5LIB PERL5OPT PERL5DB BASH_XTRACEFD ORIGIN OPENSSL_CONF SSL_CERT_FILE SSLKEYLOGFILE
`))

var identityPrefixes = strings.Fields(`
	LD_ DYLD_ GIT_ PYTHON PERL RUBY GEM_ BUNDLE_ NODE_ NPM_ npm_ YARN_ JAVA_ JVM_ LUA_ PHP_ PHPRC R_ GO111 GOFLAGS GOPATH GOROOT GOTOOL GOENV GOPROXY GOCACHE
	CARGO_ RUST PIP_ UV_ POETRY_ CONDA_ VIRTUAL_ENV XDG_ BASH_FUNC_ BASH_ALIASES BASH_CMDS _RLD LIBPATH SHLIB_PATH CMAKE_ CCACHE_ DISTCC_ TCL DENO_ BUN_ DOTNET_ COR_ CORECLR_ MONO_
	DEBUGINFOD_ GCC_ COMPILER_PATH LIBRARY_PATH CPATH AWKPATH AWKLIBPATH ERL_ ELIXIR_ JULIA_ GUILE_ SSH_ SUDO_ QT_ GTK_ GIO_ GST_
`)

// harmlessNames fall under a prefix above and decide nothing.
var harmlessNames = set(strings.Fields(`
	GIT_TERMINAL_PROMPT GIT_MERGE_AUTOEDIT GIT_OPTIONAL_LOCKS GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_REFLOG_ACTION GIT_ADVICE GIT_NO_LAZY_FETCH GIT_LITERAL_PATHSPECS
	PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONOPTIMIZE PYTHONNOUSERSITE PYTHONFAULTHANDLER PYTHONTRACEMALLOC
	NODE_ENV RUST_LOG RUST_BACKTRACE RUBYOPT_NONE PIP_NO_CACHE_DIR PIP_DISABLE_PIP_VERSION_CHECK CARGO_TERM_COLOR NPM_CONFIG_LOGLEVEL
`))

// identity says whether setting a variable changes what listed names do.
func identity(name string) bool {
	if harmlessNames[name] || strings.HasPrefix(name, "GIT_AUTHOR_") || strings.HasPrefix(name, "GIT_COMMITTER_") {
		return false
	}
	if identityNames[name] {
		return true
	}
	return slices.ContainsFunc(identityPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// env judges the env parameter like assignments before the text.
func (a *analyser) env(in Input) {
	if len(in.Env) == 0 {
		return
	}
	a.u = &unit{shell: "bash", fixed: true, origin: -1}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		value := in.Env[name]
		a.sets(EnvSet{Name: name, At: -1, Via: "env"})
		a.vars.add(name, value)
		a.value(value, -1)
		s := scope{stdin: unknownStdin("a variable"), kind: Wrapped}
		switch holdsCode(name) {
		case codeVar:
			a.codeUnit("sh", value, -1, s, name)
		case textVar:
			a.expandable(value, -1, s, name)
		case optionVar:
			a.optionsVar(name, &value, &arg{at: -1}, s)
		}
	}
	a.u = nil
}

// settle judges the variables whose values are commands, from the given one on, now that all of the text is known.
func (a *analyser) settle(from int) {
	for i := from; i < len(a.pending); i++ {
		p := a.pending[i]
		outer := a.u
		a.u = p.u
		s := scope{stdin: unknownStdin("a variable"), kind: Wrapped, via: p.u.via}
		w := arg{at: p.u.at(p.word.Pos()), word: p.word}
		src, ok := a.codeText(p.word, false)
		value := &src
		if !ok {
			value = nil
		}
		switch holdsCode(p.name) {
		case codeVar:
			a.variableCode(p.name, value, &w, s)
		case textVar:
			if ok {
				a.expandable(src, w.at, s, p.name)
			} else if a.hostile(p.word) {
				a.issue(Issue{Rule: "R10", Command: p.name, At: w.at, Message: "the value of " + p.name + ", which the shell expands, is only known at run time"})
			}
		case optionVar:
			a.optionsVar(p.name, value, &w, s)
		}
		a.u = outer
	}
	a.pending = a.pending[:from]
}

// hostile says whether a prompt's value may hold an expansion: it quotes one, or takes text from elsewhere than variables.
func (a *analyser) hostile(w *syntax.Word) bool {
	var b strings.Builder
	pieces(&b, w.Parts)
	return baited(b.String()) || a.anyBait()
}

func (a *analyser) variableCode(name string, src *string, w *arg, s scope) {
	if src == nil {
		a.issue(Issue{Rule: "R10", Command: name, Via: s.via, At: w.at, Message: "the value of " + name + ", which holds a command, is only known at run time"})
		return
	}
	text := *src
	if name == "LESSOPEN" {
		text = strings.TrimLeft(text, "|-") // says that less reads a pipe
	}
	a.codeUnit("sh", text, w.at, s, name)
}

// expandable text is expanded by a shell as the body of a here-document is. Prompts first lose their backslashes, so both
// readings count.
func (a *analyser) expandable(text string, at int, s scope, via string) {
	const end = "END_OF_THE_VALUE"
	if strings.Contains(text, `\0`) || strings.Contains(text, end) {
		a.issue(Issue{Rule: "R10", Command: via, Via: s.via, At: at, Message: "the value of " + via + " hides characters behind numbers"})
		return
	}
	if !strings.ContainsAny(text, "$`") {
		return
	}
	a.codeUnit("bash", ": <<"+end+"\n"+text+"\n"+end+"\n", at, s, via)
	if bare := strings.ReplaceAll(text, `\`, ""); bare != text {
		a.codeUnit("bash", ": <<"+end+"\n"+bare+"\n"+end+"\n", at, s, via)
	}
}

// optionsVar judges a variable that holds options of a program.
func (a *analyser) optionsVar(name string, src *string, w *arg, s scope) {
	programName, ok := map[string]string{"TAR_OPTIONS": "tar", "LESS": "less", "MANOPT": "man", "FZF_DEFAULT_OPTS": "fzf", "ZIPOPT": "zip"}[name]
	if !ok {
		return
	}
	if src == nil {
		a.issue(Issue{Rule: "R10", Command: name, Via: s.via, At: w.at, Message: "the value of " + name + ", which holds options, is only known at run time"})
		return
	}
	value := strings.TrimSpace(*src)
	if name == "LESS" && value != "" && !strings.HasPrefix(value, "-") && !strings.HasPrefix(value, "+") {
		value = "-" + value
	}
	a.codeUnit("sh", programName+" "+value, w.at, s, name)
}
