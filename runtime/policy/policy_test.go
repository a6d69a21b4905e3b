package policy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/runtime/job"
)

func check(t testing.TB, p *Policy, in Input) Decision {
	t.Helper()
	if in.Shell == "" {
		in.Shell = "bash"
	}
	return p.Check(context.Background(), in)
}

func TestRefusal(t *testing.T) {
	p := mustCompile(t, nil)
	d := check(t, p, Input{Text: "ls\nfind . -name x -exec rm {} \\; && $X"})
	err := d.Err()
	if err == nil || err.Kind != job.Denied || err.Retry != "never" || err.Policy != p.Fingerprint() || !strings.HasPrefix(err.Policy, "sha256:") {
		t.Fatalf("got %+v", err)
	}
	want := job.Finding{
		Rule: "R5", Command: "rm", Via: "find -exec", At: "2:22", Message: `"rm" is on the blacklist`,
		Suggest: "show the command to the user for manual execution",
	}
	if len(err.Findings) != 2 || err.Findings[0] != want {
		t.Errorf("got  %+v\nwant %+v first of two", err.Findings, want)
	}
	if err.Error() != want.Message || err.Hint != want.Suggest {
		t.Errorf("got %q, hint %q", err, err.Hint)
	}
	if check(t, p, Input{Text: "ls"}).Err() != nil {
		t.Error("an allowed text has an error")
	}
}

func TestFindingsAreFew(t *testing.T) {
	d := check(t, mustCompile(t, nil), Input{Text: strings.Repeat("rm a; ", 50)})
	if len(d.Findings) != 5 || d.More != 45 {
		t.Errorf("got %d findings and %d more, want 5 and 45", len(d.Findings), d.More)
	}
}

func TestRetry(t *testing.T) {
	p := mustCompile(t, nil)
	for text, want := range map[string]string{
		"rm a": "never", "$X a": "rewrite", "alias x=y": "never", "echo 'a": "rewrite", "bash -c \"$x\"": "rewrite", "ls": "", "$X; rm a": "never",
		"v='a[$(rm b)]'; ((v))": "rewrite",
	} {
		if d := check(t, p, Input{Text: text}); d.Retry != want {
			t.Errorf("%q: retry %q, want %q", text, d.Retry, want)
		}
	}
}

func TestUnresolvedAsks(t *testing.T) {
	p := mustCompile(t, func(c *Config) { c.Unresolved = "ask" })
	for text, want := range map[string]Verdict{
		"$X a": Ask, "bash -c \"$x\"": Ask, "curl x | sh": Ask, "env --nosuch ls": Ask,
		"rm a": Deny, "$X a; rm b": Deny, "echo 'a": Deny, "alias x=y": Deny, "v='a[$(rm b)]'; ((v))": Deny, strings.Repeat(":;", 3000): Deny,
	} {
		d := check(t, p, Input{Text: text})
		if d.Verdict != want {
			t.Errorf("%.40q: %s, want %s", text, d.summary(), want)
		}
		if d.Verdict == Ask && (d.Retry != "ask" || d.Err() == nil) {
			t.Errorf("%q: retry %q, error %v", text, d.Retry, d.Err())
		}
	}
}

// TestNormalised: the text that was checked is the text that must run.
func TestNormalised(t *testing.T) {
	d := check(t, mustCompile(t, nil), Input{Text: "echo a\r\necho b\r\n"})
	if d.Verdict != Allow || d.Text != "echo a\necho b\n" {
		t.Errorf("%s, text %q", d.summary(), d.Text)
	}
}

func TestFullMode(t *testing.T) {
	p := mustCompile(t, func(c *Config) { c.Mode = "full" })
	if d := check(t, p, Input{Text: "rm a\r; $("}); d.Verdict != Allow || d.Text != "rm a\r; $(" || p.Restricted() {
		t.Errorf("got %+v", d)
	}
	if p.Reader(Input{Shell: "bash", Text: "bash"}) != nil {
		t.Error("full mode reads what is typed")
	}
}

