// Package hooks runs the examples: each must do what it says.
package hooks

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmd-exec-mcp/backends/all"
	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/hooktest"
	"cmd-exec-mcp/hooks/wasm"
	"cmd-exec-mcp/runtime/config"
	"cmd-exec-mcp/runtime/job"
)

// load is the folder's config.star: its hooks by their names.
func load(t *testing.T) map[string]hooks.Hook {
	t.Helper()
	c, err := config.Load("config.star", config.Options{Backends: all.Drivers(), Hooks: []hooks.Driver{wasm.Driver()}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]hooks.Hook{}
	for _, tool := range c.Tools {
		for _, h := range tool.Hooks {
			named, err := h.Open(t.Context(), hooks.Env{})
			if err != nil {
				t.Fatal(err)
			}
			found[named.Name] = named.Hook
		}
	}
	return found
}

func begin(t *testing.T, h hooks.Hook, cmd job.Command, change func(*job.Request)) (job.Request, error) {
	t.Helper()
	if h == nil {
		t.Fatal("config.star has no such hook")
	}
	cmd.Shell, cmd.Timeout = "bash", time.Minute
	req := job.Request{Tool: "execute_local", Backend: "local", Timeout: time.Minute, Command: cmd}
	if change != nil {
		change(&req)
	}
	got, _, err := h.Begin(t.Context(), req)
	return got, err
}

// decide is what a hook says of a command: run, deny, ask.
func decide(t *testing.T, h hooks.Hook, cmd job.Command) (string, string) {
	t.Helper()
	_, err := begin(t, h, cmd, nil)
	if err == nil {
		return "run", ""
	}
	if ask, ok := errors.AsType[*hooks.Ask](err); ok {
		return "ask", ask.Question.Reason
	}
	if job.KindOf(err) != job.Denied {
		t.Fatalf("%s: %v", cmd.Script, err)
	}
	return "deny", err.Error()
}

func TestGitOnMain(t *testing.T) {
	h := load(t)["git_on_main"]
	for script, want := range map[string]string{
		"git push":                                         "run",
		"git push origin main":                             "run",
		"git push --force origin my-branch":                "run",
		"git push --force origin main":                     "deny",
		"git push -f origin HEAD:main":                     "deny",
		"git push --force-with-lease=main:x origin master": "deny",
		"git push origin +main":                            "deny",
		"git push origin :main":                            "deny",
		"git push origin --delete main":                    "deny",
		"git push origin HEAD:refs/heads/main -f":          "deny",
		"git push --force":                                 "ask",
		"git push --force origin":                          "ask",
		"cd x && git -C y push -f origin main":             "deny",
		"sudo /usr/bin/git push -f origin main":            "deny",
		"GIT_SSH=x git push -f origin main":                "deny",
		"git branch -D main":                               "deny",
		"git branch -D feature":                            "run",
		"git switch main":                                  "run",
		"git switch -C main":                               "deny",
		"git checkout -B master origin/x":                  "deny",
		"git commit -m 'then git push -f origin main'":     "run",
		"echo git push -f origin main":                     "run",
		"git":                                              "run",
		"":                                                 "run",
	} {
		got, reason := decide(t, h, job.Command{Script: script})
		if got != want || want == "deny" && !strings.Contains(reason, "git ") {
			t.Errorf("%s: %s (%s), want %s", script, got, reason, want)
		}
	}
	if got, _ := decide(t, h, job.Command{Argv: []string{"git", "push", "-f", "origin", "main"}}); got != "deny" {
		t.Errorf("argv: %s", got)
	}
}

func TestKubectlContext(t *testing.T) {
	h := load(t)["kubectl_context"]
	for script, want := range map[string]string{
		"kubectl get pods":                         "run",
		"kubectl --context prod get pods":          "run",
		"kubectl -n x delete pod y":                "ask",
		"kubectl --context=kind-dev delete pod y":  "run",
		"kubectl --context=eu-prod-1 delete pod y": "ask",
		"kubectl apply --context live -f x.yaml":   "ask",
		"kubectl config use-context prod":          "ask",
		"kubectl config get-contexts":              "run",
		"helm list":                                "run",
		"helm --kube-context kind-dev upgrade a b": "run",
		"helm upgrade a b":                         "ask",
		"kubectl kustomize . | kubectl apply -f -": "ask",
		"kubectl":                 "run",
		"echo kubectl delete pod": "run",
	} {
		if got, reason := decide(t, h, job.Command{Script: script}); got != want {
			t.Errorf("%s: %s (%s), want %s", script, got, reason, want)
		}
	}
}

func TestCurlTimeout(t *testing.T) {
	h := load(t)["curl_timeout"]
	for script, want := range map[string]time.Duration{
		"curl https://example.com | jq .": 20 * time.Second,
		"/usr/bin/wget x":                 20 * time.Second,
		"make && curl x":                  time.Minute,
		"echo curl":                       time.Minute,
	} {
		got, err := begin(t, h, job.Command{Script: script}, nil)
		if err != nil || got.Timeout != want || got.Command.Timeout != want {
			t.Errorf("%s: %s, %v, want %s", script, got.Timeout, err, want)
		}
	}
	short := func(r *job.Request) { r.Timeout, r.Command.Timeout = time.Second, time.Second }
	if got, err := begin(t, h, job.Command{Script: "curl x"}, short); err != nil || got.Timeout != time.Second {
		t.Errorf("a shorter one became %s, %v", got.Timeout, err)
	}
}

func TestMirrors(t *testing.T) {
	h := load(t)["mirrors"]
	got, err := begin(t, h, job.Command{Script: "pip install x", Env: map[string]string{"GOPROXY": "off"}}, nil)
	want := map[string]string{"PIP_INDEX_URL": "https://mirror.example/pypi/simple", "npm_config_registry": "https://mirror.example/npm/", "GOPROXY": "off"}
	if err != nil || !maps.Equal(got.Command.Env, want) || got.Command.Script != "pip install x" {
		t.Errorf("got %+v, %v", got.Command, err)
	}
	got, err = begin(t, h, job.Command{Script: "true"}, func(r *job.Request) { r.Target = "lab" })
	if err != nil || got.Command.Env["PIP_INDEX_URL"] != "http://mirror.lab.example/pypi/simple" {
		t.Errorf("lab: got %+v, %v", got.Command, err)
	}
	got, err = begin(t, h, job.Command{Script: "apt-get update"}, func(r *job.Request) { r.Backend = "docker" })
	if err != nil || !strings.HasSuffix(got.Command.Script, "; apt-get update") {
		t.Fatalf("apt: got %+v, %v", got.Command, err)
	}
	changesLists(t, got.Command.Script)
	got, err = begin(t, h, job.Command{Script: "apt-get update"}, nil)
	if err != nil || got.Command.Script != "apt-get update" {
		t.Errorf("apt on the host: got %+v, %v", got.Command, err)
	}
}

// changesLists runs what was put in front of apt on lists of a folder.
func changesLists(t *testing.T, script string) {
	t.Helper()
	sed, err := exec.LookPath("sed")
	if version, _ := exec.Command("sed", "--version").Output(); err != nil || !bytes.Contains(version, []byte("GNU")) {
		t.Skip("no GNU sed: ", sed)
	}
	list := filepath.Join(t.TempDir(), "sources.list")
	if err := os.WriteFile(list, []byte("deb http://deb.debian.org/debian bookworm main\ndeb https://security.debian.org/debian-security x main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script, _, _ = strings.Cut(script, "2>")
	script = strings.Replace(strings.Replace(script, "/etc/apt/sources.list.d/*", "", 1), "/etc/apt/sources.list", list, 1)
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	got, err := os.ReadFile(list)
	if want := "deb https://mirror.example/debian bookworm main\ndeb https://mirror.example/debian-security x main\n"; err != nil || string(got) != want {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestTestOutput(t *testing.T) {
	h := load(t)["test_output"]
	for in, want := range map[string]string{
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b_test.go:3: no\n--- FAIL: TestB (0.00s)\nFAIL\n": "    b_test.go:3: no\n--- FAIL: TestB (0.00s)\nFAIL\n",
		"ok  \tx\t0.1s\n    --- PASS: TestA/b (0.00s)":                                                                    "ok  \tx\t0.1s\n",
		"test a ... ok\ntest b ... FAILED\n":                                                                              "test b ... FAILED\n",
		"t.py::a PASSED   [ 50%]\nt.py::b FAILED   [100%]\n":                                                              "t.py::b FAILED   [100%]\n",
		"this test is ... ok, I think\n":                                                                                  "this test is ... ok, I think\n",
	} {
		for cut := range len(in) + 1 {
			_, tap, err := h.Begin(t.Context(), job.Request{Command: job.Command{Argv: []string{"go", "test"}}})
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for i, chunk := range []string{in[:cut], in[cut:]} {
				out, err := tap.Output(t.Context(), job.Stdout, []byte(chunk), hooks.Final*hooks.Flags(i))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, out...)
			}
			if string(got) != want {
				t.Fatalf("%q cut at %d: got %q want %q", in, cut, got, want)
			}
		}
	}
}

// The guest of secrets/, on the real host.
func TestSecrets(t *testing.T) {
	module := filepath.Join(t.TempDir(), "secrets.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", module, "./secrets")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.Open("secrets/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cases, err := hooktest.ReadCases(file)
	if err != nil {
		t.Fatal(err)
	}
	c := wasm.Driver().New().(*wasm.Config)
	c.File, c.CompileTime = module, 10*time.Minute // under the race detector, on a busy machine
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	named, err := c.Open(t.Context(), hooks.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close(context.Background())
	for _, want := range cases {
		hides(t, named.Hook, *want.Filter, *want.Want.Output)
	}
}

// hides runs one job's output, cut in two at every place.
func hides(t *testing.T, h hooks.Hook, in, want string) {
	t.Helper()
	for cut := range len(in) + 1 {
		_, tap, err := h.Begin(t.Context(), job.Request{Command: job.Command{Script: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := tap.Output(t.Context(), job.Stdout, []byte(in[:cut]), 0)
		got := string(a)
		b, errFinal := tap.Output(t.Context(), job.Stdout, []byte(in[cut:]), hooks.Final)
		exit, errEnd := tap.End(t.Context(), job.Exit{})
		if err := errors.Join(err, errFinal, errEnd); err != nil {
			t.Fatal(err)
		}
		if got += string(b); got != want || (len(exit.Notes) == 1) != (in != want) {
			t.Fatalf("%q cut at %d: got %q want %q, notes %q", in, cut, got, want, exit.Notes)
		}
	}
}
