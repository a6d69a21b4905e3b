package runtime

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cmd-exec-mcp/runtime/job"
)

// outputFile takes a command's whole standard output. It is made beside its place at once, so that a folder that cannot
// be written is an error before the command runs, and put in its place at the first byte or at the end: a command that
// did not start leaves the old file as it was.
type outputFile struct {
	mu     sync.Mutex
	folder *os.Root
	file   *os.File
	spare  string // its name until it is placed
	name   string
	placed bool
	gone   bool
}

// openOutput opens the request's output file. Kinds: Invalid, NotFound, Denied.
func (e *Engine) openOutput(p *prepared) (*outputFile, error) {
	path, err := e.outputPath(p)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(path)
	real, err := filepath.EvalSymlinks(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, job.Errorf(job.NotFound, "output_file: the folder %s does not exist", dir).WithHint("make it first, or name a file in a folder that exists")
	case err != nil:
		return nil, job.Errorf(job.Invalid, "output_file: %w", err).WithHint("name a file in a folder that can be written")
	case filepath.Clean(dir) != real:
		return nil, job.Errorf(job.Denied, "output_file: %s goes through a symbolic link", dir).WithHint("write %s", filepath.Join(real, name))
	}
	mode, err := e.mayReplace(path)
	if err != nil {
		return nil, err
	}
	folder, err := os.OpenRoot(real)
	if err != nil {
		return nil, job.Errorf(job.Invalid, "output_file: %w", err)
	}
	spare := ".cmd-exec-mcp." + rand.Text()
	file, err := folder.OpenFile(spare, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		folder.Close()
		return nil, job.Errorf(job.Invalid, "output_file: cannot write to %s: %w", dir, bare(err)).WithHint("name a file in a folder that can be written")
	}
	if mode != 0 {
		file.Chmod(mode) // where it fails the new file has the usual mode
	}
	p.req.OutputFile = path
	return &outputFile{folder: folder, file: file, spare: spare, name: name}, nil
}

// bare is a system's error without the name of a file that the caller has not named.
func bare(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// outputPath makes the path absolute: below the working directory where that is this host's, else below the data folder.
func (e *Engine) outputPath(p *prepared) (string, error) {
	path := p.req.OutputFile
	if strings.ContainsRune(path, 0) || strings.HasSuffix(path, "/") {
		return "", job.Errorf(job.Invalid, "output_file %q is no name of a file", path).WithHint("give the path of a file, like out/test.log")
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	base := e.outputs
	if !p.target.backend.Properties().Isolated {
		base = p.req.Command.Dir
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", job.Errorf(job.Invalid, "output_file: %w", err)
	}
	return filepath.Join(base, path), nil
}

// mayReplace refuses links, folders, and what is the server's own: what says what may run here or was done, and its program.
// It returns the mode of a file that is there, for the one that replaces it: a private file stays private.
func (e *Engine) mayReplace(path string) (fs.FileMode, error) {
	found, err := os.Lstat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return 0, job.Errorf(job.Invalid, "output_file %q: %w", shorten(path), bare(err)).WithHint("name a file in a folder that can be written")
	case e.owns(path, found):
		return 0, job.Errorf(job.Denied, "output_file: %s belongs to this server", filepath.Base(path)).WithHint("name another file")
	case err != nil:
		return 0, nil
	case found.Mode()&fs.ModeSymlink != 0:
		return 0, job.Errorf(job.Denied, "output_file: %s is a symbolic link", path).WithHint("name the file itself")
	case !found.Mode().IsRegular():
		return 0, job.Errorf(job.Invalid, "output_file: %s is no regular file", path).WithHint("name a file")
	}
	return found.Mode().Perm(), nil
}

// owns says whether path is one of the server's own files or lies in one of its folders, under whatever name. found is
// nil when nothing is there.
func (e *Engine) owns(path string, found fs.FileInfo) bool {
	for _, own := range slices.Concat(e.protect, e.now.Load().config.Files) { // a reload may have read other files
		if within, err := filepath.Rel(own, path); err == nil && filepath.IsLocal(within) {
			return true
		}
		if info, err := os.Stat(own); err == nil && found != nil && os.SameFile(info, found) {
			return true
		}
	}
	return false
}

// realPath is the path without links in its folders. What is not there is taken as it is written.
func realPath(path string) string {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		return whole
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return filepath.Clean(path)
}

func shorten(s string) string {
	if len(s) > 80 {
		return "..." + s[len(s)-77:]
	}
	return s
}

// Write appends; the first one puts the file in its place.
func (f *outputFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.place(); err != nil {
		return 0, err
	}
	return f.file.Write(p)
}

func (f *outputFile) place() error {
	if f.placed {
		return nil
	}
	f.placed = true
	if err := f.folder.Rename(f.spare, f.name); err != nil {
		return fmt.Errorf("replacing %s: %w", f.name, err)
	}
	return nil
}

// Close completes the file, an empty one when nothing was printed.
func (f *outputFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return nil
	}
	f.gone = true
	return errors.Join(f.place(), f.file.Close(), f.folder.Close())
}

// abandon removes what was made, for a command that did not start.
func (f *outputFile) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return
	}
	f.gone = true
	f.file.Close()
	if !f.placed {
		f.folder.Remove(f.spare)
	}
	f.folder.Close()
}
