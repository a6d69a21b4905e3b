package wasm

import "fmt"

// reader takes a module apart. After the first error every further read returns zero, so that callers check once.
type reader struct {
	b   []byte
	pos int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: "+format, append([]any{r.pos}, args...)...)
	}
}

func (r *reader) left() int { return len(r.b) - r.pos }

func (r *reader) byte() byte {
	if r.err != nil || r.left() < 1 {
		r.fail("it ends too early")
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

// bytes returns the next n bytes, a part of the module.
func (r *reader) bytes(n int) []byte {
	if r.err != nil || n < 0 || r.left() < n {
		r.fail("it ends too early")
		return nil
	}
	r.pos += n
	return r.b[r.pos-n : r.pos]
}

// u32 reads an unsigned LEB128 number.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.fail("a number has more than 32 bits")
	return 0
}

// signed skips a signed LEB128 number of at most n bytes: 5 for 32 and 33 bits, 10 for 64.
func (r *reader) signed(n int) {
	for range n {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("a number is too long")
}

// count reads how many entries follow, each of at least size bytes. A count that the rest cannot hold is refused here,
// before the engine allocates by it: sixteen bytes that announce four billion imports would end the process.
func (r *reader) count(what string, size int) int {
	n := r.u32()
	if r.err == nil && uint64(n)*uint64(size) > uint64(r.left()) {
		r.fail("it announces %d %s in %d bytes", n, what, r.left())
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) name() string { return string(r.bytes(r.count("bytes of a name", 1))) }

// sub returns a reader of the next n bytes, with positions of the whole.
func (r *reader) sub(n uint32) *reader {
	if r.err == nil && uint64(n) > uint64(r.left()) {
		r.fail("a part of %d bytes does not fit into %d", n, r.left())
	}
	if r.err != nil {
		return &reader{err: r.err}
	}
	part := &reader{b: r.b[:r.pos+int(n)], pos: r.pos}
	r.pos += int(n)
	return part
}

// done fails unless everything was read.
func (r *reader) done(what string) error {
	if r.left() != 0 {
		r.fail("%d bytes too many in %s", r.left(), what)
	}
	return r.err
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}
