package ssh

import (
	"context"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// The benchmarks run pairs in one loop, ours and what it is measured against, and report the ratio of their medians.

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

// client is the ssh program on the tests' server, with further options.
func client(tb testing.TB, options ...string) []string {
	s := sshd(tb)
	return slices.Concat([]string{"ssh", "-F", "none", "-o", "UserKnownHostsFile=" + s["KNOWN_HOSTS"], "-o", "IdentitiesOnly=yes", "-i", s["KEY"], "-p", s["SSH_PORT"]},
		options, []string{"cem-bash@" + s["SSH_HOST"]})
}

func says(b *testing.B, argv ...string) {
	if out, err := exec.Command(argv[0], argv[1:]...).Output(); err != nil || string(out) != "hi\n" {
		b.Fatalf("%v: %v %q", argv, err, out)
	}
}

func hi(b *testing.B, backend *Backend) {
	var out safeBuffer
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

// ready waits until a shell waits for the next command.
func ready(b *testing.B, backend *Backend) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		backend.pool.mu.Lock()
		var spare *process
		for _, c := range backend.pool.conns {
			if c.spare != nil {
				spare = c.spare
			}
		}
		backend.pool.mu.Unlock()
		if spare != nil {
			<-spare.ready
			return
		}
		if time.Since(began) > time.Minute {
			b.Fatal("no shell waits")
		}
	}
}

// unready takes away the shell that waits.
func unready(b *testing.B, backend *Backend) {
	ready(b, backend)
	if p := backend.pool.takeSpare(context.Background(), false); p != nil {
		p.discard()
		<-p.ch.ended
	}
}

// BenchmarkS1 is a command over a connection that is there, against what else one can do.
func BenchmarkS1(b *testing.B) {
	backend := open(b, "cem-bash", nil)
	master := filepath.Join(b.TempDir(), "master")
	shared := client(b, "-S", master)
	up := exec.Command("ssh", append([]string{"-M", "-N", "-f"}, shared[1:]...)...)
	if err := up.Run(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = exec.Command("ssh", append([]string{"-O", "exit"}, shared[1:]...)...).Run() }()
	hi(b, backend)
	var ours, fresh, reused, bash []time.Duration
	for b.Loop() {
		ready(b, backend)
		ours = append(ours, once(func() { hi(b, backend) }))
		bash = append(bash, once(func() { says(b, "bash", "--noprofile", "--norc", "-c", "echo hi") }))
		reused = append(reused, once(func() { says(b, append(shared, "echo hi")...) }))
		fresh = append(fresh, once(func() { says(b, append(client(b), "echo hi")...) }))
	}
	b.ReportMetric(median(ours)/1e6, "ms")
	b.ReportMetric(median(ours)/median(fresh), "of-ssh")
	b.ReportMetric(median(ours)/median(reused), "of-controlmaster")
	b.ReportMetric(median(ours)/median(bash), "of-host-bash")
	b.ReportMetric(tenth(ours)/1e6, "p10-ms")
}

// BenchmarkS2 is a shell that waits against a new one, and both in round trips over a line of 40 ms.
func BenchmarkS2(b *testing.B) {
	const trip = 40 * time.Millisecond
	near := open(b, "cem-bash", nil)
	line := delayed(b, sshd(b)["SSH_HOST"]+":"+sshd(b)["SSH_PORT"], trip/2)
	far := open(b, "cem-bash", func(c *Config) { c.Target = "cem-bash@" + line })
	hi(b, near)
	hi(b, far)
	var waiting, plain, farWaiting, farPlain []time.Duration
	for b.Loop() {
		ready(b, near)
		waiting = append(waiting, once(func() { hi(b, near) }))
		unready(b, near)
		plain = append(plain, once(func() { hi(b, near) }))
		ready(b, far)
		farWaiting = append(farWaiting, once(func() { hi(b, far) }))
		unready(b, far)
		farPlain = append(farPlain, once(func() { hi(b, far) }))
	}
	b.ReportMetric(median(waiting)/median(plain), "of-plain")
	b.ReportMetric(tenth(waiting)/tenth(plain), "p10-of-plain")
	b.ReportMetric(median(farWaiting)/float64(trip), "trips")
	b.ReportMetric(median(farPlain)/float64(trip), "plain-trips")
	b.ReportMetric(median(waiting)/1e6, "ms")
	b.ReportMetric(median(plain)/1e6, "plain-ms")
}

