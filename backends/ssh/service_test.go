package ssh

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
	"github.com/rs/zerolog"
)

// service starts a service for tests and returns what it prints, as a map. Where it cannot be started the test skips.
func service(t testing.TB, name string) map[string]string {
	t.Helper()
	services.Lock()
	defer services.Unlock()
	if got, ok := services.known[name]; ok {
		return got
	}
	var said bytes.Buffer
	cmd := exec.Command("../../.ci/services/" + name)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
			t.Fatalf("the service %s does not start: %v\n%s", name, err, said.String())
		}
		t.Skipf("the service %s does not start: %v\n%s", name, err, said.String())
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[key] = value
	}
	services.known[name] = got
	return got
}

var services = struct {
	sync.Mutex
	known map[string]map[string]string
}{known: map[string]map[string]string{}}

// sshd is what the service prints.
func sshd(t testing.TB) map[string]string {
	t.Helper()
	return service(t, "sshd")
}

// config is one that reaches an account of the tests' server.
func config(t testing.TB, user, port string) *Config {
	t.Helper()
	s := sshd(t)
	c := New()
	c.Target, c.Key = user+"@"+s["SSH_HOST"]+":"+s[port], s["KEY"]
	c.SSHConfig, c.KnownHosts = "", "no"
	return c
}

// open opens a backend and closes it at the end.
func open(t testing.TB, user string, change func(*Config)) *Backend {
	t.Helper()
	c := config(t, user, "SSH_PORT")
	if change != nil {
		change(c)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	b, err := c.Open(context.Background(), backends.Env{Instance: "i_test", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b.(*Backend)
}

// answer is a finished command.
type answer struct {
	stdout, stderr string
	exit           job.Exit
}

// begin resolves and starts; the buffers may be read after the end.
func begin(t testing.TB, b backends.Backend, cmd job.Command) (backends.Process, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p, err := try(t, b, cmd, backends.IO{Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		t.Fatalf("start of %q: %v", cmd.Script+strings.Join(cmd.Argv, " "), err)
	}
	return p, &stdout, &stderr
}

func try(t testing.TB, b backends.Backend, cmd job.Command, io backends.IO) (backends.Process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd, err := b.Resolve(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return b.Start(ctx, cmd, io)
}

func run(t testing.TB, b backends.Backend, cmd job.Command) answer {
	t.Helper()
	p, stdout, stderr := begin(t, b, cmd)
	exit := wait(t, p)
	return answer{stdout.String(), stderr.String(), exit}
}

func wait(t testing.TB, p backends.Process) job.Exit {
	t.Helper()
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
		if e.err != nil {
			t.Fatalf("Wait: %v", e.err)
		}
		return e.exit
	case <-time.After(time.Minute):
		t.Fatal("the command did not end within a minute")
		return job.Exit{}
	}
}

func script(text string) job.Command { return job.Command{Script: text} }
