package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cmd-exec-mcp/runtime/config"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

func (a *app) checkVerb() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Evaluate the config and print what it means",
		Long:  "check evaluates the config that would be used and prints what it means. Every mistake is printed with its line and how to write it; the exit status is then 2.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.load(zerolog.New(textLog(a.stderr)).With().Timestamp().Logger())
			if err != nil {
				return err
			}
			return a.describe(c, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) describe(c *config.Config, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(a.stdout)
		out.SetIndent("", "  ")
		return out.Encode(c.Describe())
	}
	_, err := fmt.Fprintf(a.stdout, "config: %s\n%s", source(c), c.Describe())
	return err
}

func (a *app) stubVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "stub",
		Short: "Print config.star's language as a typed stub for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.stdout, config.Stub(options(zerolog.Nop())))
			return err
		},
	}
}

func (a *app) initVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a config.star to start from",
		Long:  "init writes the built-in config, with its comments, where the server looks for one. An existing file is left alone.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := initPath(args)
			if err != nil {
				return err
			}
			return a.initConfig(path)
		},
	}
}

func initPath(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("finding the config folder: %w", err)
	}
	return filepath.Join(dir, "cmd-exec-mcp", "config.star"), nil
}

func (a *app) initConfig(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the config folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return &status{exitDefect, fmt.Errorf("%s is there already and was left alone", path)}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(builtin())
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "wrote %s\nedit it, then run: cmd-exec-mcp check\n", path)
	return err
}
