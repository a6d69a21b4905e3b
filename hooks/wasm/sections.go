package wasm

import "slices"

func (m *module) readTypes(r *reader) {
	for range r.count("types", 3) {
		if r.byte() != 0x60 {
			r.fail("a type is not a function's")
		}
		m.types = append(m.types, signature{r.types(), r.types()})
	}
}

// types reads a list of value types.
func (r *reader) types() string {
	n := r.count("types", 1)
	if n > maxResults {
		r.fail("a type has %d parameters or results, at most %d are taken", n, maxResults)
	}
	return string(r.bytes(n))
}

func (m *module) readImports(r *reader) {
	for range r.count("imports", 4) {
		i := imported{module: r.name(), name: r.name()}
		if r.byte() != 0 {
			r.fail("%s.%s is no function: only functions can be imported", i.module, i.name)
		}
		i.typ = r.u32()
		if r.err == nil && int(i.typ) >= len(m.types) {
			r.fail("%s.%s has no type", i.module, i.name)
		}
		m.imports = append(m.imports, i)
	}
}

func (m *module) readFunctions(r *reader) {
	n := r.count("functions", 1)
	if n > maxFuncs {
		r.fail("it has %d functions, at most %d are taken", n, maxFuncs)
	}
	for range n {
		typ := r.u32()
		if int(typ) >= len(m.types) {
			r.fail("a function has no type")
			return
		}
		m.funcs = append(m.funcs, typ)
	}
}

func (r *reader) limits() (low, high uint32, bounded bool) {
	switch flag := r.byte(); flag {
	case 0:
		return r.u32(), 0, false
	case 1:
		return r.u32(), r.u32(), true
	default:
		r.fail("limits of kind %d: shared and 64-bit memories are not taken", flag)
	}
	return 0, 0, false
}

func (m *module) readTables(r *reader) {
	for range r.count("tables", 3) {
		t := table{elem: r.byte()}
		if t.elem != typeFuncref && t.elem != typeExternref {
			r.fail("a table of type %#x", t.elem)
		}
		t.min, t.max, t.bounded = r.limits()
		if t.min > maxTable {
			r.fail("a table has %d entries, at most %d are taken", t.min, maxTable)
		}
		m.tables = append(m.tables, t)
	}
	if len(m.tables) > 16 {
		r.fail("it has %d tables, at most 16 are taken", len(m.tables))
	}
}

func (m *module) readMemory(r *reader) {
	m.memories = r.count("memories", 2)
	if m.memories > 1 {
		r.fail("it has %d memories, one is taken", m.memories)
	}
	for range m.memories {
		m.minPages, _, _ = r.limits()
	}
}

func (m *module) readGlobals(r *reader) {
	m.globals = r.count("globals", 4)
	for range m.globals {
		r.byte()
		r.byte()
		r.constant()
	}
}

func (m *module) readExports(r *reader) {
	for range r.count("exports", 3) {
		e := exported{r.name(), r.byte(), r.u32()}
		if e.kind == 3 && int(e.index) >= m.globals {
			r.fail("export %q has no global", e.name)
		}
		m.exports = append(m.exports, e)
	}
}

// constant skips an initialiser. One that reads a global is refused: only imported globals could be read, and there are none.
func (r *reader) constant() {
	for r.err == nil {
		switch op := r.byte(); op {
		case opEnd:
			return
		case 0x41:
			r.signed(5)
		case 0x42:
			r.signed(10)
		case 0x43:
			r.bytes(4)
		case 0x44:
			r.bytes(8)
		case opRefNull:
			r.heapType()
		case opRefFunc:
			r.u32()
		case opVector:
			if r.byte() != 12 {
				r.fail("an initialiser computes")
			}
			r.bytes(16)
		default:
			r.fail("an initialiser with instruction %#x", op)
		}
	}
}

func (r *reader) heapType() {
	if t := r.byte(); t != typeFuncref && t != typeExternref {
		r.fail("a reference of type %#x", t)
	}
}

// readElements follows the eight shapes of an element segment, which three bits of its first number tell apart.
func (m *module) readElements(r *reader) {
	for range r.count("element segments", 2) {
		kind := r.u32()
		if kind > 7 {
			r.fail("an element segment of kind %d", kind)
		}
		passive, explicit, expressions := kind&1 != 0, kind&2 != 0, kind&4 != 0
		if !passive {
			if explicit {
				r.u32()
			}
			r.constant()
		}
		if passive || explicit {
			if b := r.byte(); expressions && b != typeFuncref && b != typeExternref || !expressions && b != 0 {
				r.fail("elements of type %#x", b)
			}
		}
		n := r.count("elements", 1)
		if n > maxTable {
			r.fail("an element segment has %d entries, at most %d are taken", n, maxTable)
		}
		for range n {
			if expressions {
				r.constant()
			} else {
				r.u32()
			}
			if r.err != nil {
				return
			}
		}
	}
}

func (m *module) readData(r *reader) {
	for range r.count("data segments", 2) {
		switch kind := r.u32(); kind {
		case 0:
			r.constant()
		case 1:
		case 2:
			r.u32()
			r.constant()
		default:
			r.fail("a data segment of kind %d", kind)
		}
		r.bytes(r.count("bytes of data", 1))
	}
}

func (m *module) readCode(r *reader) {
	n := r.count("function bodies", 2)
	if n != len(m.funcs) {
		r.fail("%d function bodies for %d functions", n, len(m.funcs))
		return
	}
	for i := range n {
		body := r.sub(r.u32())
		if size := body.left(); size > maxBody {
			r.fail("function %d has %d bytes, at most %d are taken", len(m.imports)+i, size, maxBody)
		}
		if r.err != nil {
			return
		}
		m.bodies = append(m.bodies, section{secCode, body.pos, len(body.b)})
		m.largest = max(m.largest, body.left())
		c := m.code(i, body)
		for c.next() {
		}
		m.blocks = max(m.blocks, c.blocks)
		if r.err = body.err; r.err == nil && c.blocks > maxBlocks {
			r.fail("function %d has %d blocks, at most %d are taken: split it", len(m.imports)+i, c.blocks, maxBlocks)
		}
	}
}

// export finds an export by name.
func (m *module) export(name string) (exported, bool) {
	i := slices.IndexFunc(m.exports, func(e exported) bool { return e.name == name })
	if i < 0 {
		return exported{}, false
	}
	return m.exports[i], true
}

// signature is the type of a function by its index, imports first.
func (m *module) signature(index uint32) (signature, bool) {
	if int(index) < len(m.imports) {
		return m.types[m.imports[index].typ], true
	}
	if i := int(index) - len(m.imports); i < len(m.funcs) {
		return m.types[m.funcs[i]], true
	}
	return signature{}, false
}
