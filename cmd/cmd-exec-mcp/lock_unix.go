//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeLock locks a file for as long as this process lives; it fails with errLocked while another process holds it.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, errLocked
	}
	return f, nil
}
