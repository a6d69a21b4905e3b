package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cmd-exec-mcp/hooks"
)

// TestCloseGivesUp: a hook that never returns keeps its job from being over, and must not keep the server from ending.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		hanging := tapFunc{func(p []byte, f hooks.Flags) ([]byte, error) {
			if f&hooks.Final != 0 {
				<-stuck
			}
			return p, nil
		}}
		table := NewTable(testLimits, nil)
		spec := detached()
		spec.Taps = []Tap{{Name: "hanging", Tap: hanging}}
		startScripted(t, table, spec)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		table.Close(ctx)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("took %s, want all of the 10 s that it had", took)
		}
		close(stuck)
		synctest.Wait()
	})
}
