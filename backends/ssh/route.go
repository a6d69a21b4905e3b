package ssh

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// hop is one server on the way, the target the last.
type hop struct {
	alias, host  string
	port         int
	user         string
	proxyCommand string
	config       *ssh.ClientConfig
	offered      func() []string // what was tried to get in
	release      func()
	timeout      time.Duration
	interval     time.Duration
	missed       int
}

// route is how the target is reached.
func (b *Backend) route(context.Context) ([]hop, error) {
	c := b.config
	h := hop{alias: c.Target, host: c.Target, port: 22, user: c.User, timeout: defaultConnect, interval: defaultKeepalive, missed: 3, release: func() {}}
	if user, rest, ok := strings.Cut(h.host, "@"); ok {
		h.user, h.host = user, rest
	}
	if host, port, err := net.SplitHostPort(h.host); err == nil {
		h.host = host
		h.port, _ = strconv.Atoi(port)
	}
	if c.Port != nil {
		h.port = *c.Port
	}
	if c.ConnectTimeout != nil {
		h.timeout = *c.ConnectTimeout
	}
	if c.Keepalive != nil {
		h.interval = max(0, *c.Keepalive)
	}
	callback := ssh.InsecureIgnoreHostKey()
	if c.KnownHosts != "no" {
		var err error
		if callback, err = knownhosts.New(expandHome("~/.ssh/known_hosts")); err != nil {
			return nil, job.Errorf(job.Denied, "the known host keys cannot be read: %w", err).WithHint("connect once with ssh")
		}
	}
	var methods []ssh.AuthMethod
	var offered []string
	if b.key != "" {
		data, err := os.ReadFile(b.key)
		if err != nil {
			return nil, job.Errorf(job.Denied, "the key cannot be read: %w", err)
		}
		signer, err := ssh.ParsePrivateKey(data)
		if missing, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok && missing != nil {
			signer, err = ssh.ParsePrivateKeyWithPassphrase(data, []byte(c.Passphrase))
		}
		if err != nil {
			return nil, job.Errorf(job.Denied, "the key cannot be opened: %w", err).WithHint("passphrase=secret(...) opens it")
		}
		methods, offered = append(methods, ssh.PublicKeys(signer)), append(offered, "key "+b.key)
	}
	if b.password != "" {
		methods, offered = append(methods, ssh.Password(b.password)), append(offered, "a password")
	}
	h.offered = func() []string { return offered }
	h.config = &ssh.ClientConfig{User: h.user, Auth: methods, HostKeyCallback: callback}
	return []hop{h}, nil
}
