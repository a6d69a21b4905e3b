package local

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// A forest is what one backend started: a tree for each command.
//
// A tree is held together in two ways. Where a cgroup v2 folder can be written, each command is born into a folder of
// its own (CLONE_INTO_CGROUP), which no process of it can leave by itself and which the kernel kills at once. And each
// carries a tag: an odd value of RLIMIT_RTTIME, a limit that means nothing to a process without real-time scheduling, is
// inherited by every descendant whatever it does to its session, parents or environment, and is read by one system call
// for each pid. So a sweep over /proc finds a double-forked daemon with a cleared environment too. An environment marker
// would not, and would show up in the output of env.
type forest struct {
	log      zerolog.Logger
	instance uint64 // nine digits; the tag of tree n is instance*1e9 + n
	ready    sync.Once
	taggable bool        // the hard limit lets us set tags
	terminal bool        // commands need a session of their own to be without the server's terminal
	own      unix.Rlimit // the server's limit, where tags go for others
	guardian guardian

	mu      sync.Mutex
	last    uint64
	cgroups *cgroups     // nil: none can be written
	leaders map[int]bool // those not yet collected
}

// forking guards the server's own limit, which a child is born with. Like syscall.ForkLock it is one for the process.
var forking sync.Mutex

// rlimitRTTime is missing in golang.org/x/sys.
const rlimitRTTime = 15

const tagBase = 1_000_000_000

func newForest(log zerolog.Logger) *forest {
	return &forest{log: log, instance: tagBase/10 + rand.Uint64N(tagBase-tagBase/10), leaders: map[int]bool{}}
}

// prepare does what the first start needs: a server that never runs a command makes no folder and no guardian.
func (f *forest) prepare() {
	f.ready.Do(func() {
		f.terminal = leaveTerminal()
		err := unix.Prlimit(0, rlimitRTTime, nil, &f.own)
		f.taggable = err == nil && f.own.Max == math.MaxUint64
		f.cgroups = findCgroups(f.log)
		folder := ""
		if f.cgroups != nil {
			folder = f.cgroups.base
		}
		f.guardian.start(f.log, folder, strconv.FormatUint(f.instance, 10))
		if f.taggable && f.guardian.pid != 0 {
			// A server that runs inside a command of another server: its guardian must outlive what kills it.
			unix.Prlimit(f.guardian.pid, rlimitRTTime, &unix.Rlimit{Cur: math.MaxUint64, Max: math.MaxUint64}, nil)
		}
	})
}

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

func (f *forest) plant() *tree {
	f.prepare()
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &tree{forest: f}
	if f.taggable {
		f.last++
		t.tag = f.instance*tagBase + f.last
	}
	if f.cgroups != nil {
		if t.cgroup = f.cgroups.take(); t.cgroup != nil {
			t.cgroup.owner = t
		}
	}
	return t
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

// clear is called when the leader has ended, or never ran.
func (f *forest) clear(t *tree) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.leaders, t.group)
	if os.Getpid() == 1 {
		f.collectOrphans()
	}
	switch {
	case t.cgroup != nil && f.cgroups != nil:
		f.cgroups.give(t.cgroup)
	case t.cgroup == nil && !t.grouped():
		t.group = 0
	}
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

// collectOrphans takes away the zombies of orphans, when the server is process 1 of a container and they are handed to
// it. Only what carries its tag is touched: the children of others have somebody who waits for them.
func (f *forest) collectOrphans() {
	for _, pid := range processes() {
		if tagOf(pid)/tagBase == f.instance && !f.leaders[pid] && parentOf(pid) == os.Getpid() {
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

func tagOf(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, rlimitRTTime, nil, &limit) != nil {
		return 0
	}
	return limit.Cur
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

// patience is how long a killed process may take to go; one in an uninterruptible wait may take longer.
const patience = 2 * time.Second

// kill ends the tree and returns what is left of it.
func (t *tree) kill(ctx context.Context, l *leader) []int {
	l.group(t.group, syscall.SIGKILL)
	t.inCgroup((*cgroup).kill)
	return exterminate(ctx, t.pids, t.member)
}

// fell ends every tree. It returns what is left.
func (f *forest) fell(ctx context.Context) []int {
	if !f.started() {
		return nil
	}
	f.mu.Lock()
	if f.cgroups != nil {
		f.cgroups.killAll()
	}
	f.mu.Unlock()
	owned := func(pid int) bool { return tagOf(pid)/tagBase == f.instance }
	return exterminate(ctx, func() []int {
		return slices.DeleteFunc(processes(), func(pid int) bool { return !owned(pid) || dead(pid) })
	}, owned)
}

// clean removes what the forest made, once nothing of it runs.
func (f *forest) clean() {
	if !f.started() {
		return
	}
	f.mu.Lock()
	if f.cgroups != nil {
		f.cgroups.remove()
	}
	f.cgroups = nil
	f.mu.Unlock()
	f.guardian.dismiss()
}

// started says whether there was a first start; there will be none after this question, which only Close asks.
func (f *forest) started() bool {
	f.ready.Do(func() {})
	return f.guardian.pipe != nil || f.cgroups != nil || f.taggable
}

// exterminate kills what list names until two passes find nothing: a process that forks while it is killed may have
// put its child where the first pass had already looked.
func exterminate(ctx context.Context, list func() []int, meant func(int) bool) []int {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
		if ctx.Err() != nil {
			return left
		}
		for _, pid := range left {
			send(pid, syscall.SIGKILL, meant)
		}
		time.Sleep(pause)
	}
}

func (f *forest) check() job.Check {
	f.prepare()
	switch {
	case f.cgroups != nil:
		return job.Check{Name: "local kill", Detail: "cgroup v2: nothing survives a kill"}
	case f.taggable:
		return job.Check{Name: "local kill", Detail: "by tag: what clears its resource limits on purpose may survive a kill"}
	}
	return job.Check{
		Name: "local kill", Level: job.Warning, Detail: "by process group and session: daemons may survive a kill",
		Fix: "run the server where it may write its cgroup v2 folder, or without a hard limit on real-time use (ulimit -HR)",
	}
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
