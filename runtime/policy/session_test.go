package policy

import (
	"context"
	"strings"
	"testing"
)

func TestReaderIsForShells(t *testing.T) {
	p := mustCompile(t, nil)
	for text, want := range map[string]bool{
		"bash": true, "sh": true, "bash -x": true, "exec bash": true, "sudo -u x bash": true, "env A=1 sh": true, "docker exec -it web bash": true, "ssh host": true, "su - x": true,
		"cd /x && bash": true, "bash -s": true, "sudo -i": true, "script": true, "kubectl exec -it p -- sh": true,
		"python": false, "cat": false, "bash x.sh": false, "bash -c ls": false, "ls": false, "bash < f": false, "docker exec web bash": false, "ssh -N host": false,
	} {
		if got := p.Reader(Input{Shell: "bash", Text: text}) != nil; got != want {
			t.Errorf("%q: a reader: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"read x; bash", "cat; bash", "bash; bash", "for i in 1 2; do bash; done", "zsh", "fish"} {
		if d := check(t, p, Input{Text: text}); d.Verdict != Deny {
			t.Errorf("%q: %s: what is typed cannot be told", text, d.summary())
		}
	}
	if p.Reader(Input{Shell: "bash", Argv: []string{"bash", "-x"}}) == nil {
		t.Error("no reader for an argv")
	}
}

// step is one send: what passes, whether something is held, and whether it is refused.
type step struct {
	send, pass string
	held, deny bool
}

func TestType(t *testing.T) {
	tests := map[string][]step{
		"one line":              {{"ls\n", "ls\n", false, false}},
		"refused":               {{"rm x\n", "", false, true}, {"ls\n", "ls\n", false, false}},
		"two sends":             {{"r", "", true, false}, {"m x", "", true, false}, {"\n", "", false, true}, {"ls\n", "ls\n", false, false}},
		"two sends allowed":     {{"ls ", "", true, false}, {"-l\n", "ls -l\n", false, false}},
		"several statements":    {{"ls\npwd\n", "ls\npwd\n", false, false}},
		"the second is refused": {{"ls\nrm x\npwd\n", "ls\n", false, true}, {"pwd\n", "pwd\n", false, false}},
		"loop":                  {{"for i in 1 2; do\n", "", true, false}, {"echo $i\n", "", true, false}, {"done\n", "for i in 1 2; do\necho $i\ndone\n", false, false}},
		"refused in a loop":     {{"for i in 1 2; do\n", "", true, false}, {"rm $i\n", "", true, false}, {"done\n", "", false, true}},
		"here-document":         {{"cat > f <<'E'\n", "", true, false}, {"rm x\nE\n", "cat > f <<'E'\nrm x\nE\n", false, false}},
		"open quote":            {{"echo 'a\n", "", true, false}, {"rm b'\n", "echo 'a\nrm b'\n", false, false}},
		"blank":                 {{"\n", "\n", false, false}},
		"comment":               {{"# rm\n", "# rm\n", false, false}},
		"continuation":          {{"r\\\n", "", true, false}, {"m x\n", "", false, true}},
		"history":               {{"^a^rm\n", "", false, true}},
		"control":               {{"ls\x1b[A\n", "", false, true}},
		"syntax error":          {{"fi\n", "", false, true}},
		"crlf":                  {{"ls\r\n", "ls\n", false, false}},
		"alias":                 {{"alias ls=rm\n", "", false, true}},
	}
	p := mustCompile(t, nil)
	for name, steps := range tests {
		r := p.Reader(Input{Shell: "bash", Text: "bash"})
		for i, s := range steps {
			pass, held, d := r.Type(context.Background(), []byte(s.send))
			if string(pass) != s.pass || held != s.held || (d.Verdict != Allow) != s.deny {
				t.Errorf("%s, step %d: passes %q, held %v, %s, want %q, %v, denied %v", name, i, pass, held, d.summary(), s.pass, s.held, s.deny)
			}
		}
	}
}

func TestClear(t *testing.T) {
	r := mustCompile(t, nil).Reader(Input{Shell: "bash", Text: "bash"})
	ctx := context.Background()
	if _, held, _ := r.Type(ctx, []byte("for i in 1; do\n")); !held {
		t.Error("half a loop is not held")
	}
	r.Clear()
	if pass, held, d := r.Type(ctx, []byte("ls\n")); string(pass) != "ls\n" || held || d.Verdict != Allow {
		t.Errorf("after Clear: %q, %v, %s", pass, held, d.summary())
	}
}

func TestEOF(t *testing.T) {
	ctx := context.Background()
	for text, want := range map[string]Verdict{"ls": Allow, "rm x": Deny, "": Allow, "echo 'a": Deny} {
		r := mustCompile(t, nil).Reader(Input{Shell: "bash", Text: "bash"})
		r.Type(ctx, []byte(text))
		if pass, d := r.EOF(ctx); d.Verdict != want || want == Allow && string(pass) != text {
			t.Errorf("%q: passes %q, %s", text, pass, d.summary())
		}
	}
}

// TestTypedPastAProgram: once a program may have read the input, the lines of a later statement may reach the shell one
// by one.
func TestTypedPastAProgram(t *testing.T) {
	ctx := context.Background()
	p := mustCompile(t, nil)
	r := p.Reader(Input{Shell: "bash", Text: "bash"})
	if pass, _, d := r.Type(ctx, []byte("read x\n")); string(pass) != "read x\n" {
		t.Fatalf("%q, %s", pass, d.summary())
	}
	if _, _, d := r.Type(ctx, []byte("echo '\nrm y\n'\n")); d.Verdict != Deny {
		t.Errorf("read takes the first line, and the shell would run the second: %s", d.summary())
	}
	r = p.Reader(Input{Shell: "bash", Text: "bash"})
	r.Type(ctx, []byte("grep x f\n"))
	if _, _, d := r.Type(ctx, []byte("for i in 1 2; do\n  echo $i\ndone\n")); d.Verdict != Allow {
		t.Errorf("an ordinary loop after a program: %s", d.summary())
	}
}

// TestTypedIntoOther: what is typed into a shell on the other side is read as sh and as bash.
func TestTypedIntoOther(t *testing.T) {
	r := mustCompile(t, nil).Reader(Input{Shell: "bash", Text: "ssh host"})
	for text, want := range map[string]Verdict{"ls\n": Allow, "rm x\n": Deny, "a=(1 2)\n": Deny} {
		if _, _, d := r.Type(context.Background(), []byte(text)); d.Verdict != want {
			t.Errorf("%q: %s, want %s", text, d.summary(), want)
		}
		r.Clear()
	}
}

func TestTypedTooMuch(t *testing.T) {
	r := mustCompile(t, nil).Reader(Input{Shell: "bash", Text: "bash"})
	if _, _, d := r.Type(context.Background(), []byte(strings.Repeat("a", maxText+1))); d.Verdict != Deny {
		t.Errorf("got %s", d.summary())
	}
}
