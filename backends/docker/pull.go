package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
	dockerimage "github.com/docker/docker/api/types/image"
)

// pulls fetches images: one pull per image for all who wait for it. A pull goes on when they stop waiting.
type pulls struct {
	backend *Backend

	mu      sync.Mutex
	running map[string]*pull
	fetched map[string]bool // with pull="always": what this server already fetched
}

type pull struct {
	done chan struct{}
	err  error // set before done is closed

	mu     sync.Mutex
	layers map[string][2]int64 // bytes done and in all
}

const progressEvery = 250 * time.Millisecond

// ensure returns the image, after a pull where the config wants one.
func (b *Backend) ensure(ctx context.Context, name string, progress func(job.Progress)) (*image, error) {
	if name == "" {
		name = b.config.images()[0]
	}
	if b.config.Pull == "always" && b.pulls.due(name) {
		if err := b.pulls.wait(ctx, name, progress); err != nil {
			return nil, err
		}
	}
	x, err := b.images.local(ctx, name)
	if err != nil || x != nil {
		return x, err
	}
	if b.config.Pull == "never" {
		return nil, job.Errorf(job.NotFound, "the engine has no image %s", name).WithHint("fetch it with `docker pull %s`, or allow it with docker(pull=\"missing\")", name)
	}
	if err := b.pulls.wait(ctx, name, progress); err != nil {
		return nil, err
	}
	x, err = b.images.local(ctx, name)
	if err == nil && x == nil {
		err = job.Errorf(job.NotFound, "the image %s was pulled and is gone again", name).WithHint("something removes images on that engine")
	}
	return x, err
}

// due says whether pull="always" still has to fetch: once for each run of the server.
func (p *pulls) due(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.fetched[name]
}

// wait joins the image's pull, or begins it. When ctx ends the error says how far it is.
func (p *pulls) wait(ctx context.Context, name string, progress func(job.Progress)) error {
	p.mu.Lock()
	running := p.running[name]
	if running == nil {
		running = &pull{done: make(chan struct{}), layers: map[string][2]int64{}}
		p.running[name] = running
		go p.fetch(name, running)
	}
	p.mu.Unlock()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-running.done:
			return running.err
		case <-tick.C:
			if progress != nil {
				progress(running.progress(name))
			}
		case <-ctx.Done():
			select {
			case <-running.done:
				return running.err
			default:
				return running.unfinished(name, ctx.Err())
			}
		}
	}
}

func (r *pull) unfinished(name string, reason error) error {
	if errors.Is(reason, context.Canceled) {
		return job.Errorf(job.Canceled, "the call was cancelled while the image was pulled; the pull goes on")
	}
	return job.Errorf(job.Timeout, "nothing was run yet: %s; the pull goes on", r.progress(name).Message).
		WithHint("call again: it waits for the same pull")
}

func (p *pulls) fetch(name string, r *pull) {
	err := p.stream(p.backend.life, name, r)
	p.backend.images.forget(name)
	p.mu.Lock()
	delete(p.running, name)
	if err == nil {
		if p.fetched == nil {
			p.fetched = map[string]bool{}
		}
		p.fetched[name] = true
	}
	p.mu.Unlock()
	r.err = err
	close(r.done)
}

func (p *pulls) stream(ctx context.Context, name string, r *pull) error {
	b := p.backend
	api, err := b.engine()
	if err != nil {
		return err
	}
	auth, err := registryAuth(ctx, name)
	if err != nil {
		return err
	}
	b.log.Info().Str("image", name).Msg("pulling")
	body, err := api.ImagePull(ctx, name, dockerimage.PullOptions{RegistryAuth: auth})
	if err != nil {
		return b.pullError(name, err, err.Error(), auth != "")
	}
	defer func() { _ = body.Close() }()
	for lines := json.NewDecoder(body); ; {
		var line struct {
			ID, Error      string
			Status         string
			ProgressDetail struct{ Current, Total int64 }
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return b.fail("the pull of "+name+" broke off", err)
		}
		if line.Error != "" {
			return b.pullError(name, errors.New(line.Error), line.Error, auth != "")
		}
		if line.ProgressDetail.Total > 0 && line.Status == "Downloading" {
			r.mu.Lock()
			r.layers[line.ID] = [2]int64{line.ProgressDetail.Current, line.ProgressDetail.Total}
			r.mu.Unlock()
		}
	}
}

func (r *pull) progress(name string) job.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := job.Progress{Message: "pulling " + name}
	for _, l := range r.layers {
		out.Done += l[0]
		out.Total += l[1]
	}
	if out.Total > 0 {
		out.Message = fmt.Sprintf("pulling %s: %.1f of %.1f MB", name, float64(out.Done)/1e6, float64(out.Total)/1e6)
	}
	return out
}

func badName(name string) error {
	return job.Errorf(job.Invalid, "%q is no name of an image", name).WithHint("write it like debian:12 or registry.example.org/team/image:tag")
}

// pullError tells apart what a person has to mend in different ways: the name, the login, the network.
func (b *Backend) pullError(name string, err error, text string, loggedIn bool) error {
	text = strings.ToLower(text)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	registry := registryOf(name)
	switch {
	case has("pull access denied", "repository does not exist"):
		return job.Errorf(job.NotFound, "the image %s does not exist at %s, or it is private and this server may not read it", name, registry).
			WithHint("check the name; for a private image, `docker login %s` as the server's user", registry)
	case has("unauthorized", "no basic auth", "authentication required", "denied", "incorrect username"):
		if loggedIn {
			return job.Errorf(job.Denied, "%s does not accept the login for %s: not authorised", registry, name).WithHint("`docker login %s` again as the server's user", registry)
		}
		return job.Errorf(job.Denied, "not authorised to read %s: %s wants a login", name, registry).WithHint("`docker login %s` as the server's user", registry)
	case has("manifest unknown", "not found", "name unknown", "no such image"):
		return job.Errorf(job.NotFound, "the image %s does not exist at %s", name, registry).WithHint("check the name and the tag")
	case has("invalid reference", "must be lowercase"):
		return badName(name)
	case has("no such host", "dial tcp", "timeout", "i/o", "connection refused", "network is unreachable", "tls", "x509", "proxyconnect", "eof", "server misbehaving"):
		return job.Errorf(job.Unavailable, "the engine cannot reach %s to pull %s: %w", registry, name, err).
			WithHint("no network, or a proxy that the engine does not know; an image that is there already needs no pull")
	}
	return b.fail("the image "+name+" could not be pulled", err)
}
