package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"cmd-exec-mcp/runtime/job"
	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/client"
)

// endpoint is where an engine is, and who said so.
type endpoint struct {
	host, from string
	tls        string // folder with ca.pem, cert.pem, key.pem; "" none
}

// locate finds the engine as the docker command does: the config, DOCKER_HOST, the context, the usual socket. Where the
// usual socket is missing, a rootless engine's is taken.
func locate(configured string) (endpoint, error) {
	if configured != "" {
		return endpoint{host: configured, from: "docker(host=)"}, nil
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return endpoint{host: host, from: "DOCKER_HOST"}, nil
	}
	name, from := os.Getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" {
		name, from = readSettings().CurrentContext, "the current docker context"
	}
	if name != "" && name != "default" {
		return contextEndpoint(name, from)
	}
	e := endpoint{host: client.DefaultDockerHost, from: "the default"}
	if socket, ok := strings.CutPrefix(e.host, "unix://"); ok && !exists(socket) {
		if rootless := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "docker.sock"); os.Getenv("XDG_RUNTIME_DIR") != "" && exists(rootless) {
			return endpoint{host: "unix://" + rootless, from: "the rootless socket"}, nil
		}
	}
	return e, nil
}

// contextEndpoint reads a context of the docker command's store, a folder named after the hash of the context's name.
func contextEndpoint(name, from string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	raw, err := os.ReadFile(filepath.Join(settingsDir(), "contexts", "meta", id, "meta.json"))
	if err == nil {
		err = json.Unmarshal(raw, &meta)
	}
	host := meta.Endpoints["docker"].Host
	if err != nil || host == "" {
		return endpoint{}, job.Errorf(job.Unavailable, "the docker context %q, named by %s, has no engine", name, from).
			WithHint("`docker context ls` shows those there are; or set docker(host=)")
	}
	e := endpoint{host: host, from: "docker context " + name}
	if dir := filepath.Join(settingsDir(), "contexts", "tls", id, "docker"); exists(dir) {
		e.tls = dir
	}
	return e, nil
}

// settings is the part of the docker command's config.json that we follow.
type settings struct {
	CurrentContext string            `json:"currentContext"`
	Auths          map[string]auth   `json:"auths"`
	CredsStore     string            `json:"credsStore"`
	CredHelpers    map[string]string `json:"credHelpers"`
}

func settingsDir() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".docker")
}

// readSettings returns what can be read; without the file there are no settings.
func readSettings() (s settings) {
	if raw, err := os.ReadFile(filepath.Join(settingsDir(), "config.json")); err == nil {
		_ = json.Unmarshal(raw, &s)
	}
	return s
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// connect makes the client; it does not dial. The API version is negotiated with the first request.
func connect(configured string) (*client.Client, error) {
	e, err := locate(configured)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(e.host, "ssh://") {
		return nil, job.Errorf(job.Unsupported, "an engine behind %s (from %s) cannot be used", e.host, e.from).
			WithHint("forward its socket with `ssh -L /tmp/docker.sock:/run/docker.sock`, and set docker(host=\"unix:///tmp/docker.sock\")")
	}
	options := []client.Opt{client.WithAPIVersionNegotiation(), client.WithVersionFromEnv()}
	switch {
	case e.tls != "":
		options = append(options, client.WithTLSClientConfig(filepath.Join(e.tls, "ca.pem"), filepath.Join(e.tls, "cert.pem"), filepath.Join(e.tls, "key.pem")))
	case e.from == "DOCKER_HOST":
		options = append(options, client.WithTLSClientConfigFromEnv())
	}
	api, err := client.NewClientWithOpts(append(options, client.WithHost(e.host))...)
	if err != nil {
		return nil, job.Errorf(job.Unavailable, "the engine's address %q (from %s) cannot be used: %w", e.host, e.from, err).
			WithHint("write it like unix:///run/docker.sock or tcp://host:2376")
	}
	if t, ok := api.HTTPClient().Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost, t.IdleConnTimeout = 8, time.Minute
	}
	return api, nil
}

// hijack opens an attached stream. The client's own call does not listen to ctx once it is connected, so a stalled engine
// would hold it for ever; here it is left behind, and its connection closed when it comes at last.
func hijack(ctx context.Context, open func(context.Context) (types.HijackedResponse, error)) (types.HijackedResponse, error) {
	type answer struct {
		stream types.HijackedResponse
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		stream, err := open(ctx)
		answers <- answer{stream, err}
	}()
	select {
	case a := <-answers:
		return a.stream, a.err
	case <-ctx.Done():
		go func() {
			if a := <-answers; a.err == nil {
				a.stream.Close()
			}
		}()
		return types.HijackedResponse{}, ctx.Err()
	}
}

// fail turns an engine's or the network's error into ours. what says what was tried: "the container could not be made".
func (b *Backend) fail(what string, err error) error {
	if e, ok := errors.AsType[*job.Error](err); ok {
		return e
	}
	where := b.where()
	var dial *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return job.Errorf(job.Timeout, "%s: Docker at %s did not answer in time", what, where).
			WithHint("`docker info` says whether the engine is stuck")
	case errors.Is(err, context.Canceled):
		return job.Errorf(job.Canceled, "%s: the call was cancelled", what)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EACCES):
		return job.Errorf(job.Unavailable, "no permission to use Docker at %s", where).
			WithHint("add this user to the group docker, or use a rootless engine (docker(host=))")
	case client.IsErrConnectionFailed(err), errors.As(err, &dial) && dial.Op == "dial":
		return job.Errorf(job.Unavailable, "Docker is not reachable at %s", where).WithHint("%s", startHint())
	}
	return job.Errorf(kindOf(err), "%s: %w", what, err).WithHint("%s", hintOf(err))
}

func kindOf(err error) job.Kind {
	switch {
	case cerrdefs.IsNotFound(err):
		return job.NotFound
	case cerrdefs.IsInvalidArgument(err):
		return job.Invalid
	}
	return job.Unavailable
}

// hintOf knows the refusals of an engine that a config causes.
func hintOf(err error) string {
	text := err.Error()
	for _, known := range []struct{ part, hint string }{
		{"bind source path does not exist", "the host folder of a mount(...) is missing on the engine's host: make it, or take the mount out"},
		{"is not shared from the host", "the engine does not allow this mount: add the folder to its file sharing settings"},
		{"mounts denied", "the engine does not allow this mount: add the folder to its file sharing settings"},
		{"network", "`docker network ls` shows the networks there are"},
		{"runtime", "`docker info` shows the runtimes that the engine knows"},
		{"unable to find user", "the image has no such user: name another in docker(user=)"},
		{"no space left", "the engine's disk is full: `docker system df` says what takes it"},
	} {
		if strings.Contains(strings.ToLower(text), known.part) {
			return known.hint
		}
	}
	return "the engine's log says more"
}

func startHint() string {
	if runtime.GOOS == "linux" {
		return "start it (`systemctl start docker`), or say where it is with DOCKER_HOST or docker(host=)"
	}
	return "start Docker Desktop, or say where the engine is with DOCKER_HOST or docker(host=)"
}

// where is the engine's address for messages.
func (b *Backend) where() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.api == nil {
		return "its socket"
	}
	return b.api.DaemonHost()
}
