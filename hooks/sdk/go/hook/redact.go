package hook

import "bytes"

// Token is a shape of secrets: a prefix, then from Min to Max characters of a class.
type Token struct {
	Prefix   string
	Min, Max int
	Class    func(byte) bool
	Mask     string // what is shown instead
}

// AlnumUpper is a class: A to Z and 0 to 9.
func AlnumUpper(b byte) bool { return 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' }

// Alnum is a class: letters and digits.
func Alnum(b byte) bool { return AlnumUpper(b) || 'a' <= b && b <= 'z' }

// Word is a class: letters, digits, _ and -.
func Word(b byte) bool { return Alnum(b) || b == '_' || b == '-' }

// Redact is a Filter that masks tokens, however the output is cut. Where two begin at the same place, the first in the list
// wins. A token that a pause or the end of a chunk cuts is held back until it is clear, at most its own length: Max may be up
// to MaxKeep.
func Redact(tokens ...Token) func(c *Chunk) (keep int, err error) {
	starts := ""
	for _, t := range tokens {
		starts += t.Prefix[:1]
	}
	return func(c *Chunk) (int, error) {
		shown, at := 0, 0
		for at < len(c.In) {
			n := bytes.IndexAny(c.In[at:], starts)
			if len(starts) == 1 {
				n = bytes.IndexByte(c.In[at:], starts[0])
			}
			if n < 0 {
				break
			}
			at += n
			token, size := find(tokens, c.In[at:], c.Final())
			if size == undecided {
				c.Write(c.In[shown:at])
				return len(c.In) - at, nil
			}
			if size == 0 {
				at++
				continue
			}
			c.Write(c.In[shown:at])
			c.Write([]byte(token.Mask))
			if c.Hidden != nil {
				c.Hidden()
			}
			at += size
			shown = at
		}
		c.Write(c.In[shown:])
		return 0, nil
	}
}

const undecided = -1

// find says which token text begins with and its length: 0 for none, undecided if more text could make it one or longer.
func find(tokens []Token, text []byte, final bool) (*Token, int) {
	for i := range tokens {
		if size := tokens[i].match(text, final); size != 0 {
			return &tokens[i], size
		}
	}
	return nil, 0
}

func (t *Token) match(text []byte, final bool) int {
	if n := min(len(text), len(t.Prefix)); string(text[:n]) != t.Prefix[:n] {
		return 0
	}
	n := len(t.Prefix)
	for n < len(text) && n < len(t.Prefix)+t.Max && t.Class(text[n]) {
		n++
	}
	switch {
	case n >= len(text) && n < len(t.Prefix)+t.Max && !final:
		return undecided
	case n < len(t.Prefix)+t.Min || n > len(text):
		return 0
	}
	return n
}
