package policy

// toolTable lists programs whose operands are data and some of whose options or operands are commands.
func toolTable() []*program {
	return []*program{
		{names: "find gfind bfs", rest: "data", handle: (*analyser).find},
		{names: "fd fdfind", rest: "data", handle: (*analyser).fd},
		{names: "git", rest: "data", handle: (*analyser).git},
		{names: "gh", rest: "data", handle: (*analyser).gh},
		{names: "tar gtar bsdtar", rest: "data", handle: (*analyser).tar},
		{names: "sort gsort", opts: "-S: -T: -k: -t: -o: --buffer-size= --temporary-directory= --key= --field-separator= --output= --compress-program=code --parallel= --sort= --batch-size= --files0-from= --random-source= --reverse --random-sort --check? -C -c -b -d -f -g -h -i -M -n -R -r -s -u -V -m -z --debug --stable --unique --merge --numeric-sort --human-numeric-sort --version-sort --zero-terminated", rest: "data"},
		{names: "split gsplit csplit", opts: "-a: -b: -C: -d -e -l: -n: -t: -u -x --filter=code --additional-suffix= --bytes= --line-bytes= --lines= --number= --separator= --suffix-length= --numeric-suffixes? --hex-suffixes? --elide-empty-files --unbuffered --verbose", rest: "data"},
		{names: "rsync", opts: "-e:code --rsh=code --rsync-path=code --exclude= --include= --filter= -f: --files-from= --out-format= --log-file= --password-file= --bwlimit= --port= --timeout= --contimeout= --backup-dir= --suffix= --temp-dir= -T: --compare-dest= --copy-dest= --link-dest= --max-size= --min-size= --chmod= --chown= --usermap= --groupmap= -B: --block-size= -M: --remote-option= --info= --debug= --modify-window= --partial-dir= --config= --daemon!", rest: "data"},
		{names: "man", opts: "-P:code --pager=code -C: -E: -H:code --html=code -L: -M: -m: -p: -R: -r: -S: -s: -e: -X? -Z --preprocessor= --troff-device? -T? --path --where -w", rest: "data"},
		{names: "rg", opts: "--pre=code --pre-glob= -g: --glob= -t: -T: --type= --type-not= -e: --regexp= -f: --file= -A: -B: -C: -m: -M: -j: -r: --replace= --iglob= --sort= --sortr= --hostname-bin=code --max-depth= -d: --color= --colors= --context= --encoding= -E: --engine= --type-add= --ignore-file=", rest: "data"},
		{names: "ack ag", opts: "--pager=code --ackrc= -A: -B: -C: -g: -G: --ignore= --color=", rest: "data"},
		{names: "zip", opts: "-TT:code --unzip-command=code -T -r -q -9 -0 -1 -x -i -u -m -j -P: --password= -b: -t: -tt:", rest: "data"},
		{names: "scp sftp", opts: "-S:code -o: -c: -F: -i: -J: -l: -P: -X: -D: -b: -B: -R: -s:", rest: "data", handle: (*analyser).scp},
		{names: "awk gawk mawk nawk", rest: "data", handle: (*analyser).awk},
		{names: "sed gsed", rest: "data", handle: (*analyser).sed},
		{names: "vi vim nvim view vimdiff gvim ex rvim", rest: "data", handle: (*analyser).vim},
		{names: "ed red", rest: "data", handle: (*analyser).ed},
		{names: "less more most", rest: "data", handle: (*analyser).less},
		{names: "fzf sk", opts: "--preview=code --bind=bind --execute=code -q: --query= -f: --filter= -d: --delimiter= -n: --nth= --header= --height= --layout= --history= --prompt= --expect= --with-nth= --tiebreak= --color= --border? --preview-window= --print-query", rest: "data", handle: (*analyser).fzf},
		{names: "crontab", opts: "-u: -l -r -e -i -s -c: -n: -T: -x:", rest: "data", handle: (*analyser).crontab},
		{names: "at batch", opts: "-q: -f: -t: -m -M -l -d -c -r -v -V -b -u:", rest: "data", handle: (*analyser).at},
		{names: "docker podman nerdctl", rest: "data", handle: (*analyser).docker},
		{names: "docker-compose podman-compose", rest: "data", handle: (*analyser).compose},
		{names: "kubectl oc k3s", rest: "data", handle: (*analyser).kubectl},
		{names: "lxc lxc-attach lxc-execute machinectl", rest: "data", handle: (*analyser).afterWord},
		{names: "vagrant", opts: "-c:code --command=code", rest: "data"},
		{names: "npx bunx pnpx", opts: "-p: --package= -c:code --call=code -y --yes -q --quiet --no --no-install --ignore-existing -w: --workspace= -ws --workspaces --include-workspace-root --prefer-online --prefer-offline --offline --loglevel= --registry= --userconfig= --shell=code --bun --silent --verbose -h% --help% -v% --version%", rest: "command"},
		{names: "npm", rest: "data", handle: (*analyser).npm},
		{names: "pnpm yarn bun", rest: "data", handle: (*analyser).npm},
		{names: "uvx pipx-run", opts: "-p: --python= --from= --with= --with-editable= --with-requirements= --index= --index-url= -i: --extra-index-url= --default-index= -q --quiet -v --verbose --offline --refresh --isolated --no-cache --no-config --directory= --project= --env-file= -U --upgrade -h% --help% -V% --version%", rest: "command"},
		{names: "uv", rest: "data", handle: (*analyser).uv},
		{names: "pipx", rest: "data", handle: (*analyser).pipx},
		{names: "poetry pipenv pdm rye hatch conda mamba micromamba bundle rbenv pyenv nodenv asdf mise rtx nvm fnm volta devbox", rest: "data", handle: (*analyser).runner},
		{names: "perf", rest: "data", handle: (*analyser).perf},
		{names: "gdb lldb", rest: "data", handle: (*analyser).gdb},
		{names: "ip", rest: "data", handle: (*analyser).ip},
		{names: "tmux screen zellij", rest: "data", handle: (*analyser).tmux},
		{names: "xterm gnome-terminal konsole alacritty kitty", rest: "data", handle: (*analyser).terminal},
		{names: "socat ncat nc netcat", rest: "data", handle: (*analyser).socat},
		{names: "logrotate dpkg apt apt-get", rest: "data", handle: (*analyser).apt},
		{names: "cpio", opts: "--rsh-command=code", rest: "data"},
		{names: "mysql psql sqlite3", rest: "data", handle: (*analyser).sqlClient},
		{names: "diff sdiff", opts: "--diff-program=code", rest: "data"},
		{names: "curl wget", opts: "--use-askpass=code", rest: "data"},

		{names: "install ginstall", opts: "--strip-program=code", rest: "data"},
		{names: "tcpdump", opts: "-z:code", rest: "data"},
		{names: "hg svn", rest: "data", handle: (*analyser).hg},
		{names: "go", rest: "data", handle: (*analyser).goTool},
	}
}

