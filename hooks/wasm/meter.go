package wasm

import "slices"

// fuelGlobal is the name under which the meter exports its counter.
const fuelGlobal = "hook1.fuel"

// Prices. Instructions are paid for by what they are, before they run, so that a loop pays for what is in it: with one unit
// per round, a body of 9,000 divisions ran for minutes on a small budget.
const (
	// A charge pays for the blocks that can only be reached through it, up to so much together: two thirds of the counter's
	// cost in time went into blocks of three instructions. What a branch skips is paid too, at most this much at a time.
	costMerged   = 64
	costDivision = 16
	costCall     = 2 // beside the instruction itself
	costGrow     = 200
	costImport   = 20
	shiftBytes   = 6 // of bulk memory instructions: a unit per 64 bytes
	shiftEntries = 3 // of table instructions: a unit per 8 entries
	shiftHost    = 4 // of imports: a unit per 16 bytes
)

// Budgets.
const (
	fuelInit  = 50_000_000
	fuelCall  = 10_000_000 // of a call with a timeout of one second
	fuelInput = 2_000      // more for each byte of input
)

// meter returns the module with a fuel counter in it: a mutable global, exported, that every basic block lowers and that
// ends the guest by a trap when it falls below zero. Tables are bounded, custom sections are left out. The module must
// have passed scan. What was invalid stays invalid: an index that only the additions would make valid is refused there.
func (m *module) meter() []byte { return m.rewrite(true) }

// bare is meter without the counter.
func (m *module) bare() []byte { return m.rewrite(false) }

func (m *module) rewrite(metered bool) []byte { return m.rewriteMerged(metered, costMerged) }

// rewriteMerged is rewrite with another limit for what one charge may pay; with 0 every basic block pays for itself.
func (m *module) rewriteMerged(metered bool, merged int64) []byte {
	out := slices.Clone(m.bytes[:8])
	put := func(id byte, contents []byte) {
		out = append(appendU32(append(out, id), uint32(len(contents))), contents...)
	}
	globals := false
	for _, s := range m.sections {
		contents := m.bytes[s.start:s.end]
		if metered && !globals && rankOf(s.id) >= rankOf(secGlobal) {
			globals = true
			put(secGlobal, m.withGlobal(s))
			if s.id == secGlobal {
				continue
			}
		}
		switch {
		case s.id == secTable:
			put(s.id, m.boundedTables())
		case metered && s.id == secExport:
			put(s.id, m.withExport(s))
		case metered && s.id == secCode:
			put(s.id, m.meteredCode(merged))
		default:
			put(s.id, contents)
		}
	}
	return out
}

// withGlobal is the global section with the counter at its end. It holds the budget of the start, since a start function
// runs before the host can set it.
func (m *module) withGlobal(s section) []byte {
	b := appendU32(nil, uint32(m.globals+1))
	if s.id == secGlobal {
		b = append(b, m.entries(s)...)
	}
	b = append(b, typeI64, 1, opI64Const)
	return append(appendPrice(b, fuelInit), opEnd)
}

func (m *module) withExport(s section) []byte {
	b := appendU32(nil, uint32(len(m.exports)+1))
	b = append(b, m.entries(s)...)
	b = append(appendU32(b, uint32(len(fuelGlobal))), fuelGlobal...)
	return appendU32(append(b, 3), uint32(m.globals))
}

// entries is a section without the count at its head.
func (m *module) entries(s section) []byte {
	r := &reader{b: m.bytes[:s.end], pos: s.start}
	r.u32()
	return r.b[r.pos:]
}

// boundedTables gives every table a limit: the engine has none, and a table of 100 million entries needs a gigabyte.
func (m *module) boundedTables() []byte {
	b := appendU32(nil, uint32(len(m.tables)))
	for _, t := range m.tables {
		high := uint32(maxTable)
		if t.bounded {
			high = min(high, t.max)
		}
		b = appendU32(appendU32(append(b, t.elem, 1), t.min), high)
	}
	return b
}

func (m *module) meteredCode(merged int64) []byte {
	b := appendU32(nil, uint32(len(m.bodies)))
	for i, s := range m.bodies {
		body := m.meteredBody(i, s, merged)
		b = append(appendU32(b, uint32(len(body))), body...)
	}
	return b
}

// writer copies a body and puts charges into it.
type writer struct {
	out     []byte
	global  uint32
	scratch uint32  // two locals of the meter's own: an i64, then an i32
	blocks  []int64 // what each basic block costs, in order
	charges []charge
	merged  int64
	begun   bool // the present block is paid for
}

// charge is a place that pays. It pays for what follows until the block or arm that it stands in ends: structured code
// reaches nothing in there but through it, and nothing twice unless a loop begins, which is why a loop hides it.
type charge struct {
	price int // where the price stands in out; 0 for a loop's barrier
	cost  int64
	depth int
}

func (m *module) meteredBody(i int, s section, merged int64) []byte {
	c := m.code(i, &reader{b: m.bytes[:s.end], pos: s.start})
	w := &writer{global: uint32(m.globals), scratch: uint32(c.locals), blocks: c.basicBlocks(), merged: merged}
	c = m.code(i, &reader{b: m.bytes[:s.end], pos: s.start})
	w.out = append(make([]byte, 0, (s.end-s.start)*2), m.localsWithScratch(s, c.first)...)
	for c.next() {
		w.instruction(c, m.bytes[c.at:c.pos])
	}
	w.leave(0)
	return w.out
}

