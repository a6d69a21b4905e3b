package stream

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// cut shows the head and the tail of a column in the given number of characters, with the marker line between them.
// It returns how many bytes that leaves out and the position of the first of them.
func (c *column) cut(quota int, st Style) (text []byte, omitted, at int64) {
	head := quota * 2 / 5
	end := cutHead(c.head.data, head, st)
	last := &c.tail
	low := 0
	if c.whole { // one window: head and tail come from it, and must not meet
		last, low = &c.head, end
	}
	begin := low + cutTail(last.data[low:], quota-head, st)
	omitted = c.total - int64(end) - int64(len(last.data)-begin)
	at = c.head.pos(end)

	text = append(text, readable(c.head.data[:end], st)...)
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	text = append(text, c.marker(end, begin, omitted, at, st)...)
	return append(text, readable(last.data[begin:], st)...), omitted, at
}

// cutHead returns how much of the beginning of p makes up to quota characters: whole lines, unless the one that does
// not fit would leave half of the quota unused.
func cutHead(p []byte, quota int, st Style) int {
	used, at := 0, 0
	for at < len(p) {
		end := len(p)
		if i := bytes.IndexByte(p[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		n := utf8.RuneCount(readable(p[at:end], st))
		if used+n > quota {
			if used < quota/2 {
				at += atomStart(p[at:end], firstChars(p[at:end], quota-used))
			}
			break
		}
		used += n
		at = end
	}
	return at
}

// cutTail returns where the end of p begins that makes up to quota characters.
func cutTail(p []byte, quota int, st Style) int {
	used, at := 0, len(p)
	for at > 0 {
		begin := bytes.LastIndexByte(p[:at-1], '\n') + 1
		n := utf8.RuneCount(readable(p[begin:at], st))
		if used+n > quota {
			if used < quota/2 {
				line := p[begin:at]
				cut := len(line) - lastChars(line, quota-used)
				for cut < len(line) && atomStart(line, cut) != cut {
					cut++
				}
				at = begin + cut
			}
			break
		}
		used += n
		at = begin
	}
	return at
}

// marker is the line between head and tail. end and begin are where they end and begin in their windows.
func (c *column) marker(end, begin int, omitted, at int64, st Style) string {
	last := &c.tail
	if c.whole {
		last = &c.head
	}
	first := int64(bytes.Count(c.head.data[:end], newline)) + 1
	final := c.lines - int64(bytes.Count(last.data[begin:], newline)) + 1
	if begin == 0 || last.data[begin-1] == '\n' {
		final--
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[... %d bytes left out, ", omitted)
	if final > first {
		fmt.Fprintf(&b, "lines %d-%d", first, final)
	} else {
		fmt.Fprintf(&b, "in line %d", first)
	}
	if found := c.errors(end, begin); len(found) > 0 {
		b.WriteString("; errors may be in ")
		for i, line := range found {
			if i > 0 {
				b.WriteString(" | ")
			}
			fmt.Fprintf(&b, "line %d: %s", line.number, line.text)
		}
	}
	if st.Session != "" {
		fmt.Fprintf(&b, "; to read it: read session_id=%q offset=%d limit=%d, or with tail=100 or grep=\"...\"", st.Session, at, max(st.Limit, 1))
	} else {
		b.WriteString("; a higher limit shows more")
	}
	b.WriteString(" ...]\n")
	return b.String()
}

// quote is a line that was left out.
type quote struct {
	number int64
	text   string
}

const (
	quotesFirst = 3 // where a failure began
	quotesLast  = 2 // and how it ended
	quoteChars  = 160
)

// searched is how far from the head and the tail of a long output lines are looked at for errors: all that the
// windows hold would cost as much as reading the output did.
const searched = 96 << 10

// errors quotes up to five lines that look like errors from what was left out, as far as it is looked at.
func (c *column) errors(end, begin int) []quote {
	first := int64(bytes.Count(c.head.data[:end], newline)) + 1
	if c.whole {
		return quotes(c.head.data[end:begin], first)
	}
	found := quotes(c.head.data[end:min(len(c.head.data), end+searched)], first)
	from := max(0, begin-searched)
	from += bytes.IndexByte(c.tail.data[from:begin], '\n') + 1
	first = c.lines - int64(bytes.Count(c.tail.data[from:], newline)) + 1
	found = append(found, quotes(c.tail.data[from:begin], first)...)
	if n := len(found); n > quotesFirst+quotesLast {
		found = append(found[:quotesFirst], found[n-quotesLast:]...)
	}
	return found
}

// quotes finds the first three and the last two lines of p that look like errors; p's first line has the given number.
func quotes(p []byte, number int64) []quote {
	var found []quote
	at := 0
	for at < len(p) {
		hit := nextError(p[at:])
		if hit < 0 {
			break
		}
		hit += at
		begin := bytes.LastIndexByte(p[:hit], '\n') + 1
		number += int64(bytes.Count(p[at:max(at, begin)], newline))
		end := len(p)
		if i := bytes.IndexByte(p[hit:], '\n'); i >= 0 {
			end = hit + i
		}
		if line := strings.TrimSpace(string(Repair(Fold(p[begin:end])))); !harmlessLine(line) {
			if len(found) == quotesFirst+quotesLast {
				found = append(found[:quotesFirst], found[quotesFirst+1:]...)
			}
			found = append(found, quote{number, shorten(line)})
		}
		at = min(end+1, len(p))
		number++
	}
	return found
}

func shorten(line string) string {
	if utf8.RuneCountInString(line) <= quoteChars {
		return line
	}
	return line[:firstChars([]byte(line), quoteChars)] + "..."
}

// alarms are parts of words in the cases that programs use, without the letters that are common in ordinary text.
var alarms = [][]byte{
	[]byte("rror"), []byte("ERROR"), []byte("FAIL"), []byte("ailed"), []byte("ailure"), []byte("panic:"), []byte("atal"),
	[]byte("FATAL"), []byte("xception"), []byte("raceback"), []byte("egmentation fault"), []byte("ermission denied"),
}

// nextError returns the index of the first alarm in p. It looks block by block, so that each is read from memory once.
func nextError(p []byte) int {
	const block, overlap = 8 << 10, 32
	for at := 0; at < len(p); at += block {
		part := p[at:min(len(p), at+block+overlap)]
		first := -1
		for _, alarm := range alarms {
			if i := bytes.Index(part, alarm); i >= 0 {
				part = part[:i+len(alarm)-1]
				first = i
			}
		}
		if first >= 0 {
			return at + first
		}
	}
	return -1
}

// harmlessLine reports lines that speak of errors which did not happen.
func harmlessLine(line string) bool {
	lower := strings.ToLower(line)
	for _, phrase := range []string{"0 error", "no error", "0 fail", "without error", "errors: 0", "failed: 0", "failures: 0", "error: 0"} {
		if i := strings.Index(lower, phrase); i >= 0 && (i == 0 || lower[i-1] < '0' || lower[i-1] > '9') {
			return true
		}
	}
	return false
}
