package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what a pipe holds at most without privileges: a megabyte result then needs one write, not sixteen.
const pipeSize = 1 << 20

// dropTerminal gives the controlling terminal up, so that no command of ours can ask a person for a password on it.
func dropTerminal() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer tty.Close()
	if sid, err := unix.Getsid(0); err == nil && sid != os.Getpid() { // a session's leader would hang its whole session up
		unix.IoctlSetInt(int(tty.Fd()), unix.TIOCNOTTY, 0)
	}
}

// growPipe makes room in the pipe to the client. It is no pipe: nothing happens.
func growPipe(f *os.File) {
	unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, pipeSize)
}
