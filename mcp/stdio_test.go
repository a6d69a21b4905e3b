package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
)

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func callLine(id, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"execute_local","arguments":%s}}`, id, arguments)
}

func TestHandshake(t *testing.T) {
	for _, c := range []struct{ asked, got string }{
		{"2025-11-25", "2025-11-25"}, {"2025-06-18", "2025-06-18"}, {"2024-11-05", "2024-11-05"}, {"2099-01-01", "2025-11-25"}, {"2026-07-28", "2025-11-25"},
	} {
		cl := dial(t, newFake())
		cl.send(strings.Replace(initialize, "2025-11-25", c.asked, 1), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		m := cl.next()
		result := m["result"].(map[string]any)
		if result["protocolVersion"] != c.got || m["id"] != "init" {
			t.Errorf("%s: got %v", c.asked, m)
		}
		capabilities := result["capabilities"].(map[string]any)
		for _, name := range []string{"tasks", "logging", "prompts", "completions"} {
			if capabilities[name] != nil {
				t.Errorf("%s is advertised", name)
			}
		}
	}
}

// TestOldAndNewRevisions: a client of the revisions without a handshake must be able to fall back.
func TestOldAndNewRevisions(t *testing.T) {
	c := dial(t, newFake())
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, l := range []struct {
		line string
		code int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, -32601},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, -32022},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_local",` + meta + `}}`, -32022},
	} {
		c.send(l.line)
		if m := c.next(); errorCode(m) != l.code {
			t.Errorf("%s: got %v, want %d", l.line, m, l.code)
		}
	}
}

func TestMalformed(t *testing.T) {
	c := dial(t, newFake())
	for _, l := range []struct {
		line string
		id   any
		code int
	}{
		{`{"jsonrpc":"2.0","id":1,`, nil, parseError},
		{`nonsense`, nil, parseError},
		{"\x00\xff", nil, parseError},
		{`"text"`, nil, invalidRequest},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, nil, invalidRequest},
		{`[]`, nil, invalidRequest},
		{`{}`, nil, invalidRequest},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, 7.0, invalidRequest},
		{`{"id":7,"method":"ping"}`, 7.0, invalidRequest},
		{`{"jsonrpc":"2.0","id":7}`, 7.0, invalidRequest},
		{`{"jsonrpc":"2.0","id":7,"method":5}`, 7.0, invalidRequest},
		{`{"jsonrpc":"2.0","id":7,"METHOD":"ping"}`, 7.0, invalidRequest},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call"}`, 7.0, invalidRequest},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","result":1}`, 7.0, invalidRequest},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}`, 7.0, invalidParams},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, invalidRequest},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, invalidRequest},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, nil, invalidRequest},
		{`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, 7.0, -32601},
		{`{"jsonrpc":"2.0","id":7,"method":"tasks/list"}`, 7.0, -32601},
		{`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info"}}`, 7.0, -32601},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}`, 7.0, invalidParams},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":5}}`, 7.0, invalidParams},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, 7.0, invalidParams},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute_local","name":"x"}}`, 7.0, invalidParams},
	} {
		c.send(l.line)
		if m := c.next(); errorCode(m) != l.code || m["id"] != l.id {
			t.Errorf("%s: got %v, want %d", l.line, m, l.code)
		}
	}
	c.send("", "  \t\r", `{"jsonrpc":"2.0","method":"notifications/whatever"}`, `{"jsonrpc":"2.0","id":"x","result":{}}`, `{"jsonrpc":"2.0","id":8,"method":"ping"}`+"\r")
	if m := c.next(); m["id"] != 8.0 || m["result"] == nil {
		t.Errorf("got %v, want the ping's answer and nothing for the rest", m)
	}
}

// TestIDs: an id comes back as it was written, whatever a decoder would make of it.
func TestIDs(t *testing.T) {
	c := dial(t, newFake())
	for _, id := range []string{"1", "-5", "1.0", "1e3", "9007199254740993", `"a"`, `""`, `"\u0061\n"`, `"1"`, "0.1"} {
		for _, line := range []string{callLine(id, `{"command":"x"}`), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"no"}`, id)} {
			c.send(line)
			got := <-c.lines
			if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"`) || strings.Count(got, "\n") != 1 {
				t.Errorf("got %s", got)
			}
		}
	}
}

