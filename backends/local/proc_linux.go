package local

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const fionread = unix.TIOCINQ

func pipe() (r, w int, err error) {
	var fds [2]int
	err = syscall.Pipe2(fds[:], syscall.O_CLOEXEC)
	return fds[0], fds[1], err
}

func growPipe(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
}

// stat returns the fields of /proc/PID/stat from the state on, nil if there is no such process. The name before them
// stands in parentheses and may contain anything, closing ones too.
func stat(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// dead says that pid is gone or only waits to be collected.
func dead(pid int) bool {
	fields := stat(pid)
	return len(fields) == 0 || fields[0] == "Z" || fields[0] == "X"
}

func parentOf(pid int) int {
	fields := stat(pid)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

func processName(pid int) string {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(name))
}

// watch gives the pidfd to the poller.
func (l *leader) watch(pid, pidfd int) {
	l.pid = pid
	if pidfd < 0 {
		return
	}
	unix.SetNonblock(pidfd, true) // so that the poller takes it
	l.handle = os.NewFile(uintptr(pidfd), "pidfd")
}

// await returns when the leader has ended, and collects it. Called once.
func (l *leader) await() (status syscall.WaitStatus, err error) {
	if l.handle != nil {
		defer l.handle.Close()
		raw, rawErr := l.handle.SyscallConn()
		if rawErr == nil {
			done := false
			rawErr = raw.Read(func(uintptr) bool {
				done, status, err = l.reap(syscall.WNOHANG)
				return done || err != nil
			})
		}
		if rawErr == nil {
			return status, err
		}
	}
	// Waiting must not collect: the number has to stay ours until no signal can be on its way to it.
	for {
		err := unix.Waitid(unix.P_PID, l.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != syscall.EINTR {
			break
		}
	}
	_, status, err = l.reap(0)
	return status, err
}
