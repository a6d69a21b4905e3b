package shell

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// maxFrames is how deep the parser's own recursion may go. A stack overflow cannot be recovered from: 140 KB of
// opening parentheses would end the process.
const maxFrames = 3000

// ErrDepth is the parse error of a text that is nested too deeply.
var ErrDepth = errors.New("nested too deeply")

// Known says whether there is a grammar for this shell.
func Known(shell string) bool { return shell == "bash" || shell == "sh" || shell == "dash" }

func variant(shell string) syntax.LangVariant {
	if shell == "bash" {
		return syntax.LangBash
	}
	return syntax.LangPOSIX
}

// Reader hands text to a parser in the pieces of a kilobyte that it asks for, and looks at the depth of the calling stack
// before each, so that nesting fails with ErrDepth at a constant cost: a piece can add 7 MB of stack at most.
type Reader struct {
	rest  string
	begun bool
	pcs   [1]uintptr
	last  func() // called once, when the text is used up and before the end is told
}

// Reset makes r read text from its beginning.
func (r *Reader) Reset(text string) { r.rest, r.begun, r.last = text, false, nil }

func (r *Reader) Read(p []byte) (int, error) {
	if r.begun && r.rest != "" && runtime.Callers(maxFrames, r.pcs[:]) > 0 {
		return 0, ErrDepth // neither the first piece nor the end can add to the depth
	}
	r.begun = true
	if r.rest == "" {
		if r.last != nil {
			r.last()
			r.last = nil
		}
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// parsers are kept for their buffers, which are most of what the parse of a short text costs.
var parsers = sync.Pool{New: func() any { return &pooled{parser: syntax.NewParser()} }}

type pooled struct {
	parser *syntax.Parser
	reader Reader
}

// Parse reads text as the given shell does. The error is a syntax error or ErrDepth.
func Parse(text, shell string) (*syntax.File, error) {
	p := parsers.Get().(*pooled)
	p.reader.Reset(text)
	syntax.Variant(variant(shell))(p.parser)
	file, err := p.parser.Parse(&p.reader, "")
	if err == nil { // a parser that failed keeps too much of what it was doing
		p.reader.Reset("")
		parsers.Put(p)
	}
	return file, err
}

// Complete says whether text is whole: a shell that reads it line by line would run it now and wait for nothing more.
// Text that no continuation can repair is whole too; the shell will say so itself. For a shell without a grammar
// the end of the line is the end of the statement.
func Complete(text, shell string) bool {
	if !strings.HasSuffix(text, "\n") {
		return false
	}
	if !Known(shell) {
		return true
	}
	whole := true
	p := syntax.NewParser(syntax.Variant(variant(shell)))
	r := &Reader{rest: text}
	r.last = func() { whole = !p.Incomplete() }
	_, err := p.Parse(r, "")
	if err == nil {
		return whole
	}
	return !syntax.IsIncomplete(err) && !strings.Contains(err.Error(), "unclosed here-document")
}

// SplitAnd returns the parts of a text that is nothing but a list joined by && at its top level, in order. Operators in
// quotes, substitutions and groups do not split. Any other text is one part, and the second value is false; so is a
// text with a here-document, whose body stands apart from its command.
func SplitAnd(text, shell string) ([]string, bool) {
	one := []string{text}
	if !Known(shell) || strings.Contains(text, "<<") {
		return one, false
	}
	file, err := Parse(text, shell)
	if err != nil || len(file.Stmts) != 1 {
		return one, false
	}
	var parts []string
	for s := file.Stmts[0]; ; {
		list, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || list.Op == syntax.Pipe || list.Op == syntax.PipeAll {
			parts = append(parts, source(text, s))
			break
		}
		if list.Op != syntax.AndStmt || s.Negated || s.Background || len(s.Redirs) > 0 {
			return one, false
		}
		parts = append(parts, source(text, list.Y))
		s = list.X
	}
	if len(parts) < 2 {
		return one, false
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return parts, true
}

func source(text string, s *syntax.Stmt) string {
	end := s.End().Offset()
	if s.Semicolon.IsValid() {
		end = s.Semicolon.Offset()
	}
	return strings.TrimSpace(text[s.Pos().Offset():end])
}
