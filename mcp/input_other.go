//go:build !unix

package mcp

import "io"

// pollable has nothing to do where files are read in another way.
func pollable(in io.Reader) (io.Reader, func()) { return in, func() {} }
