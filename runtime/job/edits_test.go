package job

import "testing"

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"rm", "rm", 0},
		{"timeuot", "timeout", 1},
		{"timout", "timeout", 1},
		{"env", "envv", 1},
		{"whitelst", "whitelist", 1},
		{"kitten", "sitting", 3},
		{"ab", "ba", 1},
		{"abc", "cab", 2},
	} {
		if got, back := Edits(c.a, c.b), Edits(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
