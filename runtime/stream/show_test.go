package stream

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/job"
)

func logOf(limits Limits, parts ...string) *Log {
	l := NewLog(limits, nil)
	for i, p := range parts {
		l.Append(job.Stream(1+i%2), []byte(p))
	}
	l.Finish()
	return l
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %06d\n", i+1)
	}
	return b.String()
}

func TestShowWhole(t *testing.T) {
	for _, c := range []struct {
		name        string
		parts       []string
		view        job.View
		limit       int
		out, errOut string
	}{
		{"both", []string{"out\n", "err\n", "more\n"}, job.View{}, 100, "out\nmore\n", "err\n"},
		{"merged", []string{"out\n", "err\n", "more\n"}, job.View{Merged: true}, 100, "out\nerr\nmore\n", ""},
		{"folded", []string{"1%\r2%\n\x1b[1mb\x1b[m"}, job.View{}, 100, "2%\nb", ""},
		{"raw", []string{"1%\r2%\n\x1b[1mb\x1b[m"}, job.View{Raw: true}, 100, "1%\r2%\n\x1b[1mb\x1b[m", ""},
		{"bad byte", []string{"caf\xe9 is a word in latin1"}, job.View{}, 100, "caf\ufffd is a word in latin1", ""},
		{"binary", []string{"a\x00b", "text"}, job.View{}, 100, "binary, 3 bytes; base64=true gives them", "text"},
		{"base64", []string{"a\x00b", "text"}, job.View{Base64: true}, 100, "YQBi", "dGV4dA=="},
		{"exactly the limit", []string{"12345", "67890"}, job.View{}, 10, "12345", "67890"},
		{"characters, not bytes", []string{"世界世界世界"}, job.View{}, 6, "世界世界世界", ""},
		{"folding makes it fit", []string{strings.Repeat("progress\r", 50000) + "end"}, job.View{}, 10, "end", ""},
		{"nothing", nil, job.View{}, 10, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Show(logOf(Limits{}, c.parts...), Style{View: c.view, Limit: c.limit})
			if string(s.Stdout.Data) != c.out || string(s.Stderr.Data) != c.errOut {
				t.Errorf("got %q %q", s.Stdout.Data, s.Stderr.Data)
			}
			if s.Truncated != (c.name == "binary") {
				t.Errorf("truncated: %v", s.Truncated)
			}
		})
	}
}

func TestShowCut(t *testing.T) {
	l := logOf(Limits{}, numbered(10_000))
	s := Show(l, Style{Limit: 1000, Session: "abc"})
	lines := strings.SplitAfter(string(s.Stdout.Data), "\n")
	// 400 characters are 33 lines of 12, 600 are 50.
	want := numbered(33) + `[... 119004 bytes left out, lines 34-9950; to read it: read session_id="abc" offset=396 limit=1000, or with tail=100 or grep="..." ...]` + "\n"
	if got := strings.Join(lines[:34], ""); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := strings.Join(lines[34:], ""); got != numbered(10_000)[9950*12:] {
		t.Errorf("tail: %q", got)
	}
	if !s.Truncated || s.OmittedAt != 396 || s.Stdout.Omitted != 119004 || s.Stdout.Total != 120000 {
		t.Errorf("got %v %d %d %d", s.Truncated, s.OmittedAt, s.Stdout.Omitted, s.Stdout.Total)
	}
}

// TestShowCounts: whatever is cut, what is shown and what is left out make the whole, and the position is right.
func TestShowCounts(t *testing.T) {
	texts := map[string]string{
		"lines":         numbered(2000),
		"many lines":    numbered(200_000),
		"one line":      strings.Repeat("x", 50_000),
		"huge line":     strings.Repeat("abcdefghij", 1<<18),
		"wide":          strings.Repeat("世界", 20_000),
		"long lines":    strings.Repeat(strings.Repeat("y", 700)+"\n", 300),
		"lines dropped": numbered(1_000_000),
	}
	for name, text := range texts {
		l := logOf(Limits{}, text)
		for _, limit := range []int{1, 10, 77, 1000, 16000} {
			s := Show(l, Style{Limit: limit})
			data := string(s.Stdout.Data)
			i, j := strings.Index(data, "[... "), strings.Index(data, " ...]\n")
			if i < 0 || j < 0 || !s.Truncated {
				t.Fatalf("%s, %d: no marker in %.200q", name, limit, data)
			}
			head, tail := data[:i], data[j+len(" ...]\n"):]
			if !strings.HasPrefix(text, head) {
				head = strings.TrimSuffix(head, "\n")
			}
			if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
				t.Errorf("%s, %d: head %.50q, tail %.50q", name, limit, head, tail)
			}
			shown := utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
			if shown > limit || shown < limit/2-12 {
				t.Errorf("%s, %d: %d characters are shown", name, limit, shown)
			}
			if got := int64(len(head) + len(tail)); got+s.Stdout.Omitted != int64(len(text)) || s.OmittedAt != int64(len(head)) {
				t.Errorf("%s, %d: %d shown, %d omitted of %d, at %d", name, limit, got, s.Stdout.Omitted, len(text), s.OmittedAt)
			}
			if !utf8.ValidString(data) {
				t.Errorf("%s, %d: a character is split", name, limit)
			}
		}
	}
}

