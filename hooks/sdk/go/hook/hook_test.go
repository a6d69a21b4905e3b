//go:build !wasip1

package hook

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPreDecides(t *testing.T) {
	h := Hook{Pre: func(c *Cmd) error {
		c.SetEnv("A", "1")
		switch c.Command() {
		case "deny":
			return Deny("not that")
		case "ask":
			return Ask("really?")
		case "fail":
			return errors.New("cannot tell")
		case "refused":
			c.SetEnv("A=B", "1")
		case "deny all the same":
			c.SetEnv("A=B", "1")
			return Deny("not that")
		case "ask about what was not done":
			c.SetEnv("A=B", "1")
			return Ask("really?")
		}
		return nil
	}}
	for _, tt := range []struct {
		command        string
		deny, ask, err string
		changed        bool
	}{
		{command: "run", changed: true},
		{command: "deny", deny: "not that"},
		{command: "ask", ask: "really?", changed: true},
		{command: "fail", err: "cannot tell"},
		{command: "refused", err: "field 4 (A=B) was not set: the value is not allowed"},
		{command: "deny all the same", deny: "not that"},
		{command: "ask about what was not done", err: "field 4 (A=B) was not set: the value is not allowed"},
	} {
		got := Fake{}.Pre(h, Command{Command: tt.command})
		if got.Deny != tt.deny || got.Ask != tt.ask || got.Err != tt.err || (got.Env["A"] == "1") != tt.changed {
			t.Errorf("%s: got %+v", tt.command, got)
		}
	}
}

func TestPreEdits(t *testing.T) {
	var lines []string
	server := Fake{Config: map[string]string{"k": "v"}, Log: func(l string) { lines = append(lines, l) }}
	before := Command{Argv: []string{"a", "", "b c"}, Dir: "/d", Env: map[string]string{"X": strings.Repeat("x", 5000), "Y": "1"}, Timeout: time.Minute, Tool: "t", Backend: "ssh", Target: "prod"}
	got := server.Pre(Hook{Pre: func(c *Cmd) error {
		x, _ := c.Env("X")
		_, absent := c.Env("Z")
		if !slices.Equal(c.Argv(), before.Argv) || c.Command() != "" || len(x) != 5000 || absent || len(c.Environ()) != 2 || c.Dir() != "/d" ||
			c.Timeout() != time.Minute || c.Tool() != "t" || c.Backend() != "ssh" || c.Target() != "prod" || c.Config("k") != "v" || c.Shell() != "" {
			t.Errorf("sees %v %q %v", c.Argv(), c.Command(), c.Environ())
		}
		c.SetCommand("echo")
		if c.Command() != "echo" || c.Argv() != nil {
			t.Error("does not see its own change")
		}
		c.SetArgv("x", "y")
		c.SetDir("/e")
		c.UnsetEnv("Y")
		c.LowerTimeout(time.Hour)
		c.LowerTimeout(time.Second)
		c.Note("noted")
		c.Info("said", "a", "1")
		return nil
	}}, before)
	if !slices.Equal(got.Argv, []string{"x", "y"}) || got.Dir != "/e" || len(got.Env) != 1 || got.Timeout != time.Second ||
		!slices.Equal(got.Notes, []string{"noted"}) || !slices.Equal(lines, []string{"info said a=1"}) {
		t.Errorf("got %+v, log %q", got, lines)
	}
	if before.Env["Y"] != "1" {
		t.Error("the caller's map was changed")
	}
}

