package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	const limit = 1 << 20
	big := strings.Repeat("x", 300<<10)
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a\n\nb\n", []string{"a", "", "b"}},
		{big + "\nb\n" + big, []string{big, "b", big}},
		{strings.Repeat("y", limit) + "\nb", []string{strings.Repeat("y", limit), "b"}},
		{strings.Repeat("y", limit+1) + "\nb", []string{"long", "b"}},
		{"a\n" + strings.Repeat("y", 3*limit) + "\nb", []string{"a", "long", "b"}},
		{"a\n" + strings.Repeat("y", 3*limit), []string{"a", "long"}},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.in), iotest.HalfReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in))} {
			l := &lines{in: in, max: limit}
			for i, want := range c.want {
				line, err := l.next()
				got := string(line)
				if errors.Is(err, errLong) {
					got, err = "long", nil
				}
				if err != nil || got != want {
					t.Fatalf("line %d: got %d bytes (%.20q), %v; want %d bytes", i, len(got), got, err, len(want))
				}
			}
			if _, err := l.next(); !errors.Is(err, io.EOF) {
				t.Errorf("got %v at the end", err)
			}
		}
	}
}
