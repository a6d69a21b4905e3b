package hooks

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

// words passes whole words on and keeps the last, unfinished one.
func words(_ context.Context, _ job.Stream, in []byte, f Flags) ([]byte, int, error) {
	keep := len(in) - 1 - bytes.LastIndexByte(in, ' ')
	if f&Final != 0 {
		keep = 0
	}
	return bytes.ToUpper(in[:len(in)-keep]), keep, nil
}

func TestCarryOverEveryCut(t *testing.T) {
	text := "ab cde f  ghi"
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			c := Carry{Filter: words}
			var got []byte
			for n, chunk := range []string{text[:i], text[i:j], text[j:]} {
				out, err := c.Output(context.Background(), job.Stdout, []byte(chunk), map[bool]Flags{true: Final}[n == 2])
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, out...)
			}
			if string(got) != strings.ToUpper(text) {
				t.Fatalf("cut at %d and %d: got %q", i, j, got)
			}
		}
	}
}

func TestCarryKeepsStreamsApart(t *testing.T) {
	c := Carry{Filter: words}
	for _, step := range []struct {
		stream job.Stream
		in     string
		f      Flags
		want   string
	}{
		{job.Stdout, "out", 0, ""},
		{job.Stderr, "err ", 0, "ERR "},
		{job.Stderr, "", Idle, ""},
		{job.Stdout, "", 0, ""},
		{job.Stdout, "", Final, "OUT"},
		{job.Stderr, "x", Final, "X"},
	} {
		if out, err := c.Output(context.Background(), step.stream, []byte(step.in), step.f); string(out) != step.want || err != nil {
			t.Errorf("%+v: got %q, %v", step, out, err)
		}
	}
}

// The filter sees windows of a bounded size, Final only with the last, and nothing at all when there is nothing to say.
func TestCarryWindows(t *testing.T) {
	var sizes []int
	var flags []Flags
	c := Carry{Filter: func(_ context.Context, _ job.Stream, in []byte, f Flags) ([]byte, int, error) {
		sizes, flags = append(sizes, len(in)), append(flags, f)
		keep := min(len(in), MaxKeep)
		if f&Final != 0 {
			keep = 0
		}
		return in[:len(in)-keep], keep, nil
	}}
	text := bytes.Repeat([]byte("0123456789abcdef"), 2*Window/16+100)
	out, err := c.Output(context.Background(), job.Stdout, text, Final)
	if err != nil || !bytes.Equal(out, text) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	for i, size := range sizes {
		if size > Window+MaxKeep || (flags[i] == Final) != (i == len(sizes)-1) {
			t.Errorf("call %d: %d bytes, flags %d", i, size, flags[i])
		}
	}
	sizes = nil
	c.Output(context.Background(), job.Stdout, nil, Idle)
	c.Output(context.Background(), job.Stdout, nil, 0)
	if len(sizes) != 0 {
		t.Errorf("%d calls without anything to say", len(sizes))
	}
}

// After an error, all that was not returned comes back: what the hook had filtered, what it carried, and the rest.
func TestCarryGivesBack(t *testing.T) {
	calls := 0
	c := Carry{Filter: func(_ context.Context, _ job.Stream, in []byte, _ Flags) ([]byte, int, error) {
		if calls++; calls == 3 {
			return []byte("never"), 0, errors.New("broken")
		}
		return []byte("<" + string(in[:1]) + ">"), 1, nil
	}}
	c.Output(context.Background(), job.Stdout, []byte("a1"), 0)
	big := append(bytes.Repeat([]byte("b"), Window), bytes.Repeat([]byte("c"), 100)...)
	out, err := c.Output(context.Background(), job.Stdout, big, 0)
	want := "<1>" + "b" + strings.Repeat("c", 100)
	if err == nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

func TestCarryChecksTheFilter(t *testing.T) {
	for _, keep := range []int{-1, 3} {
		c := Carry{Filter: func(context.Context, job.Stream, []byte, Flags) ([]byte, int, error) { return nil, keep, nil }}
		if out, err := c.Output(context.Background(), job.Stdout, []byte("ab"), 0); err == nil || string(out) != "ab" {
			t.Errorf("keep %d: got %q, %v", keep, out, err)
		}
	}
	c := Carry{Filter: func(context.Context, job.Stream, []byte, Flags) ([]byte, int, error) { return nil, 1, nil }}
	if _, err := c.Output(context.Background(), job.Stdout, []byte("ab"), Final); err == nil {
		t.Error("it kept a byte at the end of the stream")
	}
}
