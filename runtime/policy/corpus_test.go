package policy

import (
	"os"
	"testing"
)

func mustCompile(t testing.TB, change func(*Config)) *Policy {
	t.Helper()
	c := NewConfig()
	if change != nil {
		change(c)
	}
	p, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func runCorpus(t *testing.T, file string) Report {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	black, white := mustCompile(t, nil), mustCompile(t, func(c *Config) { c.List = "whitelist" })
	report, err := RunCorpus(func(mode string) *Policy {
		if mode == "whitelist" {
			return white
		}
		return black
	}, f)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestCorpus(t *testing.T) {
	if r := runCorpus(t, "policy-corpus.jsonl"); r.Passed != r.Total || r.Total < 340 {
		t.Errorf("\n%s", r)
	}
}

// TestOrdinary: what agents really send must run, and what must be denied must not.
func TestOrdinary(t *testing.T) {
	r := runCorpus(t, "ordinary-commands.jsonl")
	if r.Passed < 207 || r.Total != 211 {
		t.Errorf("\n%s", r)
	}
	for _, d := range r.Differences {
		if d.Case.Expect == "deny" {
			t.Errorf("%s is allowed: %q", d.Case.ID, d.Case.Command)
		}
	}
}

// TestMore holds further cases of the kinds of the corpus, and those that the differential test found.
func TestMore(t *testing.T) {
	for _, file := range []string{"more.jsonl", "found.jsonl"} {
		if r := runCorpus(t, file); r.Passed != r.Total {
			t.Errorf("%s\n%s", file, r)
		}
	}
}
