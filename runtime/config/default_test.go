package config

import (
	"strings"
	"testing"
	"time"

	cmdexecmcp "cmd-exec-mcp"
	"cmd-exec-mcp/backends/all"
	"cmd-exec-mcp/runtime/job"
)

// TestDefaultConfig holds the built-in config to the values that it is meant to have, with the real drivers.
func TestDefaultConfig(t *testing.T) {
	o := options()
	o.Backends = all.Drivers()
	cfg, err := Parse("config.star", []byte(cmdexecmcp.Config), "", o)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Tools[0].Name != "execute_local" || cfg.Tools[0].Kind != job.ShellTool {
		t.Errorf("the first tool is %s", cfg.Tools[0].Name)
	}
	if d := cfg.Defaults; d.Timeout != 30*time.Second || d.OutputLimit != 8000 || d.AliveTimeout != 300*time.Second ||
		d.SessionMaxLines != 10000 || d.SessionMaxBytes != 10<<20 {
		t.Errorf("got %+v", d)
	}
	text := cfg.Describe().String()
	for _, want := range []string{
		`mode: "restricted"`, `list: "blacklist"`, `blacklist: ["rm", "del", "shutdown", "reboot", "format", "dd"]`,
		`whitelist: ["ls", "dir", "git", "python", "echo", "cat", "type", "pwd", "cd"]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
	if len(cfg.Warnings) > 0 {
		t.Logf("warnings: %q", cfg.Warnings)
	}
}
