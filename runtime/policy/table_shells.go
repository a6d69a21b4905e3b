package policy

// shellTable lists programs that read shell code, and the builtins through which a shell starts or rebinds things.
func shellTable() []*program {
	return []*program{
		{names: "bash rbash", opts: "-a -b -c -e -f -h -i -k -l -m -n -p -r -s -t -u -v -x -B -C -D -E -H -P -T -o: -O: --login --posix --norc --noprofile --noediting --restricted --verbose --debugger --dump-strings --dump-po-strings --init-file! --rcfile! --help% --version%", rest: "bash", handle: (*analyser).shell},
		{names: "sh dash ash posh rsh-restricted", opts: "-a -b -c -e -f -h -i -l -m -n -s -u -v -x -C -E -I -V -o: -p --login", rest: "sh", handle: (*analyser).shell},
		{names: "zsh ksh ksh93 mksh lksh pdksh oksh yash fish csh tcsh rc es elvish nu xonsh osh oil ion", rest: "", handle: (*analyser).otherShell},
		{names: "cmd powershell pwsh", rest: "", handle: (*analyser).windowsShell},
		{names: "wsl", rest: "", handle: (*analyser).wsl},
	}
}

func builtinTable() []*program {
	return []*program{
		{names: "command", opts: "-p -v% -V%", rest: "command"},
		{names: "builtin", opts: "", rest: "command"},
		{names: "exec", opts: "-c -l -a:", rest: "command"},
		{names: "eval", rest: "code", handle: (*analyser).eval},
		{names: "source .", rest: "data", handle: (*analyser).source},
		{names: "trap", rest: "code", handle: (*analyser).trap},
		{names: "alias", rest: "data", handle: (*analyser).alias},
		{names: "hash", rest: "data", handle: (*analyser).hash},
		{names: "enable", rest: "data", handle: (*analyser).enable},
		{names: "set", rest: "data", handle: (*analyser).setBuiltin},
		{names: "shopt", rest: "data", handle: (*analyser).shopt},
		{names: "fc r", rest: "data", handle: (*analyser).fc},
		{names: "history", rest: "data", handle: (*analyser).history},
		{names: "bind", rest: "data", handle: (*analyser).bindKeys},
		{names: "compgen complete", rest: "data", handle: (*analyser).complete},
		{names: "jobs", rest: "data", handle: (*analyser).jobs},
		{names: "mapfile readarray", rest: "data", handle: (*analyser).mapfile},
		{names: "read", rest: "data", handle: (*analyser).readBuiltin},
		{names: "printf", rest: "data", handle: (*analyser).printf},
		{names: "wait", rest: "data", handle: (*analyser).waitBuiltin},
		{names: "getopts", rest: "data", handle: (*analyser).getopts},
		{names: "test [", rest: "data", handle: (*analyser).test},
		{names: "unset", rest: "data", handle: (*analyser).unset},
		{names: "declare typeset local readonly export", rest: "data", handle: (*analyser).declare},
		{names: "let", rest: "data", handle: (*analyser).let},
		{names: "cd pushd popd chdir", rest: "data", handle: (*analyser).chdir},
		{names: "coproc", rest: "data", handle: (*analyser).coproc},
	}
}
