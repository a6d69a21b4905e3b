package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"cmd-exec-mcp/runtime/session"
)

// dataFolder is where we keep things: the flag's, the config's, or the platform's folder for state.
func (a *app) dataFolder(configured string) (string, error) {
	for _, dir := range []string{a.dataFlag, configured} {
		if dir != "" {
			return filepath.Abs(dir)
		}
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "cmd-exec-mcp"), nil
	}
	if runtime.GOOS == "linux" {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, ".local", "state", "cmd-exec-mcp"), nil
		}
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "cmd-exec-mcp"), nil
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("cmd-exec-mcp-%d", os.Getuid())), nil
}

// instance is one running server's own folder. The lock in it tells the next start whether we still live.
type instance struct {
	id, root, dir string // root holds the folders of all instances
	lock          *os.File
}

// openInstance makes a folder for this process and removes those of processes that are gone.
func openInstance(data string) (*instance, error) {
	root := filepath.Join(data, "instances")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	sweep(root)
	for {
		in, err := newInstance(root)
		if !errors.Is(err, errLocked) {
			return in, err
		}
	}
}

// newInstance fails with errLocked when a sweep of a server that starts at the same moment found the folder before its
// lock was taken.
func newInstance(root string) (*instance, error) {
	in := &instance{id: session.NewID("i"), root: root}
	in.dir = filepath.Join(root, in.id)
	if err := os.Mkdir(in.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	path := filepath.Join(in.dir, "lock")
	lock, err := takeLock(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errLocked
	case err != nil:
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		lock.Close()
		return nil, errLocked
	}
	in.lock = lock
	return in, nil
}

// sweep removes the folders whose lock nobody holds. A folder without a lock file is being made right now.
func sweep(root string) {
	entries, _ := os.ReadDir(root)
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		path := filepath.Join(dir, "lock")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if lock, err := takeLock(path); err == nil {
			os.RemoveAll(dir)
			lock.Close()
		}
	}
}

var errLocked = errors.New("another process holds it")

// close removes the folder.
func (in *instance) close() {
	os.RemoveAll(in.dir)
	in.lock.Close()
}
