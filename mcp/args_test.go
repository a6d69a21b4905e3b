package mcp

import (
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// TestArguments holds what models really send against what the engine gets.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name, args string
		check      func(r job.Request) bool
	}{
		{"plain", `{"command":"ls","cwd":"/tmp","timeout":5}`, func(r job.Request) bool {
			return r.Command.Script == "ls" && r.Command.Dir == "/tmp" && r.Timeout == 5*time.Second && r.Tool == "execute_local"
		}},
		{"number in a string", `{"command":"ls","timeout":" 30 "}`, func(r job.Request) bool { return r.Timeout == 30*time.Second }},
		{"fraction", `{"command":"ls","timeout":0.5}`, func(r job.Request) bool { return r.Timeout == 500*time.Millisecond }},
		{"unlimited", `{"command":"ls","timeout":-1,"wait":-1}`, func(r job.Request) bool { return r.Timeout == job.Unlimited && r.Wait == job.Unlimited }},
		{"huge", `{"command":"ls","timeout":1e12}`, func(r job.Request) bool { return r.Timeout == longest }},
		{"beyond float", `{"command":"ls","timeout":1e999}`, func(r job.Request) bool { return r.Timeout == longest }},
		{"absent", `{"command":"ls","timeout":null,"cwd":"","env":null,"parallel":""}`, func(r job.Request) bool {
			return r.Timeout == 0 && r.Command.Dir == "" && r.Command.Env == nil && !r.Parallel
		}},
		{"boolean in a string", `{"command":"ls","detach":"True"}`, func(r job.Request) bool { return r.Detach }},
		{"object in a string", `{"command":"ls","env":"{\"A\":\"x y\"}"}`, func(r job.Request) bool { return r.Command.Env["A"] == "x y" }},
		{"env values", `{"command":"ls","env":{"N":8080,"B":true,"E":"","Z":null}}`, func(r job.Request) bool {
			_, empty := r.Command.Env["E"]
			_, null := r.Command.Env["Z"]
			return r.Command.Env["N"] == "8080" && r.Command.Env["B"] == "true" && empty && !null
		}},
		{"arguments in a string", `"{\"command\":\"ls\"}"`, func(r job.Request) bool { return r.Command.Script == "ls" }},
		{"wait 0 detaches", `{"command":"ls","wait":0}`, func(r job.Request) bool { return r.Detach && r.Wait == 0 }},
		{"stdin is null", `{"command":"cat"}`, func(r job.Request) bool { return r.Command.Stdin == job.StdinNull }},
		{"stdin given", `{"command":"cat","stdin":"a\u0000b","detach":true}`, func(r job.Request) bool {
			return r.Command.Stdin == job.StdinBytes && string(r.Command.Input) == "a\x00b"
		}},
		{"pattern", `{"command":"x","wait_for":"name: $"}`, func(r job.Request) bool { return r.WaitFor == "name: $" }},
		{"tty", `{"command":"x","tty":true,"cols":"100"}`, func(r job.Request) bool { return *r.Command.TTY == job.Size{Cols: 100, Rows: 24} }},
		{"view", `{"command":"x","raw":true,"merged":true,"base64":true,"limit":99}`, func(r job.Request) bool {
			return r.View == job.View{Raw: true, Merged: true, Base64: true, Limit: 99}
		}},
		{"rest", `{"command":"x","shell":"sh","login":true,"encoding":"gbk","output_file":"o","alive_timeout":-1}`, func(r job.Request) bool {
			return r.Command.Shell == "sh" && r.Command.Login && r.Encoding == "gbk" && r.OutputFile == "o" && r.Alive == job.Unlimited
		}},
		{"escaped name", `{"com\u006dand":"ls"}`, func(r job.Request) bool { return r.Command.Script == "ls" }},
		{"bad UTF-8", "{\"command\":\"a\xffb\"}", func(r job.Request) bool { return r.Command.Script == "a�b" }},
		{"parallel", `{"command":"a && b","parallel":true}`, func(r job.Request) bool { return r.Parallel }},
		{"commands", `{"commands":["a","b"]}`, func(r job.Request) bool { return len(r.Commands) == 2 && r.Command.Script == "" }},
		{"commands in a string", `{"commands":"[\"a\",\"b\"]"}`, func(r job.Request) bool { return len(r.Commands) == 2 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newFake()
			got, isError := invoke(t, e, "execute_local", c.args)
			if isError || len(e.requests) != 1 {
				t.Fatalf("got error %v", got)
			}
			if !c.check(e.requests[0]) {
				t.Errorf("got %+v", e.requests[0])
			}
		})
	}
}

