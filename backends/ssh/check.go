package ssh

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/crypto/ssh"
)

var _ backends.Checker = (*Backend)(nil)

// Check implements backends.Checker: how the target is reached, hop by hop, and what it is like. It makes a connection of
// its own for the hops, so that the answer is about now.
func (b *Backend) Check(ctx context.Context) []job.Check {
	name := "ssh " + b.config.Target
	hops, err := b.route(ctx)
	if err != nil {
		return []job.Check{failed(name, err)}
	}
	defer release(hops)
	checks := []job.Check{b.describe(name, hops)}
	via, closeAll, checks := b.walk(ctx, hops, checks)
	if via == nil {
		return checks
	}
	closeAll()
	began := time.Now()
	f, err := b.pool.facts(ctx)
	if err != nil {
		return append(checks, failed(name+" commands", err))
	}
	detail := fmt.Sprintf("%s, text runs in %s, connected with a shell in %v", f.system, f.shell(), time.Since(began).Round(time.Millisecond))
	check := job.Check{Name: name + " commands", Detail: detail}
	switch {
	case b.config.Shell != "" && f.path(b.config.Shell) == "":
		check.Level, check.Fix = job.Failed, "there is no "+b.config.Shell+" there: leave shell= out, or install it"
	case !f.proc:
		check.Level, check.Fix = job.Warning, "no /proc there: what leaves its process group survives a kill"
	}
	return append(checks, check)
}

// describe says which way is taken and which file decides it.
func (b *Backend) describe(name string, hops []hop) job.Check {
	var way []string
	for _, h := range hops {
		step := h.User + "@" + h.Address()
		if h.ProxyCommand != "" {
			step += " (through the ProxyCommand " + h.ProxyCommand + ")"
		}
		way = append(way, step)
	}
	check := job.Check{Name: name, Detail: strings.Join(way, ", then ")}
	file := expandHome(b.config.SSHConfig)
	if file == "" {
		return check
	}
	if _, err := os.Stat(file); err != nil {
		check.Detail += "; there is no " + file
		return check
	}
	check.Detail += "; " + file + " was read (`ssh -G " + b.config.Target + "` shows all that applies)"
	return check
}

// walk dials each hop and says how it went: a nil client means that one failed.
func (b *Backend) walk(ctx context.Context, hops []hop, checks []job.Check) (*ssh.Client, func(), []job.Check) {
	last := hops[len(hops)-1]
	ctx, cancel := context.WithTimeout(ctx, last.timeout)
	defer cancel()
	began := time.Now()
	client, closeAll, err := dialHops(ctx, hops)
	if err != nil {
		return nil, nil, append(checks, failed("ssh "+b.config.Target+" connection", err))
	}
	took := time.Since(began)
	began = time.Now()
	_, _, _ = client.SendRequest("keepalive@openssh.com", true, nil)
	known := map[KnownHosts]string{"yes": "the host's key is known", "accept-new": "the host's key is known or was new", "no": "the host's key was not checked"}[b.config.KnownHosts]
	check := job.Check{
		Name: "ssh " + b.config.Target + " connection",
		Detail: fmt.Sprintf("%s, %s; shown: %s; connected in %v, a round trip takes %v", strings.Map(printable, string(client.ServerVersion())), known,
			strings.Join(last.set.Offered(), "; "), took.Round(time.Millisecond), time.Since(began).Round(100*time.Microsecond)),
	}
	if b.config.KnownHosts == "no" {
		check.Level, check.Fix = job.Warning, "known_hosts=False lets whoever is in between read along: use True, or \"accept-new\""
	}
	return client, closeAll, append(checks, check)
}

func failed(name string, err error) job.Check {
	check := job.Check{Name: name, Level: job.Failed, Detail: err.Error()}
	if e, ok := err.(*job.Error); ok {
		check.Fix = e.Hint
	}
	return check
}
