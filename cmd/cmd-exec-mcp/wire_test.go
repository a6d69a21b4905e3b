package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/session"
)

// patience is how long a test waits for what should come at once. Nothing that goes well comes near it.
const patience = 60 * time.Second

// args are the arguments of a call, and any other JSON object.
type args = map[string]any

// star is a config.star: arguments of its statements, as they are written there.
type star struct{ server, defaults, local, policy, tool string }

// String is the config's text. Every command carries the server's WIRE_MARK, by which what is left over is found.
func (s star) String() string {
	if s.policy == "" {
		s.policy = `mode="full"`
	}
	return fmt.Sprintf(`server(%s)
defaults(%s)
shell_tool("execute_local", backend=local(env={"WIRE_MARK": getenv("WIRE_MARK", "")}, %s), policy=policy(%s), %s)
`, s.server, s.defaults, s.local, s.policy, s.tool)
}

// wire is a running server and its bytes: a client that hides nothing. It is safe for concurrent use.
type wire struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	mark   string
	dir    string // where commands run
	home   string // where config.star and the log are
	data   string
	stderr saying
	eof    chan struct{} // the server's stdout has ended

	mu       sync.Mutex
	next     int
	waiting  map[string]chan *envelope // by the bytes of the id
	stray    []*envelope               // responses that no request waits for
	notified []*envelope
	garbage  []string // lines that are no JSON-RPC
	children []int
	ended    bool
}

// saying is what the server says on stderr.
type saying struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *saying) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *saying) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// envelope is one line from the server.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  args            `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	size int
}

// launch starts a server that has not been spoken to. When the test ends, so does the server, and nothing may be left.
func launch(t *testing.T, config fmt.Stringer, env ...string) *wire {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands of these tests are written for a POSIX shell")
	}
	root := t.TempDir()
	w := &wire{
		mark: session.NewID("wire"), home: root, dir: filepath.Join(root, "work"), data: filepath.Join(root, "data"),
		waiting: map[string]chan *envelope{}, eof: make(chan struct{}),
	}
	path := filepath.Join(root, "config.star")
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.cmd = exec.Command("cmd-exec-mcp", "--config", path, "--data", w.data)
	w.cmd.Dir = root
	w.cmd.Env = append(os.Environ(), append([]string{"HOME=" + root, "WIRE_MARK=" + w.mark}, env...)...)
	w.cmd.Stderr = &w.stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go w.listen(out)
	t.Cleanup(func() { w.close(t) })
	return w
}

// start starts a server and shakes hands with it.
func start(t *testing.T, config fmt.Stringer, env ...string) *wire {
	t.Helper()
	w := launch(t, config, env...)
	w.request(t, "initialize", args{"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": "wire", "version": "1"}})
	w.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) listen(out io.Reader) {
	defer close(w.eof)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			w.receive(line)
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) receive(line []byte) {
	m := &envelope{size: len(line)}
	err := json.Unmarshal(line, m)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch waiting := w.waiting[string(m.ID)]; {
	case err != nil || m.Version != "2.0":
		w.garbage = append(w.garbage, string(line))
	case m.Method != "":
		w.notified = append(w.notified, m)
	case waiting != nil:
		delete(w.waiting, string(m.ID))
		waiting <- m
	default:
		w.stray = append(w.stray, m)
	}
}

// send writes lines in one write.
func (w *wire) send(t testing.TB, lines ...string) {
	t.Helper()
	if _, err := io.WriteString(w.in, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Errorf("the server takes no input: %v", err)
	}
}

// expect announces a request, so that its response will be kept for it.
func (w *wire) expect() (id string, answer chan *envelope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	id, answer = fmt.Sprint(w.next), make(chan *envelope, 1)
	w.waiting[id] = answer
	return id, answer
}

func requestLine(id, method string, params any) string {
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(line)
}

func cancelLine(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

func callParams(arguments any) args { return args{"name": "execute_local", "arguments": arguments} }

// answer waits for what expect announced; nil when the server ended without one.
func (w *wire) answer(t testing.TB, answer chan *envelope) *envelope {
	t.Helper()
	select {
	case m := <-answer:
		return m
	case <-w.eof:
		select {
		case m := <-answer:
			return m
		default:
			return nil
		}
	case <-time.After(patience):
		t.Fatal("no response")
		return nil
	}
}

func (w *wire) request(t testing.TB, method string, params any) *envelope {
	t.Helper()
	id, answer := w.expect()
	w.send(t, requestLine(id, method, params))
	m := w.answer(t, answer)
	if m == nil {
		t.Fatalf("%s: the server ended without a response: %s", method, w.stderr.String())
	}
	return m
}

// call calls execute_local with these arguments and no others.
func (w *wire) call(t testing.TB, arguments args) reply {
	t.Helper()
	return w.callWith(t, callParams(arguments))
}

func (w *wire) callWith(t testing.TB, params args) reply {
	t.Helper()
	began := time.Now()
	m := w.request(t, "tools/call", params)
	r := decodeReply(t, m)
	r.took = time.Since(began)
	return r
}

// run runs a command in the test's folder, with more arguments if given.
func (w *wire) run(t testing.TB, command string, more ...args) reply {
	t.Helper()
	return w.call(t, w.arguments(command, more...))
}

func (w *wire) arguments(command string, more ...args) args {
	all := args{"command": command, "cwd": w.dir}
	for _, m := range more {
		for name, value := range m {
			all[name] = value
		}
	}
	return all
}

// act acts upon a session.
func (w *wire) act(t testing.TB, id any, action string, more ...args) reply {
	t.Helper()
	all := args{"session_id": id, "action": action}
	for _, m := range more {
		for name, value := range m {
			all[name] = value
		}
	}
	return w.call(t, all)
}

// notifications returns what came with this method.
func (w *wire) notifications(method string) (list []args) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.notified {
		if m.Method == method {
			list = append(list, m.Params)
		}
	}
	return list
}

// strays takes the responses that no request waited for, once there are n.
func (w *wire) strays(t testing.TB, n int) []*envelope {
	t.Helper()
	eventually(t, fmt.Sprintf("%d responses without a request", n), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.stray) >= n
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.stray
	w.stray = nil
	return taken
}

// path makes a path below the commands' folder.
func (w *wire) path(name string) string { return filepath.Join(w.dir, name) }

func (w *wire) write(t testing.TB, name, text string) string {
	t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return w.path(name)
}

func (w *wire) read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func (w *wire) log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.home, "log.txt"))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
	}
}
