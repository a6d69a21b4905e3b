//go:build linux

package main

func (l *lab) soak() error { return nil }
