package docker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cmd-exec-mcp/runtime/job"
	cerrdefs "github.com/containerd/errdefs"
)

// image is what we know of an image.
type image struct {
	name, id string
	env      map[string]string
	user     string
	dir      string            // its working directory
	shells   map[string]string // path by name, of those it has
}

// shell picks the shell that runs text: the wanted one, or bash, or sh. path is "" when there is none.
func (x *image) shell(wanted string) (name, path string) {
	for _, name := range []string{wanted, "bash", "sh"} {
		if path := x.shells[name]; path != "" {
			return name, path
		}
		if name != "" && name == wanted {
			break
		}
	}
	return "", ""
}

// images remembers images for a few seconds by name, since a name may come to mean another image, and their shells for
// ever by id, since an image never changes.
type images struct {
	backend *Backend
	probing chan struct{} // one probe at a time

	mu     sync.Mutex
	named  map[string]seen
	shells map[string]map[string]string
}

type seen struct {
	image *image
	at    time.Time
}

const imageFresh = 10 * time.Second

func newImages(b *Backend) *images {
	return &images{backend: b, probing: make(chan struct{}, 1), named: map[string]seen{}, shells: map[string]map[string]string{}}
}

func (i *images) forget(name string) {
	i.mu.Lock()
	delete(i.named, name)
	i.mu.Unlock()
}

// local returns an image that the engine has; nil without an error means that it has none of that name.
func (i *images) local(ctx context.Context, name string) (*image, error) {
	i.mu.Lock()
	known := i.named[name]
	i.mu.Unlock()
	if known.image != nil && time.Since(known.at) < imageFresh {
		return known.image, nil
	}
	api, err := i.backend.engine()
	if err != nil {
		return nil, err
	}
	got, err := api.ImageInspect(ctx, name)
	if cerrdefs.IsNotFound(err) {
		i.backend.firstUse()
		return nil, nil
	}
	if cerrdefs.IsInvalidArgument(err) {
		return nil, badName(name)
	}
	if err != nil {
		return nil, i.backend.fail("the image "+name+" could not be looked up", err)
	}
	i.backend.firstUse()
	if got.Os == "windows" {
		return nil, job.Errorf(job.Unsupported, "%s is a Windows image", name).WithHint("name a Linux image")
	}
	x := &image{name: name, id: got.ID, env: map[string]string{}}
	if got.Config != nil {
		x.user, x.dir = got.Config.User, got.Config.WorkingDir
		for _, pair := range got.Config.Env {
			key, value, _ := strings.Cut(pair, "=")
			x.env[key] = value
		}
	}
	if x.shells, err = i.shellsOf(ctx, x); err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.named[name] = seen{x, time.Now()}
	i.mu.Unlock()
	return x, nil
}

// shellsOf looks for shells in the files of a container that is never started.
func (i *images) shellsOf(ctx context.Context, x *image) (map[string]string, error) {
	select {
	case i.probing <- struct{}{}:
		defer func() { <-i.probing }()
	case <-ctx.Done():
		return nil, i.backend.fail("the image "+x.name+" could not be looked at", ctx.Err())
	}
	i.mu.Lock()
	known, ok := i.shells[x.id]
	i.mu.Unlock()
	if ok {
		return known, nil
	}
	found, err := i.probe(ctx, x)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.shells[x.id] = found
	i.mu.Unlock()
	return found, nil
}

func (i *images) probe(ctx context.Context, x *image) (map[string]string, error) {
	b := i.backend
	id, err := b.create(ctx, box{image: x, network: "none", role: roleProbe, argv: []string{"/"}})
	if err != nil {
		return nil, err
	}
	defer b.cleaner.remove(id)
	api, err := b.engine()
	if err != nil {
		return nil, err
	}
	names := []string{"bash", "sh"}
	if own := b.config.Shell; own != "" && !slices.Contains(names, own) {
		names = append(names, own)
	}
	found := map[string]string{}
	for _, name := range names {
		for _, dir := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/"} {
			_, err := api.ContainerStatPath(ctx, id, dir+name)
			if err == nil {
				found[name] = dir + name
				break
			}
			if !cerrdefs.IsNotFound(err) {
				return nil, b.fail("the image "+x.name+" could not be looked at", err)
			}
		}
	}
	return found, nil
}

// names are the shells an image has, for messages.
func (x *image) names() []string { return slices.Sorted(maps.Keys(x.shells)) }