func TestShowShares(t *testing.T) {
	for _, c := range []struct{ out, err, wantOut, wantErr int }{
		{900, 50, 900, 50}, {2000, 50, 950, 50}, {50, 2000, 50, 950}, {2000, 2000, 500, 500}, {400, 2000, 400, 600},
	} {
		if got := share(1000, c.out, c.err); got != [2]int{c.wantOut, c.wantErr} {
			t.Errorf("share(%d, %d) = %v", c.out, c.err, got)
		}
	}
	s := Show(logOf(Limits{}, numbered(1000), "one\n"+numbered(1000)), Style{Limit: 1000})
	for name, text := range map[string]job.Text{"stdout": s.Stdout, "stderr": s.Stderr} {
		if n := bytes.Count(text.Data, []byte("[... ")); n != 1 || len(text.Data) > 700 {
			t.Errorf("%s: %d markers, %d bytes", name, n, len(text.Data))
		}
	}
	if s.OmittedAt != 192 {
		t.Errorf("omitted at %d, want the first of both", s.OmittedAt)
	}
}

func TestShowErrors(t *testing.T) {
	text := numbered(3000)[:12*3000]
	at := func(n int, line string) {
		line = fmt.Sprintf("%-11s\n", line)
		text = text[:12*(n-1)] + line + text[12*(n-1)+len(line):]
	}
	at(500, "x: error: 1")
	at(600, "0 errors    ")
	at(700, "panic: bad  ")
	at(800, "make FAILED ")
	at(900, "an error 4  ")
	at(1000, "an error 5  ")
	at(1100, "an error 6  ")
	s := Show(logOf(Limits{}, text), Style{Limit: 1000})
	for _, want := range []string{"line 500: x: error: 1 |", "line 700: panic: bad", "line 800: make FAILED", "line 1000: an error 5", "line 1100: an error 6"} {
		if !strings.Contains(string(s.Stdout.Data), want) {
			t.Errorf("%q is not in %q", want, s.Stdout.Data)
		}
	}
	for _, not := range []string{"line 600", "line 900"} {
		if strings.Contains(string(s.Stdout.Data), not) {
			t.Errorf("%q is in %q", not, s.Stdout.Data)
		}
	}
	// Far into an output of which the middle is not even looked at, the numbers are right too.
	big := numbered(500_000) + "fatal: it broke\n" + numbered(100)
	s = Show(logOf(Limits{}, big), Style{Limit: 1000})
	if want := "line 500001: fatal: it broke"; !strings.Contains(string(s.Stdout.Data), want) {
		t.Errorf("%q is not in %q", want, s.Stdout.Data)
	}
}

