package stream

import "regexp"

// Tail copies the last n lines, an unfinished one included.
func (l *Log) Tail(n int) View {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.view(max(l.lineStart(int64(n)), l.tailStart()), 0)
	v.end = true
	return v
}

// Grep is being written.
func (l *Log) Grep(re *regexp.Regexp, from int64, limit int) View {
	return l.View(from, limit)
}