func TestInputsBesidesText(t *testing.T) {
	black, white := mustCompile(t, nil), mustCompile(t, func(c *Config) { c.List = "whitelist" })
	tests := []struct {
		name string
		p    *Policy
		in   Input
		want Verdict
	}{
		{"argv", black, Input{Argv: []string{"rm", "a"}}, Deny},
		{"argv is literal", black, Input{Argv: []string{"echo", "$(rm a); rm b"}}, Allow},
		{"argv opens wrappers", black, Input{Argv: []string{"env", "-i", "bash", "-c", "rm a"}}, Deny},
		{"argv path", white, Input{Argv: []string{"/usr/bin/git", "status"}}, Allow},
		{"argv not listed", white, Input{Argv: []string{"curl"}}, Deny},
		{"argv glob is a name", black, Input{Argv: []string{"[", "-f", "*", "]"}}, Allow},
		{"write", black, Input{Writes: []string{"/etc/passwd"}}, Allow},
		{"write outside", white, Input{Writes: []string{"/etc/passwd"}}, Deny},
		{"write below the directory", white, Input{Dir: "/w", Writes: []string{"/w/out.txt"}}, Allow},
		{"write hidden", white, Input{Dir: "/w", Writes: []string{"/w/.git/config"}}, Deny},
		{"delete", black, Input{Deletes: []string{"/w/a"}}, Deny},
		{"delete where rm is free", mustCompile(t, func(c *Config) { c.Blacklist = []string{"dd"} }), Input{Deletes: []string{"/w/a"}}, Allow},
		{"zsh", black, Input{Shell: "zsh", Text: "ls"}, Deny},
		{"fish", black, Input{Shell: "fish", Text: "ls"}, Deny},
		{"dash", black, Input{Shell: "dash", Text: "ls"}, Allow},
		{"nothing", black, Input{}, Allow},
		{"empty whitelist", mustCompile(t, func(c *Config) { c.List, c.Whitelist = "whitelist", []string{} }), Input{Text: "ls"}, Deny},
		{"empty blacklist", mustCompile(t, func(c *Config) { c.Blacklist = []string{} }), Input{Text: "rm a"}, Allow},
	}
	for _, tt := range tests {
		if d := check(t, tt.p, tt.in); d.Verdict != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, d.summary(), tt.want)
		}
	}
}

func TestRules(t *testing.T) {
	outside := func(_ context.Context, cmd map[string]any) (any, error) {
		for _, a := range cmd["args"].([]any) {
			if s := a.(string); strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "/srv/app/") {
				return true, nil
			}
		}
		return false, nil
	}
	broken := func(context.Context, map[string]any) (any, error) { return nil, errors.New("too many steps") }
	rules := Rules{
		&Wrapper{Name: "runas-ci", Options: []string{"-v"}, OptionsWithValue: []string{"-u", "-q"}, Positionals: 1},
		&Rule{
			Name: "force-push", Program: []string{"git"}, Prefix: Prefix{{"push"}}, Any: []string{"-f", "--force", "--force-with-lease*"}, None: []string{"--dry-run"},
			Decision: "ask", Reason: "a forced push rewrites history for everybody", Suggest: "git push without --force",
			Match:    []string{"cd x && git -c a.b=c push origin main -f", "sudo git push --force", "git push -uf", "git -C x push --force-with-lease=a"},
			NotMatch: []string{"git push", "git commit -m 'push --force'", "echo git push -f", "git push -f --dry-run"},
		},
		&Rule{Name: "write-outside", Program: []string{"cp", "tee"}, When: outside, Decision: "deny", Match: []string{"cp a /etc/x"}, NotMatch: []string{"cp a /srv/app/b"}},
		&Rule{Name: "broken", Program: []string{"mv"}, When: broken, Decision: "deny"},
		&Rule{Name: "pr", Program: []string{"gh"}, Prefix: Prefix{{"pr"}, {"view", "list"}}, Decision: "deny", Match: []string{"gh pr list", "gh pr -R x view 1"}, NotMatch: []string{"gh pr create", "gh repo view"}},
		&WriteRule{Name: "no-etc", Under: []string{"/etc", "~/.ssh"}, Decision: "deny", Match: []string{"echo x > /etc/passwd", "echo >> ~/.ssh/config", "echo > \"/etc/$X\""}, NotMatch: []string{"echo > a", "cat /etc/passwd", "echo > /dev/null"}},
		&EnvRule{Name: "no-ld", Names: []string{"LD_*"}, Decision: "deny", Match: []string{"LD_PRELOAD=x ls", "export LD_X=1", "env LD_A=b ls"}, NotMatch: []string{"A=b ls"}},
	}
	p := mustCompile(t, func(c *Config) { c.Rules = rules })
	for text, want := range map[string]Verdict{
		"runas-ci -u root host rm a": Deny, "runas-ci -v host ls": Allow, "runas-ci --new host ls": Deny, "mv a b": Deny,
		"cp a /etc/b": Deny, "git push -f": Ask, "git push -f; rm a": Deny, "X=push; git $X -f": Ask,
	} {
		if d := check(t, p, Input{Text: text}); d.Verdict != want {
			t.Errorf("%q: %s, want %s", text, d.summary(), want)
		}
	}
	if d := check(t, p, Input{Text: "ls", Env: map[string]string{"LD_PRELOAD": "x"}}); d.Verdict != Deny || d.Findings[0].Rule != "no-ld" {
		t.Errorf("env parameter: %s", d.summary())
	}
	if d := check(t, p, Input{Writes: []string{"/etc/x"}}); d.Verdict != Deny {
		t.Errorf("a write of the server's own: %s", d.summary())
	}
}

