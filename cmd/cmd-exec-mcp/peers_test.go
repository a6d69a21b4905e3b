package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/backends/all"
	"cmd-exec-mcp/runtime/session"
)

// skipOrFail is for what a machine may lack and a CI job may not.
func skipOrFail(t *testing.T, format string, values ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("CEM_NO_SKIP") == "1" {
		t.Fatalf(format, values...)
	}
	t.Skipf(format, values...)
}

// installed are the places of the peers that are not ours, by the names that .ci/services/peers prints.
var installed = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("../../.ci/services/peers").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(err.Error() + ": " + string(failed.Stderr))
	}
	places := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		places[name] = value
	}
	return places, err
})

// place is where a peer is installed.
func place(t *testing.T, name string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		skipOrFail(t, ".ci/services/peers is a shell script")
	}
	places, err := installed()
	if err != nil || places[name] == "" {
		skipOrFail(t, ".ci/services/peers has no %s: %v", name, err)
	}
	return places[name]
}

// peers are the official clients, each behind the same small driver: what one does is a line of JSON.
var peers = map[string]func(t *testing.T, server ...string) *exec.Cmd{
	"TypeScript": func(t *testing.T, server ...string) *exec.Cmd {
		folder := place(t, "PEERS_NODE")
		cmd := exec.Command("node", append([]string{"testdata/peers/client.mjs"}, server...)...)
		cmd.Env = append(os.Environ(), "PEERS_NODE="+folder)
		return cmd
	},
	"Python": func(t *testing.T, server ...string) *exec.Cmd {
		return exec.Command(place(t, "PEERS_PYTHON"), append([]string{"testdata/peers/client.py"}, server...)...)
	},
	"Go": func(t *testing.T, server ...string) *exec.Cmd {
		program := filepath.Join(t.TempDir(), "peer")
		if out, err := exec.Command("go", "build", "-C", "testdata/peers/go", "-o", program, ".").CombinedOutput(); err != nil {
			skipOrFail(t, "the Go client does not build: %v\n%s", err, out)
		}
		return exec.Command(program, server...)
	},
}

// peer is a running client with a server of its own.
type peer struct {
	in   io.WriteCloser
	out  *bufio.Reader
	cmd  *exec.Cmd
	mark string
	dir  string
	base []int // the processes that are there when no command runs
}

// told is what came of something that a peer did.
type told struct {
	Result   args   `json:"result"`
	Error    string `json:"error"`
	Progress []args `json:"progress"`
}

func startPeer(t *testing.T, name string, config star) *peer {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands of these tests are written for a POSIX shell")
	}
	root := t.TempDir()
	p := &peer{mark: session.NewID("peer"), dir: root}
	server, err := exec.LookPath("cmd-exec-mcp")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "config.star")
	if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cmd = peers[name](t, server, "--config", path, "--data", filepath.Join(root, "data"))
	if p.cmd.Env == nil {
		p.cmd.Env = os.Environ()
	}
	p.cmd.Env = append(p.cmd.Env, "WIRE_MARK="+p.mark)
	p.cmd.Stderr = t.Output()
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close(t) })
	return p
}

// close checks that a client that says goodbye in its own way leaves nothing behind.
func (p *peer) close(t *testing.T) {
	p.in.Close()
	hang := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	if err := p.cmd.Wait(); err != nil || !hang.Stop() {
		t.Errorf("the client ended with %v", err)
	}
	eventually(t, "the end of the server and its commands", func() bool { return len(marked(p.mark)) == 0 })
}

// do has the peer do something and returns what came of it.
func (p *peer) do(t *testing.T, todo args) (answer told) {
	t.Helper()
	line, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	hang := time.AfterFunc(2*patience, func() { p.cmd.Process.Kill() })
	defer hang.Stop()
	if line, err = p.out.ReadBytes('\n'); err != nil {
		t.Fatalf("no answer to %v: %v", todo, err)
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return answer
}

// call calls execute_local, with more for the driver if given.
func (p *peer) call(t *testing.T, arguments args, more ...args) (reply, told) {
	t.Helper()
	todo := args{"do": "call", "arguments": arguments}
	for _, m := range more {
		for name, value := range m {
			todo[name] = value
		}
	}
	answer := p.do(t, todo)
	if answer.Error != "" {
		return reply{}, answer
	}
	raw, err := json.Marshal(answer.Result)
	if err != nil {
		t.Fatal(err)
	}
	structured, ok := answer.Result["structuredContent"].(args)
	if !ok {
		t.Fatalf("no structured content: %s", raw)
	}
	content := answer.Result["content"].([]any)[0].(args)
	var text args
	if err := json.Unmarshal([]byte(content["text"].(string)), &text); err != nil || len(text) != len(structured) {
		t.Errorf("the text is not the structured content: %s", raw)
	}
	failed, _ := answer.Result["isError"].(bool)
	return reply{args: structured, isError: failed}, answer
}

// TestPeers has the official clients do what an agent's client does.
func TestPeers(t *testing.T) {
	steps := map[string]func(*testing.T, *peer){
		"tools": peerTools, "run": peerRun, "progress": peerProgress, "cancel": peerCancel,
		"session": peerSession, "resources": peerResources, "hand-over": peerHandOver,
	}
	for name := range peers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, name, local)
			p.do(t, args{"do": "ping"})
			p.base = marked(p.mark)
			for step, f := range steps {
				t.Run(step, func(t *testing.T) { f(t, p) })
			}
		})
	}
}

