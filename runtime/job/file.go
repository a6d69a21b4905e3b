package job

import "time"

// FileRequest is one call of a file tool.
type FileRequest struct {
	Tool, Target, Session string
	Action                string // read write list delete exists mkdir stat
	Path                  string // absolute
	Content               []byte
	Offset, Limit         int64
}

// FileResult is its answer; which field is set follows from the action.
type FileResult struct {
	Data   []byte
	List   []FileInfo
	Stat   *FileInfo
	Exists bool
	Size   int64
	SHA256 string
}

// FileInfo describes a file.
type FileInfo struct {
	Name, Path string
	Type       string // file dir link other
	Size       int64
	Mode       uint32
	Modified   time.Time
}
