package wasm

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/runtime/job"
)

// A healthy call of every hostile guest has input that does not begin with "!"; so the same hook shows both the failure
// and that the next call works.
const trigger = `(global $bad (mut i32) (i32.const 0))
(func $armed (result i32)
  (drop (call $get (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 16) (i32.const 64)))
  (i32.eq (i32.load8_u (i32.const 16)) (i32.const 33)))`

var hostile = []struct {
	name, class, fields, body string
}{
	{"trap", classTrap, "", `(unreachable)`},
	{"division by zero", classTrap, "", `(drop (i32.div_u (i32.const 1) (i32.const 0)))`},
	{"outside of memory", classTrap, "", `(drop (i32.load (i32.const -8)))`},
	{"endless loop", classTimeout, "", `(loop $l (br $l))`},
	{"endless nested loops", classTimeout, "", `(loop $l (loop $k (br $l)))`},
	{"endless loop by br_table", classTimeout, "", `(loop $l (br_table $l $l (i32.const 0)))`},
	{"exponential calls", classTimeout, `(func $e (param $n i32) (if (local.get $n) (then
		(call $e (i32.sub (local.get $n) (i32.const 1))) (call $e (i32.sub (local.get $n) (i32.const 1))))))`, `(call $e (i32.const 60))`},
	// A timeout or a trap, whichever limit it meets first.
	{"endless recursion", "t", `(func $r (param $n i32) (result i32)
		(i32.add (local.get $n) (call $r (i32.add (local.get $n) (i32.const 1)))))`, `(drop (call $r (i32.const 0)))`},
	{"fills memory for ever", classTimeout, "", `(loop $l (memory.fill (i32.const 0) (i32.const 7) (i32.const 131072)) (br $l))`},
	{"copies memory for ever", classTimeout, "", `(loop $l (memory.copy (i32.const 0) (i32.const 65536) (i32.const 65536)) (br $l))`},
	{"grows for ever", classTimeout, "", `(loop $l (drop (memory.grow (i32.const 1))) (br $l))`},
	{"fills a table for ever", classTimeout, `(table 100000 funcref)`, `(loop $l (table.fill 0 (i32.const 0) (ref.null func) (i32.const 100000)) (br $l))`},
	{"divides for ever", classTimeout, "", `(loop $l ` + strings.Repeat(`(drop (i32.div_u (i32.const 9) (i32.const 7)))`, 9000) + `(br $l))`},
	{"calls the host for ever", classTimeout, "", `(loop $l (drop (call $get (i32.const 17) (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 100))) (br $l))`},
	{"sets for ever", classTimeout, "", `(loop $l (drop (call $set (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 60000))) (br $l))`},
	{"logs for ever", classTimeout, "", `(loop $l (drop (call $log (i32.const 1) (i32.const 0) (i32.const 60000) (i32.const 0) (i32.const 9))) (br $l))`},
	{"bad pointer to set", classProtocol, "", `(drop (call $set (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 131070) (i32.const 60)))`},
	{"bad length to set", classProtocol, "", `(drop (call $set (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const -2)))`},
	{"bad key", classProtocol, "", `(drop (call $get (i32.const 4) (i32.const -1) (i32.const 2) (i32.const 0) (i32.const 0)))`},
	{"bad buffer", classProtocol, "", `(drop (call $get (i32.const 17) (i32.const 0) (i32.const 0) (i32.const 131068) (i32.const 6000)))`},
	{"bad log", classProtocol, "", `(drop (call $log (i32.const 1) (i32.const 131072) (i32.const 1) (i32.const 0) (i32.const 0)))`},
	{"unknown answer", classProtocol, "", `(return (i32.const 3))`},
	{"error", classError, "", `(return (i32.const -7))`},
	{"exit", classTrap, "", `(call $exit (i32.const 0))`},
	{"closed stdout", classTimeout, "", `(i32.store (i32.const 0) (i32.const 1024)) (i32.store (i32.const 4) (i32.const 60000))
		(loop $l (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8))) (br $l))`},
	{"bad iovec", classProtocol, "", `(i32.store (i32.const 0) (i32.const -1024)) (i32.store (i32.const 4) (i32.const 60000))
		(drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))`},
	{"random for ever", classTimeout, "", `(loop $l (drop (call $random (i32.const 1024) (i32.const 4096))) (br $l))`},
	{"sleeps for ever", classTimeout, "", `(loop $l (drop (call $poll (i32.const 1024) (i32.const 4096) (i32.const 3) (i32.const 0))) (br $l))`},
}

const wasiImports = `
(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
(import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
`

func hostileText(fields, body string) string {
	return "(module " + imports + wasiImports + `(memory (export "memory") 2) ` + trigger + fields +
		`(func (export "pre_exec") (result i32) (if (call $armed) (then ` + body + `)) (i32.const 0)))`
}

