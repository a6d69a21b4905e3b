package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
)

// ciphers are in the order of speed: with hardware support gcm is twice as fast as what the library prefers.
var ciphers = []string{
	ssh.CipherAES128GCM, ssh.CipherAES256GCM, ssh.CipherChaCha20Poly1305, ssh.CipherAES128CTR, ssh.CipherAES192CTR, ssh.CipherAES256CTR,
}

// hostKeys are asked for in the order in which OpenSSH does, the strongest first.
var hostKeys = []string{
	ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
	ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// connect dials the target through its hops and starts the control shell, all within one deadline.
func (p *pool) connect() (*conn, error) {
	b := p.backend
	began := time.Now()
	hops, err := b.route(b.life)
	if err != nil {
		return nil, err
	}
	defer release(hops)
	last := hops[len(hops)-1]
	ctx, cancel := context.WithTimeout(b.life, last.timeout)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		c, err := p.reach(ctx, hops)
		if err == nil {
			go c.keepalives(last.interval, last.missed)
			b.log.Debug().Dur("took", time.Since(began)).Str("system", c.facts.system).Msg("connected")
			return c, nil
		}
		// A server in the middle of a rush drops some who knock (MaxStartups).
		if !isReset(err) || ctx.Err() != nil || pause > maxPause {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

const maxPause = time.Second

func (p *pool) reach(ctx context.Context, hops []hop) (*conn, error) {
	client, closeAll, err := dialHops(ctx, hops)
	if err != nil {
		return nil, err
	}
	c := &conn{pool: p, client: client, close: closeAll, name: randomWord(), used: 1, limit: maxChannels, dead: make(chan struct{})}
	c.hear()
	p.mu.Lock()
	p.every = hops[len(hops)-1].interval
	p.mu.Unlock()
	c.control, c.facts, err = startControl(ctx, c)
	if err != nil {
		closeAll()
		if errors.Is(err, errFull) {
			err = errMaxSessions(p.backend.config.Target)
		}
		return nil, fail(err, p.backend.config.Target)
	}
	return c, nil
}

// dialHops makes the connection to the last hop. What it returns besides closes that and those it goes through.
func dialHops(ctx context.Context, hops []hop) (*ssh.Client, func(), error) {
	var opened []io.Closer
	closeAll := func() {
		for i := len(opened) - 1; i >= 0; i-- {
			_ = opened[i].Close()
		}
	}
	var via *ssh.Client
	for _, h := range hops {
		wire, err := h.wire(ctx, via)
		if err != nil {
			closeAll()
			return nil, nil, h.explain(ctx, err, via != nil)
		}
		opened = append(opened, wire)
		client, err := h.handshake(ctx, wire)
		if err != nil {
			closeAll()
			return nil, nil, h.explain(ctx, err, true)
		}
		opened = append(opened, client)
		via = client
	}
	return via, closeAll, nil
}

// wire is the stream that the protocol runs on: a connection, one through the hop before, or a program's streams.
func (h hop) wire(ctx context.Context, via *ssh.Client) (net.Conn, error) {
	switch {
	case via != nil:
		return via.DialContext(ctx, "tcp", h.Address())
	case h.ProxyCommand != "":
		return startProxy(h.ProxyCommand)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", h.Address())
}

func (h hop) handshake(ctx context.Context, wire net.Conn) (*ssh.Client, error) {
	// Not every wire knows deadlines.
	stop := context.AfterFunc(ctx, func() { _ = wire.Close() })
	defer stop()
	sc, chans, reqs, err := ssh.NewClientConn(wire, h.Address(), h.config)
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(sc, chans, reqs), nil
}

// explain words why a hop was not reached. connected says that something did answer.
func (h hop) explain(ctx context.Context, err error, connected bool) error {
	if e, ok := errors.AsType[*job.Error](err); ok {
		return e
	}
	name := h.Alias
	if a := h.Address(); !strings.HasSuffix(name, a) && name != h.Host {
		name += " (" + a + ")"
	} else {
		name = a
	}
	var dns *net.DNSError
	switch text := err.Error(); {
	case errors.As(err, &dns) && dns.IsNotFound:
		return job.Errorf(job.NotFound, "the host name %s is not known", h.Host).WithHint("check the name, or add it to ~/.ssh/config with a HostName")
	case errors.Is(err, syscall.ECONNREFUSED):
		return job.Errorf(job.Unavailable, "%s refuses connections: nothing listens on port %d", name, h.Port).WithHint("check the port, and whether sshd runs there")
	case strings.Contains(text, "unable to authenticate"):
		return h.denied(name)
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		what := "does not answer"
		if connected {
			what = "accepted the connection, but did not finish the SSH handshake"
		}
		return job.Errorf(job.Unavailable, "%s %s within %v", name, what, h.timeout).WithHint("check the address, the network and firewalls; connect_timeout= gives it more time")
	case isReset(err):
		return &job.Error{Kind: job.Unavailable, Err: fmt.Errorf("%s closed the connection during the handshake: %w", name, err), Hint: "it may have too many connections (MaxStartups), or its firewall does not want us: see its log"}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return job.Errorf(job.Unavailable, "there is no way to %s: %w", name, err).WithHint("check the network, or a VPN that has to be up")
	case strings.Contains(text, "no common algorithm"):
		return job.Errorf(job.Unavailable, "%s and we have no algorithm in common: %w", name, err).WithHint("its SSH server is too old or too strict")
	default:
		return job.Errorf(job.Unavailable, "%s cannot be reached: %w", name, err).WithHint("try `ssh -v %s true` to see more", h.Alias)
	}
}

func (h hop) denied(name string) error {
	offered := h.set.Offered()
	what := "nothing was offered: there is no key, no agent and no password"
	if len(offered) > 0 {
		what = "offered: " + strings.Join(offered, "; ")
	}
	return job.Errorf(job.Denied, "%s does not let %s in (%s)", name, h.User, what).
		WithHint("add the public key to ~%s/.ssh/authorized_keys there (ssh-copy-id), or name the right one with key= or IdentityFile", h.User)
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
