package policy

import (
	"slices"
	"strings"
)

// ssh runs its operands, joined, in a shell on the other side; without any it is that shell.
func (a *analyser) ssh(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	none := false
	o.seen = func(name string, v *arg) {
		switch name {
		case "-o":
			a.sshOption(v, s)
		case "-N", "-W", "-O", "-Q", "-V", "-G":
			none = true
		case "-n":
			o.s = o.s.from(&stdin{kind: stdinEmpty})
		}
	}
	i := o.next()
	if o.failed {
		return
	}
	if i < 0 {
		return
	}
	if !o.operand(&args[i]) {
		return
	}
	o.i++
	j := o.next()
	if o.failed || none {
		return
	}
	if j < 0 {
		a.feed("sh", &args[0], o.s, "ssh")
		return
	}
	a.inner(o, "code", j)
}

// sshOption judges -o KEY=VALUE.
func (a *analyser) sshOption(v *arg, s scope) {
	if v == nil {
		return
	}
	i := strings.IndexAny(v.val, "= \t")
	if i < 0 {
		if v.kind != aLit && v.val == "" && !v.free {
			a.cannotTell("R7", v, s, "which option of ssh this is is only known at run time", "write the key literally")
		}
		return
	}
	key := strings.ToLower(strings.TrimSpace(v.val[:i]))
	switch key {
	case "proxycommand", "localcommand", "knownhostscommand", "remotecommand", "xauthlocation", "sshaskpass":
		if v.kind != aLit {
			if src, ok := a.codeOf([]arg{*v}); ok {
				a.codeUnit("sh", percent(src[min(i+1, len(src)):]), v.at, s, "ssh -o "+key)
				return
			}
			a.cannotTell("R8", v, s, "the command in this option of ssh is only known at run time", "")
			return
		}
		text := strings.TrimLeft(v.val[i+1:], "= \t")
		if strings.EqualFold(text, "none") {
			return
		}
		a.codeUnit("sh", percent(text), v.at, s, "ssh -o "+key)
	case "match", "proxyusefdpass":
		if strings.Contains(v.val, "exec") {
			a.cannotTell("R7", v, s, "Match exec runs a command", "")
		}
	}
}

// percent fills in the tokens of ssh, which are names and numbers.
func percent(s string) string {
	return strings.NewReplacer("%%", "%", "%h", "h", "%p", "22", "%r", "u", "%n", "h", "%u", "u", "%d", "/h", "%C", "c", "%i", "0", "%l", "l", "%L", "l", "%k", "k").Replace(s)
}

// scp and sftp: -S names the program, -o is that of ssh; sftp -b reads a batch with !.
func (a *analyser) scp(p *program, args []arg, s scope) {
	o := a.options(p, args, s)
	o.strict = false
	o.seen = func(name string, v *arg) {
		if name == "-o" {
			a.sshOption(v, s)
		}
	}
	for i := o.next(); i >= 0 && !o.failed; i = o.next() {
		o.i++
	}
}

// dockerValues are options of run, exec and create that take the next word. The flags follow.
var dockerOptions = `
	--add-host= --annotation= -a: --attach= --blkio-weight= --blkio-weight-device= --cap-add= --cap-drop= --cgroup-parent= --cgroupns= --cidfile= --cpu-period= --cpu-quota= --cpu-rt-period= --cpu-rt-runtime= -c: --cpu-shares= --cpus= --cpuset-cpus= --cpuset-mems=
	-d --detach --detach-keys= --device= --device-cgroup-rule= --device-read-bps= --device-read-iops= --device-write-bps= --device-write-iops= --disable-content-trust? --dns= --dns-option= --dns-opt= --dns-search= --domainname= --entrypoint= -e: --env= --env-file= --expose= --gpus= --group-add=
	--health-cmd=code --health-interval= --health-retries= --health-start-period= --health-start-interval= --health-timeout= -h: --hostname= --init? -i --interactive? --ip= --ip6= --ipc= --isolation= --kernel-memory= -l: --label= --label-file= --link= --link-local-ip= --log-driver= --log-opt= --mac-address= -m: --memory= --memory-reservation= --memory-swap= --memory-swappiness=
	--mount= --name= --network= --net= --network-alias= --net-alias= --no-healthcheck --oom-kill-disable --oom-score-adj= --pid= --pids-limit= --platform= --privileged? -p: --publish= -P --publish-all --pull= -q --quiet --read-only? --restart= --rm? --runtime= --security-opt= --shm-size= --sig-proxy? --stop-signal= --stop-timeout= --storage-opt= --sysctl=
	--tmpfs= -t --tty? --ulimit= -u: --user= --userns= --uts= -v: --volume= --volume-driver= --volumes-from= -w: --workdir= --use-api-socket --help% --replace? --pod= --userns= --latest --secret= --systemd= --tz= --umask= --arch= --os= --variant= --authfile= --tls-verify? --index=
`

