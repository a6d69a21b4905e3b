//go:build unix

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/sys/unix"
)

// Start implements backends.Backend.
func (b *backend) Start(ctx context.Context, cmd job.Command, io backends.IO) (backends.Process, error) {
	if err := b.ready(ctx, cmd); err != nil {
		return nil, err
	}
	var login map[string]string
	if cmd.Login {
		var err error
		if login, err = b.loginEnv(ctx, cmd); err != nil {
			return nil, err
		}
	}
	env := b.environ(cmd, login)
	path := b.shells[cmd.Shell]
	if len(cmd.Argv) > 0 {
		found, fault := lookup(cmd.Argv[0], cmd.Dir, env)
		if fault != nil {
			return b.failed(fault, cmd, io), nil
		}
		path = found
	} else if path == "" {
		_, err := b.shell(cmd.Shell)
		return nil, err
	}
	b.gate.RLock()
	defer b.gate.RUnlock()
	if b.closed {
		return nil, job.Errorf(job.Unavailable, "the server is shutting down")
	}
	p, err := b.spawn(path, b.arguments(cmd), env, cmd, io)
	if errno, ok := errors.AsType[syscall.Errno](err); ok && len(cmd.Argv) > 0 && (errno == syscall.ENOENT || errno == syscall.EACCES || errno == syscall.ENOEXEC) {
		if bad := checkDir(cmd.Dir); bad != nil {
			return nil, bad
		}
		return b.failed(&fault{code: 126, message: cmd.Argv[0] + ": " + errno.Error()}, cmd, io), nil
	}
	if err != nil {
		return nil, explain(err, cmd)
	}
	return p, nil
}

func (b *backend) ready(ctx context.Context, cmd job.Command) error {
	if err := ctx.Err(); err != nil {
		kind := job.Canceled
		if errors.Is(err, context.DeadlineExceeded) {
			kind = job.Timeout
		}
		return &job.Error{Op: "local.Start", Kind: kind, Err: errors.New("it was not started in time"), Hint: "nothing was run"}
	}
	return checkText(cmd)
}

// spawn forks and execs. Its errors are the system's; nothing runs then.
func (b *backend) spawn(path string, argv, env []string, cmd job.Command, io backends.IO) (*process, error) {
	wires, err := b.connect(cmd, io.Merged())
	if err != nil {
		return nil, err
	}
	defer wires.closeTheirs()
	p := &process{backend: b, over: make(chan struct{}), done: make(chan struct{}), tree: b.forest.plant()}
	attr := &syscall.ProcAttr{Dir: cmd.Dir, Env: env, Files: wires.theirs, Sys: &syscall.SysProcAttr{Setpgid: true}}
	switch {
	case wires.tty != nil:
		attr.Sys = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	case b.forest.terminal:
		attr.Sys = &syscall.SysProcAttr{Setsid: true}
	}
	if err := p.tree.fork(&p.leader, path, argv, attr); err != nil {
		wires.closeOurs()
		b.forest.clear(p.tree)
		return nil, err
	}
	p.search = searchPath(env)
	p.tty, p.stdin = wires.tty, wires.stdin(cmd, p)
	b.enter(p)
	p.readers = append(p.readers, p.newReader(wires.out, io.Stdout))
	if wires.err != nil {
		p.readers = append(p.readers, p.newReader(wires.err, io.Stderr))
	}
	p.delivering.Add(len(p.readers))
	p.open.Store(int32(len(p.readers)))
	for _, r := range p.readers {
		go p.read(r)
	}
	go p.follow()
	return p, nil
}

// explain turns the system's word for a failed start into one about the call.
func explain(err error, cmd job.Command) error {
	if bad := checkDir(cmd.Dir); cmd.Dir != "" && bad != nil {
		return bad
	}
	switch {
	case errors.Is(err, syscall.E2BIG):
		return job.Errorf(job.Invalid, "the command and its environment are too large for this system").
			WithHint("give large data as stdin or in a file")
	case errors.Is(err, syscall.ENOENT):
		return job.Errorf(job.NotFound, "the shell %s is gone from this host", cmd.Shell).WithHint("restart the server, or choose another shell")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return job.Errorf(job.Unavailable, "this host cannot start another process: %w", err).
			WithHint("wait for running commands to end, or raise ulimit -u and -n")
	}
	return &job.Error{Op: "local.Start", Kind: job.Unavailable, Err: err, Hint: "the command was not run"}
}

// fault says why an argv names nothing that can run, with the exit code that a shell gives for it.
type fault struct {
	code          int
	message, hint string
}

// lookup finds a program as the child's own exec would: in its PATH, relative names below its directory.
func lookup(name, dir string, env []string) (string, *fault) {
	if strings.Contains(name, "/") {
		full := name
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, full)
		}
		return full, executable(full, name)
	}
	search := searchPath(env)
	worst := &fault{code: 127, message: name + ": command not found", hint: nearName(name, search)}
	for _, folder := range filepath.SplitList(search) {
		full := filepath.Join(folder, name)
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, full)
		}
		bad := executable(full, name)
		if bad == nil {
			return full, nil
		}
		if bad.code == 126 {
			worst = bad
		}
	}
	return "", worst
}

func searchPath(env []string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return value
		}
	}
	return ""
}

func executable(full, name string) *fault {
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, os.ErrPermission):
		return &fault{code: 126, message: name + ": Permission denied"}
	case err != nil:
		return &fault{code: 127, message: name + ": No such file or directory"}
	case info.IsDir():
		return &fault{code: 126, message: name + ": Is a directory"}
	case unix.Access(full, unix.X_OK) != nil:
		return &fault{code: 126, message: name + ": Permission denied", hint: "chmod +x makes it executable, or run it with its interpreter"}
	}
	return nil
}

// failed is a process that never was: its message and exit code are what a shell would have given.
func (b *backend) failed(f *fault, cmd job.Command, io backends.IO) *process {
	w := io.Stderr
	if cmd.TTY != nil {
		w = io.Stdout
	}
	w.Write([]byte(f.message + "\n"))
	p := &process{backend: b, done: make(chan struct{}), exit: job.Exit{Code: f.code, Hint: f.hint}}
	p.ended.Store(time.Now().UnixNano())
	p.leader.reaped = true
	if cmd.Stdin == job.StdinPipe {
		p.stdin = endedStdin{}
	}
	close(p.done)
	return p
}
