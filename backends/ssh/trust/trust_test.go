package trust

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends/ssh/resolve"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer(t, key)
}

func signer(t *testing.T, key any) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func line(names string, key ssh.PublicKey) string { return written(names, key) + "\n" }

// try checks a key against files of these texts.
func try(t *testing.T, hop resolve.Hop, mode Mode, key ssh.PublicKey, texts ...string) (algorithms, files []string, refused error) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		file := filepath.Join(dir, "known"+string(rune('0'+i)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hop.KnownHosts = append(hop.KnownHosts, file)
	}
	hop.KnownHosts = append(hop.KnownHosts, filepath.Join(dir, "missing"))
	check, algorithms, err := For(hop, mode)
	if err != nil {
		return nil, hop.KnownHosts, err
	}
	return algorithms, hop.KnownHosts, check("ignored:22", nowhere{}, key)
}

func host(name string, port int) resolve.Hop {
	return resolve.Hop{Alias: "web", Host: name, Port: port}
}

func TestKnown(t *testing.T) {
	key, other := newKey(t).PublicKey(), newKey(t).PublicKey()
	alias := host("10.0.0.1", 2222)
	alias.HostKeyAlias = "stable"
	for name, c := range map[string]struct {
		hop   resolve.Hop
		texts []string
		says  string // "" for a key that is accepted
	}{
		"plain":             {host("h", 22), []string{line("h", key)}, ""},
		"port":              {host("h", 2222), []string{line("[h]:2222", key)}, ""},
		"other port":        {host("h", 2222), []string{line("h", key)}, "is not known"},
		"IPv6":              {host("::1", 22), []string{line("::1", key)}, ""},
		"hashed":            {host("h", 22), []string{line(xknownhosts.HashHostname("h"), key)}, ""},
		"hashed with port":  {host("h", 2222), []string{line(xknownhosts.HashHostname("[h]:2222"), key)}, ""},
		"list and wildcard": {host("a.example", 22), []string{line("x,*.example", key)}, ""},
		"negation":          {host("a.example", 22), []string{line("*.example,!a.example", key)}, "is not known"},
		"alias":             {alias, []string{line("stable", key)}, ""},
		"alias, not host":   {alias, []string{line("[10.0.0.1]:2222", key)}, "is not known"},
		"second file":       {host("h", 22), []string{line("other", key), line("h", key)}, ""},
		"comments":          {host("h", 22), []string{"# a remark\n\n" + line("h", key)}, ""},
		"no files":          {host("h", 22), nil, "is not known"},
		"changed":           {host("h", 22), []string{"\n" + line("h", other)}, "has changed"},
		"one of two":        {host("h", 22), []string{line("h", other) + line("h", key)}, ""},
		"revoked":           {host("h", 22), []string{line("h", key) + "@revoked " + line("*", key)}, "was revoked"},
		"no sense":          {host("h", 22), []string{"h ssh-ed25519 ???\n"}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := try(t, c.hop, Strict, key, c.texts...)
			if c.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			e, ok := err.(*job.Error)
			if !ok || e.Kind != job.Denied || e.Hint == "" || !strings.Contains(e.Error(), c.says) {
				t.Errorf("got %v, want a refusal that says %q", err, c.says)
			}
		})
	}
}

// A server that has keys of several types is asked for one that is known.
func TestAlgorithms(t *testing.T) {
	key := newKey(t).PublicKey()
	got, _, _ := try(t, host("h", 22), Strict, key, line("h", key))
	if !slices.Equal(got, []string{ssh.KeyAlgoED25519}) {
		t.Errorf("got %v", got)
	}
	if got, _, _ := try(t, host("new", 22), Strict, key, line("h", key)); len(got) != 0 {
		t.Errorf("got %v for an unknown host, want any", got)
	}
}

// The messages hold what the next step needs: both fingerprints, the file and its line, the command.
func TestMessages(t *testing.T) {
	key, old := newKey(t).PublicKey(), newKey(t).PublicKey()
	raw, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, files, refused := try(t, host("h", 2222), AcceptNew, key, line("[h]:2222", signer(t, raw).PublicKey())+line("[h]:2222", old))
	text := refused.Error() + " " + refused.(*job.Error).Hint
	for _, want := range []string{ssh.FingerprintSHA256(key), ssh.FingerprintSHA256(old), files[0] + ":2", "ssh-keygen -R '[h]:2222' -f " + files[0]} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
	_, files, refused = try(t, host("h", 2222), Strict, key, "")
	text = refused.Error() + " " + refused.(*job.Error).Hint
	for _, want := range []string{ssh.FingerprintSHA256(key), files[0], strings.TrimSpace(line("[h]:2222", key))} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
}

