package wasm

import (
	"context"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
)

// fuelOf runs a module's filter over input with charges merged up to so much, and returns what was used and written.
func fuelOf(t *testing.T, module []byte, merged int64, input string) (int64, string) {
	t.Helper()
	m, err := scan(module)
	if err != nil {
		t.Fatal(err)
	}
	l := limits{timeout: 10 * time.Second, pages: 64}
	g, err := compileWith(context.Background(), m, m.rewriteMerged(true, merged), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	i, _, err := g.start(context.Background(), &call{event: eventInit, hook: &Hook{}})
	if err != nil {
		t.Fatal(err)
	}
	c := &call{event: eventFilter, hook: &Hook{}, in: []byte(input)}
	if _, f := i.run(c); f != nil {
		t.Fatal(f)
	}
	return i.used(), string(c.out)
}

// shapes are functions in which a charge that is merged wrongly would pay for too little.
var shapes = map[string]string{
	"then":            `(if (local.get $s) (then (call $w))) (if (i32.eqz (local.get $s)) (then (call $w) (call $w)))`,
	"else":            `(if (local.get $s) (then (call $w)) (else (call $w) (call $w) (call $w)))`,
	"block skipped":   `(block $b (br_if $b (i32.const 1)) (call $w)) (call $w) (call $w)`,
	"block left late": `(block $b (call $w) (br_if $b (i32.const 0)) (call $w)) (call $w)`,
	"after a loop":    `(loop $l (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 500)))) (call $w)`,
	"loop in a loop": `(loop $o (local.set $k (i32.const 0))
		(loop $l (local.set $k (i32.add (local.get $k) (i32.const 1))) (br_if $l (i32.lt_u (local.get $k) (i32.const 20))))
		(call $w) (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $o (i32.lt_u (local.get $n) (i32.const 20))))`,
	"loop left by a branch": `(block $out (loop $l (local.set $n (i32.add (local.get $n) (i32.const 1)))
		(br_if $out (i32.gt_u (local.get $n) (i32.const 300))) (if (i32.and (local.get $n) (i32.const 1)) (then (call $w))) (br $l)))`,
	"continue": `(loop $l (local.set $n (i32.add (local.get $n) (i32.const 1)))
		(br_if $l (i32.lt_u (local.get $n) (i32.const 300))) (call $w) (call $w))`,
	"table": `(loop $l (block $c (block $b (block $a (br_table $a $b $c (i32.and (local.get $n) (i32.const 3)))) (call $w)) (call $w) (call $w))
		(local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 99))))`,
	"long arms": `(loop $l (if (i32.and (local.get $n) (i32.const 1))
		(then ` + strings.Repeat(`(local.set $k (i32.add (local.get $k) (local.get $n)))`, 40) + `)
		(else ` + strings.Repeat(`(local.set $k (i32.div_u (local.get $k) (i32.const 3)))`, 40) + `))
		(local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 99))))`,
}

// Merging charges never makes anything cheaper, and does not change what a guest does.
func TestMergedChargesPayForEverything(t *testing.T) {
	for name, body := range shapes {
		t.Run(name, func(t *testing.T) {
			module := assemble(t, text(`(data (i32.const 0) "w") (func $w (drop (call $write (i32.const 0) (i32.const 1))))
				(func (export "filter") (param $s i32) (param $f i32) (result i32) (local $n i32) (local $k i32) `+body+` (i32.const 0))`))
			exact, want := fuelOf(t, module, 0, "x")
			merged, got := fuelOf(t, module, costMerged, "x")
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if merged < exact || merged > 20*exact+costMerged {
				t.Errorf("merged charges took %d, exact ones %d", merged, exact)
			}
		})
	}
}

// A straight line of instructions costs what the table of prices says.
func TestPrices(t *testing.T) {
	base, _ := fuelOf(t, assemble(t, text(`(func (export "filter") (param i32 i32) (result i32) (i32.const 0))`)), costMerged, "")
	for body, want := range map[string]int64{
		`(nop)`: 0, `(drop (i32.const 1))`: 2, `(drop (i32.div_u (i32.const 1) (i32.const 1)))`: 3 + costDivision,
		`(drop (memory.size))`: 2, `(drop (memory.grow (i32.const 0)))`: 2 + costGrow,
		`(memory.fill (i32.const 0) (i32.const 0) (i32.const 6400))`: 4 + 100,
		`(drop (call $write (i32.const 0) (i32.const 1600)))`:        3 + 1 + costCall + costImport + 100,
		`(block (drop (i32.const 1)))`:                               2,
	} {
		got, _ := fuelOf(t, assemble(t, text(`(func (export "filter") (param i32 i32) (result i32) `+body+` (i32.const 0))`)), costMerged, "")
		if got-base != want {
			t.Errorf("%s: got %d, want %d", body, got-base, want)
		}
	}
}

// The budget of a call grows with its input and its timeout.
func TestBudget(t *testing.T) {
	c := config(t, text(echo))
	c.Timeout = 500 * time.Millisecond
	var last Usage
	c.Trace = func(u Usage) { last = u }
	h := open(t, c)
	_, tap, err := begin(h, "ls")
	if err != nil {
		t.Fatal(err)
	}
	tap.Output(context.Background(), job.Stdout, make([]byte, 1000), 0)
	if want := int64((fuelCall + 1000*fuelInput) / 2); last.Budget != want || last.Fuel <= 0 || last.Event != "filter" {
		t.Errorf("got %+v, want a budget of %d", last, want)
	}
}

// The worst function that the scan lets through compiles in bounded time.
func TestWorstFunctionCompiles(t *testing.T) {
	division := `(i32.div_u (i32.div_u (i32.div_u (i32.div_u (local.get $b) (local.get $b)) (local.get $a)) (local.get $a)) (i32.const 1))`
	branches := maxBlocks - 1
	if raceEnabled {
		branches /= 8
	}
	src := text(`(func $f (param $a i32) (param $b i32) (block ` + strings.Repeat(`(br_if 0 `+division+`)`, branches) + `)) ` + echo)
	h := hook(t, src)
	started := time.Now()
	if err := h.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(started))
	if time.Since(started) > compileTime {
		t.Errorf("it took %s", time.Since(started))
	}
}
