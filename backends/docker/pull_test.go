package docker

import (
	"context"
	"encoding/base64"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	dockerimage "github.com/docker/docker/api/types/image"
)

// K5: a missing image is fetched, once for all who wait, and the command then runs.
func TestPull(t *testing.T) {
	registry := service(t, "registry")["REGISTRY"]
	name := registry + "/cem/busybox"
	b := open(t, func(c *Config) { c.Image, c.Pull = name, "missing" })
	forgetImage(t, b, name)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			cmd, err := b.Resolve(t.Context(), script("echo hi"))
			if err != nil {
				t.Error(err)
				return
			}
			_, err = b.Start(t.Context(), cmd, backends.IO{Progress: func(job.Progress) {}})
			// The image has no bash, for which a text is checked as long as nothing is known of its image.
			if job.KindOf(err) != job.Unavailable || !strings.Contains(hint(err), "same call again") {
				t.Errorf("%v (%s)", err, hint(err))
			}
		})
	}
	all.Wait()
	if got := run(t, b, script("echo hi")); got.stdout != "hi\n" {
		t.Errorf("%+v", got)
	}
	never := open(t, func(c *Config) { c.Image, c.Pull = "cem-test/none", "never" })
	if _, err := try(t, never, script("true"), backends.IO{}); job.KindOf(err) != job.NotFound || !strings.Contains(hint(err), "docker pull") {
		t.Errorf("pull=never: %v", err)
	}
	always := open(t, func(c *Config) { c.Image, c.Pull, c.Shell = name, "always", "sh" })
	if got := run(t, always, script("echo hi")); got.stdout != "hi\n" || always.pulls.due(name) {
		t.Errorf("pull=always: %+v", got)
	}
}

// K6: what is wrong with an image is told apart.
func TestPullErrors(t *testing.T) {
	got := service(t, "registry")
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	login := func(user, password string) {
		auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		write(t, filepath.Join(dir, "config.json"), `{"auths":{"`+got["REGISTRY_LOGIN"]+`":{"auth":"`+auth+`"}}}`)
	}
	pull := func(name string) error {
		b := open(t, func(c *Config) { c.Image, c.Pull, c.Shell = name, "missing", "sh" })
		forgetImage(t, b, name)
		_, err := try(t, b, script("true"), backends.IO{})
		return err
	}
	for _, test := range []struct {
		image string
		kind  job.Kind
		words string
	}{
		{got["REGISTRY"] + "/no/such:1", job.NotFound, "does not exist"},
		{got["REGISTRY"] + "/cem/busybox:no", job.NotFound, "does not exist"},
		{got["REGISTRY_LOGIN"] + "/cem/busybox", job.Denied, "wants a login"},
		{closedPort(t) + "/x", job.Unavailable, "cannot reach"},
		{"Not/A_Name:", job.Invalid, "no name of an image"},
	} {
		err := pull(test.image)
		if job.KindOf(err) != test.kind || err == nil || !strings.Contains(err.Error(), test.words) || hint(err) == "" {
			t.Errorf("%s: kind %v, %v (%s)", test.image, job.KindOf(err), err, hint(err))
		}
	}
	login("tester", "wrong")
	if err := pull(got["REGISTRY_LOGIN"] + "/cem/busybox"); job.KindOf(err) != job.Denied || !strings.Contains(err.Error(), "does not accept") {
		t.Errorf("a wrong password: %v", err)
	}
	login("tester", "secret")
	if err := pull(got["REGISTRY_LOGIN"] + "/cem/busybox"); err != nil {
		t.Errorf("the right password: %v", err)
	}
}

// K5: a caller that cannot wait hears how far the pull is, and the pull goes on.
func TestPullGoesOn(t *testing.T) {
	registry := service(t, "registry")["REGISTRY"]
	name := registry + "/cem/busybox:latest"
	b := open(t, func(c *Config) { c.Image, c.Pull, c.Shell = name, "missing", "sh" })
	forgetImage(t, b, name)
	cmd, err := b.Resolve(t.Context(), script("echo hi"))
	if err != nil {
		t.Fatal(err)
	}
	var heard []job.Progress
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	b.pulls.mu.Lock() // a pull of our own making, that takes its time
	p := &pull{done: make(chan struct{}), layers: map[string][2]int64{"a": {1e6, 4e6}}}
	b.pulls.running[name] = p
	b.pulls.mu.Unlock()
	_, err = b.Start(ctx, cmd, backends.IO{Progress: func(p job.Progress) { heard = append(heard, p) }})
	if job.KindOf(err) != job.Timeout || !strings.Contains(err.Error(), "1.0 of 4.0 MB") || !strings.Contains(hint(err), "call again") {
		t.Errorf("%v (%s)", err, hint(err))
	}
	if len(heard) == 0 || heard[0].Done != 1e6 || heard[0].Total != 4e6 {
		t.Errorf("progress %+v", heard)
	}
	go b.pulls.fetch(name, p)
	if got := run(t, b, script("echo hi")); got.stdout != "hi\n" {
		t.Errorf("%+v", got)
	}
}

func forgetImage(t *testing.T, b *Backend, name string) {
	t.Helper()
	api, err := b.engine()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = api.ImageRemove(t.Context(), name, dockerimage.RemoveOptions{Force: true}) // most are not there
}

func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestRegistryOf(t *testing.T) {
	for name, want := range map[string]string{
		"debian": "docker.io", "a/b": "docker.io", "localhost/a": "localhost", "h:1/a/b:2": "h:1", "ghcr.io/a": "ghcr.io", "debian:12": "docker.io",
	} {
		if got := registryOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
