//go:build !race

package wasm

// raceEnabled: the race detector slows the compiler down tenfold and keeps shadows of memory.
const raceEnabled = false
