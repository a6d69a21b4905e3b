package ssh

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
)

// marker is the variable by which a command's processes are found again, wherever they went.
const marker = "CMDEXEC_ID"

// Kinds of messages between an outer shell and us. Each is "\036WORD", a kind, a body and "\036".
const (
	clean   = '~' // on both streams: what the login shell's files print is over
	begins  = '<' // on stdout: the command begins; the body is the shell's pid
	refuses = '!' // on both: there is no such directory, and nothing ran
	ends    = '=' // on both: how it ended
	answers = '+' // of the control shell: a request's number and what it found
)

// The outer shell takes shell text in chunks from its stdin and evaluates them. A chunk ends with a line that is the
// random word given first, so no text needs an encoding, and no value stands in an argv. `read` takes byte by byte from
// a pipe, so what follows the last chunk is left for the command's own stdin.
const bootstrap = `IFS= read -r e||exit 0
while :;do c=;while :;do IFS= read -r l||exit 0;[ "$l" = "$e" ]&&break;c="$c$l
";done;eval "$c";done`

// A terminal would echo what is typed and end its lines at 4096 bytes, so it is raw until the command begins.
const bootstrapTTY = `s=$(stty -g)&&stty raw -echo||exit 125
e="$1";printf "\036%s~\036" "$e"
while :;do c=;while :;do IFS= read -r l||exit 0;[ "$l" = "$e" ]&&break;c="$c$l
";done;eval "$c";done`

// dialog is what both sides of one outer shell agreed on.
type dialog struct {
	id   string // the marker's value
	word string
}

func randomWord() string { return "cem" + strings.ToLower(rand.Text()) } // 130 random bits

func (d dialog) mark() []byte { return []byte("\x1e" + d.word) }

// maxLine is less than the 9000 bytes that dropbear takes, and the 128 KiB that Linux takes.
const maxLine = 8000

// line is what the login shell is given: it must mean the same to every shell but csh. text is what the outer shell runs
// instead of reading its input: OpenSSH takes no input before it has started the command, so that reading costs one more
// round trip. It must hold no variable's value.
func (d dialog) line(login, tty bool, text string) string {
	argv := "exec env " + marker + "=" + d.id + " sh -c "
	switch {
	case tty:
		argv += shell.Quote(bootstrapTTY) + " sh " + d.word
	case text != "":
		argv += shell.Quote("e=" + d.word + "\n" + text)
	default:
		argv += shell.Quote(bootstrap)
	}
	if login {
		return `exec "$SHELL" -lc ` + shell.Quote(argv)
	}
	return argv
}

// plain takes away all that would change how a plain shell reads its text.
const plain = `set +aefux;unalias -a 2>/dev/null
[ -z "$BASH_VERSION" ]||{ unset -f $(compgen -A function);export -n SHELLOPTS BASHOPTS; } 2>/dev/null
unset BASH_ENV ENV PS4 PROMPT_COMMAND CDPATH GLOBIGNORE IFS
`

// quiet is set unless the config or the call sets it: nobody is there to answer a pager or a prompt.
const quiet = `export NO_COLOR=1 PAGER=cat GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 DEBIAN_FRONTEND=noninteractive
`

// helpers are defined before the command is known, so that little is left to be read when it comes; $e is the word.
// After the end the streams are closed, so that the far side can tell at once whether somebody else holds them.
const helpers = `cem_say(){ printf '\036%s%s\036' "$e" "$1";[ "$t" ]||printf '\036%s%s\036' "$e" "$1" >&4;}
cem_enter(){ cd -- "$1" 2>/dev/null&&return;k=m;[ -e "$1" ]&&k=f;[ -d "$1" ]&&k=p;d="$1"
while [ "$d" ]&&! [ -d "$d" ];do d="${d%/*}";done;cem_say "!$k${d:-/}";exit 0;}
cem_begin(){ printf '\036%s<%s\036' "$e" $$;}
cem_finish(){ cem_say "=$?";exec >&- 4>&-;exit 0;}
`

