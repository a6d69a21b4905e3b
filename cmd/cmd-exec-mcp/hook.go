package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cmd-exec-mcp/hooks/hooktest"
	"cmd-exec-mcp/hooks/sdk"
	"cmd-exec-mcp/hooks/wasm"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

func (a *app) hookVerb() *cobra.Command {
	verb := &cobra.Command{
		Use: "hook", Short: "Begin, inspect, test and try hooks in WebAssembly",
		Long: "A hook may change or refuse a command before it runs, and filter what it prints. `hook new` begins one; hooks/README.md is the ABI's page.",
	}
	verb.AddCommand(a.hookNewVerb(), a.hookInspectVerb(), a.hookTestVerb(), a.hookRunVerb(), a.hookListVerb())
	return verb
}

func (a *app) hookNewVerb() *cobra.Command {
	var lang string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Begin a hook: a folder with the SDK, a hook, its cases and how to build it", Args: cobra.ExactArgs(1),
		Example: "  cmd-exec-mcp hook new --lang go my-hook",
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := sdk.Write(args[0], lang, filepath.Base(args[0]))
			if err != nil {
				return &status{exitConfig, err}
			}
			for _, file := range files {
				fmt.Fprintln(a.stdout, file)
			}
			_, err = fmt.Fprintf(a.stdout, "\nnext: cd %s, read README.md, build, then: cmd-exec-mcp hook test FILE.wasm cases.jsonl\n", args[0])
			return err
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "go", "one of "+strings.Join(sdk.Languages(), ", "))
	return cmd
}

func (a *app) hookInspectVerb() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE.wasm", Short: "Say what a module is, and whether this server would load it; exit status 1 if not", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			info, err := wasm.Inspect(args[0])
			if err != nil {
				return &status{exitConfig, err}
			}
			out := json.NewEncoder(a.stdout)
			out.SetIndent("", "  ")
			if err := out.Encode(info); err != nil {
				return err
			}
			if info.Refused != "" {
				return &status{exitDefect, errors.New(info.Refused)}
			}
			return nil
		},
	}
}

// hookTestFlags are what `hook test` can do beside testing.
type hookTestFlags struct {
	update, bench bool
	log           bool
}

func (a *app) hookTestVerb() *cobra.Command {
	var f hookTestFlags
	cmd := &cobra.Command{
		Use: "test FILE.wasm cases.jsonl", Short: "Run a hook's cases: each text cut in every way, with the fuel counter and without", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookTest(cmd.Context(), args[0], args[1], f) },
	}
	cmd.Flags().BoolVar(&f.update, "update", false, "write what the hook did into the cases as what is wanted")
	cmd.Flags().BoolVar(&f.bench, "bench", false, "measure it as well")
	cmd.Flags().BoolVar(&f.log, "log", false, "show what the hook logs")
	return cmd
}

func (a *app) hookTest(ctx context.Context, module, path string, f hookTestFlags) error {
	cases, err := readCases(path)
	if err != nil {
		return &status{exitConfig, err}
	}
	options := hooktest.Options{Log: zerolog.Nop()}
	if f.log {
		options.Log = zerolog.New(zerolog.ConsoleWriter{Out: a.stderr, NoColor: true})
	}
	results, err := hooktest.Run(ctx, module, cases, options)
	if err != nil {
		return &status{exitConfig, err}
	}
	failed := a.showResults(results, f.update)
	if f.update {
		return rewriteCases(path, hooktest.Update(cases, results))
	}
	if f.bench {
		if err := a.hookBench(ctx, module, options); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &status{exitDefect, fmt.Errorf("%d of %d cases failed", failed, len(results))}
	}
	return nil
}

func readCases(path string) ([]hooktest.Case, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return hooktest.ReadCases(f)
}

func (a *app) showResults(results []hooktest.Result, update bool) (failed int) {
	for _, r := range results {
		verdict := "ok"
		if r.Failure != "" && !update {
			verdict = "FAIL"
			failed++
		}
		fmt.Fprintf(a.stdout, "%-4s %-32s %6d runs  fuel %d of %d  memory %d KiB\n", verdict, r.Name, r.Runs, r.Fuel, r.Budget, r.Memory>>10)
		if verdict == "FAIL" {
			fmt.Fprintf(a.stdout, "     %s\n", strings.ReplaceAll(r.Failure, "\n", "\n     "))
		}
	}
	fmt.Fprintf(a.stdout, "%d/%d\n", len(results)-failed, len(results))
	return failed
}

// rewriteCases replaces the file whole, so that a full disk leaves the old one.
func rewriteCases(path string, cases []hooktest.Case) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".cases-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(hooktest.WriteCases(f, cases), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func (a *app) hookBench(ctx context.Context, module string, o hooktest.Options) error {
	speeds, err := hooktest.Bench(ctx, module, nil, []int{4 << 10, 64 << 10, 1 << 20}, o)
	for _, s := range speeds {
		what := "pre_exec"
		if s.Size > 0 {
			what = fmt.Sprintf("filter %d KiB", s.Size>>10)
		}
		fmt.Fprintf(a.stdout, "%-16s median %s of %d, fuel %d\n", what, s.Median, s.Rounds, s.Fuel)
	}
	return err
}

func (a *app) hookRunVerb() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "run FILE.wasm -- 'COMMAND'", Short: "Show what a hook makes of a command; nothing is run", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := hooktest.Case{Name: "run", Pre: &hooktest.Pre{Command: strings.Join(args[1:], " "), Cwd: dir, Shell: "bash", Tool: "execute_local", Backend: "local"}}
			results, err := hooktest.Run(cmd.Context(), args[0], []hooktest.Case{c}, hooktest.Options{})
			if err != nil {
				return &status{exitConfig, err}
			}
			return json.NewEncoder(a.stdout).Encode(results[0].Got)
		},
	}
	cmd.Flags().StringVar(&dir, "cwd", "/", "the working directory that the hook is told")
	return cmd
}

func (a *app) hookListVerb() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the hooks of the config, tool by tool, in their order", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.load(zerolog.Nop())
			if err != nil {
				return err
			}
			for _, t := range c.Describe().Tools {
				for i, h := range t.Hooks {
					fmt.Fprintf(a.stdout, "%s\t%d\t%v\n", t.Name, i+1, h)
				}
			}
			return nil
		},
	}
}
