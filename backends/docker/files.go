package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// Files implements backends.Filer: the default image's files. There is no container that would keep a change, so what
// writes is refused.
func (b *Backend) Files() backends.Files { return imageFiles{b} }

// Files implements backends.Filer: the files of the container, by the engine's archive API, which sees neither /proc nor what a
// process mounted.
func (p *process) Files() backends.Files { return containerFiles{b: p.backend, id: p.id, p: p} }

// maxRead bounds one read.
const maxRead = 64 << 20

// containerFiles works on one container. p is nil for one that never runs.
type containerFiles struct {
	b  *Backend
	id string
	p  *process
}

func (f containerFiles) Stat(ctx context.Context, file string) (job.FileInfo, error) {
	if err := f.check(file); err != nil {
		return job.FileInfo{}, err
	}
	if f.inMemory(file) {
		return f.memoryStat(ctx, file)
	}
	info, err := f.stat(ctx, file)
	if err != nil {
		return job.FileInfo{}, f.fail(file, err)
	}
	return fileInfo(file, info.Mode, info.Size, info.Mtime), nil
}

func (f containerFiles) Read(ctx context.Context, file string, offset, limit int64) ([]byte, job.FileInfo, error) {
	info, err := f.Stat(ctx, file)
	if err != nil {
		return nil, info, err
	}
	if info.Type != "file" {
		return nil, info, job.Errorf(job.Invalid, "%s is a %s, not a file", file, info.Type).WithHint("list shows what is in a folder")
	}
	if limit <= 0 || limit > maxRead {
		limit = maxRead
	}
	if f.inMemory(file) {
		data, err := f.memoryRead(ctx, file, offset, limit)
		return data, info, err
	}
	var data []byte
	err = f.open(ctx, file, func(h *tar.Header, r io.Reader) (bool, error) {
		if h.Typeflag != tar.TypeReg {
			return true, nil
		}
		if _, err := io.CopyN(io.Discard, r, offset); err != nil {
			return false, ignoreEOF(err)
		}
		data, err = io.ReadAll(io.LimitReader(r, limit))
		return false, err
	})
	if err != nil {
		return nil, info, f.fail(file, err)
	}
	return data, info, nil
}

// List asks a shell in the container where there is one. Else it reads the folder's archive, with all below it: the
// engine has no other way.
func (f containerFiles) List(ctx context.Context, dir string) ([]job.FileInfo, error) {
	if f.p != nil && f.p.at.shellPath != "" && path.IsAbs(dir) {
		if list, ok := listByShell(ctx, dir, f.p.Run); ok {
			return list, nil
		}
	}
	info, err := f.Stat(ctx, dir)
	if err != nil {
		return nil, err
	}
	if info.Type != "dir" {
		return nil, job.Errorf(job.Invalid, "%s is a %s, not a folder", dir, info.Type).WithHint("read shows a file, stat describes it")
	}
	list := []job.FileInfo{}
	err = f.open(ctx, dir, func(h *tar.Header, _ io.Reader) (bool, error) {
		_, name, ok := strings.Cut(strings.Trim(h.Name, "/"), "/")
		if ok && !strings.Contains(name, "/") {
			list = append(list, fileInfo(path.Join(dir, name), h.FileInfo().Mode(), h.Size, h.ModTime))
		}
		return true, nil
	})
	if err != nil {
		return nil, f.fail(dir, err)
	}
	return list, nil
}

