package hooktest

import (
	"context"
	"fmt"
	"strings"

	"cmd-exec-mcp/hooks"
	"cmd-exec-mcp/hooks/wasm"
)

// Longer texts are cut in fewer ways unless a case asks for every one: the number of two-point cuts grows with the square.
const (
	twoPoints = 200
	onePoint  = 20_000
)

// filter runs the case's text whole, then cut in every way that the case asks for. The results must be the same.
func (r *Result) filter(ctx context.Context, h *wasm.Hook, c Case) Want {
	whole := stream(ctx, h, c, []string{*c.Filter})
	r.Runs++
	if whole.Output == nil {
		return whole
	}
	cuts(c, func(chunks []string) bool {
		r.Runs++
		got := stream(ctx, h, c, chunks)
		if got.Output != nil && *got.Output == *whole.Output {
			return true
		}
		if r.Failure == "" {
			r.Failure = difference(fmt.Sprintf("cut as %q it gives something else", chunks), whole, got)
		}
		return false
	})
	return whole
}

// cuts calls try with ways of cutting the text until it returns false.
func cuts(c Case, try func(chunks []string) bool) {
	text := *c.Filter
	if c.Cuts == "none" {
		return
	}
	if text != "" && !try(append(strings.Split(text, ""), "")) || !try([]string{text, ""}) {
		return
	}
	bytes := make([]string, len(text))
	for i := range bytes {
		bytes[i] = text[i : i+1]
	}
	if len(bytes) > 0 && !try(bytes) {
		return
	}
	every := c.Cuts == "every"
	for i := 1; i < len(text) && (every || len(text) <= onePoint); i++ {
		if !try([]string{text[:i], text[i:]}) {
			return
		}
	}
	for i := 1; i < len(text) && (every || len(text) <= twoPoints); i++ {
		for j := i + 1; j < len(text); j++ {
			if !try([]string{text[:i], text[i:j], text[j:]}) {
				return
			}
		}
	}
}

// stream runs one job whose output comes in chunks; the last one is final, and so is the other stream's empty one.
func stream(ctx context.Context, h *wasm.Hook, c Case, chunks []string) Want {
	_, tap, err := h.Begin(ctx, c.request())
	if err != nil {
		return failed(err)
	}
	var out strings.Builder
	for i, chunk := range chunks {
		if tap == nil {
			out.WriteString(chunk)
			continue
		}
		var f hooks.Flags
		if i == len(chunks)-1 {
			f = hooks.Final
		}
		b, err := tap.Output(ctx, c.streamOf(), []byte(chunk), f)
		if err != nil {
			return failed(err)
		}
		out.Write(b)
	}
	text := out.String()
	return Want{Output: &text}
}
