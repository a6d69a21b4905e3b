package docker

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestScanner cuts the same stream at every kind of place: what the command printed must come out whole, however close
// it comes to a message.
func TestScanner(t *testing.T) {
	d := newDialog()
	mark := string(d.mark)
	for _, test := range []struct{ name, stream, out, messages string }{
		{"plain", "profile" + mark + "~\x1e" + mark + "<7\x1ehello" + mark + "=0/\x1elate", "hello", "~ <7 =0/ "},
		{"nothing", mark + "~\x1e" + mark + "=0/\x1e", "", "~ =0/ "},
		{"refused", "motd\n" + mark + "!m/tmp\x1e", "", "!m/tmp "},
		{"other separators", mark + "~\x1e" + "a\x1eb\x1e\x1ecem\x1e" + mark + "=0/\x1e", "a\x1eb\x1e\x1ecem\x1e", "~ =0/ "},
		{"broken off", mark + "~\x1e" + "a" + mark[:9], "a" + mark[:9], "~ "},
		{"no end", mark + "~\x1e" + "out", "out", "~ "},
		{"almost", mark + "~\x1e" + mark[:12] + mark + "=3/1 7:x\x1e", mark[:12], "~ =3/1 7:x "},
	} {
		for range 300 {
			var out, messages bytes.Buffer
			s := &scanner{mark: d.mark, out: &out, said: func(kind byte, body string) { messages.WriteString(string(kind) + body + " ") }}
			for rest := []byte(test.stream); len(rest) > 0; {
				n := 1 + rand.IntN(len(rest))
				s.write(bytes.Clone(rest[:n]))
				rest = rest[n:]
			}
			s.flush()
			if out.String() != test.out || messages.String() != test.messages {
				t.Fatalf("%s: got %q %q, want %q %q", test.name, out.String(), messages.String(), test.out, test.messages)
			}
		}
	}
}

// TestScannerLongMessage: output that looks like the beginning of a message is let go in the end.
func TestScannerLongMessage(t *testing.T) {
	d := newDialog()
	var out bytes.Buffer
	s := &scanner{mark: d.mark, out: &out, began: true, said: func(byte, string) {}}
	text := string(d.mark) + strings.Repeat("x", 2*maxMessage)
	for rest := text; rest != ""; {
		n := min(1000, len(rest))
		s.write([]byte(rest[:n]))
		rest = rest[n:]
	}
	s.flush()
	if out.String() != text {
		t.Errorf("%d bytes came out, want %d", out.Len(), len(text))
	}
}

func TestReport(t *testing.T) {
	for _, test := range []struct {
		report, signal string
		code           int
		note           string
	}{
		{"0/", "", 0, ""},
		{"3/0", "", 3, ""},
		{"137/1", "KILL", 137, "OOM-killed"},
		{"143/", "TERM", 143, ""},
		{"0/ 17:sleep 18:a\x1bb", "", 0, "(pid 17, sleep; pid 18, ab)"},
	} {
		exit, err := parseReport(test.report)
		notes := strings.Join(exit.Notes, " ")
		if err != nil || exit.Code != test.code || exit.Signal != test.signal || !strings.Contains(notes, test.note) || (test.note == "") != (notes == "") {
			t.Errorf("%q: %+v %v", test.report, exit, err)
		}
	}
	if _, err := parseReport(""); err == nil {
		t.Error("an empty report is taken for an end")
	}
}
