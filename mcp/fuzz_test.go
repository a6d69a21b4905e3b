package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

// FuzzTransport feeds whole inputs. The server must end, write only JSON-RPC, one message per line, and answer each request
// that has a proper id and was not cancelled.
func FuzzTransport(f *testing.F) {
	for _, lines := range [][]string{
		{initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`},
		{callLine("1", `{"command":"ls","timeout":"30","env":{"A":1}}`), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
		{callLine(`"a"`, `{"action":"list"}`), callLine("2", `{"session_id":"s","keys":["ctrl-c"]}`), callLine("2.0", `{"commands":["a","b"]}`)},
		{`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"session://s_1/output?offset=3"}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"execute_sandbox_file","arguments":{"action":"write","path":"/x","content":""}}}`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run_tests","arguments":"{\"count\":\"3\",\"tags\":[\"x\"]}"}}`},
		{`[1]`, `{`, `null`, "", "\xff", `{"id":"x","result":{}}`, `{"jsonrpc":"2.0","id":6,"method":"ping"}`},
	} {
		f.Add([]byte(strings.Join(lines, "\n")))
	}
	s := New(newFake(), Options{})
	f.Fuzz(func(t *testing.T, input []byte) {
		var out safeBuffer
		if err := s.Serve(context.Background(), bytes.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		answered := map[string]bool{}
		for line := range strings.Lines(out.String()) {
			var m struct {
				JSONRPC string
				ID      json.RawMessage
				Method  string
				Result  json.RawMessage
				Error   *struct{ Code int }
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" || !strings.HasSuffix(line, "}\n") {
				t.Fatalf("not a message: %q", line)
			}
			if m.Method == "" && (m.Result == nil) == (m.Error == nil) {
				t.Errorf("neither result nor error: %q", line)
			}
			answered[string(m.ID)] = true
		}
		if bytes.Contains(input, []byte("cancelled")) || bytes.Contains(input, []byte(`\u`)) {
			return // whether these are answered depends on what was cancelled
		}
		for line := range bytes.SplitSeq(input, []byte("\n")) {
			var m map[string]json.RawMessage // a struct would take "iD" for the id
			if len(line) > 1<<16 || json.Unmarshal(line, &m) != nil || string(m["jsonrpc"]) != `"2.0"` || len(m["method"]) < 3 || len(m["id"]) == 0 {
				continue
			}
			if c := m["id"][0]; (c == '"' || c >= '0' && c <= '9') && !answered[string(m["id"])] && !answered["null"] {
				t.Errorf("no answer to %q", line)
			}
		}
	})
}

// FuzzArguments: whatever comes as arguments, the answer is one JSON object and the engine gets only what was checked.
func FuzzArguments(f *testing.F) {
	f.Add("execute_local", []byte(`{"command":"ls","timeout":"30","env":{"A":1},"fields":{"stdout":true}}`))
	f.Add("execute_remote", []byte(`{"command":"ls","targets":["prod"],"wait":0}`))
	f.Add("run_tests", []byte(`{"count":3,"tags":["a"],"race":"true"}`))
	f.Add("execute_sandbox_file", []byte(`{"action":"write","path":"/x","content_base64":"AAE="}`))
	s := New(newFake(), Options{})
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		tool := s.tool(name)
		if tool == nil || !json.Valid(raw) {
			return
		}
		out := &reply{}
		isError := s.call(t.Context(), tool, bytes.TrimSpace(raw), caller{sink: job.Discard}, out)
		m := decode(t, out.buf)
		if isError && m["kind"] == "internal" {
			t.Errorf("%s: %s", raw, out.buf)
		}
	})
}