func TestWrongArguments(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"execute_local", `{"command":"ls","command":"rm x"}`, `"command" is given twice`},
		{"execute_local", `{"command":"ls","COMMAND":"rm x"}`, `"command" and "COMMAND" are both given`},
		{"execute_local", `{"command":"ls","env":{"A":"1","A":"2"}}`, `env has "A" twice`},
		{"execute_local", `{"command":"ls","timeout":0}`, "timeout must be more than 0"},
		{"execute_local", `{"command":"ls","timeout":-2}`, "timeout must be a number of seconds, or -1"},
		{"execute_local", `{"command":"ls","timeout":"soon"}`, `timeout must be a number of seconds, got the string "soon"`},
		{"execute_local", `{"command":"ls","timeout":"NaN"}`, "timeout must be a number"},
		{"execute_local", `{"command":"ls","timeout":[1]}`, "timeout must be a number of seconds, got an array"},
		{"execute_local", `{"command":5}`, "command must be a string, got the number 5"},
		{"execute_local", `{"command":"ls","detach":3}`, "detach must be true or false, got the number 3"},
		{"execute_local", `{"command":"ls","env":"A=1"}`, `env must be an object, got the string "A=1"`},
		{"execute_local", `{"command":"ls","env":{"A":{}}}`, "env.A must be a string, got an object"},
		{"execute_local", `{"command":"ls","cwd":"a\u0000b"}`, "cwd must not contain a NUL"},
		{"execute_local", `{"command":"ls","shell":"fish"}`, `shell cannot be "fish"`},
		{"execute_local", `{"command":"ls","limit":1.5}`, "limit must be a whole number"},
		{"execute_local", `{"command":"ls","tty":true,"cols":0}`, "cols must be from 1"},
		{"execute_local", `{"command":"ls","fields":{"stdout":"maybe"}}`, "fields.stdout must be true or false"},
		{"execute_local", `{}`, "command is required"},
		{"execute_local", ``, "command is required"},
		{"execute_local", `null`, "command is required"},
		{"execute_local", `{"command":""}`, "command is required"},
		{"execute_local", `[1]`, "arguments must be an object"},
		{"execute_local", `{"command":"a","commands":["b"]}`, "cannot be given together"},
		{"execute_local", `{"commands":["b",1]}`, "commands[1] must be a string"},
		{"execute_local", `{"commands":["a",""]}`, "empty string"},
		{"execute_local", `{"action":"read"}`, "session_id is required for read"},
		{"execute_local", `{"action":"send","command":"y"}`, "session_id is required for send"},
		{"execute_local", `{"action":"fly","session_id":"s"}`, `action cannot be "fly"`},
		{"execute_local", `{"action":"run","session_id":"s","command":"x"}`, `action cannot be "run"`},
		{"execute_local", `{"session_id":"s"}`, "send needs command"},
		{"execute_local", `{"session_id":"s","command":"x","eof":true}`, "not several"},
		{"execute_remote", `{"command":"a","target":"mars"}`, `no target "mars"`},
		{"execute_remote", `{"command":"a","targets":["prod","lab"],"output_file":"x"}`, "several targets"},
		{"execute_sandbox", `{"command":"a","image":"evil"}`, `image cannot be "evil"`},
		{"execute_sandbox_file", `{"action":"read"}`, "path is required"},
		{"execute_sandbox_file", `{"path":"/x"}`, "action is required"},
		{"execute_sandbox_file", `{"action":"write","path":"/x"}`, "content or content_base64"},
		{"execute_sandbox_file", `{"action":"write","path":"/x","content_base64":"!"}`, "no base64"},
		{"run_tests", `{"count":0}`, "count: "},
		{"run_tests", `{"count":"many"}`, "count: "},
		{"run_tests", `{"tags":[1]}`, "tags.0: "},
	} {
		t.Run(c.tool+c.args, func(t *testing.T) {
			e := newFake()
			got, isError := invoke(t, e, c.tool, c.args)
			text, _ := got["error"].(string)
			if !isError || !strings.Contains(text, c.want) {
				t.Errorf("got %v, want an error with %q", got, c.want)
			}
			if kind := got["kind"]; kind != "invalid" && kind != "notfound" {
				t.Errorf("got kind %v", kind)
			}
			if e.calls() != 0 || e.file.Action != "" {
				t.Error("the engine was called all the same")
			}
		})
	}
}

