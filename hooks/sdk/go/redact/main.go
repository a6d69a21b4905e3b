// Redact hides AWS key ids in what commands print.
package main

import "cmd-exec-mcp/hooks/sdk/go/hook"

var redact = hook.Hook{
	Filter: hook.Redact(hook.Token{Prefix: "AKIA", Min: 16, Max: 16, Class: hook.AlnumUpper, Mask: "[aws-key]"}),
}

func init() { hook.Register(redact) }

func main() {}
