package local

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is one command and its descendants. A zero tag or a nil cgroup means that there is none.
type tree struct {
	forest *forest
	tag    uint64
	group  int     // the leader's process group; 0 when it is empty and its number may be used again
	cgroup *cgroup // guarded by forest.mu: an empty folder is given to another tree
}

// inCgroup calls do with the tree's folder, unless it has none or has lost it.
func (t *tree) inCgroup(do func(*cgroup)) {
	t.forest.mu.Lock()
	defer t.forest.mu.Unlock()
	if t.cgroup != nil {
		do(t.cgroup)
	}
}

// fork starts the leader. When the cgroup is what fails, there are none from now on.
func (t *tree) fork(l *leader, path string, argv []string, attr *syscall.ProcAttr) error {
	pidfd := -1
	attr.Sys.PidFD = &pidfd
	if t.cgroup != nil {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, t.cgroup.fd
	}
	pid, err := t.forkTagged(path, argv, attr)
	if err != nil && t.cgroup != nil && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.E2BIG) {
		attr.Sys.UseCgroupFD = false
		if pid, err = t.forkTagged(path, argv, attr); err == nil {
			t.forest.mu.Lock()
			t.forest.cgroups, t.cgroup = nil, nil
			t.forest.mu.Unlock()
			t.forest.log.Info().Msg("local: cgroups cannot be used here; trees are found by their tag")
		}
	}
	if err != nil {
		return err
	}
	t.group = pid
	l.watch(pid, pidfd)
	return nil
}

// forkTagged forks a child that carries the tag from birth: set afterwards, on a busy host, the shell has by then forked
// children without it. The server itself carries the tag meanwhile, so a child that another part of it forks in that
// moment gets it too; foreign tells those apart.
func (t *tree) forkTagged(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	if t.tag != 0 {
		forking.Lock()
		defer forking.Unlock()
		own := &t.forest.own
		unix.Prlimit(0, rlimitRTTime, &unix.Rlimit{Cur: t.tag, Max: own.Max}, nil)
		defer unix.Prlimit(0, rlimitRTTime, own, nil)
	}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err == nil {
		t.forest.mu.Lock()
		t.forest.leaders[pid] = true
		t.forest.mu.Unlock()
	}
	return pid, err
}

// inhabited says cheaply whether something of the tree may still run; without a cgroup it knows of the group alone.
func (t *tree) inhabited() bool {
	known, populated := false, false
	t.inCgroup(func(c *cgroup) { known, populated = true, c.populated() })
	return populated || !known && t.grouped()
}

func (t *tree) grouped() bool { return t.group != 0 && syscall.Kill(-t.group, 0) != syscall.ESRCH }

// pids lists what of the tree runs, zombies not counted.
func (t *tree) pids() []int {
	var found []int
	t.inCgroup(func(c *cgroup) { found = c.pids() })
	for _, pid := range processes() {
		if t.owns(pid) && !slices.Contains(found, pid) {
			found = append(found, pid)
		}
	}
	return slices.DeleteFunc(found, dead)
}

// busy says whether something of the tree runs or waits for a disk, rather than for an event.
func (t *tree) busy() bool {
	return slices.ContainsFunc(t.pids(), func(pid int) bool {
		fields := stat(pid)
		return len(fields) > 0 && (fields[0] == "R" || fields[0] == "D")
	})
}

// owns asks the kernel whether pid carries the tree's tag; where no tags can be set it is the group or the session.
func (t *tree) owns(pid int) bool {
	if t.tag != 0 {
		return tagOf(pid) == t.tag && !t.foreign(pid)
	}
	if t.group == 0 {
		return false
	}
	group, _ := syscall.Getpgid(pid)
	session, _ := unix.Getsid(pid)
	return group == t.group || session == t.group
}

// signal sends s to the group while the leader keeps its number from being used again, and to the rest one by one.
func (t *tree) signal(l *leader, s syscall.Signal) {
	grouped := l.group(t.group, s)
	for _, pid := range t.pids() {
		if group, err := syscall.Getpgid(pid); !grouped || err != nil || group != t.group {
			send(pid, s, t.member)
		}
	}
}

// member is asked when a pidfd pins pid.
func (t *tree) member(pid int) bool {
	inside := t.owns(pid)
	if !inside {
		t.inCgroup(func(c *cgroup) { inside = slices.Contains(c.pids(), pid) })
	}
	return inside
}

// foreign says that pid is, or descends from, a child of the server that is not the leader: see forkTagged. As process 1
// the server is the parent of orphans too, and nothing can be told from that.
func (t *tree) foreign(pid int) bool {
	self := os.Getpid()
	for depth := 0; pid > 1 && pid != t.group && self != 1 && depth < 1000; depth++ {
		parent := parentOf(pid)
		if parent == self {
			return true
		}
		pid = parent
	}
	return pid == self
}

// kill ends the tree and returns what is left of it.
func (t *tree) kill(ctx context.Context, l *leader) []int {
	l.group(t.group, syscall.SIGKILL)
	t.inCgroup((*cgroup).kill)
	return exterminate(ctx, t.pids, t.member)
}
