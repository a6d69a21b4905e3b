// Secrets hides the tokens of services people use, in what commands print. It also notes how many it hid, so that an agent
// does not take a mask for the value.
//
// In a project of your own (`cmd-exec-mcp hook new --lang go secrets`) the import is "secrets/hook".
package main

import (
	"strconv"

	"cmd-exec-mcp/hooks/sdk/go/hook"
)

var filter = hook.Redact(
	token("AKIA", 16, 16, hook.AlnumUpper, "aws-key-id"),
	token("ASIA", 16, 16, hook.AlnumUpper, "aws-key-id"),
	token("ghp_", 36, 36, hook.Alnum, "github-token"),
	token("gho_", 36, 36, hook.Alnum, "github-token"),
	token("ghs_", 36, 255, hook.Alnum, "github-token"),
	token("github_pat_", 22, 255, hook.Word, "github-token"),
	token("glpat-", 20, 64, hook.Word, "gitlab-token"),
	token("xoxb-", 20, 255, hook.Word, "slack-token"),
	token("xoxp-", 20, 255, hook.Word, "slack-token"),
	token("npm_", 36, 36, hook.Alnum, "npm-token"),
	token("sk_live_", 24, 255, hook.Alnum, "stripe-key"),
	token("sk-", 32, 255, hook.Word, "api-key"),
)

func token(prefix string, least, most int, class func(byte) bool, name string) hook.Token {
	return hook.Token{Prefix: prefix, Min: least, Max: most, Class: class, Mask: "[" + name + "]"}
}

var secrets = hook.Hook{
	Filter: func(c *hook.Chunk) (int, error) {
		hidden := 0
		c.Hidden = func() { hidden++ }
		keep, err := filter(c)
		if hidden > 0 {
			before, _ := strconv.Atoi(c.State("hidden"))
			c.SetState("hidden", strconv.Itoa(before+hidden))
		}
		return keep, err
	},
	Post: func(c *hook.End) error {
		if n := c.State("hidden"); n != "" {
			c.Note("secrets hidden in the output: " + n)
		}
		return nil
	},
}

func init() { hook.Register(secrets) }

func main() {}
