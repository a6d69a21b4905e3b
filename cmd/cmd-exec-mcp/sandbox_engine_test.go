package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gate stands between a server and the engine, and can stall or cut all that passes.
type gate struct {
	path    string
	stalled atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
	shut  bool
}

func newGate(t *testing.T) *gate {
	t.Helper()
	to := strings.TrimPrefix(engine(t), "unix://")
	dir, err := os.MkdirTemp("", "cem") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{path: filepath.Join(dir, "s")}
	l, err := net.Listen("unix", g.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); os.RemoveAll(dir) })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			g.serve(client, to)
		}
	}()
	return g
}

func (g *gate) serve(client net.Conn, to string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		client.Close()
		return
	}
	server, err := net.Dial("unix", to)
	if err != nil {
		client.Close()
		return
	}
	g.conns = append(g.conns, client, server)
	pass := func(dst, src net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := src.Read(buf)
			for g.stalled.Load() {
				time.Sleep(10 * time.Millisecond)
			}
			if n > 0 {
				dst.Write(buf[:n])
			}
			if err != nil {
				if err == io.EOF {
					dst.(*net.UnixConn).CloseWrite()
				} else {
					dst.Close()
				}
				return
			}
		}
	}
	go pass(server, client)
	go pass(client, server)
}

// cut breaks all connections; while shut, new ones are refused.
func (g *gate) cut(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

// TestSandboxEngineStalls: the reply comes by its deadline and says so, and the server goes on when the engine is back.
func TestSandboxEngineStalls(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	w := sandbox(t, box("cem-test/debian", `pool=0, host="unix://`+g.path+`"`, ""))
	w.box(t, "echo hi").has(t, "stdout", "hi\n")
	id := w.box(t, "cat", args{"detach": true}).args["session_id"]
	stall := time.AfterFunc(1500*time.Millisecond, func() { g.stalled.Store(true) })
	defer stall.Stop()
	r := w.box(t, "echo part; sleep 100", args{"timeout": 4})
	if r.took > 30*time.Second {
		t.Errorf("the reply came after %v", r.took)
	}
	r.fails(t, "lost", "confirm")
	w.box(t, "echo hi", args{"timeout": 2}).says(t, "hint", "docker info")
	g.stalled.Store(false)
	eventually(t, "the sandbox back", func() bool { return w.box(t, "echo hi").text("stdout") == "hi\n" })
	w.boxAct(t, id, "send", args{"command": "x\n", "wait_for": "x"}).has(t, "stdout", "x\n")
	w.boxAct(t, id, "kill")
	eventually(t, "what was lost is removed", func() bool { return len(w.containers(t)) == 0 })
}

// TestSandboxEngineStops: what ran is lost and says so; while the engine is away so does every call, in one line.
func TestSandboxEngineStops(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	w := sandbox(t, box("cem-test/debian", `pool=1, host="unix://`+g.path+`"`, ""))
	w.box(t, "true")
	cut := time.AfterFunc(1500*time.Millisecond, func() { g.cut(true) })
	defer cut.Stop()
	w.box(t, "echo part; sleep 100", args{"timeout": 60}).fails(t, "lost", "Docker at")
	w.box(t, "echo hi").fails(t, "unavailable", "Docker", g.path).says(t, "hint", "")
	g.cut(false)
	w.box(t, "echo hi").has(t, "stdout", "hi\n")
}

// TestSandboxVerbs: exec and doctor at a terminal.
func TestSandboxVerbs(t *testing.T) {
	t.Parallel()
	address := engine(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.star")
	put := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(arguments ...string) (stdout, stderr string, status int) {
		cmd := exec.Command("cmd-exec-mcp", append([]string{"--config", config, "--data", filepath.Join(dir, "data")}, arguments...)...)
		cmd.Env = append(os.Environ(), "DOCKER_HOST="+address)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	put(box("cem-test/debian", "", "").String())
	if out, errs, status := run("exec", "sandbox", "--", "echo hi; id -u; exit 7"); out != "hi\n0\n" || status != 7 {
		t.Errorf("exec: %q %q %d", out, errs, status)
	}
	out, errs, status := run("doctor")
	if status != 0 || !strings.Contains(out, "docker engine") || !strings.Contains(out, address) || !strings.Contains(out, "cgroup") || !strings.Contains(out, "cem-test/debian present, runs bash") {
		t.Errorf("doctor: %q %q %d", out, errs, status)
	}
	out, _, _ = run("doctor", "--json")
	var lines []map[string]any
	if err := json.Unmarshal([]byte(out), &lines); err != nil || len(lines) < 4 {
		t.Errorf("doctor --json: %v %s", err, out)
	}
	put(box("cem-test/debian", `host="unix:///nonexistent/docker.sock"`, "").String())
	out, errs, status = run("doctor")
	if status != 1 || !strings.Contains(out, "failed   docker engine") || !strings.Contains(out, "/nonexistent/docker.sock") || !strings.Contains(out, "fix:") {
		t.Errorf("doctor without an engine: %q %q %d", out, errs, status)
	}
	if out, errs, status := run("exec", "sandbox", "--", "true"); status != 125 || !strings.Contains(errs, "/nonexistent/docker.sock") {
		t.Errorf("exec without an engine: %q %q %d", out, errs, status)
	}
	put(box("cem-test/nothing", "", "").String())
	if out, _, status = run("doctor"); status != 1 || !strings.Contains(out, "docker pull cem-test/nothing") {
		t.Errorf("doctor without the image: %q %d", out, status)
	}
	if _, errs, status := run("exec", "sandbox", "--", "true"); status != 125 || !strings.Contains(errs, "cem-test/nothing") {
		t.Errorf("exec without the image: %q %d", errs, status)
	}
}
