package wat

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// assembler turns one function's instructions into bytes.
type assembler struct {
	m      *builder
	f      fn
	labels []string // of the open blocks, the innermost last
	out    []byte
}

func (m *builder) assemble(f fn) []byte {
	a := &assembler{m: m, f: f, labels: []string{""}}
	a.out = appendU32(nil, uint32(len(f.locals)))
	for _, t := range f.locals {
		a.out = append(a.out, 1, t)
	}
	a.sequence(f.node.list[f.body:])
	return append(a.out, 0x0b)
}

// sequence assembles flat and folded instructions.
func (a *assembler) sequence(list []node) {
	for len(list) > 0 {
		n := list[0]
		if n.kind == 'l' {
			a.folded(n)
			list = list[1:]
			continue
		}
		list = list[1+a.plain(n, list[1:]):]
	}
}

// folded assembles (op immediates operands...), and the structured (block ...), (loop ...), (if ...).
func (a *assembler) folded(n node) {
	args := n.list[1:]
	switch n.head() {
	case "block", "loop":
		used := a.open(n.list[0], args)
		a.sequence(args[used:])
		a.end()
		return
	case "if":
		a.foldedIf(n)
		return
	}
	used := immediates(n.head(), args)
	for _, operand := range args[used:] {
		a.folded(operand)
	}
	a.plain(n.list[0], args[:used])
}

func (a *assembler) foldedIf(n node) {
	args := n.list[1:]
	var head []node
	for len(args) > 0 && args[0].head() != "then" {
		if args[0].kind == 'a' || args[0].head() == "result" {
			head = append(head, args[0])
		} else {
			a.folded(args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		n.fail("an if has no then")
	}
	a.open(n.list[0], head)
	a.sequence(args[0].list[1:])
	if len(args) > 1 {
		a.out = append(a.out, 0x05)
		a.sequence(args[1].list[1:])
	}
	a.end()
}

// open begins a block with its label and type; it returns how many of args those are.
func (a *assembler) open(op node, args []node) int {
	label, used := "", 0
	if used < len(args) && args[used].kind == 'a' && args[used].atom[0] == '$' {
		label = args[used].atom
		used++
	}
	typ := byte(0x40)
	if used < len(args) && args[used].head() == "result" {
		typ = valueTypes[args[used].list[1].atom]
		used++
	}
	a.labels = append(a.labels, label)
	a.out = append(a.out, map[string]byte{"block": 2, "loop": 3, "if": 4}[op.atom], typ)
	return used
}

func (a *assembler) end() {
	a.labels = a.labels[:len(a.labels)-1]
	a.out = append(a.out, 0x0b)
}

// immediates says how many of the nodes after an instruction belong to it.
func immediates(op string, args []node) int {
	switch {
	case op == "br_table":
		n := 0
		for n < len(args) && args[n].kind == 'a' {
			n++
		}
		return n
	case op == "call_indirect":
		return 1
	case strings.HasPrefix(op, "memory."), strings.HasSuffix(op, "_indirect"):
		return 0
	case strings.HasSuffix(op, ".const"), strings.HasPrefix(op, "br"), op == "call", op == "ref.null", op == "ref.func",
		strings.HasPrefix(op, "local."), strings.HasPrefix(op, "global."), strings.HasPrefix(op, "table."):
		return 1
	case strings.Contains(op, ".load"), strings.Contains(op, ".store"):
		n := 0
		for n < len(args) && strings.Contains(args[n].atom, "=") {
			n++
		}
		return n
	}
	return 0
}

// plain assembles one instruction and returns how many of the following nodes belong to it.
func (a *assembler) plain(n node, rest []node) int {
	switch n.atom {
	case "block", "loop", "if":
		return a.open(n, rest)
	case "else":
		a.out = append(a.out, 0x05)
		return 0
	case "end":
		a.end()
		return 0
	}
	code, ok := opcodes[n.atom]
	if !ok {
		n.fail("unknown instruction %q", n.atom)
	}
	a.out = append(a.out, code...)
	used := immediates(n.atom, rest)
	a.operands(n, rest[:used])
	return used
}

func (a *assembler) operands(n node, args []node) {
	op := n.atom
	u32 := func(v int) { a.out = appendU32(a.out, uint32(v)) }
	switch {
	case op == "i32.const":
		a.out = appendSigned(a.out, int64(int32(args[0].number())))
	case op == "i64.const":
		a.out = appendSigned(a.out, args[0].number())
	case op == "f32.const":
		a.out = binary.LittleEndian.AppendUint32(a.out, math.Float32bits(float32(args[0].float())))
	case op == "f64.const":
		a.out = binary.LittleEndian.AppendUint64(a.out, math.Float64bits(args[0].float()))
	case op == "br_table":
		u32(len(args) - 1)
		for _, l := range args {
			u32(a.label(l))
		}
	case op == "br" || op == "br_if":
		u32(a.label(args[0]))
	case op == "call" || op == "ref.func":
		u32(a.m.index(a.m.funcNames, args[0]))
	case op == "call_indirect":
		u32(a.m.signature(n, args))
		u32(0)
	case op == "ref.null":
		a.out = append(a.out, map[string]byte{"func": 0x70, "extern": 0x6f}[args[0].atom])
	case strings.HasPrefix(op, "local."):
		u32(a.m.index(a.f.names, args[0]))
	case strings.HasPrefix(op, "global."):
		u32(a.m.index(a.m.globalNames, args[0]))
	case strings.HasPrefix(op, "table."):
		u32(int(args[0].number()))
	case strings.Contains(op, ".load") || strings.Contains(op, ".store"):
		offset := 0
		for _, arg := range args {
			if text, ok := strings.CutPrefix(arg.atom, "offset="); ok {
				offset, _ = strconv.Atoi(text)
			}
		}
		u32(0) // alignment is a hint
		u32(offset)
	}
}

func (a *assembler) label(n node) int {
	for depth := range a.labels {
		if n.atom[0] == '$' && a.labels[len(a.labels)-1-depth] == n.atom {
			return depth
		}
	}
	if n.atom[0] == '$' {
		n.fail("unknown label %q", n.atom)
	}
	return int(n.number())
}

func (n node) float() float64 {
	v, err := strconv.ParseFloat(n.atom, 64)
	if err != nil {
		n.fail("%q is no number", n.atom)
	}
	return v
}

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
