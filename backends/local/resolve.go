package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"cmd-exec-mcp/runtime/job"
)

// Resolve implements backends.Backend. An empty directory is the server's own.
func (b *backend) Resolve(_ context.Context, cmd job.Command) (job.Command, error) {
	if err := checkText(cmd); err != nil {
		return cmd, err
	}
	if len(cmd.Argv) == 0 {
		name, err := b.shell(cmd.Shell)
		if err != nil {
			return cmd, err
		}
		cmd.Shell = name
	}
	dir, err := b.directory(cmd.Dir)
	if err != nil {
		return cmd, err
	}
	cmd.Dir = dir
	return cmd, nil
}

// checkText refuses what no exec can take.
func checkText(cmd job.Command) error {
	if len(cmd.Script) > maxScript {
		return job.Errorf(job.Invalid, "the command is %d bytes long, this system takes %d", len(cmd.Script), maxScript).
			WithHint("write it to a file and run that, or give it as stdin of a shell")
	}
	if strings.ContainsRune(cmd.Script, 0) {
		return job.Errorf(job.Invalid, "the command contains a NUL byte").WithHint("write it as \\0 for printf, or give it as stdin")
	}
	for _, arg := range cmd.Argv {
		if strings.ContainsRune(arg, 0) {
			return job.Errorf(job.Invalid, "an argument contains a NUL byte").WithHint("give binary data as stdin")
		}
	}
	if len(cmd.Argv) > 0 && cmd.Argv[0] == "" {
		return job.Errorf(job.Invalid, "the command's name is empty").WithHint("argv begins with a program")
	}
	for name, value := range cmd.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return job.Errorf(job.Invalid, "env: %q cannot be a variable", name).
				WithHint("a name has no = and neither name nor value has a NUL byte")
		}
	}
	return nil
}

func (b *backend) shell(name string) (string, error) {
	if name == "" {
		name = b.config.Shell
	}
	if name == "" {
		if len(b.names) == 0 {
			return "", job.Errorf(job.NotFound, "there is no shell on this host").WithHint("set PATH for the server")
		}
		return b.names[0], nil
	}
	if _, ok := b.shells[name]; !ok {
		return "", job.Errorf(job.NotFound, "shell %q is not on this host", name).
			WithHint("one of [%s]", strings.Join(b.names, " "))
	}
	return name, nil
}

// directory makes dir absolute and checks that a command can start in it. A shell would report a bad one as "bash not
// found", since that is what exec says.
func (b *backend) directory(dir string) (string, error) {
	if dir == "" {
		own, err := os.Getwd()
		if err != nil {
			return "", job.Errorf(job.NotFound, "the server's own directory is gone").WithHint("give cwd")
		}
		return own, nil
	}
	full, err := expand(dir)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(full) {
		return "", job.Errorf(job.Invalid, "cwd %q is relative", dir).WithHint("give it from the root, or from ~")
	}
	if strings.ContainsRune(full, 0) {
		return "", job.Errorf(job.Invalid, "cwd contains a NUL byte").WithHint("give an existing directory")
	}
	// Only what means the same to the kernel is tidied: /link/.. is not / where link points elsewhere.
	if strings.Contains(full, "..") {
		if real, err := filepath.EvalSymlinks(full); err == nil {
			full = real
		}
	} else {
		full = filepath.Clean(full)
	}
	return full, checkDir(full)
}

// checkDir says in words what is wrong with a working directory, nil if a command can start there.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return job.Errorf(job.NotFound, "cwd %s: no permission", dir).WithHint("use a directory that this user may enter")
	case err != nil:
		return job.Errorf(job.NotFound, "cwd %s does not exist", dir).WithHint("the nearest folder that exists is %s", nearest(dir))
	case !info.IsDir():
		return job.Errorf(job.NotFound, "cwd %s is a file", dir).WithHint("its folder is %s", filepath.Dir(dir))
	case !mayEnter(dir):
		return job.Errorf(job.NotFound, "cwd %s: no permission", dir).WithHint("use a directory that this user may enter")
	}
	return nil
}

func nearest(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if info, err := os.Stat(parent); parent == dir || err == nil && info.IsDir() {
			return parent
		}
		dir = parent
	}
}

// expand replaces ~ and ~user at the beginning.
func expand(dir string) (string, error) {
	if !strings.HasPrefix(dir, "~") {
		return dir, nil
	}
	end := strings.IndexFunc(dir, func(r rune) bool { return r == '/' || r == filepath.Separator })
	if end < 0 {
		end = len(dir)
	}
	name := dir[1:end]
	base := home()
	if name != "" {
		base = homeOf(name)
	}
	if base == "" {
		return "", job.Errorf(job.NotFound, "cwd %s: no such user", dir).WithHint("~ alone is the home directory")
	}
	return filepath.Join(base, dir[end:]), nil
}

// homeOf returns the home directory of a user, "" being the present one; "" if there is no such user.
func homeOf(name string) string {
	u, err := user.Current()
	if name != "" {
		u, err = user.Lookup(name)
	}
	if err != nil {
		return ""
	}
	return u.HomeDir
}
