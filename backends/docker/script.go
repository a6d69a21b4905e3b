package docker

import (
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
)

// The outer shell: a login shell that takes shell text in chunks from its stdin and evaluates them. A chunk ends with a
// line that is the random word given first (in bash, the command itself ends with a NUL), so the text needs no encoding, and none of it stands in an argv. `read` takes
// byte by byte from a pipe, so what follows the last chunk is left for the command's own stdin.
const bootstrap = `IFS= read -r e||exit 0
while :;do c=;while :;do IFS= read -r l||exit 0;[ "$l" = "$e" ]&&break;c="$c$l
";done;eval "$c";done`

// outerArgv is the process that a prepared container runs.
func (b *Backend) outerArgv(shellPath string) []string {
	return append(slices.Clone(b.config.Entrypoint), shellPath, "-lc", bootstrap)
}

// dialog is what both sides of one outer shell agreed on. Messages from the shell are framed by mark: "\036WORD" a kind
// and a body, "\036".
type dialog struct {
	word string
	mark []byte
}

func newDialog() dialog {
	word := "cem" + strings.ToLower(rand.Text()) // 128 random bits
	return dialog{word: word, mark: []byte("\x1e" + word)}
}

// Kinds of messages.
const (
	clean   = '~' // on both streams: what the profile and the prefix print is over
	begins  = '<' // on stdout: the command begins; the body is the shell's pid
	refuses = '!' // on both: there is no such directory, and nothing ran
	ends    = '=' // on both: how it ended
)

// helpers are defined before the command is known, so that little is left to be read when it comes; $e is the word.
//
// enter changes the directory, or says the nearest folder that exists. watch is a process beside the command that listens
// on the attached stdin: it passes signals on, and when the server has died, or in bash when the time is long over, it
// kills everything, so that no command outlives its server. finish says how the command ended, what it left running, and
// after a failure whether memory ran out, which both generations of control groups have a file for.
const helpers = `cem_say(){ printf '\036%s%s\036' "$e" "$1";printf '\036%s%s\036' "$e" "$1" >&4;}
cem_enter(){ cd -- "$1" 2>/dev/null&&return;k=m;[ -e "$1" ]&&k=f;[ -d "$1" ]&&k=p;d="$1"
while [ "$d" ]&&! [ -d "$d" ];do d="${d%/*}";done;cem_say "!$k${d:-/}";exit 0;}
cem_begin(){ printf '\036%s<%s\036' "$e" $$;}
cem_watch(){ t="$1";shift;(trap '' INT TERM QUIT HUP;while IFS= read -r "$@" s;do kill -"$s" "$t";done;kill -KILL "$t") <&3 >/dev/null 3<&- 4>&- &
w=$!;}
cem_finish(){ r=$?;p=;o=;if [ "$1" ];then for x in /proc/[0-9]*;do x="${x#/proc/}";[ "$x" -le $$ ]||[ "$x" = "$w" ]&&continue
read -r l <"/proc/$x/stat"||continue;case "$l" in *") Z "*)continue;;esac
n=;read -r n <"/proc/$x/comm";p="$p $x:$n";done
[ $r -eq 0 ]||for f in memory.events memory/memory.oom_control;do [ -r /sys/fs/cgroup/$f ]&&while read -r k v;do [ "$k" = oom_kill ]&&o="$v";done </sys/fs/cgroup/$f;done;fi
cem_say "=$r/$o$p";exit 0;}
`

// setup is the first chunk, run before the command is known.
func (b *Backend) setup(d dialog, x *image, bash bool) string {
	var s strings.Builder
	s.WriteString(d.word + "\n")
	b.prepare(&s, x, bash)
	// From here on the outer shell itself says nothing: its "Killed" would be taken for the command's.
	s.WriteString("exec 3<&0 4>&2 2>/dev/null\n" + helpers + "cem_say '~'\n")
	if bash {
		s.WriteString(readCommand)
	}
	s.WriteString(d.word + "\n")
	return s.String()
}

// readCommand is bash's faster way to take the command: it needs half a second to put one of two thousand lines together.
const readCommand = `IFS= read -r -d '' c||exit 0;eval "$c"
`

// prepare is what any login shell of ours does first: the config's variables, the image's PATH where a profile threw it
// away, the owner's prefix, and then the removal of all that would change how a plain shell reads its text.
func (b *Backend) prepare(s *strings.Builder, x *image, bash bool) {
	exports(s, b.config.Env)
	if list := x.env["PATH"]; list != "" {
		s.WriteString("a=;")
		for dir := range strings.SplitSeq(list, ":") {
			fmt.Fprintf(s, "case \":$PATH:\" in *:%s:*);;*)a=\"$a\"%s:;;esac;", shell.Quote(dir), shell.Quote(dir))
		}
		s.WriteString("export PATH=\"$a$PATH\"\n")
	}
	if b.config.Prefix != "" {
		s.WriteString("{\n" + b.config.Prefix + "\n} </dev/null\n")
	}
	s.WriteString("set +aefux;unalias -a 2>/dev/null\n")
	if bash {
		s.WriteString("unset -f $(compgen -A function);export -n SHELLOPTS BASHOPTS\n")
	}
	s.WriteString("unset BASH_ENV ENV PS4 PROMPT_COMMAND CDPATH GLOBIGNORE IFS\n")
}

// place says where the outer shell of a command is.
type place struct {
	image     *image
	shellPath string
	shell     string
	session   bool // beside a session's own process: signals are for its group, and what it leaves behind lives on
}

// command is the second chunk: it runs cmd and says how that ended.
func (d dialog) command(cmd job.Command, at place) string {
	var s strings.Builder
	if cmd.Dir != "" {
		s.WriteString("cem_enter " + dirWord(cmd.Dir) + "\n")
	}
	target, scan := "-1", " all"
	if at.session {
		target, scan = "0", ""
		s.WriteString("trap : INT TERM\n") // the shell is in the group that signals go to; a handler, so that children start with the default
	}
	s.WriteString("cem_begin\n")
	input := ""
	if cmd.Stdin == job.StdinNull {
		input = " </dev/null"
		s.WriteString("cem_watch " + target)
		if at.shell == "bash" && cmd.Timeout > 0 {
			fmt.Fprintf(&s, " -t %d", int(math.Ceil(cmd.Timeout.Seconds()))+10)
		}
		s.WriteString("\n")
	}
	s.WriteString("(")
	exports(&s, cmd.Env)
	argv := cmd.Argv
	if len(argv) == 0 {
		argv = at.inner(cmd.Script)
	} else if !strings.Contains(argv[0], "/") { // of a path the shell itself says what is wrong
		program := shell.Quote(argv[0])
		fmt.Fprintf(&s, "command -v %s >/dev/null||{ printf '%%s: command not found\\n' %s >&4;exit 127;}\n", program, program)
	}
	s.WriteString("exec " + shell.QuoteAll(argv) + " 2>&4 3<&- 4>&-)" + input + "\ncem_finish" + scan + "\n")
	if at.shell == "bash" {
		s.WriteString("\x00") // as readCommand wants it
	} else {
		s.WriteString(d.word + "\n")
	}
	return s.String()
}

// inner is the plain shell that runs text. The word after the text is its name, so that messages read as they do elsewhere.
func (at place) inner(text string) []string {
	if at.shell == "bash" {
		return []string{at.shellPath, "--noprofile", "--norc", "-c", "--", text, "bash"}
	}
	return []string{at.shellPath, "-c", "--", text, at.shell}
}

// dirWord is a directory as shell text; ~ is the home of the container's user.
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