// A new key is kept, once, in a file of the owner's, on a line of its own, hashed where ssh_config wants that.
func TestAcceptNew(t *testing.T) {
	key, other := newKey(t).PublicKey(), newKey(t).PublicKey()
	for _, hashed := range []bool{false, true} {
		hop := host("h", 2222)
		hop.HashKnownHosts = hashed
		hop.KnownHosts = []string{filepath.Join(t.TempDir(), "new", "known")}
		for i, name := range []string{"first.example", "second.example"} {
			hop.Host = name
			check, _, err := For(hop, AcceptNew)
			if err != nil {
				t.Fatal(err)
			}
			if err := check("", nowhere{}, key); err != nil {
				t.Fatal(err)
			}
			if data, _ := os.ReadFile(hop.KnownHosts[0]); strings.Count(string(data), "\n") != i+1 || strings.Contains(string(data), name) == hashed {
				t.Errorf("hashed %v: the file holds %q", hashed, data)
			} else if err := os.WriteFile(hop.KnownHosts[0], data[:len(data)-1], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range []ssh.PublicKey{key, other} {
			check, _, err := For(hop, Strict)
			if err != nil {
				t.Fatal(err)
			}
			if err := check("", nowhere{}, k); (err == nil) != (ssh.FingerprintSHA256(k) == ssh.FingerprintSHA256(key)) {
				t.Errorf("hashed %v: %v", hashed, err)
			}
		}
	}
}

// Two first connections at a time: what the first one keeps binds the second.
func TestAcceptNewTwice(t *testing.T) {
	hop := host("h", 22)
	hop.KnownHosts = []string{filepath.Join(t.TempDir(), "known")}
	first, _, err1 := For(hop, AcceptNew)
	second, _, err2 := For(hop, AcceptNew)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	key := newKey(t).PublicKey()
	if err := first("", nowhere{}, key); err != nil {
		t.Fatal(err)
	}
	if err := second("", nowhere{}, newKey(t).PublicKey()); job.KindOf(err) != job.Denied {
		t.Errorf("got %v, want another key refused", err)
	}
	if err := second("", nowhere{}, key); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(hop.KnownHosts[0]); strings.Count(string(data), "\n") != 1 {
		t.Errorf("the file holds %q", data)
	}
}

// A host certificate counts where its authority is known, for its names and its time only.
func TestHostCertificate(t *testing.T) {
	ca, stranger, key := newKey(t), newKey(t), newKey(t)
	now := time.Now()
	for name, c := range map[string]struct {
		by        ssh.Signer
		principal string
		until     time.Time
		ok        bool
	}{
		"good":       {ca, "h.example", now.Add(time.Hour), true},
		"other name": {ca, "x.example", now.Add(time.Hour), false},
		"expired":    {ca, "h.example", now.Add(-time.Hour), false},
		"stranger":   {stranger, "h.example", now.Add(time.Hour), false},
	} {
		cert := &ssh.Certificate{
			Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{c.principal},
			ValidAfter: uint64(now.Add(-2 * time.Hour).Unix()), ValidBefore: uint64(c.until.Unix()),
		}
		if err := cert.SignCert(rand.Reader, c.by); err != nil {
			t.Fatal(err)
		}
		algorithms, _, err := try(t, host("h.example", 2222), AcceptNew, cert, "@cert-authority "+line("[*.example]:2222,*.example", ca.PublicKey()))
		if (err == nil) != c.ok || (err != nil && job.KindOf(err) != job.Denied) {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Contains(algorithms, ssh.CertAlgoED25519v01) {
			t.Errorf("%s: asks for %v, not for a certificate", name, algorithms)
		}
	}
}

func TestOff(t *testing.T) {
	check, algorithms, err := For(host("h", 22), Off)
	if err != nil || algorithms != nil || check("", nowhere{}, newKey(t).PublicKey()) != nil {
		t.Errorf("%v %v", algorithms, err)
	}
}
