package docker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/backends/backendtest"
	"cmd-exec-mcp/runtime/job"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/rs/zerolog"
)

// TestSuite is the suite of all backends, on an image with bash, and without a pool on one with a busybox only.
func TestSuite(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
	}{
		{"debian", func(*Config) {}},
		{"busybox", func(c *Config) { c.Image, c.Shell, c.Pool = "cem-test/busybox", "sh", 0 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := service(t, "docker")["DOCKER_HOST"]
			backendtest.Run(t, func(t *testing.T) backends.Backend {
				c := New()
				c.Image, c.Host, c.Pull = "cem-test/debian", host, "never"
				test.change(c)
				b, err := c.Open(t.Context(), backends.Env{Instance: "i_suite", Log: zerolog.Nop()})
				if err != nil {
					t.Fatal(err)
				}
				if test.name == "busybox" {
					return noTerminal{b}
				}
				return b
			}, backendtest.Options{Left: func() []string { return left(t, "i_suite") }})
		})
	}
}

// noTerminal hides terminals: the suite has a trap and a read in one loop, and busybox ends a read at every trapped signal.
type noTerminal struct{ backends.Backend }

func (n noTerminal) Properties() backends.Properties {
	p := n.Backend.Properties()
	p.TTY = false
	return p
}

func (n noTerminal) Start(ctx context.Context, cmd job.Command, io backends.IO) (backends.Process, error) {
	if cmd.TTY != nil {
		return nil, job.Errorf(job.Unsupported, "hidden for this test")
	}
	return n.Backend.Start(ctx, cmd, io)
}

// left names the containers of an instance, after giving the engine a moment to finish what it is doing.
func left(t testing.TB, instance string) []string {
	t.Helper()
	api, err := connect(service(t, "docker")["DOCKER_HOST"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = api.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range list {
			if o, _ := parseOwner(c.Labels[labelOwner]); o.Instance == instance {
				names = append(names, c.Labels[labelRole]+" "+strings.Join(c.Names, " ")+" "+c.Status)
			}
		}
		if len(names) == 0 || time.Since(began) > 20*time.Second {
			slices.Sort(names)
			return names
		}
	}
}