func peerTools(t *testing.T, p *peer) {
	server := p.do(t, args{"do": "server"})
	if info, _ := server.Result["info"].(args); info["name"] != "cmd-exec-mcp" {
		t.Errorf("the server is %v", server)
	}
	tools, _ := p.do(t, args{"do": "tools"}).Result["tools"].([]any)
	if len(tools) != 1 {
		t.Fatalf("tools are %v", tools)
	}
	tool := tools[0].(args)
	properties, _ := tool["inputSchema"].(args)["properties"].(args)
	if tool["name"] != "execute_local" || properties["command"] == nil || tool["annotations"] == nil {
		t.Errorf("the tool is %v", tool)
	}
}

func peerRun(t *testing.T, p *peer) {
	r, _ := p.call(t, args{"command": "echo out; echo err >&2; exit 3", "cwd": p.dir})
	r.has(t, "stdout", "out\n", "stderr", "err\n", "exit_code", 3, "is_timeout", false, "session_id", nil)
	r, _ = p.call(t, args{"command": "echo x", "cwd": p.dir, "timeout": 0})
	r.fails(t, "invalid", "timeout")
	r, _ = p.call(t, args{"command": "printf 'gr\\303\\274n \\360\\237\\230\\200\\n'", "cwd": p.dir})
	r.has(t, "stdout", "grün 😀\n")
}

func peerProgress(t *testing.T, p *peer) {
	r, a := p.call(t, args{"command": "for i in 1 2 3 4 5; do echo step $i; sleep 0.4; done", "cwd": p.dir}, args{"progress": true})
	r.has(t, "exit_code", 0, "session_id", nil)
	last, said := -1.0, ""
	for _, m := range a.Progress {
		n, _ := m["progress"].(float64)
		if n <= last {
			t.Errorf("progress does not increase: %v", a.Progress)
		}
		message, _ := m["message"].(string)
		last, said = n, said+message+"\n"
	}
	if !strings.Contains(said, "step 3") {
		t.Errorf("progress says %q", said)
	}
}

func peerCancel(t *testing.T, p *peer) {
	started := filepath.Join(p.dir, "started")
	_, a := p.call(t, args{"command": "sleep 300 & setsid sleep 300 & echo > started; sleep 300", "cwd": p.dir, "wait": -1, "timeout": -1}, args{"cancel": started})
	if a.Error == "" {
		t.Errorf("a cancelled call was answered: %v", a.Result)
	}
	eventually(t, "the end of the tree", func() bool {
		return !slices.ContainsFunc(marked(p.mark), func(pid int) bool { return !slices.Contains(p.base, pid) })
	})
}

func peerSession(t *testing.T, p *peer) {
	r, _ := p.call(t, args{"command": "cat", "cwd": p.dir, "detach": true})
	r.has(t, "is_running", true, "exit_code", nil)
	id := r.args["session_id"]
	r, _ = p.call(t, args{"session_id": id, "command": "hello\n", "wait_for": "hello\n"})
	r.has(t, "sent", 6, "stdout", "hello\n", "is_running", true)
	r, _ = p.call(t, args{"session_id": id, "action": "send", "eof": true, "wait_for": "exit"})
	r.has(t, "is_running", false, "exit_code", 0)
	r, _ = p.call(t, args{"session_id": id, "action": "read", "offset": 0})
	r.has(t, "stdout", "hello\n", "next_offset", 6)
}