// dockerRun and the others are rows without a name of their own.
func dockerRow(opts, rest string) *program {
	return &program{names: "docker", first: "docker", opts: opts, rest: rest}
}

// docker opens run, create and exec; other subcommands start nothing of this text.
func (a *analyser) docker(p *program, args []arg, s scope) {
	i := 1
	for ; i < len(args); i++ {
		w := &args[i]
		if w.kind != aLit {
			if w.val == "" || w.dash() {
				a.cannotTell("R7", w, s, "which subcommand of docker this is is only known at run time", "")
				return
			}
			continue
		}
		if !w.dash() {
			break
		}
		switch w.val {
		case "-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "--tlscacert", "--tlscert", "--tlskey", "--connection", "--url", "--root", "-n", "--namespace", "--address":
			i++
		}
	}
	if i >= len(args) {
		return
	}
	name := args[i].val
	if (name == "container" || name == "image") && i+1 < len(args) {
		i++
		name = args[i].val
		if args[i].kind != aLit {
			name = "?"
		}
	}
	switch name {
	case "run", "create":
		a.dockerStart(args[i:], s, "docker "+name, "operand command")
	case "exec":
		a.dockerStart(args[i:], s, "docker exec", "operand command")
	case "compose":
		a.compose(p, args[i:], s)
	case "unshare", "machine", "?":
		a.doubt(args[i:], s.wrapped("docker"))
	}
}

func (a *analyser) dockerStart(args []arg, s scope, via, rest string) {
	row := dockerRow(dockerOptions, rest)
	row.once.Do(row.parseOptions)
	o := a.options(row, args, s)
	o.via = via
	interactive := false
	o.seen = func(name string, v *arg) {
		switch name {
		case "--entrypoint":
			if v != nil && !v.is("") {
				a.call([]arg{*v}, s.from(&stdin{kind: stdinEmpty}).wrapped(via+" --entrypoint"))
			}
		case "-i", "--interactive":
			interactive = true
		}
	}
	i := o.next()
	if i < 0 || o.failed {
		return
	}
	if !o.operand(&args[i]) {
		return
	}
	o.i++
	if o.i >= len(args) {
		return
	}
	if !interactive {
		o.s = o.s.from(&stdin{kind: stdinEmpty})
	}
	if w := &args[o.i]; w.kind == aLit && w.dash() { // options of the image's own program
		return
	}
	a.inner(o, "command", o.i)
}

// compose: run and exec take a service, then a command.
func (a *analyser) compose(p *program, args []arg, s scope) {
	global := "-f: --file= -p: --project-name= --profile= --env-file= --project-directory= --ansi= --progress= --parallel= --compatibility --dry-run --all-resources -H: --host= --context= -c: --verbose -D --tls --help% --version%"
	row := dockerRow(global, "operand")
	row.once.Do(row.parseOptions)
	o := a.options(row, args, s)
	o.via = "docker compose"
	i := o.next()
	if i < 0 || o.failed {
		return
	}
	switch {
	case args[i].is("run"), args[i].is("exec"):
		opts := "--build -d --detach -e: --env= --entrypoint= --index= -i --interactive? -l: --label= --name= -T --no-tty? --no-TTY? --no-deps --privileged? -p: --publish= --pull= -q --quiet --quiet-pull --quiet-build --remove-orphans --rm --service-ports -P --use-aliases -u: --user= -v: --volume= -w: --workdir= --cap-add= --cap-drop= --env-from-file= -t --tty? --help% --dry-run"
		row := dockerRow(opts, "operand command")
		row.once.Do(row.parseOptions)
		in := a.options(row, args[i:], s)
		in.via = "docker compose " + args[i].val
		in.seen = func(name string, v *arg) {
			if name == "--entrypoint" && v != nil {
				a.runCode("sh", []arg{*v}, s, in.via+" --entrypoint")
			}
		}
		j := in.next()
		if j < 0 || in.failed || !in.operand(&in.args[j]) {
			return
		}
		in.i++
		if in.i < len(in.args) {
			a.inner(in, "command", in.i)
		}
	case args[i].kind != aLit:
		a.doubt(args[i:], s.wrapped("docker compose"))
	}
}

