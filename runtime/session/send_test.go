package session

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// TestWaitingIsACall lets one read wait longer than a session lives without calls.
func TestWaitingIsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		spec := detached()
		spec.Request.Alive = 10 * time.Second
		j, p := startScripted(t, table, spec)
		time.AfterFunc(time.Minute, func() { p.print("built\n") })
		r, err := j.Read(context.Background(), job.Read{Offset: job.Unread, Wait: time.Hour, WaitFor: "built"})
		if err != nil || r.Exit != nil || string(r.Stdout.Data) != "built\n" {
			t.Fatalf("read = %+v, %v; the session was to live while it was waited for", r, err)
		}
		time.Sleep(11 * time.Second)
		if !j.over() {
			t.Error("still runs 11 s after the last call")
		}
	})
}

// TestSendWaitsForTheAnswer has an old prompt unread: it is not the answer to what is sent now.
func TestSendWaitsForTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, pattern := range []string{">>> $", ""} {
			table := NewTable(testLimits, nil)
			j, p := startScripted(t, table, detached())
			p.print(">>> ")
			time.AfterFunc(500*time.Millisecond, func() { p.print("42\n>>> ") })
			r, err := j.Send(context.Background(), job.Input{
				Read: job.Read{Offset: job.Unread, Wait: time.Minute, WaitFor: pattern}, Data: []byte("6*7\n"),
			})
			if want := ">>> 42\n>>> "; err != nil || string(r.Stdout.Data) != want {
				t.Errorf("wait_for %q: got %q, %v; want %q", pattern, r.Stdout.Data, err, want)
			}
			p.end(job.Exit{})
		}
	})
}

// holder keeps everything back, like the first line of a statement of two.
type holder struct{}

func (holder) Type(context.Context, []byte) ([]byte, bool, error) { return nil, true, nil }
func (holder) EOF(context.Context) ([]byte, error)                { return nil, nil }
func (holder) Clear()                                             {}

func TestHeldInputIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := detached()
		spec.Typist = holder{}
		j, p := startScripted(t, NewTable(testLimits, nil), spec)
		began := time.Now()
		r, err := j.Send(context.Background(), job.Input{Read: job.Read{Offset: job.Unread, Wait: time.Minute, WaitFor: `\$ $`}, Data: []byte("echo '")})
		if took := time.Since(began); err != nil || !r.Held || took >= time.Minute {
			t.Errorf("held %v after %s, %v; want at once", r.Held, took, err)
		}
		p.end(job.Exit{})
	})
}

// TestInterruptThatEnds: nothing was left of an interrupt that the program has not taken.
func TestInterruptThatEnds(t *testing.T) {
	for range 50 {
		j, _ := startScripted(t, NewTable(testLimits, nil), detached())
		r, err := j.Send(context.Background(), job.Input{Read: job.Read{Offset: job.Unread}, Keys: []string{"ctrl-c"}})
		if err != nil || slices.Contains(r.Notes, "the process ended before it had taken all of the input") {
			t.Fatalf("notes %q, %v", r.Notes, err)
		}
	}
}
