package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/job"
)

// model is the log that drops nothing.
type model struct {
	all     []byte
	streams []job.Stream // of each byte
}

func (m *model) append(s job.Stream, p []byte) {
	m.all = append(m.all, p...)
	for range p {
		m.streams = append(m.streams, s)
	}
}

func (m *model) view(from, to int64, view int) []byte {
	var p []byte
	for i := from; i < to; i++ {
		if shows(view, m.streams[i]) {
			p = append(p, m.all[i])
		}
	}
	return p
}

// check compares one view with what the model has at its positions, hole or not.
func (m *model) check(t *testing.T, v View, hole, holeEnd int64) {
	t.Helper()
	if v.From < 0 || v.Next < v.From || v.Next > int64(len(m.all)) {
		t.Fatalf("a view of [%d,%d) of %d bytes", v.From, v.Next, len(m.all))
	}
	a, b := min(max(v.From, hole), v.Next), min(max(v.From, holeEnd), v.Next)
	if v.Dropped != b-a {
		t.Fatalf("[%d,%d) dropped %d, want %d (hole [%d,%d))", v.From, v.Next, v.Dropped, b-a, hole, holeEnd)
	}
	for view, got := range [][]byte{v.Stdout, v.Stderr, v.Merged} {
		want := append(m.view(v.From, a, view), m.view(b, v.Next, view)...)
		if !bytes.Equal(got, want) {
			t.Fatalf("[%d,%d) view %d: got %q\nwant %q", v.From, v.Next, view, got, want)
		}
	}
}

// words are whole characters, so that nothing waits in the log for its rest.
var words = []string{"a", "bc\n", "\n", "ä", "世界", "😀\n", "\x1b[31mred\x1b[0m", "0123456789abcdef", "line\n", strings.Repeat("x", 300)}

func randomText(rnd *rand.Rand) []byte {
	var p []byte
	for range 1 + rnd.IntN(40) {
		p = append(p, words[rnd.IntN(len(words))]...)
	}
	return p
}

// hole asks the log what it dropped; that the bytes around it are right is for check to say.
func hole(t *testing.T, l *Log, m *model) (begin, end int64) {
	t.Helper()
	if l.End() != int64(len(m.all)) {
		t.Fatalf("End is %d, %d bytes were appended", l.End(), len(m.all))
	}
	l.mu.Lock()
	begin, end = l.headEnd(), l.tailStart()
	l.mu.Unlock()
	if end <= begin {
		return 0, 0
	}
	return begin, end
}

func TestLogAgainstModel(t *testing.T) {
	for seed := range uint64(24) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		limits := Limits{Bytes: int64(10 + rnd.IntN(40_000))}
		if seed%3 == 0 {
			limits.Lines = 1 + rnd.IntN(300)
		}
		var spill *Spill
		if seed%4 == 0 {
			spill = NewSpill(t.TempDir(), 1)
		}
		l := NewLog(limits, spill)
		m := &model{}
		for range 120 {
			s := job.Stream(1 + rnd.IntN(2))
			p := randomText(rnd)
			l.Append(s, p)
			m.append(s, p)
			if rnd.IntN(40) == 0 {
				checkLog(t, rnd, l, m, limits)
			}
		}
		if seed%2 == 0 {
			l.Finish()
		}
		checkLog(t, rnd, l, m, limits)
		l.Close()
		if v := l.View(0, 0); len(v.Merged) > 0 || v.Dropped != int64(len(m.all)) {
			t.Fatalf("a closed log has %d bytes, %d dropped", len(v.Merged), v.Dropped)
		}
		if spill != nil && spill.used.Load() != 0 {
			t.Fatalf("%d bytes of memory are left", spill.used.Load())
		}
	}
}

