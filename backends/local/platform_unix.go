//go:build unix

package local

import (
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	hasTTY = true
	// maxScript is the longest single argument that exec takes on Linux (32 pages, with its NUL).
	maxScript = 128<<10 - 1
)

var known = []string{"bash", "sh", "zsh", "pwsh"}

// A server that a desktop starts may have no PATH at all.
var platformEnv = map[string]string{"PATH": defaultPath}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func findShells() map[string]string {
	found := map[string]string{}
	for _, name := range known {
		if path, err := exec.LookPath(name); err == nil && filepath.IsAbs(path) {
			found[name] = path
		} else if path := "/bin/" + name; unix.Access(path, unix.X_OK) == nil {
			found[name] = path
		}
	}
	return found
}

func mayEnter(dir string) bool { return unix.Access(dir, unix.X_OK) == nil }

func consoleEncoding() string { return "" }
