package local

import (
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"golang.org/x/sys/unix"
)

// floor is the least that Go can do for two streams and an exit code: one fork, poll, read, wait.
func floor(t testing.TB, path string, argv, env []string, null uintptr) {
	or, ow, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	er, ew, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: "/", Env: env, Files: []uintptr{null, uintptr(ow), uintptr(ew)}, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(ow)
	syscall.Close(ew)
	fds := []unix.PollFd{{Fd: int32(or), Events: unix.POLLIN}, {Fd: int32(er), Events: unix.POLLIN}}
	var buf [4096]byte
	for open := 2; open > 0; {
		if _, err := unix.Poll(fds, -1); err != nil {
			continue
		}
		for i := range fds {
			if fds[i].Fd >= 0 && fds[i].Revents != 0 {
				if n, _ := syscall.Read(int(fds[i].Fd), buf[:]); n <= 0 {
					syscall.Close(int(fds[i].Fd))
					fds[i].Fd = -1
					open--
				}
			}
		}
	}
	syscall.Wait4(pid, nil, 0, nil)
}

// BenchmarkEcho alternates the floor and ours; what counts is ratio, the median over pairs of one round each.
func BenchmarkEcho(bench *testing.B) {
	for _, mode := range []string{"cgroup", "tag"} {
		bench.Run(mode, func(bench *testing.B) {
			b := openMode(bench, mode)
			defer b.Close(bench.Context())
			cmd, err := b.Resolve(bench.Context(), job.Command{Script: "echo hi", Shell: "bash", Dir: "/"})
			if err != nil {
				bench.Fatal(err)
			}
			env := b.environ(cmd, nil)
			ours := func() {
				p, err := b.Start(bench.Context(), cmd, backends.IO{Stdout: io.Discard, Stderr: io.Discard})
				if err != nil {
					bench.Fatal(err)
				}
				p.Wait()
			}
			ours()
			var ratios []float64
			for i := 0; bench.Loop(); i++ {
				var times [2]time.Duration
				for turn := range 2 {
					which := (i + turn) % 2
					start := time.Now()
					if which == 0 {
						floor(bench, b.shells["bash"], b.arguments(cmd), env, b.null.Fd())
					} else {
						ours()
					}
					times[which] = time.Since(start)
				}
				ratios = append(ratios, float64(times[1])/float64(times[0]))
			}
			slices.Sort(ratios)
			bench.ReportMetric(ratios[len(ratios)/2], "ratio")
		})
	}
}

// BenchmarkOutput is the rate at which 256 MB come through.
func BenchmarkOutput(bench *testing.B) {
	b := open(bench)
	defer b.Close(bench.Context())
	const size = 256 << 20
	bench.SetBytes(size)
	for bench.Loop() {
		var n counter
		p, err := b.Start(bench.Context(), job.Command{Script: "exec head -c 268435456 /dev/zero", Shell: "bash", Dir: os.TempDir()}, backends.IO{Stdout: &n, Stderr: io.Discard})
		if err != nil {
			bench.Fatal(err)
		}
		if p.Wait(); n != size {
			bench.Fatalf("%d bytes", n)
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
