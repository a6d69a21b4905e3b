//go:build !linux

package mcp

import "io"

func growPipe(io.Writer) {}
