package local

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"

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

// collectOrphans takes away the zombies of orphans, when the server is process 1 of a container and they are handed to
// it. Only what carries its tag is touched: the children of others have somebody who waits for them.
func (f *forest) collectOrphans() {
	for _, pid := range processes() {
		if tagOf(pid)/tagBase == f.instance && !f.leaders[pid] && parentOf(pid) == os.Getpid() {
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}
