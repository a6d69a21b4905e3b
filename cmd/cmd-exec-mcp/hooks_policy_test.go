package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmd-exec-mcp/hooks/wasm/wat"
)

// before is a config with statements in front.
type before struct {
	statements string
	star
}

func (b before) String() string { return b.statements + "\n" + b.star.String() }

// guestOf assembles a hook and returns wasm(...) with its file and more arguments.
func guestOf(t testing.TB, fields, more string) string {
	t.Helper()
	module, err := wat.Assemble(`(module
(import "hook1" "get" (func $get (param i32 i32 i32 i32 i32) (result i32)))
(import "hook1" "set" (func $set (param i32 i32 i32 i32 i32) (result i32)))
(import "hook1" "read" (func $read (param i32 i32) (result i32)))
(import "hook1" "write" (func $write (param i32 i32) (result i32)))
(import "hook1" "log" (func $log (param i32 i32 i32 i32 i32) (result i32)))
(memory (export "memory") 8) ` + fields + ")")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("wasm(%q, %s)", path, more)
}

// rewriters are hooks that make `rm x` of `ls`, and nothing of anything else.
func rewriters(t testing.TB) map[string]string {
	return map[string]string{
		"wasm": guestOf(t, `(data (i32.const 8) "rm x")
(func (export "pre_exec") (result i32)
  (if (i32.eq (call $get (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 16) (i32.const 64)) (i32.const 2)) (then
    (drop (call $set (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 4)))))
  (i32.const 0))`, ""),
		"starlark": `hook(before=lambda cmd: {"command": "rm x"} if cmd.command == "ls" else None)`,
		"argv":     `hook(before=lambda cmd: {"argv": ["rm", "x"]} if cmd.command == "ls" else None)`,
		"cwd":      `hook(before=lambda cmd: {"command": "rm x", "cwd": "/"} if cmd.command == "ls" else None)`,
		"two hooks": `hook(before=lambda cmd: {"command": "touch y"} if cmd.command == "ls" else None),
			hook(before=lambda cmd: {"command": "rm x"} if cmd.command == "touch y" else None)`,
	}
}

// TestPolicyJudgesWhatHooksMake: a hook's word is checked like a caller's, however the command is run.
func TestPolicyJudgesWhatHooksMake(t *testing.T) {
	t.Parallel()
	for name, hook := range rewriters(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, star{server: `audit_file="audit.jsonl"`, tool: "hooks=[" + hook + "]"}.restricted())
			w.write(t, "x", "here")
			w.run(t, "echo fine").has(t, "stdout", "fine\n")
			for what, more := range map[string]args{
				"attached": {}, "detached": {"detach": true}, "with a file": {"output_file": "out"}, "at a terminal": {"tty": true},
				"in a parallel": {"command": "echo a && ls && echo b", "parallel": true},
			} {
				r := w.run(t, "ls", more)
				r.fails(t, "denied", "rm")
				if _, err := os.Stat(w.path("x")); err != nil {
					t.Fatalf("%s: x is gone: %v", what, r)
				}
			}
			all := w.arguments("", args{"commands": []string{"ls", "echo a"}})
			delete(all, "command")
			w.call(t, all).fails(t, "denied", "rm")
			if w.read(t, "x") != "here" {
				t.Error("x is gone")
			}
			w.close(t)
			audit, err := os.ReadFile(filepath.Join(w.home, "audit.jsonl"))
			if err != nil || strings.Count(string(audit), `"deny"`) < 6 || !strings.Contains(string(audit), "rm x") {
				t.Errorf("the audit does not say what was denied: %v\n%s", err, audit)
			}
		})
	}
}

// TestPolicyJudgesVariablesOfHooks: a variable that makes a harmless program run another is a command too.
func TestPolicyJudgesVariablesOfHooks(t *testing.T) {
	t.Parallel()
	w := start(t, star{tool: `hooks=[hook(before=lambda cmd: {"env": {"GIT_SSH_COMMAND": "rm x"}})]`}.restricted())
	w.run(t, "git status").fails(t, "denied", "rm")
}

