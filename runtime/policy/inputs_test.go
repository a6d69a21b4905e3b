package policy

import (
	"context"
	"testing"
)

func compile(t *testing.T, edit func(*Config)) *Policy {
	t.Helper()
	c := NewConfig()
	edit(c)
	p, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestShellStdinDeny(t *testing.T) {
	p := compile(t, func(c *Config) { c.ShellStdin = "deny" })
	for _, c := range []struct {
		text  string
		stdin bool
		want  Verdict
	}{
		{"bash", true, Deny},
		{"env sh", true, Deny},
		{"bash", false, Allow},
		{"cat", true, Allow},
		{"python3 -i", true, Allow},
	} {
		d := p.Check(context.Background(), Input{Shell: "bash", Text: c.text, Stdin: c.stdin})
		if d.Verdict != c.want || c.want == Deny && d.Findings[0].Rule != "R9" {
			t.Errorf("%q with stdin %v: %v %v, want %v", c.text, c.stdin, d.Verdict, d.Findings, c.want)
		}
	}
}

func TestWriteRuleKnowsHome(t *testing.T) {
	for _, c := range []struct {
		under, home, dir, text string
		want                   Verdict
	}{
		{"~/.ssh", "/root", "/", "echo x > /root/.ssh/authorized_keys", Deny},
		{"~/.ssh", "/root", "/root", "echo x > .ssh/authorized_keys", Deny},
		{"~/.ssh", "/root", "/", "echo x > ~/.ssh/authorized_keys", Deny},
		{"/root/.ssh", "/root", "/", "echo x > ~/.ssh/authorized_keys", Deny},
		{"~/.ssh", "/root", "/", "echo x > /root/.sshd", Allow},
		{"~/.ssh", "", "/", "echo x > /home/me/.ssh/id", Deny},
		{"/home/me/.ssh", "", "/", "echo x > ~/.ssh/id", Deny},
		{"/home/me/.ssh", "", "/", "echo x > ~/notes", Allow},
		{"/etc", "", "/", "echo x > ~/etc2", Allow},
	} {
		p := compile(t, func(cfg *Config) {
			r := NewWriteRule()
			r.Name, r.Under, r.Decision = "keys", []string{c.under}, "deny"
			cfg.Rules = append(cfg.Rules, r)
		})
		d := p.Check(context.Background(), Input{Shell: "bash", Text: c.text, Dir: c.dir, Home: c.home})
		if d.Verdict != c.want {
			t.Errorf("under %s, home %q, %q: %v, want %v", c.under, c.home, c.text, d.Verdict, c.want)
		}
	}
}

func TestRefusedStatementIsDroppedWhole(t *testing.T) {
	p := compile(t, func(*Config) {})
	r := p.Reader(Input{Shell: "bash", Text: "bash"})
	ctx := context.Background()
	if _, held, d := r.Type(ctx, []byte("r")); !held || d.Verdict != Allow {
		t.Fatalf("held %v, %v", held, d.Verdict)
	}
	if pass, held, d := r.Type(ctx, []byte("m x\n")); len(pass) > 0 || held || d.Verdict != Deny {
		t.Errorf("pass %q, held %v, %v", pass, held, d.Verdict)
	}
	if pass, _, d := r.Type(ctx, []byte("echo hi\n")); string(pass) != "echo hi\n" || d.Verdict != Allow {
		t.Errorf("after a refusal %q, %v", pass, d.Verdict)
	}
}
