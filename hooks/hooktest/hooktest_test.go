package hooktest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/hooks/wasm"
	"cmd-exec-mcp/hooks/wasm/wat"
	"cmd-exec-mcp/runtime/job"
)

func write(t *testing.T, module []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The reference guests pass their suites, with the counter and without, however the text is cut.
func TestReferenceGuests(t *testing.T) {
	for _, role := range Roles() {
		t.Run(role, func(t *testing.T) {
			module, err := Guest(role)
			if err != nil {
				t.Fatal(err)
			}
			cases, err := Suite(role)
			if err != nil {
				t.Fatal(err)
			}
			results, err := Run(context.Background(), write(t, module), cases, Options{Budget: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(results) != len(cases) {
				t.Fatalf("%d results for %d cases", len(results), len(cases))
			}
			for _, r := range results {
				if r.Failure != "" {
					t.Errorf("%s: %s", r.Name, r.Failure)
				}
				if r.Budget == 0 || r.Memory == 0 || role == "redact" && r.Name != "nothing" && r.Runs < 90 {
					t.Errorf("%s: %+v", r.Name, r)
				}
			}
		})
	}
}

// Each of these changes breaks the redactor in a way that a hook author might; the suite must notice.
func TestMutantsAreCaught(t *testing.T) {
	src, err := files.ReadFile("guests/redact.wat")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := Suite("redact")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, new string }{
		{"carries nothing", `(i32.sub (local.get $end) (local.get $at))))`, `(i32.const 0)))`},
		{
			"carries a byte too few", `(i32.sub (local.get $end) (local.get $at))))`,
			`(if (i32.eq (local.get $end) (local.get $at)) (then (return (i32.const 0))))
			 (drop (call $write (local.get $at) (i32.const 1)))
			 (i32.sub (i32.sub (local.get $end) (local.get $at)) (i32.const 1))))`,
		},
		{"holds back at the end", `(i32.eqz (i32.and (local.get $flags) (i32.const 1)))`, `(i32.const 1)`},
		{"a character too few", `(local.get $k) (i32.const 20))))`, `(local.get $k) (i32.const 19))))`},
		{"forgets what was before", `(drop (call $write (local.get $from) (i32.sub (local.get $at) (local.get $from))))
            (drop`, `(drop`},
		{"remembers in a global", `(func (export "filter")`, `(global $calls (mut i32) (i32.const 0)) (func (export "filter")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			broken := strings.Replace(string(src), tt.old, tt.new, 1)
			if tt.name == "remembers in a global" {
				broken = strings.Replace(broken, `(local.set $end (i32.const 4096))`, `(local.set $end (i32.const 4096))
					(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
					(if (i32.eqz (i32.rem_u (global.get $calls) (i32.const 50))) (then (return (i32.const 0))))`, 1)
			}
			if broken == string(src) {
				t.Fatal("the text to change is not there")
			}
			module, err := wat.Assemble(broken)
			if err != nil {
				t.Fatal(err)
			}
			results, err := Run(context.Background(), write(t, module), cases, Options{})
			if err != nil {
				t.Fatal(err)
			}
			failures := 0
			for _, r := range results {
				if r.Failure != "" {
					failures++
				}
			}
			if failures == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}

func TestBudget(t *testing.T) {
	module, err := Guest("redact")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 20_000)
	cases := []Case{{Name: "x", Filter: &text, Cuts: "none", Want: Want{Output: &text}}}
	short := func(c *wasm.Config) { c.Timeout = 30 * time.Millisecond }
	results, err := Run(context.Background(), write(t, module), cases, Options{Budget: true, Hook: short})
	if err != nil || !strings.Contains(results[0].Failure, "more than half") {
		t.Errorf("got %+v, %v", results, err)
	}
}

func TestUpdate(t *testing.T) {
	module, err := Guest("redact")
	if err != nil {
		t.Fatal(err)
	}
	line := `{"name":"x","filter":"<AKIAIOSFODNN7EXAMPLE>","want":""}`
	cases, err := ReadCases(strings.NewReader(line + "\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	results, err := Run(context.Background(), write(t, module), cases, Options{})
	if err != nil || results[0].Failure == "" {
		t.Fatalf("got %+v, %v, want a failure", results, err)
	}
	var b bytes.Buffer
	if err := WriteCases(&b, Update(cases, results)); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"x","filter":"<AKIAIOSFODNN7EXAMPLE>","want":"<[aws-key]>"}` + "\n"; b.String() != want {
		t.Errorf("got %s want %s", b.String(), want)
	}
}

func TestReadCasesRefuses(t *testing.T) {
	for _, line := range []string{
		`{"name":"x"}`, `{"name":"x","filter":"a","pre":{"command":"b"},"want":""}`, `{"name":"x","filter":"a","want":{"nothing":1}}`,
		`{"name":"x","filter":"a","stream":"stdin","want":""}`, `{"name":"x","filter":"a","cuts":"some","want":""}`, `{`, `{"filters":"x"}`,
	} {
		if _, err := ReadCases(strings.NewReader("\n" + line)); job.KindOf(err) != job.Invalid || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

func TestBench(t *testing.T) {
	module, err := Guest("redact")
	if err != nil {
		t.Fatal(err)
	}
	speeds, err := Bench(context.Background(), write(t, module), nil, []int{8 << 10}, Options{})
	if err != nil || len(speeds) != 2 || speeds[1].Median <= 0 || speeds[1].Fuel == 0 {
		t.Errorf("got %+v, %v", speeds, err)
	}
	t.Logf("%+v", speeds)
}
