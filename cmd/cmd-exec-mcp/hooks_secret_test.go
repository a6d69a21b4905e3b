package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ownSecret is a value of the server's environment; callSecret one that a call brings along.
const (
	ownSecret  = "server-side-secret"
	callSecret = "call-brings-secret"
)

// secretHalves never appear anywhere, whatever cuts the secrets. A half that stands alone is no secret, unless a hook failed
// where the rest would have come.
var secretHalves = []string{"side-secret", "brings-secret"}

// witness is everything that a server says and writes: replies, progress, log, audit, output files, stderr.
type witness struct {
	*wire
	replies strings.Builder
}

// leaky is a server with a hook, for commands that print secrets.
func leaky(t *testing.T, hook string) *witness {
	t.Helper()
	w := start(t, star{server: `log_level="debug", audit_file="audit.jsonl"`, local: `env_pass=["MY_TOKEN"]`, tool: "hooks=[" + hook + "]"}, "MY_TOKEN="+ownSecret)
	return &witness{wire: w}
}

func (s *witness) do(t *testing.T, command string, more ...args) reply {
	t.Helper()
	more = append(more, args{"env": args{"API_KEY": callSecret}})
	r := s.wire.callWith(t, args{"name": "execute_local", "arguments": s.arguments(command, more...), "_meta": args{"progressToken": 1}})
	fmt.Fprintln(&s.replies, r.args)
	return r
}

// everything ends the server and returns all that it told anybody.
func (s *witness) everything(t *testing.T) map[string]string {
	t.Helper()
	s.close(t)
	all := map[string]string{"the replies": s.replies.String(), "stderr": s.stderr.String(), "the log": s.log(t)}
	for _, n := range s.notifications("notifications/progress") {
		all["the progress"] += fmt.Sprint(n["message"]) + "\n"
	}
	for _, pattern := range []string{filepath.Join(s.dir, "*"), filepath.Join(s.home, "audit.jsonl")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Base(file)] = string(text)
		}
	}
	return all
}

func (s *witness) nothing(t *testing.T, parts ...string) map[string]string {
	t.Helper()
	all := s.everything(t)
	for where, text := range all {
		for _, part := range parts {
			if at := strings.Index(text, part); at >= 0 {
				t.Errorf("%s: %q is there: ...%s", where, part, text[max(0, at-300):min(len(text), at+100)])
			}
		}
	}
	return all
}

// A filter that reads what it gets to 1024, of length $n. body decides what it makes of it; $final says that nothing follows.
func filterOf(body string) string {
	return `(func $min (param $a i32) (param $b i32) (result i32) (select (local.get $a) (local.get $b) (i32.lt_s (local.get $a) (local.get $b))))
(func $has (param $n i32) (param $c i32) (result i32)
  (block $no (loop $next
    (br_if $no (i32.eqz (local.get $n)))
    (local.set $n (i32.sub (local.get $n) (i32.const 1)))
    (br_if $next (i32.ne (i32.load8_u (i32.add (i32.const 1024) (local.get $n))) (local.get $c)))
    (return (i32.const 1))))
  (i32.const 0))
(func (export "filter") (param $stream i32) (param $flags i32) (result i32) (local $n i32) (local $final i32) (local $more i32)
  (local.set $final (i32.and (local.get $flags) (i32.const 1)))
  (loop $next
    (local.set $more (call $read (i32.add (i32.const 1024) (local.get $n)) (i32.const 131072)))
    (local.set $n (i32.add (local.get $n) (local.get $more)))
    (br_if $next (local.get $more)))
  ` + body + `)`
}

// passOn shows all but the last five bytes, which it wants to see again.
const passOn = `(local.set $more (select (i32.const 0) (call $min (local.get $n) (i32.const 5)) (local.get $final)))
  (drop (call $write (i32.const 1024) (i32.sub (local.get $n) (local.get $more))))
  (local.get $more)`

// quoteAll tells everybody what it sees: the log, and the note and the reason for the caller.
const quoteAll = `
  (drop (call $log (i32.const 3) (i32.const 1024) (call $min (local.get $n) (i32.const 4000)) (i32.const 0) (i32.const 0)))
  (drop (call $set (i32.const 15) (i32.const 0) (i32.const 0) (i32.const 1024) (call $min (local.get $n) (i32.const 1000))))
  (drop (call $set (i32.const 14) (i32.const 0) (i32.const 0) (i32.const 1024) (call $min (local.get $n) (i32.const 1000))))
`

