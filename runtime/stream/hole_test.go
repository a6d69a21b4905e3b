package stream

import (
	"bytes"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

// A short stream that was printed after the other one's hole was shown as left out although it was kept.
func TestShortStreamBehindAHoleIsShown(t *testing.T) {
	l := NewLog(Limits{Bytes: 1 << 20}, nil)
	defer l.Close()
	line := bytes.Repeat([]byte("x"), 1000)
	for range 5000 {
		l.Append(job.Stderr, line)
	}
	l.Append(job.Stdout, []byte("out\n"))
	l.Finish()
	if got := string(Show(l, Style{Limit: 16000, Session: "s_1"}).Stdout.Data); got != "out\n" {
		t.Errorf("stdout is %q", got)
	}
}
