package wasm

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of a module. What is over one of them is refused before the engine sees it, since its decoder and compiler
// have none: declared counts are allocated unseen, and the time to compile a function grows with the square of its blocks.
const (
	maxModule  = 16 << 20
	maxBody    = 128 << 10
	maxBlocks  = 4096 // of one function, branches and bulk instructions too; the compiler needs 1 s for these, a minute for 25,000
	maxLocals  = 50_000
	maxTable   = 100_000
	maxResults = 1000 // parameters or results of one type
	maxFuncs   = 100_000
)

// Section numbers of the binary format.
const (
	secCustom, secType, secImport, secFunction, secTable, secMemory, secGlobal = 0, 1, 2, 3, 4, 5, 6
	secExport, secStart, secElement, secCode, secData, secDataCount            = 7, 8, 9, 10, 11, 12
)

// Value types that can stand where the scan needs to know them.
const (
	typeI32, typeI64, typeF32, typeF64, typeV128, typeFuncref, typeExternref = 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f
)

type signature struct{ params, results string }

type imported struct {
	module, name string
	typ          uint32
}

type exported struct {
	name  string
	kind  byte
	index uint32
}

// section is a part of the module: its contents without the header.
type section struct {
	id         byte
	start, end int
}

// module is what the scan knows of a module.
type module struct {
	bytes    []byte
	sections []section
	types    []signature
	imports  []imported
	funcs    []uint32 // types of the functions of its own
	tables   []table
	memories int
	minPages uint32
	globals  int
	exports  []exported
	bodies   []section
	start    bool

	largest, blocks int // the largest body in bytes, the most blocks of one function
}

type table struct {
	elem     byte
	min, max uint32
	bounded  bool
}

// scan reads a module's structure, without trusting a number in it. It does not check types: the engine does.
func scan(b []byte) (*module, error) {
	if len(b) > maxModule {
		return nil, fmt.Errorf("it has %d bytes, at most %d are taken", len(b), maxModule)
	}
	r := &reader{b: b}
	if string(r.bytes(8)) != "\x00asm\x01\x00\x00\x00" {
		return nil, errors.New("it is not a WebAssembly module of version 1")
	}
	m := &module{bytes: b}
	last := 0
	for r.err == nil && r.left() > 0 {
		id := r.byte()
		part := r.sub(r.u32())
		if id == secCustom {
			continue
		}
		if rank := rankOf(id); rank <= last {
			r.fail("section %d is unknown, or comes twice or too late", id)
		} else {
			last = rank
		}
		m.sections = append(m.sections, section{id, part.pos, len(part.b)})
		if err := m.section(id, part); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(m.funcs) != len(m.bodies) {
		return nil, fmt.Errorf("it declares %d functions and has %d", len(m.funcs), len(m.bodies))
	}
	return m, nil
}

// rankOf is a section's place; 0 for an unknown one. The data count stands before the code.
func rankOf(id byte) int {
	return slices.Index([]byte{
		secCustom, secType, secImport, secFunction, secTable, secMemory, secGlobal,
		secExport, secStart, secElement, secDataCount, secCode, secData,
	}, id)
}

func (m *module) section(id byte, r *reader) error {
	switch id {
	case secType:
		m.readTypes(r)
	case secImport:
		m.readImports(r)
	case secFunction:
		m.readFunctions(r)
	case secTable:
		m.readTables(r)
	case secMemory:
		m.readMemory(r)
	case secGlobal:
		m.readGlobals(r)
	case secExport:
		m.readExports(r)
	case secStart:
		r.u32()
		m.start = true
	case secElement:
		m.readElements(r)
	case secCode:
		m.readCode(r)
	case secData:
		m.readData(r)
	case secDataCount:
		r.u32()
	}
	return r.done(fmt.Sprintf("section %d", id))
}
