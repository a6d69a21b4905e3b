// Command cmd-exec-mcp runs commands for AI agents: an MCP server on stdio, and the same engine from a terminal.
//
// Who speaks where: stdout belongs to JSON-RPC while serving, and to the command's output or the asked-for text in every
// other verb. Everything else goes to stderr or the log: lower case, no full stop, and what to do about it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"cmd-exec-mcp/runtime/config"
	"cmd-exec-mcp/runtime/job"
	"github.com/spf13/cobra"
)

// Exit statuses of our own; `exec` passes the command's on otherwise.
const (
	exitDefect  = 1   // a failed check, or a defect of ours
	exitConfig  = 2   // the configuration or the command line
	exitTimeout = 124 // as timeout(1)
	exitFailed  = 125 // exec itself failed
	exitDenied  = 126 // policy said no
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: tests drive it through the binary.
func run(args []string, stdin *os.File, stdout, stderr *os.File) int {
	root := rootCommand(&app{stdin: stdin, stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return 0
	}
	return report(stderr, err)
}

// status is an error that carries an exit status; with a nil cause there is nothing to print.
type status struct {
	code  int
	cause error
}

func (s *status) Error() string {
	if s.cause == nil {
		return fmt.Sprintf("exit status %d", s.code)
	}
	return s.cause.Error()
}

func (s *status) Unwrap() error { return s.cause }

// report prints an error and what to do about it, and returns the exit status.
func report(w io.Writer, err error) int {
	code := exitDefect
	s, isStatus := errors.AsType[*status](err)
	if isStatus {
		code = s.code
		if s.cause == nil {
			return code
		}
	}
	if mistakes, ok := errors.AsType[config.Errors](err); ok {
		for _, m := range mistakes {
			fmt.Fprintln(w, m)
		}
		return exitConfig
	}
	fmt.Fprintf(w, "cmd-exec-mcp: %v\n", err)
	if e, ok := errors.AsType[*job.Error](err); ok && e.Hint != "" {
		fmt.Fprintf(w, "  hint: %s\n", e.Hint)
	}
	return code
}

// app is what the verbs share.
type app struct {
	stdin          *os.File
	stdout, stderr *os.File
	configFlag     string
	dataFlag       string
	logLevel       string
}

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "cmd-exec-mcp",
		Short: "Run commands for AI agents, under rules that you write",
		Long: `cmd-exec-mcp is an MCP server that runs commands for AI agents.

Without a verb it serves MCP on stdin and stdout; that is what a client like
Claude, Cursor or VS Code starts:

  {"mcpServers": {"cmd-exec": {"command": "cmd-exec-mcp"}}}

What may run, where, and under which rules stands in config.star. Without one a
built-in config applies: commands on this host, with a short blacklist.`,
		Example: `  cmd-exec-mcp demo                        see an agent's session, nothing to set up
  cmd-exec-mcp init                        write a config.star to start from
  cmd-exec-mcp check                       what the config means, and what is wrong with it
  cmd-exec-mcp exec local -- 'echo hi'     run a command as an agent would`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context()) },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFlag, "config", "", "the config.star to use (default: $CMD_EXEC_MCP_CONFIG, then the user's config folder, then the built-in one)")
	flags.StringVar(&a.dataFlag, "data", "", "folder for the log, spill files and caches (default: the user's state folder)")
	flags.StringVar(&a.logLevel, "log-level", "", "debug, info, warning or error (default: as the config says)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &status{exitConfig, err} })
	root.AddCommand(a.execVerb(), a.checkVerb(), a.initVerb(), a.doctorVerb(), a.demoVerb(), a.policyVerb(), a.hookVerb(), a.stubVerb(), a.versionVerb())
	root.CompletionOptions.DisableDefaultCmd = false
	return root
}
