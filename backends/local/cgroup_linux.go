package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// cgroups is one instance's folder in the cgroup v2 tree, with a folder for each command. But for killAll its methods
// are called under forest.mu.
type cgroups struct {
	base string
	lock *os.File // holds a lock on base while the server lives
	made int
	idle []*cgroup
	busy []*cgroup // their leader has ended, a background process has not
}

// cgroup is one command's folder, reused when it is empty again: making one costs more than the fork.
type cgroup struct {
	path   string
	owner  *tree // of what lives in it; nil when it is idle
	fd     int
	events int         // cgroup.events, open
	spent  atomic.Bool // cgroup.kill was written
}

const cgroupPrefix = "cmd-exec-mcp."

// findCgroups makes this instance's folder below the server's own cgroup, nil if that cannot be. Folders of instances
// that have died are emptied and removed.
func findCgroups(log zerolog.Logger) *cgroups {
	own := ownCgroup()
	if own == "" {
		return nil
	}
	if stale, err := filepath.Glob(filepath.Join(own, cgroupPrefix+"*")); err == nil {
		for _, folder := range stale {
			removeStale(folder)
		}
	}
	base, err := os.MkdirTemp(own, cgroupPrefix)
	if err != nil {
		log.Debug().Err(err).Msg("local: no cgroup folder")
		return nil
	}
	c := &cgroups{base: base}
	if c.lock, err = os.Open(base); err == nil {
		err = syscall.Flock(int(c.lock.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(base, "cgroup.kill"))
	}
	if err != nil {
		c.remove()
		return nil
	}
	return c
}

// ownCgroup is the server's folder in the v2 tree, which on a hybrid system is mounted apart.
func ownCgroup() string {
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	below, found := "", false
	for line := range strings.Lines(string(membership)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			below, found = strings.TrimSuffix(rest, "\n"), true
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !found {
		return ""
	}
	for line := range strings.Lines(string(mounts)) {
		// id parent major:minor root mountpoint options... - type source options
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		if rel, err := filepath.Rel(fields[3], below); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.Join(fields[4], rel)
		}
	}
	return ""
}

func removeStale(folder string) {
	dir, err := os.Open(folder)
	if err != nil {
		return
	}
	defer dir.Close()
	if syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return // its server lives
	}
	if info, err := dir.Stat(); err != nil || time.Since(info.ModTime()) < time.Second {
		return // its server may be about to lock it
	}
	c := &cgroups{base: folder}
	c.killAll()
	c.remove()
}

// take returns an empty folder, nil if none can be had.
func (c *cgroups) take() *cgroup {
	if len(c.idle) == 0 {
		c.collect()
	}
	if n := len(c.idle); n > 0 {
		g := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return g
	}
	c.made++
	g := &cgroup{path: filepath.Join(c.base, strconv.Itoa(c.made)), fd: -1, events: -1}
	err := os.Mkdir(g.path, 0o755)
	if err == nil {
		g.fd, err = unix.Open(g.path, unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_RDONLY, 0)
	}
	if err == nil {
		g.events, err = unix.Open(filepath.Join(g.path, "cgroup.events"), unix.O_CLOEXEC|unix.O_RDONLY, 0)
	}
	if err != nil {
		g.close()
		return nil
	}
	return g
}

// give takes a folder back.
func (c *cgroups) give(g *cgroup) {
	if g.populated() {
		c.busy = append(c.busy, g)
		return
	}
	g.owner.cgroup, g.owner = nil, nil // a late kill of the old tree must not reach the next
	switch {
	case len(c.idle) < 64 && !g.spent.Load():
		c.idle = append(c.idle, g)
	default:
		g.close()
	}
}

// collect looks for background processes that have ended since, at a few folders a time: a start must not get slower
// with each server that somebody left running.
func (c *cgroups) collect() {
	n := min(len(c.busy), 16)
	first := slices.Clone(c.busy[:n])
	c.busy = slices.Delete(c.busy, 0, n)
	for _, g := range first {
		c.give(g)
	}
}

// killAll ends everything in the instance's folder; the kernel walks the tree.
func (c *cgroups) killAll() { os.WriteFile(filepath.Join(c.base, "cgroup.kill"), []byte("1"), 0) }

// remove takes the folders away. Those in which something still dies need a moment.
func (c *cgroups) remove() {
	for _, g := range append(c.idle, c.busy...) {
		if g.owner != nil {
			g.owner.cgroup = nil
		}
		g.close()
	}
	c.idle, c.busy = nil, nil
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		if removeCgroup(c.base) == nil {
			break
		}
		time.Sleep(wait)
	}
	if c.lock != nil {
		c.lock.Close()
	}
}

// removeCgroup removes a folder and those in it: their files belong to the kernel and go with them.
func removeCgroup(path string) error {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() {
			removeCgroup(filepath.Join(path, e.Name()))
		}
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing a cgroup: %w", err)
	}
	return nil
}

func (g *cgroup) close() {
	if g.events >= 0 {
		unix.Close(g.events)
	}
	if g.fd >= 0 {
		unix.Close(g.fd)
	}
	os.Remove(g.path)
}

// populated says whether a process lives in the folder or below.
func (g *cgroup) populated() bool {
	var buf [64]byte
	n, _ := unix.Pread(g.events, buf[:], 0)
	return bytes.Contains(buf[:max(n, 0)], []byte("populated 1"))
}

// kill ends everything in the folder, which is then not used again: Linux 6.18 kills whatever is cloned into it later.
func (g *cgroup) kill() {
	g.spent.Store(true)
	os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0)
}

// pids lists the folder's processes, and those of folders that the command itself made in it.
func (g *cgroup) pids() []int {
	var pids []int
	filepath.WalkDir(g.path, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		list, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for line := range strings.FieldsSeq(string(list)) {
			if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}
