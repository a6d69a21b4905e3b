package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	big := strings.Repeat("x", 300<<10)
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a\n\nb\n", []string{"a", "", "b"}},
		{big + "\nb\n" + big, []string{big, "b", big}},
		{strings.Repeat("y", maxLine) + "\nb", []string{strings.Repeat("y", maxLine), "b"}},
		{strings.Repeat("y", maxLine+1) + "\nb", []string{"long", "b"}},
		{"a\n" + strings.Repeat("y", 3*maxLine) + "\nb", []string{"a", "long", "b"}},
		{"a\n" + strings.Repeat("y", 3*maxLine), []string{"a", "long"}},
	} {
		readers := []io.Reader{strings.NewReader(c.in)}
		if len(c.in) < maxLine { // the longer ones take seconds under the race detector
			readers = append(readers, iotest.HalfReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in)))
		}
		for _, in := range readers {
			l := &lines{in: in}
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