func peerResources(t *testing.T, p *peer) {
	list, _ := p.do(t, args{"do": "templates"}).Result["resourceTemplates"].([]any)
	if len(list) != 2 {
		t.Errorf("templates are %v", list)
	}
	r, _ := p.call(t, args{"command": "echo seen; sleep 100", "cwd": p.dir, "wait_for": "seen\n"})
	id := r.text("session_id")
	for uri, want := range map[string]string{
		"session://" + id:                      `"is_running":true`,
		"session://" + id + "/output":          "seen\n",
		"session://" + id + "/output?offset=2": "en\n",
	} {
		contents, _ := p.do(t, args{"do": "read", "uri": uri}).Result["contents"].([]any)
		if len(contents) != 1 || !strings.Contains(contents[0].(args)["text"].(string), want) {
			t.Errorf("%s is %v", uri, contents)
		}
	}
	if a := p.do(t, args{"do": "read", "uri": "session://s_none"}); !strings.Contains(a.Error, "no such session") {
		t.Errorf("a session that is not there: %v", a)
	}
	r, _ = p.call(t, args{"session_id": id, "action": "kill"})
	r.has(t, "killed", true)
}

// peerHandOver: without a token the call would be over at 50 s, with one never; a shorter wait shows the same way sooner.
func peerHandOver(t *testing.T, p *peer) {
	r, _ := p.call(t, args{"command": "echo begun; sleep 100", "cwd": p.dir, "wait": 0.3})
	r.has(t, "is_running", true, "stdout", "begun\n", "exit_code", nil)
	r, _ = p.call(t, args{"session_id": r.args["session_id"], "action": "kill"})
	r.has(t, "killed", true, "survivors", []any{})
}

// TestPeerWithoutToken: a client that asks for no progress would give up at 60 s; one that asks for it hears something.
func TestPeerWithoutToken(t *testing.T) {
	t.Parallel()
	p := startPeer(t, "TypeScript", star{defaults: "wait=1"})
	r, a := p.call(t, args{"command": "sleep 100", "cwd": p.dir})
	r.has(t, "is_running", true)
	if len(a.Progress) > 0 {
		t.Errorf("got %v", a.Progress)
	}
}

// TestInspector: the Inspector's lint of tool lists finds nothing, whatever is configured.
func TestInspector(t *testing.T) {
	folder := place(t, "PEERS_NODE")
	launcher := filepath.Join(folder, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	for name, config := range inspected {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(config, "docker(") && !slices.ContainsFunc(all.Drivers(), func(d backends.Driver) bool { return d.Name == "docker" }) {
				t.Skip("this build has no docker backend")
			}
			dir := t.TempDir()
			line := []string{launcher, "--cli", "--method", "tools/list", "--strict", "-q", "--", "cmd-exec-mcp", "--data", dir}
			if config != "" {
				path := filepath.Join(dir, "config.star")
				if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
					t.Fatal(err)
				}
				line = append(line, "--config", path)
			}
			cmd := exec.Command("node", line...)
			cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			var list struct{ Tools []args }
			if err := json.Unmarshal(out, &list); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if want, _ := strconv.Atoi(name[:1]); len(list.Tools) < want {
				t.Errorf("%d tools: %s", len(list.Tools), out)
			}
		})
	}
}

// inspected are configs by name; the name begins with the number of tools at least.
var inspected = map[string]string{
	"1 built-in": "",
	"3 kinds of tools": `
def run(p):
    return ["grep", "-n", p.pattern]

command_tool("find", backend=local(), description="Find a pattern.", command=run, params={
    "pattern": param("string", "what to look for"),
    "depth":   param("integer", "how deep", default=3),
    "ratio":   param("number", "how much", default=0.5),
    "all":     param("boolean", "hidden files too", default=False),
    "in":      param("array", "where", items="string", default=[]),
    "kind":    param("string", "of what", enum=["file", "dir"], default="file"),
})
command_tool("raw", backend=local(), description="With a schema.", command=run, schema={
    "type": "object", "required": ["pattern"], "properties": {"pattern": {"type": "string", "description": "what"}},
})
file_tool("files", backend=local())
`,
	"2 targets and groups": `
hosts = {"near": local(), "far": local(env={"A": "b"})}
shell_tool("run", backend=hosts, groups={"both": ["near", "far"]}, annotations={"title": "Runs", "readOnlyHint": True})
file_tool("files", backend=hosts)
`,
	"1 with changed parameters": `
shell_tool("run", backend=local(), params={
    "timeout": {"default": 60, "description": "seconds", "maximum": 100}, "keys": None, "tty": None, "command": {"description": "what to run"},
})
`,
	"2 sandboxes without an engine": `
box = docker(images=["alpine:3", "debian:12"], host="unix:///nowhere/docker.sock")
shell_tool("sandbox", backend=box)
file_tool("sandbox_files", backend=box)
`,
}
