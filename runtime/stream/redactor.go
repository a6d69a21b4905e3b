package stream

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	redacted = "[redacted]"
	// context is how much of what was passed on is remembered: a lead may begin in it. It is longer than any lead.
	context = 64
	// maxHeld is how long a text may be held back because it might become a secret, where no secret is longer.
	maxHeld = 8 << 10
	// maxBlock is how much of a private key is hidden that does not end.
	maxBlock = 64 << 10
)

// Redactor replaces the secrets in one stream, wherever the writes cut it. It holds back only what may still become a
// secret, at most 8 KiB (64 KiB in a private key); a longer match is replaced as far as it is one.
// It serves one goroutine.
//
// Where several rules match, the leftmost match is taken, and the longest of those.
type Redactor struct {
	m    *matcher
	buf  []byte
	sent int // buf[:sent] was passed on and serves as context
	pos  int // buf[:pos] was read; never less than sent

	threads, next []thread // in order of their starts
	seen, queued  []uint32 // instructions visited in this round, and those in next
	round         uint32
	best          match
	cut           bool // best was replaced already, since it grew too long: what it still takes in is dropped
	out           []byte
}

// thread is one way in which a match that began at start may go on.
type thread struct {
	pc    uint32
	start int
}

type match struct {
	start, end int // none if end is 0
	rule       int // -1: a literal
}

// Write takes the next bytes and returns those that can be passed on. The result is valid until the next call; it may
// be p itself.
func (r *Redactor) Write(p []byte) []byte {
	if r.m == nil {
		return p
	}
	if len(r.threads) == 0 && r.sent == len(r.buf) && r.harmless(p) {
		r.remember(p)
		return p
	}
	r.trim()
	r.buf = append(r.buf, p...)
	return r.run(false)
}

// Flush ends the stream and returns what was held back.
func (r *Redactor) Flush() []byte {
	if r.m == nil {
		return nil
	}
	r.trim()
	return r.run(true)
}

// harmless reports that no secret begins, ends or lies in p, nothing being under way.
func (r *Redactor) harmless(p []byte) bool {
	if wholeRunes(p) < len(p) {
		return false
	}
	var border [2 * context]byte
	n := copy(border[:], r.buf[max(0, len(r.buf)-context):])
	end := n + copy(border[n:], p[:min(len(p), context)])
	for i := n; i < end; i++ {
		if i > 0 && r.m.leadEnd.has(border[i-1], border[i]) && r.m.leadEnds(border[:end], i+1) {
			return false
		}
	}
	at, after := r.m.scan(p, 0)
	return at == len(p) && !after
}

// remember keeps the end of what was passed on.
func (r *Redactor) remember(p []byte) {
	if len(p) >= context {
		r.buf = append(r.buf[:0], p[len(p)-context:]...)
	} else {
		r.trim()
		r.buf = append(r.buf, p...)
	}
	r.sent, r.pos = len(r.buf), len(r.buf)
}

// trim forgets what is not needed as context any more.
func (r *Redactor) trim() {
	n := r.sent - context
	if n <= 0 {
		return
	}
	r.buf = append(r.buf[:0], r.buf[n:]...)
	r.sent -= n
	r.pos -= n
	for i := range r.threads {
		r.threads[i].start -= n
	}
	if r.best.end > 0 {
		r.best.start -= n
		r.best.end -= n
	}
}

// run reads as far as it can and returns what may be passed on.
func (r *Redactor) run(final bool) []byte {
	r.out = r.out[:0]
	for {
		r.read(final)
		if !r.settle(final) {
			break
		}
	}
	held := len(r.buf)
	if !final {
		held = r.held()
	}
	if r.cut {
		r.sent = held
	}
	pass := r.buf[r.sent:held]
	r.sent = held
	if len(r.out) == 0 {
		return pass
	}
	r.out = append(r.out, pass...)
	return r.out
}

