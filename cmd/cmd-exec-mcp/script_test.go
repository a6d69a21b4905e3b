package main

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts plays the verbs as a person at a terminal uses them, in a home of its own.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of these scripts are written for a POSIX shell")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			return nil
		},
	})
}
