package main

import "testing"

// TestGrepAnswers: the lines as they are, where they are, what goes together, and what a limit leaves for the next call.
func TestGrepAnswers(t *testing.T) {
	t.Parallel()
	w := start(t, local)
	r := w.run(t, "echo error: one >&2; sleep 0.3; seq 1 100000").has(t, "truncated", true)
	id := r.args["session_id"]
	read := func(more args) reply { return w.act(t, id, "read", more) }
	read(args{"grep": "^9999[78]$"}).has(t, "stdout", "99997\n99998\n", "truncated", nil).says(t, "notes", "2 lines match, the first at offset 588881, the last at offset 588887")
	read(args{"offset": 588881, "limit": 12}).has(t, "stdout", "99997\n99998\n")
	read(args{"grep": "^error"}).has(t, "stdout", nil, "stderr", "error: one\n").says(t, "notes", "one line matches")
	read(args{"grep": "nothing like it"}).has(t, "stdout", nil, "stderr", nil).says(t, "notes", "no line matches")
	read(args{"grep": "9$", "tail": 2}).has(t, "stdout", "99989\n99999\n")
	r = read(args{"grep": "^9999.$", "limit": 20}).has(t, "stdout", "99990\n99991\n99992\n", "truncated", nil)
	read(args{"grep": "^9999.$", "limit": 20, "offset": r.args["next_offset"]}).has(t, "stdout", "99993\n99994\n99995\n")

	id = w.session(t, "while read x; do echo old; echo $x; done")
	w.act(t, id, "send", args{"command": "a1\n", "wait_for": "a1"}).has(t, "stdout", "old\na1\n")
	w.act(t, id, "send", args{"command": "a2\n", "wait_for": "a2", "grep": "^a"}).has(t, "stdout", "a2\n") // of what is new
	w.act(t, id, "kill")
}
