package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

func kind(err error) string {
	if err == nil {
		return ""
	}
	return job.KindOf(err).String()
}

func TestAttachedResult(t *testing.T) {
	table := NewTable(testLimits, nil)
	j, p := startScripted(t, table, Spec{})
	p.print("hello\n")
	p.end(job.Exit{Code: 3})
	if why := j.Attach(context.Background(), Waiter{}, time.Minute); why != Over {
		t.Fatalf("why = %d, want Over", why)
	}
	r, err := j.Result()
	if err != nil || string(r.Stdout.Data) != "hello\n" || r.Exit == nil || r.Exit.Code != 3 || r.Session != "" {
		t.Errorf("result = %+v, %v", r, err)
	}
	if _, err := table.Get("execute_test", j.ID()); kind(err) != "notfound" {
		t.Errorf("a finished one-shot is still there: %v", err)
	}
}

func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		j, p := startScripted(t, table, Spec{Timeout: 30 * time.Second, Assumed: true})
		p.print("a")
		if why := j.Attach(context.Background(), Waiter{}, 10*time.Second); why != Elapsed {
			t.Fatalf("why = %d, want Elapsed", why)
		}
		r, err := j.Result()
		if err != nil || r.Exit != nil || r.Session != j.ID() || string(r.Stdout.Data) != "a" {
			t.Fatalf("result = %+v, %v", r, err)
		}
		time.Sleep(time.Minute) // the default timeout was dropped
		p.print("b")
		r, err = j.Read(context.Background(), job.Read{Offset: job.Unread})
		if err != nil || r.Exit != nil || string(r.Stdout.Data) != "b" {
			t.Errorf("read = %+v, %v", r, err)
		}
		p.end(job.Exit{Code: 7})
		synctest.Wait()
		r, err = j.Read(context.Background(), job.Read{Offset: job.Unread})
		if err != nil || r.Exit == nil || r.Exit.Code != 7 {
			t.Errorf("after the end = %+v, %v", r, err)
		}
	})
}

func TestExplicitTimeoutSurvivesHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		j, p := startScripted(t, table, Spec{Timeout: 30 * time.Second})
		p.print("partial")
		j.Attach(context.Background(), Waiter{}, 10*time.Second)
		time.Sleep(time.Minute)
		r, _ := j.Read(context.Background(), job.Read{Offset: 0})
		if r.Exit == nil || r.Exit.Cause != job.TimedOut || r.Exit.Code != -1 || string(r.Stdout.Data) != "partial" {
			t.Errorf("result = %+v", r)
		}
	})
}

func TestLadderEndsInLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		j, p := startScripted(t, table, Spec{Timeout: time.Second})
		p.deaf.Store(true)
		p.print("before")
		began := time.Now()
		if why := j.Attach(context.Background(), Waiter{}, -1); why != Over {
			t.Fatalf("why = %d, want Over", why)
		}
		r, err := j.Result()
		if kind(err) != "lost" || string(r.Stdout.Data) != "before" {
			t.Errorf("result = %+v, %v", r, err)
		}
		if got, most := time.Since(began), time.Second+afterInterrupt+afterTerminate+afterKill; got > most {
			t.Errorf("took %s, at most %s", got, most)
		}
		if got := []job.Signal{<-p.signals, <-p.signals}; got[0] != job.Interrupt || got[1] != job.Terminate {
			t.Errorf("signals = %v", got)
		}
		p.print("after") // what a lost process still prints is dropped
		if r, _ := j.Result(); string(r.Stdout.Data) == "beforeafter" {
			t.Error("output of a lost process was kept")
		}
		p.end(job.Exit{})
	})
}

func TestSlotsAndFullTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		a, pa := startScripted(t, table, detached())
		_, pb := startScripted(t, table, detached())
		if _, err := table.Start(context.Background(), detached(), job.Discard); kind(err) != "busy" {
			t.Errorf("third session: %v, want busy", err)
		}
		c, pc := startScripted(t, table, Spec{})
		go func() {
			time.Sleep(time.Minute)
			pc.end(job.Exit{})
		}()
		if why := c.Attach(context.Background(), Waiter{}, time.Second); why != Over {
			t.Errorf("with a full table the call ended with %d, want Over", why)
		}
		d, pd := startScripted(t, table, Spec{})
		_, pe := startScripted(t, table, Spec{})
		if _, err := table.Start(context.Background(), Spec{}, job.Discard); kind(err) != "busy" {
			t.Errorf("third attached job: %v, want busy", err)
		}
		_ = d
		for _, p := range []*scripted{pa, pb, pd, pe} {
			p.end(job.Exit{})
		}
		synctest.Wait()
		if _, err := table.Get("other", a.ID()); kind(err) != "notfound" {
			t.Errorf("another tool's session: %v", err)
		}
	})
}

func TestCanceledCallIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		j, p := startScripted(t, table, Spec{})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		if why := j.Attach(ctx, Waiter{}, -1); why != Gone {
			t.Fatalf("why = %d, want Gone", why)
		}
		select {
		case <-p.ended:
		default:
			t.Error("the process still runs")
		}
		if n := table.Running(); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

func TestSessionEndsWhenNobodyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		spec := detached()
		spec.Request.Alive = 10 * time.Second
		j, p := startScripted(t, table, spec)
		for range 3 {
			time.Sleep(9 * time.Second)
			p.print("output does not count, a call does")
			if _, err := j.Read(context.Background(), job.Read{Offset: job.Unread}); err != nil {
				t.Fatal(err)
			}
		}
		if j.over() {
			t.Fatal("ended although it was read")
		}
		time.Sleep(11 * time.Second)
		if !j.over() {
			t.Error("still runs 11 s after the last call")
		}
	})
}

func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(testLimits, nil)
		j, p := startScripted(t, table, detached())
		go func() {
			for _, text := range []string{"starting\nliste", "ning on 80", "80\n"} {
				time.Sleep(time.Second)
				p.print(text)
			}
		}()
		began := time.Now()
		r, err := j.Read(context.Background(), job.Read{Offset: job.Unread, Wait: time.Minute, WaitFor: `listening on \d+\n`})
		if err != nil || time.Since(began) != 3*time.Second || !strings.HasSuffix(string(r.Stdout.Data), "8080\n") {
			t.Errorf("read = %q after %s, %v", r.Stdout.Data, time.Since(began), err)
		}
		if _, err := j.Read(context.Background(), job.Read{Wait: time.Second, WaitFor: "("}); kind(err) != "invalid" {
			t.Errorf("a bad pattern: %v", err)
		}
		p.end(job.Exit{})
	})
}

// TestSendReadKillTogether is case E11: no deadlock, and each send in one piece.
func TestSendReadKillTogether(t *testing.T) {
	table := NewTable(testLimits, nil)
	j, p := startScripted(t, table, detached())
	ctx := context.Background()
	var wg sync.WaitGroup
	sent := make(chan string, 50)
	for i := range 50 {
		wg.Go(func() {
			text := fmt.Sprintf("<%d%s>", i, strings.Repeat("x", i*40))
			if _, err := j.Send(ctx, job.Input{Read: job.Read{Offset: job.Unread, Wait: time.Millisecond}, Data: []byte(text)}); err == nil {
				sent <- text
			}
		})
		wg.Go(func() { j.Read(ctx, job.Read{Offset: job.Unread}) })
	}
	wg.Go(func() { j.Kill(ctx) })
	wg.Wait()
	close(sent)
	for text := range sent {
		if !strings.Contains(p.in.String(), text) {
			t.Errorf("a send was torn apart: %.20s", text)
		}
	}
	if !j.over() {
		t.Error("the kill was lost")
	}
	if _, err := j.Send(ctx, job.Input{Data: []byte("x")}); kind(err) != "invalid" {
		t.Errorf("send after the end: %v, want invalid", err)
	}
}

func TestEndedSessionsAreForgottenByCount(t *testing.T) {
	table := NewTable(testLimits, nil)
	var ids []string
	for range 4 {
		j, p := startScripted(t, table, detached())
		p.end(job.Exit{})
		<-j.done
		ids = append(ids, j.ID())
	}
	for i, id := range ids {
		_, err := table.Get("execute_test", id)
		if gone := err != nil; gone != (i < 2) {
			t.Errorf("session %d: %v", i, err)
		}
	}
	table.Close(context.Background())
	if n := len(table.jobs); n != 0 {
		t.Errorf("%d jobs are left after Close", n)
	}
}

type tapFunc struct {
	output func(p []byte, f hooks.Flags) ([]byte, error)
}

func (t tapFunc) Output(_ context.Context, _ job.Stream, p []byte, f hooks.Flags) ([]byte, error) {
	return t.output(p, f)
}

func (t tapFunc) End(_ context.Context, exit job.Exit) (job.Exit, error) {
	exit.Notes = append(exit.Notes, "seen")
	return exit, nil
}

func TestBrokenTap(t *testing.T) {
	for _, allow := range []bool{false, true} {
		broken := tapFunc{func(p []byte, f hooks.Flags) ([]byte, error) { return p, errors.New("boom") }}
		table := NewTable(testLimits, nil)
		j, p := startScripted(t, table, Spec{Taps: []Tap{{Name: "bad", Allow: allow, Tap: broken}}})
		p.print("one")
		p.print("two")
		p.end(job.Exit{Code: 4})
		j.Attach(context.Background(), Waiter{}, -1)
		r, err := j.Result()
		if err != nil || r.Exit.Code != 4 {
			t.Fatalf("allow=%v: %+v, %v", allow, r, err)
		}
		got := string(r.Stdout.Data)
		if allow && got != "onetwo" || !allow && (strings.Contains(got, "one") || !strings.Contains(got, "withheld: hook bad: error")) {
			t.Errorf("allow=%v: output %q", allow, got)
		}
		if notes := strings.Join(r.Notes, ";"); !strings.Contains(notes, "bad failed: error") || !strings.Contains(notes, "seen") {
			t.Errorf("allow=%v: notes %q", allow, notes)
		}
	}
}
