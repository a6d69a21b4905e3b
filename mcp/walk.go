package mcp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// member is one name and value of a JSON object, the value as it was written.
type member struct {
	name  string
	value []byte
}

// members returns what stands in a JSON object, in order and with duplicates, which encoding/json would hide: it takes the
// last of two equal names, and in structs also names in another case. raw must be valid JSON; ok is false if it is no object.
func members(raw []byte) (list []member, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	i := skipSpace(raw, 1)
	for i < len(raw) && raw[i] == '"' {
		end := skipValue(raw, i)
		name := unquote(raw[i:end])
		i = skipSpace(raw, end)
		i = skipSpace(raw, i+1) // the colon
		end = skipValue(raw, i)
		list = append(list, member{name, raw[i:end]})
		i = skipSpace(raw, end)
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return list, true
}

// twice returns a name that a list has more than once.
func twice(list []member) (string, bool) {
	if len(list) <= 16 { // nearly always; no map is made then
		for i := range list {
			for j := range i {
				if list[i].name == list[j].name {
					return list[i].name, true
				}
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(list))
	for _, m := range list {
		if seen[m.name] {
			return m.name, true
		}
		seen[m.name] = true
	}
	return "", false
}

// elements is members for arrays.
func elements(raw []byte) (list [][]byte, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	i := skipSpace(raw, 1)
	for i < len(raw) && raw[i] != ']' {
		end := skipValue(raw, i)
		list = append(list, raw[i:end])
		i = skipSpace(raw, end)
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return list, true
}

// unquote returns the text of a valid JSON string literal.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil { // cannot be: the whole message was checked
		return ""
	}
	return s
}

func isNull(raw []byte) bool { return len(raw) == 4 && raw[0] == 'n' }

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the index after the value that begins at i.
func skipValue(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		depth := 0
		for ; i < len(raw); i++ {
			switch raw[i] {
			case '"':
				i = skipString(raw, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return i
	}
	for i < len(raw) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(raw[i])) {
		i++
	}
	return i
}

func skipString(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}
