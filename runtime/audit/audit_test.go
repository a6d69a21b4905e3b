package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

type file struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	fail error
}

func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	return f.buf.Write(p)
}

func (f *file) Close() error { return nil }

func TestLinesCannotBeForged(t *testing.T) {
	f := &file{}
	log := New(f, true)
	text := "echo a\n{\"id\":\"forged\",\"decision\":\"allow\"}\r\n\u2028\x1b[2K"
	if err := log.Before(Record{ID: "a_1", Text: text, Decision: "deny"}, text); err != nil {
		t.Fatal(err)
	}
	log.After(End{ID: "a_1"})
	lines := strings.Split(strings.TrimSuffix(f.buf.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2: %q", len(lines), lines)
	}
	var got Record
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil || got.Text != text || got.Decision != "deny" {
		t.Errorf("read back %+v, %v", got, err)
	}
	if strings.ContainsAny(lines[0], "\x1b\r\u2028") {
		t.Errorf("raw control characters in %q", lines[0])
	}
}

func TestHashIsOfTheWholeText(t *testing.T) {
	f := &file{}
	long := strings.Repeat("x", 3*maxText)
	if err := New(f, true).Before(Record{Text: long}, long); err != nil {
		t.Fatal(err)
	}
	var got Record
	if err := json.Unmarshal(f.buf.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Text) != maxText || len(got.Hash) != 64 {
		t.Errorf("text %d bytes, hash %q", len(got.Text), got.Hash)
	}
	f.buf.Reset()
	if err := New(f, true).Before(Record{Text: long}, long+"y"); err != nil {
		t.Fatal(err)
	}
	var other Record
	if err := json.Unmarshal(f.buf.Bytes(), &other); err != nil || other.Hash == got.Hash {
		t.Errorf("a longer text has the same hash %q, %v", other.Hash, err)
	}
}

func TestFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	if err := New(&file{fail: full}, true).Before(Record{}, ""); job.KindOf(err) != job.Unavailable || !errors.Is(err, full) {
		t.Errorf("required: %v, want unavailable", err)
	}
	if err := New(&file{fail: full}, false).Before(Record{}, ""); err != nil {
		t.Errorf("not required: %v, want nil", err)
	}
}

func TestNoLog(t *testing.T) {
	var log *Log
	if err := log.Before(Record{}, ""); err != nil {
		t.Error(err)
	}
	log.After(End{})
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestConcurrentLinesStayWhole(t *testing.T) {
	f := &file{}
	log := New(f, true)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { log.Before(Record{ID: "a", Text: strings.Repeat("t", 500)}, "") })
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(f.buf.String(), "\n"), "\n")
	if len(lines) != 50 {
		t.Fatalf("%d lines, want 50", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Fatalf("torn line %q", line)
		}
	}
}
