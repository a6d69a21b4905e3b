package policy

import "strings"

// awkToken is as much of an awk program as finding its commands needs.
type awkToken struct {
	kind byte // 's' string, 'r' regular expression, 'w' word, or the operator itself
	text string
}

// awkCommands returns the strings that the program gives to a shell, and whether there is one that is not literal.
func awkCommands(src string) (codes []string, unclear bool) {
	tokens := awkTokens(src)
	at := func(i int) awkToken {
		if i >= 0 && i < len(tokens) {
			return tokens[i]
		}
		return awkToken{}
	}
	add := func(t awkToken) {
		if t.kind == 's' {
			codes = append(codes, t.text)
		} else {
			unclear = true
		}
	}
	for i, t := range tokens {
		switch {
		case t.kind == 'w' && t.text == "system" && at(i+1).kind == '(':
			add(at(i + 2))
		case t.kind == '|' && at(i+1).kind == 'w' && at(i+1).text == "getline":
			// The command may be a concatenation: its first piece decides.
			j := i - 1
			for j > 0 && (at(j-1).kind == 's' || at(j-1).kind == 'w' || at(j-1).kind == '$') && at(j-1).text != "print" && at(j-1).text != "while" {
				j--
			}
			add(at(j))
		case t.kind == '|':
			add(at(i + 1))
		case t.kind == '@':
			unclear = true // @load, or an indirect call
		}
	}
	return codes, unclear
}

func awkTokens(src string) []awkToken {
	var out []awkToken
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			i++
		case strings.HasPrefix(src[i:], "\\\n"):
			i += 2
		case c == '#':
			end := strings.IndexByte(src[i:], '\n')
			if end < 0 {
				return out
			}
			i += end
		case c == '"':
			text, next := awkString(src, i+1)
			out = append(out, awkToken{'s', text})
			i = next
		case c == '/' && regexMayStart(out):
			next := sedDelimited(src, i+1, '/')
			out = append(out, awkToken{'r', src[i:next]})
			i = next
		case c == '|' && strings.HasPrefix(src[i:], "||"):
			out = append(out, awkToken{'o', "||"})
			i += 2
		case c == '|' && strings.HasPrefix(src[i:], "|&"):
			out = append(out, awkToken{'|', "|&"})
			i += 2
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.':
			j := i
			for j < len(src) && (src[j] == '_' || src[j] == '.' || 'a' <= src[j] && src[j] <= 'z' || 'A' <= src[j] && src[j] <= 'Z' || '0' <= src[j] && src[j] <= '9') {
				j++
			}
			out = append(out, awkToken{'w', src[i:j]})
			i = j
		default:
			out = append(out, awkToken{c, src[i : i+1]})
			i++
		}
	}
	return out
}

// awkString decodes a string up to its closing quote.
func awkString(src string, i int) (string, int) {
	var b strings.Builder
	for i < len(src) && src[i] != '"' {
		if src[i] == '\\' && i+1 < len(src) {
			i++
			switch src[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '\n': // a continued line
			case 'x', '0', '1', '2', '3', '4', '5', '6', '7':
				b.WriteString("$(") // a character behind a number: nothing that could be told
			default:
				b.WriteByte(src[i])
			}
			i++
			continue
		}
		b.WriteByte(src[i])
		i++
	}
	return b.String(), min(i+1, len(src))
}

// regexMayStart: after a value a slash divides.
func regexMayStart(before []awkToken) bool {
	if len(before) == 0 {
		return true
	}
	switch last := before[len(before)-1]; last.kind {
	case 's', 'r', ')', ']':
		return false
	case 'w':
		return last.text == "print" || last.text == "return" || last.text == "in"
	}
	return true
}
