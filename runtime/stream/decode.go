package stream

// Decoder is being written.
type Decoder struct{}

// NewDecoder is being written.
func NewDecoder(name string) (*Decoder, error) { return &Decoder{}, nil }

// Write is being written.
func (d *Decoder) Write(p []byte) []byte { return p }

// Flush is being written.
func (d *Decoder) Flush() []byte { return nil }
