//go:build !wasip1

package main

import (
	"slices"
	"strings"
	"testing"

	"cmd-exec-mcp/hooks/sdk/go/hook"
)

func TestSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                                  "plain text",
		"ghp_" + strings.Repeat("a", 36) + " b":       "[github-token] b",
		"ghp_" + strings.Repeat("a", 35) + " b":       "ghp_" + strings.Repeat("a", 35) + " b",
		"xoxb-" + strings.Repeat("1", 20):             "[slack-token]",
		"sk_live_" + strings.Repeat("Z", 24) + "\r\n": "[stripe-key]\r\n",
	} {
		if got, err := (hook.Fake{}).Filter(secrets, in); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestNothingHiddenNothingNoted(t *testing.T) {
	if notes, err := (hook.Fake{}).Post(secrets, hook.Command{Command: "ls"}, 0); !slices.Equal(notes, nil) || err != nil {
		t.Errorf("got %q, %v", notes, err)
	}
}
