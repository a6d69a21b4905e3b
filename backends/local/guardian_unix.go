//go:build unix

package local

import (
	"os"
	"sync"
	"syscall"

	"github.com/rs/zerolog"
)

// guardian is a small shell that outlives a server which was killed outright. It reads a pipe whose other end only the
// server has, so the pipe's end means that the server is gone, however it went; then it kills what the server left.
// A parent-death signal would not do: it reaches the leader alone, and Go's threads come and go.
type guardian struct {
	mu   sync.Mutex
	pid  int
	pipe *os.File
}

// start runs script with the arguments in a session of its own. Without a shell there is no guardian, and a log line.
func (g *guardian) start(log zerolog.Logger, arguments ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.fork(arguments)
	if err != nil {
		log.Warn().Err(err).Msg("local: no guardian: what runs when the server is killed with KILL lives on")
	}
}

func (g *guardian) fork(arguments []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := pipe()
	if err != nil {
		return err
	}
	defer syscall.Close(r)
	argv := append([]string{"sh", "-c", guardianScript, "cmd-exec-mcp-guardian"}, arguments...)
	pid, err := syscall.ForkExec("/bin/sh", argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=" + defaultPath},
		Files: []uintptr{uintptr(r), null.Fd(), null.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		syscall.Close(w)
		return err
	}
	g.pid, g.pipe = pid, os.NewFile(uintptr(w), "guardian")
	return nil
}

// tell writes one line to the guardian.
func (g *guardian) tell(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		g.pipe.WriteString(line + "\n")
	}
}

// dismiss ends the guardian when there is nothing left to guard.
func (g *guardian) dismiss() {
	g.tell("done")
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return
	}
	g.pipe.Close()
	g.pipe = nil
	for {
		if _, err := syscall.Wait4(g.pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
