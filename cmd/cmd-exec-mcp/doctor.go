package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"time"

	"cmd-exec-mcp/runtime/config"
	"cmd-exec-mcp/runtime/job"
	"github.com/spf13/cobra"
)

// doctorWithin bounds all checks together: a backend that does not answer is a finding, not a hang.
const doctorWithin = 30 * time.Second

func (a *app) doctorVerb() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that what the config names is there and works",
		Long:  "doctor asks every backend of the config how it is: one line each with ok, warning or failed, and how to mend it. The exit status is 1 if anything failed.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), doctorWithin)
			defer cancel()
			o, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer o.close()
			checks := append(a.ownChecks(o.config), o.Check(ctx)...)
			return a.showChecks(checks, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// ownChecks are about the config itself.
func (a *app) ownChecks(c *config.Config) []job.Check {
	checks := []job.Check{{Name: "config", Detail: source(c)}}
	for _, file := range c.Files {
		info, err := os.Stat(file)
		if err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSymlink == 0 {
			checks = append(checks, job.Check{
				Name: "config", Level: job.Warning, Detail: file + " can be written by others",
				Fix: "chmod go-w " + file,
			})
		}
	}
	for _, warning := range c.Warnings {
		checks = append(checks, job.Check{Name: "policy", Level: job.Warning, Detail: warning, Fix: "see \"What is a boundary and what is not\" in the README"})
	}
	return checks
}

var levels = map[job.Level]string{job.OK: "ok", job.Warning: "warning", job.Failed: "failed"}

func (a *app) showChecks(checks []job.Check, asJSON bool) error {
	type line struct {
		Name   string `json:"name"`
		Level  string `json:"level"`
		Detail string `json:"detail"`
		Fix    string `json:"fix,omitempty"`
	}
	lines, failed := []line{}, false
	for _, c := range checks {
		lines = append(lines, line{c.Name, levels[c.Level], c.Detail, c.Fix})
		failed = failed || c.Level == job.Failed
	}
	if asJSON {
		if err := json.NewEncoder(a.stdout).Encode(lines); err != nil {
			return err
		}
	} else {
		for _, l := range lines {
			fmt.Fprintf(a.stdout, "%-8s %-10s %s\n", l.Level, l.Name, l.Detail)
			if l.Fix != "" {
				fmt.Fprintf(a.stdout, "%19s %s\n", "fix:", l.Fix)
			}
		}
	}
	if failed {
		return &status{exitDefect, nil}
	}
	return nil
}
