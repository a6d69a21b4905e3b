package docker

import (
	"context"
	"path"
	"strconv"
	"strings"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"cmd-exec-mcp/runtime/shell"
)

// ids are who files that are written belong to: the user that the container's commands run as.
func (f containerFiles) ids(ctx context.Context) (uid, gid int, err error) {
	user := f.b.user
	if user == "" && f.p != nil {
		user = f.p.at.image.user
	}
	name, group, _ := strings.Cut(user, ":")
	if name == "" {
		return 0, 0, nil
	}
	uid, err = strconv.Atoi(name)
	if err != nil {
		if uid, gid, err = f.account(ctx, name); err != nil {
			return 0, 0, err
		}
	} else if gid, err = strconv.Atoi(group); err != nil {
		_, gid, err = f.account(ctx, name)
		if err != nil {
			gid = 0 // a number that the image has no account for
		}
	}
	return uid, gid, nil
}

// account looks a user up, by name or by number, in the container's own list.
func (f containerFiles) account(ctx context.Context, name string) (uid, gid int, err error) {
	raw, _, err := f.Read(ctx, "/etc/passwd", 0, 0)
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(raw)) {
		fields := strings.Split(line, ":")
		if len(fields) < 4 || fields[0] != name && fields[2] != name {
			continue
		}
		uid, err1 := strconv.Atoi(fields[2])
		gid, err2 := strconv.Atoi(fields[3])
		if err1 == nil && err2 == nil {
			return uid, gid, nil
		}
	}
	return 0, 0, job.Errorf(job.NotFound, "the container has no account %q", name).WithHint("write docker(user=) as uid:gid")
}

// Delete removes a path with all below it. The engine's API cannot, so a program of the image does it.
func (f containerFiles) Delete(ctx context.Context, file string) error {
	if err := f.check(file); err != nil {
		return err
	}
	if path.Clean(file) == "/" {
		return job.Errorf(job.Invalid, "/ cannot be deleted").WithHint("name a file or folder below it")
	}
	if f.p == nil || f.p.at.shellPath == "" {
		return job.Errorf(job.Unsupported, "this image has no shell to delete with").WithHint("run a program of it that deletes")
	}
	if f.inMemory(file) {
		if _, err := f.text(ctx, file, `[ -e "$F" ] || [ -L "$F" ] || exit 44`, nil); err != nil {
			return err
		}
	} else if _, err := f.b.lstatIn(ctx, f.id, file); err != nil {
		return f.fail(file, err)
	}
	var said strings.Builder
	p, err := f.p.Run(ctx, job.Command{Script: "rm -rf -- " + shell.Quote(path.Clean(file))}, backends.IO{Stderr: &said})
	if err != nil {
		return err
	}
	exit, err := p.Wait()
	switch {
	case err != nil:
		return err
	case exit.Code == 127:
		return job.Errorf(job.Unsupported, "this image has no rm to delete with").WithHint("run a program of it that deletes")
	case exit.Code != 0:
		return job.Errorf(job.Denied, "%s could not be deleted: %s", file, strings.TrimSpace(said.String())).WithHint("the container's user may not, or it is a mount")
	}
	return nil
}

// check is made before anything is asked of the engine, where a container is for a moment still there after its end.
func (f containerFiles) check(file string) error {
	if f.p != nil && f.p.over() {
		return errEndedFiles()
	}
	if path.IsAbs(file) && !strings.ContainsRune(file, 0) {
		return nil
	}
	return job.Errorf(job.Invalid, "the path %q is not absolute", file).WithHint("give the whole path, from /")
}

func errEndedFiles() error {
	return job.Errorf(job.NotFound, "the sandbox has ended, and its files with it").WithHint("start another session with detach=true")
}

// imageFiles looks into a container that is made for one question and never started.
type imageFiles struct{ b *Backend }

func (f imageFiles) start(ctx context.Context, cmd job.Command, to backends.IO) (backends.Process, error) {
	cmd, err := f.b.Resolve(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return f.b.Start(ctx, cmd, to)
}

func (f imageFiles) in(ctx context.Context, use func(containerFiles) error) error {
	x, err := f.b.ensure(ctx, "", nil)
	if err != nil {
		return err
	}
	id, err := f.b.create(ctx, box{image: x, network: "none", role: roleProbe, argv: []string{"/"}})
	if err != nil {
		return err
	}
	defer f.b.cleaner.remove(id)
	return use(containerFiles{b: f.b, id: id})
}

func (f imageFiles) Read(ctx context.Context, file string, offset, limit int64) (data []byte, info job.FileInfo, err error) {
	err = f.in(ctx, func(c containerFiles) (err error) {
		data, info, err = c.Read(ctx, file, offset, limit)
		return err
	})
	return data, info, err
}

// List uses up a container of the pool, which is faster than the archive of a folder.
func (f imageFiles) List(ctx context.Context, dir string) (list []job.FileInfo, err error) {
	if path.IsAbs(dir) {
		if list, ok := listByShell(ctx, dir, f.start); ok {
			return list, nil
		}
	}
	err = f.in(ctx, func(c containerFiles) (err error) {
		list, err = c.List(ctx, dir)
		return err
	})
	return list, err
}

func (f imageFiles) Stat(ctx context.Context, file string) (info job.FileInfo, err error) {
	err = f.in(ctx, func(c containerFiles) (err error) {
		info, err = c.Stat(ctx, file)
		return err
	})
	return info, err
}

func (f imageFiles) Write(context.Context, string, []byte) (job.FileInfo, error) {
	return job.FileInfo{}, errImage()
}
func (f imageFiles) Mkdir(context.Context, string) error  { return errImage() }
func (f imageFiles) Delete(context.Context, string) error { return errImage() }

func errImage() error {
	return job.Errorf(job.Invalid, "without a session there is no container that would keep the change").
		WithHint("start a session with detach=true first, and give its session_id")
}
