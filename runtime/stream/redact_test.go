package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

var (
	alnum36 = strings.Repeat("aB3dE6", 6)
	keyText = "MIIEpAIBAAKCAQEA7\nq2v+/x9\n"
	keyPEM  = "-----BEGIN RSA PRIVATE KEY-----\n" + keyText + "-----END RSA PRIVATE KEY-----"
)

// redactCases are texts for the built-in shapes and the secrets s3cr3t-value and s3cr3t-value-longer.
var redactCases = []struct{ name, in, want string }{
	{"nothing", "plain text, nothing in it\n", "plain text, nothing in it\n"},
	{"aws", "id=AKIAIOSFODNN7EXAMPLE\n", "id=AKIA[redacted]\n"},
	{"aws too long", "AKIAIOSFODNN7EXAMPLEX\n", "AKIAIOSFODNN7EXAMPLEX\n"},
	{"aws in a word", "XAKIAIOSFODNN7EXAMPLE\n", "XAKIAIOSFODNN7EXAMPLE\n"},
	{"github", "x ghp_" + alnum36 + " y", "x ghp_[redacted] y"},
	{"github fine-grained", "github_pat_11AB_" + alnum36, "github_pat_[redacted]"},
	{"gitlab", "glpat-abcDEF_123-4567890ab\n", "glpat-[redacted]\n"},
	{"slack", "xoxb-123456789012-abcDEF", "xoxb-[redacted]"},
	{"openai", "sk-" + alnum36 + "\n", "sk-[redacted]\n"},
	{"openai project", "sk-proj-ab_-" + alnum36 + "\n", "sk-proj-[redacted]\n"},
	{"anthropic", "sk-ant-api03-" + alnum36 + "-x_y\n", "sk-ant-[redacted]\n"},
	{"css class", "class=\"sk-folding-cube-large-one\"", "class=\"sk-folding-cube-large-one\""},
	{"task", "task-0123456789abcdefghijkl", "task-0123456789abcdefghijkl"},
	{"google", "AIzaSyA" + strings.Repeat("b", 32) + ".", "AIza[redacted]."},
	{"npm", "//registry.npmjs.org/:_authToken=npm_" + alnum36 + "\n", "//registry.npmjs.org/:_authToken=npm_[redacted]\n"},
	{"pypi", "password = pypi-AgEIcHlwaS5vcmcCJDU-x_y", "password = pypi-[redacted]"},
	{"pypi action", "uses: pypi-publish-with-attestations", "uses: pypi-publish-with-attestations"},
	{"jwt", "t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.abc_-D;", "t=eyJ[redacted];"},
	{"jwt without end", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi"},
	{"bearer header", "curl -H 'Authorization: Bearer abc' u", "curl -H 'Authorization: Bearer [redacted]' u"},
	{"basic header", "> authorization: basic dXNlcjpwYXNz\r\n", "> authorization: basic [redacted]\r\n"},
	{"header in json", `{"Authorization": "Bearer abc", "x": 1}`, `{"Authorization": "Bearer [redacted]", "x": 1}`},
	{"bearer alone", "bearer " + alnum36 + "\n", "bearer [redacted]\n"},
	{"bearer of news", "the bearer of bad news, a bearer authentication\n", "the bearer of bad news, a bearer authentication\n"},
	{"url", "git clone https://me:p4ss@host/x.git\n", "git clone https://me:[redacted]@host/x.git\n"},
	{"url, at sign in password", "https://me:p@ss@host/x", "https://me:[redacted]@host/x"},
	{"url without password", "https://host:8080/a@b\n", "https://host:8080/a@b\n"},
	{"url at the end", "https://me:p4ss@host", "https://me:[redacted]@host"},
	{"key", "a\n" + keyPEM + "\nb\n", "a\n-----BEGIN RSA PRIVATE KEY-----[redacted]\nb\n"},
	{"two keys", keyPEM + "\n-\n" + keyPEM, "-----BEGIN RSA PRIVATE KEY-----[redacted]\n-\n-----BEGIN RSA PRIVATE KEY-----[redacted]"},
	{"key without end", "-----BEGIN PRIVATE KEY-----\n" + keyText, "-----BEGIN PRIVATE KEY-----[redacted]"},
	{"public key", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n"},
	{"secret", "a s3cr3t-value b", "a [redacted] b"},
	{"longest secret", "as3cr3t-value-longerb", "a[redacted]b"},
	{"between two secrets", "s3cr3t-value-longe", "[redacted]-longe"},
	{"secret after its beginning", "s3cr3ts3cr3t-value", "s3cr3t[redacted]"},
	{"secret in base64", "czNjcjN0LXZhbHVl\n", "[redacted]\n"},
	{"almost", "s3cr3t-valu", "s3cr3t-valu"},
	{"umlauts", "ä密码: s3cr3t-valueß", "ä密码: [redacted]ß"},
	{"invalid", "\xe4\xbd\xff s3cr3t-value\xe4", "\xe4\xbd\xff [redacted]\xe4"},
}

var caseSecrets = []string{"s3cr3t-value", "s3cr3t-value-longer", "short", " "}

func compile(t testing.TB, rs ...*Redact) *Rules {
	t.Helper()
	rules, err := Compile(rs)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// pass sends in through a new redactor, cut at the given places.
func pass(rules *Rules, secrets []string, in string, cuts ...int) string {
	d := rules.Redactor(secrets)
	var out []byte
	at := 0
	for _, cut := range append(cuts, len(in)) {
		out = append(out, d.Write([]byte(in[at:cut]))...)
		at = cut
	}
	return string(append(out, d.Flush()...))
}

// everyCut checks that the writes' borders make no difference.
func everyCut(t *testing.T, rules *Rules, secrets []string, in, want string) {
	t.Helper()
	if got := pass(rules, secrets, in); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
		return
	}
	for i := range len(in) + 1 {
		for j := i; j <= len(in); j += 1 + len(in)/50 { // every second cut, except in the long ones
			if got := pass(rules, secrets, in, i, j); got != want {
				t.Fatalf("cut at %d and %d (%q %q %q):\ngot  %q\nwant %q", i, j, in[:i], in[i:j], in[j:], got, want)
			}
		}
	}
	single := make([]int, len(in))
	for i := range single {
		single[i] = i
	}
	if got := pass(rules, secrets, in, single...); got != want {
		t.Errorf("byte by byte:\ngot  %q\nwant %q", got, want)
	}
}

func TestRedactShapes(t *testing.T) {
	rules := compile(t, NewRedact())
	for _, c := range redactCases {
		t.Run(c.name, func(t *testing.T) { everyCut(t, rules, caseSecrets, c.in, c.want) })
	}
}

func TestRedactPatterns(t *testing.T) {
	for _, c := range []struct{ name, pattern, in, want string }{
		{"literal", `ACME-\d{4}`, "x ACME-1234 ACME-12 y", "x [redacted] ACME-12 y"},
		{"group", `(?i)password\s*[:=]\s*(\S+)`, "Password: hunter2 ok", "Password: [redacted] ok"},
		{"any case", `(?i)k\d+`, "K12 k3 \u212a4", "[redacted] [redacted] [redacted]"},
		{"longest, not first", `ab|abcd`, "abcd abc", "[redacted] [redacted]c"},
		{"leftmost", `bcd|abc`, "abcd", "[redacted]d"},
		{"word", `\bpin\d\b`, "pin1 pin22 xpin3 pin4", "[redacted] pin22 xpin3 [redacted]"},
		{"line", `(?m)^k=.*$`, "a k=1\nk=2\nk=3", "a k=1\n[redacted]\n[redacted]"},
		{"text begin", `^k=\d`, "k=1 k=2", "[redacted] k=2"},
		{"text end", `k=\d$`, "k=1 k=2", "k=1 [redacted]"},
		{"greedy line", `.*secret.*`, "one\na secret b\nthree\n", "one\n[redacted]\nthree\n"},
		{"chinese", `密码=\pL+`, "密码=开门 x 密码 y", "[redacted] x 密码 y"},
		{"one character", `[éx]`, "aéx", "a[redacted][redacted]"},
		{"two rules' lead and match", `ghp_x`, "ghp_xghp_x", "[redacted][redacted]"},
		{"retry inside", `aab`, "aaab aaaab", "a[redacted] aa[redacted]"},
		{"optional far end", `a(?:b*c)?`, "abbbbd abbc", "[redacted]bbbbd [redacted]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			everyCut(t, compile(t, &Redact{Patterns: []string{c.pattern}}), nil, c.in, c.want)
		})
	}
}

// TestRedactHoldsNothing: what cannot become a secret is passed on at once, prompts above all.
func TestRedactHoldsNothing(t *testing.T) {
	rules := compile(t, NewRedact())
	for _, in := range []string{"Password: ", "a", "A", "sk-", "gh", ">>> ", "https:", "http://", "-----BEGIN RSA", "Bearer ", "[y/N]: ", "$ "} {
		d := rules.Redactor(caseSecrets)
		if got := string(d.Write([]byte(in))); got != in {
			t.Errorf("%q: got %q at once", in, got)
		}
	}
	d := rules.Redactor(caseSecrets)
	if got := string(d.Write([]byte("name s3cr3"))); got != "name " {
		t.Errorf("got %q, want what comes before the half secret", got)
	}
	if got := string(d.Write([]byte("!"))); got != "s3cr3!" {
		t.Errorf("got %q, want the rest once it is no secret", got)
	}
}

// TestRedactLong: what is held is bounded, and nothing of a long secret shows.
func TestRedactLong(t *testing.T) {
	rules := compile(t, NewRedact())
	for _, c := range []struct {
		name, in, want string
		most           int
	}{
		{"token", "Authorization: Bearer " + strings.Repeat("x", 100_000) + " end", "Authorization: Bearer [redacted] end", maxHeld},
		{"key that does not end", "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("Abcd\n", 40_000), "-----BEGIN PRIVATE KEY-----[redacted]", maxBlock},
		{"no token after all", "eyJ" + strings.Repeat("x", 20_000), "eyJ" + strings.Repeat("x", 20_000), maxHeld},
	} {
		for _, step := range []int{1, 1000, len(c.in)} {
			d := rules.Redactor(nil)
			var out []byte
			for in := []byte(c.in); len(in) > 0; {
				n := min(step, len(in))
				out = append(out, d.Write(in[:n])...)
				in = in[n:]
				if held := len(d.buf) - d.sent; held > c.most+step {
					t.Fatalf("%s: %d bytes are held", c.name, held)
				}
			}
			out = append(out, d.Flush()...)
			if c.name == "key that does not end" {
				hidden := len(c.in) - len(out)
				if !bytes.HasPrefix(out, []byte(c.want)) || hidden != maxBlock-len(redacted) {
					t.Errorf("%s, by %d: got %.60q, %d hidden", c.name, step, out, hidden)
				}
			} else if string(out) != c.want {
				t.Errorf("%s, by %d: got %.60q (%d), want %.60q", c.name, step, out, len(out), c.want)
			}
		}
	}
}

// TestRedactMixture joins the cases in random order, cut at random.
func TestRedactMixture(t *testing.T) {
	rules := compile(t, NewRedact(), &Redact{Patterns: []string{`ACME-\d{4,}`, `pw=(\w+)`}})
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var in, want strings.Builder
		for range 8 {
			c := redactCases[rnd.IntN(len(redactCases))]
			if c.name == "key without end" || c.name == "invalid" {
				continue
			}
			in.WriteString(c.in + "\n \nACME-12345 pw=abc\n")
			want.WriteString(c.want + "\n \n[redacted] pw=[redacted]\n")
		}
		var cuts []int
		for at := rnd.IntN(40); at < in.Len(); at += rnd.IntN(40) {
			cuts = append(cuts, at)
		}
		if got := pass(rules, caseSecrets, in.String(), cuts...); got != want.String() {
			t.Fatalf("in   %q\ngot  %q\nwant %q", in.String(), got, want.String())
		}
	}
}

func TestRedactRules(t *testing.T) {
	none := compile(t)
	if !none.Empty(nil) || !none.Empty([]string{"short"}) || none.Empty([]string{"long enough"}) {
		t.Error("Empty is wrong without rules")
	}
	if rules := compile(t, &Redact{Patterns: []string{}}); !rules.Empty(nil) {
		t.Error("an empty list of patterns is not none")
	}
	if got := none.String("a long enough b", []string{"long enough"}); got != "a [redacted] b" {
		t.Errorf("got %q", got)
	}
	if got := none.String("a", nil); got != "a" {
		t.Errorf("got %q", got)
	}
	rules := compile(t, NewRedact())
	got := fmt.Sprint(rules.EnvNames([]string{"PATH", "GH_TOKEN", "github_token", "MY_PASSWORD_2", "KEY", "AWS_SECRET_ACCESS_KEY"}))
	if want := "[GH_TOKEN github_token MY_PASSWORD_2 AWS_SECRET_ACCESS_KEY]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []*Redact{{Patterns: []string{"("}}, {Patterns: []string{"a*"}}, {Env: []string{"[a"}}} {
		if _, err := Compile([]*Redact{bad}); job.KindOf(err) != job.Invalid {
			t.Errorf("%v: got %v, want an Invalid error", bad, err)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, c := range redactCases {
		f.Add(c.in, uint16(3), uint16(11))
	}
	rules, err := Compile([]*Redact{NewRedact(), {Patterns: []string{`ACME-\d{4}`, `(?i)pw[:=](\S+)`, `\bx.*y\b`, `é+z`}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string, a, b uint16) {
		if len(in) > 4000 {
			return
		}
		i := min(int(a), len(in))
		j := min(max(i, int(b)), len(in))
		whole := pass(rules, caseSecrets, in)
		if got := pass(rules, caseSecrets, in, i, j); got != whole {
			t.Fatalf("cut at %d and %d: got %q, in one piece %q", i, j, got, whole)
		}
		if strings.Contains(whole, "s3cr3t-value") {
			t.Fatalf("the secret is in %q", whole)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	plain := bytes.Repeat([]byte("2026-07-30 12:00:00 building module registry: 118 of 2044 objects are up to date, next\n"), 800)
	urls := bytes.Repeat([]byte("go: downloading https://proxy.example.org/github.com/some/module/@v/v1.2.3.zip finished\n"), 800)
	for _, c := range []struct {
		name    string
		in      []byte
		rules   []*Redact
		secrets []string
		step    int
	}{
		{"plain", plain, []*Redact{NewRedact()}, nil, 64 << 10},
		{"plain,secrets", plain, []*Redact{NewRedact()}, []string{"s3cr3t-value", "another-secret", "token-of-something"}, 64 << 10},
		{"plain,lines", plain, []*Redact{NewRedact()}, nil, 88},
		{"urls", urls, []*Redact{NewRedact()}, nil, 64 << 10},
		{"custom", plain, []*Redact{NewRedact(), {Patterns: []string{`(?i)password\s*[:=]\s*\S+`}}}, nil, 64 << 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := compile(b, c.rules...).Redactor(c.secrets)
			b.SetBytes(int64(len(c.in)))
			for b.Loop() {
				for in := c.in; len(in) > 0; {
					n := min(c.step, len(in))
					d.Write(in[:n])
					in = in[n:]
				}
			}
		})
	}
}

func BenchmarkRedactor(b *testing.B) {
	rules := compile(b, NewRedact())
	for b.Loop() {
		d := rules.Redactor([]string{"s3cr3t-value", "another-secret"})
		d.Write([]byte("hi\n"))
		d.Flush()
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		compile(b, NewRedact())
	}
}
