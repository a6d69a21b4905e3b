package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	rt "cmd-exec-mcp/runtime"
	"cmd-exec-mcp/runtime/audit"
	"cmd-exec-mcp/runtime/config"
	"github.com/rs/zerolog"
)

// closeWithin bounds everything that is done at the end, whatever hangs. With the 2.5 s that a server's calls have to be
// answered, and a moment to spare, that is 5 s from the client's end to ours.
const closeWithin = 2400 * time.Millisecond

// opened is an engine with all that has to be closed with it.
type opened struct {
	*rt.Engine
	config   *config.Config
	log      zerolog.Logger
	logPath  string
	logFile  io.Closer
	audit    *audit.Log
	instance *instance
}

// open loads the config and opens the engine, its log and its folder.
func (a *app) open(ctx context.Context) (*opened, error) {
	var early deferred
	c, err := a.load(zerolog.New(&early))
	if err != nil {
		return nil, err
	}
	data, err := a.dataFolder(c.Server.Data)
	if err != nil {
		return nil, err
	}
	in, err := openInstance(data)
	if err != nil {
		return nil, err
	}
	o := &opened{config: c, instance: in}
	o.log, o.logFile, o.logPath = openLog(c, data)
	early.replay(o.log)
	protect := []string{in.root}
	if program, err := os.Executable(); err == nil {
		protect = append(protect, program)
	}
	if next, err := initPath(nil); err == nil { // a start without --config would believe what stands there
		protect = append(protect, next)
	}
	if o.logPath != "" {
		protect = append(protect, o.logPath)
	}
	if file := c.Server.AuditFile; file != "" {
		o.audit = audit.New(rotated(file), c.Server.AuditRequired)
		protect = append(protect, file)
	}
	o.Engine, err = rt.New(ctx, c, rt.Env{
		Data: in.dir, Outputs: data, Cache: data, Instance: in.id, Log: o.log, Environ: os.Environ(), Audit: o.audit, Protect: protect,
	})
	if err != nil {
		o.close()
		return nil, &status{exitConfig, err}
	}
	o.log.Info().Str("name", "config").Msgf("using %s", source(c))
	for _, warning := range c.Warnings {
		o.log.Warn().Str("name", "config").Msg(warning)
	}
	return o, nil
}

// close ends what runs and gives everything back, within closeWithin.
func (o *opened) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var err error
	if o.Engine != nil {
		err = o.Engine.Close(ctx)
	}
	o.instance.close()
	return errors.Join(err, o.audit.Close(), o.logFile.Close())
}

// deferred holds what is logged before the log is open, since the config says where that is.
type deferred struct{ lines [][]byte }

func (d *deferred) Write(p []byte) (int, error) {
	d.lines = append(d.lines, append([]byte(nil), p...))
	return len(p), nil
}

func (d *deferred) replay(log zerolog.Logger) {
	for _, line := range d.lines {
		var said struct{ Level, Message string }
		if json.Unmarshal(line, &said) != nil {
			continue
		}
		level, err := zerolog.ParseLevel(said.Level)
		if err != nil {
			level = zerolog.InfoLevel
		}
		log.WithLevel(level).Str("name", "config").Msg(said.Message)
	}
}

// workingDir is where the user stands, for `exec`.
func workingDir(flag string) (string, error) {
	if flag == "" {
		return os.Getwd()
	}
	return filepath.Abs(flag)
}
