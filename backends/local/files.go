package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// Files implements backends.Filer.
func (b *backend) Files() backends.Files { return files{} }

// files works on this host's own file system, through symlinks, with the server's rights.
type files struct{}

var _ backends.Files = files{}

// Read returns limit bytes from offset; a limit of 0 means to the end.
func (files) Read(_ context.Context, path string, offset, limit int64) ([]byte, job.FileInfo, error) {
	if err := absolute(path); err != nil {
		return nil, job.FileInfo{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, job.FileInfo{}, fileError(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, job.FileInfo{}, fileError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, job.FileInfo{}, job.Errorf(job.Invalid, "%s is no regular file", path).WithHint("list shows a directory")
	}
	if offset < 0 || limit < 0 {
		return nil, job.FileInfo{}, job.Errorf(job.Invalid, "offset and limit count from 0")
	}
	if limit == 0 {
		limit = 1<<63 - 1
	}
	data, err := io.ReadAll(io.NewSectionReader(f, offset, min(limit, 1<<63-1-offset)))
	if err != nil {
		return nil, job.FileInfo{}, fileError(path, err)
	}
	return data, describeFile(path, info), nil
}

// Write replaces the file's content and makes the folders above it. An existing file keeps its mode.
func (f files) Write(ctx context.Context, path string, content []byte) (job.FileInfo, error) {
	if err := absolute(path); err != nil {
		return job.FileInfo{}, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return job.FileInfo{}, fileError(path, err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		return job.FileInfo{}, fileError(path, err)
	}
	return f.Stat(ctx, path)
}

// List is sorted by name.
func (files) List(_ context.Context, path string) ([]job.FileInfo, error) {
	if err := absolute(path); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	list := make([]job.FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // it went away since
		}
		list = append(list, describeFile(filepath.Join(path, e.Name()), info))
	}
	return list, nil
}

// Stat does not follow a link at the end of path.
func (files) Stat(_ context.Context, path string) (job.FileInfo, error) {
	if err := absolute(path); err != nil {
		return job.FileInfo{}, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return job.FileInfo{}, fileError(path, err)
	}
	return describeFile(path, info), nil
}

// Mkdir makes the folders above it too; one that exists is no error.
func (files) Mkdir(_ context.Context, path string) error {
	if err := absolute(path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fileError(path, err)
	}
	return nil
}

// Delete removes a file, or a folder with what is in it. What does not exist is NotFound.
func (files) Delete(_ context.Context, path string) error {
	if err := absolute(path); err != nil {
		return err
	}
	if clean := filepath.Clean(path); filepath.Dir(clean) == clean {
		return job.Errorf(job.Invalid, "%s is the root of the file system", path).WithHint("delete what is in it by name")
	}
	if _, err := os.Lstat(path); err != nil {
		return fileError(path, err)
	}
	if err := os.RemoveAll(path); err != nil {
		return fileError(path, err)
	}
	return nil
}

func absolute(path string) error {
	if !filepath.IsAbs(path) {
		return job.Errorf(job.Invalid, "path %q is not absolute", path).WithHint("give it from the root")
	}
	return nil
}

func fileError(path string, err error) error {
	cause := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return job.Errorf(job.NotFound, "%s does not exist", path).WithHint("the nearest folder that exists is %s", nearest(path))
	case errors.Is(err, fs.ErrPermission):
		return job.Errorf(job.Denied, "%s: no permission", path).WithHint("the server's user may not do that")
	}
	return job.Errorf(job.Invalid, "%s: %w", path, cause).WithHint("stat says what it is")
}

func describeFile(path string, info fs.FileInfo) job.FileInfo {
	kind := "other"
	switch {
	case info.Mode().IsRegular():
		kind = "file"
	case info.IsDir():
		kind = "dir"
	case info.Mode()&fs.ModeSymlink != 0:
		kind = "link"
	}
	return job.FileInfo{
		Name: filepath.Base(path), Path: path, Type: kind, Size: info.Size(), Mode: uint32(info.Mode().Perm()), Modified: info.ModTime(),
	}
}
