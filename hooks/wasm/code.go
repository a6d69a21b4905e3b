package wasm

// Instructions that the scan or the meter treats in a way of their own.
const (
	opUnreachable, opNop, opBlock, opLoop, opIf, opElse, opEnd      = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x0b
	opBr, opBrIf, opBrTable, opReturn, opCall, opCallIndirect       = 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11
	opSelectTyped, opLocalGet, opLocalTee, opGlobalGet, opGlobalSet = 0x1c, 0x20, 0x22, 0x23, 0x24
	opTableGet, opTableSet, opMemorySize, opMemoryGrow              = 0x25, 0x26, 0x3f, 0x40
	opI32Const, opI64Const, opI64Sub, opI64ShrS, opI64ShrU          = 0x41, 0x42, 0x7d, 0x87, 0x88
	opExtendU, opI32WrapI64, opI32Load8U, opDrop                    = 0xad, 0xa7, 0x2d, 0x1a
	opRefNull, opRefIsNull, opRefFunc, opMisc, opVector             = 0xd0, 0xd1, 0xd2, 0xfc, 0xfd
	miscMemoryInit, miscDataDrop, miscMemoryCopy, miscMemoryFill    = 8, 9, 10, 11
	miscTableInit, miscElemDrop, miscTableCopy                      = 12, 13, 14
	miscTableGrow, miscTableSize, miscTableFill                     = 15, 16, 17
)

// code walks one function's instructions.
type code struct {
	*reader
	m      *module
	locals int // parameters included
	first  int // where the instructions begin

	at     int  // where the present instruction begins
	op     byte // what it is
	sub    uint32
	depth  int // blocks that are open, the function's own included
	blocks int // places where the flow divides or meets, which is what compiling depends on
}

// code reads the head of a body: its locals. Instructions follow by next.
func (m *module) code(i int, r *reader) *code {
	c := &code{reader: r, m: m, depth: 1}
	locals := len(m.types[m.funcs[i]].params)
	for range r.count("groups of locals", 2) {
		n := r.u32()
		r.byte()
		if n > maxLocals || locals+int(n) > maxLocals {
			r.fail("function %d has more than %d locals", len(m.imports)+i, maxLocals)
			break
		}
		locals += int(n)
	}
	c.locals, c.first = locals, r.pos
	return c
}

// next moves to the next instruction; false after the last one, or after an error.
func (c *code) next() bool {
	if c.err != nil || c.depth == 0 {
		if c.err == nil && c.left() > 0 {
			c.fail("instructions after a function's end")
		}
		return false
	}
	c.at = c.pos
	c.op = c.byte()
	switch c.op {
	case opBlock, opLoop, opIf:
		c.depth++
		c.blocks++
		c.signed(5)
	case opElse, opBrIf, opBrTable, opMemoryGrow, opMisc:
		c.blocks++
		c.immediates()
	case opEnd:
		c.depth--
	default:
		c.immediates()
	}
	return c.err == nil
}

// immediates skips what belongs to an instruction. Indices that the meter's own additions would make valid are checked.
func (c *code) immediates() {
	switch op := c.op; {
	case op <= opElse || op == opReturn || op == opDrop || op == 0x1b || op >= 0x45 && op <= 0xc4 || op == opRefIsNull:
	case op == opBr || op == opBrIf || op == opCall || op == opTableGet || op == opTableSet || op == opRefFunc:
		c.u32()
	case op == opBrTable:
		for range c.count("branches", 1) {
			c.u32()
		}
		c.u32()
	case op == opCallIndirect:
		c.u32()
		c.u32()
	case op == opSelectTyped:
		c.bytes(c.count("types", 1))
	case op >= opLocalGet && op <= opLocalTee:
		if n := c.u32(); int64(n) >= int64(c.locals) {
			c.fail("local %d is not declared", n)
		}
	case op == opGlobalGet || op == opGlobalSet:
		if n := c.u32(); int64(n) >= int64(c.m.globals) {
			c.fail("global %d is not declared", n)
		}
	case op >= 0x28 && op <= 0x3e:
		c.u32()
		c.u32()
	case op == opMemorySize || op == opMemoryGrow:
		c.zero()
	case op == opI32Const:
		c.signed(5)
	case op == opI64Const:
		c.signed(10)
	case op == 0x43:
		c.bytes(4)
	case op == 0x44:
		c.bytes(8)
	case op == opRefNull:
		c.heapType()
	case op == opMisc:
		c.misc()
	case op == opVector:
		c.vector()
	default:
		c.fail("instruction %#x is not taken", op)
	}
}

func (c *code) zero() {
	if c.byte() != 0 {
		c.fail("only memory 0 is taken")
	}
}

func (c *code) misc() {
	c.sub = uint32(c.byte())
	switch c.sub {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case miscMemoryInit:
		c.u32()
		c.zero()
	case miscMemoryCopy:
		c.zero()
		c.zero()
	case miscMemoryFill:
		c.zero()
	case miscTableInit, miscTableCopy:
		c.u32()
		c.u32()
	case miscDataDrop, miscElemDrop, miscTableGrow, miscTableSize, miscTableFill:
		c.u32()
	default:
		c.fail("instruction %#x %d is not taken", opMisc, c.sub)
	}
}

// vector skips a SIMD instruction. Its number must be written in the shortest way: the engine reads one byte and takes a
// following 01 for a nop, so another spelling would mean two different things to it and to us.
func (c *code) vector() {
	c.sub = uint32(c.byte())
	if c.sub >= 0x80 && c.byte() != 1 {
		c.fail("instruction %#x %#x is not taken", opVector, c.sub)
	}
	switch s := c.sub; {
	case s <= 11 || s == 92 || s == 93:
		c.u32()
		c.u32()
	case s == 12 || s == 13:
		c.bytes(16)
	case s >= 21 && s <= 34:
		c.byte()
	case s >= 84 && s <= 91:
		c.u32()
		c.u32()
		c.byte()
	}
}
