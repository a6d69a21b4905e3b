//go:build !linux

package local

// ofSystem knows no portable way to look.
func ofSystem() map[string]bool { return nil }

func serverRole()   {}
func firstRole()    {}
func terminalRole() {}
