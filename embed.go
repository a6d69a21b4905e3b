// Package cmdexecmcp holds the default configuration. It stands at the root because go:embed cannot reach upwards.
package cmdexecmcp

import _ "embed"

// Config is the config.star that is used when no other is named.
//
//go:embed config.star
var Config string
