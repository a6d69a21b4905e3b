package stream

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// matcher finds where secrets may begin and steps through their bodies. All bodies are one program: the instructions
// of the regular expressions, and after them one number for each byte of the literal secrets. It is immutable.
//
// The standard library's regexp cannot say that a text might still become a match, which is what decides how much of
// an output must wait; so only its parser and compiler are used, and Redactor runs the program.
type matcher struct {
	insts []syntax.Inst
	rules []rule
	owner []int // of each instruction: its rule

	literals []byte // the secrets, one after the other
	ends     []int  // for each of its bytes, where its secret ends
	starts   [256][]int
	longest  int

	leads   *[256][]lead // by their last byte
	leadEnd *pairs       // the last two bytes of leads
	custom  []int        // rules without a lead
	first   [256]bool    // bytes that a custom match or a secret may begin with
	begin   pairs        // the first two bytes of those
	either  pairs        // begin and leadEnd: the only table that plain text is looked up in
}

type rule struct {
	start uint32
	block bool
	group *regexp.Regexp // set if only the first group is secret
}

type lead struct {
	text       string
	fold, word bool
	rule       int
	last       uint32 // its last three bytes without their case
}

// pairs is a set of two bytes.
type pairs [1 << 16 / 64]uint64

func (p *pairs) add(a, b byte)      { p[uint(a)<<2|uint(b)>>6] |= 1 << (b & 63) }
func (p *pairs) has(a, b byte) bool { return p[uint(a)<<2|uint(b)>>6]&(1<<(b&63)) != 0 }

func emptyMatcher() *matcher { return &matcher{leads: new([256][]lead), leadEnd: new(pairs)} }

func newMatcher(all []shape) (*matcher, error) {
	m := emptyMatcher()
	for i, s := range all {
		parsed, err := syntax.Parse(s.body, syntax.Perl)
		if err != nil {
			return nil, err
		}
		groups := parsed.MaxCap()
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return nil, err
		}
		r := rule{start: m.link(prog, i), block: s.block}
		if groups > 0 {
			if r.group, err = regexp.Compile(`\A(?:` + s.body + `)\z`); err != nil {
				return nil, err
			}
		}
		m.rules = append(m.rules, r)
		if len(s.leads) == 0 {
			m.custom = append(m.custom, i)
			m.addFirst(r.start)
		}
		for _, text := range s.leads {
			m.addLead(lead{text: text, fold: s.fold, word: s.word, rule: i})
		}
	}
	return m, nil
}

// link appends a program and returns where it starts.
func (m *matcher) link(prog *syntax.Prog, owner int) uint32 {
	base := uint32(len(m.insts))
	for _, inst := range prog.Inst {
		inst.Out += base
		if inst.Op == syntax.InstAlt || inst.Op == syntax.InstAltMatch {
			inst.Arg += base
		}
		m.insts = append(m.insts, inst)
		m.owner = append(m.owner, owner)
	}
	return base + uint32(prog.Start)
}

func (m *matcher) addLead(l lead) {
	n := len(l.text)
	a, b := l.text[n-2], l.text[n-1]
	l.last = lastThree([]byte(l.text))
	m.leads[b] = append(m.leads[b], l)
	m.addEnd(a, b)
	if l.fold {
		upA, upB := upper(a), upper(b)
		if upB != b {
			m.leads[upB] = append(m.leads[upB], l)
		}
		m.addEnd(upA, b)
		m.addEnd(a, upB)
		m.addEnd(upA, upB)
	}
}

func (m *matcher) addEnd(a, b byte) {
	m.leadEnd.add(a, b)
	m.either.add(a, b)
}

// lastThree is what tells most texts from a lead at the price of one comparison.
func lastThree(p []byte) uint32 {
	n := len(p)
	return (uint32(p[n-3])<<16 | uint32(p[n-2])<<8 | uint32(p[n-1])) | 0x202020
}

// addFirst notes which two bytes a match may begin with. Conditions like \b are taken as met and characters beyond
// ASCII by their class only: the tables may promise too much, never too little.
func (m *matcher) addFirst(start uint32) {
	for _, i := range m.reach(start, nil) {
		inst := &m.insts[i]
		after := m.reach(inst.Out, nil)
		for a := range 256 {
			if !mayMatch(inst, byte(a)) {
				continue
			}
			m.first[a] = true
			for b := range 256 {
				if a >= utf8.RuneSelf || m.accepts(after, byte(b)) {
					m.begin.add(byte(a), byte(b))
					m.either.add(byte(a), byte(b))
				}
			}
		}
	}
}