// counter counts and drops.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// BenchmarkS3 is the rate of output, against the ssh program with the same cipher.
func BenchmarkS3(b *testing.B) {
	const size = 256 << 20
	backend := open(b, "cem-bash", nil)
	hi(b, backend)
	var ours, theirs []time.Duration
	for b.Loop() {
		ours = append(ours, once(func() {
			var got counter
			p, err := try(b, backend, script("head -c 268435456 /dev/zero"), backends.IO{Stdout: &got})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := p.Wait(); err != nil || exit.Code != 0 || got.n != size {
				b.Fatal(exit, err, got.n)
			}
		}))
		theirs = append(theirs, once(func() {
			argv := append(client(b, "-c", "aes128-gcm@openssh.com"), "head -c 268435456 /dev/zero")
			cmd := exec.Command(argv[0], argv[1:]...)
			var got counter
			cmd.Stdout = &got
			if err := cmd.Run(); err != nil || got.n != size {
				b.Fatal(err, got.n)
			}
		}))
	}
	b.ReportMetric(size/(median(ours)/1e9)/1e6, "MB/s")
	b.ReportMetric(median(theirs)/median(ours), "of-ssh-rate")
}

// BenchmarkS4 is 64 commands at once with a server that takes ten sessions a connection, against eight connections that
// share them evenly.
func BenchmarkS4(b *testing.B) {
	ours := open(b, "cem-bash", nil)
	var eight [8]*Backend
	for i := range eight {
		eight[i] = open(b, "cem-bash", nil)
		hi(b, eight[i])
	}
	all := func(choose func(int) *Backend) {
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() { hi(b, choose(i)) })
		}
		wg.Wait()
	}
	all(func(int) *Backend { return ours })
	var shared, spread []time.Duration
	for b.Loop() {
		shared = append(shared, once(func() { all(func(int) *Backend { return ours }) }))
		time.Sleep(50 * time.Millisecond)
		spread = append(spread, once(func() { all(func(i int) *Backend { return eight[i%8] }) }))
		time.Sleep(50 * time.Millisecond)
	}
	ours.pool.mu.Lock()
	b.ReportMetric(float64(len(ours.pool.conns)), "connections")
	ours.pool.mu.Unlock()
	b.ReportMetric(median(shared)/1e6, "ms")
	b.ReportMetric(median(shared)/median(spread), "of-eight-connections")
}

// BenchmarkS5 counts what is left of a tree half a second after its kill, and after the loss of its connection.
func BenchmarkS5(b *testing.B) {
	killed, dropped := 0, 0
	for b.Loop() {
		for _, drop := range []bool{false, true} {
			backend := open(b, "cem-bash", nil)
			var out safeBuffer
			p, err := try(b, backend, job.Command{Script: tree + "\n", Env: map[string]string{"CEM_TREE": "yes"}}, backends.IO{Stdout: &out})
			if err != nil {
				b.Fatal(err)
			}
			eventually(b, "the tree stands", 10*time.Second, func() bool { return strings.Contains(out.String(), "partial") && len(treeLeft()) >= 6 })
			if drop {
				p.(*process).conn.lose()
			} else if err := p.Kill(context.Background()); err != nil {
				b.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond)
			if drop {
				dropped = max(dropped, len(treeLeft()))
			} else {
				killed = max(killed, len(treeLeft()))
			}
			_ = backend.Close(context.Background())
		}
	}
	b.ReportMetric(float64(killed), "left-after-kill")
	b.ReportMetric(float64(dropped), "left-after-drop")
}

// delayed listens and passes everything on to address, each way so much later.
func delayed(tb testing.TB, address string, delay time.Duration) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", address)
			if err != nil {
				_ = near.Close()
				continue
			}
			go later(near, far, delay)
			go later(far, near, delay)
		}
	}()
	return l.Addr().String()
}

func later(to io.WriteCloser, from io.Reader, delay time.Duration) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 4096)
	go func() {
		defer func() { _ = to.Close() }()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				return
			}
		}
	}()
	defer close(pieces)
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		if n > 0 {
			pieces <- piece{time.Now().Add(delay), buf[:n]}
		}
		if err != nil {
			return
		}
	}
}
