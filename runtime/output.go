package runtime

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	if err := e.mayReplace(path); err != nil {
		return nil, err
	}
	folder, err := os.OpenRoot(real)
	if err != nil {
		return nil, job.Errorf(job.Invalid, "output_file: %w", err)
	}
	spare := "." + name + "." + rand.Text()[:8]
	file, err := folder.OpenFile(spare, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		folder.Close()
		return nil, job.Errorf(job.Invalid, "output_file: %w", err).WithHint("name a file in a folder that can be written")
	}
	p.req.OutputFile = path
	return &outputFile{folder: folder, file: file, spare: spare, name: name}, nil
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
	base := e.data
	if !p.target.backend.Properties().Isolated {
		base = p.req.Command.Dir
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", job.Errorf(job.Invalid, "output_file: %w", err)
	}
	return filepath.Join(base, path), nil
}

// mayReplace refuses links, folders, and the files that say what this server may do or has done.
func (e *Engine) mayReplace(path string) error {
	found, err := os.Lstat(path)
	if err != nil {
		return nil // not there, or not readable: creating will tell
	}
	switch {
	case found.Mode()&fs.ModeSymlink != 0:
		return job.Errorf(job.Denied, "output_file: %s is a symbolic link", path).WithHint("name the file itself")
	case !found.Mode().IsRegular():
		return job.Errorf(job.Invalid, "output_file: %s is no regular file", path).WithHint("name a file")
	}
	for _, own := range e.protect {
		if info, err := os.Stat(own); err == nil && os.SameFile(info, found) {
			return job.Errorf(job.Denied, "output_file: %s belongs to this server", filepath.Base(path)).WithHint("name another file")
		}
	}
	return nil
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
