package stream

// Fold is being written.
func Fold(p []byte) []byte { return p }

// IsBinary is being written.
func IsBinary(p []byte) bool { return false }

// Repair is being written.
func Repair(p []byte) []byte { return p }
