package ssh

import (
	"context"
	"time"

	"cmd-exec-mcp/backends/ssh/auth"
	"cmd-exec-mcp/backends/ssh/resolve"
	"cmd-exec-mcp/backends/ssh/trust"
	"golang.org/x/crypto/ssh"
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

// route is how the target is reached. The files are read for each connection: a person mends them while we run.
func (b *Backend) route(ctx context.Context) ([]hop, error) {
	found, err := resolve.Hops(ctx, b.config.options())
	if err != nil {
		return nil, err
	}
	hops := make([]hop, 0, len(found))
	for i, f := range found {
		h, err := b.hop(f, i == len(found)-1)
		if err != nil {
			for _, made := range hops {
				made.release()
			}
			return nil, err
		}
		hops = append(hops, h)
	}
	return hops, nil
}

func (c *Config) options() resolve.Options {
	o := resolve.Options{Target: c.Target, User: c.User, ConfigFile: expandHome(c.SSHConfig)}
	if c.Port != nil {
		o.Port = *c.Port
	}
	return o
}

// hop adds what a connection needs. The config's key and password are the target's: a jump host does not get to see them.
func (b *Backend) hop(f resolve.Hop, target bool) (hop, error) {
	c := b.config
	h := hop{alias: f.Alias, host: f.Host, port: f.Port, user: f.User, proxyCommand: f.ProxyCommand,
		timeout: defaultConnect, interval: defaultKeepalive, missed: max(f.Missed, 1)}
	if f.Missed == 0 {
		h.missed = 3
	}
	switch {
	case c.ConnectTimeout != nil:
		h.timeout = *c.ConnectTimeout
	case f.ConnectTimeout > 0:
		h.timeout = f.ConnectTimeout
	}
	switch {
	case c.Keepalive != nil:
		h.interval = max(0, *c.Keepalive)
	case f.Interval > 0:
		h.interval = f.Interval
	}
	var secrets auth.Secrets
	if target {
		secrets = auth.Secrets{Key: b.key, Passphrase: c.Passphrase, Password: b.password}
	}
	callback, algorithms, err := trust.For(f, trust.Mode(c.KnownHosts))
	if err != nil {
		return hop{}, err
	}
	shown, err := auth.Methods(f, secrets)
	if err != nil {
		return hop{}, err
	}
	h.offered, h.release = shown.Offered, shown.Close
	h.config = &ssh.ClientConfig{User: f.User, Auth: shown.Methods, HostKeyCallback: callback, HostKeyAlgorithms: algorithms}
	return h, nil
}
