package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
)

func text8(s string) job.Text { return job.Text{Data: []byte(s), Total: int64(len(s))} }

// TestReplies pins the shapes that clients are promised, byte by byte.
func TestReplies(t *testing.T) {
	done := job.Result{Exit: &job.Exit{Code: 3}, Stdout: text8("out\n"), Stderr: text8("err"), Elapsed: 1234567 * time.Microsecond, Echo: "x", Shell: "bash"}
	running := job.Result{Session: "s_1", Stdout: text8("hi"), Next: 2, Alive: 300 * time.Second, Echo: "x"}
	killed := job.Result{Exit: &job.Exit{Code: 137, Signal: "KILL", Cause: job.Killed}, Session: "s_1", Next: 9, Stdout: text8("bye")}
	for _, c := range []struct {
		name, tool, args string
		result           job.Result
		want             string
	}{
		{
			"exit", "execute_local", `{"command":"x"}`, done,
			`{"stdout":"out\n","stderr":"err","exit_code":3,"duration":1.235,"is_timeout":false,"command_echo":"x","output_file":""}`,
		},
		{
			"fields", "execute_local", `{"command":"x","fields":{"stdout":true,"exit_code":"true","stderr":false}}`, done,
			`{"stdout":"out\n","exit_code":3}`,
		},
		{
			"default fields", "execute_remote", `{"command":"x"}`,
			job.Result{Exit: &job.Exit{}, Stdout: text8("a"), Target: "prod"},
			`{"stdout":"a","target":"prod"}`,
		},
		{
			"timeout", "execute_local", `{"command":"x"}`,
			job.Result{Exit: &job.Exit{Code: 143, Cause: job.TimedOut}, Stdout: text8("partial")},
			`{"stdout":"partial","stderr":"","exit_code":-1,"duration":0,"is_timeout":true,"command_echo":"","output_file":""}`,
		},
		{
			"handed over", "execute_local", `{"command":"x"}`, running,
			`{"stdout":"hi","stderr":"","duration":0,"is_timeout":false,"command_echo":"x","output_file":"","session_id":"s_1","is_running":true,"next_offset":2}`,
		},
		{
			"detached", "execute_local", `{"command":"x","detach":true}`, running,
			`{"stdout":"hi","session_id":"s_1","is_running":true,"alive_timeout":300,"next_offset":2}`,
		},
		{
			"cut", "execute_local", `{"command":"x"}`,
			job.Result{
				Exit: &job.Exit{Notes: []string{"b"}, Hint: "h", Survivors: []int{7}}, Session: "s_1", Truncated: true, Omitted: 5, Next: 100, Dropped: 3, Dir: "/d",
				Stdout: job.Text{Data: []byte("aGk="), Omitted: 50, Base64: true}, Notes: []string{"a", "b"}, Shell: "sh", OutputFile: "/o",
			},
			`{"stdout":"aGk=","stderr":"","exit_code":0,"duration":0,"is_timeout":false,"command_echo":"","output_file":"/o","session_id":"s_1","is_running":false,` +
				`"truncated":true,"omitted_bytes":50,"omitted_offset":5,"next_offset":100,"dropped_bytes":3,"survivors":[7],"cwd":"/d","encoding":"base64","shell":"sh","notes":["a","b"],"hint":"h"}`,
		},
		{"read", "execute_local", `{"session_id":"s_1","action":"read"}`, running, `{"stdout":"hi","session_id":"s_1","is_running":true,"next_offset":2}`},
		{
			"send", "execute_local", `{"session_id":"s_1","command":"y"}`,
			job.Result{Session: "s_1", Sent: 1, Held: true},
			`{"sent":1,"session_id":"s_1","is_running":true,"next_offset":0,"notes":["nothing ran yet: what was sent is held until its statement is complete"]}`,
		},
		{
			"kill", "execute_local", `{"session_id":"s_1","action":"kill"}`, killed,
			`{"killed":true,"stdout":"bye","exit_code":137,"duration":0,"signal":"KILL","session_id":"s_1","is_running":false,"survivors":[],"next_offset":9}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newFake()
			e.result = c.result
			checkReply(t, e, c.tool, c.args, c.want)
		})
	}
}

func checkReply(t *testing.T, e *fakeEngine, tool, args, want string) {
	t.Helper()
	s := New(e, Options{})
	out := &reply{}
	isError := s.call(t.Context(), s.tool(tool), []byte(args), caller{sink: job.Discard}, out)
	if string(out.buf) != want || isError != (e.failing != nil) {
		t.Errorf("got  %s\nwant %s\nisError %v", out.buf, want, isError)
	}
	decode(t, out.buf)
}

func TestErrorReplies(t *testing.T) {
	lost := &job.Error{Kind: job.Lost, Hint: "try again", Err: errors.New("the connection broke")}
	denied := &job.Error{
		Kind: job.Denied, Retry: "never", Policy: "sha256:9f", Hint: "show it", Err: errors.New(`"rm" is on the blacklist`), More: 2,
		Findings: []job.Finding{{Rule: "R5", Command: "rm", Via: "find -exec", At: "1:27", Message: "no", Suggest: "show it"}},
	}
	for _, c := range []struct {
		tool, args string
		result     job.Result
		err        error
		want       string
	}{
		{
			"execute_local", `{"command":"x"}`,
			job.Result{Stdout: text8("half"), Hint: "other"},
			lost,
			`{"error":"the connection broke","kind":"lost","stdout":"half","is_running":true,"hint":"try again"}`,
		},
		{
			"execute_local", `{"command":"x"}`,
			job.Result{},
			denied,
			`{"error":"\"rm\" is on the blacklist","kind":"denied","retry":"never","findings":[{"rule":"R5","command":"rm","via":"find -exec",` +
				`"at":"1:27","message":"no","suggest":"show it"}],"more_findings":2,"policy":"sha256:9f","hint":"show it"}`,
		},
		{"execute_local", `{"command":"x"}`, job.Result{}, errors.New("boom"), `{"error":"boom","kind":"internal"}`},
		{
			"execute_sandbox_file", `{"action":"stat","path":"/x"}`,
			job.Result{},
			job.Errorf(job.NotFound, "no /x"),
			`{"success":false,"error":"no /x","kind":"notfound"}`,
		},
	} {
		e := newFake()
		e.result, e.failing = c.result, c.err
		checkReply(t, e, c.tool, c.args, c.want)
	}
}

func TestOutcomes(t *testing.T) {
	e := newFake()
	e.all = []job.Outcome{
		{Result: job.Result{Exit: &job.Exit{}, Stdout: text8("a"), Target: "prod"}},
		{Result: job.Result{Target: "lab"}, Err: job.Errorf(job.Unavailable, "no route").WithHint("later")},
	}
	s := New(e, Options{})
	out := &reply{}
	s.call(t.Context(), s.tool("execute_remote"), []byte(`{"command":"x","targets":["prod","lab"],"tty2":1}`), caller{sink: job.Discard}, out)
	want := `{"results":[{"stdout":"a","target":"prod"},{"error":"no route","kind":"unavailable","target":"lab","hint":"later"}],"notes":["unknown parameter \"tty2\" was ignored"]}`
	if string(out.buf) != want {
		t.Errorf("got  %s\nwant %s", out.buf, want)
	}
}

func TestSessionList(t *testing.T) {
	e := newFake()
	s := New(e, Options{})
	list := func() string {
		out := &reply{}
		s.call(t.Context(), s.tool("execute_local"), []byte(`{"action":"list"}`), caller{sink: job.Discard}, out)
		return string(out.buf)
	}
	if got := list(); got != `{"sessions":[]}` {
		t.Errorf("got %s", got)
	}
	e.list = []job.SessionInfo{{ID: "s_1", Echo: "x", Started: time.Unix(0, 0), Idle: time.Second}, {ID: "s_2", Exit: &job.Exit{Code: 1}, Started: time.Unix(0, 0)}}
	want := `{"sessions":[{"session_id":"s_1","command_echo":"x","is_running":true,"started":"1970-01-01T00:00:00Z","idle":1},` +
		`{"session_id":"s_2","command_echo":"","is_running":false,"exit_code":1,"started":"1970-01-01T00:00:00Z","idle":0}]}`
	if got := list(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		args   string
		result job.FileResult
		want   string
	}{
		{`{"action":"read","path":"/x"}`, job.FileResult{Data: []byte("é"), Size: 2}, `{"success":true,"data":"é","size":2}`},
		{`{"action":"read","path":"/x","offset":4,"limit":4}`, job.FileResult{Data: []byte("abc\xc3"), Size: 100}, `{"success":true,"data":"abc","size":100,"next_offset":7}`},
		{`{"action":"read","path":"/x"}`, job.FileResult{Data: []byte{0, 1}, Size: 2}, `{"success":true,"data":"AAE=","encoding":"base64","size":2}`},
		{`{"action":"read","path":"/x"}`, job.FileResult{Data: []byte("a\xc3"), Size: 2}, `{"success":true,"data":"YcM=","encoding":"base64","size":2}`},
		{`{"action":"exists","path":"C:\\x"}`, job.FileResult{Exists: true}, `{"success":true,"data":true}`},
		{`{"action":"list","path":"/"}`, job.FileResult{}, `{"success":true,"data":[]}`},
		{`{"action":"list","path":"/"}`, job.FileResult{List: []job.FileInfo{{Name: "a", Path: "/a", Type: "file", Size: 1, Modified: time.Unix(0, 0)}}}, `{"success":true,"data":[{"name":"a","path":"/a","type":"file","size":1,"mtime":"1970-01-01T00:00:00Z"}]}`},
		{`{"action":"stat","path":"/a"}`, job.FileResult{Stat: &job.FileInfo{Name: "a", Type: "dir", Mode: 0o755, Modified: time.Unix(0, 0)}}, `{"success":true,"data":{"name":"a","path":"","type":"dir","size":0,"mtime":"1970-01-01T00:00:00Z","mode":"0755"}}`},
		{`{"action":"write","path":"/a","content":""}`, job.FileResult{SHA256: "e3"}, `{"success":true,"data":{"path":"/a","size":0,"sha256":"e3"}}`},
		{`{"action":"mkdir","path":"/a"}`, job.FileResult{}, `{"success":true,"data":{"path":"/a"}}`},
	} {
		e := newFake()
		e.files = c.result
		s := New(e, Options{})
		out := &reply{}
		s.call(t.Context(), s.tool("execute_sandbox_file"), []byte(c.args), caller{sink: job.Discard}, out)
		if string(out.buf) != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.args, out.buf, c.want)
		}
	}
	e := newFake()
	invoke(t, e, "execute_sandbox_file", `{"action":"write","path":"/a","content_base64":"AAE=","session_id":"s"}`)
	if string(e.file.Content) != "\x00\x01" || e.file.Session != "s" {
		t.Errorf("got %+v", e.file)
	}
}

func TestPanicIsAnError(t *testing.T) {
	e := newFake()
	e.exec = func(context.Context, job.Request, job.Sink) (job.Result, error) { panic("oh") }
	got, isError := invoke(t, e, "execute_local", `{"command":"x"}`)
	if !isError || got["kind"] != "internal" {
		t.Errorf("got %v", got)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\t\r\x00\x1f\x7f", "é界\xff\xc3", "12345678\"1234567\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		raw := appendString(nil, s)
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%q: %v: %s", s, err, raw)
		}
		if want := strings.ToValidUTF8(s, "�"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		// As text content the same bytes are escaped once more.
		var outer struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(appendCallResult(nil, []byte("1"), raw, false), &outer); err != nil || outer.Result.Content[0].Text != string(raw) {
			t.Errorf("got %v, %v", outer, err)
		}
	})
}

// FuzzMembers holds our reading of objects against encoding/json's.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[1,{"c":"]}"}],"\u0061":"x\"\\","d":null , "e" : -1.5e3}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			return
		}
		list, _ := members(raw)
		got := map[string]string{}
		for _, m := range list {
			got[m.name] = string(m.value)
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Errorf("%s: got %q, want %q", name, got[name], value)
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %d members, want %d", len(got), len(want))
		}
	})
}
