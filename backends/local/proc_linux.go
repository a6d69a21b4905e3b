package local

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
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

// dead says that pid is gone or only waits to be collected.
func dead(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	// The name stands in parentheses and may contain anything, closing ones too.
	_, rest, ok := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
	return ok && len(rest) > 0 && (rest[0] == 'Z' || rest[0] == 'X')
}

func processName(pid int) string {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(name))
}

// leader is the process that was started: its end is the command's.
type leader struct {
	pid   int
	pidfd *os.File // nil on kernels before 5.3

	mu     sync.Mutex
	reaped bool // its number may be somebody else's now
}

func (l *leader) watch(pid, pidfd int) {
	l.pid = pid
	if pidfd < 0 {
		return
	}
	unix.SetNonblock(pidfd, true) // so that the poller takes it
	l.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
}

// await returns when the leader has ended, and collects it. Called once.
func (l *leader) await() (status syscall.WaitStatus, err error) {
	if l.pidfd != nil {
		defer l.pidfd.Close()
		raw, rawErr := l.pidfd.SyscallConn()
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

func (l *leader) reap(options int) (bool, syscall.WaitStatus, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var status syscall.WaitStatus
	for {
		pid, err := syscall.Wait4(l.pid, &status, options, nil)
		if err == syscall.EINTR {
			continue
		}
		l.reaped = pid == l.pid || err != nil
		return l.reaped, status, err
	}
}

// group signals the process group and reports true, unless the leader was collected and the number may be reused.
func (l *leader) group(group int, s syscall.Signal) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reaped {
		return false
	}
	syscall.Kill(-group, s)
	return true
}
