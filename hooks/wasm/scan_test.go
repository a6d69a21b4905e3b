package wasm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm/wat"
	"github.com/rs/zerolog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const magic = "\x00asm\x01\x00\x00\x00"

// huge is 4,294,967,295 in LEB128.
const huge = "\xff\xff\xff\xff\x0f"

// Each of these made the engine allocate by a number in the file: six of ten ended the process, one hung it for a minute.
func TestDecoderBombs(t *testing.T) {
	part := func(id byte, contents string) string {
		return string([]byte{id}) + string(appendU32(nil, uint32(len(contents)))) + contents
	}
	types := part(secType, "\x01\x60\x00\x00")
	for name, tail := range map[string]string{
		"types":         part(secType, huge),
		"parameters":    part(secType, "\x01\x60"+huge),
		"imports":       part(secImport, huge),
		"a name":        part(secImport, "\x01"+huge+"abc"),
		"functions":     part(secFunction, huge),
		"tables":        part(secTable, huge),
		"memories":      part(secMemory, huge),
		"globals":       part(secGlobal, huge),
		"exports":       part(secExport, huge),
		"elements":      part(secElement, huge),
		"one element":   part(secElement, "\x01\x01\x00"+huge),
		"code":          part(secCode, huge),
		"data":          part(secData, huge),
		"one datum":     part(secData, "\x01\x01"+huge),
		"locals":        types + part(secFunction, "\x01\x00") + part(secCode, "\x01\x08\x01"+huge+"\x7f\x0b"),
		"local groups":  types + part(secFunction, "\x01\x00") + part(secCode, "\x01\x06"+huge+"\x0b"),
		"branches":      types + part(secFunction, "\x01\x00") + part(secCode, "\x01\x09\x00\x0e"+huge+"\x00\x0b"),
		"a table":       part(secTable, "\x01\x70\x00"+huge),
		"a section":     "\x01" + huge,
		"a long number": part(secType, "\x80\x80\x80\x80\x80\x01"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := scan([]byte(magic + tail)); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	minimal := `(memory (export "memory") 1) (func (export "filter") (param i32 i32) (result i32) (i32.const 0))`
	swap := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	for _, tt := range []struct {
		name, fields string
		edit         func([]byte) []byte
		want         string
	}{
		{"no module", minimal, func([]byte) []byte { return []byte("#!/bin/sh\n") }, "not a WebAssembly module"},
		{"component", minimal, swap("asm\x01\x00\x00\x00", "asm\x0d\x00\x01\x00"), "not a WebAssembly module"},
		{"cut", minimal, func(b []byte) []byte { return b[:len(b)-3] }, "does not fit"},
		{"section twice", minimal, func(b []byte) []byte { return append(b, secMemory, 3, 1, 0, 1) }, "twice or too late"},
		{"many blocks", `(func ` + strings.Repeat("(block)", maxBlocks+1) + `)`, nil, "4097 blocks"},
		{"many branches", `(func (block ` + strings.Repeat("(br_if 0 (i32.const 0))", maxBlocks) + `))`, nil, "4097 blocks"},
		{"many bulk instructions", `(memory 1) (func ` + strings.Repeat("(memory.fill (i32.const 0) (i32.const 0) (i32.const 0))", maxBlocks+1) + `)`, nil, "4097 blocks"},
		{"long body", `(func ` + strings.Repeat("nop ", maxBody+1) + `)`, nil, "bytes, at most 131072"},
		{"forged global", `(global $g (mut i64) (i64.const 0)) (func (i64.const 9) (global.set 1))`, nil, "global 1 is not declared"},
		{"forged local", `(func (param i32) (drop (local.get 1)))`, nil, "local 1 is not declared"},
		{"exported fuel", `(global (export "x") (mut i64) (i64.const 0))`, swap("\x01x\x03\x00", "\x01x\x03\x01"), "has no global"},
		{"imported memory", minimal, func([]byte) []byte {
			return []byte(magic + "\x02\x08\x01\x01a\x01b\x02\x00\x01")
		}, "only functions can be imported"},
		{"shared memory", minimal, swap("\x05\x03\x01\x00\x01", "\x05\x03\x01\x02\x01"), "shared"},
		{"initialiser from a global", `(global $g i32 (i32.const 0)) (global $h i32 (global.get $g))`, nil, "initialiser"},
		{"odd vector number", `(func (unreachable) (unreachable) (unreachable) (unreachable))`, swap("\x00\x00\x00\x00\x0b", "\xfd\x8c\x00\x00\x0b"), "not taken"},
		{"threads", `(func (unreachable) (unreachable))`, swap("\x00\x00\x0b", "\xfe\x03\x0b"), "not taken"},
		{"huge", minimal, func(b []byte) []byte { return append(b, make([]byte, maxModule)...) }, "at most 16777216"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := assemble(t, "(module "+tt.fields+")")
			if tt.edit != nil {
				b = tt.edit(b)
			}
			_, err := scan(b)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	memory, filter := `(memory (export "memory") 1)`, `(func (export "filter") (param i32 i32) (result i32) (i32.const 0))`
	for _, tt := range []struct{ name, fields, want string }{
		{"another host's", `(import "http_handler" "get_uri" (func (param i32 i32) (result i32)))` + memory + filter, "imports http_handler.get_uri; this server provides hook1"},
		{"a newer import", `(import "hook1" "fetch" (func (param i32) (result i32))) (import "hook1" "open" (func))` + memory + filter, "imports hook1.fetch, hook1.open;"},
		{"an import's type", `(import "hook1" "get" (func (param i32) (result i32)))` + memory + filter, "imports hook1.get"},
		{"no event", memory + `(func (export "main"))`, "none of pre_exec"},
		{"no memory", filter, "no memory"},
		{"an empty memory", `(memory (export "memory") 0)` + filter, "no page"},
		{"an export's type", memory + `(func (export "filter") (param i32) (result i32) (i32.const 0))`, "its export filter has the wrong type, it is (i32 i32) -> (i32)"},
		{"an export that is no function", memory + filter + `(global (export "pre_exec") i32 (i32.const 0))`, "its export pre_exec"},
		{"our name", memory + filter + `(global (export "hook1.fuel") (mut i64) (i64.const 0))`, "is the server's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := scan(assemble(t, "(module "+tt.fields+")"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err = m.check(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCustomSectionsAreLeftOut(t *testing.T) {
	b := assemble(t, text(echo))
	b = append(b, secCustom, 10, 4, 'n', 'a', 'm', 'e', 1, 0xff, 0xff, 0xff, 0x0f)
	m, err := scan(b)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(m.meter(), []byte("name")) {
		t.Error("a custom section, whose counts nobody checked, reaches the engine")
	}
}

// seeds are modules that a fuzzer starts from.
func seeds(f *testing.F) {
	for _, tt := range hostile {
		b, err := wat.Assemble(hostileText(tt.fields, tt.body))
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 4096 {
			f.Add(b)
		}
	}
	b, err := wat.Assemble(text(echo + `(table 3 9 funcref) (func $a (param i64) (local i32 f64)) (elem (i32.const 0) $a)
		(global $g (mut i64) (i64.const -3)) (data (i32.const 1) "x")`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
}

// FuzzInstrument holds that what the scan accepts and the engine accepts stays acceptable with the counter in it, that
// what was invalid stays so, and that nothing in a module brings the host down.
func FuzzInstrument(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := scan(b)
		if err != nil {
			return
		}
		if _, err := m.check(); err != nil {
			return
		}
		bare, metered := valid(m.bare()), valid(m.meter())
		if (bare == nil) != (metered == nil) {
			t.Errorf("without the counter: %v; with it: %v", bare, metered)
		}
	})
}

// valid asks the engine's interpreter, which compiles nothing.
func valid(b []byte) error {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(512))
	defer r.Close(ctx)
	_, err := r.CompileModule(ctx, b)
	return err
}

// FuzzGuest runs whatever module the fuzzer makes: no file may do more than fail its call.
func FuzzGuest(f *testing.F) {
	seeds(f)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		c := Driver().New().(*Config)
		c.File, c.Timeout = filepath.Join(dir, fmt.Sprintf("%d.wasm", os.Getpid())), 20e6
		if err := os.WriteFile(c.File, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.Validate() != nil {
			return
		}
		named, err := c.Open(context.Background(), hooks.Env{Log: zerolog.Nop()})
		if err != nil {
			return
		}
		defer named.Close(context.Background())
		if _, tap, err := begin(named.Hook.(*Hook), "!ls"); err == nil && tap != nil {
			tap.Output(context.Background(), 1, []byte("x AKIA y"), hooks.Final)
		}
	})
}
