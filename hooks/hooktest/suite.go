package hooktest

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"cmd-exec-mcp/hooks/wasm/wat"
	"cmd-exec-mcp/runtime/job"
)

//go:embed suites guests
var files embed.FS

// Roles are the reference hooks, which the SDK of every language comes with: redact hides AWS key ids, mirror sets
// PIP_INDEX_URL and refuses to delete /.
func Roles() []string { return []string{"mirror", "redact"} }

// Suite is what a hook of a role must do, in any language. Kind: NotFound.
func Suite(role string) ([]Case, error) {
	b, err := files.ReadFile("suites/" + role + ".jsonl")
	if err != nil {
		return nil, job.Errorf(job.NotFound, "no role %q", role).WithHint("one of [%s]", strings.Join(Roles(), " "))
	}
	return ReadCases(bytes.NewReader(b))
}

// Guest is the reference module of a role, from text in this package. Kind: NotFound.
func Guest(role string) ([]byte, error) {
	src, err := files.ReadFile("guests/" + role + ".wat")
	if err != nil {
		return nil, job.Errorf(job.NotFound, "no role %q", role).WithHint("one of [%s]", strings.Join(Roles(), " "))
	}
	b, err := wat.Assemble(string(src))
	if err != nil {
		return nil, fmt.Errorf("guest %s: %w", role, err)
	}
	return b, nil
}