func TestShowBase64Cut(t *testing.T) {
	text := numbered(1000)
	s := Show(logOf(Limits{}, text), Style{Limit: 400, Session: "abc", View: job.View{Base64: true}})
	got, err := base64.StdEncoding.DecodeString(string(s.Stdout.Data))
	if err != nil || string(got) != text[:300] {
		t.Errorf("got %q, %v", got, err)
	}
	if !s.Truncated || s.OmittedAt != 300 || !s.Stdout.Base64 || len(s.Notes) != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestPart(t *testing.T) {
	l := logOf(Limits{}, "1%\r2%\nb\n", "err\n", "c\n")
	v := l.View(0, 0)
	if s := Part(v, Style{Limit: 100}, true); string(s.Stdout.Data) != "2%\nb\nc\n" || string(s.Stderr.Data) != "err\n" || s.Truncated {
		t.Errorf("got %+v", s)
	}
	if s := Part(v, Style{View: job.View{Merged: true, Raw: true}}, true); string(s.Stdout.Data) != "1%\r2%\nb\nerr\nc\n" || s.Stderr.Data != nil {
		t.Errorf("got %q", s.Stdout.Data)
	}
	if s := Part(v, Style{View: job.View{Base64: true}, Limit: 3}, true); string(s.Stderr.Data) != "ZXJyCg==" || !s.Stderr.Base64 {
		t.Errorf("got %q", s.Stderr.Data)
	}
	l = logOf(Limits{}, numbered(100))
	s := Part(l.Tail(50), Style{Limit: 24}, true)
	if want := "line 000099\nline 000100\n"; !strings.HasSuffix(string(s.Stdout.Data), "]\n"+want) || !s.Truncated {
		t.Errorf("got %q, want the last lines", s.Stdout.Data)
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\n\n\n", 2, "\n\n"},
		{"", 3, ""},
		{"a", 1, "a"},
		{"\n", 1, "\n"},
		{numbered(100_000), 3, numbered(100_000)[12*99_997:]},
	} {
		if got := string(logOf(Limits{}, c.in).Tail(c.n).Stdout); got != c.want {
			t.Errorf("tail %d of %.20q: got %q, want %q", c.n, c.in, got, c.want)
		}
	}
}

func TestGrep(t *testing.T) {
	l := logOf(Limits{}, "one\ntwo\nth", "err one\nerr two", "ree\n\x1b[31mone\x1b[0m more\r\nlast one")
	for _, c := range []struct {
		re       string
		out, err string
	}{
		{"^one", "one\none more\n", ""},
		{"o", "one\ntwo\none more\nlast one\n", "err one\nerr two\n"},
		{"three", "three\n", ""},
		{"none", "", ""},
	} {
		v := l.Grep(regexp.MustCompile(c.re), 0, 0, 0)
		if string(v.Stdout) != c.out || string(v.Stderr) != c.err || v.Next != l.End() {
			t.Errorf("%s: got %q %q to %d", c.re, v.Stdout, v.Stderr, v.Next)
		}
	}
}

// TestGrepInSteps: following Next finds each line once with its number, over blocks and over the hole.
func TestGrepInSteps(t *testing.T) {
	text := numbered(300_000)
	l := logOf(Limits{Bytes: 1 << 20}, text)
	re := regexp.MustCompile(`000\d$`)
	all := l.Grep(re, 0, 0, 0)
	if all.Dropped == 0 {
		t.Fatal("nothing was dropped")
	}
	var got []byte
	for at := int64(0); at < l.End(); {
		v := l.Grep(re, at, 500, 0)
		if v.Next <= at {
			t.Fatalf("from %d to %d", at, v.Next)
		}
		got = append(got, v.Stdout...)
		at = v.Next
	}
	if !bytes.Equal(got, all.Stdout) {
		t.Errorf("in steps %d bytes, at once %d", len(got), len(all.Stdout))
	}
	lines := bytes.Count(all.Stdout, []byte("\n"))
	for i, at := range all.Matches {
		line, _, _ := bytes.Cut(l.View(at, 100).Stdout, []byte("\n"))
		if !re.Match(line) || lines != len(all.Matches) {
			t.Fatalf("match %d of %d is %q", i, lines, line)
		}
	}
}

func TestGrepLast(t *testing.T) {
	l := logOf(Limits{}, numbered(1000))
	for _, c := range []struct {
		limit, last int
		want        string
		next        int64
	}{
		{0, 2, "line 000998\nline 000999\n", 12000},
		{12, 2, "line 000999\n", 12000},
		{30, 0, "line 000990\nline 000991\n", 12 * 991},
		{1, 0, "line 000990\n", 12 * 990},
		{24, 0, "line 000990\nline 000991\n", 12 * 991},
	} {
		v := l.Grep(regexp.MustCompile(`00099\d`), 0, c.limit, c.last)
		if string(v.Stdout) != c.want || v.Next != c.next {
			t.Errorf("limit %d, last %d: got %q to %d, want %q to %d", c.limit, c.last, v.Stdout, v.Next, c.want, c.next)
		}
	}
}

func TestGrepLongLine(t *testing.T) {
	l := logOf(Limits{}, strings.Repeat("x", 500_000)+"needle"+strings.Repeat("y", 500_000)+"\n")
	v := l.Grep(regexp.MustCompile("needle"), 0, 0, 0)
	if len(v.Stdout) > grepLine+20 || !strings.Contains(string(v.Stdout), "xneedley") {
		t.Errorf("got %d bytes", len(v.Stdout))
	}
}