// read steps to the end of buf, replacing what is found on the way.
func (r *Redactor) read(final bool) {
	for {
		if len(r.threads) == 0 {
			if r.best.end > 0 {
				r.replace()
				continue
			}
			at, after := r.m.scan(r.buf, r.pos)
			if !final {
				at = max(r.pos, min(at, wholeRunes(r.buf)))
			}
			r.pos = at
			if after {
				r.enterLeads()
				continue
			}
		}
		if r.pos >= len(r.buf) || (!final && !utf8.FullRune(r.buf[r.pos:])) {
			return
		}
		if r.best.end == 0 {
			r.enter()
		}
		c, size := utf8.DecodeRune(r.buf[r.pos:])
		if len(r.threads) > 0 {
			r.step(c, size)
		}
		r.pos += size
		if r.best.end == 0 {
			r.enterLeads()
		}
	}
}

// settle decides what cannot wait: at the end of the output, or when too much is held. It reports whether that gave
// read something to do.
func (r *Redactor) settle(final bool) bool {
	if final {
		return r.finish()
	}
	for {
		held := r.held()
		size := len(r.buf) - held
		switch {
		case size <= max(maxHeld, r.m.longest):
			return false
		case r.best.end > 0 && (r.cut || r.best.start == held):
			if r.cut {
				r.threads = r.threads[:0]
				return true
			}
			r.show()
			r.cut, r.sent = true, r.best.end
		case r.block() == held:
			if size <= maxBlock {
				return false
			}
			end := held + maxBlock
			for !utf8.RuneStart(r.buf[end]) && end > held {
				end--
			}
			r.best = match{start: held, end: end, rule: -1}
			r.threads = r.threads[:0]
			return true
		default: // too long to be found
			n := 0
			for n < len(r.threads) && r.threads[n].start == held {
				n++
			}
			if n == 0 {
				return false
			}
			r.threads = slices.Delete(r.threads, 0, n)
		}
	}
}

// finish settles what is under way at the end of the output.
func (r *Redactor) finish() bool {
	block := r.block()
	if len(r.threads) > 0 {
		r.step(-1, 0)
		r.threads = r.threads[:0]
	}
	if block >= 0 && (r.best.end == 0 || block <= r.best.start) {
		r.best = match{start: block, end: len(r.buf), rule: -1}
	}
	if r.best.end == 0 {
		return false
	}
	r.replace()
	return r.pos < len(r.buf)
}

// held is where the bytes begin that cannot be passed on yet.
func (r *Redactor) held() int {
	held := r.pos
	if r.cut {
		return r.best.end
	}
	if r.best.end > 0 {
		held = r.best.start
	}
	if len(r.threads) > 0 {
		held = min(held, r.threads[0].start)
	}
	return held
}

// block returns the start of a private key that is being read, -1 if there is none.
func (r *Redactor) block() int {
	for _, t := range r.threads {
		if int(t.pc) < len(r.m.insts) && r.m.rules[r.m.owner[t.pc]].block {
			return t.start
		}
	}
	return -1
}

// show writes what stands for best.
func (r *Redactor) show() {
	r.out = append(r.out, r.buf[r.sent:r.best.start]...)
	text := r.buf[r.best.start:r.best.end]
	if r.best.rule >= 0 {
		if group := r.m.rules[r.best.rule].group; group != nil {
			if at := group.FindSubmatchIndex(text); at != nil && at[2] >= 0 {
				r.out = append(r.out, text[:at[2]]...)
				r.out = append(r.out, redacted...)
				r.out = append(r.out, text[at[3]:]...)
				return
			}
		}
	}
	r.out = append(r.out, redacted...)
}

// replace puts the mark in the place of best and reads on behind it.
func (r *Redactor) replace() {
	if !r.cut {
		r.show()
	}
	r.sent, r.pos = r.best.end, r.best.end
	r.best, r.cut = match{}, false
}

