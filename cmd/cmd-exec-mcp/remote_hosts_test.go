package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reached starts a server whose one tool reaches target by an ssh_config of these lines. {KEY} and the like stand for what the
// service of the tests printed.
func reached(t *testing.T, target, more string, lines ...string) *wire {
	t.Helper()
	s := servers(t)
	dir := t.TempDir()
	fill := func(text string) string {
		for name, value := range s {
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
		return strings.ReplaceAll(text, "{DIR}", dir)
	}
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(fill(strings.Join(lines, "\n")+"\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, written(fmt.Sprintf("shell_tool(\"execute_remote\", backend=ssh(%q, ssh_config=%q%s), policy=policy(mode=\"full\"))\n", target, file, fill(more))))
}

var knownHost = []string{"Host *", "  UserKnownHostsFile {KNOWN_HOSTS}", "  HostName {SSH_HOST}", "  Port {SSH_PORT}", "  IdentityFile {KEY}", "  IdentitiesOnly yes", "  User cem-bash"}

// TestM3: an alias, what an Include says, wildcards, and jumps through two hosts, each with its own user and key.
func TestM3(t *testing.T) {
	t.Parallel()
	s := servers(t)
	t.Run("alias", func(t *testing.T) {
		t.Parallel()
		w := reached(t, "myhost", "", knownHost...)
		w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
	})
	t.Run("include and wildcard", func(t *testing.T) {
		t.Parallel()
		included := filepath.Join(t.TempDir(), "more")
		if err := os.WriteFile(included, fmt.Appendf(nil, "Host db-*\n  User cem-dash\n  HostName %s\n", s["SSH_HOST"]), 0o600); err != nil {
			t.Fatal(err)
		}
		w := reached(t, "db-7", "", append([]string{"Include " + included}, knownHost...)...)
		w.far(t, "whoami").has(t, "stdout", "cem-dash\n")
	})
	t.Run("user of config.star", func(t *testing.T) {
		t.Parallel()
		lines := knownHost[:len(knownHost)-1]
		reached(t, "myhost", `, user="cem-fish"`, lines...).far(t, "whoami").has(t, "stdout", "cem-fish\n")
		reached(t, "cem-dash@myhost", `, user="cem-fish"`, lines...).far(t, "whoami").has(t, "stdout", "cem-dash\n")
	})
	t.Run("two jumps", func(t *testing.T) {
		t.Parallel()
		w := reached(t, "inner", "",
			"Host inner", "  HostName {SSH_HOST}", "  Port {SSH_PORT}", "  User cem-bash", "  IdentityFile {KEY}", "  ProxyJump one,two",
			"Host one", "  HostName {SSH_HOST}", "  Port {JUMP1_PORT}", "Host two", "  HostName {SSH_HOST}", "  Port {JUMP2_PORT}",
			"Host one two", "  User cem-jump", "  IdentityFile {KEY_JUMP}",
			"Host *", "  UserKnownHostsFile {KNOWN_HOSTS}", "  IdentitiesOnly yes")
		w.far(t, "whoami; echo $SSH_CONNECTION | wc -w").has(t, "stdout", "cem-bash\n4\n")
	})
	t.Run("jump in a circle", func(t *testing.T) {
		t.Parallel()
		w := reached(t, "a", "", "Host a", "  ProxyJump b", "Host b", "  ProxyJump a")
		w.far(t, "whoami").fails(t, "invalid", "jumps")
	})
	t.Run("proxy command", func(t *testing.T) {
		t.Parallel()
		w := reached(t, "myhost", "", append(append([]string{}, knownHost...), `  ProxyCommand bash -c 'exec 3<>/dev/tcp/%h/%p; cat <&3 & cat >&3; kill %%1'`)...)
		w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
	})
	t.Run("mistake in the file", func(t *testing.T) {
		t.Parallel()
		reached(t, "myhost", "", "Host *", "  Prot 22").far(t, "whoami").fails(t, "invalid", "line 2", "prot")
	})
}

// TestM2: a host of which one kind of key is known shows that one, and what it shows is compared.
func TestM2(t *testing.T) {
	t.Parallel()
	s := servers(t)
	all, err := os.ReadFile(s["KNOWN_HOSTS"])
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("[%s]:%s", s["SSH_HOST"], s["SSH_PORT"])
	var rsa, jump string
	for line := range strings.Lines(string(all)) {
		switch {
		case strings.HasPrefix(line, address+" ssh-rsa"):
			rsa = line
		case strings.HasPrefix(line, fmt.Sprintf("[%s]:%s ssh-ed25519", s["SSH_HOST"], s["JUMP1_PORT"])):
			jump = strings.Replace(line, s["JUMP1_PORT"], s["SSH_PORT"], 1)
		}
	}
	hashed := "no"
	with := func(t *testing.T, known, more string) (*wire, string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "known")
		if err := os.WriteFile(file, []byte(known), 0o600); err != nil {
			t.Fatal(err)
		}
		lines := append([]string{"Host *", "  UserKnownHostsFile " + file, "  GlobalKnownHostsFile none", "  HashKnownHosts " + hashed}, knownHost[2:]...)
		return reached(t, "myhost", more, lines...), file
	}
	w, _ := with(t, rsa, "")
	w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
	w, _ = with(t, "", "")
	w.far(t, "whoami").fails(t, "denied", "not known", "SHA256:").says(t, "hint", address+" ", "add this line")
	w, file := with(t, jump, "")
	w.far(t, "whoami").fails(t, "denied", "has changed", file+":1").says(t, "hint", "ssh-keygen -R")
	w, _ = with(t, jump, `, known_hosts="accept-new"`)
	w.far(t, "whoami").fails(t, "denied", "has changed")
	w, _ = with(t, "@revoked * "+strings.SplitN(rsa, " ", 2)[1]+rsa, `, known_hosts="accept-new"`)
	w.far(t, "whoami").fails(t, "denied", "revoked")
	w, file = with(t, "# no end of line", `, known_hosts="accept-new"`)
	w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
	kept, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(kept), "# no end of line\n"+address+" ") {
		t.Errorf("the new key was not kept on a line of its own: %q, %v", kept, err)
	}
	hashed = "yes"
	w, file = with(t, "", `, known_hosts="accept-new"`)
	w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
	kept, err = os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(kept), "|1|") {
		t.Errorf("the new key was not kept under a hashed name: %q, %v", kept, err)
	}
	w, _ = with(t, string(kept), "")
	w.far(t, "whoami").has(t, "stdout", "cem-bash\n")
}