// carriers are filters that hide nothing themselves and cut the output in their own ways.
func carriers(t *testing.T) map[string]string {
	return map[string]string{
		"carries five bytes": guestOf(t, filterOf(passOn), ""),
		"shows all":          guestOf(t, filterOf(`(drop (call $write (i32.const 1024) (local.get $n))) (i32.const 0)`), ""),
		"starlark":           `hook(filter=lambda stream, line: line)`,
		"three":              guestOf(t, filterOf(passOn), "") + `, hook(filter=lambda stream, line: line), ` + guestOf(t, filterOf(passOn), ""),
	}
}

// TestSecretsCutInTwo: by the process's writes, by windows of 64 KiB, by the other stream, by reads of a session.
func TestSecretsCutInTwo(t *testing.T) {
	t.Parallel()
	for name, hook := range carriers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := leaky(t, hook)
			const halves = `f() { printf %s "${1%-s*}"; sleep $2; printf "%s\n" "${1#"${1%-s*}"}"; }; `
			s.do(t, halves+"f $MY_TOKEN 0; f $API_KEY 0.25; f $MY_TOKEN 0.25 >&2", args{"output_file": "one"})
			s.do(t, `printf "${MY_TOKEN%-s*}"; echo noise >&2; printf "${API_KEY%-s*}" >&2; sleep 0.25; echo "${MY_TOKEN#server-side}"; echo "${API_KEY#call-brings}" >&2`)
			s.do(t, `printf "${MY_TOKEN%-s*}"; echo noise >&2; sleep 0.25; echo "${MY_TOKEN#server-side}"`, args{"view": "merged"})
			for _, size := range []int{65536, 65536 - 5, 131072, 131072 - 5} {
				for _, before := range []int{1, 7, 11, 17} {
					s.do(t, fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo $MY_TOKEN`, size-before), args{"output_file": fmt.Sprintf("at-%d-%d", size, before)})
				}
			}
			s.do(t, "for i in 1 2 3; do echo $MY_TOKEN $API_KEY; sleep 0.4; done")
			id := s.do(t, "read a; printf \"${MY_TOKEN%-s*}\"; read a; echo \"${MY_TOKEN#server-side} ok, it is said\"; read a; echo got $a", args{"detach": true}).args["session_id"]
			for _, step := range []args{{"action": "send", "command": "\n", "wait": 0.4}, {"action": "send", "command": "\n", "wait_for": "ok"}, {"action": "send", "command": ownSecret + "\n", "wait_for": "exit"}, {"action": "read", "offset": 0}} {
				step["session_id"] = id
				fmt.Fprintln(&s.replies, s.call(t, step).args)
			}
			all := s.nothing(t, secretHalves...)
			if n := strings.Count(all["the replies"], "[redacted]"); n < 15 {
				t.Errorf("the replies show %d redactions: the commands did not print what they should: %s", n, all["the replies"])
			}
			for _, name := range []string{"one", "at-65536-7", "at-131067-17"} {
				if !strings.Contains(all[name], "[redacted]") {
					t.Errorf("%s does not show that something was hidden", name)
				}
			}
		})
	}
}

// breaking are filters that end badly when they meet a "!", by the class of their failure.
func breaking(t *testing.T, onError string) map[string]string {
	list := map[string]string{"error: starlark": fmt.Sprintf(`hook(on_error=%q, filter=lambda stream, line: fail("what is this") if "!" in line else line)`, onError)}
	for name, end := range map[string]string{
		"trap: itself":       `(unreachable)`,
		"timeout: loop":      `(loop $l (br $l))`,
		"error: negative":    `(return (i32.const -1))`,
		"protocol: keeps":    `(return (i32.const 99999))`,
		"protocol: writes":   `(drop (call $write (i32.const 1024) (local.get $n))) (drop (call $write (i32.const -5) (i32.const 100)))`,
		"trap: prints first": `(drop (call $write (i32.const 1024) (local.get $n))) (unreachable)`,
	} {
		list[name] = guestOf(t, filterOf(`(if (call $has (local.get $n) (i32.const 33)) (then `+end+`)) `+passOn), fmt.Sprintf("on_error=%q, timeout=0.05", onError))
	}
	return list
}

// TestHookFailsInTheMiddleOfASecret: what a broken filter holds, and what the redaction behind it holds, is not shown. With on_error="allow" the output passes on, through the redaction.
func TestHookFailsInTheMiddleOfASecret(t *testing.T) {
	t.Parallel()
	for _, onError := range []string{"deny", "allow"} {
		for name, hook := range breaking(t, onError) {
			t.Run(onError+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := leaky(t, hook)
				const halves = `echo before; printf "${MY_TOKEN%-s*}"; sleep 0.3; echo "${MY_TOKEN#server-side} !"; sleep 0.3; echo after $MY_TOKEN $API_KEY; `
				r := s.do(t, halves+"exit 3", args{"output_file": "attached"})
				r.has(t, "exit_code", 3)
				r2 := s.do(t, `printf "${API_KEY%-s*}" >&2; sleep 0.3; echo "!"; sleep 0.3; echo "${API_KEY#call-brings}" >&2`)
				id := s.do(t, "read a; "+halves, args{"detach": true}).args["session_id"]
				for _, step := range []args{{"action": "send", "command": "\n", "wait_for": "exit"}, {"action": "read", "offset": 0}} {
					step["session_id"] = id
					fmt.Fprintln(&s.replies, s.call(t, step).args)
				}
				if onError == "deny" {
					class, _, _ := strings.Cut(name, ":")
					r.says(t, "stdout", "output withheld: hook", ": "+class+"]").says(t, "notes", "failed")
					if strings.Contains(r2.text("stderr"), "call-brings") {
						t.Errorf("the other stream showed half of a secret: %v", r2)
					}
					if !strings.Contains(name, "starlark") && strings.Contains(r.text("stdout"), "server-side") { // Starlark filters whole lines
						t.Errorf("half of a secret was shown: %v", r)
					}
				} else {
					r.says(t, "stdout", "before", "[redacted] !", "after").says(t, "notes", "failed")
				}
				if all := s.nothing(t, secretHalves...); onError == "deny" && strings.Contains(all["attached"], "after") {
					t.Errorf("the file goes on after the failure: %s", all["attached"])
				}
			})
		}
	}
}

// TestHooksOwnSecretIsWithheld: a secret that only the hook knows is never shown in part: not when the hook fails while it
// holds the first half, and not in what follows.
func TestHooksOwnSecretIsWithheld(t *testing.T) {
	t.Parallel()
	// Holds everything from the first k on.
	holds := `(if (call $has (local.get $n) (i32.const 33)) (then (unreachable)))
  (if (call $has (local.get $n) (i32.const 107)) (then (return (select (i32.const 0) (local.get $n) (local.get $final)))))
  ` + passOn
	s := leaky(t, guestOf(t, filterOf(holds), ""))
	r := s.do(t, "echo plain words; sleep 0.3; printf 'key-of-'; sleep 0.3; echo 'the-hook!'; sleep 0.3; echo the-hook key-of-the-hook", args{"output_file": "out"})
	r.says(t, "stdout", "plain", "[output withheld: hook guest: trap]")
	for _, part := range []string{"key-of", "the-hook"} {
		if strings.Contains(r.text("stdout")+s.read(t, "out"), part) {
			t.Errorf("%s was shown: %v", part, r)
		}
	}
}

// TestHooksQuoteSecrets: what a hook logs, prints, notes and gives as its reason goes through redaction as well.
func TestHooksQuoteSecrets(t *testing.T) {
	t.Parallel()
	quotes := `(func (export "pre_exec") (result i32) (local $n i32)
  (local.set $n (call $get (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 4000)))
  ` + quoteAll + `(call $has (local.get $n) (i32.const 63)))
` + filterOf(quoteAll+`(if (call $has (local.get $n) (i32.const 33)) (then (return (i32.const -1)))) `+passOn)
	for name, hook := range map[string]string{
		"wasm": guestOf(t, quotes, ""),
		"starlark": `hook(before=lambda cmd: deny("no " + cmd.command) if "?" in cmd.command else None, filter=lambda stream, line: fail("what is " + line) if "!" in line else line,
    after=lambda cmd, result: "it was " + cmd.command)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := leaky(t, hook)
			s.do(t, "echo $MY_TOKEN; : "+callSecret).says(t, "stdout", "[redacted]").says(t, "notes", "[redacted]")
			s.do(t, "echo \"$MY_TOKEN !\"").says(t, "stdout", "withheld")
			s.do(t, "true '?' "+callSecret).fails(t, "denied", "[redacted]")
			all := s.nothing(t, ownSecret)
			if where := []string{"the log", "audit.jsonl"}; strings.Contains(all[where[0]]+all[where[1]], callSecret) {
				t.Errorf("the call's secret is in the log or the audit:\n%s\n%s", all[where[0]], all[where[1]])
			}
			if name == "wasm" && !strings.Contains(all["the log"], "[redacted]") {
				t.Error("the hook's lines are not in the log")
			}
		})
	}
}
