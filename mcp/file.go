package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"

	"cmd-exec-mcp/runtime/job"
)

// file is a call of a file tool.
func (c *call) file(ctx context.Context) (answer, error) {
	c.out.file = true
	req := c.fileRequest()
	if c.args.err != nil {
		return answer{}, c.args.err
	}
	r, err := c.engine.Files(ctx, req)
	return answer{write: func(o *reply) { o.fileResult(req, r) }}, err
}

func (c *call) fileRequest() job.FileRequest {
	a := c.args
	req := job.FileRequest{
		Tool:    c.tool.Name,
		Target:  a.choice("target", c.tool.Targets),
		Session: a.str("session_id"),
		Action:  a.choice("action", []string{"read", "write", "list", "delete", "exists", "mkdir", "stat"}),
		Path:    a.str("path"),
	}
	req.Offset, _ = a.int("offset")
	req.Limit, _ = a.int("limit")
	if req.Action == "" {
		a.fail("action is required").WithHint(`one of "read" "write" "list" "delete" "exists" "mkdir" "stat"`)
	}
	if req.Path == "" {
		a.fail("path is required")
	}
	if req.Action == "write" {
		req.Content = c.content()
	}
	return req
}

// content is what to write. Here an empty string is something: an empty file.
func (c *call) content() []byte {
	a := c.args
	text, isText := a.given["content"]
	isBytes := a.has("content_base64")
	switch {
	case isText && isBytes && string(text) != `""`:
		a.fail("content and content_base64 cannot be given together")
	case isBytes:
		data, err := base64.StdEncoding.DecodeString(a.text("content_base64"))
		if err != nil {
			a.fail("content_base64 is no base64: %w", err)
		}
		return data
	case !isText:
		a.fail("content or content_base64 is required to write")
	}
	return []byte(a.text("content"))
}

func (o *reply) fileResult(req job.FileRequest, r job.FileResult) {
	o.open()
	o.bool("success", true)
	switch req.Action {
	case "read":
		o.fileData(req, r)
	case "list":
		o.name("data")
		o.array(len(r.List), func(i int) { o.fileInfo(r.List[i], false) })
	case "exists":
		o.bool("data", r.Exists)
	case "stat":
		o.name("data")
		if r.Stat != nil {
			o.fileInfo(*r.Stat, true)
		} else {
			o.buf = append(o.buf, "{}"...)
		}
	case "write":
		o.name("data")
		o.open()
		o.str("path", req.Path)
		o.int("size", r.Size)
		o.say("sha256", r.SHA256)
		o.close()
	default:
		o.name("data")
		o.open()
		o.str("path", req.Path)
		o.close()
	}
	o.sayNotes(nil)
	o.close()
}

// fileData writes what was read: text as text, anything else as base64, and where the next read begins if there is more.
func (o *reply) fileData(req job.FileRequest, r job.FileResult) {
	data := r.Data
	more := req.Offset+int64(len(data)) < r.Size
	if more {
		if whole := wholeCharacters(data); len(whole) > 0 {
			data = whole
		}
	}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		o.bytes("data", data)
	} else {
		data = r.Data
		o.str("data", base64.StdEncoding.EncodeToString(data))
		o.str("encoding", "base64")
	}
	o.int("size", r.Size)
	o.say("sha256", r.SHA256)
	if more {
		o.int("next_offset", req.Offset+int64(len(data)))
	}
}

// wholeCharacters cuts off a character that the end of the piece has cut in two; the next read begins with it.
func wholeCharacters(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if b := data[len(data)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(data[len(data)-i:]) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

func (o *reply) fileInfo(f job.FileInfo, mode bool) {
	o.open()
	o.str("name", f.Name)
	o.str("path", f.Path)
	o.str("type", f.Type)
	o.int("size", f.Size)
	o.str("mtime", f.Modified.UTC().Format(time.RFC3339))
	if mode {
		o.str("mode", fmt.Sprintf("%04o", f.Mode&0o7777))
	}
	o.close()
}
