package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"cmd-exec-mcp/runtime/config"
	"github.com/rs/zerolog"
	"gopkg.in/natefinch/lumberjack.v2"
)

// The log is rotated at this size and keeps this many old files.
const (
	logMegabytes = 10
	logFiles     = 5
)

// openLog opens the log that the config asks for. A relative name is below the config's folder, else the data folder.
// "" is no log. The logger never fails: a full disk must not stop a command.
func openLog(c *config.Config, data string) (zerolog.Logger, io.Closer, string) {
	path := c.Server.LogFile
	if path == "" {
		return zerolog.Nop(), io.NopCloser(nil), ""
	}
	if !filepath.IsAbs(path) {
		base := data
		if c.Path != "" {
			base = c.Dir
		}
		path = filepath.Join(base, path)
	}
	file := rotated(path)
	var out io.Writer = file
	if c.Server.LogFormat == "text" {
		out = textLog(file)
	}
	return zerolog.New(out).Level(level(c.Server.LogLevel)).With().Timestamp().Logger(), file, path
}

// rotated is a file of ours, 0600, that is rotated by size.
func rotated(path string) *lumberjack.Logger {
	return &lumberjack.Logger{Filename: path, MaxSize: logMegabytes, MaxBackups: logFiles}
}

func level(name string) zerolog.Level {
	switch strings.ToLower(name) {
	case "debug":
		return zerolog.DebugLevel
	case "warning", "warn":
		return zerolog.WarnLevel
	case "error":
		return zerolog.ErrorLevel
	}
	return zerolog.InfoLevel
}

// textLog turns zerolog's lines into the original's format: 2026-07-30 12:00:00 [INFO] local: execute: echo hello.
func textLog(out io.Writer) io.Writer {
	return zerolog.ConsoleWriter{
		Out: out, NoColor: true, TimeFormat: time.DateTime, TimeLocation: time.Local,
		PartsOrder:    []string{zerolog.TimestampFieldName, zerolog.LevelFieldName, "name", zerolog.MessageFieldName},
		FieldsExclude: []string{"name"},
		FormatLevel:   func(v any) string { return "[" + levelName(v) + "]" },
		FormatPartValueByName: func(v any, _ string) string {
			if v == nil {
				return ""
			}
			return fmt.Sprintf("%v:", v)
		},
		FormatMessage: func(v any) string { return oneLine(fmt.Sprint(v)) },
	}
}

// levelName is the original's: WARNING, not WARN.
func levelName(v any) string {
	name := strings.ToUpper(fmt.Sprint(v))
	if name == "WARN" {
		return "WARNING"
	}
	return name
}

// oneLine keeps a command's newlines from forging a line of the log.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '␤'
		}
		return r
	}, lineEnds.Replace(s))
}

var lineEnds = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\t", `\t`, "\r", `\r`)
