// Package trust decides whether a host is the one it says it is, by the files in which OpenSSH keeps the keys it knows.
package trust

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cmd-exec-mcp/backends/ssh/resolve"
	"cmd-exec-mcp/runtime/job"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// Mode says what happens with a host whose key is not known.
type Mode string

const (
	Strict    Mode = "yes"        // it is refused
	AcceptNew Mode = "accept-new" // its key is kept; one that changes later is refused
	Off       Mode = "no"         // every key is taken: whoever is in between reads along
)

// For returns what checks the hop's key, and the algorithms to ask for: those of the keys that are known, since a server
// that shows another of its keys would look like a stranger. No algorithms means any. A key that has changed or was
// revoked is refused in both strict modes, with kind Denied, as every refusal is.
func For(hop resolve.Hop, mode Mode) (ssh.HostKeyCallback, []string, error) {
	if mode == Off {
		return ssh.InsecureIgnoreHostKey(), nil, nil
	}
	db, err := read(hop)
	if err != nil {
		return nil, nil, err
	}
	c := &checker{hop: hop, mode: mode, name: withPort(hop.KeyName()), known: db.HostKeyCallback()}
	return c.check, db.HostKeyAlgorithms(c.name), nil
}

// read takes the files that exist.
func read(hop resolve.Hop) (*knownhosts.HostKeyDB, error) {
	var files []string
	for _, file := range hop.KnownHosts {
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return nil, job.Errorf(job.Denied, "the known host keys cannot be read: %w", err).WithHint("mend the line, or remove it")
	}
	return db, nil
}

// withPort: the files know an alias like a host on the usual port.
func withPort(name string) string {
	if _, _, err := net.SplitHostPort(name); err == nil {
		return name
	}
	return net.JoinHostPort(name, "22")
}

type checker struct {
	hop   resolve.Hop
	mode  Mode
	name  string
	known ssh.HostKeyCallback
}

// check takes the mode for a key that nobody knows; a connection at the same time may have kept one, so it looks again first.
func (c *checker) check(_ string, _ net.Addr, key ssh.PublicKey) error {
	if c.mode != AcceptNew {
		return c.judge(c.known, key)
	}
	keeping.Lock()
	defer keeping.Unlock()
	db, err := read(c.hop)
	if err != nil {
		return err
	}
	return c.judge(db.HostKeyCallback(), key)
}

func (c *checker) judge(known ssh.HostKeyCallback, key ssh.PublicKey) error {
	err := known(c.name, nowhere{}, key)
	if err == nil {
		return nil
	}
	print := ssh.FingerprintSHA256(key)
	var changed *xknownhosts.KeyError
	var revoked *xknownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		return job.Errorf(job.Denied, "the key of %s, %s, was revoked in %s:%d", c.hop.Alias, print, revoked.Revoked.Filename, revoked.Revoked.Line).
			WithHint("do not connect before the host's owner has given it a new key")
	case errors.As(err, &changed) && len(changed.Want) > 0:
		want := changed.Want[0]
		for _, other := range changed.Want {
			if other.Key.Type() == key.Type() {
				want = other
			}
		}
		return job.Errorf(job.Denied, "the key of %s has changed: it shows %s, and %s:%d knows %s", c.hop.Alias, print, want.Filename, want.Line, ssh.FingerprintSHA256(want.Key)).
			WithHint("somebody may be in between. If the host was set up anew, remove the old key with `ssh-keygen -R '%s' -f %s`", knownhosts.Normalize(c.name), want.Filename)
	case !errors.As(err, &changed):
		return job.Errorf(job.Denied, "the key of %s, %s, is not accepted: %w", c.hop.Alias, print, err).WithHint("try `ssh %s` to see more", c.hop.Alias)
	case c.mode == AcceptNew:
		return c.keep(key)
	}
	return job.Errorf(job.Denied, "%s is not known: it shows the key %s", c.hop.Alias, print).
		WithHint("compare the fingerprint with the host's own (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` there), then add this line to %s: %s", c.file(), c.line(key))
}

// nowhere stands for the address: the name decides, and a connection through another host or a program has none that the
// library could read.
type nowhere struct{}

func (nowhere) Network() string { return "tcp" }
func (nowhere) String() string  { return "0.0.0.0:0" }

// file is where a new key goes.
func (c *checker) file() string {
	if len(c.hop.KnownHosts) == 0 {
		return "~/.ssh/known_hosts"
	}
	return c.hop.KnownHosts[0]
}

// line is what a person reads; what is kept may be hashed.
func (c *checker) line(key ssh.PublicKey) string { return written(knownhosts.Normalize(c.name), key) }

func written(name string, key ssh.PublicKey) string {
	return fmt.Sprintf("%s %s %s", name, key.Type(), strings.Fields(string(ssh.MarshalAuthorizedKey(key)))[1])
}

// keeping lets one key be looked up and kept at a time.
var keeping sync.Mutex

// keep appends the key; the caller holds keeping. A file whose last line has no end gets one first.
func (c *checker) keep(key ssh.PublicKey) error {
	failed := func(err error) error {
		return job.Errorf(job.Denied, "the key of %s cannot be kept: %w", c.hop.Alias, err).WithHint("make %s writable, or add the line by hand: %s", c.file(), c.line(key))
	}
	if err := os.MkdirAll(filepath.Dir(c.file()), 0o700); err != nil {
		return failed(err)
	}
	old, err := os.ReadFile(c.file())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed(err)
	}
	f, err := os.OpenFile(c.file(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return failed(err)
	}
	text := c.line(key) + "\n"
	if c.hop.HashKnownHosts {
		text = written(xknownhosts.HashHostname(knownhosts.Normalize(c.name)), key) + "\n"
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		text = "\n" + text
	}
	if _, err = f.WriteString(text); err == nil {
		err = f.Close()
	} else {
		_ = f.Close()
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
