//go:build unix

package mcp

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// pollable returns in as a file that the poller waits for, and what to call when nothing is read any more. A read that
// blocks would keep a thread in the kernel, and the scheduler's monitor awake while commands run: a seventh of all the
// time that the server spends on them.
func pollable(in io.Reader) (io.Reader, func()) {
	f, ok := in.(*os.File)
	if !ok {
		return in, func() {}
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return in, func() {} // a terminal is shared with whoever else sits at it
	}
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return in, func() {}
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return in, func() {}
	}
	own := os.NewFile(uintptr(fd), f.Name())
	return own, func() {
		syscall.SetNonblock(fd, false) // it was blocking when we got it, for everybody who has it
		own.Close()
	}
}
