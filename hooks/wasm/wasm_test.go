package wasm

import (
	"testing"
)

func TestSmoke(t *testing.T) {
	for _, unmetered := range []bool{false, true} {
		c := config(t, text(echo))
		c.Unmetered = unmetered
		h := open(t, c)
		_, tap, err := begin(h, "ls")
		if err != nil {
			t.Fatal(err)
		}
		got, err := filtered(t, tap, "abc", "def", "")
		if got != "abcdef" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}
