package auth

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends/ssh/resolve"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keygen runs the real ssh-keygen, whose files are those that people have.
func keygen(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
			t.Fatal("no ssh-keygen: install openssh-client")
		}
		t.Skip("no ssh-keygen: install openssh-client")
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen %v: %v %s", args, err, out)
	}
}

func newKey(t *testing.T, file, passphrase string, more ...string) string {
	t.Helper()
	keygen(t, append([]string{"-q", "-t", "ed25519", "-N", passphrase, "-f", file}, more...)...)
	return file
}

// shown is what a server that accepts nothing sees of a set: the types of the keys, in order, and what Offered says of them.
func shown(t *testing.T, s *Set) []string {
	t.Helper()
	host := hostKey(t)
	var types []string
	config := &ssh.ServerConfig{MaxAuthTries: -1, PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		types = append(types, key.Type()+" "+ssh.FingerprintSHA256(key))
		return nil, os.ErrPermission
	}}
	config.AddHostKey(host)
	done := make(chan struct{})
	socket := listen(t, func(c net.Conn) {
		defer close(done)
		_, _, _, _ = ssh.NewServerConn(c, config)
		_ = c.Close()
	})
	client, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = ssh.NewClientConn(client, "x:22", &ssh.ClientConfig{User: "u", Auth: s.Methods, HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err == nil {
		t.Fatal("got in")
	}
	_ = client.Close()
	<-done
	return types
}

func hostKey(t *testing.T) ssh.Signer {
	t.Helper()
	file := newKey(t, filepath.Join(t.TempDir(), "host"), "")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// serveAgent answers as an agent that holds these keys, in this order.
func serveAgent(t *testing.T, files ...string) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ssh.ParseRawPrivateKeyWithPassphrase(data, []byte("secret words"))
		if err != nil {
			if key, err = ssh.ParseRawPrivateKey(data); err != nil {
				t.Fatal(err)
			}
		}
		if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	return listen(t, func(c net.Conn) { _ = agent.ServeAgent(ring, c); _ = c.Close() })
}

func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); _ = os.RemoveAll(dir) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return socket
}

func print(t *testing.T, file string) string {
	t.Helper()
	key := publicHalf(file)
	if key == nil {
		t.Fatalf("no public half of %s", file)
	}
	return ssh.FingerprintSHA256(key)
}

func methods(t *testing.T, hop resolve.Hop, secrets Secrets) *Set {
	t.Helper()
	s, err := Methods(hop, secrets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Every kind of file that ssh-keygen writes is read, with its passphrase and without.
func TestKeyFiles(t *testing.T) {
	for name, args := range map[string][]string{
		"ed25519": {"-t", "ed25519"}, "ecdsa": {"-t", "ecdsa", "-b", "384"}, "rsa": {"-t", "rsa", "-b", "2048"}, "pem": {"-t", "rsa", "-b", "2048", "-m", "PEM"},
	} {
		for _, passphrase := range []string{"", "secret words"} {
			t.Run(name+" "+passphrase, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "key")
				keygen(t, append([]string{"-q", "-N", passphrase, "-f", file}, args...)...)
				got := shown(t, methods(t, resolve.Hop{IdentityAgent: "none"}, Secrets{Key: file, Passphrase: passphrase}))
				if len(got) != 1 || !strings.HasSuffix(got[0], print(t, file)) {
					t.Errorf("got %v", got)
				}
			})
		}
	}
}

// A key that cannot be used is an error where config.star names it, and a remark where ssh_config does.
func TestUnusableKeys(t *testing.T) {
	dir := t.TempDir()
	locked := newKey(t, filepath.Join(dir, "locked"), "secret words")
	good := newKey(t, filepath.Join(dir, "good"), "")
	open := newKey(t, filepath.Join(dir, "open"), "")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{locked: "is encrypted", filepath.Join(dir, "none"): "cannot be read", open: "read by others"} {
		_, err := Methods(resolve.Hop{IdentityAgent: "none"}, Secrets{Key: file})
		if e, ok := err.(*job.Error); !ok || e.Hint == "" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q and a hint", file, err, says)
		}
	}
	s := methods(t, resolve.Hop{IdentityAgent: "none", IdentityFiles: []string{locked, filepath.Join(dir, "none"), good}}, Secrets{})
	if got := shown(t, s); len(got) != 1 || !strings.HasSuffix(got[0], print(t, good)) {
		t.Errorf("got %v, want the good one only", got)
	}
	if got := strings.Join(s.Offered(), "; "); !strings.Contains(got, good) || !strings.Contains(got, "locked is encrypted") {
		t.Errorf("offered %q", got)
	}
}

