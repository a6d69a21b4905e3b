package main

import (
	"strconv"
	"strings"
	"testing"
)

// TestG5: quotes keep a list together.
func TestG5(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	for _, c := range []struct {
		text  string
		parts int
	}{
		{`echo "a && b"`, 1},
		{`echo 'a && b' && echo c`, 2},
		{`echo a # && echo b`, 1},
		{`(echo a && echo b)`, 1},
		{`echo a \&\& b`, 1},
		{`echo a && echo b || echo c`, 1},
		{"cat <<E && echo b\na && b\nE", 1},
		{`echo $(true && echo a) && echo b`, 2},
	} {
		parts := w.run(t, c.text, args{"parallel": true}).results(t)
		if len(parts) != c.parts {
			t.Errorf("%s: %d parts: %v", c.text, len(parts), parts)
		}
		for _, p := range parts {
			p.has(t, "exit_code", 0)
		}
	}
	w.run(t, `echo "a && b"`, args{"parallel": true}).results(t)[0].has(t, "stdout", "a && b\n")
}

// TestG6: a long command runs, or is refused in words.
func TestG6(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	for _, size := range []int{100 << 10, 200 << 10, 4 << 20} {
		r := w.run(t, "echo begin; : "+strings.Repeat("x", size)+"; echo end")
		if !r.isError {
			r.has(t, "stdout", "begin\nend\n")
			continue
		}
		r.fails(t, "invalid", "bytes long").says(t, "hint", "stdin")
	}
	w.run(t, "bash", args{"stdin": "echo begin; : " + strings.Repeat("x", 200<<10) + "; echo end"}).has(t, "stdout", "begin\nend\n")
}

// TestG7: line ends of another system are mended, and nothing else is.
func TestG7(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, "echo a\r\necho b").has(t, "stdout", "a\nb\n", "command_echo", "echo a\r\necho b")
	w.run(t, "echo a\necho b").has(t, "stdout", "a\nb\n")
	w.run(t, "printf '%s|' 'a\tb' '-n' 'c\\'").has(t, "stdout", "a\tb|-n|c\\|")
	w.run(t, "-n").has(t, "exit_code", 127)
	w.run(t, "echo a\\").has(t, "stdout", "a\\\n")
	w.run(t, "echo \"$(printf 'x\\ry')\" | od -An -c").says(t, "stdout", `x  \r   y`)
}

// TestH1: a character that comes in two halves is one.
func TestH1(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.run(t, `printf '\xe4\xbd'; sleep 0.5; printf '\xa0\n'`).has(t, "stdout", "你\n")
	id := w.session(t, `printf 'a\xe4\xbd'; read x; printf '\xa0\n'`)
	if r := w.act(t, id, "read", args{"offset": 0, "wait": 1}); strings.Contains(r.text("stdout"), "\uFFFD") {
		t.Errorf("half a character was shown: %v", r)
	}
	w.act(t, id, "send", args{"command": "\n", "wait_for": "exit"})
	w.act(t, id, "read", args{"offset": 0}).has(t, "stdout", "a你\n")
	// Nor do cuts and positions split one.
	r := w.run(t, "for i in $(seq 4000); do printf 你好世界; done; echo")
	if r.has(t, "truncated", true); strings.Contains(r.text("stdout"), "\uFFFD") {
		t.Error("the cut split a character")
	}
	for offset := range 6 {
		part := w.act(t, r.args["session_id"], "read", args{"offset": offset, "limit": 10})
		if strings.Contains(part.text("stdout"), "\uFFFD") || len(part.text("stdout"))%3 != 0 {
			t.Errorf("offset %d: %q", offset, part.text("stdout"))
		}
	}
	w.run(t, `printf 'a\377b\n'`).has(t, "stdout", "a\uFFFDb\n")
}

// TestH8: colours, links and titles are no text.
func TestH8(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	w.write(t, "file", "")
	w.run(t, "ls --color=always").says(t, "stdout", "file").has(t, "stdout", w.run(t, "ls").args["stdout"])
	w.run(t, `printf '\033[1;31mred\033[0m \033]8;;http://x\033\\link\033]8;;\033\\ \033]0;title\007end\n'`).has(t, "stdout", "red link end\n")
}

// TestH9: one line of 50 MB is cut, quickly.
func TestH9(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "head -c 50000000 /dev/zero | tr '\\0' a", args{"timeout": 50})
	r.has(t, "exit_code", 0, "truncated", true, "is_timeout", false)
	if n := len(r.text("stdout")); n > 20000 {
		t.Errorf("%d bytes are shown", n)
	}
}

// TestH10: the order of the two streams can be had.
func TestH10(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	command := "echo a; sleep 0.1; echo b >&2; sleep 0.1; echo c"
	w.run(t, command).has(t, "stdout", "a\nc\n", "stderr", "b\n")
	w.run(t, command, args{"merged": true}).has(t, "stdout", "a\nb\nc\n")
}

// TestH12: no answer is larger than a client can take, and the rest can be had.
func TestH12(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "seq 1 300000")
	if r.size > 100_000 {
		t.Errorf("the response has %d bytes", r.size)
	}
	r.has(t, "truncated", true).says(t, "stdout", "1\n2\n3\n", "299999\n300000\n", "read session_id=", "tail=", "grep=")
	if got := r.number("omitted_bytes"); got < 1_900_000 {
		t.Errorf("omitted_bytes is %d", got)
	}
	offset := r.number("omitted_offset")
	next := w.act(t, r.args["session_id"], "read", args{"offset": offset, "limit": 100})
	head, _, _ := strings.Cut(r.text("stdout"), "[...")
	joined := strings.TrimSuffix(head, "\n") + next.text("stdout")
	if want := w.run(t, "seq 1 300000 | head -c "+strconv.Itoa(offset+100), args{"limit": 100000}).text("stdout"); strings.ReplaceAll(joined, "\n", "") != strings.ReplaceAll(want, "\n", "") {
		t.Errorf("the read does not follow on: %.40q...%q", joined, next.text("stdout"))
	}
	// Lines that look like errors are quoted from the middle.
	w.run(t, "seq 1 20000; echo 'fatal error: it broke'; seq 1 20000").says(t, "stdout", "fatal error: it broke")
}
