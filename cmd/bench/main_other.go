//go:build !linux

package main

import (
	"fmt"
	"os"
)

// What is measured, and how (/proc, cgroups), is Linux's.
func main() {
	fmt.Fprintln(os.Stderr, "bench: the benchmarks run on Linux only")
	os.Exit(1)
}
