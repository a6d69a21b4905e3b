package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// gone is how soon after a server nothing of it may be left. What needs the whole ladder and the guardian takes two seconds.
const gone = 20 * time.Second

// close ends the input and checks the end. It may be called again.
func (w *wire) close(t testing.TB) {
	t.Helper()
	if w.finish() {
		return
	}
	w.in.Close()
	w.check(t, 0)
	w.clean(t)
}

// signal ends the server by a signal and checks the end.
func (w *wire) signal(t testing.TB, s os.Signal, status int) {
	t.Helper()
	if w.finish() {
		return
	}
	if err := w.cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
	w.check(t, status)
}

// kill ends the server as nothing can prepare for.
func (w *wire) kill(t testing.TB) {
	t.Helper()
	w.signal(t, os.Kill, -1)
}

// finish notes who the server's children are; it reports whether that was done before.
func (w *wire) finish() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return true
	}
	w.ended = true
	w.children = childrenOf(w.cmd.Process.Pid)
	return false
}

// check waits for the server's end and for the end of all that it started.
func (w *wire) check(t testing.TB, status int) {
	t.Helper()
	hang := time.AfterFunc(patience, func() { w.cmd.Process.Kill() })
	<-w.eof
	err := w.cmd.Wait()
	if !hang.Stop() {
		t.Error("the server had to be killed: it did not end by itself")
	} else if got := w.cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("the server's exit status is %d, not %d: %v\n%s", got, status, err, w.stderr.String())
	}
	if s := w.stderr.String(); s != "" {
		t.Errorf("the server said on stderr: %s", s)
	}
	w.mu.Lock()
	if len(w.garbage) > 0 {
		t.Errorf("stdout holds what is no JSON-RPC: %q", w.garbage)
	}
	w.mu.Unlock()
	deadline := time.Now().Add(gone)
	for left := w.left(); len(left) > 0; left = w.left() {
		if time.Now().After(deadline) {
			t.Errorf("still running after the server has ended: %s", describe(left))
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// clean checks that a server that ended in peace left no files.
func (w *wire) clean(t testing.TB) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(w.data, "instances", "*")); len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
}

// left are the processes that carry the mark, and those of the server's children that still are.
func (w *wire) left() []int {
	list := marked(w.mark)
	for _, pid := range w.children {
		if running(pid) {
			list = append(list, pid)
		}
	}
	return list
}

// commands are the running processes of the server's commands.
func (w *wire) commands() []int {
	var list []int
	for _, pid := range marked(w.mark) {
		if pid != w.cmd.Process.Pid {
			list = append(list, pid)
		}
	}
	return list
}

// empty waits until no command runs, and returns how long that took.
func (w *wire) empty(t testing.TB) time.Duration {
	t.Helper()
	began := time.Now()
	for left := w.commands(); len(left) > 0; left = w.commands() {
		if time.Since(began) > gone {
			t.Fatalf("still running: %s", describe(left))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// These read /proc; where there is none, they find nothing.

func pids() (list []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

func proc(pid int, name string) []byte {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	return text
}

func marked(mark string) (list []int) {
	for _, pid := range pids() {
		if bytes.Contains(proc(pid, "environ"), []byte("WIRE_MARK="+mark)) && running(pid) {
			list = append(list, pid)
		}
	}
	return list
}

// stateOf returns the process's state and its parent.
func stateOf(pid int) (state string, parent int) {
	_, rest, _ := strings.Cut(string(proc(pid, "stat")), ") ")
	if fields := strings.Fields(rest); len(fields) > 1 {
		parent, _ = strconv.Atoi(fields[1])
		state = fields[0]
	}
	return state, parent
}

func running(pid int) bool {
	state, _ := stateOf(pid)
	return state != "" && state != "Z" && state != "X"
}

func childrenOf(parent int) (list []int) {
	for _, pid := range pids() {
		if _, p := stateOf(pid); p == parent {
			list = append(list, pid)
		}
	}
	return list
}

func describe(list []int) string {
	var b strings.Builder
	for _, pid := range list {
		b.WriteString(strconv.Itoa(pid) + " " + strings.ReplaceAll(string(proc(pid, "cmdline")), "\x00", " ") + "; ")
	}
	return b.String()
}

// descriptors counts the server's open files.
func (w *wire) descriptors() int {
	entries, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(w.cmd.Process.Pid), "fd"))
	return len(entries)
}
