package config

import "strings"

// folders returns the state folder and the configuration folder. They follow the
// XDG base directory specification, on macOS too, where command line tools are
// looked for there. XDG variables must be absolute or are ignored. Windows has
// its own two folders.
func folders(vars map[string]string, home, goos string) (state, config string) {
	state, config = vars["XDG_STATE_HOME"], vars["XDG_CONFIG_HOME"]
	if goos == "windows" {
		return folder(goos, home, `AppData\Local`, state, vars["LOCALAPPDATA"]), folder(goos, home, `AppData\Roaming`, config, vars["APPDATA"])
	}
	return folder(goos, home, ".local/state", state), folder(goos, home, ".config", config)
}

// folder is hookspan's folder in the first base that is absolute, or else below home.
func folder(goos, home, below string, bases ...string) string {
	for _, base := range bases {
		if isAbs(goos, base) {
			return join(goos, base, "hookspan")
		}
	}
	if home == "" {
		return ""
	}
	return join(goos, home, below, "hookspan")
}

// isAbs is filepath.IsAbs for a named system.
func isAbs(goos, p string) bool {
	if goos != "windows" {
		return strings.HasPrefix(p, "/")
	}
	if strings.HasPrefix(p, `\\`) {
		return true
	}
	return len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') &&
		('a' <= p[0]|0x20 && p[0]|0x20 <= 'z')
}

// join is filepath.Join for a named system, for clean names.
func join(goos, dir string, names ...string) string {
	sep := "/"
	if goos == "windows" {
		sep = `\`
	}
	return strings.TrimRight(dir, "/"+sep) + sep + strings.Join(names, sep)
}

// below is a name in the state folder, or empty where there is no such folder.
func (c *Config) below(name string) string {
	if c.StateDir == "" {
		return ""
	}
	return join(c.goos, c.StateDir, name)
}

// SpoolDir is the folder of the sessions' event logs.
func (c *Config) SpoolDir() string { return c.below("spool") }

// StorePath is the local trace store's database file.
func (c *Config) StorePath() string { return c.below("traces.db") }

// LimitsPath is the file with what agents said of the user's plans.
func (c *Config) LimitsPath() string { return c.below("limits.jsonl") }

// HeadersCachePath is the file that keeps what HeadersCommand printed until it expires.
func (c *Config) HeadersCachePath() string { return c.below("otlp-headers.json") }

// LogPath is the file that hook processes log to.
func (c *Config) LogPath() string { return c.below("hookspan.log") }

// PausePath is the file whose existence pauses recording.
func (c *Config) PausePath() string { return c.below("paused") }
