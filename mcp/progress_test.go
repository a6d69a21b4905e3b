package mcp

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cmd-exec-mcp/runtime/job"
)

type progressNote struct {
	at     time.Duration
	Params struct {
		ProgressToken any
		Progress      int64
		Message       string
	}
}

// watch runs work with a sink and returns what was sent, with the time of each, in a bubble's own time.
func watch(t *testing.T, token string, work func(p *progress)) (notes []progressNote) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, w := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			d := json.NewDecoder(r)
			for {
				var n progressNote
				if d.Decode(&n) != nil {
					return
				}
				n.at = time.Since(start)
				notes = append(notes, n)
			}
		}()
		var raw []byte
		if token != "" {
			raw = []byte(token)
		}
		p := newProgress(&conn{out: newWriter(w)}, raw)
		work(p)
		p.close()
		w.Close()
		<-done
	})
	return notes
}

func event(p *progress, s string) { p.Event(job.Event{Data: []byte(s)}) }

func TestProgressRate(t *testing.T) {
	notes := watch(t, `"tok"`, func(p *progress) {
		for range 2000 {
			event(p, "line\n")
			time.Sleep(time.Millisecond)
		}
	})
	if n := len(notes); n < 7 || n > 8 {
		t.Errorf("got %d messages in 2 s, want 4 a second", n)
	}
	last := int64(0)
	for _, n := range notes {
		if n.Params.Progress <= last || n.Params.ProgressToken != "tok" || !strings.HasSuffix(n.Params.Message, "line") {
			t.Errorf("got %+v after %d", n, last)
		}
		last = n.Params.Progress
	}
}

func TestHeartbeat(t *testing.T) {
	notes := watch(t, "7", func(p *progress) {
		event(p, "working")
		time.Sleep(35 * time.Second)
	})
	if len(notes) != 4 {
		t.Fatalf("got %d messages in 35 s, want the output and three heartbeats", len(notes))
	}
	for i := 1; i < len(notes); i++ {
		if gap := notes[i].at - notes[i-1].at; gap < 10*time.Second || gap > 11*time.Second {
			t.Errorf("got a gap of %v", gap)
		}
		if notes[i].Params.Progress <= notes[i-1].Params.Progress || notes[i].Params.Message != "working" {
			t.Errorf("got %+v", notes[i])
		}
	}
}

func TestProgressSilence(t *testing.T) {
	if notes := watch(t, "", func(p *progress) { event(p, "x"); time.Sleep(time.Minute) }); len(notes) != 0 {
		t.Errorf("got %d messages without a token", len(notes))
	}
	if notes := watch(t, "1", func(p *progress) { event(p, "x"); time.Sleep(10 * time.Millisecond) }); len(notes) != 0 {
		t.Errorf("got %d messages of a fast command: they would arrive with its result", len(notes))
	}
	notes := watch(t, "1", func(p *progress) {
		p.Progress(job.Progress{Message: "pulling debian", Done: 1, Total: 4})
		time.Sleep(time.Second)
	})
	if len(notes) != 1 || notes[0].Params.Message != "pulling debian (25 %)" {
		t.Errorf("got %+v", notes)
	}
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("é", 900)
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a\nb\n", "a\nb"},
		{"10%\r20%\r30%", "30%"},
		{"a\r\nb\r\n", "a\nb"},
		{"x\n10%\r20%", "x\n20%"},
		{"\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "red link"},
		{"\x1b(Bplain\x07\x00", "Bplain"},
		{"cut \x1b[3", "cut "},
		{"\xbd\xa0ok\xe4\xbd", "ok"},
		{strings.Repeat("0123456789\n", 200), strings.TrimRight(strings.Repeat("0123456789\n", 90), "\n")},
		{long, strings.Repeat("é", 500)},
	} {
		if got := lastLines([]byte(c.in)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}
