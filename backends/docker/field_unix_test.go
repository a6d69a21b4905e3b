//go:build unix

package docker

import (
	"os"
	"syscall"
)

func ownerOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func stopOrGo(pid int, stop bool) error {
	if stop {
		return syscall.Kill(pid, syscall.SIGSTOP)
	}
	return syscall.Kill(pid, syscall.SIGCONT)
}
