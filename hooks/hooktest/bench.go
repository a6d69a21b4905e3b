package hooktest

import (
	"context"
	"slices"
	"strings"
	"time"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm"
	"cmd-exec-mcp/runtime/job"
)

// Speed is how long a filter needs for a text of a size; of pre_exec, Size is 0.
type Speed struct {
	Size   int
	Rounds int
	Median time.Duration
	Fuel   int64 // of the most expensive call
}

// benchTime is how long each size is measured.
const benchTime = 300 * time.Millisecond

// Bench measures pre_exec, and filter over log-like text of each size.
func Bench(ctx context.Context, path string, config map[string]any, sizes []int, o Options) ([]Speed, error) {
	var r Result
	h, err := open(ctx, path, Case{Config: config}, o, "", false, r.note())
	if err != nil {
		return nil, err
	}
	defer h.Close(ctx)
	var speeds []Speed
	for _, size := range append([]int{0}, sizes...) {
		r.Fuel, r.Budget = 0, 0
		s, err := measure(ctx, h, size)
		if err != nil {
			return speeds, err
		}
		s.Fuel = r.Fuel
		speeds = append(speeds, s)
	}
	return speeds, nil
}

func measure(ctx context.Context, h *wasm.Hook, size int) (Speed, error) {
	text := logText(size)
	req := Case{}.request()
	_, tap, err := h.Begin(ctx, req)
	if err != nil {
		return Speed{}, err
	}
	var times []time.Duration
	for began := time.Now(); time.Since(began) < benchTime || len(times) < 5; {
		started := time.Now()
		if size == 0 {
			_, _, err = h.Begin(ctx, req)
		} else if tap != nil {
			_, err = tap.Output(ctx, job.Stdout, text, hooks.Final)
		}
		if err != nil {
			return Speed{}, err
		}
		times = append(times, time.Since(started))
	}
	return Speed{Size: size, Rounds: len(times), Median: median(times)}, nil
}

// logText is lines as programs print them, with a key to hide in one of twenty-five.
func logText(size int) []byte {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		line := "2024-05-01T12:00:00Z INFO worker: request done in 12ms status=200 path=/api/v1/items\n"
		if n%25 == 7 {
			line = "2024-05-01T12:00:00Z DEBUG auth: using AKIAIOSFODNN7EXAMPLE for this request\n"
		}
		b.WriteString(line)
	}
	return []byte(b.String()[:size])
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
