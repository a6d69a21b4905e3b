package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// fakeEngine records what it is asked and answers what a test wants.
type fakeEngine struct {
	tools   []job.Tool
	exec    func(ctx context.Context, req job.Request, sink job.Sink) (job.Result, error)
	all     []job.Outcome
	result  job.Result // of session calls
	list    []job.SessionInfo
	files   job.FileResult
	failing error

	quiet    bool // records nothing: what a benchmark measures must not grow
	mu       sync.Mutex
	requests []job.Request
	reads    []job.Read
	inputs   []job.Input
	kills    []string
	file     job.FileRequest
}

var _ Engine = (*fakeEngine)(nil)

func (f *fakeEngine) Tools() []job.Tool { return f.tools }

func (f *fakeEngine) Exec(ctx context.Context, req job.Request, sink job.Sink) (job.Result, error) {
	f.note(func() { f.requests = append(f.requests, req) })
	if f.exec != nil {
		return f.exec(ctx, req, sink)
	}
	return f.result, f.failing
}

func (f *fakeEngine) ExecAll(_ context.Context, reqs []job.Request, _ job.Sink) ([]job.Outcome, error) {
	f.note(func() { f.requests = append(f.requests, reqs...) })
	return f.all, f.failing
}

func (f *fakeEngine) SessionRead(_ context.Context, r job.Read) (job.Result, error) {
	f.note(func() { f.reads = append(f.reads, r) })
	return f.result, f.failing
}

func (f *fakeEngine) SessionSend(_ context.Context, in job.Input) (job.Result, error) {
	f.note(func() { f.inputs = append(f.inputs, in) })
	return f.result, f.failing
}

func (f *fakeEngine) SessionKill(_ context.Context, tool, id string) (job.Result, error) {
	f.note(func() { f.kills = append(f.kills, tool+" "+id) })
	return f.result, f.failing
}

func (f *fakeEngine) Group(string, string) ([]string, error) { return []string{"lab", "prod"}, nil }

func (f *fakeEngine) Sessions(string) []job.SessionInfo { return f.list }

func (f *fakeEngine) Files(_ context.Context, r job.FileRequest) (job.FileResult, error) {
	f.note(func() { f.file = r })
	return f.files, f.failing
}

func (f *fakeEngine) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.quiet {
		change()
	}
}

func (f *fakeEngine) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

var (
	local = job.Tool{
		Name: "execute_local", Kind: job.ShellTool, Description: "Runs commands on this host.", Stdin: true, TTY: true,
		Shells: []string{"bash", "sh"}, Timeout: 30 * time.Second, MaxTimeout: time.Hour, Alive: 300 * time.Second, InlineLimit: 16000,
	}
	sandbox = job.Tool{
		Name: "execute_sandbox", Kind: job.ShellTool, Isolated: true, Sandbox: true, Stdin: true, Images: []string{"debian", "alpine"}, Networks: []string{"none", "bridge"},
		Timeout: 30 * time.Second, Alive: job.Unlimited,
	}
	remote = job.Tool{
		Name: "execute_remote", Kind: job.ShellTool, Targets: []string{"prod", "lab"}, Groups: []string{"web"}, Timeout: job.Unlimited,
		Fields: map[string]bool{"stdout": true},
	}
	file  = job.Tool{Name: "execute_sandbox_file", Kind: job.FileTool, Isolated: true, Sandbox: true, Annotations: job.Annotations{Title: "Files"}}
	tests = job.Tool{
		Name: "run_tests", Kind: job.CommandTool, Annotations: job.Annotations{ReadOnly: true},
		Schema: map[string]any{
			"type": "object", "required": []any{"package"},
			"properties": map[string]any{
				"package": map[string]any{"type": "string", "default": "./..."},
				"count":   map[string]any{"type": "integer", "minimum": 1},
				"race":    map[string]any{"type": "boolean"},
				"tags":    map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
			},
		},
	}
)

func newFake() *fakeEngine {
	return &fakeEngine{tools: []job.Tool{local, sandbox, remote, file, tests}, result: job.Result{Exit: &job.Exit{}}}
}

// invoke runs one tool call without a transport and returns the object.
func invoke(t *testing.T, e *fakeEngine, tool, arguments string) (map[string]any, bool) {
	t.Helper()
	s := New(e, Options{Version: "test", Log: zerolog.Nop()})
	made := s.tool(tool)
	if made == nil {
		t.Fatalf("tool %q is not there", tool)
	}
	out := &reply{}
	isError := s.call(t.Context(), made, []byte(arguments), caller{sink: job.Discard}, out)
	return decode(t, out.buf), isError
}

func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("not valid JSON: %v: %s", err, raw)
	}
	return m
}

// client is the other end of a connection, in raw bytes.
type client struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string
	ended  chan error // what Serve returned
	cancel context.CancelFunc
}

func dial(t *testing.T, e Engine) *client {
	t.Helper()
	s := New(e, Options{Version: "test", Log: zerolog.Nop()})
	return dialServer(t, s)
}

func dialServer(t *testing.T, s *Server) *client {
	t.Helper()
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{t: t, in: inWriter, lines: make(chan string, 10000), ended: make(chan error, 1), cancel: cancel}
	go func() {
		c.ended <- s.Serve(ctx, inReader, outWriter)
		outWriter.Close()
		inReader.Close()
	}()
	go func() {
		defer close(c.lines)
		r := bufio.NewReaderSize(outReader, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	t.Cleanup(func() {
		cancel()
		inWriter.Close()
		for range c.lines { // a writer that is left behind would be a leak of the test's own
		}
	})
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Error(err)
	}
}

// next returns the next message of the server.
func (c *client) next() map[string]any {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server has ended")
		}
		return decode(c.t, []byte(line))
	case <-time.After(20 * time.Second):
		c.t.Fatal("the server said nothing for 20 s")
	}
	return nil
}

// wait returns what Serve returned.
func (c *client) wait() error {
	c.t.Helper()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(20 * time.Second):
		c.t.Fatal("Serve did not return within 20 s")
	}
	return nil
}

func errorCode(m map[string]any) int {
	e, _ := m["error"].(map[string]any)
	code, _ := e["code"].(float64)
	return int(code)
}
