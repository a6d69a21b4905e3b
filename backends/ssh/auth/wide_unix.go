//go:build unix

package auth

import "io/fs"

// wide: others than the owner can read it.
func wide(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