// What ssh_config names goes first, the agent's other keys last, and no more than a server has patience for.
func TestAgentOrder(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		files = append(files, newKey(t, filepath.Join(dir, name), ""))
	}
	file := newKey(t, filepath.Join(dir, "file"), "")
	locked := newKey(t, filepath.Join(dir, "locked"), "secret words")
	socket := serveAgent(t, append(files, locked)...)

	s := methods(t, resolve.Hop{IdentityAgent: socket, IdentityFiles: []string{locked, file}}, Secrets{})
	got := shown(t, s)
	if len(got) != maxKeys || !strings.HasSuffix(got[0], print(t, locked)) || !strings.HasSuffix(got[1], print(t, file)) {
		t.Errorf("got %v", got)
	}
	if said := strings.Join(s.Offered(), "; "); !strings.Contains(said, "3 more keys") || strings.Contains(said, "encrypted") {
		t.Errorf("offered %q", said)
	}
	s = methods(t, resolve.Hop{IdentityAgent: socket, IdentityFiles: []string{file}, IdentitiesOnly: true}, Secrets{Key: locked})
	if got := shown(t, s); len(got) != 2 || !strings.HasSuffix(got[0], print(t, locked)) {
		t.Errorf("got %v, want the agent to open the locked key, and none of its others", got)
	}
}

// An agent that hangs has no keys, and holds nothing up for long.
func TestHangingAgent(t *testing.T) {
	file := newKey(t, filepath.Join(t.TempDir(), "key"), "")
	began := time.Now()
	s := methods(t, resolve.Hop{IdentityAgent: listen(t, func(net.Conn) {}), IdentityFiles: []string{file}}, Secrets{})
	if got := shown(t, s); len(got) != 1 || time.Since(began) > 10*agentPatience {
		t.Errorf("got %v after %v", got, time.Since(began))
	}
	if got := s.Offered(); !slices.Contains(got, "the agent does not answer") {
		t.Errorf("offered %q", got)
	}
}

// A certificate goes before its key: the one beside it, and one that ssh_config names for a key of the agent.
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	ca := newKey(t, filepath.Join(dir, "ca"), "")
	key := newKey(t, filepath.Join(dir, "key"), "")
	keygen(t, "-q", "-s", ca, "-I", "me", "-n", "u", key+".pub")
	for name, s := range map[string]*Set{
		"beside":    methods(t, resolve.Hop{IdentityAgent: "none", IdentityFiles: []string{key}}, Secrets{}),
		"of config": methods(t, resolve.Hop{IdentityAgent: "none"}, Secrets{Key: key}),
		"agent":     methods(t, resolve.Hop{IdentityAgent: serveAgent(t, key), CertificateFiles: []string{key + "-cert.pub"}}, Secrets{}),
	} {
		got := shown(t, s)
		if len(got) != 2 || !strings.HasPrefix(got[0], ssh.CertAlgoED25519v01) || !strings.HasPrefix(got[1], ssh.KeyAlgoED25519) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAsksPassword(t *testing.T) {
	for question, want := range map[string]bool{
		"Password: ": true, "(me@host) Password:": true, "Password for me@newhost:": true, "(current) UNIX password: ": true,
		"New password: ": false, "Retype new password: ": false, "Verification code: ": false, "One-time password (OATH): ": false, "": false,
	} {
		if got := asksPassword(question); got != want {
			t.Errorf("%q: got %v", question, got)
		}
	}
}
