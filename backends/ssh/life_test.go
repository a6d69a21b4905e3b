package ssh

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// TestMain lets the test binary be a server that can be killed.
func TestMain(m *testing.M) {
	if target := os.Getenv("CEM_TEST_SERVER"); target != "" {
		serve(target)
		return
	}
	os.Exit(m.Run())
}

// serve starts ten commands of every kind, says so, and waits to be killed.
func serve(target string) {
	c := New()
	c.Target, c.Key, c.SSHConfig, c.KnownHosts = target, os.Getenv("CEM_TEST_KEY"), "", "no"
	b, err := c.Open(context.Background(), backends.Env{Log: zerolog.Nop()})
	if err != nil {
		panic(err)
	}
	for i := range 10 {
		cmd := job.Command{Script: "trap '' HUP TERM INT; setsid sleep 300 & sleep 300", Env: map[string]string{"CEM_OWNED": "yes"}}
		switch i % 3 {
		case 1:
			cmd.Stdin = job.StdinPipe
		case 2:
			cmd.TTY = &job.Size{Cols: 80, Rows: 24}
		}
		if cmd, err = b.Resolve(context.Background(), cmd); err != nil {
			panic(err)
		}
		if _, err := b.Start(context.Background(), cmd, backends.IO{}); err != nil {
			panic(err)
		}
	}
	fmt.Println("ready")
	select {}
}

// TestKilledServer: the far side notices that we are gone, and ends all that was started from here.
func TestKilledServer(t *testing.T) {
	s := sshd(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "CEM_TEST_SERVER=cem-bash@"+s["SSH_HOST"]+":"+s["SSH_PORT"], "CEM_TEST_KEY="+s["KEY"])
	child.Stderr = os.Stderr
	pipe, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(pipe).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the server said %q, %v", line, err)
	}
	eventually(t, "all ten run", 10*time.Second, func() bool { return len(now("CEM_OWNED=yes")) >= 30 })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	_ = child.Wait()
	eventually(t, "all are gone", 10*time.Second, func() bool { return len(now("CEM_OWNED=yes")) == 0 })
	t.Logf("all were gone after %v", time.Since(killed))
}

// tree is a process with children of every kind that escapes a kill of the group.
const tree = `trap '' INT TERM HUP
(trap '' INT TERM HUP; sleep 301) &
nohup sleep 302 >/dev/null 2>&1 &
setsid sleep 303 &
(setsid sh -c 'sleep 304 & exit' &)
env -i sleep 305 &
echo partial; sleep 300; sleep 300`

