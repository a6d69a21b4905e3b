package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"go.starlark.net/starlark"
)

// module is a file that load() names. While it runs it is here without being done, which is how a circle shows.
type module struct {
	globals  starlark.StringDict
	done, ok bool
}

// load serves load("rules.star", "name"): a file in or below the config's folder, by its path from there with slashes.
// os.Root keeps symbolic links from leading out of it.
func (l *loader) load(thread *starlark.Thread, name string) (starlark.StringDict, error) {
	clean := path.Clean(name)
	if l.dir == "" {
		return nil, errors.New("there is nothing to load: the config is no file")
	}
	if !fs.ValidPath(clean) || !filepath.IsLocal(filepath.FromSlash(clean)) || clean == "." || clean == l.main {
		return nil, fmt.Errorf("%q is not a file in or below the config's folder: write its path from there, like load(\"rules.star\", ...)", name)
	}
	m := l.modules[clean]
	if m == nil {
		m = &module{}
		l.modules[clean] = m
		src, err := l.readModule(clean)
		if err != nil {
			return nil, err
		}
		m.globals, m.ok = l.exec(thread, clean, src)
		m.done = true
	}
	switch {
	case !m.done:
		return nil, fmt.Errorf("%s loads itself, by way of others: move what both need into a third file", clean)
	case !m.ok:
		return nil, errReported
	}
	return m.globals, nil
}

func (l *loader) readModule(name string) ([]byte, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, plain(err)
	}
	defer root.Close()
	src, err := readSource(root.Open(filepath.FromSlash(name)))
	if err != nil {
		return nil, plain(err)
	}
	l.cfg.Files = append(l.cfg.Files, filepath.Join(l.dir, filepath.FromSlash(name)))
	return src, nil
}

func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
