// Package all lists the backends that config.star may name.
package all

import (
	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/backends/docker"
	"cmd-exec-mcp/backends/local"
	"cmd-exec-mcp/backends/ssh"
)

// Drivers returns a driver for each kind of backend.
func Drivers() []backends.Driver {
	return []backends.Driver{
		local.Driver,
		docker.Driver,
		ssh.Driver,
	}
}
