package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// reply is what a tool call came to.
type reply struct {
	args
	isError bool
	size    int // of the whole line
	took    time.Duration
}

// decodeReply checks the outer form: one text, which is byte for byte the structured content.
func decodeReply(t testing.TB, m *envelope) reply {
	t.Helper()
	if m == nil || m.Error != nil {
		t.Fatalf("no result: %+v", m)
	}
	var result struct {
		Content    []struct{ Type, Text string } `json:"content"`
		Structured json.RawMessage               `json:"structuredContent"`
		IsError    bool                          `json:"isError"`
	}
	if err := json.Unmarshal(m.Result, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Content) != 1 || result.Content[0].Type != "text" || result.Content[0].Text != string(result.Structured) {
		t.Errorf("content and structuredContent differ: %s", m.Result)
	}
	r := reply{isError: result.IsError, size: m.size}
	if err := json.Unmarshal(result.Structured, &r.args); err != nil {
		t.Fatal(err)
	}
	if _, failed := r.args["error"]; failed != r.isError {
		t.Errorf("isError is %v of %s", r.isError, result.Structured)
	}
	return r
}

// has checks fields: name, value, name, value. A nil value means that the field is not there.
func (r reply) has(t testing.TB, pairs ...any) reply {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		name, want := pairs[i].(string), pairs[i+1]
		if n, ok := want.(int); ok {
			want = float64(n)
		}
		if got := r.args[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, not %#v, in %v", name, got, want, r)
		}
	}
	return r
}

// says checks that a text field or the list of notes contains every one of the parts.
func (r reply) says(t testing.TB, field string, parts ...string) reply {
	t.Helper()
	text := fmt.Sprint(r.args[field])
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not say %q: %v", field, part, r)
		}
	}
	return r
}

// fails checks that the call was refused with this kind, a hint, and words in the error.
func (r reply) fails(t testing.TB, kind string, words ...string) reply {
	t.Helper()
	if !r.isError || r.args["kind"] != kind {
		t.Errorf("got %v, want an error of kind %s", r, kind)
	}
	return r.says(t, "error", words...)
}

func (r reply) text(name string) string {
	s, _ := r.args[name].(string)
	return s
}

func (r reply) number(name string) int {
	n, _ := r.args[name].(float64)
	return int(n)
}

// results are the parts of a parallel call.
func (r reply) results(t testing.TB) []reply {
	t.Helper()
	list, ok := r.args["results"].([]any)
	if !ok {
		t.Fatalf("no results: %v", r)
	}
	parts := make([]reply, len(list))
	for i, part := range list {
		parts[i].args = part.(args)
	}
	return parts
}

// String keeps a failure readable.
func (r reply) String() string {
	text, _ := json.Marshal(r.args)
	if len(text) > 1500 {
		text = append(text[:1500:1500], "..."...)
	}
	return fmt.Sprintf("isError=%v %s", r.isError, text)
}