// typed is the first line and a chunk, as an outer shell reads them that has read nothing yet.
func (d dialog) typed(chunk string) string { return d.word + "\n" + d.chunk(chunk) }

// chunk ends a chunk.
func (d dialog) chunk(text string) string { return text + d.word + "\n" }

// setup is the first chunk, run before the command is known.
func (d dialog) setup(env map[string]string) string {
	var s strings.Builder
	s.WriteString(plain + quiet + "export TERM=dumb\n")
	exports(&s, env)
	// From here on the outer shell itself says nothing: its "Killed" would be taken for the command's. A signal to the
	// group must not end it before it has said how the command ended; a handler is not inherited, as ignoring would be.
	s.WriteString("exec 4>&2 2>/dev/null\nt=;trap : INT TERM HUP\n" + helpers + "cem_say '~'\n")
	return s.String()
}

// command is the second chunk: it runs cmd and says how that ended.
func (d dialog) command(cmd job.Command, f facts, merged bool) string {
	var s strings.Builder
	if cmd.Dir != "" {
		s.WriteString("cem_enter " + dirWord(cmd.Dir) + "\n")
	}
	s.WriteString("cem_begin\n(")
	exports(&s, cmd.Env)
	to := " 2>&4 4>&-)"
	if merged {
		to = " 2>&1 4>&-)"
	}
	execute(&s, cmd, f, ">&4")
	s.WriteString(to)
	if cmd.Stdin == job.StdinNull {
		s.WriteString(" </dev/null")
	}
	s.WriteString("\ncem_finish\n")
	return s.String()
}

// terminal is the only chunk of a command in a terminal: the shell becomes it.
func (d dialog) terminal(cmd job.Command, f facts, env map[string]string) string {
	var s strings.Builder
	s.WriteString(plain + quiet + "export TERM=xterm-256color\n")
	exports(&s, env)
	s.WriteString("t=1\n" + helpers)
	if cmd.Dir != "" {
		s.WriteString("cem_enter " + dirWord(cmd.Dir) + "\n")
	}
	exports(&s, cmd.Env)
	s.WriteString("stty \"$s\"\ncem_begin\n")
	execute(&s, cmd, f, ">&2")
	if cmd.Stdin == job.StdinNull {
		s.WriteString(" </dev/null")
	}
	s.WriteString("\n" + d.word + "\n")
	return s.String()
}

func execute(s *strings.Builder, cmd job.Command, f facts, problems string) {
	argv := cmd.Argv
	if len(argv) == 0 {
		argv = inner(cmd, f)
	} else if !strings.Contains(argv[0], "/") { // of a path the shell itself says what is wrong
		program := shell.Quote(argv[0])
		fmt.Fprintf(s, "command -v %s >/dev/null||{ printf '%%s: command not found\\n' %s %s;exit 127;}\n", program, program, problems)
	}
	s.WriteString("exec " + shell.QuoteAll(argv))
}

// inner is the plain shell that runs text. The word after the text is its name, so that messages read as they do elsewhere.
func inner(cmd job.Command, f facts) []string {
	if cmd.Shell == "bash" {
		return []string{f.bash, "--noprofile", "--norc", "-c", "--", cmd.Script, "bash"}
	}
	return []string{f.path(cmd.Shell), "-c", "--", cmd.Script, cmd.Shell}
}

// dirWord is a directory as shell text; ~ is the home of the remote user.
func dirWord(dir string) string {
	if rest, ok := strings.CutPrefix(dir, "~"); ok {
		return `"$HOME"` + shell.Quote(rest)
	}
	return shell.Quote(dir)
}

// exports sets variables. Names that bash keeps for itself are left out: setting them ends a shell, and bash ignores them
// in its environment too.
func exports(s *strings.Builder, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !slices.Contains(reserved, name) {
			s.WriteString("export " + name + "=" + shell.Quote(env[name]) + "\n")
		}
	}
}

var reserved = []string{"UID", "EUID", "PPID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"}