func checkLog(t *testing.T, rnd *rand.Rand, l *Log, m *model, limits Limits) {
	t.Helper()
	begin, end := hole(t, l, m)
	all := int64(len(m.all))
	kept := all - (end - begin)
	if kept > limits.Bytes {
		t.Fatalf("%d bytes kept, the limit is %d", kept, limits.Bytes)
	}
	if limits.Lines == 0 && kept < min(all, limits.Bytes-2*16) {
		t.Fatalf("%d bytes kept of %d, the limit is %d", kept, all, limits.Bytes)
	}
	if limits.Lines > 0 {
		if begin != 0 {
			t.Fatalf("a beginning is kept to %d though lines are limited", begin)
		}
		lines := bytes.Count(m.all[end:], newline)
		if all > end && m.all[all-1] != '\n' {
			lines++
		}
		if lines > limits.Lines {
			t.Fatalf("%d lines kept, the limit is %d", lines, limits.Lines)
		}
		if lines < limits.Lines && kept < min(all, limits.Bytes-16) {
			t.Fatalf("only %d lines and %d bytes kept", lines, kept)
		}
	}
	for range 20 {
		limit := rnd.IntN(5000)
		v := l.View(rnd.Int64N(all+1), limit)
		m.check(t, v, begin, end)
	}
	steps := 0
	for at := int64(0); at < all; steps++ {
		v := l.View(at, 100)
		m.check(t, v, begin, end)
		if v.From != at || v.Next <= at || len(v.Merged) > 100 {
			t.Fatalf("from %d: [%d,%d) with %d bytes", at, v.From, v.Next, len(v.Merged))
		}
		if !utf8.Valid(v.Stdout) || !utf8.Valid(v.Stderr) {
			t.Fatalf("[%d,%d) splits a character", v.From, v.Next)
		}
		if strings.Contains(string(Fold(v.Merged)), "[31") {
			t.Fatalf("[%d,%d) splits a sequence: %q", v.From, v.Next, v.Merged)
		}
		at = v.Next
	}
	checkTail(t, rnd, l, m, begin, end)
}