// TestHooksOfCommandTool: a tool with one command has hooks as well, and policy behind them.
func TestHooksOfCommandTool(t *testing.T) {
	t.Parallel()
	for name, hook := range rewriters(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, written(`def run(p):
    return p.what
here = local(env={"WIRE_MARK": getenv("WIRE_MARK", "")})
command_tool("do", backend=here, description="Do.", command=run, params={"what": param("string", "what")}, hooks=[`+hook+`,
    hook(filter=lambda stream, line: line.upper(), after=lambda cmd, result: "ended with %d" % result.exit_code)])
`))
			call := func(what string) reply {
				return w.callWith(t, args{"name": "do", "arguments": args{"what": what}})
			}
			call("ls").fails(t, "denied", "rm")
			call("echo hi; exit 3").has(t, "stdout", "HI\n", "exit_code", 3).says(t, "notes", "ended with 3")
		})
	}
}

// TestHooksInSandbox: the same hooks before and after a command in a container.
func TestHooksInSandbox(t *testing.T) {
	t.Parallel()
	for name, hook := range rewriters(t) {
		w := sandbox(t, written(fmt.Sprintf(`shell_tool("execute_sandbox", backend=docker(image="cem-test/debian", pull="never"), hooks=[%s,
    hook(before=lambda cmd: {"env": {"SEEN": "%%s %%s" %% (cmd.tool, cmd.backend)}}, filter=lambda stream, line: "%%s: %%s" %% (stream, line))])
`, hook)))
		w.box(t, "ls").fails(t, "denied", "rm")
		w.box(t, "echo $SEEN; echo e >&2").has(t, "stdout", "stdout: execute_sandbox docker\n", "stderr", "stderr: e\n")
		id := w.box(t, "read a; echo got $a; read a", args{"detach": true}).args["session_id"]
		w.boxAct(t, id, "send", args{"command": "it\n", "wait_for": "it"}).has(t, "stdout", "stdout: got it\n")
		w.boxAct(t, id, "kill")
		w.close(t)
		if name == "wasm" && testing.Short() {
			break
		}
	}
}

// TestWhatHooksSee: who calls, and the id under which the command can be found again.
func TestWhatHooksSee(t *testing.T) {
	t.Parallel()
	fields := guestOf(t, `
(func $say (param $field i32) (local $n i32)
  (local.set $n (call $get (local.get $field) (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 200)))
  (if (i32.gt_s (local.get $n) (i32.const 0)) (then (drop (call $set (i32.const 15) (i32.const 0) (i32.const 0) (i32.const 1024) (local.get $n))))))
(func (export "post_exec") (result i32) (call $say (i32.const 9)) (call $say (i32.const 10)) (call $say (i32.const 13)) (i32.const 0))`, "")
	w := start(t, star{tool: "hooks=[" + fields + `, hook(after=lambda cmd, result: "%s %s" % (cmd.client, cmd.job))]`})
	notes := func(r reply) []string {
		var list []string
		for _, n := range r.args["notes"].([]any) {
			list = append(list, n.(string))
		}
		return list
	}
	got := notes(w.run(t, "true"))
	if len(got) != 4 || got[1] != "wire" || got[2] != "execute_local" || !strings.HasPrefix(got[3], "s_") || got[0] != "wire "+got[3] {
		t.Errorf("notes %q", got)
	}
	id := w.session(t, "sleep 0.3")
	got = notes(w.act(t, id, "read", args{"wait_for": "exit"}))
	if len(got) != 4 || got[3] != id {
		t.Errorf("notes %q, want the session's id %v", got, id)
	}
	seen := map[string]bool{}
	for _, part := range w.run(t, "true && true && true", args{"parallel": true}).results(t) {
		seen[notes(part)[3]] = true
	}
	if len(seen) != 3 {
		t.Errorf("three parts have the ids %v", seen)
	}
}

// TestHooksOfParallel: each part has its own transaction, state and output.
func TestHooksOfParallel(t *testing.T) {
	t.Parallel()
	w := start(t, before{`
def first(cmd):
    if "no" in cmd.command:
        return deny("not this")
    return {"command": cmd.command + "; echo end " + quote("of it")}
`, star{tool: `hooks=[hook(before=first, filter=lambda stream, line: "[%s]" % line, name="first")]`}})
	parts := w.run(t, "echo a && printf 'b' && (sleep 0.3; echo c)", args{"parallel": true}).results(t)
	for i, want := range []string{"[a\n][end of it\n]", "[bend of it\n]", "[c\n][end of it\n]"} {
		parts[i].has(t, "stdout", want)
	}
	w.run(t, "touch made && echo no", args{"parallel": true}).fails(t, "denied", "not this")
	if _, err := os.Stat(w.path("made")); err == nil {
		t.Error("a part ran although another was denied")
	}
}
