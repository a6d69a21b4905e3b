package local

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// send signals a process that is still the one meant: the pidfd is opened first, so a number that was used again between
// the listing and now fails the question, and one that is used again later is not what the pidfd names.
func send(pid int, s syscall.Signal, meant func(int) bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if err == syscall.ENOSYS && meant(pid) {
			syscall.Kill(pid, s)
		}
		return
	}
	defer unix.Close(fd)
	if meant(pid) {
		unix.PidfdSendSignal(fd, s, nil, 0)
	}
}

// exterminate kills what list names until two passes find nothing: a process that forks while it is killed may have
// put its child where the first pass had already looked.
func exterminate(ctx context.Context, list func() []int, meant func(int) bool) []int {
	ctx, cancel := withPatience(ctx)
	defer cancel()
	clean := 0
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		left := list()
		if len(left) == 0 {
			if clean++; clean == 2 {
				return nil
			}
			continue
		}
		clean = 0
		for _, pid := range left {
			send(pid, syscall.SIGKILL, meant)
		}
		if ctx.Err() != nil {
			return left
		}
		time.Sleep(pause)
	}
}

func tagOf(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, rlimitRTTime, nil, &limit) != nil {
		return 0
	}
	return limit.Cur
}

// processes lists every pid.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
