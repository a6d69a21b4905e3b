//go:build unix

package local

import (
	"os"
	"sync"
	"syscall"
)

// leader is the process that was started: its end is the command's.
type leader struct {
	pid    int
	handle *os.File // the pidfd; nil where there is none (kernels before 5.3, other systems)

	mu     sync.Mutex
	reaped bool // its number may be somebody else's now
}

// reap collects the leader, and it alone: waiting for any child would take those of others.
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