func TestAllowRule(t *testing.T) {
	p := mustCompile(t, func(c *Config) {
		c.List = "whitelist"
		c.Rules = Rules{&Rule{Name: "tests", Program: []string{"go"}, Prefix: Prefix{{"test"}}, Decision: "allow", Match: []string{"go test ./..."}, NotMatch: []string{"go run x"}}}
	})
	for text, want := range map[string]Verdict{
		"go test ./...": Allow, "go build": Deny, "go -C x test": Deny, "go test ./... | sh": Deny, "$X test": Deny, "go test -exec 'rm a'": Deny, "rm test": Deny,
	} {
		if d := check(t, p, Input{Text: text}); d.Verdict != want {
			t.Errorf("%q: %s, want %s", text, d.summary(), want)
		}
	}
}

// TestExamplesMustHold: all rules that do not hold are named, with the example and what was decided.
func TestExamplesMustHold(t *testing.T) {
	one := &Rule{Name: "one", Program: []string{"git"}, Prefix: Prefix{{"push"}}, Decision: "deny", Match: []string{"git pull"}, NotMatch: []string{"git -c a.b=c push"}}
	two := &Rule{Name: "two", Program: []string{"rm"}, Decision: "allow", Match: []string{"rm a"}}
	three := &Rule{Name: "three", Program: []string{"ls"}, Decision: "allow"}
	c := NewConfig()
	c.Rules = Rules{one, two}
	_, err := c.Compile()
	for _, want := range []string{
		`rule "one": example "git pull": does not match: the policy says allow`,
		`rule "one": example "git -c a.b=c push": matches although it stands in not_match`,
		`rule "two": example "rm a": does not match: the policy says deny (R5`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	var rule *RuleError
	if !errors.As(err, &rule) || rule.Item != Item(one) || rule.Example != "git pull" {
		t.Errorf("the error does not name its rule: %+v", rule)
	}
	c.Rules = Rules{three, &Rule{Name: "four", Program: []string{"x"}}}
	if _, err = c.Compile(); err == nil || !strings.Contains(err.Error(), "needs match=") || !strings.Contains(err.Error(), `decision is ""`) {
		t.Errorf("got %v", err)
	}
}

func TestFromConfig(t *testing.T) {
	var r Rules
	if err := r.FromConfig([]any{&Rule{}, &Wrapper{}}); err != nil || len(r) != 2 {
		t.Errorf("got %v, %v", r, err)
	}
	if err := r.FromConfig([]any{"rm"}); err == nil {
		t.Error("a string passes for a rule")
	}
	var p Prefix
	if err := p.FromConfig([]any{"pr", []any{"view", "list"}}); err != nil || len(p) != 2 || !slices.Equal(p[1], []string{"view", "list"}) {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestValidate(t *testing.T) {
	c := &Config{Mode: "half", List: "grey", Unresolved: "x", ShellStdin: "y", Blacklist: []string{"/bin/rm"}, Whitelist: []string{"a b"}, TrustedDirs: []string{"bin"}}
	err := c.Validate()
	for _, want := range []string{"mode", "list", "unresolved", "shell_stdin", "blacklist", "whitelist", "trusted_dirs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %s", err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	p := mustCompile(t, func(c *Config) { c.List, c.Whitelist = "whitelist", []string{"ls", "python3", "git", "sudo", "cat"} })
	got := strings.Join(p.Warnings(), "\n")
	for _, name := range []string{"python3", "git", "sudo"} {
		if !strings.Contains(got, `"`+name+`"`) {
			t.Errorf("no warning about %s in %q", name, got)
		}
	}
	if len(p.Warnings()) != 3 || len(mustCompile(t, nil).Warnings()) != 0 {
		t.Errorf("got %q", p.Warnings())
	}
}

func TestFingerprint(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []func(*Config){
		nil, func(c *Config) { c.List = "whitelist" }, func(c *Config) { c.Blacklist = nil }, func(c *Config) { c.Rules = manyRules(1) },
		func(c *Config) { c.Rules = Rules{&Rule{Name: "a", Program: []string{"x"}, Decision: "deny"}} },
		func(c *Config) {
			c.Rules = Rules{&Rule{Name: "a", Program: []string{"x"}, Decision: "deny", When: func(context.Context, map[string]any) (any, error) { return nil, nil }}}
		},
	} {
		seen[mustCompile(t, change).Fingerprint()] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d different fingerprints of 6 policies", len(seen))
	}
	if one, two := mustCompile(t, nil), mustCompile(t, nil); one.Fingerprint() != two.Fingerprint() {
		t.Error("the same policy has two fingerprints")
	}
}

func TestExplain(t *testing.T) {
	for _, rule := range []string{"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "r5"} {
		if text, ok := Explain(rule); !ok || len(text) < 100 {
			t.Errorf("%s: %q", rule, text)
		}
	}
	if _, ok := Explain("R16"); ok {
		t.Error("R16 is explained")
	}
}

// TestTables parses every row: a row that cannot be read would fail at its first use.
func TestTables(t *testing.T) {
	wrappers := 0
	for _, p := range programs() {
		p.once.Do(p.parseOptions)
		if p.wraps() {
			wrappers++
		}
	}
	if wrappers < 90 {
		t.Errorf("%d names of wrappers", wrappers)
	}
}

func TestCancelled(t *testing.T) {
	p := mustCompile(t, nil)
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d := p.Check(ctx, Input{Shell: "bash", Text: "ls"}); d.Verdict != Deny {
		t.Errorf("a check that never ran says %s", d.Verdict)
	}
}

// TestHostileTexts: texts that are made to hurt the parser are answered soon, and refused where they must be.
func TestHostileTexts(t *testing.T) {
	p := mustCompile(t, nil)
	long := func(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	for _, unit := range []string{"(", "$(", `"$(`, "((", "a[", "{ ", "if ", "${a:-", "a && ", "a|", "`", "\\`", "<(", "[[ ", "case x in ", "a=(", "$((", "1+", "!", "a;", "{a,b}", "x=$x", "\n", "é", "'a'", "f(){ ", "<<E ", "# ", "eval ", "env ", "bash -c "} {
		for _, size := range []int{10_000, maxText, 1 << 20} {
			began := time.Now()
			d := check(t, p, Input{Text: long(unit, size)})
			if took := time.Since(began); took > time.Second {
				t.Logf("%d bytes of %q took %s", size, unit, took)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%d bytes of %q took %s", size, unit, took)
			}
			if size > maxText && d.Verdict != Deny {
				t.Errorf("1 MB of %q is allowed", unit)
			}
			if nested := unit != "\n" && unit != "é" && unit != "'a'" && unit != "# " && unit != "a;"; nested && size == maxText && d.Verdict != Deny && !slices.Contains([]string{"{a,b}", "x=$x", "1+", "!", "env ", "eval ", "bash -c ", "\\`"}, unit) {
				t.Errorf("%d bytes of %q are allowed", size, unit)
			}
		}
	}
	for _, word := range []string{"echo " + long("a", 100_000), "echo '" + long("a ", 100_000) + "'"} {
		if d := check(t, p, Input{Text: word}); d.Verdict != Allow {
			t.Errorf("one long word: %s", d.summary())
		}
	}
	for n, want := range map[int]Verdict{150: Allow, 5000: Deny} {
		text := strings.Repeat("(", n) + "ls" + strings.Repeat(")", n)
		if d := check(t, p, Input{Text: strings.ReplaceAll(text, "((", "( (")}); d.Verdict != want {
			t.Errorf("%d levels: %s, want %s", n, d.summary(), want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"ls; rm a", "echo \"${v:-'$(rm b)'}\"", "cat <<E\nx\nE", "a[$(ls)]=1", "env -u X ls", "case x in a) ;; esac", "for ((;;)); do :; done", "`echo \\`ls\\``"} {
		f.Add(s, "bash")
		f.Add(s, "sh")
		f.Add(s, "cmd")
		f.Add(s, "pwsh")
	}
	p := mustCompile(f, nil)
	f.Fuzz(func(t *testing.T, text, shell string) {
		d := p.Check(context.Background(), Input{Shell: shell, Text: text})
		for _, x := range d.Findings {
			if strings.Contains(x.Message, "the checker failed") {
				t.Errorf("%s: %q: %s", shell, text, x.Message)
			}
		}
		again := p.Check(context.Background(), Input{Shell: shell, Text: text})
		if again.Verdict != d.Verdict || len(again.Findings) != len(d.Findings) {
			t.Errorf("two answers: %s, %s", d.summary(), again.summary())
		}
		if d.Verdict == Allow {
			if twice := p.Check(context.Background(), Input{Shell: shell, Text: d.Text}); twice.Verdict != Allow || twice.Text != d.Text {
				t.Errorf("the normalised text is judged otherwise: %s", twice.summary())
			}
		}
	})
}
