package stream

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/job"
)

// Style says how output is rendered.
type Style struct {
	View    job.View
	Session string // for the next call that a marker names; "" if there will be nothing to call
	Limit   int    // characters shown over both streams; 0 or less: no limit. In base64 it counts the bytes meant
}

// Shown is output as an agent reads it.
type Shown struct {
	Stdout, Stderr job.Text
	Truncated      bool
	OmittedAt      int64 // position of the first byte left out, when Truncated
	Notes          []string
}

// windowSize is how much of the beginning and of the end of a long output is looked at, so that showing it costs the
// same however much there is.
const windowSize = 256 << 10

// Show renders everything a log has, running or finished. What is over the limit leaves the head and the tail of each
// stream, with one marker line between them that is not counted: how much and which lines are left out, lines among
// them that look like errors, and the call that reads on. A stream that needs less than half of the limit leaves the
// rest to the other.
func Show(l *Log, st Style) Shown {
	views := []int{0, 1}
	if st.View.Merged {
		views = []int{bothViews}
	}
	if st.View.Base64 {
		return showBase64(l, st, views)
	}
	limit := st.Limit
	if limit <= 0 {
		limit = int(DefaultBytes)
	}
	columns := make([]column, len(views))
	l.mu.Lock()
	for i, view := range views {
		columns[i] = l.column(view, max(windowSize, utf8.UTFMax*limit))
	}
	l.mu.Unlock()

	texts := make([][]byte, len(views)) // what is shown of a whole column
	need := make([]int, 2)
	for i := range columns {
		texts[i], need[i] = columns[i].text(st)
	}
	quotas := share(limit, need[0], need[1])
	var shown Shown
	for i := range columns {
		c := &columns[i]
		text := job.Text{Data: texts[i], Total: c.total}
		if c.binary() {
			text.Omitted = c.total
			shown.omit(c.first())
		} else if !c.whole || need[i] > quotas[i] {
			var at int64
			text.Data, text.Omitted, at = c.cut(quotas[i], st)
			shown.omit(at)
		}
		*shown.text(i) = text
	}
	return shown
}

func (s *Shown) text(i int) *job.Text {
	if i == 1 {
		return &s.Stderr
	}
	return &s.Stdout
}

func (s *Shown) omit(at int64) {
	if !s.Truncated || at < s.OmittedAt {
		s.OmittedAt = at
	}
	s.Truncated = true
}

// share divides a limit between two that need a and b.
func share(limit, a, b int) [2]int {
	half := limit / 2
	switch {
	case a+b <= limit:
		return [2]int{a, b}
	case a <= half:
		return [2]int{a, limit - a}
	case b <= half:
		return [2]int{limit - b, b}
	}
	return [2]int{limit - half, half}
}

// readable is p as text: folded unless raw is asked for, and valid UTF-8.
func readable(p []byte, st Style) []byte {
	if !st.View.Raw {
		p = Fold(p)
	}
	return Repair(p)
}

// binaryLine stands for a stream that is no text.
func binaryLine(n int64) []byte {
	return fmt.Appendf(nil, "binary, %d bytes; base64=true gives them", n)
}

// text returns a whole column's text and its length in characters. Of one that is not whole, or no text, the text is
// what stands for it, and the length is beyond any limit if it has to be cut.
func (c *column) text(st Style) ([]byte, int) {
	if c.binary() {
		return binaryLine(c.total), 1
	}
	if !c.whole {
		return nil, utf8.MaxRune << 8
	}
	p := readable(c.head.data, st)
	return p, utf8.RuneCount(p)
}

func (c *column) binary() bool { return IsBinary(c.head.data) || IsBinary(c.tail.data) }

// first is the position of the first byte that there is.
func (c *column) first() int64 {
	if len(c.head.data) == 0 {
		return c.tail.pos(0)
	}
	return c.head.pos(0)
}

// showBase64 gives the beginning only: a marker has no place in base64.
func showBase64(l *Log, st Style, views []int) Shown {
	limit := st.Limit / 4 * 3
	if st.Limit <= 0 {
		limit = int(DefaultBytes)
	}
	columns := make([]column, len(views))
	need := make([]int, 2)
	l.mu.Lock()
	for i, view := range views {
		columns[i] = l.column(view, limit)
		need[i] = int(min(columns[i].total, int64(limit)+1))
	}
	l.mu.Unlock()
	quotas := share(limit, need[0], need[1])
	var shown Shown
	for i := range columns {
		c := &columns[i]
		p := c.head.data[:min(len(c.head.data), quotas[i])]
		text := job.Text{Data: encode64(p), Total: c.total, Base64: true}
		if !c.whole || len(p) < len(c.head.data) {
			text.Omitted = c.total - int64(len(p))
			shown.omit(c.head.pos(len(p)))
		}
		*shown.text(i) = text
	}
	if shown.Truncated && st.Session != "" {
		shown.Notes = append(shown.Notes, fmt.Sprintf("only the beginning is here: read session_id=%q offset=%d limit=%d base64=true gives more",
			st.Session, shown.OmittedAt, limit))
	}
	return shown
}

func encode64(p []byte) []byte { return base64.StdEncoding.AppendEncode(nil, p) }

// Part renders one view as an answer to a read. It has no head and tail: what is over the limit goes at the end, of a
// Tail at the beginning, and a marker line says so. Whether the log is finished makes no difference today: a view ends
// with a whole character and escape sequence.
func Part(v View, st Style, _ bool) Shown {
	parts := [][]byte{v.Stdout, v.Stderr}
	if st.View.Merged {
		parts = [][]byte{v.Merged}
	}
	var shown Shown
	if st.View.Base64 {
		for i, p := range parts {
			*shown.text(i) = job.Text{Data: encode64(p), Total: int64(len(p)), Base64: true}
		}
		return shown
	}
	need := make([]int, 2)
	texts := make([][]byte, len(parts))
	for i, p := range parts {
		if IsBinary(p) {
			texts[i], need[i] = binaryLine(int64(len(p))), 1
			continue
		}
		texts[i] = readable(p, st)
		need[i] = utf8.RuneCount(texts[i])
	}
	quotas := [2]int{need[0], need[1]}
	if st.Limit > 0 {
		quotas = share(st.Limit, need[0], need[1])
	}
	for i, p := range parts {
		text := job.Text{Data: texts[i], Total: int64(len(p))}
		switch {
		case need[i] > quotas[i]:
			text.Data, text.Omitted = clip(texts[i], quotas[i], v.end)
			shown.omit(v.From)
		case need[i] == 1 && IsBinary(p):
			text.Omitted = text.Total
		}
		*shown.text(i) = text
	}
	return shown
}

// clip keeps n characters of the beginning or of the end, with a marker line where the rest was.
func clip(p []byte, n int, end bool) ([]byte, int64) {
	if end {
		at := len(p) - lastChars(p, n)
		return append(fmt.Appendf(nil, "[... %d bytes before this are left out ...]\n", at), p[at:]...), int64(at)
	}
	at := firstChars(p, n)
	out := fmt.Appendf(p[:at:at], "\n[... %d bytes after this are left out ...]", len(p)-at)
	return out, int64(len(p) - at)
}

// firstChars is the length in bytes of the first n characters of p.
func firstChars(p []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(p); n-- {
		_, size := utf8.DecodeRune(p[at:])
		at += size
	}
	return at
}

// lastChars is the length in bytes of the last n characters of p.
func lastChars(p []byte, n int) int {
	at := len(p)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(p[:at])
		at -= size
	}
	return len(p) - at
}
