//go:build unix

package docker

import (
	"os"
	"syscall"
)

func ownerOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
