//go:build linux

package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

//go:embed floor/floor.c
var floorSource []byte

// floor starts commands as cheaply as can be and says how long each took.
type floor struct {
	cmd *exec.Cmd // nil without a C compiler
	in  io.WriteCloser
	out *bufio.Reader
	dir string
}

// floor starts the process at the first use.
func (l *lab) floor() (*floor, error) {
	if l.floorProcess != nil {
		return l.floorProcess, nil
	}
	f := &floor{dir: l.work}
	l.floorProcess = f
	cc, err := exec.LookPath("cc")
	if err != nil {
		fmt.Println("no C compiler: the floor is Go's ForkExec, which is some 7 % above the real one")
		return f, nil
	}
	binary := filepath.Join(l.dir, "floor")
	if err := compile(cc, floorSource, binary); err != nil {
		return nil, err
	}
	f.cmd = exec.Command(binary)
	f.cmd.Dir, f.cmd.Env, f.cmd.Stderr = l.work, environment(), os.Stderr
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.out = bufio.NewReader(out)
	return f, f.cmd.Start()
}

func (f *floor) close() {
	if f.cmd != nil && f.cmd.Process != nil {
		f.in.Close()
		f.cmd.Wait()
	}
}

// run runs n copies of a command at once; grown pipes hold a megabyte. It returns when all have ended and their output was
// read: the time, and how many bytes that were.
func (f *floor) run(n int, grown bool, command string) (took time.Duration, size int64, err error) {
	if f.cmd == nil {
		return f.fork(n, command)
	}
	grow := 0
	if grown {
		grow = 1
	}
	if _, err := fmt.Fprintf(f.in, "%d %d %s\n", n, grow, command); err != nil {
		return 0, 0, err
	}
	_, err = fmt.Fscanf(f.out, "%d %d\n", &took, &size)
	return took, size, err
}

// timed is run for alternate.
func (f *floor) timed(command string) timed {
	return func() (time.Duration, error) {
		took, _, err := f.run(1, false, command)
		return took, err
	}
}

// fork is the floor without a C compiler.
func (f *floor) fork(n int, command string) (time.Duration, int64, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, 0, err
	}
	defer null.Close()
	began := time.Now()
	var all sync.WaitGroup
	sizes := make([]int64, n)
	for i := range n {
		out, far, err := os.Pipe()
		if err != nil {
			return 0, 0, err
		}
		pid, err := syscall.ForkExec("/bin/bash", []string{"bash", "-c", command}, &syscall.ProcAttr{
			Dir: f.dir, Env: environment(), Files: []uintptr{null.Fd(), far.Fd(), far.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true},
		})
		far.Close()
		if err != nil {
			out.Close()
			return 0, 0, err
		}
		all.Go(func() {
			sizes[i], _ = io.Copy(io.Discard, out)
			out.Close()
			syscall.Wait4(pid, nil, 0, nil)
		})
	}
	all.Wait()
	var total int64
	for _, size := range sizes {
		total += size
	}
	return time.Since(began), total, nil
}
