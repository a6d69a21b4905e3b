package main

import (
	"context"
	"os"
	"slices"
	"time"

	"cmd-exec-mcp/mcp"
	"github.com/rs/zerolog"
)

// watchEvery is how often the config's files are looked at. Looking costs a few system calls, and sees what editors do
// by renaming, on every file system.
const watchEvery = time.Second

// watch reloads the config when one of its files, or of its hooks', changes. One that does not load leaves the old one
// in force; the log says why.
func (a *app) watch(ctx context.Context, o *opened, server *mcp.Server) {
	files := o.config.Files
	seen := stamps(files)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := stamps(files)
		if slices.Equal(now, seen) {
			continue
		}
		seen = now
		if c, err := a.evaluate(o.log); err != nil {
			a.keepOld(o.log, err)
		} else if err := o.Reload(ctx, c); err != nil {
			a.keepOld(o.log, err)
		} else {
			files = c.Files
			seen = stamps(files)
			server.ToolsChanged()
		}
	}
}

func (a *app) keepOld(log zerolog.Logger, err error) {
	log.Error().Str("name", "config").Msgf("not reloaded, the old config stays in force: %v", err)
}

// stamp is what changes when a file does.
type stamp struct {
	size, changed int64
}

func stamps(files []string) []stamp {
	list := make([]stamp, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			list[i] = stamp{info.Size(), info.ModTime().UnixNano()}
		}
	}
	return list
}
