//go:build unix

package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

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

// leaveTerminal gives up the server's controlling terminal, so that no command finds it at /dev/tty: one that asks there
// would be stopped, or would put its question to nobody. A session of its own for each command does the same but makes
// them several times slower when the host is busy. It reports whether the terminal stayed: a session's leader cannot
// leave it without hanging up on everybody in it.
func leaveTerminal() (stayed bool) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	if sid, err := unix.Getsid(0); err != nil || sid == os.Getpid() {
		return true
	}
	return unix.IoctlSetInt(int(tty.Fd()), unix.TIOCNOTTY, 0) != nil
}