// enterLeads begins the bodies whose lead ends at pos.
func (r *Redactor) enterLeads() {
	if r.pos < 3 || !r.m.leadEnd.has(r.buf[r.pos-2], r.buf[r.pos-1]) {
		return
	}
	leads := r.m.leads[r.buf[r.pos-1]]
	for i := range leads {
		if leads[i].endsAt(r.buf, r.pos) {
			r.threads = append(r.threads, thread{r.m.rules[leads[i].rule].start, r.pos})
		}
	}
}

// enter begins what may start with the byte at pos.
func (r *Redactor) enter() {
	c := r.buf[r.pos]
	if !r.m.first[c] || (r.pos+1 < len(r.buf) && !r.m.begin.has(c, r.buf[r.pos+1])) {
		return
	}
	for _, i := range r.m.custom {
		r.threads = append(r.threads, thread{r.m.rules[i].start, r.pos})
	}
	for _, at := range r.m.starts[c] {
		r.threads = append(r.threads, thread{uint32(len(r.m.insts) + at), r.pos})
	}
}

// step lets every thread read the character c of size bytes at pos; at the end of the output c is -1.
func (r *Redactor) step(c rune, size int) {
	if r.seen == nil {
		r.seen = make([]uint32, len(r.m.insts))
		r.queued = make([]uint32, len(r.m.insts)+len(r.m.literals))
	}
	r.round++
	if r.round == 0 {
		clear(r.seen)
		clear(r.queued)
		r.round = 1
	}
	before := rune(-1)
	if r.pos > 0 {
		before, _ = utf8.DecodeLastRune(r.buf[:r.pos])
	}
	flags := syntax.EmptyOpContext(before, c)
	r.next = r.next[:0]
	for _, t := range r.threads {
		if r.best.end > 0 && t.start > r.best.start {
			break
		}
		if int(t.pc) >= len(r.m.insts) {
			r.stepLiteral(t, size)
		} else if r.follow(t.pc, t.start, flags, c) {
			break
		}
	}
	r.threads, r.next = r.next, r.threads
}

func (r *Redactor) stepLiteral(t thread, size int) {
	at := int(t.pc) - len(r.m.insts)
	end := r.m.ends[at]
	if size == 0 || at+size > end || !bytes.Equal(r.m.literals[at:at+size], r.buf[r.pos:r.pos+size]) {
		return
	}
	if at+size == end {
		r.found(match{t.start, r.pos + size, -1})
		return
	}
	r.queue(t.pc+uint32(size), t.start)
}

// follow goes on from pc with the character c. It reports that a block ended, so that no other thread matters.
func (r *Redactor) follow(pc uint32, start int, flags syntax.EmptyOp, c rune) (done bool) {
	for r.seen[pc] != r.round {
		r.seen[pc] = r.round
		inst := &r.m.insts[pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			if r.follow(inst.Out, start, flags, c) {
				return true
			}
			pc = inst.Arg
			continue
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags != 0 {
				return false
			}
			pc = inst.Out
			continue
		case syntax.InstCapture, syntax.InstNop:
			pc = inst.Out
			continue
		case syntax.InstMatch:
			owner := r.m.owner[pc]
			r.found(match{start, r.pos, owner})
			if r.m.rules[owner].block {
				r.next = slices.DeleteFunc(r.next, func(t thread) bool { return t.start >= start })
				return true
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if c >= 0 && inst.MatchRune(c) {
				r.queue(inst.Out, start)
			}
		}
		return false
	}
	return false
}

func (r *Redactor) queue(pc uint32, start int) {
	if r.queued[pc] != r.round {
		r.queued[pc] = r.round
		r.next = append(r.next, thread{pc, start})
	}
}

// found notes a match if it is further left than the best one, or as far left and longer.
func (r *Redactor) found(m match) {
	if m.end == m.start {
		return
	}
	if r.best.end == 0 || m.start < r.best.start || (m.start == r.best.start && m.end > r.best.end) {
		r.best = m
	}
}

// wholeRunes is the length of p without an incomplete character at its end.
func wholeRunes(p []byte) int {
	for i := len(p) - 1; i >= max(0, len(p)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}
