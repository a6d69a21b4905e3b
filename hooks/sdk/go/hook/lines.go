package hook

import "bytes"

// Lines is a Filter over whole lines. show gets each with its end, and returns what to show of it: nil drops it. The last
// line of a stream and a prompt come without an end, and a line of more than MaxKeep bytes comes in pieces of that size.
func Lines(show func(c *Chunk, line []byte) []byte) func(c *Chunk) (keep int, err error) {
	return func(c *Chunk) (int, error) {
		in := c.In
		for len(in) > 0 {
			end := bytes.IndexByte(in[:min(len(in), MaxKeep)], '\n') + 1
			switch {
			case end > 0:
			case len(in) >= MaxKeep:
				end = MaxKeep
			case c.Final() || c.Idle():
				end = len(in)
			default:
				return len(in), nil
			}
			c.Write(show(c, in[:end]))
			in = in[end:]
		}
		return 0, nil
	}
}