func treeLeft() []string {
	list := now("CEM_TREE=yes")
	out, _ := exec.Command("ps", "-eo", "pid,args").Output()
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "sleep" && f[2] == "305" {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

// S5 and the kill matrix: whatever the command started, its kill ends, whether as root or not, in a terminal or not, and
// so does the end of the connection.
func TestTreeIsKilled(t *testing.T) {
	for _, user := range []string{"cem-bash", "cem-ash", "root"} {
		for _, mode := range []string{"kill", "kill in a terminal", "kill with stdin", "close", "connection"} {
			t.Run(user+"/"+mode, func(t *testing.T) {
				b := open(t, user, nil)
				cmd := job.Command{Script: tree, Env: map[string]string{"CEM_TREE": "yes"}}
				switch mode {
				case "kill in a terminal":
					cmd.TTY = &job.Size{Cols: 80, Rows: 24}
				case "kill with stdin":
					cmd.Stdin = job.StdinPipe
				}
				var out safeBuffer
				p, err := try(t, b, cmd, backends.IO{Stdout: &out, Stderr: &out})
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, "the tree stands", 10*time.Second, func() bool { return strings.Contains(out.String(), "partial") && len(treeLeft()) >= 6 })
				began := time.Now()
				switch mode {
				case "close":
					_ = b.Close(t.Context())
				case "connection":
					p.(*process).conn.lose()
				default:
					if err := p.Kill(t.Context()); err != nil {
						t.Error(err)
					}
					if exit := wait(t, p); exit.Code != 137 || exit.Cause != job.Killed || len(exit.Survivors) > 0 {
						t.Errorf("%+v", exit)
					}
				}
				var list []string
				eventually(t, "all are gone", 10*time.Second, func() bool { list = treeLeft(); return len(list) == 0 })
				t.Logf("gone after %v", time.Since(began))
			})
		}
	}
}

// A signal reaches what left the group, too; a leader that ends on it may leave children, which the kill then finds.
func TestSignalAndKillAfterEnd(t *testing.T) {
	b := open(t, "cem-bash", nil)
	p, out, _ := begin(t, b, job.Command{Script: "(trap '' INT; sleep 300) & trap 'exit 9' INT; echo ready; while :; do sleep 0.02; done", Env: map[string]string{"CEM_TREE": "yes"}})
	eventually(t, "it runs", 10*time.Second, func() bool { return len(now("CEM_TREE=yes")) >= 3 })
	time.Sleep(100 * time.Millisecond)
	if err := p.Signal(t.Context(), job.Interrupt); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Code != 9 || !strings.HasPrefix(out.String(), "ready") {
		t.Errorf("%+v %q", exit, out)
	}
	if len(now("CEM_TREE=yes")) == 0 {
		t.Error("the child that ignores the signal is gone")
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if list := left("CEM_TREE=yes"); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}

// A process that we may not end is named.
func TestSurvivors(t *testing.T) {
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("no setpriv")
	}
	b := open(t, "root", nil)
	p, out, _ := begin(t, b, job.Command{Script: "echo ready; exec sleep 300"})
	eventually(t, "it runs", 10*time.Second, func() bool { return p.(*process).pid.Load() > 0 })
	_ = out
	q := open(t, "cem-bash", nil)
	if _, err := q.pool.facts(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Another account's control shell stands for one that lacks the right.
	left, err := q.pool.conns[0].control.ask(t.Context(), "k", p.(*process).dialog.id, p.(*process).pid.Load(), "")
	if err != nil || !slices.Contains(left, int(p.(*process).pid.Load())) {
		t.Errorf("survivors %v, %v; want %d", left, err, p.(*process).pid.Load())
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeft ends many commands in every way there is. CEM_MANY raises the number.
func TestNothingIsLeft(t *testing.T) {
	many := 60
	if n, err := strconv.Atoi(os.Getenv("CEM_MANY")); err == nil {
		many = n
	}
	b := open(t, "cem-bash", nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for {
				n := int(next.Add(1))
				if n > many {
					return
				}
				end(t, b, n)
			}
		})
	}
	all.Wait()
	if list := left("CEM_MANY_OF=yes"); len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
	eventually(t, "the channels are closed", 20*time.Second, func() bool {
		b.pool.mu.Lock()
		defer b.pool.mu.Unlock()
		for _, c := range b.pool.conns {
			want := 1 // the control shell
			if c.spare != nil {
				want++
			}
			if c.used != want || c.jobs != 0 {
				return false
			}
		}
		return true
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.live) > 0 {
		t.Errorf("%d commands are still known as running", len(b.live))
	}
}

// end starts one command and brings it to its end: by itself, killed, by the ladder, or with its start called off.
func end(t *testing.T, b *Backend, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := job.Command{Script: "setsid sleep 300 & echo partial; sleep 300", Env: map[string]string{"CEM_MANY_OF": "yes"}}
	switch n % 5 {
	case 0:
		cmd.Script = "echo partial"
	case 1:
		cmd.Stdin = job.StdinPipe
	case 2:
		cmd.TTY = &job.Size{Cols: 80, Rows: 24}
	}
	var out safeBuffer
	cmd, err := b.Resolve(ctx, cmd)
	if err != nil {
		t.Error(err)
		return
	}
	starting := ctx
	if n%5 == 4 {
		var off context.CancelFunc
		starting, off = context.WithTimeout(ctx, time.Duration(n%7)*time.Millisecond)
		defer off()
	}
	p, err := b.Start(starting, cmd, backends.IO{Stdout: &out, Stderr: &out})
	if err != nil {
		if n%5 != 4 {
			t.Errorf("%d: %v", n, err)
		}
		return
	}
	if n%5 == 3 {
		_ = p.Signal(ctx, job.Terminate)
	}
	if n%5 != 0 {
		if n%2 == 0 {
			for began := time.Now(); out.String() == "" && time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
			}
		}
		if err := p.Kill(ctx); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	if exit, err := p.Wait(); err != nil || len(exit.Survivors) > 0 || n%5 == 0 && (exit.Code != 0 || out.String() != "partial\n") {
		t.Errorf("%d: %+v %v %q", n, exit, err, out.String())
	}
}

// eventually waits for something to come true.
func eventually(t testing.TB, what string, within time.Duration, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
