package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"cmd-exec-mcp/mcp"
)

// gcPercent keeps the server small beside what it runs: it cuts a tenth to a fifth of its memory at its peak, and costs
// no processor time that could be measured.
const gcPercent = 50

// serve speaks MCP on stdin and stdout until the client goes away or a signal comes; then it ends what runs. HUP is no
// reload: it means that the terminal is gone. A client that went away must not kill us in the middle of cleaning up,
// so SIGPIPE is ignored.
func (a *app) serve(ctx context.Context) error {
	out := a.stdout
	os.Stdout = os.Stderr // nothing else may ever write to JSON-RPC's stream
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	load := newScheduler()
	dropTerminal()
	growPipe(out)
	if isTerminal(a.stdin) {
		fmt.Fprintln(a.stderr, "cmd-exec-mcp: this is an MCP server: it waits for JSON-RPC on stdin. Try `cmd-exec-mcp demo` or `cmd-exec-mcp --help`; ctrl-d ends it.")
	}
	o, err := a.open(ctx)
	if err != nil {
		return err
	}
	server := mcp.New(o.Engine, mcp.Options{
		Version: version(), Log: o.log.With().Str("name", "mcp").Logger(),
		Load:   load.add,
		Ending: func() { go o.EndAll(context.WithoutCancel(ctx)) }, // sessions go down the ladder together with the calls
	})
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	go a.watch(ctx, o, server)
	served := server.Serve(ctx, a.stdin, out)
	hang := time.AfterFunc(closeWithin+100*time.Millisecond, func() { os.Exit(exitDefect) })
	defer hang.Stop()
	closed := o.close()
	if served != nil {
		return served
	}
	return closed
}
