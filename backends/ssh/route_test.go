package ssh

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// sshConfig writes a config as people have one, for the tests' hosts.
func sshConfig(t testing.TB) string {
	t.Helper()
	s := sshd(t)
	text := fmt.Sprintf(`Host *
  UserKnownHostsFile %[1]s
  GlobalKnownHostsFile /dev/null
  IdentitiesOnly yes
Host web
  HostName %[2]s
  Port %[3]s
  User cem-bash
  IdentityFile %[4]s
Host first
  HostName %[2]s
  Port %[5]s
  User cem-jump
  IdentityFile %[6]s
Host second
  HostName %[2]s
  Port %[7]s
  User cem-jump
  IdentityFile %[6]s
  ProxyJump first
Host inner
  HostName %[2]s
  Port %[3]s
  User cem-dash
  IdentityFile %[4]s
  ProxyJump second
Host piped
  HostName %[2]s
  Port %[3]s
  User cem-bash
  IdentityFile %[4]s
  ProxyCommand bash -c 'exec 3<>/dev/tcp/%%h/%%p; cat <&3 & cat >&3; kill %%%%1'
`, s["KNOWN_HOSTS"], s["SSH_HOST"], s["SSH_PORT"], s["KEY"], s["JUMP1_PORT"], s["KEY_JUMP"], s["JUMP2_PORT"])
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// An alias is all that a config needs: directly, over two hops with their own users and keys, and through a program. The
// host's key is checked each time.
func TestAliases(t *testing.T) {
	file := sshConfig(t)
	for alias, user := range map[string]string{"web": "cem-bash", "inner": "cem-dash", "piped": "cem-bash"} {
		t.Run(alias, func(t *testing.T) {
			b := open(t, "", func(c *Config) { c.Target, c.Key, c.SSHConfig, c.KnownHosts = alias, "", file, "yes" })
			if got := run(t, b, script("id -un")); got.stdout != user+"\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestUnknownHost(t *testing.T) {
	known := filepath.Join(t.TempDir(), "known")
	file := filepath.Join(t.TempDir(), "config")
	s := sshd(t)
	text := fmt.Sprintf("Host web\n HostName %s\n Port %s\n User cem-bash\n IdentityFile %s\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n", s["SSH_HOST"], s["SSH_PORT"], s["KEY"], known)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set := func(mode KnownHosts) func(*Config) {
		return func(c *Config) { c.Target, c.Key, c.SSHConfig, c.KnownHosts = "web", "", file, mode }
	}
	_, err := open(t, "", set("yes")).Resolve(t.Context(), script("true"))
	if job.KindOf(err) != job.Denied || !strings.Contains(err.Error(), "SHA256:") {
		t.Errorf("%v %v", job.KindOf(err), err)
	}
	hinted(t, err)
	for _, mode := range []KnownHosts{"accept-new", "yes"} { // the first one keeps the key for the second
		if got := run(t, open(t, "", set(mode)), script("echo in")); got.stdout != "in\n" {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}

// doctor shows the way, who was let in and how, and what is there.
func TestDoctor(t *testing.T) {
	file := sshConfig(t)
	b := open(t, "", func(c *Config) { c.Target, c.Key, c.SSHConfig, c.KnownHosts = "inner", "", file, "yes" })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text := ""
	for _, c := range b.Check(ctx) {
		text += fmt.Sprintf("%s: %v %s (%s)\n", c.Name, c.Level, c.Detail, c.Fix)
		if c.Level == job.Failed {
			t.Errorf("%+v", c)
		}
	}
	for _, want := range []string{"cem-jump@", "then cem-dash@", file, "is known", "OpenSSH", "Linux", "bash", "round trip"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	t.Log(text)
	broken := open(t, "cem-bash", func(c *Config) { c.Key = sshd(t)["KEY_UNKNOWN"] }).Check(ctx)
	if last := broken[len(broken)-1]; last.Level != job.Failed || last.Fix == "" {
		t.Errorf("%+v", broken)
	}
}

func TestConfig(t *testing.T) {
	zero := 0
	for name, change := range map[string]func(*Config){
		"target is missing": func(c *Config) { c.Target = "" },
		"target is \"a b\"": func(c *Config) { c.Target = "a b" },
		"target is \"-o":    func(c *Config) { c.Target = "-oProxyCommand=x" },
		"port is 0":         func(c *Config) { c.Port = &zero },
		"shell":             func(c *Config) { c.Shell = "zsh" },
		"env has":           func(c *Config) { c.Env = map[string]string{"A-B": ""} },
	} {
		c := New()
		c.Target = "web"
		change(c)
		if err := c.Validate(); job.KindOf(err) != job.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("want %s: %v", name, err)
		}
	}
	for key, kind := range map[string]job.Kind{"/no/such/key": job.NotFound, "~/no-such-key": job.NotFound, `C:\key`: job.NotFound, t.TempDir(): job.Invalid} {
		c := New()
		c.Target, c.Key = "web", key
		if _, err := c.Open(t.Context(), backends.Env{Log: zerolog.Nop()}); job.KindOf(err) != kind {
			t.Errorf("key %s: %v", key, err)
		}
	}
	var k KnownHosts
	for v, want := range map[any]KnownHosts{true: "yes", false: "no", "accept-new": "accept-new"} {
		if err := k.FromConfig(v); err != nil || k != want {
			t.Errorf("%v: %v %v", v, k, err)
		}
	}
	if k.FromConfig("maybe") == nil || k.FromConfig(int64(1)) == nil {
		t.Error("known_hosts takes anything")
	}
}
