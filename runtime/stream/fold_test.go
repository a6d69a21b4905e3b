package stream

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/job"
)

var foldCases = []struct{ name, in, want string }{
	{"plain", "a\tb\n\nc", "a\tb\n\nc"},
	{"crlf", "a\r\nb\r\n", "a\nb\n"},
	{"terminal's crlf", "a\r\r\nb", "a\nb"},
	{"progress", "10%\r20%\r100%\ndone\n", "100%\ndone\n"},
	{"progress so far", "10%\r20%\r", "20%"},
	{"progress cleared", "loading\r\x1b[K\n", "\n"},
	{"progress replaced", "loading\r\x1b[Kdone\n", "done\n"},
	{"whole line erased", "\x1b[2K\x1b[1Gone\x1b[2K\x1b[1Gtwo\n", "two\n"},
	{"spinner", "|\b/\b-\b\\\bok\n", "ok\n"},
	{"erased character", "ab\b \bc", "ac"},
	{"erased wide character", "a世\bb", "ab"},
	{"overstrike", "N\bNA\bAME", "NAME"},
	{"backspace at the beginning", "a\n\b\bb", "a\nb"},
	{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[m", "red x"},
	{"link", "\x1b]8;;http://x/y\x1b\\text\x1b]8;;\x1b\\", "text"},
	{"title", "\x1b]0;user@host\x07$ ls", "$ ls"},
	{"title that never ends", "\x1b]0;user@host\nnext", "\nnext"},
	{"device string", "\x1bPq#0;1\x1b\\x", "x"},
	{"charset", "\x1b(B\x1b)0x", "x"},
	{"two bytes", "\x1b=\x1b>\x1bMx", "x"},
	{"private mode", "\x1b[?2004h$ \x1b[?25l", "$ "},
	{"cut at the end", "x\x1b[3", "x"},
	{"cut at its first byte", "x\x1b", "x"},
	{"cut title", "x\x1b]0;ab", "x"},
	{"sequence broken by a newline", "a\x1b[3\nb", "a\nb"},
	{"bell", "a\ab", "ab"},
	{"separators stay", "a\x1eb\x1fc", "a\x1eb\x1fc"},
}

func TestFold(t *testing.T) {
	for _, c := range foldCases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Fold([]byte(c.in))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestFoldPieces: a log that was written in any pieces and read in any pieces never shows a part of a sequence.
func TestFoldPieces(t *testing.T) {
	in := "\x1b[1;31mred\x1b[0m \x1b]8;;http://x/y\x1b\\text\x1b]8;;\x1b\\ 世界\x1b(B \x1b]0;title\x07end"
	want := "red text 世界 end"
	for i := range len(in) + 1 {
		for j := i; j <= len(in); j++ {
			l := NewLog(Limits{}, nil)
			l.Append(job.Stdout, []byte(in[:i]))
			l.Append(job.Stdout, []byte(in[i:j]))
			l.Append(job.Stdout, []byte(in[j:]))
			for _, limit := range []int{1, 5, 0} {
				var got []byte
				for at := int64(0); at < l.End(); {
					v := l.View(at, limit)
					got = append(got, Fold(v.Stdout)...)
					at = v.Next
				}
				if string(got) != want {
					t.Fatalf("cut at %d and %d, read by %d: got %q", i, j, limit, got)
				}
			}
		}
	}
}

func TestFoldIsLinear(t *testing.T) {
	for _, part := range []string{"x\r", "x\b", "\x1b[", "\x1b]0;", "\b", "\x1b", "\r", "ab\b\b"} {
		Fold(bytes.Repeat([]byte(part), 1<<20)) // quadratic work would take hours
	}
}

func TestBinary(t *testing.T) {
	for _, c := range []struct {
		in   string
		want bool
	}{
		{"", false},
		{"text", false},
		{"a\x00b", true},
		{"caf\xe9 in latin1, a word now and then", false},
		{strings.Repeat("\xff\xfe\x80a", 100), true},
		{strings.Repeat("世界", 5000), false},
		{"\xff", false},
	} {
		if got := IsBinary([]byte(c.in)); got != c.want {
			t.Errorf("IsBinary(%.20q) = %v", c.in, got)
		}
	}
}

func TestRepair(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""}, {"a世", "a世"}, {"a\xffb", "a\ufffdb"}, {"\xe4\xbd", "\ufffd\ufffd"}, {"\xe4\xbd\xa0\xe4", "你\ufffd"}, {"\ufffd", "\ufffd"},
	} {
		if got := string(Repair([]byte(c[0]))); got != c[1] {
			t.Errorf("Repair(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, c := range foldCases {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out := Fold(in)
		if len(out) > len(in) || bytes.Count(out, newline) != bytes.Count(in, newline) {
			t.Fatalf("%q became %q", in, out)
		}
		if bytes.ContainsAny(out, "\x1b\r\b\a") {
			t.Fatalf("%q is left of %q", out, in)
		}
		var pieces []byte
		for _, line := range bytes.SplitAfter(in, newline) {
			pieces = append(pieces, Fold(line)...)
		}
		if !bytes.Equal(pieces, out) {
			t.Fatalf("line by line %q, at once %q", pieces, out)
		}
		if again := Fold(out); !bytes.Equal(again, out) {
			t.Fatalf("%q folded again is %q", out, again)
		}
		if utf8.Valid(in) && !utf8.Valid(out) {
			t.Fatalf("%q is no UTF-8", out)
		}
	})
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"gbk", "\xc4\xe3\xba\xc3\n", "你好\n"},
		{"GB18030", "\x81\x30\x89\x38", "ß"},
		{"cp936", "\xc4\xe3", "你"},
		{"shift_jis", "\x93\xfa\x96\x7b", "日本"},
		{"windows-1252", "caf\xe9 \x80", "café €"},
		{"cp437", "\x81\xe1", "üß"},
		{"utf-16le", "a\x00\x3d\xd8\x00\xde", "a😀"},
		{"utf-8", "a\xffb", "a\xffb"},
		{"gbk", "a\xc4", "a\ufffd"},
		{"big5", "\xa7\x41", "你"},
		{"euc-kr", "\xb0\xa1", "가"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for cut := range len(c.in) + 1 {
				d, err := NewDecoder(c.name)
				if err != nil {
					t.Fatal(err)
				}
				got := string(d.Write([]byte(c.in[:cut])))
				got += string(d.Write([]byte(c.in[cut:])))
				got += string(d.Flush())
				if got != c.want {
					t.Errorf("cut at %d: got %q, want %q", cut, got, c.want)
				}
			}
		})
	}
	_, err := NewDecoder("widows-1252")
	if job.KindOf(err) != job.Invalid || !strings.Contains(fmt.Sprint(err.(*job.Error).Hint), "windows-1252") {
		t.Errorf("got %v", err)
	}
}

func TestDecodeLong(t *testing.T) {
	d, _ := NewDecoder("gbk")
	in := bytes.Repeat([]byte("\xc4\xe3\xba\xc3"), 100_000)
	var got []byte
	for len(in) > 0 {
		n := min(len(in), 7777)
		got = append(got, d.Write(in[:n])...)
		in = in[n:]
	}
	if want := strings.Repeat("你好", 100_000); string(got) != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}

func BenchmarkFold(b *testing.B) {
	for name, line := range map[string]string{"plain": "an ordinary line of text without anything in it, 80 bytes\n", "colours": "\x1b[32mok\x1b[0m an ordinary line of coloured text\r\n"} {
		b.Run(name, func(b *testing.B) {
			in := bytes.Repeat([]byte(line), 1<<14)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				Fold(in)
			}
		})
	}
}
