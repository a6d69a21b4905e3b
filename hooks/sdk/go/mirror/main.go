// Mirror lets pip use the config's mirror, and refuses to delete everything.
package main

import (
	"strings"

	"cmd-exec-mcp/hooks/sdk/go/hook"
)

var mirror = hook.Hook{
	Pre: func(c *hook.Cmd) error {
		if strings.Contains(c.Command(), "rm -rf /") {
			return hook.Deny("refusing to delete /")
		}
		if url := c.Config("mirror"); url != "" {
			c.SetEnv("PIP_INDEX_URL", url)
		}
		return nil
	},
}

func init() { hook.Register(mirror) }

func main() {}
