package policy

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// base cuts the directory off. A backslash separates too: a Windows path may stand in quotes in any shell, and for the
// blacklist the stricter reading counts.
func base(raw string) string {
	if i := strings.LastIndexAny(raw, `/\`); i >= 0 {
		return raw[i+1:]
	}
	return raw
}

// fold returns the form in which names are compared: no directory, one spelling of what looks alike, lower case, no
// executable suffix.
func fold(raw string) string {
	name := base(raw)
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || c == '.' || 'A' <= c && c <= 'Z' || c == ' ' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	if !ascii(name) {
		name = strings.Map(func(r rune) rune {
			if invisible(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, norm.NFKC.String(name))
		name = base(name) // NFKC makes a slash of a full-width one
	}
	name = strings.TrimRight(strings.ToLower(name), " ")
	for _, suffix := range [...]string{".exe", ".com", ".cmd", ".bat", ".ps1"} {
		if rest, ok := strings.CutSuffix(name, suffix); ok && rest != "" {
			return rest
		}
	}
	return name
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// invisible runes are dropped before comparing: format characters, fillers and variation selectors.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// canonical resolves a shell's own second names for a command.
func canonical(name, dialect string) string {
	switch dialect {
	case "cmd":
		if name == "erase" {
			return "del"
		}
	case "pwsh":
		if full, ok := pwshAlias(name); ok {
			return full
		}
	}
	return name
}

// pwshAlias returns the cmdlet behind one of PowerShell's aliases that the lists may hold.
func pwshAlias(name string) (string, bool) {
	switch name {
	case "rm", "ri", "del", "erase", "rd", "rmdir":
		return "remove-item", true
	case "ls", "dir", "gci":
		return "get-childitem", true
	case "cat", "type", "gc":
		return "get-content", true
	case "echo", "write":
		return "write-output", true
	case "pwd", "gl":
		return "get-location", true
	case "cd", "chdir", "sl":
		return "set-location", true
	case "cp", "copy", "cpi":
		return "copy-item", true
	case "mv", "move", "mi":
		return "move-item", true
	case "ps", "gps":
		return "get-process", true
	case "kill", "spps":
		return "stop-process", true
	case "iex":
		return "invoke-expression", true
	case "icm":
		return "invoke-command", true
	case "saps", "start":
		return "start-process", true
	case "curl", "wget", "iwr":
		return "invoke-webrequest", true
	case "irm":
		return "invoke-restmethod", true
	case "sc":
		return "set-content", true
	case "ni":
		return "new-item", true
	case "sajb":
		return "start-job", true
	case "sal":
		return "set-alias", true
	case "nal":
		return "new-alias", true
	case "ipmo":
		return "import-module", true
	case "%", "foreach":
		return "foreach-object", true
	case "?", "where":
		return "where-object", true
	}
	return "", false
}
