package runtime

import (
	"context"

	"cmd-exec-mcp/runtime/job"
)

// SessionRead returns output of a session. Kinds: NotFound, Invalid, Canceled.
func (e *Engine) SessionRead(ctx context.Context, r job.Read) (job.Result, error) {
	j, err := e.table.Get(r.Tool, r.Session)
	if err != nil {
		return job.Result{}, err
	}
	if r.WaitFor != "" && r.Wait == 0 {
		r.Wait = handOver
	}
	return j.Read(ctx, r)
}

// SessionSend types into a session and returns what came since. Kinds: NotFound, Invalid, Denied, Busy, Canceled.
func (e *Engine) SessionSend(ctx context.Context, in job.Input) (job.Result, error) {
	j, err := e.table.Get(in.Tool, in.Session)
	if err != nil {
		return job.Result{}, err
	}
	if in.WaitFor != "" && in.Wait == 0 {
		in.Wait = handOver
	}
	e.log.Info().Str("name", "session").Msgf("send to %s: %d bytes", in.Session, len(in.Data))
	return j.Send(ctx, in)
}

// SessionKill ends a session by the ladder and returns its last output. Kind: NotFound.
func (e *Engine) SessionKill(ctx context.Context, tool, id string) (job.Result, error) {
	j, err := e.table.Get(tool, id)
	if err != nil {
		return job.Result{}, err
	}
	e.log.Info().Str("name", "session").Msgf("kill %s", id)
	return j.Kill(ctx)
}

// EndAll ends every command by the ladder, side by side. Nothing can be started any more. Close does so too; this is for a
// server that still answers calls.
func (e *Engine) EndAll(ctx context.Context) { e.table.Close(ctx) }

// Sessions lists a tool's sessions, ended ones that can still be read included.
func (e *Engine) Sessions(tool string) []job.SessionInfo { return e.table.List(tool) }
