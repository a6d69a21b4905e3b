package local

import (
	"encoding/base64"
	"encoding/binary"
	"unicode/utf16"

	"cmd-exec-mcp/runtime/job"
)

// arguments is what is started for cmd: the text goes straight to its shell, in one argument, never through a string
// that a second shell would read. The `--` matters: after -c a text that begins with - or + would be read as options.
func (b *backend) arguments(cmd job.Command) []string {
	if len(cmd.Argv) > 0 {
		return cmd.Argv
	}
	switch cmd.Shell {
	case "bash":
		return []string{"bash", "--noprofile", "--norc", "-c", "--", cmd.Script}
	case "zsh":
		return []string{"zsh", "-f", "-c", "--", cmd.Script}
	case "pwsh":
		return []string{"pwsh", "-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded(cmd.Script)}
	case "wsl":
		return []string{"wsl.exe", "-d", b.config.WSLDistro, "-u", b.config.WSLUser, "--exec", "bash", "--noprofile", "--norc", "-c", "--", cmd.Script}
	}
	return []string{cmd.Shell, "-c", "--", cmd.Script}
}

// encoded is a PowerShell text as -EncodedCommand takes it, so that no quoting is involved.
func encoded(script string) string {
	var raw []byte
	for _, unit := range utf16.Encode([]rune(script)) {
		raw = binary.LittleEndian.AppendUint16(raw, unit)
	}
	return base64.StdEncoding.EncodeToString(raw)
}
