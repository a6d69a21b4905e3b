//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"cmd-exec-mcp/mcp"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// blob is the stock server's, a megabyte of a log.
var blob = strings.Repeat("2026-01-02T03:04:05Z INFO worker: job \"build\" step 17 of 40 done in 1.25 s\n", 1<<20/76)

// withoutExec is M1: calls that run nothing.
func withoutExec(l *lab) error {
	ours, err := l.serve()
	if err != nil {
		return err
	}
	defer ours.close()
	stock, err := l.serveStock()
	if err != nil {
		return err
	}
	defer stock.close()
	p, err := alternate(l.rounds(1500), ours.timed(params("execute_local", map[string]any{"action": "list"}), `"sessions"`), stock.timed(params("nothing", nil), `"sessions"`))
	if err != nil {
		return err
	}
	report("M1", p.ratio(), limit{bar: 0.45, goal: 0.35}, "a call that runs nothing over stdio (ours: list) / stock %s", p.both("stock"))
	r, err := ours.printed(l, blob)
	if err != nil {
		return err
	}
	read := l.reading("action", "read", "session_id", r.Session, "offset", 0, "limit", 2<<20)
	p, err = alternate(l.rounds(200), ours.timed(read, `step 17`), stock.timed(params("blob", nil), `step 17`))
	if err != nil {
		return err
	}
	report("M1.1MB", p.ratio(), limit{bar: 0.35, goal: 0.25}, "a result of 1 MB (ours: read with limit) / stock %s", p.both("stock"))
	return nil
}

// printed makes a session that has printed text, and ended.
func (s *server) printed(l *lab, text string) (reply, error) {
	r, err := s.call(l.shell("cat", "stdin", text, "detach", true))
	if err != nil {
		return r, err
	}
	id := r.Session
	for r.Running {
		if r, err = s.call(l.reading("action", "read", "session_id", id, "wait_for", "exit", "wait", 10)); err != nil {
			return r, err
		}
	}
	r.Session = id
	return r, nil
}

// megabyte is an engine whose every command has printed one.
type megabyte struct{ mcp.Engine }

func (megabyte) Tools() []job.Tool {
	return []job.Tool{{Name: "execute_local", Kind: job.ShellTool, Description: "runs a command", Shells: []string{"bash"}}}
}

func (megabyte) Exec(context.Context, job.Request, job.Sink) (job.Result, error) {
	return job.Result{Exit: &job.Exit{}, Stdout: job.Text{Data: []byte(blob), Total: int64(len(blob))}}, nil
}

// lineCounter is where the server writes: it tells of each message.
type lineCounter chan int

func (c lineCounter) Write(p []byte) (int, error) {
	c <- len(p)
	return len(p), nil
}

// encoding is M2: our whole way from the line of a call to the line of its answer, against the library's.
func encoding(l *lab) error {
	in, feed := io.Pipe()
	answers := make(lineCounter, 1)
	server := mcp.New(megabyte{}, mcp.Options{Version: "bench", Log: zerolog.Nop()})
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background(), in, answers) }()
	ours := func() (time.Duration, error) {
		began := time.Now()
		if _, err := feed.Write(message(1, "tools/call", params("execute_local", map[string]any{"command": "true"}))); err != nil {
			return 0, err
		}
		size := <-answers
		took := time.Since(began)
		if size < 2*len(blob) {
			return took, fmt.Errorf("the answer has %d bytes", size)
		}
		return took, nil
	}
	stock, stop, err := l.stockEncoder()
	if err != nil {
		return err
	}
	defer stop()
	p, err := alternate(l.rounds(200), ours, stock)
	feed.Close()
	if err != nil {
		return err
	}
	report("M2", p.ratio(), limit{bar: 0.15, goal: 0.1}, "a result of 1 MB encoded, as text and as structure / mcp-go and encoding/json %s", p.both("mcp-go"))
	return <-served
}

// stockEncoder is the process that times the library.
func (l *lab) stockEncoder() (encode timed, stop func(), err error) {
	cmd := exec.Command(l.stock, "encode")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	answers := bufio.NewReader(out)
	encode = func() (took time.Duration, err error) {
		if _, err := fmt.Fprintln(in, "go"); err != nil {
			return 0, err
		}
		_, err = fmt.Fscanf(answers, "%d\n", &took)
		return took, err
	}
	return encode, func() { in.Close(); cmd.Wait() }, nil
}

// startup is U1: from the start to the answer to initialize, and from the end of the input to the exit.
func startup(l *lab) error {
	var memories, exits []float64
	once := func(serve func() (*server, error), note bool) timed {
		return func() (time.Duration, error) {
			s, err := serve()
			if err != nil {
				return 0, err
			}
			used, err := cpu(s.cmd.Process.Pid)
			rss := memory(s.cmd.Process.Pid, "VmRSS")
			exit := s.close()
			if note {
				memories, exits = append(memories, rss), append(exits, exit.Seconds())
			}
			return used, err
		}
	}
	p, err := alternate(l.rounds(200), once(func() (*server, error) { return l.serve() }, true), once(l.serveStock, false))
	if err != nil {
		return err
	}
	report("U1", p.ratio(), limit{bar: 1.4, goal: 1.15}, "CPU time from the start to the answer to initialize / stock %s", p.both("stock"))
	report("U1.mem", lowest(memories, median), limit{bar: 16, goal: 13}, "MiB resident then")
	report("U1.end", milliseconds(lowest(exits, median)), limit{bar: 100, goal: 20}, "milliseconds from the end of the input to the exit (at most %.1f)", milliseconds(most(exits)))
	return nil
}
