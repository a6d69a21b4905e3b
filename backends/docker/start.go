package docker

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// Resolve implements backends.Backend: it settles image, network, directory and shell. The shell of an image that has
// still to be pulled is assumed; Start refuses to run text in another one than it was checked for.
func (b *Backend) Resolve(ctx context.Context, cmd job.Command) (job.Command, error) {
	var err error
	if cmd.Image, err = choose("image", cmd.Image, b.config.images()); err != nil {
		return cmd, err
	}
	if cmd.Network, err = choose("network", cmd.Network, b.config.networks()); err != nil {
		return cmd, err
	}
	if cmd.Dir == "" {
		cmd.Dir = b.config.Workdir
	}
	if err := checkDir(cmd.Dir); err != nil {
		return cmd, err
	}
	if strings.ContainsRune(cmd.Script, 0) || slices.ContainsFunc(cmd.Argv, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return cmd, job.Errorf(job.Invalid, "the command holds a NUL byte").WithHint("no system takes one in an argument; send it on stdin")
	}
	if err := checkSize(cmd); err != nil {
		return cmd, err
	}
	x, err := b.images.local(ctx, cmd.Image)
	if err != nil {
		return cmd, err
	}
	if x == nil {
		if cmd.Shell == "" {
			cmd.Shell = b.Properties().Shells[0]
		}
		return cmd, nil
	}
	name, _, err := b.shellFor(x, cmd)
	cmd.Shell = name
	return cmd, err
}

// maxArgument is what Linux takes as one argument or variable, its closing NUL left out.
const maxArgument = 128<<10 - 1

func checkSize(cmd job.Command) error {
	most := len(cmd.Script)
	for _, argument := range cmd.Argv {
		most = max(most, len(argument))
	}
	for name, value := range cmd.Env {
		most = max(most, len(name)+1+len(value))
	}
	if most <= maxArgument {
		return nil
	}
	return job.Errorf(job.Invalid, "the command or a variable of it has %d bytes, and Linux takes no more than %d", most, maxArgument).
		WithHint("give large data as stdin, or write it to a session's file first")
}

func choose(what, asked string, list []string) (string, error) {
	if asked == "" {
		return list[0], nil
	}
	if slices.Contains(list, asked) {
		return asked, nil
	}
	return "", job.Errorf(job.NotFound, "no %s %q may be used", what, asked).WithHint("one of [%s]", strings.Join(list, ", "))
}

func checkDir(dir string) error {
	switch {
	case dir == "", dir == "~", strings.HasPrefix(dir, "~/"), path.IsAbs(dir):
	default:
		return job.Errorf(job.Invalid, "the working directory %q is not absolute", dir).WithHint("give the whole path inside the container, from /")
	}
	if strings.ContainsRune(dir, 0) {
		return job.Errorf(job.Invalid, "the working directory holds a NUL byte").WithHint("give a path without it")
	}
	return nil
}

// shellFor is the shell that runs cmd. A command given as argv runs without one too: name and path are "" then.
func (b *Backend) shellFor(x *image, cmd job.Command) (name, path string, err error) {
	wanted := cmd.Shell
	if wanted == "" {
		wanted = b.config.Shell
	}
	if name, path = x.shell(wanted); path != "" || len(cmd.Argv) > 0 {
		return name, path, nil
	}
	if len(x.shells) == 0 {
		return "", "", job.Errorf(job.Unsupported, "the image %s has no shell, so it cannot run command text", x.name).
			WithHint("run a program of it as argv (a command_tool), or choose another image")
	}
	return "", "", job.Errorf(job.NotFound, "the image %s has no shell %q", x.name, wanted).WithHint("one of [%s]", strings.Join(x.names(), ", "))
}

// Start implements backends.Backend. A missing image is pulled first.
func (b *Backend) Start(ctx context.Context, cmd job.Command, io backends.IO) (backends.Process, error) {
	x, err := b.ensure(ctx, cmd.Image, io.Progress)
	if err != nil {
		return nil, err
	}
	checked := cmd.Shell
	if len(cmd.Argv) > 0 {
		cmd.Shell = ""
	}
	name, path, err := b.shellFor(x, cmd)
	if err != nil && checked != "" && len(x.shells) > 0 {
		return nil, job.Errorf(job.Unavailable, "the image %s was fetched just now, and it has no %s for which the text was checked; nothing was run", x.name, checked).
			WithHint("send the same call again: it will be checked for and run by one of [%s]", strings.Join(x.names(), ", "))
	}
	if err != nil {
		return nil, err
	}
	at := place{image: x, shell: name, shellPath: path}
	var p *process
	if cmd.TTY != nil || path == "" {
		p, err = b.startPlain(ctx, cmd, at, io)
	} else {
		p, err = b.startOuter(ctx, cmd, at, io)
	}
	if err != nil {
		return nil, err
	}
	if !b.enter(p) {
		_ = p.Kill(ctx)
		return nil, job.Errorf(job.Canceled, "the server is shutting down")
	}
	if p.over() {
		b.leave(p)
	}
	return p, nil
}

// startOuter hands the command to a container that waits for one, or to a new one.
func (b *Backend) startOuter(ctx context.Context, cmd job.Command, at place, io backends.IO) (*process, error) {
	network := cmd.Network
	if network == "" {
		network = b.config.networks()[0]
	}
	for {
		w := b.pool.take(at, network)
		fresh := w == nil
		if fresh {
			var err error
			if w, err = b.prestart(ctx, at, network, roleCommand); err != nil {
				return nil, err
			}
		}
		p, err := w.run(ctx, cmd, io)
		if !errors.Is(err, errShellEnded) {
			return p, err
		}
		if fresh {
			return nil, shellEnded(at.image)
		}
		// It died while it waited, and nothing of the command was read.

	}
}

func shellEnded(x *image) error {
	return job.Errorf(job.Unavailable, "the shell of %s ended before the command began; nothing was run", x.name).
		WithHint("its profile, docker(prefix=) or docker(entrypoint=) ends it: try them with `docker run -it %s`", x.name)
}
