package ssh

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// TestCutLink pulls the cable: the command is Lost, with what it had printed, and others go on.
func TestCutLink(t *testing.T) {
	s := sshd(t)
	if s["LINK_HOST"] == "" {
		skip(t, "this machine lets us make no network namespace")
	}
	port := strings.Fields(s["LINK_PORTS"])[0]
	interval := time.Second
	b := open(t, "cem-bash", func(c *Config) { c.Target, c.Keepalive = "cem-bash@"+s["LINK_HOST"]+":"+port, &interval })
	other := open(t, "cem-bash", func(c *Config) { c.Keepalive = &interval })
	p, out, _ := begin(t, b, job.Command{Script: "echo printed; sleep 300"})
	q, said, _ := begin(t, other, job.Command{Script: "sleep 6; echo alive"})
	eventually(t, "it has printed", 10*time.Second, func() bool { return p.(*process).stdout.silence(time.Time{}) < time.Hour })
	time.Sleep(100 * time.Millisecond)
	cable(t, "cut", port)
	healed := false
	defer func() {
		if !healed {
			cable(t, "heal", port)
		}
	}()
	began := time.Now()
	exit, err := waitErr(t, p)
	if job.KindOf(err) != job.Lost || !strings.Contains(err.Error(), "may still be running") {
		t.Errorf("%+v %v, want it lost", exit, err)
	}
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("it took %v to notice", took)
	} else {
		t.Logf("noticed after %v", took)
	}
	if out.String() != "printed\n" {
		t.Errorf("what was printed is gone: %q", out)
	}
	if exit := wait(t, q); exit.Code != 0 || said.String() != "alive\n" {
		t.Errorf("the other connection suffered: %+v %q", exit, said)
	}
	cable(t, "heal", port)
	healed = true
	if got := run(t, b, script("echo again")); got.stdout != "again\n" {
		t.Errorf("after the link is back: %+v", got)
	}
}

func cable(t *testing.T, verb, port string) {
	t.Helper()
	if out, err := exec.Command("../../.ci/services/sshd", verb, port).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", verb, err, out)
	}
}

// A connection that was closed while nothing ran on it is made again, unseen.
func TestReconnects(t *testing.T) {
	b := open(t, "cem-bash", nil)
	for range 3 {
		if got := run(t, b, script("echo hi")); got.stdout != "hi\n" || got.exit.Code != 0 {
			t.Fatalf("%+v", got)
		}
		b.pool.mu.Lock()
		c := b.pool.conns[0]
		b.pool.mu.Unlock()
		_ = c.client.Conn.Close()
	}
}

// A server that dies in the middle: the command is lost, never a success.
func TestServerDies(t *testing.T) {
	b := open(t, "cem-bash", nil)
	p, out, _ := begin(t, b, job.Command{Script: "echo printed; sleep 0.2; kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $$)); sleep 300"})
	exit, err := waitErr(t, p)
	if job.KindOf(err) != job.Lost || out.String() != "printed\n" {
		t.Errorf("%+v %v %q", exit, err, out)
	}
}

