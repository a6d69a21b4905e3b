//go:build unix

package local

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// Commands that end, that are killed at any moment and that leave something in the background, side by side: nobody is
// killed in another's place and nothing is lost.
func TestManySideBySide(t *testing.T) {
	b := closed(t, open(t))
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for round := range 12 {
				switch (worker + round) % 4 {
				case 0, 1:
					if a, err := do(t, b, job.Command{Script: "echo a; echo b >&2; exit 5"}); err != nil || a.out != "a\n" || a.err != "b\n" || a.exit.Code != 5 {
						t.Errorf("%+v %v", a, err)
					}
				case 2:
					if a, err := do(t, b, job.Command{Script: "sleep 0.3 & echo a"}); err != nil || a.out != "a\n" || a.exit.Code != 0 {
						t.Errorf("%+v %v", a, err)
					}
				case 3:
					p, err := b.Start(t.Context(), job.Command{Script: "setsid sleep 300 & sleep 300", Shell: "sh", Dir: "/"}, backends.IO{Stdout: io.Discard, Stderr: io.Discard})
					if err != nil {
						t.Error(err)
						continue
					}
					time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
					if err := p.Kill(t.Context()); err != nil {
						t.Error(err)
					}
					if exit, err := p.Wait(); err != nil || exit.Signal != "KILL" || exit.Cause != job.Killed {
						t.Errorf("%+v %v", exit, err)
					}
				}
			}
		})
	}
	all.Wait()
}

// A tree that grows while it is killed ends all the same.
func TestKillOfAGrowingTree(t *testing.T) {
	b := closed(t, open(t))
	var out sink
	p, err := b.Start(t.Context(), job.Command{Script: `echo ready; while :; do (setsid sleep 300 >/dev/null 2>&1 &); sleep 0.01; done & while :; do (setsid sleep 300 &); sleep 0.01; done`, Shell: "sh", Dir: "/"}, backends.IO{Stdout: &out, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "ready") && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if exit, err := p.Wait(); err != nil || len(exit.Survivors) > 0 {
		t.Errorf("%+v %v", exit, err)
	}
	if left := p.(*process).tree.pids(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Starts race with Close: each is either refused or ended.
func TestStartsWhileClosing(t *testing.T) {
	for range 5 {
		b := open(t)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					p, err := b.Start(t.Context(), job.Command{Script: "sleep 300", Shell: "sh", Dir: "/"}, backends.IO{Stdout: io.Discard, Stderr: io.Discard})
					if err != nil {
						if job.KindOf(err) != job.Unavailable {
							t.Error(err)
						}
						return
					}
					all.Go(func() {
						if exit, err := p.Wait(); err != nil || exit.Signal != "KILL" {
							t.Errorf("%+v %v", exit, err)
						}
					})
					time.Sleep(time.Millisecond)
				}
			})
		}
		time.Sleep(10 * time.Millisecond)
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
}
