package policy

import (
	"fmt"
	"strings"
)

// Summary says in one line what may run, for the description of a tool.
func (p *Policy) Summary() string {
	switch {
	case !p.restricted:
		return "Any command may run."
	case p.whitelist:
		return "Only these commands may run: " + strings.Join(p.whiteNames, ", ") + "."
	}
	return "These commands may not run: " + strings.Join(p.blackNames, ", ") + "."
}

// page is what `policy explain` tells of a rule.
type page struct{ title, what, why, rewrite string }

// Explain returns a short page about a rule, R1 to R15: what it refuses, why, and how to write it otherwise.
func Explain(rule string) (string, bool) {
	p, ok := pages()[strings.ToUpper(rule)]
	if !ok {
		return "", false
	}
	return fmt.Sprintf("%s  %s\n\nWhat:    %s\nWhy:     %s\nInstead: %s\n", strings.ToUpper(rule), p.title, p.what, p.why, p.rewrite), true
}

func pages() map[string]page {
	return map[string]page{
		"R1": {
			"Text", "Text of more than 131,071 bytes, invalid UTF-8, and control characters other than TAB and line feed. CRLF becomes LF; what was checked is what runs.",
			"A carriage return or a NUL is read in one way by the checker and in another by the shell.", suggestions["R1"],
		},
		"R2": {
			"Grammar", "Text that cannot be parsed for the shell that will run it, text for a shell without a grammar here, and constructs that parsers and shells read differently: coproc, quotes inside ${} or arithmetic that hide an expansion, comments that end in a backslash or are glued to a word.",
			"A text that is read in two ways runs what nobody checked.", suggestions["R2"],
		},
		"R3": {
			"Everything that runs", "Commands anywhere: lists, pipelines, groups, loops, functions, substitutions, here-documents, redirection targets. Quoted text, arguments, patterns and comments are data.",
			"The first word of a line is not the only command in it.", "leave the command out; naming it in quotes or as an argument is fine",
		},
		"R4": {
			"A literal name", "A command whose name is only known at run time: $X, ${x:-y}, `...`, \"$@\", globs. A directory in front may be a variable, and a variable whose every value in the text is a plain literal counts as those values.",
			"What cannot be read cannot be judged.", suggestions["R4"],
		},
		"R5": {
			"Blacklist", "A command that the owner listed, in any spelling: another directory, case, quotes, an executable suffix.",
			"The owner decided that it never runs from here.", suggestions["R5"],
		},
		"R6": {
			"Whitelist", "A command that the owner did not list. Names count exactly, paths only in trusted directories. Shell grammar, a few builtins and functions that the text itself defines first are free.",
			"With a whitelist only what is named may run.", suggestions["R6"],
		},
		"R7": {
			"Wrappers", "A program that starts another one is opened: env, sudo, xargs, find -exec, docker exec, git aliases, awk system() and some ninety more. An option that is not documented, or a word before the inner command that may vanish or split, is refused.",
			"rm behind sudo is rm.", suggestions["R7"],
		},
		"R8": {
			"Code text", "Text given to a shell (sh -c, eval, trap, ssh, watch) that is only known at run time. Literal text is checked like the request itself.",
			"A string that is code must be readable before it runs.", suggestions["R8"],
		},
		"R9": {
			"Code streams", "A shell, source, at or ssh that reads commands from a pipe, a device or an input that cannot be seen. Literal here-documents are checked; a regular file is a script file.",
			"curl | sh runs what somebody else writes.", suggestions["R9"],
		},
		"R10": {
			"Environment", "Variables that hold commands (PAGER, GIT_SSH_COMMAND) are checked by value, in the text and in the env parameter. With a whitelist, variables that decide what a name means (PATH, LD_*, GIT_*) are refused.",
			"A listed name runs another program when PATH changes.", suggestions["R10"],
		},
		"R11": {
			"Output", "With a whitelist: writing anywhere but to /dev/null and its like or to a visible relative path, in a text that does not change directory.",
			"A file such as ~/.bashrc or .git/hooks/pre-commit runs later.", suggestions["R11"],
		},
		"R12": {
			"Rebinding", "alias, hash -p, enable -n, name references, history editing, functions in place of eval or command, exported functions.",
			"They give a name that was checked another meaning.", suggestions["R12"],
		},
		"R13": {
			"Second evaluation", "Values with $(, ${, a backquote or an open bracket in a text that does arithmetic, uses subscripts or gives variable names to builtins.",
			"bash evaluates the value of a variable again in arithmetic: v='a[$(rm x)]'; echo $((v)) runs rm.", suggestions["R13"],
		},
		"R14": {
			"Limits", "More than 2,000 commands, deep nesting, 16 levels of code in code, 512 words of one brace expansion. A defect of the checker is a refusal, too.",
			"A text that cannot be checked to its end is not run.", suggestions["R14"],
		},
		"R15": {
			"Opaque programs", "Nothing: interpreters (python, perl, node, make) and files on disk are judged by their own name only.",
			"A name list cannot see into a program. Whoever may run python may run everything; isolation is the only boundary.", "nothing to rewrite",
		},
	}
}
