//go:build !unix

package docker

import "os"

func ownerOf(os.FileInfo) int { return -1 }

func stopOrGo(int, bool) error { return os.ErrInvalid }
