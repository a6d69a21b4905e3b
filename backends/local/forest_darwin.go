package local

import (
	"context"
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
// This system has no cgroups and shows no limits of other processes. A tree is its process group and what descends from
// it by parents; a daemon that left both (setsid and an ended parent) is not found.
type forest struct {
	log      zerolog.Logger
	ready    sync.Once
	terminal bool // commands need a session of their own to be without the server's terminal
	guardian guardian

	mu     sync.Mutex
	groups map[int]*tree // those in which something may run
}

type tree struct {
	forest *forest
	group  int
}

func newForest(log zerolog.Logger) *forest { return &forest{log: log, groups: map[int]*tree{}} }

func (f *forest) plant() *tree {
	f.ready.Do(func() {
		f.terminal = leaveTerminal()
		f.guardian.start(f.log)
	})
	return &tree{forest: f}
}

func (t *tree) fork(l *leader, path string, argv []string, attr *syscall.ProcAttr) error {
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return err
	}
	t.group, l.pid = pid, pid
	t.forest.guardian.tell("+" + strconv.Itoa(pid))
	t.forest.mu.Lock()
	t.forest.groups[pid] = t
	t.forest.mu.Unlock()
	return nil
}

// clear is called when the leader has ended, or never ran.
func (f *forest) clear(t *tree) {
	if t.group == 0 || t.inhabited() {
		return
	}
	f.guardian.tell("-" + strconv.Itoa(t.group))
	f.mu.Lock()
	delete(f.groups, t.group)
	f.mu.Unlock()
}

func (t *tree) inhabited() bool { return syscall.Kill(-t.group, 0) != syscall.ESRCH }

// busy cannot be told here: every process counts as running.
func (t *tree) busy() bool { return false }

const zombie = 5 // SZOMB

// pids lists what of the tree runs: the group, and who descends from it.
func (t *tree) pids() []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	members := map[int32]bool{int32(t.group): true}
	for grown := true; grown; {
		grown = false
		for i := range all {
			p := &all[i]
			if !members[p.Proc.P_pid] && (p.Eproc.Pgid == int32(t.group) || members[p.Eproc.Ppid]) {
				members[p.Proc.P_pid], grown = true, true
			}
		}
	}
	var pids []int
	for i := range all {
		if p := &all[i]; members[p.Proc.P_pid] && p.Proc.P_stat != zombie {
			pids = append(pids, int(p.Proc.P_pid))
		}
	}
	slices.Sort(pids)
	return pids
}

func (t *tree) signal(l *leader, s syscall.Signal) {
	l.group(t.group, s)
	for _, pid := range t.pids() {
		if group, err := unix.Getpgid(pid); err == nil && group != t.group {
			syscall.Kill(pid, s)
		}
	}
}

// kill ends the tree and returns what is left of it. Descendants are listed before their parents die, since an orphan
// shows no parent.
func (t *tree) kill(ctx context.Context, l *leader) []int {
	ctx, cancel := withPatience(ctx)
	defer cancel()
	left := t.pids()
	l.group(t.group, syscall.SIGKILL)
	for pause := time.Millisecond; len(left) > 0; pause = min(2*pause, 20*time.Millisecond) {
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pause)
		if left = t.pids(); ctx.Err() != nil {
			return left
		}
	}
	return nil
}

// fell ends every tree. It returns what is left.
func (f *forest) fell(ctx context.Context) []int {
	f.mu.Lock()
	var trees []*tree
	for _, t := range f.groups {
		trees = append(trees, t)
	}
	f.mu.Unlock()
	var left []int
	for _, t := range trees {
		left = append(left, t.kill(ctx, &leader{reaped: true})...)
	}
	return left
}

// clean ends the guardian, once nothing runs.
func (f *forest) clean() { f.guardian.dismiss() }

func (f *forest) check() job.Check {
	return job.Check{
		Name: "local kill", Level: job.Warning, Detail: "by process group and parents: a daemon may survive a kill",
		Fix: "this system offers no more; use a sandbox for commands that must not leave anything behind",
	}
}

// guardianScript is told of each group that begins and ends.
const guardianScript = `trap '' HUP INT TERM QUIT
groups=" "
while read -r line; do
	case $line in
	done) exit 0 ;;
	+*) groups="$groups${line#+} " ;;
	-*)
		case $groups in
		*" ${line#-} "*) groups="${groups%% ${line#-} *} ${groups#* ${line#-} }" ;;
		esac
		;;
	esac
done
for group in $groups; do
	kill -9 -- "-$group"
done
`
