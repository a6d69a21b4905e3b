package ssh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Files implements backends.Filer, over SFTP.
func (b *Backend) Files() backends.Files { return files{b} }

// Files implements backends.Filer: a session's files are those of the host.
func (p *process) Files() backends.Files { return files{p.backend} }

// maxRead bounds one read.
const maxRead = 64 << 20

type files struct{ b *Backend }

// with runs f with an SFTP session of its own, which ctx bounds.
func (f files) with(ctx context.Context, file string, do func(*sftp.Client) error) error {
	if !path.IsAbs(file) || strings.ContainsRune(file, 0) {
		return invalid("the path "+file+" is not absolute", "give the whole path on the remote host, from /")
	}
	for {
		c, err := f.b.pool.get(ctx)
		if err != nil {
			return err
		}
		ch, err := c.open(ctx)
		if errors.Is(err, errFull) || errors.Is(err, errNotSent) {
			continue
		}
		if err != nil {
			return err
		}
		return f.over(ctx, ch, file, do)
	}
}

func (f files) over(ctx context.Context, ch *channel, file string, do func(*sftp.Client) error) error {
	defer func() { _ = ch.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = ch.Close() })
	defer stop()
	go func() { _, _ = io.Copy(io.Discard, ch.Stderr()) }()
	ok, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	if err != nil || !ok {
		return f.none(ctx)
	}
	client, err := sftp.NewClientPipe(ch, ch)
	if err != nil {
		return f.none(ctx)
	}
	defer func() { _ = client.Close() }()
	if err := do(client); err != nil {
		if ctx.Err() != nil {
			return contextError(ctx, f.b.config.Target)
		}
		return f.fail(file, err)
	}
	return nil
}

func (f files) none(ctx context.Context) error {
	if ctx.Err() != nil {
		return contextError(ctx, f.b.config.Target)
	}
	return job.Errorf(job.Unsupported, "%s has no SFTP", f.b.config.Target).WithHint("install its sftp-server, or use the shell tool: cat, ls, tee")
}

func (f files) fail(file string, err error) error {
	if _, ok := errors.AsType[*job.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return job.Errorf(job.NotFound, "%s does not exist on the remote host", file).WithHint("list shows what a folder holds")
	case errors.Is(err, os.ErrPermission):
		return job.Errorf(job.Denied, "no permission for %s on the remote host", file).WithHint("choose another path, or connect as another user")
	case errors.Is(err, sftp.ErrSSHFxConnectionLost), errors.Is(err, io.ErrUnexpectedEOF):
		return job.Errorf(job.Unavailable, "the connection was lost at %s: %w", file, err).WithHint("try again")
	}
	return job.Errorf(job.Invalid, "%s: %w", file, err).WithHint("stat says what it is")
}

func (f files) Stat(ctx context.Context, file string) (info job.FileInfo, err error) {
	err = f.with(ctx, file, func(c *sftp.Client) error {
		info, err = stat(c, file)
		return err
	})
	return info, err
}

func stat(c *sftp.Client, file string) (job.FileInfo, error) {
	i, err := c.Lstat(file)
	if err != nil {
		return job.FileInfo{}, err
	}
	return fileInfo(file, i), nil
}

func (f files) Read(ctx context.Context, file string, offset, limit int64) (data []byte, info job.FileInfo, err error) {
	if limit <= 0 || limit > maxRead {
		limit = maxRead
	}
	err = f.with(ctx, file, func(c *sftp.Client) error {
		i, err := c.Stat(file)
		if err != nil {
			return err
		}
		if info = fileInfo(file, i); info.Type != "file" {
			return job.Errorf(job.Invalid, "%s is a %s, not a file", file, info.Type).WithHint("list shows what is in a folder")
		}
		from, err := c.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = from.Close() }()
		if _, err := from.Seek(offset, io.SeekStart); err != nil {
			return err
		}
		var buf bytes.Buffer
		if _, err := from.WriteTo(&limited{w: &buf, left: limit}); err != nil && !errors.Is(err, errEnough) {
			return err
		}
		data = buf.Bytes()
		return nil
	})
	return data, info, err
}

// limited takes so much and then says that it is enough.
type limited struct {
	w    io.Writer
	left int64
}

var errEnough = errors.New("that is enough")

func (l *limited) Write(p []byte) (int, error) {
	take := min(l.left, int64(len(p)))
	n, err := l.w.Write(p[:take])
	if l.left -= int64(n); err == nil && l.left == 0 {
		err = errEnough
	}
	return n, err
}

func (f files) Write(ctx context.Context, file string, content []byte) (info job.FileInfo, err error) {
	err = f.with(ctx, file, func(c *sftp.Client) error {
		if i, err := c.Stat(file); err == nil && i.IsDir() {
			return job.Errorf(job.Invalid, "%s is a folder", file).WithHint("give the path of a file")
		}
		if err := c.MkdirAll(path.Dir(file)); err != nil {
			return err
		}
		to, err := c.Create(file)
		if err != nil {
			return err
		}
		_, err = to.ReadFrom(bytes.NewReader(content))
		if closing := to.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
		info, err = stat(c, file)
		return err
	})
	return info, err
}

func (f files) List(ctx context.Context, dir string) (list []job.FileInfo, err error) {
	err = f.with(ctx, dir, func(c *sftp.Client) error {
		i, err := c.Stat(dir)
		if err != nil {
			return err
		}
		if !i.IsDir() {
			return job.Errorf(job.Invalid, "%s is not a folder", dir).WithHint("read shows a file, stat describes it")
		}
		entries, err := c.ReadDirContext(ctx, dir)
		for _, e := range entries {
			list = append(list, fileInfo(path.Join(dir, e.Name()), e))
		}
		return err
	})
	slices.SortFunc(list, func(a, b job.FileInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func (f files) Mkdir(ctx context.Context, dir string) error {
	return f.with(ctx, dir, func(c *sftp.Client) error { return c.MkdirAll(dir) })
}

func (f files) Delete(ctx context.Context, file string) error {
	if path.Clean(file) == "/" {
		return invalid("/ is not deleted", "give what is to go")
	}
	return f.with(ctx, file, func(c *sftp.Client) error {
		i, err := c.Lstat(file)
		switch {
		case err != nil:
			return err
		case i.IsDir():
			return c.RemoveAll(file)
		}
		return c.Remove(file)
	})
}

func fileInfo(file string, i os.FileInfo) job.FileInfo {
	info := job.FileInfo{Name: path.Base(file), Path: path.Clean(file), Type: "other", Size: i.Size(), Mode: uint32(i.Mode().Perm()), Modified: i.ModTime()}
	switch mode := i.Mode(); {
	case mode.IsRegular():
		info.Type = "file"
	case mode.IsDir():
		info.Type, info.Size = "dir", 0
	case mode&os.ModeSymlink != 0:
		info.Type = "link"
	}
	return info
}

var (
	_ backends.Backend = (*Backend)(nil)
	_ backends.Filer   = (*Backend)(nil)
)
