package resolve

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmd-exec-mcp/runtime/job"
)

// hops resolves by a file of this text. Without an ssh program the test skips, or fails where nothing may be skipped.
func hops(t *testing.T, text string, o Options) ([]Hop, error) {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
			t.Fatal("no ssh program: install openssh-client")
		}
		t.Skip("no ssh program: install openssh-client")
	}
	o.ConfigFile = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(o.ConfigFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Hops(t.Context(), o)
}

// ways writes hops as one line: user@host:port, in the order in which they are dialled.
func ways(list []Hop) string {
	var names []string
	for _, h := range list {
		names = append(names, h.User+"@"+h.Address())
	}
	return strings.Join(names, " ")
}

func TestHops(t *testing.T) {
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		o    Options
		want string
	}{
		"alias":                   {"Host web\n HostName 10.0.0.1\n Port 2200\n User w", Options{Target: "web", User: "admin"}, "w@10.0.0.1:2200"},
		"address":                 {"", Options{Target: "me@10.0.0.1:2200", User: "admin"}, "me@10.0.0.1:2200"},
		"IPv6":                    {"", Options{Target: "[::1]:2200", User: "admin"}, "admin@[::1]:2200"},
		"IPv6 without port":       {"", Options{Target: "me@::1"}, "me@[::1]:22"},
		"the config's user":       {"Host web\n Port 1", Options{Target: "web", User: "admin"}, "admin@web:1"},
		"the file's user wins":    {"Match all\n User f", Options{Target: "web", User: "admin"}, "f@web:22"},
		"nobody's user":           {"", Options{Target: "web"}, self.Username + "@web:22"},
		"the config's port wins":  {"Host web\n Port 1", Options{Target: "web", User: "a", Port: 7}, "a@web:7"},
		"the first value wins":    {"Host w*\n User first\nHost web\n User second", Options{Target: "web"}, "first@web:22"},
		"negation":                {"Host * !web\n User other", Options{Target: "web", User: "admin"}, "admin@web:22"},
		"token":                   {"Host web\n HostName %h.example\n User u", Options{Target: "web"}, "u@web.example:22"},
		"match exec":              {"Match exec true\n User m", Options{Target: "web", User: "admin"}, "m@web:22"},
		"two jumps":               {"Host web\n User w\n ProxyJump a,b@bb:33\nHost a\n User aa\n Port 44\nHost bb\n HostName b.example", Options{Target: "web"}, "aa@a:44 b@b.example:33 w@web:22"},
		"a jump with its own":     {"Host web\n User w\n ProxyJump a\nHost a\n User aa\n ProxyJump z\nHost z\n User zz", Options{Target: "web"}, "zz@z:22 aa@a:22 w@web:22"},
		"a jump's user":           {"Host web\n ProxyJump a", Options{Target: "web", User: "admin"}, self.Username + "@a:22 admin@web:22"},
		"no jump after all":       {"Host web\n ProxyJump none\n User w\nHost *\n ProxyJump a", Options{Target: "web"}, "w@web:22"},
		"an account with an @":    {"", Options{Target: "me@corp@10.0.0.1"}, "me@corp@10.0.0.1:22"},
		"quotes and equals signs": {"Host=web\n User = \"w\"\n Port=2200", Options{Target: "web"}, "w@web:2200"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := hops(t, c.text+"\n", c.o)
			if err != nil || ways(got) != c.want {
				t.Errorf("got %q, %v, want %q", ways(got), err, c.want)
			}
		})
	}
}

func TestHopFields(t *testing.T) {
	got, err := hops(t, `Host web
  HostKeyAlias stable
  UserKnownHostsFile /a/one /a/two
  GlobalKnownHostsFile none
  IdentityFile /k/%h-%r
  IdentityFile ~/second
  CertificateFile /k/cert
  IdentitiesOnly yes
  IdentityAgent /run/agent
  ProxyCommand nc %h %p
  ConnectTimeout 7
  ServerAliveInterval 11
  ServerAliveCountMax 2
`, Options{Target: "web", User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	h := got[0]
	if h.KeyName() != "stable" || !slices.Equal(h.KnownHosts, []string{"/a/one", "/a/two"}) || !h.IdentitiesOnly || h.IdentityAgent != "/run/agent" {
		t.Errorf("got %+v", h)
	}
	if !slices.Equal(h.IdentityFiles, []string{"/k/web-u", home("second")}) || !slices.Equal(h.CertificateFiles, []string{"/k/cert"}) || h.ProxyCommand != "nc web 22" {
		t.Errorf("got %+v", h)
	}
	if h.ConnectTimeout.Seconds() != 7 || h.Interval.Seconds() != 11 || h.Missed != 2 {
		t.Errorf("got %+v", h)
	}
}

// ssh itself says which key files it looks for once the tokens are replaced. What it talks to ends at once.
func TestTokens(t *testing.T) {
	for _, alias := range []string{"", " HostKeyAlias stable\n"} {
		text := "Host web\n HostName 127.0.0.1\n Port 1\n User u\n" + alias + " IdentityFile /none/%C-%k-%%-%n-%h-%p-%r-%L-%l-%u-%i\n"
		got, err := hops(t, text, Options{Target: "web"})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, _ := exec.Command("ssh", "-v", "-F", file, "-o", "BatchMode=yes", "-o", "ProxyCommand=true", "web", "true").CombinedOutput()
		if !strings.Contains(string(said), "identity file "+got[0].IdentityFiles[0]+" type") {
			t.Errorf("got %s, and ssh says %s", got[0].IdentityFiles[0], said)
		}
	}
}

func TestHopsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, target, says string }{
		"option as host":  {"", "-oProxyCommand=touch x", "names no host"},
		"option as user":  {"", "-oX@host", "names no host"},
		"port":            {"", "host:99999", "port"},
		"circle":          {"Host a\n ProxyJump b\nHost b\n ProxyJump a", "a", "jumps"},
		"unknown keyword": {"Host a\n Prot 1", "a", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hops(t, c.text+"\n", Options{Target: c.target})
			if job.KindOf(err) != job.Invalid || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error of kind invalid that says %q", err, c.says)
			}
		})
	}
}

// TestWithoutSSH: an address needs no ssh program; a file that cannot be read without one is not passed over in silence.
func TestWithoutSSH(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("Host web\n  User w\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	got, err := Hops(t.Context(), Options{Target: "me@10.0.0.1:2200", ConfigFile: filepath.Join(t.TempDir(), "none")})
	if err != nil || ways(got) != "me@10.0.0.1:2200" {
		t.Errorf("got %q, %v", ways(got), err)
	}
	if _, err := Hops(t.Context(), Options{Target: "web", ConfigFile: file}); job.KindOf(err) != job.Unavailable {
		t.Errorf("got %v, want an error that names what is missing", err)
	}
}