func TestRedact(t *testing.T) {
	h := Hook{Filter: Redact(
		Token{Prefix: "AKIA", Min: 4, Max: 4, Class: AlnumUpper, Mask: "[aws]"},
		Token{Prefix: "ghp_", Min: 3, Max: 6, Class: Alnum, Mask: "[github]"},
		Token{Prefix: "Al", Min: 1, Max: 2, Class: Word, Mask: "[al]"},
	)}
	for in, want := range map[string]string{
		"":                           "",
		"nothing":                    "nothing",
		"AKIA1234":                   "[aws]",
		"AKIA12345":                  "[aws]5",
		"AKIA123":                    "AKIA123",
		"AKAKIA1234":                 "AK[aws]",
		"ghp_ab ghp_abc ghp_abcdefg": "ghp_ab [github] [github]g",
		"AlAKIA1234":                 "[al]IA1234",
		"ghp_abc":                    "[github]",
		"Al":                         "Al",
	} {
		got, err := Fake{}.Filter(h, in)
		if got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestLines(t *testing.T) {
	h := Hook{Filter: Lines(func(_ *Chunk, line []byte) []byte {
		if strings.HasPrefix(string(line), "#") {
			return nil
		}
		return line
	})}
	got, err := Fake{}.Filter(h, "a\n#b\n\nc#\n#d")
	if want := "a\n\nc#\n"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	long := strings.Repeat("x", 2*MaxKeep+1)
	pieces := 0
	h.Filter = Lines(func(_ *Chunk, line []byte) []byte {
		pieces++
		return line
	})
	for _, chunks := range [][]string{{long, "\n", ""}, {long[:100], long[100:MaxKeep], long[MaxKeep:] + "\n"}} {
		pieces = 0
		if got, err := (Fake{}).chunks(h, chunks); got != long+"\n" || err != nil || pieces != 3 {
			t.Errorf("%d bytes, %d pieces, %v", len(got), pieces, err)
		}
	}
}

// What an author may get wrong, the fake must show.
func TestFakeNoticesBrokenFilters(t *testing.T) {
	good := Redact(Token{Prefix: "AKIA", Min: 4, Max: 4, Class: AlnumUpper, Mask: "*"})
	for name, broken := range map[string]func(*Chunk) (int, error){
		"keeps nothing":      func(c *Chunk) (int, error) { c.Flags |= Final; return good(c) },
		"keeps at the end":   func(c *Chunk) (int, error) { c.Flags = 0; return good(c) },
		"keeps one too few":  func(c *Chunk) (int, error) { n, err := good(c); return max(n-1, 0), err },
		"keeps one too many": func(c *Chunk) (int, error) { n, err := good(c); return n + 1, err },
		"fails":              func(*Chunk) (int, error) { return 0, errors.New("no") },
	} {
		if got, err := (Fake{}).Filter(Hook{Filter: broken}, "xAKIA1234 AKI"); err == nil {
			t.Errorf("%s: got %q without an error", name, got)
		}
	}
}

func TestState(t *testing.T) {
	h := Hook{Filter: func(c *Chunk) (int, error) {
		if c.State("seen") == "" {
			c.Write([]byte("first:"))
		}
		c.SetState("seen", "1")
		if c.Final() {
			c.SetState("seen", "")
		}
		c.Write(c.In)
		return 0, nil
	}}
	if got, err := (Fake{}).Filter(h, "abc"); got != "first:abc" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	h.Filter = func(c *Chunk) (int, error) { c.SetState("k", strings.Repeat("x", 5000)); return 0, nil }
	if _, err := (Fake{}).Filter(h, "a"); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}

func TestPost(t *testing.T) {
	h := Hook{Post: func(c *End) error {
		if c.ExitCode() != 3 || c.TimedOut() || c.Signal() != "" || c.Elapsed() != 0 {
			t.Errorf("%d %v", c.ExitCode(), c.TimedOut())
		}
		if c.Command() == "bad" {
			return errors.New("no")
		}
		c.Note("it ended")
		return nil
	}}
	notes, err := Fake{}.Post(h, Command{Command: "x"}, 3)
	if err != nil || !slices.Equal(notes, []string{"it ended"}) {
		t.Errorf("got %q, %v", notes, err)
	}
	if _, err := (Fake{}).Post(h, Command{Command: "bad"}, 3); err == nil {
		t.Error("no error")
	}
}