// TestSilentServers: something listens, and says nothing, or nothing sensible, or goes away.
func TestSilentServers(t *testing.T) {
	for _, test := range []struct {
		name string
		talk func(net.Conn)
		want string
	}{
		{"silent after accept", func(c net.Conn) { time.Sleep(time.Minute) }, "did not finish the SSH handshake within"},
		{"no banner of SSH", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); _ = c.Close() }, "127.0.0.1:"},
		{"closes at once", func(c net.Conn) { _ = c.Close() }, "closed the connection"},
		{"banner, then silence", func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-Test\r\n")); time.Sleep(time.Minute) }, "did not finish"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go test.talk(c)
				}
			}()
			limit := time.Second
			b := open(t, "cem-bash", func(c *Config) { c.Target, c.ConnectTimeout = "x@"+l.Addr().String(), &limit })
			_, err = b.Resolve(t.Context(), script("true"))
			if job.KindOf(err) != job.Unavailable || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v (%v), want %q", err, job.KindOf(err), test.want)
			}
			hinted(t, err)
		})
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	s := sshd(t)
	free, _ := net.Listen("tcp", "127.0.0.1:0")
	closed := free.Addr().String()
	_ = free.Close()
	for _, test := range []struct {
		name   string
		change func(*Config)
		kind   job.Kind
		want   string
	}{
		{"wrong key", func(c *Config) { c.Key = s["KEY_UNKNOWN"] }, job.Denied, "does not let cem-bash in"},
		{"wrong password", func(c *Config) {
			c.Key, c.Password = "", "wrong"
			c.Target = "cem-bash@127.0.0.1:" + s["PASSWORD_PORT"]
		}, job.Denied, "does not let cem-bash in"},
		{"closed port", func(c *Config) { c.Target = "x@" + closed }, job.Unavailable, "refuses connections"},
		{"unknown name", func(c *Config) { c.Target = "no-such-host.invalid" }, job.NotFound, "no-such-host.invalid"},
		{"csh", func(c *Config) { c.Target = "cem-tcsh@127.0.0.1:" + s["SSH_PORT"] }, job.Unsupported, "csh"},
		{"forced command", func(c *Config) { c.Target = "cem-bash@127.0.0.1:" + s["FORCED_PORT"] }, job.Unsupported, "only this"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := open(t, "cem-bash", test.change)
			_, err := b.Resolve(t.Context(), script("true"))
			if job.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v: %v, want %v with %q", job.KindOf(err), err, test.kind, test.want)
			}
			hinted(t, err)
			t.Log(err)
		})
	}
}

func hinted(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*job.Error](err); !ok || e.Hint == "" {
		t.Errorf("no hint: %v", err)
	}
}

// TestManyAtOnce is bar S4: more commands than a connection takes sessions, and none fails.
func TestManyAtOnce(t *testing.T) {
	for _, port := range []string{"SSH_PORT", "FEW_PORT"} {
		t.Run(port, func(t *testing.T) {
			b := open(t, "cem-bash", func(c *Config) { c.Target = "cem-bash@127.0.0.1:" + sshd(t)[port] })
			results := make(chan error, 64)
			for range cap(results) {
				go func() {
					var out safeBuffer
					p, err := try(t, b, script("sleep 0.05; echo hi"), backends.IO{Stdout: &out})
					if err == nil {
						var exit job.Exit
						if exit, err = p.Wait(); err == nil && (exit.Code != 0 || out.String() != "hi\n") {
							err = errors.New(out.String())
						}
					}
					results <- err
				}()
			}
			for range cap(results) {
				if err := <-results; err != nil {
					t.Error(err)
				}
			}
			b.pool.mu.Lock()
			t.Logf("%d connections", len(b.pool.conns))
			b.pool.mu.Unlock()
		})
	}
}

// A connection that is not kept goes with its last command.
func TestNotPersistent(t *testing.T) {
	b := open(t, "cem-bash", func(c *Config) { c.Persistent = false })
	for range 2 {
		if got := run(t, b, script("echo hi")); got.stdout != "hi\n" {
			t.Errorf("%+v", got)
		}
		eventually(t, "the connection is closed", 10*time.Second, func() bool {
			b.pool.mu.Lock()
			defer b.pool.mu.Unlock()
			return len(b.pool.conns) == 0
		})
	}
}

func waitErr(t *testing.T, p backends.Process) (job.Exit, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	type end struct {
		exit job.Exit
		err  error
	}
	ends := make(chan end, 1)
	go func() {
		exit, err := p.Wait()
		ends <- end{exit, err}
	}()
	select {
	case e := <-ends:
		return e.exit, e.err
	case <-ctx.Done():
		t.Fatal("the command did not end within a minute")
		return job.Exit{}, nil
	}
}