// interpreters run whatever their arguments say (R15); a whitelist that holds one holds everything.
var interpreters = set([]string{
	"python", "python2", "python3", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "wish", "expect", "awk", "gawk", "mawk",
	"make", "cmake", "ninja", "npm", "pnpm", "yarn", "gradle", "mvn", "ant", "rake", "cargo", "go", "java", "jshell", "groovy", "scala", "kotlin", "julia", "r", "rscript",
	"vi", "vim", "nvim", "emacs", "ed", "gdb", "sqlite3", "psql", "mysql", "osascript", "guile", "ghci", "runghc", "erl", "elixir", "iex", "ipython", "jupyter", "pytest", "tox", "ansible", "ansible-playbook",
	"dotnet", "swift", "cscript", "wscript", "mshta", "rundll32", "regsvr32", "msbuild",
})

// quiet commands read nothing from their stdin, so a shell after them gets all of it.
var quiet = set([]string{
	"cd", "pushd", "popd", "export", "set", "unset", "echo", "printf", "true", "false", ":", "[", "test", "mkdir", "ls", "pwd", "umask", "ulimit", "shopt", "trap", "alias",
	"exec", "env", "command", "builtin", "nice", "nohup", "sudo", "timeout", "stdbuf", "setsid", "declare", "local", "readonly", "typeset", "touch", "chmod", "sleep", "date", "whoami", "id", "which", "type",
})
