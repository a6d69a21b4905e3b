// Package wat assembles a subset of WebAssembly's text format, enough for hooks written by hand: functions, one memory,
// tables, globals, data, all integer and float instructions, bulk memory. Tests and the conformance guest use it, so that
// they need no toolchain. Instructions may be flat or folded; inline type uses are declared as they appear.
package wat

import (
	"fmt"
	"strconv"
	"strings"
)

// node is an atom, a string or a list.
type node struct {
	atom string
	str  []byte
	list []node
	kind byte // a, s or l
	line int
}

// Assemble makes a module of its text. An error names the line.
func Assemble(src string) (out []byte, err error) {
	p := &parser{src: src, line: 1}
	root, err := p.node()
	if err != nil {
		return nil, err
	}
	m := &builder{}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case mistake:
			err = e
		default: // an index or a nil that a malformed field led to
			err = fmt.Errorf("malformed text: %v", e)
		}
	}()
	m.module(root)
	return m.encode(), nil
}

// mistake is an error in the text; it travels by panic inside this package.
type mistake struct{ error }

func (n node) fail(format string, args ...any) {
	panic(mistake{fmt.Errorf("line %d: "+format, append([]any{n.line}, args...)...)})
}

// head is the first word of a list.
func (n node) head() string {
	if n.kind == 'l' && len(n.list) > 0 {
		return n.list[0].atom
	}
	return ""
}

func (n node) number() int64 {
	text := strings.ReplaceAll(n.atom, "_", "")
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		return v
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		n.fail("%q is no number", n.atom)
	}
	return int64(v)
}

type parser struct {
	src  string
	pos  int
	line int
}

// skip passes over space and comments.
func (p *parser) skip() {
	for p.pos < len(p.src) {
		switch rest := p.src[p.pos:]; {
		case rest[0] == '\n':
			p.line++
			p.pos++
		case rest[0] <= ' ':
			p.pos++
		case strings.HasPrefix(rest, ";;"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.pos += end
		default:
			return
		}
	}
}

func (p *parser) node() (node, error) {
	p.skip()
	if p.pos >= len(p.src) {
		return node{}, fmt.Errorf("line %d: the text ends too early", p.line)
	}
	switch p.src[p.pos] {
	case '(':
		return p.parens()
	case ')':
		return node{}, fmt.Errorf("line %d: a ) too many", p.line)
	case '"':
		return p.text()
	}
	start := p.pos
	for p.pos < len(p.src) && !strings.ContainsRune(" \t\r\n()\";", rune(p.src[p.pos])) {
		p.pos++
	}
	return node{atom: p.src[start:p.pos], kind: 'a', line: p.line}, nil
}

func (p *parser) parens() (node, error) {
	n := node{kind: 'l', line: p.line}
	p.pos++
	for {
		p.skip()
		if p.pos < len(p.src) && p.src[p.pos] == ')' {
			p.pos++
			return n, nil
		}
		child, err := p.node()
		if err != nil {
			return n, err
		}
		n.list = append(n.list, child)
	}
}

// text reads a string with its escapes: \n \t \\ \" and two hex digits.
func (p *parser) text() (node, error) {
	n := node{kind: 's', line: p.line, str: []byte{}}
	for p.pos++; p.pos < len(p.src); p.pos++ {
		c := p.src[p.pos]
		if c == '"' {
			p.pos++
			return n, nil
		}
		if c != '\\' || p.pos+2 >= len(p.src) {
			n.str = append(n.str, c)
			continue
		}
		p.pos++
		switch c := p.src[p.pos]; c {
		case 'n':
			n.str = append(n.str, '\n')
		case 't':
			n.str = append(n.str, '\t')
		case '\\', '"':
			n.str = append(n.str, c)
		default:
			v, err := strconv.ParseUint(p.src[p.pos:p.pos+2], 16, 8)
			if err != nil {
				return n, fmt.Errorf("line %d: unknown escape", p.line)
			}
			n.str = append(n.str, byte(v))
			p.pos++
		}
	}
	return n, fmt.Errorf("line %d: a string does not end", p.line)
}