// kubectl: exec, run and debug start what follows --; exec takes it without, too.
func (a *analyser) kubectl(p *program, args []arg, s scope) {
	sub := ""
	for i := 1; i < len(args); i++ {
		w := &args[i]
		if w.is("--") {
			if sub != "" {
				a.call(args[i+1:], s.wrapped("kubectl "+sub))
			}
			return
		}
		if w.kind == aLit && sub == "" && (w.val == "exec" || w.val == "run" || w.val == "debug") {
			sub = w.val
			continue
		}
		if w.kind == aSplit && !w.free && sub != "" {
			a.cannotTell("R7", w, s, "this word may become none or several before the command that kubectl starts", "quote it")
			return
		}
		if w.kind != aLit && sub == "" && w.val == "" {
			sub = "?"
		}
	}
	if sub == "exec" || sub == "?" { // the old form: kubectl exec POD COMMAND
		a.doubt(args[1:], s.wrapped("kubectl"))
	}
}

// npm and its like: exec and dlx start a program.
func (a *analyser) npm(p *program, args []arg, s scope) {
	for i := 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.kind == aLit && (w.val == "exec" || w.val == "x" || w.val == "dlx"):
			row := programs()["npx"]
			row.once.Do(row.parseOptions)
			o := a.options(row, args[i:], s)
			o.via = p.first + " " + w.val
			if j := o.next(); j >= 0 && !o.failed {
				a.inner(o, "command", j)
			}
			return
		case w.kind == aLit && w.dash():
			continue
		}
		return
	}
}

// uv run and uv tool run start a program.
func (a *analyser) uv(p *program, args []arg, s scope) {
	k := 1
	for k < len(args) && args[k].kind == aLit && args[k].dash() {
		k++
	}
	if k < len(args) && args[k].is("tool") {
		k++
	}
	if k >= len(args) || !args[k].is("run") {
		return
	}
	row := &program{names: "uv", first: "uv run", rest: "command", opts: "--extra= --all-extras --no-extra= --no-dev --dev --only-dev --group= --no-group= --no-default-groups --only-group= --all-groups -m --module --no-editable --inexact --exact --env-file= --no-env-file --with= --with-editable= --with-requirements= --isolated --active --no-sync --locked --frozen -s --script --gui-script --all-packages --package= --no-project --index= --default-index= -i: --index-url= --extra-index-url= -f: --find-links= --no-index -U --upgrade -P: --upgrade-package= --refresh --refresh-package= --reinstall --reinstall-package= -p: --python= --no-cache -n --cache-dir= -q --quiet -v --verbose --offline --directory= --project= --config-file= --no-config --color= --native-tls --from= -w: -h% --help% -V% --version% --resolution= --prerelease= --link-mode= --compile-bytecode --no-build --no-binary --managed-python --no-managed-python --no-python-downloads"}
	row.once.Do(row.parseOptions)
	o := a.options(row, args[k:], s)
	o.via = "uv run"
	module := false
	o.seen = func(name string, _ *arg) {
		module = module || name == "-m" || name == "--module" || name == "-s" || name == "--script"
	}
	if j := o.next(); j >= 0 && !o.failed && !module {
		a.inner(o, "command", j)
	}
}

func (a *analyser) pipx(p *program, args []arg, s scope) {
	if len(args) > 1 && args[1].is("run") {
		row := &program{names: "pipx", first: "pipx run", rest: "command", opts: "--no-cache --path --pypackages --spec= --python= --system-site-packages --index-url= -i: --editable -e --pip-args= -q --quiet -v --verbose --fetch-missing-python --with= -h% --help%"}
		row.once.Do(row.parseOptions)
		o := a.options(row, args[1:], s)
		o.via = "pipx run"
		if j := o.next(); j >= 0 && !o.failed {
			a.inner(o, "command", j)
		}
	}
}

// runner: NAME run COMMAND or NAME exec COMMAND, with options of the tool in between.
func (a *analyser) runner(p *program, args []arg, s scope) {
	k := slices.IndexFunc(args, func(w arg) bool { return w.is("run") || w.is("exec") || w.is("x") })
	if k < 0 {
		return
	}
	for i := k + 1; i < len(args); i++ {
		w := &args[i]
		switch {
		case w.is("--"):
			a.call(args[i+1:], s.wrapped(p.first+" run"))
			return
		case w.kind == aLit && w.dash():
			if !strings.Contains(w.val, "=") && i+1 < len(args) { // it may take the next word
				a.doubt(args[i+1:], s.wrapped(p.first+" run"))
			}
		default:
			a.call(args[i:], s.wrapped(p.first+" run"))
			return
		}
	}
}
