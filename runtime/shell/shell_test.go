package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	tests := map[string]bool{
		"ls\n": true, "ls": false, "\n": true, "# c\n": true,
		"ls &&\n": false, "ls |\n": false, "ls &&\npwd\n": true, "ls;\n": true, "ls &\n": true,
		"echo 'a\n": false, "echo 'a\nb'\n": true, "echo \"a\n": false, "echo a \\\n": false, "echo a\\\nb\n": true,
		"if true\n": false, "if true; then\nls\n": false, "if true; then\nls\nfi\n": true,
		"for f in a b\n": false, "for f in a; do\n": false, "{ ls\n": false, "( ls\n": false, "f() {\n": false, "f()\n": false,
		"cat <<E\n": false, "cat <<E\nx\n": false, "cat <<E\nx\nE\n": true, "cat <<'E' && ls\nx\nE\n": true, "cat <<E\nE": false,
		"case x in\n": false, "echo $(ls\n": false, "echo `ls\n": false, "a=(1\n": false,
		")\n": true, "fi\n": true, "ls\npwd\n": true, "ls\nif true\n": false, "[[ a\n": false, "((1\n": false,
	}
	for text, want := range tests {
		if got := Complete(text, "bash"); got != want {
			t.Errorf("Complete(%q) = %v, want %v", text, got, want)
		}
	}
	if !Complete("dir\r\n", "cmd") || Complete("dir", "cmd") {
		t.Error("a line is a statement for a shell without a grammar")
	}
}

func TestSplitAnd(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"a && b && c d", []string{"a", "b", "c d"}},
		{`echo "a && b"`, nil},
		{"(a && b) && c", []string{"(a && b)", "c"}},
		{"a && b || c", nil},
		{"a || b && c", nil},
		{"a; b && c", nil},
		{"a && b &", nil},
		{"ls", nil},
		{"a | b && c > f", []string{"a | b", "c > f"}},
		{"a && b;", []string{"a", "b"}},
		{"a && ! b", []string{"a", "! b"}},
		{"a &&\nb", []string{"a", "b"}},
		{"x=$(a && b) && c", []string{"x=$(a && b)", "c"}},
		{"cat <<E && b\nx\nE\n", nil},
		{"a && (", nil},
		{strings.Repeat("(", 100_000), nil},
	}
	for _, tt := range tests {
		got, ok := SplitAnd(tt.text, "bash")
		if tt.want == nil {
			if ok || len(got) != 1 || got[0] != tt.text {
				t.Errorf("SplitAnd(%.40q) = %q, %v, want one part", tt.text, got, ok)
			}
			continue
		}
		if !ok || !slices.Equal(got, tt.want) {
			t.Errorf("SplitAnd(%q) = %q, %v, want %q", tt.text, got, ok, tt.want)
		}
	}
}

// TestQuoteInShells asks the shells themselves.
func TestQuoteInShells(t *testing.T) {
	words := []string{"", "a b", "it's", `back\slash`, `\`, `'\'`, "$HOME `id` $(id)", "a\nb", "-n", "~", "*", "a\"b", "!x", "{a,b}", "é", "\\n"}
	for _, sh := range []string{"bash", "dash", "zsh", "ksh", "fish"} {
		path, err := exec.LookPath(sh)
		if err != nil {
			continue // sh itself is always there; the others are a bonus
		}
		out, err := exec.Command(path, "-c", "printf '%s\\0' "+QuoteAll(words)).Output()
		if err != nil {
			t.Errorf("%s: %v", sh, err)
			continue
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if !slices.Equal(got, words) {
			t.Errorf("%s reads %q, want %q", sh, got, words)
		}
	}
}
