package main

import (
	"fmt"
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

// monitorSlack is by how many nanoseconds the kernel may delay Go's monitor thread. That thread looks after the others every
// 20 microseconds while one is busy, which a thread that starts a program is: without this, a quarter to a third of the
// server's processor time on short commands. What waits for it, like a system call that blocks, then waits a millisecond.
const monitorSlack = 1_000_000

// quietMonitor lets the monitor sleep longer. It is the first thread that a Go program starts; were it another, that one's
// timers would be late by a millisecond, and nothing else.
func quietMonitor() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) < 2 {
		return
	}
	os.WriteFile(fmt.Sprintf("/proc/%s/timerslack_ns", threads[1].Name()), fmt.Append(nil, monitorSlack), 0)
}