func TestLongLine(t *testing.T) {
	c := dial(t, newFake())
	go c.send(callLine("1", `{"command":"`+strings.Repeat("a", 20<<20)+`"}`), `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	codes := map[any]int{}
	for range 2 {
		m := c.next()
		codes[m["id"]] = errorCode(m)
	}
	if codes[nil] != invalidRequest || codes[2.0] != 0 || len(codes) != 2 {
		t.Errorf("got %v", codes)
	}
	e := newFake()
	c = dial(t, e)
	go c.send(callLine("1", `{"command":"`+strings.Repeat("a", 1<<20)+`"}`))
	if m := c.next(); m["result"] == nil || len(e.requests[0].Command.Script) != 1<<20 {
		t.Error("1 MiB must pass")
	}
}

// TestCancelInTheSameWrite: the command never runs and nothing is answered.
func TestCancelInTheSameWrite(t *testing.T) {
	e := newFake()
	c := dial(t, e)
	for i := range 200 {
		id := fmt.Sprint(i)
		c.send(callLine(id, `{"command":"x"}`), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
	}
	c.send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	if m := c.next(); m["id"] != "last" {
		t.Errorf("got %v, want no response to a cancelled call", m)
	}
	if n := e.calls(); n != 0 {
		t.Errorf("%d of 200 cancelled calls ran", n)
	}
}

func TestCancelWhileRunning(t *testing.T) {
	e := newFake()
	started, ended := make(chan struct{}), make(chan struct{})
	e.exec = func(ctx context.Context, _ job.Request, _ job.Sink) (job.Result, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return job.Result{}, job.Errorf(job.Canceled, "canceled")
	}
	c := dial(t, e)
	c.send(callLine(`"a"`, `{"command":"x"}`))
	<-started
	c.send(callLine(`"a"`, `{"command":"x"}`))
	if m := c.next(); errorCode(m) != invalidRequest {
		t.Errorf("got %v for an id that is on its way", m)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
	<-ended
	e.exec = nil
	for {
		c.send(callLine(`"a"`, `{"command":"x"}`)) // the id is free again, as soon as the cancelled call has returned
		if m := c.next(); m["result"] != nil {
			break
		}
	}
}

// TestPingDuringCalls: 64 slow calls hold up neither a ping nor a cancel.
func TestPingDuringCalls(t *testing.T) {
	e := newFake()
	var running sync.WaitGroup
	running.Add(64)
	release := make(chan struct{})
	e.exec = func(context.Context, job.Request, job.Sink) (job.Result, error) {
		running.Done()
		<-release
		return job.Result{Exit: &job.Exit{}}, nil
	}
	c := dial(t, e)
	for i := range 64 {
		c.send(callLine(fmt.Sprint(i), `{"command":"x"}`))
	}
	running.Wait()
	c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if m := c.next(); m["id"] != "p" {
		t.Errorf("got %v", m)
	}
	close(release)
	seen := map[any]bool{}
	for range 64 {
		seen[c.next()["id"]] = true
	}
	if len(seen) != 64 {
		t.Errorf("%d of 64 calls were answered", len(seen))
	}
}

// TestEndOfInput: what was asked right before the end is answered, also without a last newline.
func TestEndOfInput(t *testing.T) {
	e := newFake()
	e.exec = func(context.Context, job.Request, job.Sink) (job.Result, error) {
		time.Sleep(50 * time.Millisecond)
		return job.Result{Exit: &job.Exit{}}, nil
	}
	s := New(e, Options{})
	var out safeBuffer
	in := strings.NewReader(initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + callLine("5", `{"command":"x"}`))
	if err := s.Serve(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"id":5,"result"`) {
		t.Errorf("got %s", out.String())
	}
}

func TestEndInMidCall(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*client)
	}{{"end of input", func(c *client) { c.in.Close() }}, {"context", func(c *client) { c.cancel() }}} {
		t.Run(c.name, func(t *testing.T) {
			e := newFake()
			started := make(chan struct{})
			e.exec = func(ctx context.Context, _ job.Request, _ job.Sink) (job.Result, error) {
				close(started)
				<-ctx.Done()
				return job.Result{}, &job.Error{Kind: job.Canceled, Err: context.Cause(ctx)}
			}
			cl := dial(t, e)
			cl.send(callLine("1", `{"command":"x"}`))
			<-started
			c.end(cl)
			if err := cl.wait(); err != nil {
				t.Error(err)
			}
			if m := cl.next(); m["id"] != 1.0 || !strings.Contains(fmt.Sprint(m), errShutdown.Error()) {
				t.Errorf("got %v", m)
			}
		})
	}
}

// TestHangingCall: a call that does not end when it is cancelled holds up the end for a while only.
func TestHangingCall(t *testing.T) {
	e := newFake()
	started, release := make(chan struct{}), make(chan struct{})
	ending := make(chan struct{})
	e.exec = func(context.Context, job.Request, job.Sink) (job.Result, error) {
		close(started)
		<-release
		return job.Result{}, nil
	}
	c := dialServer(t, New(e, Options{Ending: func() { close(ending) }}))
	defer close(release)
	c.send(callLine("1", `{"command":"x"}`))
	<-started
	c.in.Close()
	<-ending // while the call still runs
	if err := c.wait(); err != nil {
		t.Error(err)
	}
}

// TestClientThatDoesNotRead must not keep the server from ending.
func TestClientThatDoesNotRead(t *testing.T) {
	s := New(newFake(), Options{})
	in, inWriter := io.Pipe()
	out, outWriter := io.Pipe() // nobody reads
	defer out.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), in, outWriter) }()
	for i := range 50 {
		fmt.Fprintln(inWriter, callLine(fmt.Sprint(i), `{"command":"x"}`))
		fmt.Fprintln(inWriter, "nonsense")
	}
	inWriter.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Serve hangs")
	}
}

