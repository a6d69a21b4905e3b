package main

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// paramCase is one parameter of execute_local: what is said of a wrong type, and a test of its default and its effect.
type paramCase struct {
	name  string
	wrong any    // a value of a wrong type
	says  string // what the error names beside the parameter
	test  func(*testing.T, *wire)
}

// local is the config of most tests: everything may run.
var local = star{}

func paramCases() []paramCase {
	return slices.Concat(runParams(), outputParams(), sessionParams())
}

// TestParams holds every parameter in its own subtest: default, wrong type, effect.
func TestParams(t *testing.T) {
	t.Parallel()
	w := start(t, star{defaults: "timeout=60"})
	for _, p := range paramCases() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			arguments := w.arguments("touch "+w.path("wrong-"+p.name), args{p.name: p.wrong})
			if slices.ContainsFunc(sessionParams(), func(s paramCase) bool { return s.name == p.name }) && p.name != "alive_timeout" {
				arguments = args{"session_id": "s_none", "action": "read", p.name: p.wrong}
				if p.name == "eof" {
					arguments["action"] = "send"
				}
			}
			w.call(t, arguments).fails(t, "invalid", p.name, p.says)
			if _, err := os.Stat(w.path("wrong-" + p.name)); err == nil {
				t.Error("it ran all the same")
			}
			p.test(t, w)
		})
	}
}

