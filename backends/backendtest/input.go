package backendtest

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (s *suite) stdinNull() { s.script("cat; echo end").expect("end\n", "", 0) }

func (s *suite) stdinBytes() {
	input := bytes.Repeat([]byte("0123456789\x00\xff\n"), 40000)
	s.start(job.Command{Script: "cat", Stdin: job.StdinBytes, Input: input}).expect(string(input), "", 0)
	s.start(job.Command{Script: "cat; echo end", Stdin: job.StdinBytes}).expect("end\n", "", 0)
	s.start(job.Command{Argv: []string{"cat"}, Stdin: job.StdinBytes, Input: []byte("x")}).expect("x", "", 0)
}

// A command need not read what it is given.
func (s *suite) stdinUnread() {
	input := bytes.Repeat([]byte("x"), 1<<20)
	s.start(job.Command{Script: "echo done", Stdin: job.StdinBytes, Input: input}).expect("done\n", "", 0)
	s.start(job.Command{Script: "head -c 3", Stdin: job.StdinBytes, Input: input}).expect("xxx", "", 0)
}

func (s *suite) stdinPipe() {
	if !s.properties.Stdin {
		return
	}
	r := s.start(job.Command{Script: "cat", Stdin: job.StdinPipe})
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := r.process.Stdin().Write([]byte(line)); err != nil {
			s.Fatal(err)
		}
		r.until(line)
	}
	if err := r.process.Stdin().Close(); err != nil {
		s.Fatal(err)
	}
	r.expect("one\ntwo\n", "", 0)
	if _, err := r.process.Stdin().Write([]byte("three\n")); err == nil {
		s.Error("writing to an ended command gives no error")
	}
	if s.script("true").process.Stdin() != nil {
		s.Error("Stdin is not nil without StdinPipe")
	}
}

func (s *suite) stdinOfTheKilled() {
	if !s.properties.Stdin {
		return
	}
	r := s.start(job.Command{Script: "echo ready; sleep 300", Stdin: job.StdinPipe})
	r.until("ready")
	wrote := make(chan error, 1)
	go func() {
		var err error
		for chunk := make([]byte, 1<<20); err == nil; {
			_, err = r.process.Stdin().Write(chunk)
		}
		wrote <- err
	}()
	time.Sleep(20 * time.Millisecond) // so that the write is most likely under way
	if err := r.process.Kill(s.context()); err != nil {
		s.Error(err)
	}
	r.wait()
	select {
	case <-wrote:
	case <-time.After(s.o.Patience):
		s.Fatal("Write did not return when the process was killed")
	}
}

// A prompt has no newline and must be seen at once.
func (s *suite) prompt() {
	if !s.properties.Stdin {
		return
	}
	r := s.start(job.Command{Script: `printf 'name: '; read -r a; echo "hello $a"`, Stdin: job.StdinPipe})
	r.until("name: ")
	r.process.Stdin().Write([]byte("x y\n"))
	r.expect("name: hello x y\n", "", 0)
}

func (s *suite) noTerminal() {
	r := s.script("test -t 0 || test -t 1 || test -t 2 || echo none; (: </dev/tty) 2>/dev/null || echo no tty")
	r.expect("none\nno tty\n", "", 0)
	s.kind(r.process.Resize(job.Size{Cols: 90, Rows: 30}), job.Unsupported)
}

func (s *suite) terminal() {
	size := &job.Size{Cols: 91, Rows: 33}
	if !s.properties.TTY {
		_, err := s.try(job.Command{Script: "true", TTY: size})
		s.kind(err, job.Unsupported)
		return
	}
	r := s.start(job.Command{Script: `test -t 1 && test -t 2 && echo yes; stty size <&1; echo err >&2; echo "$TERM"; exit 5`, TTY: size})
	exit := r.wait()
	got := strings.ReplaceAll(r.stdout.String(), "\r", "")
	if exit.Code != 5 || !strings.Contains(got, "yes\n33 91\nerr\nxterm-256color\n") || r.stderr.String() != "" {
		s.Errorf("%+v stdout %q stderr %q", exit, got, r.stderr.String())
	}
}

func (s *suite) terminalInput() {
	if !s.properties.TTY || !s.properties.Stdin {
		return
	}
	r := s.start(job.Command{Script: `trap 'echo winch; stty size' WINCH; test -t 0 && echo ready; while read -r l; do echo "<$l>"; done; echo end`, TTY: &job.Size{Cols: 80, Rows: 24}, Stdin: job.StdinPipe})
	r.until("ready")
	r.process.Stdin().Write([]byte("one\n"))
	r.until("<one>")
	if err := r.process.Resize(job.Size{Cols: 100, Rows: 40}); err != nil {
		s.Error(err)
	}
	r.process.Stdin().Write([]byte("two\n"))
	r.until("<two>")
	r.until("40 100")
	if err := r.process.Stdin().Close(); err != nil {
		s.Error(err)
	}
	r.until("end")
	if exit := r.wait(); exit.Code != 0 {
		s.Errorf("%+v", exit)
	}
	r = s.start(job.Command{Script: "echo ready; sleep 300", TTY: &job.Size{Cols: 80, Rows: 24}, Stdin: job.StdinPipe})
	r.until("ready")
	r.process.Stdin().Write([]byte{3}) // ctrl-c
	if exit := r.wait(); exit.Code != 130 {
		s.Errorf("after ctrl-c: %+v", exit)
	}
}
