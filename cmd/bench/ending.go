//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// tree is a command whose descendants escape in six ways: plain, deaf to signals, in another session, as a daemon, as a
// daemon without environment, and stopped. Each sleeps for a number of seconds that nothing else does.
func tree(mark string) string {
	return fmt.Sprintf(`sleep %[1]s &
(trap "" TERM INT HUP; exec nohup sleep %[1]s) &
setsid sleep %[1]s &
(setsid sh -c 'sleep %[1]s &' &)
(env -i setsid sh -c 'sleep %[1]s &' &)
(sh -c 'kill -STOP $$; sleep %[1]s' &)
sleep %[1]s`, mark)
}

// sleepers is how many processes of a tree sleep in the end; the stopped one is a shell.
const sleepers = 6

var marks int

// newMark makes a number of seconds that is nobody else's.
func newMark() string {
	marks++
	return fmt.Sprintf("9%d.%03d", os.Getpid(), marks)
}

// escapes is L9: what survives a timeout, and how long the kill takes.
func escapes(l *lab) error {
	if err := l.survivors("L9.cg2", "cgroup v2", 0, l.serve); err != nil {
		return err
	}
	if err := l.survivors("L9.not", "no cgroup", 1, l.serveWithoutCgroups); err != nil {
		return err
	}
	b, err := openLocal()
	if err != nil {
		return err
	}
	defer b.Close(context.Background())
	var took []float64
	for range l.rounds(30) {
		d, err := l.timeKill(b)
		if err != nil {
			return err
		}
		took = append(took, d.Seconds())
	}
	report("L9.ms", milliseconds(lowest(took, median)), limit{bar: 5, goal: 1}, "milliseconds of the ladder's last step on such a tree (at most %.1f)", milliseconds(most(took)))
	return nil
}

// serveWithoutCgroups starts the server where the cgroup v2 tree cannot be seen. It is nil where that cannot be done.
func (l *lab) serveWithoutCgroups(flags ...string) (*server, error) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 {
		return nil, nil
	}
	// Where all of /sys/fs/cgroup is cgroup2 it is covered, else only the part that is.
	hide := `for d in $(awk '$3 == "cgroup2" {print $2}' /proc/mounts); do umount "$d" || exit 1; done; exec "$@"`
	argv := append([]string{unshare, "-m", "sh", "-c", hide, "sh", l.ours, "--data", l.dir}, flags...)
	return start(l.work, argv...)
}

func (l *lab) survivors(id, how string, bar float64, serve func(...string) (*server, error)) error {
	s, err := serve()
	if s == nil && err == nil {
		fmt.Printf("%-6s not measured: it needs root and unshare(1)\n", id)
		return nil
	}
	if err != nil {
		return err
	}
	defer s.close()
	worst, named := 0, 0
	n := l.rounds(20)
	for range n {
		mark := newMark()
		r, err := s.call(l.shell(tree(mark), "timeout", 0.7))
		if err != nil {
			return err
		}
		if !r.Timeout {
			return fmt.Errorf("the tree ended before its timeout")
		}
		left := running(mark)
		worst, named = max(worst, len(left)), max(named, len(r.Survivors))
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	report(id, float64(worst), limit{bar: bar}, "processes of an escape tree that survive a timeout, at most, of %d trees with %s (named in the reply: %d)", n, how, named)
	return nil
}

// timeKill starts a tree and ends it.
func (l *lab) timeKill(b backends.Backend) (time.Duration, error) {
	ctx := context.Background()
	mark := newMark()
	cmd, err := b.Resolve(ctx, job.Command{Script: tree(mark), Dir: l.work})
	if err != nil {
		return 0, err
	}
	p, err := b.Start(ctx, cmd, backends.IO{Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		return 0, err
	}
	up := eventually(10*time.Second, func() bool { return len(running("sleep\x00"+mark)) >= sleepers })
	began := time.Now()
	err = p.Kill(ctx)
	took := time.Since(began)
	if err == nil && !up {
		err = fmt.Errorf("the tree did not come up")
	}
	if left := len(running(mark)); err == nil && left > 0 {
		err = fmt.Errorf("%d processes survived", left)
	}
	if _, waitErr := p.Wait(); err == nil {
		err = waitErr
	}
	return took, err
}

// overshoot is L10: how much later than asked a timeout is answered.
func overshoot(l *lab) error {
	s, err := l.serve()
	if err != nil {
		return err
	}
	defer s.close()
	var late []float64
	call := l.shell("sleep 30", "timeout", 0.1)
	for range l.rounds(200) {
		began := time.Now()
		r, err := s.call(call)
		if err != nil {
			return err
		}
		if !r.Timeout {
			return fmt.Errorf("it did not time out")
		}
		late = append(late, (time.Since(began) - 100*time.Millisecond).Seconds())
	}
	report("L10", milliseconds(lowest(late, median)), limit{bar: 5, goal: 1.5}, "milliseconds that a timeout of 100 is answered late, median")
	report("L10.mx", milliseconds(lowest(late, most)), limit{bar: 30, goal: 5}, "the same, the latest of the best block (of all: %.1f)", milliseconds(most(late)))
	return nil
}
