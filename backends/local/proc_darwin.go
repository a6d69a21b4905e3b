package local

import (
	"bytes"
	"syscall"

	"golang.org/x/sys/unix"
)

const fionread = 0x4004667f // FIONREAD, missing in golang.org/x/sys

func pipe() (r, w int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		return 0, 0, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// growPipe does nothing: pipes grow by themselves here.
func growPipe(syscall.RawConn) {}

func processName(pid int) string {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.pid", pid)
	if err != nil || len(list) == 0 {
		return ""
	}
	name, _, _ := bytes.Cut(list[0].Proc.P_comm[:], []byte{0})
	return string(name)
}

// await returns when the leader has ended, and collects it. Called once. The kernel queue says that it ended without
// collecting it, so that its number stays ours until no signal can be on its way to it.
func (l *leader) await() (syscall.WaitStatus, error) {
	if queue, err := unix.Kqueue(); err == nil {
		unix.CloseOnExec(queue)
		change := unix.Kevent_t{Ident: uint64(l.pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}
		var events [1]unix.Kevent_t
		for {
			_, err := unix.Kevent(queue, []unix.Kevent_t{change}, events[:], nil)
			if err != syscall.EINTR {
				break // ESRCH: it has ended already
			}
		}
		unix.Close(queue)
	}
	_, status, err := l.reap(0)
	return status, err
}