func (m *matcher) accepts(after []uint32, b byte) bool {
	for _, i := range after {
		if m.insts[i].Op == syntax.InstMatch || mayMatch(&m.insts[i], b) {
			return true
		}
	}
	return false
}

// reach returns the instructions that read a character, or end the match, and can be reached without reading one.
func (m *matcher) reach(pc uint32, found []uint32) []uint32 {
	seen := map[uint32]bool{}
	var walk func(uint32)
	walk = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch inst := &m.insts[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			walk(inst.Out)
			walk(inst.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			walk(inst.Out)
		case syntax.InstFail:
		default:
			found = append(found, pc)
		}
	}
	walk(pc)
	return found
}

// mayMatch reports whether a character that begins with byte b can be what the instruction reads.
func mayMatch(inst *syntax.Inst, b byte) bool {
	switch inst.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	case syntax.InstRune, syntax.InstRune1:
	default:
		return false
	}
	if b < utf8.RuneSelf {
		return inst.MatchRune(rune(b))
	}
	if len(inst.Rune) == 1 {
		for r := inst.Rune[0]; ; {
			if r >= utf8.RuneSelf {
				return true
			}
			if r = unicode.SimpleFold(r); r == inst.Rune[0] {
				return false
			}
		}
	}
	for _, r := range inst.Rune {
		if r >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// with returns the matcher that finds the secrets too; nil if there is nothing to find.
func (m *matcher) with(secrets []string) *matcher {
	if len(secrets) == 0 {
		return m
	}
	n := emptyMatcher()
	if m != nil {
		*n = *m
	}
	for _, s := range secrets {
		at := len(n.literals)
		n.literals = append(n.literals, s...)
		for range len(s) {
			n.ends = append(n.ends, len(n.literals))
		}
		n.starts[s[0]] = append(n.starts[s[0]], at)
		n.first[s[0]] = true
		n.begin.add(s[0], s[1])
		n.either.add(s[0], s[1])
		n.longest = max(n.longest, len(s))
	}
	return n
}

// scan returns the first position from pos on where something has to be looked at: where a custom match or a secret
// may begin, or, if after is true, behind a lead. Without one it returns len(p).
func (m *matcher) scan(p []byte, pos int) (at int, after bool) {
	for i := max(0, pos-1); i+1 < len(p); i++ {
		if !m.either.has(p[i], p[i+1]) {
			continue
		}
		if i >= pos && m.begin.has(p[i], p[i+1]) && m.begins(p, i) {
			return i, false
		}
		if m.leadEnd.has(p[i], p[i+1]) && m.leadEnds(p, i+2) {
			return i + 2, true
		}
	}
	if n := len(p); n > pos && m.first[p[n-1]] && (utf8.RuneStart(p[n-1]) || m.starts[p[n-1]] != nil) {
		return n - 1, false
	}
	return len(p), false
}

// begins reports whether a secret begins at i, as far as p goes, or a custom match may.
func (m *matcher) begins(p []byte, i int) bool {
	if len(m.custom) > 0 && utf8.RuneStart(p[i]) {
		return true
	}
	for _, s := range m.starts[p[i]] {
		text := m.literals[s:m.ends[s]]
		if n := min(len(text), len(p)-i); bytes.Equal(text[:n], p[i:i+n]) {
			return true
		}
	}
	return false
}

func (m *matcher) leadEnds(p []byte, end int) bool {
	if end < 3 {
		return false
	}
	leads := m.leads[p[end-1]]
	last := lastThree(p[:end])
	for i := range leads {
		if leads[i].last == last && leads[i].endsAt(p, end) {
			return true
		}
	}
	return false
}

func (l *lead) endsAt(p []byte, end int) bool {
	at := end - len(l.text)
	if at < 0 || (l.word && at > 0 && isWord(p[at-1])) {
		return false
	}
	if !l.fold {
		return string(p[at:end]) == l.text
	}
	for i := range len(l.text) {
		if c := p[at+i]; c != l.text[i] && (c < 'A' || c > 'Z' || c-'A'+'a' != l.text[i]) {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}
