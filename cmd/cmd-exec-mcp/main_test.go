package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this test binary be cmd-exec-mcp itself, so that the race detector watches the server that tests start.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cmd-exec-mcp": main})
}
