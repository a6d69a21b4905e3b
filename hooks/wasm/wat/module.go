package wat

import "slices"

var valueTypes = map[string]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c, "funcref": 0x70, "externref": 0x6f}

// builder collects a module's sections.
type builder struct {
	types   [][]byte
	imports [][]byte
	funcs   []fn
	tables  [][]byte
	memory  []byte
	globals [][]byte
	exports [][]byte
	start   []byte
	elems   [][]byte
	data    [][]byte

	funcNames, globalNames, typeNames map[string]int
	imported                          int
}

// fn is a function of the module's own.
type fn struct {
	node   node
	typ    int
	names  map[string]int // of parameters and locals
	body   int            // where the instructions begin in node.list
	locals []byte
}

func (m *builder) module(root node) {
	if root.head() != "module" {
		root.fail("a text begins with (module")
	}
	m.funcNames, m.globalNames, m.typeNames = map[string]int{}, map[string]int{}, map[string]int{}
	fields := root.list[1:]
	for _, f := range fields { // names first: they may be used before they are declared
		switch f.head() {
		case "type":
			m.typeNames[f.list[1].atom] = m.signature(f.list[2], f.list[2].list[1:])
		case "import":
			m.importFunc(f)
		case "func":
			m.declare(f)
		case "global":
			m.global(f)
		case "memory", "table", "data", "elem", "start", "export":
		default:
			f.fail("unknown field %q", f.head())
		}
	}
	for _, f := range fields {
		m.rest(f)
	}
}

func (m *builder) rest(f node) {
	args := f.list[1:]
	switch f.head() {
	case "memory", "table":
		m.sized(f)
	case "data":
		offset := m.expression(args[0])
		bytes := []byte{}
		for _, s := range args[1:] {
			bytes = append(bytes, s.str...)
		}
		m.data = append(m.data, slices.Concat([]byte{0}, offset, vector(bytes)))
	case "elem":
		list := appendU32(nil, uint32(len(args)-1))
		for _, name := range args[1:] {
			list = appendU32(list, uint32(m.index(m.funcNames, name)))
		}
		m.elems = append(m.elems, slices.Concat([]byte{0}, m.expression(args[0]), list))
	case "start":
		m.start = appendU32(nil, uint32(m.index(m.funcNames, args[0])))
	case "export":
		m.export(args[0].str, 0, m.index(m.funcNames, args[1].list[1]))
	}
}

// sized reads a memory or a table: (memory (export "memory") 1 2), (table 1 funcref).
func (m *builder) sized(f node) {
	kind := map[string]byte{"table": 1, "memory": 2}[f.head()]
	var limits []int64
	elem := byte(0x70)
	for _, a := range f.list[1:] {
		if t, ok := valueTypes[a.atom]; ok {
			elem = t
		} else if a.head() == "export" {
			m.export(a.list[1].str, kind, len(m.tables)*int(2-kind))
		} else if a.kind == 'a' && a.atom[0] != '$' {
			limits = append(limits, a.number())
		}
	}
	b := []byte{byte(len(limits) - 1)}
	for _, l := range limits {
		b = appendU32(b, uint32(l))
	}
	if kind == 2 {
		m.memory = b
		return
	}
	m.tables = append(m.tables, append([]byte{elem}, b...))
}

func (m *builder) importFunc(f node) {
	desc := f.list[3]
	if len(m.funcs) > 0 {
		f.fail("imports come before functions")
	}
	m.name(m.funcNames, desc, m.imported)
	typ := m.signature(desc, desc.list[1:])
	b := slices.Concat(vector(f.list[1].str), vector(f.list[2].str), []byte{0})
	m.imports = append(m.imports, appendU32(b, uint32(typ)))
	m.imported++
}

func (m *builder) name(names map[string]int, f node, index int) {
	if len(f.list) > 1 && f.list[1].kind == 'a' && f.list[1].atom[0] == '$' {
		names[f.list[1].atom] = index
	}
}

