//go:build !linux

package docker

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

func hostID() string {
	name, _ := os.Hostname()
	return name
}

// Neither is at hand without a system library here. A pid that came again then keeps a dead server's containers, which
// is the safe side.
func bootID() string     { return "" }
func startOf(int) string { return "" }

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // Windows looks the process up
	}
	defer func() { _ = p.Release() }()
	if runtime.GOOS == "windows" {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}
