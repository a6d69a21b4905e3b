// Package sdk holds what hooks are written with, in every language, and the project that `hook new` begins. A module path
// without a dot cannot be fetched by the Go tool, so the files are written into the author's project.
package sdk

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmd-exec-mcp/runtime/job"
)

//go:embed templates go/hook rust/hook.rs assemblyscript/hook.ts c/hook.h
var files embed.FS

// libraries is where each language's library stands here, and where in a project.
var libraries = map[string][2]string{
	"go":   {"go/hook", "hook"},
	"rust": {"rust/hook.rs", "src/hook.rs"},
	"as":   {"assemblyscript/hook.ts", "hook.ts"},
	"c":    {"c/hook.h", "hook.h"},
}

// Languages are the names that Files and Write take.
func Languages() []string { return []string{"go", "rust", "as", "c"} }

// A project's name is also a Go module, a crate, an npm package and a file.
var validName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// Files are the files of a new project by their paths, with slashes: the library, a hook to begin with, its tests and how to
// build it. Kinds: NotFound (no such language), Invalid (the name).
func Files(lang, name string) (map[string][]byte, error) {
	library, ok := libraries[lang]
	if !ok {
		return nil, job.Errorf(job.NotFound, "no hooks are written in %q", lang).WithHint("one of [%s]", strings.Join(Languages(), " "))
	}
	if !validName.MatchString(name) {
		return nil, job.Errorf(job.Invalid, "%q cannot be a project's name", name).WithHint("write lower case letters, digits, _ and -, a letter first")
	}
	project := map[string][]byte{}
	names := strings.NewReplacer("{{name}}", name, "{{file}}", strings.ReplaceAll(name, "-", "_")) // what cargo makes of it
	add := func(from, to string, edit bool) error {
		b, err := files.ReadFile(from)
		if edit {
			b = []byte(names.Replace(string(b)))
		}
		project[to] = b
		return err
	}
	err := each("templates/"+lang, func(file, rel string) error {
		return add(file, strings.TrimSuffix(rel, ".tmpl"), true)
	})
	err = errors.Join(err, add("templates/cases.jsonl", "cases.jsonl", false))
	return project, errors.Join(err, each(library[0], func(file, rel string) error {
		if strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		return add(file, path.Join(library[1], rel), false)
	}))
}

// each visits the files at or below a path.
func each(root string, visit func(file, rel string) error) error {
	return fs.WalkDir(files, root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return visit(file, strings.TrimPrefix(strings.TrimPrefix(file, root), "/"))
	})
}

// Write writes a new project into a folder, which it makes, and returns the paths it wrote. Nothing that is there is
// replaced: a folder with anything in it is refused. Kinds: those of Files, and Invalid.
func Write(dir, lang, name string) ([]string, error) {
	project, err := Files(lang, name)
	if err != nil {
		return nil, err
	}
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 {
		return nil, job.Errorf(job.Invalid, "%s is not empty", dir).WithHint("name a new folder")
	}
	var written []string
	for rel, content := range project {
		file := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return written, job.Errorf(job.Invalid, "hook new: %w", err).WithHint("name a folder that can be written")
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return written, job.Errorf(job.Invalid, "hook new: %w", err).WithHint("name a folder that can be written")
		}
		written = append(written, file)
	}
	slices.Sort(written)
	return written, nil
}