// basicBlocks is what each block of instructions costs that run together or not at all.
func (c *code) basicBlocks() []int64 {
	blocks := []int64{0}
	for c.next() {
		blocks[len(blocks)-1] += c.price()
		if c.divides() {
			blocks = append(blocks, 0)
		}
	}
	return blocks
}

// divides says whether a basic block ends with the present instruction.
func (c *code) divides() bool {
	switch c.op {
	case opLoop, opIf, opElse, opEnd, opBrIf:
		return true
	}
	return false
}

// localsWithScratch is a body's declarations with the meter's two locals. Locals that nobody uses cost nothing.
func (m *module) localsWithScratch(s section, first int) []byte {
	r := &reader{b: m.bytes[:s.end], pos: s.start}
	groups := r.u32()
	b := append(appendU32(nil, groups+2), m.bytes[r.pos:first]...)
	return append(b, 1, typeI64, 1, typeI32)
}

func (w *writer) instruction(c *code, text []byte) {
	if c.price() > 0 && !w.begun {
		w.pay(c)
	}
	if shift := c.sized(); shift > 0 {
		w.chargeSize(shift)
	}
	switch c.op {
	case opEnd:
		w.leave(c.depth)
	case opElse:
		w.leave(c.depth - 1)
	}
	w.out = append(w.out, text...)
	if c.op == opLoop {
		w.charges = append(w.charges, charge{cost: w.merged, depth: c.depth})
	}
	if c.divides() {
		w.blocks, w.begun = w.blocks[1:], false
	}
}

// pay makes sure that the block that begins is paid for: by the charge before it, or by one of its own.
func (w *writer) pay(c *code) {
	w.begun = true
	cost := w.blocks[0]
	depth := c.depth
	if c.op == opIf || c.op == opBlock || c.op == opLoop {
		depth-- // the charge stands before the block that this instruction opens
	}
	if n := len(w.charges); n > 0 && w.charges[n-1].cost+cost <= w.merged {
		w.charges[n-1].cost += cost
		return
	}
	w.out = appendU32(append(w.out, opGlobalGet), w.global)
	w.out = append(w.out, opI64Const)
	w.charges = append(w.charges, charge{len(w.out), cost, depth})
	w.out = append(appendPrice(w.out, 0), opI64Sub)
	w.store()
}

// leave ends the charges that stand deeper than depth, and writes their prices.
func (w *writer) leave(depth int) {
	n := len(w.charges)
	for ; n > 0 && w.charges[n-1].depth > depth; n-- {
		if c := w.charges[n-1]; c.price > 0 {
			appendPrice(w.out[:c.price], c.cost)
		}
	}
	w.charges = w.charges[:n]
}

// store puts the counter back and traps when it is below zero: its sign is the address of a load, 0 or the last of 4 GiB,
// which no memory here has. A branch would say it more plainly and make the compiler, whose time grows with the square of
// a function's branches, four times slower on the worst module that is accepted.
func (w *writer) store() {
	w.out = appendU32(append(w.out, opLocalTee), w.scratch)
	w.out = appendU32(append(w.out, opGlobalSet), w.global)
	w.out = appendU32(append(w.out, opLocalGet), w.scratch)
	w.out = append(w.out, opI64Const, 63, opI64ShrS, opI32WrapI64, opI32Load8U, 0, 0, opDrop)
}

// chargeSize charges by the number on top of the stack, and leaves it there.
func (w *writer) chargeSize(shift byte) {
	w.out = appendU32(append(w.out, opLocalTee), w.scratch+1)
	w.out = appendU32(append(w.out, opGlobalGet), w.global)
	w.out = appendU32(append(w.out, opLocalGet), w.scratch+1)
	w.out = append(w.out, opExtendU, opI64Const, shift, opI64ShrU, opI64Sub)
	w.store()
}

// appendPrice appends a number of at most 27 bits as a signed LEB128 of four bytes, so that it can be filled in later.
func appendPrice(b []byte, v int64) []byte {
	return append(b, byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14)|0x80, byte(v>>21)&0x3f)
}

// price is what an instruction costs before its operands are known.
func (c *code) price() int64 {
	switch op := c.op; {
	case op == opNop || op == opBlock || op == opLoop || op == opElse || op == opEnd:
		return 0
	case op == opCall || op == opCallIndirect:
		return 1 + costCall
	case op == opMemoryGrow:
		return costGrow
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82, op == 0x91 || op == 0x95, op == 0x9f || op == 0xa3:
		return costDivision // integer division and remainder; sqrt and division of floats
	case op == opVector && (c.sub == 0xe3 || c.sub == 0xe7 || c.sub == 0xef || c.sub == 0xf3):
		return costDivision
	}
	return 1
}

// sized is the shift by which the number on top of the stack is charged; 0 for instructions without one.
func (c *code) sized() byte {
	if c.op != opMisc {
		return 0
	}
	switch c.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		return shiftBytes
	case miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		return shiftEntries
	}
	return 0
}

// charge is what an import costs that handles so many bytes.
func (i *instance) charge(size uint64) {
	if i.fuel == nil {
		return
	}
	left := int64(i.fuel.Get()) - costImport - int64(size>>shiftHost)
	i.fuel.Set(uint64(left))
	if left < 0 {
		panic(faultf(classTimeout, "its budget is used up in a call of the server"))
	}
}
