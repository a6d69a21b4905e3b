package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestJ3: the strictest client can read the list of tools.
func TestJ3(t *testing.T) {
	t.Parallel()
	w := start(t, star{tool: `params={"timeout": {"default": 60}}`})
	var list struct {
		Tools []struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			InputSchema args           `json:"inputSchema"`
			Annotations map[string]any `json:"annotations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(w.request(t, "tools/list", args{}).Result, &list); err != nil || len(list.Tools) != 1 {
		t.Fatalf("%v %v", err, list)
	}
	tool := list.Tools[0]
	if tool.Description == "" || len(tool.Description) > 2048 {
		t.Errorf("the description has %d bytes", len(tool.Description))
	}
	for _, name := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		if _, ok := tool.Annotations[name].(bool); !ok {
			t.Errorf("%s is not said: %v", name, tool.Annotations)
		}
	}
	if tool.InputSchema["type"] != "object" || tool.InputSchema["required"] != nil {
		t.Errorf("got %v", tool.InputSchema)
	}
	properties := tool.InputSchema["properties"].(args)
	for name, p := range properties {
		property := p.(args)
		kind, _ := property["type"].(string)
		items, _ := property["items"].(args)
		fallback, hasDefault := property["default"]
		if !strings.Contains("string number integer boolean object array", kind) || kind == "" || kind == "array" != (items != nil) || hasDefault && fallback == nil {
			t.Errorf("%s: %v", name, property)
		}
		if property["description"] == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || len(name) > 48 {
			t.Errorf("%s: %v", name, property)
		}
		for _, word := range []string{"anyOf", "oneOf", "allOf", "$ref"} {
			if property[word] != nil {
				t.Errorf("%s has %s", name, word)
			}
		}
	}
	if properties["timeout"].(args)["default"] != 60.0 {
		t.Errorf("the owner's change is not there: %v", properties["timeout"])
	}
}

// TestJ6: slow calls hold up nothing, and beyond the limit there is a clear word.
func TestJ6(t *testing.T) {
	w := start(t, star{server: "max_concurrent=3"})
	for range 2 {
		id, _ := w.expect()
		w.send(t, requestLine(id, "tools/call", callParams(w.arguments("echo x >> busy; sleep 100"))))
	}
	w.soon(t, "busy")
	began := time.Now()
	w.request(t, "ping", args{})
	w.run(t, "echo hi").has(t, "stdout", "hi\n")
	if took := time.Since(began); took > atOnce {
		t.Errorf("it took %v", took)
	}
	id, _ := w.expect()
	w.send(t, requestLine(id, "tools/call", callParams(w.arguments("echo > full; sleep 100"))))
	w.soon(t, "full")
	r := w.run(t, "touch ran")
	r.fails(t, "busy", "3 commands are running").says(t, "hint", "max_concurrent")
	w.send(t, cancelLine(id))
	w.run(t, "cat ran").has(t, "exit_code", 1)
}

// TestJ8: a cancel that comes late, twice or for nobody harms nobody.
func TestJ8(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "true")
	w.send(t, cancelLine("1"), cancelLine("1"), cancelLine(`"x"`), cancelLine("null"), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
	for range 20 {
		id, answer := w.expect()
		w.send(t, requestLine(id, "tools/call", callParams(w.arguments("true"))))
		time.Sleep(time.Duration(len(id)) * 3 * time.Millisecond) // about when the answer comes
		w.send(t, cancelLine(id))
		select {
		case m := <-answer:
			decodeReply(t, m).has(t, "exit_code", 0)
		default:
		}
	}
	w.run(t, "echo on").has(t, "stdout", "on\n")
}

// TestJ9: nobody asked for log messages.
func TestJ9(t *testing.T) {
	t.Parallel()
	w := start(t, star{server: `log_level="debug"`})
	w.run(t, "echo x; exit 3")
	w.run(t, "sleep 20", args{"timeout": 0.3})
	w.act(t, "s_none", "read")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.notified {
		t.Errorf("got %s %v", n.Method, n.Params)
	}
}

// TestJ11: what is given twice is refused: policy and executor never read it differently.
func TestJ11(t *testing.T) {
	t.Parallel()
	w := start(t, local.restricted())
	for _, pair := range [][2]string{
		{`"command":"echo safe"`, `"command":"touch ran"`},
		{`"command":"echo safe"`, `"COMMAND":"touch ran"`},
		{`"command":"echo safe"`, `"\u0063ommand":"touch ran"`},
		{`"Command":"touch ran"`, `"command":"echo safe"`},
	} {
		arguments := json.RawMessage(fmt.Sprintf(`{"cwd":%q,%s,%s}`, w.dir, pair[0], pair[1]))
		w.callWith(t, callParams(arguments)).fails(t, "invalid")
	}
	w.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"execute_local","arguments":{"command":"echo","cwd":"/"},"arguments":{"command":"touch ran","cwd":%q}}}`, w.dir))
	if got := w.strays(t, 1); got[0].Error == nil || got[0].Error.Code != -32602 {
		t.Errorf("got %+v", got[0])
	}
	w.run(t, "ls").has(t, "stdout", "")
}

// TestJ13: two clients have two servers that do not meet, with the same config and the same data folder.
func TestJ13(t *testing.T) {
	t.Parallel()
	shared := star{server: fmt.Sprintf("data=%q", t.TempDir())}
	servers := []*wire{start(t, shared), start(t, shared), start(t, shared)}
	var group sync.WaitGroup
	for i, w := range servers {
		group.Go(func() {
			for range 10 {
				w.run(t, fmt.Sprint("echo ", i)).has(t, "stdout", fmt.Sprintln(i))
			}
		})
	}
	group.Wait()
}

// TestUnknownParameters: a slip of the pen is said, and the call goes on.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "echo hi", args{"timeot": 5, "zzz": 1}).has(t, "stdout", "hi\n").says(t, "notes", `"timeot" was ignored`, `did you mean "timeout"`, `"zzz" was ignored`)
	w.run(t, "echo hi", args{"stdin": nil, "env": "", "timeout": "", "detach": nil, "wait_for": ""}).has(t, "stdout", "hi\n", "notes", nil)
	w.callWith(t, args{"name": "execute_local", "arguments": fmt.Sprintf(`{"command":"echo text","cwd":%q}`, w.dir)}).has(t, "stdout", "text\n")
}