// TestParamsAreAllTested compares the list above with the schema. The terminal's parameters have their tests elsewhere.
func TestParamsAreAllTested(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	var list struct {
		Tools []struct {
			Name        string `json:"name"`
			InputSchema struct {
				Properties map[string]args `json:"properties"`
			} `json:"inputSchema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(w.request(t, "tools/list", args{}).Result, &list); err != nil || len(list.Tools) != 1 {
		t.Fatalf("%v: %+v", err, list)
	}
	tested := []string{"tty", "cols", "rows", "keys"}
	for _, p := range paramCases() {
		tested = append(tested, p.name)
	}
	slices.Sort(tested)
	offered := slices.Sorted(maps.Keys(list.Tools[0].InputSchema.Properties))
	for _, name := range offered {
		if !slices.Contains(tested, name) {
			t.Errorf("%s has no test", name)
		}
	}
	for _, name := range tested {
		if !slices.Contains(offered, name) && name != "shell" { // a choice of one is no parameter
			t.Errorf("%s is not offered", name)
		}
	}
}

// runParams say what runs, where and for how long.
func runParams() []paramCase {
	return []paramCase{
		{"command", 7, "a string", testCommand},
		{"cwd", []string{"/"}, "a string", testCwd},
		{"timeout", "soon", "a number of seconds", testTimeout},
		{"wait", "later", "a number of seconds", testWait},
		{"wait_for", 5, "a string", testWaitFor},
		{"env", "A=B", "an object", testEnv},
		{"parallel", "perhaps", "true or false", testParallel},
		{"commands", 7, "an array of strings", testCommands},
		{"shell", 1, "a string", testShell},
		{"stdin", args{"text": "x"}, "a string", testStdin},
		{"detach", "yes", "true or false", testDetach},
		{"login", 1, "true or false", testLogin},
	}
}

func testCommand(t *testing.T, w *wire) {
	for _, absent := range []args{{"cwd": w.dir}, {"cwd": w.dir, "command": ""}, {"cwd": w.dir, "command": nil}, {}} {
		w.call(t, absent).fails(t, "invalid", "command is required")
	}
	w.call(t, args{"cwd": w.dir, "COMMAND": "echo hi"}).fails(t, "invalid", "command is required").says(t, "hint", `did you mean "command"`)
	r := w.run(t, "  printf '%s|' a 'b  c'\n")
	r.has(t, "stdout", "a|b  c|", "stderr", "", "exit_code", 0, "is_timeout", false, "output_file", "")
	r.has(t, "command_echo", "  printf '%s|' a 'b  c'\n") // as it came
	r.has(t, "signal", nil, "session_id", nil, "truncated", nil, "notes", nil, "hint", nil, "cwd", nil, "target", nil, "encoding", nil)
	if d, ok := r.args["duration"].(float64); !ok || d < 0 || d > patience.Seconds() {
		t.Errorf("duration is %v, not a number of seconds", r.args["duration"])
	}
	w.run(t, "exit 3").has(t, "exit_code", 3)
}

func testCwd(t *testing.T, w *wire) {
	w.call(t, args{"command": "pwd"}).fails(t, "invalid", "cwd is required")
	w.run(t, "pwd").has(t, "stdout", w.dir+"\n", "cwd", nil)
	w.run(t, "pwd", args{"cwd": "~"}).has(t, "stdout", w.home+"\n", "cwd", w.home)
	w.run(t, "pwd", args{"cwd": "work"}).fails(t, "invalid", "relative")
	w.run(t, "pwd", args{"cwd": w.path("no/such")}).fails(t, "notfound", w.path("no/such")).says(t, "hint", w.dir)
}

func testTimeout(t *testing.T, w *wire) {
	w.run(t, "echo kept; sleep 50", args{"timeout": 0.5}).has(t, "is_timeout", true, "exit_code", -1, "stdout", "kept\n")
	w.run(t, "echo kept; sleep 50", args{"timeout": "0.5"}).has(t, "is_timeout", true) // models send numbers as text
	w.run(t, "true", args{"timeout": 0}).fails(t, "invalid", "timeout", "more than 0")
	w.run(t, "true", args{"timeout": -2}).fails(t, "invalid", "timeout")
	w.run(t, "true", args{"timeout": -1}).has(t, "exit_code", 0)
	w.run(t, "true", args{"timeout": 1e12}).has(t, "exit_code", 0).says(t, "notes", "timeout")
	short := start(t, star{defaults: "timeout=0.5, max_timeout=1"})
	short.run(t, "sleep 50").has(t, "is_timeout", true, "notes", nil) // the owner's default is nothing to tell of
	short.run(t, "sleep 50", args{"timeout": 40}).has(t, "is_timeout", true).says(t, "notes", "timeout is 1s")
	short.run(t, "sleep 50", args{"timeout": -1}).has(t, "is_timeout", true).says(t, "notes", "timeout is 1s")
	// With detach there is no timeout unless one is given.
	free := start(t, star{defaults: "timeout=0.3"})
	id := free.run(t, "sleep 1.5; echo done", args{"detach": true}).args["session_id"]
	free.act(t, id, "read", args{"wait_for": "exit"}).has(t, "stdout", "done\n", "exit_code", 0)
}

func testWait(t *testing.T, w *wire) {
	r := w.run(t, "echo first; read x < /dev/null; sleep 50", args{"wait": 0.5, "timeout": 40})
	r.has(t, "is_running", true, "stdout", "first\n", "exit_code", nil)
	w.act(t, r.args["session_id"], "kill").has(t, "killed", true)
	w.run(t, "sleep 1.2; echo end", args{"wait": -1}).has(t, "stdout", "end\n", "session_id", nil)
	r = w.run(t, "sleep 50", args{"wait": 0}) // is detach
	r.has(t, "is_running", true, "alive_timeout", 300)
	w.act(t, r.args["session_id"], "kill")

	handing := start(t, star{defaults: "wait=0.5, timeout=1"})
	r = handing.run(t, "sleep 2; echo over") // the timeout was only the default: it does not outlive the hand-over
	r.has(t, "is_running", true)
	handing.act(t, r.args["session_id"], "read", args{"wait": 30, "wait_for": "exit"}).has(t, "stdout", "over\n", "exit_code", 0)
	r = handing.run(t, "sleep 50", args{"timeout": 1.5}) // an explicit one goes on
	handing.act(t, r.args["session_id"], "read", args{"wait": 30, "wait_for": "exit"}).has(t, "is_timeout", true, "exit_code", -1)
	// A client that shows progress waits to the end, unless the call or the owner says otherwise.
	watched := w.callWith(t, args{"name": "execute_local", "arguments": w.arguments("sleep 1; echo end"), "_meta": args{"progressToken": 1}})
	watched.has(t, "stdout", "end\n", "session_id", nil)
}

func testWaitFor(t *testing.T, w *wire) {
	w.run(t, "sleep 0.3; echo end", args{"wait_for": "exit"}).has(t, "stdout", "end\n", "exit_code", 0, "session_id", nil)
	r := w.run(t, "echo boot; sleep 0.2; echo listening on 80; sleep 50", args{"wait_for": `listening on \d+`})
	r.has(t, "is_running", true, "stdout", "boot\nlistening on 80\n", "exit_code", nil)
	w.act(t, r.args["session_id"], "kill")
	r = w.run(t, "echo anything; sleep 50", args{"wait_for": "output"})
	r.has(t, "is_running", true, "stdout", "anything\n")
	w.act(t, r.args["session_id"], "kill")
	w.run(t, "echo no match", args{"wait_for": "never"}).has(t, "stdout", "no match\n", "exit_code", 0)
	w.run(t, "touch "+w.path("matched"), args{"wait_for": "("}).fails(t, "invalid", "wait_for")
	// With a pattern the input stays open, so that the answer to a prompt can be sent.
	r = w.run(t, `printf 'name: '; read n; echo "hello $n"`, args{"wait_for": "name: $"})
	r.has(t, "is_running", true, "stdout", "name: ")
	w.act(t, r.args["session_id"], "send", args{"command": "Ann\n", "wait_for": "exit"}).has(t, "stdout", "hello Ann\n", "exit_code", 0, "sent", 4)
}

func testEnv(t *testing.T, w *wire) {
	w.run(t, `echo "[${A-unset}]"`).has(t, "stdout", "[unset]\n")
	w.run(t, `printf '%s|' "$A" "$B" "$C"`, args{"env": args{"A": "x y\"z'$HOME", "B": 30, "C": true, "D": nil}}).has(t, "stdout", `x y"z'$HOME|30|true|`)
	w.run(t, `echo $A`, args{"env": `{"A":"from text"}`}).has(t, "stdout", "from text\n")
	w.run(t, "true", args{"env": args{"A": args{}}}).fails(t, "invalid", "env.A")
	w.run(t, "true", args{"env": args{"A=B": "1"}}).fails(t, "invalid", "A=B")
}

func testParallel(t *testing.T, w *wire) {
	w.run(t, "echo a && echo b").has(t, "stdout", "a\nb\n", "results", nil)
	r := w.run(t, "sleep 0.2; echo a && false", args{"parallel": true}) // no pure list: one part
	parts := r.results(t)
	if len(parts) != 1 {
		t.Fatalf("got %v", r)
	}
	parts[0].has(t, "stdout", "a\n", "exit_code", 1)
	// Each part waits for the other, so they can only end side by side.
	meet := func(mine, other string) string {
		return "(touch " + w.path(mine) + "; for i in $(seq 500); do [ -e " + w.path(other) + " ] && exit 5; sleep 0.02; done)"
	}
	parts = w.run(t, meet("one", "two")+" && "+meet("two", "one")+" && echo 'x && y'", args{"parallel": true}).results(t)
	if len(parts) != 3 {
		t.Fatalf("got %v", parts)
	}
	parts[0].has(t, "exit_code", 5, "command_echo", meet("one", "two"))
	parts[1].has(t, "exit_code", 5)
	parts[2].has(t, "exit_code", 0, "stdout", "x && y\n")
	for name, value := range map[string]any{"detach": true, "stdin": "x", "tty": true, "output_file": "f"} {
		w.run(t, "echo a && echo b", args{"parallel": true, name: value}).fails(t, "invalid", name)
	}
}

func testCommands(t *testing.T, w *wire) {
	parts := w.call(t, args{"cwd": w.dir, "commands": []string{"echo a; exit 4", "echo b >&2", "echo 'c && d'"}}).results(t)
	if len(parts) != 3 {
		t.Fatalf("got %v", parts)
	}
	parts[0].has(t, "stdout", "a\n", "exit_code", 4, "command_echo", "echo a; exit 4")
	parts[1].has(t, "stderr", "b\n", "exit_code", 0)
	parts[2].has(t, "stdout", "c && d\n")
	parts = w.call(t, args{"cwd": w.dir, "commands": `["echo a"]`, "parallel": false}).results(t)
	if len(parts) != 1 {
		t.Fatalf("got %v", parts)
	}
	w.run(t, "echo x", args{"commands": []string{"echo y"}}).fails(t, "invalid", "commands", "command")
	w.call(t, args{"cwd": w.dir, "commands": []any{"echo a", 7}}).fails(t, "invalid", "commands[1]", "a string")
	w.call(t, args{"cwd": w.dir, "commands": []any{"echo a", ""}}).fails(t, "invalid", "commands")
	w.call(t, args{"cwd": w.dir, "commands": []string{}}).fails(t, "invalid", "command is required")
}

func testShell(t *testing.T, w *wire) {
	w.run(t, `echo ${BASH_VERSION:+bash}`).has(t, "stdout", "bash\n", "shell", nil)
	w.run(t, `echo "[${BASH_VERSION:+bash}]"`, args{"shell": "sh"}).says(t, "stdout", "[").has(t, "shell", "sh")
	w.run(t, "echo x", args{"shell": "tcsh"}).fails(t, "invalid", "tcsh").says(t, "hint", `"bash"`, `"sh"`)
}

func testStdin(t *testing.T, w *wire) {
	w.run(t, "cat; echo end").has(t, "stdout", "end\n")
	w.run(t, "cat; echo end", args{"stdin": "line\n\x00 é\n"}).says(t, "stdout", "binary")
	w.run(t, "cat; echo end", args{"stdin": "a 'b' $HOME\n"}).has(t, "stdout", "a 'b' $HOME\nend\n")
	w.run(t, "wc -c", args{"stdin": strings.Repeat("x", 1<<20)}).says(t, "stdout", "1048576")
	w.run(t, "exit 4", args{"stdin": strings.Repeat("x", 1<<20)}).has(t, "exit_code", 4) // nobody reads it
	w.run(t, "cat", args{"stdin": ""}).has(t, "stdout", "")
}

func testDetach(t *testing.T, w *wire) {
	w.run(t, "echo x").has(t, "session_id", nil)
	r := w.run(t, "echo first; sleep 50", args{"detach": true})
	r.has(t, "is_running", true, "stdout", "first\n", "exit_code", nil, "alive_timeout", 300, "command_echo", nil)
	if !strings.HasPrefix(r.text("session_id"), "s_") {
		t.Errorf("session_id is %q", r.text("session_id"))
	}
	w.act(t, r.args["session_id"], "kill").has(t, "killed", true, "is_running", false, "survivors", []any{})
	w.run(t, "echo all; exit 3", args{"detach": true}).has(t, "is_running", false, "stdout", "all\n", "exit_code", 3)
}

func testLogin(t *testing.T, w *wire) {
	mine := start(t, local)
	home := args{"env": args{"HOME": mine.dir}}
	mine.write(t, ".bash_profile", "export FROM_PROFILE=yes\necho noise\n")
	mine.run(t, `echo "[$FROM_PROFILE]"`, home).has(t, "stdout", "[]\n")
	mine.run(t, `echo "[$FROM_PROFILE]"`, home, args{"login": true}).has(t, "stdout", "[yes]\n", "stderr", "")
}

// outputParams say what of the output comes back, and how.
func outputParams() []paramCase {
	return []paramCase{
		{"fields", "stdout", "an object", testFields},
		{"output_file", true, "a string", testOutputFile},
		{"raw", 3, "true or false", testRaw},
		{"merged", "both", "true or false", testMerged},
		{"base64", "gzip", "true or false", testBase64},
		{"encoding", 8, "a string", testEncoding},
		{"limit", "lots", "a whole number", testLimit},
	}
}

func testFields(t *testing.T, w *wire) {
	all := []string{"command_echo", "duration", "exit_code", "is_timeout", "output_file", "stderr", "stdout"}
	for _, given := range []any{nil, args{}, "{}"} {
		if got := slices.Sorted(maps.Keys(w.run(t, "true", args{"fields": given}).args)); !slices.Equal(got, all) {
			t.Errorf("fields=%v: got %v", given, got)
		}
	}
	r := w.run(t, "echo out; kill -9 $$", args{"fields": args{"stdout": true, "stderr": false}})
	if got := slices.Sorted(maps.Keys(r.args)); !slices.Equal(got, []string{"signal", "stdout"}) {
		t.Errorf("got %v, want stdout and what says something", got)
	}
	w.run(t, "true", args{"fields": args{"stdot": true}}).says(t, "notes", "stdot")
	w.run(t, "true", args{"fields": args{"stdout": "maybe"}}).fails(t, "invalid", "fields.stdout")
	owner := start(t, star{defaults: `fields={"exit_code": True}`})
	if got := slices.Sorted(maps.Keys(owner.run(t, "echo x").args)); !slices.Equal(got, []string{"exit_code"}) {
		t.Errorf("got %v, want what the owner's default says", got)
	}
}

func testRaw(t *testing.T, w *wire) {
	noisy := `printf '10%%\r50%%\r99%%\n\033[31mred\033[0m\n'`
	w.run(t, noisy).has(t, "stdout", "99%\nred\n")
	w.run(t, noisy, args{"raw": true}).has(t, "stdout", "10%\r50%\r99%\n\x1b[31mred\x1b[0m\n")
}

func testMerged(t *testing.T, w *wire) {
	mixed := "for i in 1 2 3; do echo out$i; sleep 0.05; echo err$i >&2; sleep 0.05; done"
	w.run(t, mixed).has(t, "stdout", "out1\nout2\nout3\n", "stderr", "err1\nerr2\nerr3\n")
	w.run(t, mixed, args{"merged": true}).has(t, "stdout", "out1\nerr1\nout2\nerr2\nout3\nerr3\n", "stderr", "")
}

func testBase64(t *testing.T, w *wire) {
	w.run(t, `printf '\000\001\377'`).has(t, "stdout", "binary, 3 bytes; base64=true gives them", "encoding", nil)
	w.run(t, `printf '\000\001\377'; printf e >&2`, args{"base64": true}).has(t,
		"stdout", base64.StdEncoding.EncodeToString([]byte{0, 1, 0xff}), "stderr", "ZQ==", "encoding", "base64")
}

func testEncoding(t *testing.T, w *wire) {
	gbk := `printf '\304\343\272\303\n'`
	if got := w.run(t, gbk).text("stdout"); strings.Contains(got, "你好") {
		t.Errorf("got %q without encoding", got)
	}
	w.run(t, gbk, args{"encoding": "gbk"}).has(t, "stdout", "你好\n")
	w.run(t, "true", args{"encoding": "no-such"}).fails(t, "invalid", "no-such")
}

func testLimit(t *testing.T, w *wire) {
	w.run(t, "seq 1 2000").has(t, "truncated", nil)
	r := w.run(t, "seq 1 2000", args{"limit": 1000})
	r.has(t, "truncated", true, "exit_code", 0)
	if n := len(r.text("stdout")); n > 2000 {
		t.Errorf("got %d bytes", n)
	}
	r = w.run(t, "seq 1 9000") // 43,893 bytes, over the 16,000 of the default
	r.has(t, "truncated", true)
	w.run(t, "seq 1 9000", args{"limit": 50000}).has(t, "truncated", nil)
	r = w.act(t, r.args["session_id"], "read", args{"offset": 0, "limit": 10})
	r.has(t, "stdout", "1\n2\n3\n4\n5\n", "next_offset", 10)
}
