package docker

import (
	"encoding/json"
	"os"
)

// Labels on everything we make. Neither ever holds anything of a command.
const (
	labelOwner   = "cmd-exec-mcp.owner"
	labelCreated = "cmd-exec-mcp.created"
	labelRole    = "cmd-exec-mcp.role" // pool, command, session, probe or files
)

// owner says which server made a container, precisely enough to tell whether that server is still there.
type owner struct {
	Instance string `json:"instance"`
	Host     string `json:"host"` // with the process namespace: pids mean something only within it
	Boot     string `json:"boot"` // of this host's present boot, "" where the system does not say
	PID      int    `json:"pid"`
	Start    string `json:"start"` // when the process began: a pid comes again
}

func newOwner(instance string) owner {
	pid := os.Getpid()
	return owner{Instance: instance, Host: hostID(), Boot: bootID(), PID: pid, Start: startOf(pid)}
}

func (o owner) String() string {
	raw, _ := json.Marshal(o) // strings and a number
	return string(raw)
}

func parseOwner(s string) (o owner, ok bool) {
	return o, json.Unmarshal([]byte(s), &o) == nil && o.Host != "" && o.PID > 0
}

// gone says that o ran on this host and runs no more. Of another host nothing can be known, so it is never gone.
func (o owner) gone(me owner) bool {
	if o.Host != me.Host {
		return false
	}
	if o.Boot != me.Boot {
		return true
	}
	return !alive(o.PID) || o.Start != startOf(o.PID)
}
