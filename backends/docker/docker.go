// Package docker runs commands in containers of a Docker engine: a fresh, hardened one for each command.
//
// The fast path is a container that was started ahead of its use. Its only process is the image's shell, which reads
// one command from the attached stdin, runs it in a plain inner shell, and says on both streams how it ended. Such a
// container is used once and thrown away; what has no shell, or needs a terminal, takes the ordinary way of create,
// attach, start, wait and remove.
package docker

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/docker/docker/client"
	"github.com/rs/zerolog"
)

// Backend is an opened docker(...).
type Backend struct {
	config   *Config
	owner    string // the value of the owner label: the same for all containers of this instance
	log      zerolog.Logger
	user     string
	security []string // security options as the engine takes them
	pool     *pool
	images   *images
	pulls    *pulls
	cleaner  *cleaner
	life     context.Context // ends when Close begins: nothing new starts, background work stops
	stop     context.CancelFunc

	mu     sync.Mutex
	api    *client.Client // nil until the first use
	reaped bool
	made   bool // something that has to be swept up
	live   map[*process]struct{}
	closed bool
}

// Open dials nothing; the engine is looked for when it is first needed.
func (c *Config) Open(_ context.Context, env backends.Env) (backends.Backend, error) {
	security, err := c.securityOptions()
	if err != nil {
		return nil, err
	}
	b := &Backend{
		config: c, owner: newOwner(env.Instance).String(), log: env.Log.With().Str("name", "sandbox").Logger(),
		user: c.user(), security: security, live: map[*process]struct{}{},
	}
	b.life, b.stop = context.WithCancel(context.Background())
	b.pool = &pool{backend: b, size: c.Pool, idleAfter: idleAfter}
	b.images = newImages(b)
	b.pulls = &pulls{backend: b, running: map[string]*pull{}}
	b.cleaner = newCleaner(b)
	return b, nil
}

// securityOptions are the configured ones; the API wants a seccomp profile's content where people write its path.
func (c *Config) securityOptions() ([]string, error) {
	var list []string
	for _, option := range c.SecurityOpt {
		if file, ok := strings.CutPrefix(option, "seccomp="); ok && file != "unconfined" && file != "builtin" {
			profile, err := os.ReadFile(file)
			if err != nil {
				return nil, job.Errorf(job.NotFound, "docker: the seccomp profile cannot be read: %w", err).WithHint("give an absolute path, or seccomp=unconfined")
			}
			option = "seccomp=" + string(profile)
		}
		list = append(list, option)
	}
	return list, nil
}

// user is who commands run as, in the engine's words.
func (c *Config) user() string {
	if c.User == "host" {
		return strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid())
	}
	return c.User
}

// Properties are static. The shell is the one that is hoped for: what an image has is known only when it is there.
func (b *Backend) Properties() backends.Properties {
	p := backends.Properties{Name: "docker", Shells: []string{"bash"}, Stdin: true, TTY: true, KillTree: true, Isolated: true, Sandbox: true}
	if b.config.Shell != "" {
		p.Shells[0] = b.config.Shell
	}
	if b.config.Images != nil {
		p.Images = b.config.images()
	}
	if b.config.Networks != nil {
		p.Networks = b.config.networks()
	}
	return p
}

// Close kills what still runs and removes every container of this instance. Within ctx it waits for the engine to confirm.
func (b *Backend) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	used := b.made
	live := make([]*process, 0, len(b.live))
	for p := range b.live {
		live = append(live, p)
	}
	b.mu.Unlock()
	b.stop()
	if !used {
		return nil
	}
	var wg sync.WaitGroup
	for _, p := range live {
		wg.Go(func() { _ = p.Kill(ctx) })
	}
	b.pool.drain(ctx)
	wg.Wait()
	b.cleaner.wait(ctx)
	return b.sweep(ctx)
}

// enter takes a started process into the list that Close ends; it refuses when Close has begun.
func (b *Backend) enter(p *process) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.live[p] = struct{}{}
	return true
}

func (b *Backend) leave(p *process) {
	b.mu.Lock()
	delete(b.live, p)
	b.mu.Unlock()
}

// engine is the client, made at the first use; the first use also removes what dead servers of this host left behind.
func (b *Backend) engine() (*client.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, job.Errorf(job.Canceled, "the server is shutting down")
	}
	if b.api == nil {
		api, err := connect(b.config.Host)
		if err != nil {
			return nil, err
		}
		b.api = api
	}
	return b.api, nil
}

// firstUse starts what waits for the engine to be there: the reaper, once.
func (b *Backend) firstUse() {
	b.mu.Lock()
	first := !b.reaped && !b.closed
	b.reaped = true
	b.mu.Unlock()
	if first {
		go b.reap(b.life)
	}
}

// idleAfter is how long a pool that nobody uses is kept.
const idleAfter = 5 * time.Minute