// within is far above what a contained call needs, and what the acceptance asks for.
const within = 20 * time.Second

func TestHostileGuests(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a guest that cannot be stopped would freeze the process here
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.GC()
			}
		}
	}()
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			h := hook(t, hostileText(tt.fields, tt.body))
			started := time.Now()
			_, _, err := begin(h, "!")
			took := time.Since(started)
			var e *job.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "failed: "+tt.class) {
				t.Fatalf("got %v after %s, want the class %s", err, took, tt.class)
			}
			if e.Kind != job.Unavailable || e.Hint == "" {
				t.Errorf("kind %s, hint %q", e.Kind, e.Hint)
			}
			if took > within {
				t.Errorf("it took %s", took)
			}
			t.Logf("%s", took)
			if n := h.Status().Instances; n != 0 {
				t.Errorf("%d instances live after the failure, want none", n)
			}
			if req, _, err := begin(h, "ls"); err != nil || req.Command.Script != "ls" {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestAllowGoesOn(t *testing.T) {
	c := config(t, hostileText("", `(unreachable)`))
	c.OnError = "allow"
	h := open(t, c)
	req, tap, err := begin(h, "!x")
	if err != nil || req.Command.Script != "!x" {
		t.Fatalf("got %q, %v", req.Command.Script, err)
	}
	exit, err := tap.End(context.Background(), job.Exit{})
	if err != nil || len(exit.Notes) != 1 || !strings.Contains(exit.Notes[0], "failed: trap") {
		t.Errorf("notes %q, %v", exit.Notes, err)
	}
}

func TestMemoryBomb(t *testing.T) {
	h := hook(t, hostileText("", `(loop $l (br_if $l (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) (drop (i32.load (i32.const 29491196))) (return (i32.const 1))`))
	_, _, err := begin(h, "!")
	if job.KindOf(err) != job.Denied {
		t.Fatalf("got %v: the guest gets -1 at its limit and decides for itself", err)
	}
	if n := h.Status().Instances; n != 0 {
		t.Errorf("%d instances: one that has grown to its limit is replaced", n)
	}
}

func TestTableBomb(t *testing.T) {
	h := hook(t, hostileText(`(table 1 funcref)`, `(if (i32.eq (table.grow 0 (ref.null func) (i32.const 1000000)) (i32.const -1)) (then (return (i32.const 1))))`))
	if _, _, err := begin(h, "!"); job.KindOf(err) != job.Denied {
		t.Fatalf("got %v, want that the table does not grow", err)
	}
}

func TestUnknownWasi(t *testing.T) {
	h := hook(t, hostileText("", `(return (i32.eq (i32.const 52) (call $open (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
		(i64.const 0) (i64.const 0) (i32.const 0) (i32.const 0))))`))
	if _, _, err := begin(h, "!"); job.KindOf(err) != job.Denied {
		t.Fatalf("got %v, want ENOSYS", err)
	}
}

// What runs before the first call: a start section, _initialize, hook_init.
func TestHostileStart(t *testing.T) {
	loop := `(loop $l (br $l))`
	for name, fields := range map[string]string{
		"start section":         `(func $s ` + loop + `) (start $s)`,
		"start section's trap":  `(func $s (unreachable)) (start $s)`,
		"start calls the host":  `(func $s (loop $l (drop (call $log (i32.const 0) (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 0))) (br $l))) (start $s)`,
		"_initialize":           `(func (export "_initialize") ` + loop + `)`,
		"hook_init":             `(func (export "hook_init") (result i32) ` + loop + ` (i32.const 7))`,
		"hook_init says no":     `(data (i32.const 0) "no mirror") (func (export "hook_init") (result i32) (drop (call $set (i32.const 14) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 9))) (i32.const -1))`,
		"hook_init's pointer":   `(func (export "hook_init") (result i32) (call $get (i32.const 16) (i32.const -5) (i32.const 50) (i32.const 0) (i32.const 0)))`,
		"data outside":          `(data (i32.const 131070) "long enough")`,
		"read in hook_init":     `(func (export "hook_init") (result i32) (call $read (i32.const 0) (i32.const 8)))`,
		"commands in hook_init": `(func (export "hook_init") (result i32) (call $get (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))`,
	} {
		t.Run(name, func(t *testing.T) {
			h := hook(t, text(fields+`(func (export "pre_exec") (result i32) (i32.const 0))`))
			if err := h.Ready(context.Background()); err == nil {
				t.Fatal("it loaded")
			} else if name == "hook_init says no" && !strings.Contains(err.Error(), "no mirror") {
				t.Errorf("got %v, want the reason", err)
			}
			if _, _, err := begin(h, "ls"); job.KindOf(err) != job.Unavailable {
				t.Errorf("got %v, want that commands are refused", err)
			}
			if s := h.Status(); s.State != "failed" || s.Err == "" {
				t.Errorf("status %+v", s)
			}
		})
	}
	t.Run("_start is not called", func(t *testing.T) {
		h := hook(t, text(`(func (export "_start") (unreachable)) (func (export "pre_exec") (result i32) (i32.const 0))`))
		if _, _, err := begin(h, "ls"); err != nil {
			t.Error(err)
		}
	})
	t.Run("allow", func(t *testing.T) {
		c := config(t, text(`(func $s (unreachable)) (start $s) (func (export "pre_exec") (result i32) (i32.const 1))`))
		c.OnError = "allow"
		if _, tap, err := begin(open(t, c), "ls"); err != nil || tap != nil {
			t.Errorf("got %v, %v: a hook that cannot load is skipped", tap, err)
		}
	})
}

// A trapped instance would answer happily, with whatever state the trap left: it must not be met again.
func TestPoisonedInstance(t *testing.T) {
	h := hook(t, "(module "+imports+`(memory (export "memory") 2) `+trigger+`
		(global $poison (mut i32) (i32.const 0))
		(func (export "pre_exec") (result i32)
		  (if (global.get $poison) (then (return (i32.const 1))))
		  (if (call $armed) (then (global.set $poison (i32.const 1)) (unreachable)))
		  (i32.const 0)))`)
	for range 3 {
		if _, _, err := begin(h, "!"); err == nil || job.KindOf(err) == job.Denied {
			t.Fatalf("got %v, want a trap", err)
		}
		if _, _, err := begin(h, "ls"); err != nil {
			t.Fatalf("a poisoned instance answered: %v", err)
		}
	}
}

// Filters that lie about lengths, write too much or fail in the middle.
func TestHostileFilters(t *testing.T) {
	read := `(local.set $n (call $read (i32.const 1024) (i32.const 65536)))`
	for name, tt := range map[string]struct{ body, class string }{
		"keeps more than there is": {read + `(return (i32.const 100))`, classProtocol},
		"keeps at the end":         {read + `(return (i32.const 1))`, classProtocol},
		"negative":                 {`(return (i32.const -1))`, classError},
		"writes from outside":      {`(drop (call $write (i32.const 131071) (i32.const 2)))`, classProtocol},
		"writes four gigabytes":    {`(drop (call $write (i32.const 0) (i32.const -1)))`, classProtocol},
		"reads to outside":         {`(drop (call $read (i32.const 131071) (i32.const 20)))`, classProtocol},
		"floods":                   {`(loop $l (br_if $l (i32.eqz (call $write (i32.const 0) (i32.const 60000)))))`, classProtocol},
		"sets a command":           {`(return (call $set (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1)))`, classError},
	} {
		t.Run(name, func(t *testing.T) {
			h := hook(t, text(`(func (export "filter") (param $s i32) (param $f i32) (result i32) (local $n i32) `+tt.body+` (i32.const 0))`))
			_, tap, err := begin(h, "ls")
			if err != nil {
				t.Fatal(err)
			}
			out, err := tap.Output(context.Background(), job.Stdout, []byte("secret"), hooks.Final)
			if err == nil || !strings.Contains(err.Error(), "failed: "+tt.class) {
				t.Fatalf("got %v, want %s", err, tt.class)
			}
			if string(out) != "secret" {
				t.Errorf("not shown yet: got %q, want all of the input", out)
			}
		})
	}
}

func TestFilterMayWriteAnyBytes(t *testing.T) {
	h := hook(t, text(`(data (i32.const 0) "\ff\fe\00\80") (func (export "filter") (param $s i32) (param $f i32) (result i32)
		(drop (call $write (i32.const 0) (i32.const 4))) (i32.const 0))`))
	_, tap, err := begin(h, "ls")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := filtered(t, tap, "x"); got != "\xff\xfe\x00\x80" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// After five failures in a minute the hook rests, and its policy applies without running it.
func TestBreaker(t *testing.T) {
	h := hook(t, hostileText("", `(unreachable)`))
	for range maxFaults {
		if _, _, err := begin(h, "!"); err == nil {
			t.Fatal("no error")
		}
	}
	if _, _, err := begin(h, "ls"); job.KindOf(err) != job.Unavailable {
		t.Fatalf("got %v, want that it is refused unseen", err)
	}
	if s := h.Status(); s.State != "broken" {
		t.Errorf("status %+v", s)
	}
	h.mu.Lock()
	h.broken = time.Now().Add(-time.Second)
	h.mu.Unlock()
	if _, _, err := begin(h, "ls"); err != nil {
		t.Errorf("after the rest: %v", err)
	}
}
