package ssh

import (
	"context"
	"time"

	"cmd-exec-mcp/backends/ssh/auth"
	"cmd-exec-mcp/backends/ssh/resolve"
	"cmd-exec-mcp/backends/ssh/trust"
	"golang.org/x/crypto/ssh"
)

// hop is one server on the way, with what we show it and how we know it.
type hop struct {
	resolve.Hop
	config   *ssh.ClientConfig
	set      *auth.Set
	timeout  time.Duration
	interval time.Duration // between signs of life; 0 for none
	missed   int
}

// route is how the target is reached, the target last. What config.star names in plain wins over ssh_config, and what it
// gives to get in is for the target only: a host on the way must not learn another one's password.
func (b *Backend) route(ctx context.Context) ([]hop, error) {
	hops, err := b.hops(ctx)
	if err != nil {
		return nil, err
	}
	var ready []hop
	for i, h := range hops {
		secrets := auth.Secrets{Passphrase: b.config.Passphrase}
		if i == len(hops)-1 {
			secrets.Key, secrets.Password = b.key, b.password
		}
		next, err := b.prepare(h, secrets)
		if err != nil {
			release(ready)
			return nil, err
		}
		ready = append(ready, next)
	}
	return ready, nil
}

// hops is what ssh_config makes of the target.
func (b *Backend) hops(ctx context.Context) ([]resolve.Hop, error) {
	o := resolve.Options{Target: b.config.Target, User: b.config.User, ConfigFile: expandHome(b.config.SSHConfig)}
	if b.config.Port != nil {
		o.Port = *b.config.Port
	}
	return resolve.Hops(ctx, o)
}

func (b *Backend) prepare(from resolve.Hop, secrets auth.Secrets) (hop, error) {
	h := hop{Hop: from, timeout: defaultConnect, interval: defaultKeepalive, missed: 3}
	if from.ConnectTimeout > 0 {
		h.timeout = from.ConnectTimeout
	}
	if from.Interval > 0 {
		h.interval = from.Interval
	}
	if from.Missed > 0 {
		h.missed = from.Missed
	}
	if c := b.config.ConnectTimeout; c != nil {
		h.timeout = *c
	}
	if c := b.config.Keepalive; c != nil {
		h.interval = max(0, *c)
	}
	callback, algorithms, err := trust.For(from, trust.Mode(b.config.KnownHosts))
	if err != nil {
		return h, err
	}
	if len(algorithms) == 0 {
		algorithms = hostKeys
	}
	if h.set, err = auth.Methods(from, secrets); err != nil {
		return h, err
	}
	h.config = &ssh.ClientConfig{User: from.User, Auth: h.set.Methods, HostKeyCallback: callback, HostKeyAlgorithms: algorithms}
	h.config.Ciphers = ciphers
	return h, nil
}

func release(hops []hop) {
	for _, h := range hops {
		h.set.Close()
	}
}