// TestRemoteKeys: every way in that OpenSSH has.
func TestRemoteKeys(t *testing.T) {
	t.Parallel()
	base := []string{"Host *", "  UserKnownHostsFile {KNOWN_HOSTS}", "  HostName {SSH_HOST}", "  User cem-bash", "  IdentitiesOnly yes"}
	for name, c := range map[string]struct {
		more  string
		lines []string
	}{
		"rsa":           {"", []string{"  IdentityFile {KEY_RSA}", "  Port {SSH_PORT}"}},
		"encrypted":     {`, passphrase="{PASSPHRASE}"`, []string{"  IdentityFile {KEY_ENCRYPTED}", "  Port {SSH_PORT}"}},
		"certificate":   {"", []string{"  IdentityFile {KEY_SIGNED}", "  Port {SSH_PORT}"}},
		"password":      {`, password="{PASSWORD}"`, []string{"  Port {PASSWORD_PORT}"}},
		"key=password":  {`, key="{PASSWORD}"`, []string{"  Port {PASSWORD_PORT}"}},
		"keyboard":      {`, password="{PASSWORD}"`, []string{"  Port {KEYBOARD_PORT}"}},
		"host's own CA": {"", []string{"  IdentityFile {KEY}", "  Port {CERTIFIED_PORT}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached(t, "myhost", c.more, append(append([]string{}, base...), c.lines...)...).far(t, "whoami").has(t, "stdout", "cem-bash\n")
		})
	}
	t.Run("encrypted, without its passphrase", func(t *testing.T) {
		t.Parallel()
		w := reached(t, "myhost", "", append(append([]string{}, base...), "  IdentityFile {KEY_ENCRYPTED}", "  Port {SSH_PORT}")...)
		w.far(t, "whoami").fails(t, "denied", "encrypted")
	})
}
