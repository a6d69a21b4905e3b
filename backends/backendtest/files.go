package backendtest

import (
	"bytes"
	"path"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

// filer is the backend's own file access, or that of a running process's sandbox; nil without any.
func (s *suite) filer() backends.Files {
	if f, ok := s.backend.(backends.Filer); ok && !s.properties.Sandbox {
		return f.Files()
	}
	r := s.script("echo ready; sleep 300")
	r.until("ready")
	f, ok := r.process.(backends.Filer)
	if !ok {
		return nil
	}
	return f.Files()
}

func (s *suite) files() {
	files, ctx := s.filer(), s.context()
	if files == nil {
		return
	}
	dir := "/tmp/suite files"
	defer files.Delete(ctx, dir)
	content := append(bytes.Repeat([]byte("0123456789"), 20000), 0, 0xff)
	name := path.Join(dir, "sub é", "f")
	info, err := files.Write(ctx, name, content)
	if err != nil || info.Size != int64(len(content)) || info.Type != "file" {
		s.Fatalf("Write: %+v %v", info, err)
	}
	if got, _, err := files.Read(ctx, name, 0, 0); err != nil || !bytes.Equal(got, content) {
		s.Errorf("Read: %d bytes, %v", len(got), err)
	}
	if got, _, err := files.Read(ctx, name, 5, 10); err != nil || string(got) != "5678901234" {
		s.Errorf("Read of a part: %q, %v", got, err)
	}
	if got, _, err := files.Read(ctx, name, 1<<40, 10); err != nil || len(got) != 0 {
		s.Errorf("Read beyond the end: %q, %v", got, err)
	}
	if _, err := files.Write(ctx, name, []byte("short")); err != nil {
		s.Error(err)
	}
	if info, err := files.Stat(ctx, name); err != nil || info.Size != 5 || info.Path != name || info.Name != "f" {
		s.Errorf("Stat: %+v, %v", info, err)
	}
	if err := files.Mkdir(ctx, path.Join(dir, "a", "b")); err != nil {
		s.Error(err)
	}
	list, err := files.List(ctx, dir)
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[0].Type != "dir" || list[1].Name != "sub é" {
		s.Errorf("List: %+v, %v", list, err)
	}
	if err := files.Delete(ctx, dir); err != nil {
		s.Error(err)
	}
	_, err = files.Stat(ctx, name)
	s.kind(err, job.NotFound, name)
	_, _, err = files.Read(ctx, name, 0, 0)
	s.kind(err, job.NotFound)
	s.kind(files.Delete(ctx, dir), job.NotFound)
	_, err = files.Stat(ctx, "relative")
	s.kind(err, job.Invalid)
}

// A further command in the sandbox sees what the first one made.
func (s *suite) runner() {
	r := s.script("echo content >/tmp/suite.made; echo ready; sleep 300")
	r.until("ready")
	runner, ok := r.process.(backends.Runner)
	if !ok {
		return
	}
	cmd, err := s.backend.Resolve(s.context(), s.command(job.Command{Script: "cat /tmp/suite.made; exit 3"}))
	if err != nil {
		s.Fatal(err)
	}
	next := &run{s: s}
	next.process, err = runner.Run(s.context(), cmd, backends.IO{Stdout: &next.stdout, Stderr: &next.stderr})
	if err != nil {
		s.Fatal(err)
	}
	next.expect("content\n", "", 3)
}
