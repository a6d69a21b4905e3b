package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Find returns the config file to use: the flag's, $CMD_EXEC_MCP_CONFIG's, or the one in the user's config folder.
// Otherwise ok is false and the embedded one applies. Nothing is ever picked up from the working directory: clients
// start servers inside cloned repositories, and a config.star there is somebody else's code.
func Find(flag string, getenv func(string) (string, bool)) (path string, ok bool) {
	if flag != "" {
		return flag, true
	}
	if path, _ := getenv("CMD_EXEC_MCP_CONFIG"); path != "" {
		return path, true
	}
	for _, dir := range configDirs(runtime.GOOS, getenv) {
		path := filepath.Join(dir, "cmd-exec-mcp", "config.star")
		// One that is there but cannot be looked at is returned as well: loading it gives an error, while going on with the
		// defaults would drop the owner's rules silently.
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, true
		}
	}
	return "", false
}

// configDirs lists only absolute folders: a relative $XDG_CONFIG_HOME would mean the working directory.
func configDirs(goos string, getenv func(string) (string, bool)) []string {
	var dirs []string
	add := func(name string, rest ...string) {
		if dir, _ := getenv(name); filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Join(append([]string{dir}, rest...)...))
		}
	}
	add("XDG_CONFIG_HOME")
	switch {
	case goos == "windows":
		add("APPDATA")
	case goos == "darwin":
		add("HOME", "Library", "Application Support")
	case len(dirs) == 0:
		add("HOME", ".config")
	}
	return dirs
}
