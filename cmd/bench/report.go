//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

// limit is what a value must reach, and what it should.
type limit struct {
	bar, goal float64
	atLeast   bool // more is better
}

// report prints a line.
func report(id string, value float64, l limit, format string, args ...any) {
	verdict := "short"
	if value <= l.bar && !l.atLeast || value >= l.bar && l.atLeast {
		verdict = "ok"
	}
	fmt.Printf("%-6s %10s %10s %10s %-5s %s\n", id, figure(value), figure(l.bar), figure(l.goal), verdict, fmt.Sprintf(format, args...))
}

func figure(v float64) string {
	switch {
	case v == float64(int64(v)):
		return fmt.Sprintf("%d", int64(v))
	case v < 10:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// pairs are the times, in seconds, of two things that were done in turns.
type pairs struct{ ours, other []float64 }

// timed does something and says how long it took, by its own clock if it has one.
type timed func() (time.Duration, error)

// alternate runs both n times, the first one first in every second round. A few rounds before warm up.
func alternate(n int, ours, other timed) (pairs, error) {
	var p pairs
	for i := -3; i < n; i++ {
		a, b := ours, other
		if i%2 == 0 {
			a, b = b, a
		}
		first, err := a()
		if err != nil {
			return p, err
		}
		second, err := b()
		if err != nil {
			return p, err
		}
		if i%2 == 0 {
			first, second = second, first
		}
		if i >= 0 {
			p.ours, p.other = append(p.ours, first.Seconds()), append(p.other, second.Seconds())
		}
	}
	return p, nil
}

// ratio is the lowest block's median of the rounds' ratios.
func (p pairs) ratio() float64 {
	ratios := make([]float64, len(p.ours))
	for i := range ratios {
		ratios[i] = p.ours[i] / p.other[i]
	}
	return lowest(ratios, median)
}

// difference is the lowest block's median of the rounds' differences.
func (p pairs) difference() time.Duration {
	diffs := make([]float64, len(p.ours))
	for i := range diffs {
		diffs[i] = p.ours[i] - p.other[i]
	}
	return seconds(lowest(diffs, median))
}

// tail is the lowest block's ratio of both 99th percentiles.
func (p pairs) tail() float64 {
	return slices.Min([]float64{
		block(p.ours, 0, p99) / block(p.other, 0, p99),
		block(p.ours, 1, p99) / block(p.other, 1, p99),
		block(p.ours, 2, p99) / block(p.other, 2, p99),
	})
}

const blocks = 3

// block is a statistic of the i-th third of a series.
func block(series []float64, i int, of func([]float64) float64) float64 {
	size := max(1, len(series)/blocks)
	begin := min(i*size, len(series)-1)
	return of(series[begin:min(begin+size, len(series))])
}

// lowest is the best of three blocks: contention comes in spells.
func lowest(series []float64, of func([]float64) float64) float64 {
	return min(block(series, 0, of), block(series, 1, of), block(series, 2, of))
}

func median(series []float64) float64 { return quantile(series, 0.5) }
func p99(series []float64) float64    { return quantile(series, 0.99) }
func most(series []float64) float64   { return slices.Max(series) }

func quantile(series []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(series))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func milliseconds(s float64) float64 { return s * 1000 }

// both says the two medians, for a reader who wants absolute times.
func (p pairs) both(other string) string {
	return fmt.Sprintf("(%.3f ms; %s %.3f ms)", milliseconds(median(p.ours)), other, milliseconds(median(p.other)))
}