func TestNotes(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"command":"ls","time_out":5}`, `unknown parameter "time_out" was ignored: did you mean "timeout"?`},
		{`{"command":"ls","cmd":"x"}`, `did you mean "command"?`},
		{`{"command":"ls","workdir":"/"}`, `did you mean "cwd"?`},
		{`{"command":"ls","timeout_ms":5}`, `did you mean "timeout"?`},
		{`{"command":"ls","zzzzqq":5}`, `unknown parameter "zzzzqq" was ignored`},
		{`{"command":"ls","timeout":1e12}`, "lowered to ten years"},
		{`{"command":"ls","fields":{"stdot":true}}`, `fields has no "stdot"`},
	} {
		got, isError := invoke(t, newFake(), "execute_local", c.args)
		notes, _ := got["notes"].([]any)
		if isError || len(notes) != 1 || !strings.Contains(notes[0].(string), c.want) {
			t.Errorf("%s: got %v, want the note %q", c.args, got, c.want)
		}
	}
	got, _ := invoke(t, newFake(), "execute_local", `{"Command":"ls"}`)
	if hint, _ := got["hint"].(string); !strings.Contains(hint, `did you mean "command"?`) {
		t.Errorf("got %v, want a hint about the name", got)
	}
}

func TestSessionActions(t *testing.T) {
	e := newFake()
	invoke(t, e, "execute_local", `{"session_id":"s_1","action":"read"}`)
	invoke(t, e, "execute_local", `{"session_id":"s_1","action":"read","offset":0,"tail":3,"grep":"x","wait":0,"wait_for":"exit","limit":10}`)
	want := []job.Read{
		{Tool: "execute_local", Session: "s_1", Offset: job.Unread},
		{Tool: "execute_local", Session: "s_1", Offset: 0, Tail: 3, Grep: "x", Wait: now, WaitFor: "exit", View: job.View{Limit: 10}},
	}
	for i := range want {
		if e.reads[i] != want[i] {
			t.Errorf("read %d: got %+v, want %+v", i, e.reads[i], want[i])
		}
	}
	invoke(t, e, "execute_local", `{"session_id":"s_1","command":" y\n"}`)
	invoke(t, e, "execute_local", `{"session_id":"s_1","action":"send","keys":["ctrl-c"]}`)
	invoke(t, e, "execute_local", `{"session_id":"s_1","eof":true}`)
	if in := e.inputs; string(in[0].Data) != " y\n" || in[1].Keys[0] != "ctrl-c" || !in[2].EOF {
		t.Errorf("got %+v", in)
	}
	invoke(t, e, "execute_local", `{"session_id":"s_1","action":"kill"}`)
	if e.kills[0] != "execute_local s_1" {
		t.Errorf("got %q", e.kills)
	}
	invoke(t, e, "execute_sandbox", `{"session_id":"s_1","action":"run","command":"ls"}`)
	if r := e.requests[0]; r.Session != "s_1" || r.Command.Script != "ls" {
		t.Errorf("got %+v", r)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"command":"x"}`, ""},
		{`{"command":"x","target":"lab"}`, "lab"},
		{`{"command":"x","target":["lab","prod"]}`, "lab prod"},
		{`{"command":"x","target":"[\"lab\",\"prod\"]"}`, "lab prod"},
		{`{"command":"x","targets":["prod","lab","prod"]}`, "prod lab"},
		{`{"command":"x","targets":"lab"}`, "lab"},
		{`{"command":"x","target":"web"}`, "lab prod"},
		{`{"command":"x","targets":["prod","web"]}`, "prod lab"},
		{`{"targets":["prod"],"commands":["a"],"command":""}`, "prod"},
	} {
		e := newFake()
		if got, isError := invoke(t, e, "execute_remote", c.args); isError {
			t.Errorf("%s: got %v", c.args, got)
		}
		var got []string
		for _, r := range e.requests {
			got = append(got, r.Target)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got targets %q, want %q", c.args, got, c.want)
		}
	}
	e := newFake()
	invoke(t, e, "execute_remote", `{"session_id":"s","command":"y","target":"mars"}`)
	if len(e.inputs) != 1 {
		t.Error("a target beside session_id should be ignored")
	}
}

func TestCommandTool(t *testing.T) {
	e := newFake()
	if got, isError := invoke(t, e, "run_tests", `{"count":"3","race":"true","tags":"[\"a\"]"}`); isError {
		t.Fatalf("got %v", got)
	}
	a := e.requests[0].Args
	if a["package"] != "./..." || a["count"] != int64(3) || a["race"] != true || len(a["tags"].([]any)) != 1 {
		t.Errorf("got %#v", a)
	}
}