func TestBrokenOutput(t *testing.T) {
	s := New(newFake(), Options{})
	in, inWriter := io.Pipe()
	defer inWriter.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), in, brokenWriter{}) }()
	fmt.Fprintln(inWriter, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err := <-ended; job.KindOf(err) != job.Unavailable {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestNothingIsLeft: connections, calls, cancels and watched calls leave no goroutine behind.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	e := newFake()
	e.exec = func(ctx context.Context, _ job.Request, sink job.Sink) (job.Result, error) {
		sink.Event(job.Event{Data: []byte("x")})
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
		return job.Result{Exit: &job.Exit{}}, nil
	}
	for range 10 {
		c := dial(t, e)
		c.send(initialize)
		for i := range 50 {
			c.send(strings.Replace(callLine(fmt.Sprint(i), `{"command":"x"}`), `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1))
			if i%2 == 0 {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
			}
		}
		c.in.Close()
		if err := c.wait(); err != nil {
			t.Error(err)
		}
		for range c.lines {
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before+1 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
}

func TestToolsChanged(t *testing.T) {
	e := newFake()
	s := New(e, Options{})
	c := dialServer(t, s)
	c.send(initialize)
	c.next()
	e.tools = e.tools[:1]
	s.ToolsChanged()
	if m := c.next(); m["method"] != "notifications/tools/list_changed" {
		t.Errorf("got %v", m)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if list := c.next()["result"].(map[string]any)["tools"].([]any); len(list) != 1 {
		t.Errorf("got %d tools", len(list))
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_tests"}}`)
	if m := c.next(); errorCode(m) != invalidParams {
		t.Errorf("got %v", m)
	}
}

func TestResources(t *testing.T) {
	e := newFake()
	e.list = []job.SessionInfo{{ID: "s_1", Echo: "x"}}
	e.result = job.Result{Stdout: text8("all of it")}
	c := dial(t, e)
	read := func(uri string) map[string]any {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}`)
		m := c.next()
		if r, ok := m["result"].(map[string]any); ok {
			return r["contents"].([]any)[0].(map[string]any)
		}
		return m
	}
	if got := read("session://s_1"); !strings.Contains(got["text"].(string), `"session_id":"s_1"`) {
		t.Errorf("got %v", got)
	}
	if got := read("session://s_1/output"); got["text"] != "all of it" || e.reads[0].Offset != 0 {
		t.Errorf("got %v, %+v", got, e.reads)
	}
	if got := read("session://s_1/output?offset=7"); got["text"] != "all of it" || e.reads[1].Offset != 7 {
		t.Errorf("got %v, %+v", got, e.reads)
	}
	for _, uri := range []string{"session://s_2", "session://s_2/output", "session://s_1/output?offset=-1", "file:///etc/passwd"} {
		if got := read(uri); errorCode(got) == 0 {
			t.Errorf("%s: got %v", uri, got)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`)
	if list := c.next()["result"].(map[string]any)["resourceTemplates"].([]any); len(list) != 2 {
		t.Errorf("got %v", list)
	}
}

// TestAsk: the question goes to a client that can ask, its answer counts once, and a made-up one does not count.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		capabilities, answer string
		want                 job.Answer
	}{
		{`{}`, "", job.Unasked},
		{`{"elicitation":{}}`, `"result":{"action":"accept","content":{"allow":true}}`, job.Yes},
		{`{"elicitation":{}}`, `"result":{"action":"accept","content":{"allow":false}}`, job.No},
		{`{"elicitation":{}}`, `"result":{"action":"accept"}`, job.No},
		{`{"elicitation":{}}`, `"result":{"action":"decline"}`, job.No},
		{`{"elicitation":{}}`, `"error":{"code":-1,"message":"x"}`, job.Unasked},
	} {
		e := newFake()
		var got atomic.Int32
		e.exec = func(ctx context.Context, _ job.Request, sink job.Sink) (job.Result, error) {
			a, err := sink.Ask(ctx, job.Question{Text: "rm x", Findings: []job.Finding{{Rule: "R5", At: "1:1", Message: "no"}}})
			got.Store(int32(a))
			return job.Result{Exit: &job.Exit{}}, err
		}
		cl := dial(t, e)
		cl.send(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":`+c.capabilities, 1))
		cl.next()
		cl.send(callLine("1", `{"command":"rm x"}`))
		if c.answer != "" {
			m := cl.next()
			if m["method"] != "elicitation/create" || !strings.Contains(fmt.Sprint(m["params"]), "rm x") {
				t.Fatalf("got %v", m)
			}
			cl.send(`{"jsonrpc":"2.0","id":"ask-guess","result":{"action":"accept","content":{"allow":true}}}`)
			cl.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, m["id"], c.answer))
		}
		if m := cl.next(); m["id"] != 1.0 || job.Answer(got.Load()) != c.want {
			t.Errorf("%s: got %v and answer %d, want %d", c.answer, m, got.Load(), c.want)
		}
	}
}
