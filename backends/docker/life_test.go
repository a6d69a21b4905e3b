package docker

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/docker/docker/api/types/container"
	"github.com/rs/zerolog"
)

// TestMain lets the test binary be a server that can be killed.
func TestMain(m *testing.M) {
	if host := os.Getenv("CEM_TEST_SERVER"); host != "" {
		serve(host)
		return
	}
	os.Exit(m.Run())
}

// serve starts three commands, says so, and waits to be killed.
func serve(host string) {
	c := New()
	c.Image, c.Host, c.Pull = "cem-test/debian", host, "never"
	b, err := c.Open(context.Background(), backends.Env{Instance: "i_child", Log: zerolog.Nop()})
	if err != nil {
		panic(err)
	}
	for _, cmd := range []job.Command{
		{Script: "trap '' HUP; sleep 300", Stdin: job.StdinPipe}, {Script: "sleep 300", TTY: &job.Size{Cols: 80, Rows: 24}}, {Script: "sleep 300"},
	} {
		cmd, err := b.Resolve(context.Background(), cmd)
		if err != nil {
			panic(err)
		}
		if _, err := b.Start(context.Background(), cmd, backends.IO{}); err != nil {
			panic(err)
		}
	}
	fmt.Println("ready")
	select {}
}

// K3 and D4: what a killed server leaves behind ends by itself or is removed by the next one, and only that.
func TestKilledServer(t *testing.T) {
	host := service(t, "docker")["DOCKER_HOST"]
	neighbour := open(t, nil)
	p, out, _ := begin(t, neighbour, script("sleep 4; echo alive"))

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "CEM_TEST_SERVER="+host)
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
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	// The plain command is ended by its watcher, and what waited in the pool by the end of its input.
	eventually(t, "idle containers and the plain command end by themselves", 20*time.Second, func() bool { return len(now(t, "i_child")) <= 2 })

	next := open(t, nil)
	if got := run(t, next, script("echo next")); got.stdout != "next\n" {
		t.Errorf("%+v", got)
	}
	if names := left(t, "i_child"); len(names) > 0 {
		t.Errorf("the next server left %v", names)
	}
	if exit := wait(t, p); exit.Code != 0 || out.String() != "alive\n" {
		t.Errorf("the neighbour's command was touched: %+v %q", exit, out.String())
	}
}

