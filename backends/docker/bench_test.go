package docker

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// The benchmarks run pairs in one loop, ours and what it is measured against, and report the ratio of their medians.

// once times one call of f.
func once(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func median(list []time.Duration) float64 { return at(list, len(list)/2) }

// tenth is the time that nine in ten take longer than: what the machine can do when nothing else runs.
func tenth(list []time.Duration) float64 { return at(list, len(list)/10) }

func at(list []time.Duration, i int) float64 {
	slices.Sort(list)
	return float64(list[i])
}

func ready(b *testing.B, backend *Backend) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		backend.pool.mu.Lock()
		full := len(backend.pool.idle) == backend.pool.size && backend.pool.fillers == 0
		backend.pool.mu.Unlock()
		if full {
			time.Sleep(150 * time.Millisecond) // the login shell in it is ready, too
			return
		}
		if time.Since(began) > time.Minute {
			b.Fatal("the pool is not filled")
		}
	}
}

func hi(b *testing.B, backend *Backend) {
	var out bytes.Buffer
	cmd, err := backend.Resolve(context.Background(), script("echo hi"))
	if err != nil {
		b.Fatal(err)
	}
	p, err := backend.Start(context.Background(), cmd, backends.IO{Stdout: &out})
	if err != nil {
		b.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.String() != "hi\n" {
		b.Fatal(exit, err, out.String())
	}
}

func command(b *testing.B, host string, argv ...string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+host)
	if out, err := cmd.Output(); err != nil || string(out) != "hi\n" {
		b.Fatalf("%v: %v %q", argv, err, out)
	}
}

// BenchmarkPoolHit is bar D1: a command in a container that waited for it, against `docker run` and a bash of this host.
func BenchmarkPoolHit(b *testing.B) {
	backend := open(b, nil)
	host := backend.config.Host
	hi(b, backend)
	var ours, docker, bash []time.Duration
	for b.Loop() {
		ready(b, backend)
		ours = append(ours, once(func() { hi(b, backend) }))
		bash = append(bash, once(func() { command(b, host, "bash", "--noprofile", "--norc", "-c", "echo hi") }))
		docker = append(docker, once(func() {
			command(b, host, "docker", "run", "--rm", "-i", "cem-test/debian", "bash", "-c", "echo hi")
		}))
	}
	b.ReportMetric(median(ours)/1e6, "ms")
	b.ReportMetric(median(ours)/median(docker), "of-docker-run")
	b.ReportMetric(median(ours)/median(bash), "of-host-bash")
	b.ReportMetric(tenth(ours)/1e6, "p10-ms")
	b.ReportMetric(tenth(ours)/tenth(bash), "p10-of-host-bash")
}

// BenchmarkPoolMiss is bar D2: a container made for the command.
func BenchmarkPoolMiss(b *testing.B) {
	backend := open(b, func(c *Config) { c.Pool = 0 })
	hi(b, backend)
	var ours, docker []time.Duration
	for b.Loop() {
		ours = append(ours, once(func() { hi(b, backend) }))
		time.Sleep(300 * time.Millisecond) // the removal of the last one is not part of the next
		docker = append(docker, once(func() {
			command(b, backend.config.Host, "docker", "run", "--rm", "-i", "cem-test/debian", "bash", "-c", "echo hi")
		}))
	}
	b.ReportMetric(median(ours)/1e6, "ms")
	b.ReportMetric(median(ours)/median(docker), "of-docker-run")
}

// counter counts and drops.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// BenchmarkOutput is bar D3: output of a container, against one whose log the engine keeps as it does by default.
func BenchmarkOutput(b *testing.B) {
	const size = 64 << 20
	backend := open(b, nil)
	hi(b, backend)
	var ours, kept []time.Duration
	for b.Loop() {
		ready(b, backend)
		ours = append(ours, once(func() {
			var got counter
			p, err := try(b, backend, script("head -c 67108864 /dev/zero"), backends.IO{Stdout: &got})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := p.Wait(); err != nil || exit.Code != 0 || got.n != size {
				b.Fatal(exit, err, got.n)
			}
		}))
		kept = append(kept, once(func() {
			cmd := exec.Command("docker", "run", "--rm", "-i", "cem-test/debian", "head", "-c", "67108864", "/dev/zero")
			cmd.Env = append(os.Environ(), "DOCKER_HOST="+backend.config.Host)
			cmd.Stdout = io.Discard
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}))
	}
	b.ReportMetric(size/(median(ours)/1e9)/1e6, "MB/s")
	b.ReportMetric(median(kept)/median(ours), "times-json-file")
}

// BenchmarkLeft is bar D4: how long after a kill its container is gone.
func BenchmarkLeft(b *testing.B) {
	backend := open(b, func(c *Config) { c.Pool = 1 })
	hi(b, backend)
	var gone []time.Duration
	for b.Loop() {
		ready(b, backend)
		p, err := try(b, backend, job.Command{Script: "sleep 300"}, backends.IO{})
		if err != nil {
			b.Fatal(err)
		}
		id := p.(*process).id
		gone = append(gone, once(func() {
			if err := p.Kill(context.Background()); err != nil {
				b.Fatal(err)
			}
			for {
				if _, err := backend.api.ContainerInspect(context.Background(), id); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}))
	}
	b.ReportMetric(median(gone)/1e6, "ms-until-gone")
}