// open walks the archive of one path while each returns true.
func (f containerFiles) open(ctx context.Context, file string, each func(*tar.Header, io.Reader) (bool, error)) error {
	api, err := f.b.engine()
	if err != nil {
		return err
	}
	info, err := api.ContainerStatPath(ctx, f.id, file)
	for range maxLinks {
		if err != nil || info.Mode&os.ModeSymlink == 0 || info.LinkTarget == "" {
			break
		}
		file = info.LinkTarget
		info, err = api.ContainerStatPath(ctx, f.id, file)
	}
	if err != nil {
		return err
	}
	body, _, err := api.CopyFromContainer(ctx, f.id, file)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	for r := tar.NewReader(body); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if more, err := each(h, r); err != nil || !more {
			return err
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (f containerFiles) Write(ctx context.Context, file string, content []byte) (job.FileInfo, error) {
	if err := f.check(file); err != nil {
		return job.FileInfo{}, err
	}
	if f.inMemory(file) {
		if err := f.memoryWrite(ctx, file, content); err != nil {
			return job.FileInfo{}, err
		}
		return f.Stat(ctx, file)
	}
	mode := int64(0o644)
	switch old, err := f.stat(ctx, file); {
	case err == nil && old.Mode.IsDir():
		return job.FileInfo{}, job.Errorf(job.Invalid, "%s is a folder", file).WithHint("give the path of a file")
	case err == nil:
		mode = int64(old.Mode.Perm())
	case !cerrdefs.IsNotFound(err):
		return job.FileInfo{}, f.fail(file, err)
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content)), ModTime: time.Now()}
	if err := f.put(ctx, file, h, content); err != nil {
		return job.FileInfo{}, err
	}
	return f.Stat(ctx, file)
}

func (f containerFiles) Mkdir(ctx context.Context, dir string) error {
	switch info, err := f.Stat(ctx, dir); {
	case err == nil && info.Type == "dir":
		return nil
	case err == nil:
		return job.Errorf(job.Invalid, "%s is a %s", dir, info.Type).WithHint("choose another name")
	case job.KindOf(err) != job.NotFound:
		return err
	}
	if f.inMemory(dir) {
		return f.memoryMkdir(ctx, dir)
	}
	return f.put(ctx, dir, &tar.Header{Typeflag: tar.TypeDir, Mode: 0o755, ModTime: time.Now()}, nil)
}

// put unpacks one entry, and before it the parents that are missing: one that is there would lose its mode and owner.
func (f containerFiles) put(ctx context.Context, file string, h *tar.Header, content []byte) error {
	file = path.Clean(file)
	base, missing := path.Dir(file), []string{}
	for base != "/" {
		info, err := f.stat(ctx, base)
		if err == nil {
			if !info.Mode.IsDir() {
				return job.Errorf(job.Invalid, "%s is a file, so nothing can be below it", base).WithHint("choose another folder")
			}
			break
		}
		if !cerrdefs.IsNotFound(err) {
			return f.fail(file, err)
		}
		missing = append(missing, base)
		base = path.Dir(base)
	}
	uid, gid, err := f.ids(ctx)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	add := func(name string, h *tar.Header) {
		h.Name = strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
		h.Uid, h.Gid = uid, gid
		if err == nil {
			err = w.WriteHeader(h)
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		add(missing[i], &tar.Header{Typeflag: tar.TypeDir, Mode: 0o755, ModTime: h.ModTime})
	}
	add(file, h)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return job.Errorf(job.Invalid, "%s cannot be written: %w", file, err).WithHint("choose a shorter, plain name")
	}
	api, err := f.b.engine()
	if err == nil {
		err = api.CopyToContainer(ctx, f.id, base, &buf, container.CopyToContainerOptions{})
	}
	if err != nil {
		return f.fail(file, err)
	}
	return nil
}

func (f containerFiles) fail(file string, err error) error {
	switch text := err.Error(); {
	case cerrdefs.IsNotFound(err) && strings.Contains(text, "No such container"):
		return errEndedFiles()
	case cerrdefs.IsNotFound(err):
		return job.Errorf(job.NotFound, "%s does not exist in the container", file).WithHint("list shows what a folder holds")
	case strings.Contains(text, "read-only"):
		return job.Errorf(job.Denied, "%s is read-only in this container", file).WithHint("write below a mount that is not readonly; the owner decides with readonly_root and mount(...)")
	}
	return f.b.fail(file, err)
}

func fileInfo(file string, mode os.FileMode, size int64, modified time.Time) job.FileInfo {
	info := job.FileInfo{Name: path.Base(file), Path: path.Clean(file), Type: "other", Size: size, Mode: uint32(mode.Perm()), Modified: modified}
	switch {
	case mode.IsRegular():
		info.Type = "file"
	case mode.IsDir():
		info.Type, info.Size = "dir", 0
	case mode&os.ModeSymlink != 0:
		info.Type = "link"
	}
	return info
}