// TestNothingIsLeft ends many commands in every way there is. CEM_MANY raises the number.
func TestNothingIsLeft(t *testing.T) {
	many := 52
	if n, err := strconv.Atoi(os.Getenv("CEM_MANY")); err == nil {
		many = n
	}
	b := open(t, func(c *Config) { c.Pool = 4 })
	var next atomic.Int64
	var all sync.WaitGroup
	for range 4 {
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
	eventually(t, "only the pool is left", 30*time.Second, func() bool {
		for _, name := range now(t, instance(t)) {
			if !strings.HasPrefix(name, rolePool) {
				return false
			}
		}
		return true
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	if names := left(t, instance(t)); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// end starts one command and brings it to its end: by itself, killed, by the ladder, or with its start called off.
func end(t *testing.T, b *Backend, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := job.Command{Script: "echo partial; sleep 300"}
	switch n % 4 {
	case 0:
		cmd.Script = "echo partial"
	case 1:
		cmd.Stdin = job.StdinPipe
	case 3:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(n*5)*time.Millisecond)
		defer cancel()
	}
	cmd, err := b.Resolve(ctx, cmd)
	if err != nil {
		return // called off
	}
	var out bytes.Buffer
	p, err := b.Start(ctx, cmd, backends.IO{Stdout: &out})
	if err != nil {
		if n%4 != 3 {
			t.Error(err)
		}
		return
	}
	if n%4 != 0 {
		if n%8 == 2 {
			_ = p.Signal(context.Background(), job.Interrupt)
		}
		limited, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Kill(limited); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
}

func instance(t testing.TB) string { return "i_" + strings.ToLower(t.Name()) }

// now names the containers of an instance at this moment.
func now(t testing.TB, instance string) []string {
	t.Helper()
	api, err := connect(service(t, "docker")["DOCKER_HOST"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = api.Close() }()
	list, err := api.ContainerList(context.Background(), container.ListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range list {
		if o, _ := parseOwner(c.Labels[labelOwner]); o.Instance == instance {
			names = append(names, c.Labels[labelRole]+" "+strings.Join(c.Names, " "))
		}
	}
	return names
}

// K4: no engine, and an engine that one may not use.
func TestNoEngine(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "no.sock")
	c := New()
	c.Image, c.Host = "x", "unix://"+socket
	b, err := c.Open(t.Context(), backends.Env{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Resolve(t.Context(), script("true"))
	if job.KindOf(err) != job.Unavailable || !strings.Contains(err.Error(), socket) || hint(err) == "" {
		t.Errorf("%v (%s)", err, hint(err))
	}
	checks := b.(backends.Checker).Check(t.Context())
	if len(checks) != 1 || checks[0].Level != job.Failed || checks[0].Fix == "" {
		t.Errorf("%+v", checks)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Errorf("Close without an engine: %v", err)
	}
}

// TestStalledEngine has the engine hang in the middle of a command and before one. Each answer comes when its time is up,
// and when the engine is back so are we.
func TestStalledEngine(t *testing.T) {
	proxy := newProxy(t, service(t, "docker")["DOCKER_HOST"])
	stall(t, proxy.host(), proxy.freeze, proxy.thaw)
}

// TestStoppedEngine does the same to the real process; it disturbs whoever else uses that engine.
func TestStoppedEngine(t *testing.T) {
	if os.Getenv("CEM_STOP_ENGINE") == "" {
		t.Skip("set CEM_STOP_ENGINE=1 to have the engine's process stopped for some seconds")
	}
	got := service(t, "docker")
	pid, err := strconv.Atoi(got["DOCKER_PID"])
	if err != nil {
		t.Fatal(err)
	}
	signal := func(stop bool) func() {
		return func() {
			if err := stopOrGo(pid, stop); err != nil {
				t.Error(err)
			}
		}
	}
	stall(t, got["DOCKER_HOST"], signal(true), signal(false))
}

func stall(t *testing.T, host string, freeze, thaw func()) {
	b := open(t, func(c *Config) { c.Host = host })
	t.Cleanup(thaw)
	run(t, b, script("true"))
	p, out, _ := begin(t, b, script("echo partial; sleep 300"))
	eventually(t, "output", 20*time.Second, func() bool { return p.(*process).outer.began.Load() })
	time.Sleep(200 * time.Millisecond)
	eventually(t, "a full pool", 30*time.Second, func() bool { b.pool.mu.Lock(); defer b.pool.mu.Unlock(); return len(b.pool.idle) == 2 })
	freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := p.Kill(ctx); err == nil {
		t.Error("a kill that nobody confirmed gives no error")
	}
	if _, err := p.Wait(); job.KindOf(err) != job.Lost {
		t.Errorf("Wait: %v, want kind lost", err)
	}
	for _, image := range []string{"warm", "cold"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		cmd := script("echo hi")
		cmd.Image, cmd.Shell = "cem-test/debian", "bash"
		if image == "cold" {
			b.pool.empty()
		}
		_, err := b.Start(ctx, cmd, backends.IO{Stdout: fatal{t}})
		if kind := job.KindOf(err); kind != job.Lost && kind != job.Timeout || !strings.Contains(err.Error(), "did not answer in time") {
			t.Errorf("%s: %v", image, err)
		}
		cancel()
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("the answers took %v, with 300 ms each", took)
	}
	thaw()
	if !strings.HasPrefix(out.String(), "partial") {
		t.Errorf("what was printed before is lost: %q", out.String())
	}
	if got := run(t, b, script("echo back")); got.stdout != "back\n" {
		t.Errorf("after the stall: %+v", got)
	}
}

func TestCheck(t *testing.T) {
	b := open(t, func(c *Config) { c.Images = []string{"cem-test/debian", "cem-test/distroless", "cem-test/none"} })
	var levels []string
	for _, c := range b.Check(t.Context()) {
		levels = append(levels, fmt.Sprint(c.Name, " ", c.Level))
		if c.Level != job.OK && c.Fix == "" {
			t.Errorf("%+v has no fix", c)
		}
	}
	want := "docker engine 0, docker limits 0, docker image cem-test/debian 0, docker image cem-test/distroless 1, docker image cem-test/none 2"
	if got := strings.Join(levels, ", "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestPool: it is filled after the first use, hands its containers out once, and empties itself.
func TestPool(t *testing.T) {
	b := open(t, nil)
	b.pool.idleAfter = 3 * time.Second
	count := func() int { b.pool.mu.Lock(); defer b.pool.mu.Unlock(); return len(b.pool.idle) }
	if names := now(t, instance(t)); len(names) > 0 {
		t.Errorf("before the first use there is %v", names)
	}
	run(t, b, script("true"))
	eventually(t, "a full pool", 30*time.Second, func() bool { return count() == 2 })
	b.pool.mu.Lock()
	first := b.pool.idle[0].id
	b.pool.mu.Unlock()
	p, out, _ := begin(t, b, script("hostname; touch /tmp/used"))
	wait(t, p)
	if p.(*process).id != first || !strings.HasPrefix(first, strings.TrimSpace(out.String())) {
		t.Errorf("the command did not run in the waiting container")
	}
	if got := run(t, b, script("ls /tmp")); got.stdout != "" {
		t.Errorf("a container was used twice: %q", got.stdout)
	}
	eventually(t, "an empty pool", 30*time.Second, func() bool { return count() == 0 && len(now(t, instance(t))) == 0 })
}

// A container that died while it waited is no reason to fail.
func TestPoolDies(t *testing.T) {
	b := open(t, nil)
	run(t, b, script("true"))
	eventually(t, "a full pool", 30*time.Second, func() bool { b.pool.mu.Lock(); defer b.pool.mu.Unlock(); return len(b.pool.idle) == 2 })
	b.pool.mu.Lock()
	for _, w := range b.pool.idle {
		if err := b.removeNow(t.Context(), w.id); err != nil {
			t.Error(err)
		}
	}
	b.pool.mu.Unlock()
	if got := run(t, b, script("echo hi")); got.stdout != "hi\n" {
		t.Errorf("%+v", got)
	}
}