func checkTail(t *testing.T, rnd *rand.Rand, l *Log, m *model, begin, end int64) {
	t.Helper()
	n := 1 + rnd.IntN(30)
	v := l.Tail(n)
	if v.Next != l.End() || v.Dropped != 0 {
		t.Fatalf("tail ends at %d of %d, %d dropped", v.Next, l.End(), v.Dropped)
	}
	lines := strings.SplitAfter(string(m.all[end:]), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	want := strings.Join(lines[max(0, len(lines)-n):], "")
	if got := string(v.Merged); got != want && int64(len(got)) < int64(len(m.all))-end && begin == 0 && end == 0 {
		t.Fatalf("tail %d: got %q\nwant %q", n, got, want)
	}
}

func TestLogHoldsIncomplete(t *testing.T) {
	l := NewLog(Limits{}, nil)
	l.Append(job.Stdout, []byte("a\xe4\xbd"))
	l.Append(job.Stderr, []byte("!"))
	if v := l.View(0, 0); string(v.Stdout) != "a" || string(v.Stderr) != "!" || v.Next != 2 {
		t.Errorf("got %q %q to %d while half a character is there", v.Stdout, v.Stderr, v.Next)
	}
	l.Append(job.Stdout, []byte("\xa0\x1b[3"))
	l.Append(job.Stdout, []byte("1mx\x1b]0;ti"))
	if v := l.View(0, 0); string(v.Stdout) != "a\u4f60\x1b[31mx" {
		t.Errorf("got %q", v.Stdout)
	}
	if got := l.Total(job.Stdout); got != 16 {
		t.Errorf("total %d, want all 16 bytes", got)
	}
	l.Finish()
	if v := l.View(0, 0); string(v.Stdout) != "a\u4f60\x1b[31mx\x1b]0;ti" {
		t.Errorf("finished: got %q", v.Stdout)
	}
	l.Append(job.Stdout, []byte("late"))
	if v := l.View(0, 0); strings.Contains(string(v.Stdout), "late") {
		t.Error("a finished log grew")
	}
}

func TestLogViewsAlign(t *testing.T) {
	l := NewLog(Limits{}, nil)
	l.Append(job.Stdout, []byte("ab\u4f60cd"))
	for _, c := range []struct {
		from, begin, next int64
		limit             int
	}{{0, 0, 2, 3}, {0, 0, 2, 4}, {0, 0, 5, 5}, {3, 2, 5, 3}, {2, 2, 5, 1}, {4, 2, 7, 0}, {99, 7, 7, 1}, {-5, 0, 1, 1}} {
		v := l.View(c.from, c.limit)
		if v.From != c.begin || v.Next != c.next {
			t.Errorf("View(%d, %d) = [%d,%d), want [%d,%d)", c.from, c.limit, v.From, v.Next, c.begin, c.next)
		}
	}
}

func TestLogChanged(t *testing.T) {
	l := NewLog(Limits{}, nil)
	c := l.Changed()
	select {
	case <-c:
		t.Fatal("changed without a change")
	default:
	}
	l.Append(job.Stdout, []byte("x"))
	<-c
	c = l.Changed()
	l.Finish()
	<-c
	<-l.Changed()
	l.Close()
	<-l.Changed()
}

func TestLogLimitChange(t *testing.T) {
	for _, appended := range []int{100, 5000} {
		l := NewLog(Limits{Bytes: 1000}, nil)
		for i := range appended / 10 {
			l.Append(job.Stdout, fmt.Appendf(nil, "line %4d\n", i))
		}
		l.Limit(Limits{Bytes: 600, Lines: 30})
		for i := range 3 {
			l.Append(job.Stdout, fmt.Appendf(nil, "more %4d\n", i))
		}
		v := l.View(0, 0)
		if n := bytes.Count(v.Merged, newline); n > 30 || len(v.Merged) > 600 {
			t.Errorf("%d lines and %d bytes are kept", n, len(v.Merged))
		}
		if want := "more    0\nmore    1\nmore    2\n"; !strings.HasSuffix(string(v.Merged), want) {
			t.Errorf("got %q", v.Merged)
		}
		if int64(len(v.Merged))+v.Dropped != l.End() {
			t.Errorf("%d and %d dropped are not %d", len(v.Merged), v.Dropped, l.End())
		}
	}
}

// TestLogConcurrent appends from two goroutines while others read; run it with -race.
func TestLogConcurrent(t *testing.T) {
	l := NewLog(Limits{Bytes: 300_000}, NewSpill(t.TempDir(), 100_000))
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for _, s := range []job.Stream{job.Stdout, job.Stderr} {
		writers.Go(func() {
			for i := range 20_000 {
				l.Append(s, fmt.Appendf(nil, "%d: line %d\n", s, i))
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			at := int64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				v := l.View(at, 5000)
				if v.Next < at || v.Next-v.From-v.Dropped != int64(len(v.Merged)) {
					t.Errorf("[%d,%d) dropped %d has %d bytes", v.From, v.Next, v.Dropped, len(v.Merged))
					return
				}
				at = v.Next
				l.Tail(5)
				l.Grep(regexp.MustCompile("line 77"), at, 100, 0)
				Show(l, Style{Limit: 1000})
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	l.Finish()
	if got, want := l.End(), l.Total(job.Stdout)+l.Total(job.Stderr); got != want {
		t.Errorf("ends at %d, want %d", got, want)
	}
	l.Close()
}

func TestSpill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	spill := NewSpill(dir, 100_000)
	l := NewLog(Limits{Bytes: 4 << 20}, spill)
	m := &model{}
	for i := range 60_000 {
		p := fmt.Appendf(nil, "this is line number %d\n", i)
		l.Append(job.Stdout, p)
		m.append(job.Stdout, p)
	}
	if used := spill.used.Load(); used > 100_000+int64(2*chunkSizes[2]) {
		t.Errorf("%d bytes of memory are in use", used)
	}
	if l.file == nil {
		t.Fatal("nothing was spilled")
	}
	info, err := l.file.f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("the file has mode %o", mode)
	}
	begin, end := hole(t, l, m)
	m.check(t, l.View(0, 0), begin, end)
	l.Finish()
	m.check(t, l.View(0, 0), begin, end)
	v := l.Grep(regexp.MustCompile(`number 123\d$`), 0, 0, 0)
	if want := "this is line number 1230\n"; !strings.HasPrefix(string(v.Stdout), want) {
		t.Errorf("grep: got %.80q, want %q first", v.Stdout, want)
	}
	l.Close()
	l.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
}

// TestSpillFails: a folder that cannot be written costs output, which is counted, and nothing else.
func TestSpillFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := NewLog(Limits{Bytes: 8 << 20}, NewSpill(filepath.Join(file, "none"), 500_000))
	for range 40 {
		l.Append(job.Stdout, bytes.Repeat([]byte("0123456789abcde\n"), 1<<13))
	}
	v := l.View(0, 0)
	if v.Dropped == 0 || int64(len(v.Merged))+v.Dropped != l.End() {
		t.Errorf("%d bytes kept, %d dropped of %d", len(v.Merged), v.Dropped, l.End())
	}
	l.Finish()
	l.Close()
}

func FuzzLog(f *testing.F) {
	f.Add([]byte("hello\nworld"), uint16(20), uint8(0), int16(3), uint8(5))
	f.Add([]byte("\xe4\xbd\xa0\x1b[31mx\x1b]8;;u\x07\x1b\\\n\x80\xff"), uint16(9), uint8(2), int16(1), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, size uint16, lines uint8, from int16, limit uint8) {
		l := NewLog(Limits{Bytes: int64(size), Lines: int(lines)}, nil)
		var total int64
		for i, p := range bytes.SplitAfter(in, []byte("|")) {
			l.Append(job.Stream(1+i%3), p)
			total += int64(len(p))
			l.View(int64(from), int(limit))
		}
		l.Finish()
		if l.End() != total || l.Total(job.Stdout)+l.Total(job.Stderr) != total {
			t.Fatalf("ends at %d of %d bytes", l.End(), total)
		}
		var got int64
		for at := int64(0); at < total; {
			v := l.View(at, int(limit))
			if v.Next <= at || v.From != at || v.Next-v.From-v.Dropped != int64(len(v.Merged)) || len(v.Stdout)+len(v.Stderr) != len(v.Merged) {
				t.Fatalf("from %d: [%d,%d) dropped %d, %d bytes", at, v.From, v.Next, v.Dropped, len(v.Merged))
			}
			got += int64(len(v.Merged)) + v.Dropped
			at = v.Next
		}
		if got != total {
			t.Fatalf("%d bytes in all views, want %d", got, total)
		}
		l.View(int64(from), int(limit))
		l.Tail(int(limit))
		l.Grep(regexp.MustCompile("o"), int64(from), int(limit), 0)
		for _, view := range []job.View{{}, {Raw: true}, {Merged: true}, {Base64: true}} {
			s := Show(l, Style{View: view, Limit: int(limit)})
			if !utf8.Valid(s.Stdout.Data) || !utf8.Valid(s.Stderr.Data) || s.Stdout.Omitted < 0 || s.Stdout.Omitted > s.Stdout.Total {
				t.Fatalf("shown: %+v", s)
			}
		}
		l.Close()
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{20, 80, 4 << 10, 64 << 10} {
		line := append(bytes.Repeat([]byte("x"), size-1), '\n')
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := NewLog(Limits{Lines: 10000}, nil)
			b.SetBytes(int64(size))
			for b.Loop() {
				l.Append(job.Stdout, line)
			}
		})
		b.Run(fmt.Sprint("memcpy", size), func(b *testing.B) {
			dst := make([]byte, 64<<20)
			at := 0
			b.SetBytes(int64(size))
			for b.Loop() {
				at += copy(dst[at:], line)
				if at == len(dst) {
					at = 0
				}
			}
		})
	}
}

// BenchmarkOutput keeps 10 MB as a job does, from the first byte to the reply.
func BenchmarkOutput(b *testing.B) {
	for _, c := range []struct {
		name string
		in   []byte
	}{
		{"text", bytes.Repeat([]byte("0123456789abcdef0123456789abcde\n"), 2<<10)},
		{"zero", make([]byte, 64<<10)},
	} {
		for _, show := range []bool{false, true} {
			b.Run(fmt.Sprint(c.name, ",show=", show), func(b *testing.B) {
				b.SetBytes(160 * 64 << 10)
				for b.Loop() {
					l := NewLog(Limits{}, nil)
					for range 160 {
						l.Append(job.Stdout, c.in)
					}
					l.Finish()
					if show {
						Show(l, Style{Limit: 16000})
					}
					l.Close()
				}
			})
		}
	}
}