func (m *builder) export(name []byte, kind byte, index int) {
	m.exports = append(m.exports, appendU32(append(vector(name), kind), uint32(index)))
}

func (m *builder) global(f node) {
	m.name(m.globalNames, f, len(m.globals))
	var b []byte
	for _, a := range f.list[1:] {
		switch {
		case a.head() == "export":
			m.export(a.list[1].str, 3, len(m.globals))
		case a.head() == "mut":
			b = []byte{valueTypes[a.list[1].atom], 1}
		case a.kind == 'a' && valueTypes[a.atom] != 0:
			b = []byte{valueTypes[a.atom], 0}
		case a.kind == 'l':
			b = append(b, m.expression(a)...)
		}
	}
	m.globals = append(m.globals, b)
}

// declare notes a function's name, exports and type; its instructions are assembled at the end.
func (m *builder) declare(f node) {
	index := m.imported + len(m.funcs)
	m.name(m.funcNames, f, index)
	d := fn{node: f, names: map[string]int{}, body: len(f.list)}
	count := 0
	for i, a := range f.list[1:] {
		switch {
		case a.head() == "export":
			m.export(a.list[1].str, 0, index)
		case a.head() == "param" || a.head() == "local":
			for _, p := range a.list[1:] {
				if p.atom[0] == '$' {
					d.names[p.atom] = count
					continue
				}
				count++
				if a.head() == "local" {
					d.locals = append(d.locals, valueTypes[p.atom])
				}
			}
		case a.head() == "result" || a.kind == 'a' && a.atom[0] == '$' && i == 0:
		default:
			d.body = min(d.body, i+1)
		}
	}
	d.typ = m.signature(f, f.list[1:d.body])
	m.funcs = append(m.funcs, d)
}

// signature returns the index of the function type that params and results in list describe.
func (m *builder) signature(at node, list []node) int {
	var params, results []byte
	for _, a := range list {
		if a.head() == "type" {
			return m.index(m.typeNames, a.list[1])
		}
		for _, t := range a.list {
			switch v, ok := valueTypes[t.atom]; {
			case ok && a.head() == "param":
				params = append(params, v)
			case ok && a.head() == "result":
				results = append(results, v)
			}
		}
	}
	b := slices.Concat([]byte{0x60}, vector(params), vector(results))
	if i := slices.IndexFunc(m.types, func(t []byte) bool { return string(t) == string(b) }); i >= 0 {
		return i
	}
	m.types = append(m.types, b)
	return len(m.types) - 1
}

func (m *builder) index(names map[string]int, n node) int {
	if n.kind == 'a' && n.atom[0] != '$' {
		return int(n.number())
	}
	i, ok := names[n.atom]
	if !ok {
		n.fail("unknown name %q", n.atom)
	}
	return i
}

// expression is an initialiser with its end.
func (m *builder) expression(n node) []byte {
	a := &assembler{m: m}
	a.folded(n)
	return append(a.out, 0x0b)
}

func (m *builder) encode() []byte {
	var code, types [][]byte
	for _, f := range m.funcs {
		types = append(types, appendU32(nil, uint32(f.typ)))
		body := m.assemble(f)
		code = append(code, append(appendU32(nil, uint32(len(body))), body...))
	}
	var memories [][]byte
	if m.memory != nil {
		memories = [][]byte{m.memory}
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	put := func(id byte, entries [][]byte) {
		if len(entries) > 0 {
			out = append(append(out, id), vector(append(appendU32(nil, uint32(len(entries))), slices.Concat(entries...)...))...)
		}
	}
	put(1, m.types)
	put(2, m.imports)
	put(3, types)
	put(4, m.tables)
	put(5, memories)
	put(6, m.globals)
	put(7, m.exports)
	if m.start != nil {
		out = append(append(out, 8), vector(m.start)...)
	}
	put(9, m.elems)
	put(10, code)
	put(11, m.data)
	return out
}

// vector is bytes with their number before them.
func vector(b []byte) []byte { return append(appendU32(nil, uint32(len(b))), b...) }

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}
