package docker

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// startPlain takes the ordinary way, for a terminal and for images without a shell.
func (b *Backend) startPlain(ctx context.Context, cmd job.Command, at place, to backends.IO) (*process, error) {
	d := newDialog()
	argv, env := b.plainArgv(d, cmd, at), slices.Concat(at.image.baseEnv(cmd.TTY != nil), environ(b.config.Env), environ(cmd.Env))
	x := box{
		image: at.image, network: cmd.Network, role: roleCommand, argv: append(slices.Clone(b.config.Entrypoint), argv...), env: env,
		stdin: cmd.Stdin != job.StdinNull || cmd.TTY != nil, tty: cmd.TTY != nil, init: b.config.Init,
	}
	if x.network == "" {
		x.network = b.config.networks()[0]
	}
	if at.shellPath == "" && cmd.Dir != "" {
		if err := b.checkDirIn(ctx, x, cmd.Dir); err != nil {
			return nil, err
		}
		x.dir = cmd.Dir
	}
	id, err := b.create(ctx, x)
	if err != nil {
		return nil, err
	}
	p := &process{backend: b, id: id, at: at, tty: x.tty, owns: true, done: make(chan struct{})}
	if err := b.attachAndStart(ctx, id, x.tty, &p.stream); err != nil {
		b.cleaner.remove(id)
		if exit, text := missingProgram(err, argv[0]); exit.Code != 0 {
			if to.Stderr != nil {
				_, _ = io.WriteString(to.Stderr, text)
			}
			p.finish(exit, nil)
			return p, nil
		}
		return nil, err
	}
	if cmd.TTY != nil {
		_ = p.resize(ctx, *cmd.TTY)
	}
	return p.runPlain(ctx, d, cmd, to)
}

// runPlain follows a started process whose command stands in its argv.
func (p *process) runPlain(ctx context.Context, d dialog, cmd job.Command, to backends.IO) (*process, error) {
	p.outer = newOuter(d, p, to)
	if cmd.Stdin == job.StdinPipe {
		p.stdin = &stdin{process: p}
	}
	if p.at.shellPath == "" {
		p.outer.stdout.began, p.outer.stderr.began = true, true
		p.outer.stdout.mark, p.outer.stderr.mark = nil, nil
		p.outer.began.Store(true)
		p.outer.start.Do(func() { close(p.outer.started) })
	}
	go p.followPlain()
	go func() {
		if cmd.Stdin != job.StdinBytes {
			return
		}
		_, _ = p.stream.Conn.Write(cmd.Input)
		if p.tty {
			_, _ = p.stream.Conn.Write(endOfFile)
		} else {
			_ = p.stream.CloseWrite()
		}
	}()
	return p.begun(ctx, cmd)
}

// followPlain reads to the end of the stream; how it ended is the engine's to say.
func (p *process) followPlain() {
	o := p.outer
	if p.tty {
		buf := make([]byte, 32<<10)
		for {
			n, err := p.stream.Reader.Read(buf)
			o.stdout.write(buf[:n])
			if err != nil {
				break
			}
		}
	} else {
		_ = demux(p.stream.Reader, o.stdout.write, o.stderr.write, func() bool { return false })
	}
	o.stdout.flush()
	o.stderr.flush()
	p.finish(p.autopsy())
	o.start.Do(func() { close(o.started) })
}

// plainArgv is what runs: the program itself, or a login shell that prepares what the outer shell of a pool's container
// would, and then becomes the plain one.
func (b *Backend) plainArgv(d dialog, cmd job.Command, at place) []string {
	if at.shellPath == "" {
		return cmd.Argv
	}
	var s strings.Builder
	s.WriteString("exec 4>/dev/null;e=" + d.word + "\n")
	b.prepare(&s, at.image, at.shell == "bash")
	s.WriteString(helpers)
	if cmd.TTY != nil { // an engine older than API 1.42 sets it only after the start
		fmt.Fprintf(&s, "stty rows %d cols %d 2>/dev/null\n", cmd.TTY.Rows, cmd.TTY.Cols)
	}
	if cmd.Dir != "" {
		s.WriteString("cem_enter " + dirWord(cmd.Dir) + "\n")
	}
	s.WriteString("cem_say '~';cem_begin\n")
	open := maps.Clone(cmd.Env) // what a profile may have changed; secrets come with the container only
	for _, name := range cmd.Secret {
		delete(open, name)
	}
	exports(&s, open)
	argv := cmd.Argv
	if len(argv) == 0 {
		argv = at.inner(cmd.Script)
	}
	s.WriteString("exec 4>&-\nexec " + shell.QuoteAll(argv))
	return []string{at.shellPath, "-lc", s.String()}
}

// missingProgram reads the engine's refusal of a program as a shell would have answered.
func missingProgram(err error, program string) (job.Exit, string) {
	switch text := err.Error(); {
	case strings.Contains(text, "executable file not found"), strings.Contains(text, program+": no such file or directory"):
		return job.Exit{Code: 127}, program + ": command not found\n"
	case strings.Contains(text, program+": permission denied"), strings.Contains(text, "exec: \""+program+"\": permission denied"):
		return job.Exit{Code: 126}, program + ": permission denied\n"
	}
	return job.Exit{}, ""
}

// checkDirIn looks for a directory with the config's mounts in place: the engine would make a missing one.
func (b *Backend) checkDirIn(ctx context.Context, x box, dir string) error {
	if strings.HasPrefix(dir, "~") {
		return job.Errorf(job.Invalid, "the image %s has no shell that knows what ~ is", x.image.name).WithHint("write the whole path")
	}
	x.role, x.autoRemove = roleProbe, false
	id, err := b.create(ctx, x)
	if err != nil {
		return err
	}
	defer b.cleaner.remove(id)
	info, err := b.statIn(ctx, id, dir)
	switch {
	case cerrdefs.IsNotFound(err):
		nearest := path.Dir(path.Clean(dir))
		for nearest != "/" {
			if _, err := b.statIn(ctx, id, nearest); err == nil {
				break
			}
			nearest = path.Dir(nearest)
		}
		return noDirectory(dir, "m"+nearest)
	case err != nil:
		return b.fail("the working directory could not be looked at", err)
	case !info.Mode.IsDir():
		return noDirectory(dir, "f"+path.Dir(path.Clean(dir)))
	}
	return nil
}

// maxLinks is how far a chain of links is followed.
const maxLinks = 8

// statIn follows links, which the engine's own call does not.
func (b *Backend) statIn(ctx context.Context, id, file string) (container.PathStat, error) {
	api, err := b.engine()
	if err != nil {
		return container.PathStat{}, err
	}
	info, err := api.ContainerStatPath(ctx, id, file)
	for range maxLinks {
		if err != nil || info.Mode&os.ModeSymlink == 0 || info.LinkTarget == "" {
			break
		}
		info, err = api.ContainerStatPath(ctx, id, info.LinkTarget)
	}
	return info, err
}

// lstatIn does not follow links.
func (b *Backend) lstatIn(ctx context.Context, id, file string) (container.PathStat, error) {
	api, err := b.engine()
	if err != nil {
		return container.PathStat{}, err
	}
	return api.ContainerStatPath(ctx, id, file)
}
