package userhooks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// Import is what comes of importing the hooks of one settings file of Claude Code.
type Import struct {
	// Text is the hooks file with them.
	Text []byte
	// Added are the new hooks; Kept counts those that the file had already.
	Added []hookfile.Handler
	Kept  int
	// Env are the new variables, KeptEnv those that have another value there.
	Env, KeptEnv []string
	// Notes are what the user should know, one line each, without secrets.
	Notes []string
}

// Import adds the hooks of a settings file of Claude Code to the text of a
// project's hooks file, or with an empty name of the user's. Hooks that records
// reports are left out.
func (s *Setup) Import(path string, settings, to []byte, project string, records func(hookfile.Handler) bool) (*Import, error) {
	file, notes, err := hookfile.Import(settings, path, records)
	if err != nil {
		return nil, err
	}
	out := &Import{Text: to, Notes: notes}
	for _, h := range file.Handlers {
		var changed bool
		if out.Text, changed, err = hookfile.Add(out.Text, h); err != nil {
			return nil, fmt.Errorf("settings %q, line %d: %s: %w", path, h.Line, s.Clean(h.Event+": "+title(h)), err)
		}
		if changed {
			out.Added = append(out.Added, h)
		} else {
			out.Kept++
		}
	}
	if len(file.Handlers) > 0 {
		if out.Text, out.Env, out.KeptEnv, err = hookfile.AddEnv(out.Text, file.Env); err != nil {
			return nil, fmt.Errorf("settings %q: %w", path, err)
		}
	}
	if len(out.Env) > 0 && project != "" {
		out.note("the project's hooks.json will hold the values of these variables: keep it out of version control if one of them is a secret")
	}
	if from := s.settingsProject(path); from != "" && project == "" {
		word := from
		if strings.ContainsAny(from, " \t\n'\"$`\\;&|<>()*?[#~{=!") {
			word = strconv.Quote(from)
		}
		out.note("the file is that of the project %s, and its hooks will run in all your projects: "+
			"hookspan hooks import claude --project %s keeps them there", from, word)
	}
	for _, p := range s.Check(file, project, s.Sources(project)) {
		where := "line " + strconv.Itoa(p.Line)
		if p.Column > 0 {
			where += ", column " + strconv.Itoa(p.Column)
		}
		out.note("%s: %s", where, p.Text)
	}
	return out, nil
}

func (i *Import) note(format string, args ...any) {
	i.Notes = append(i.Notes, fmt.Sprintf(format, args...))
}

// ClaudeSettings are the settings files of Claude Code for a project, or with an
// empty name the user's own, and hooks.json beside it, which some tools write.
func (s *Setup) ClaudeSettings(project string) []string {
	switch {
	case project != "":
		dir := filepath.Join(project, ".claude")
		return []string{filepath.Join(dir, "settings.json"), filepath.Join(dir, "settings.local.json")}
	case s.ClaudeDir != "":
		return []string{filepath.Join(s.ClaudeDir, "settings.json"), filepath.Join(s.ClaudeDir, hookfile.Name)}
	}
	dir := filepath.Join(s.Home, ".claude")
	return []string{filepath.Join(dir, "settings.json"), filepath.Join(dir, hookfile.Name)}
}

// settingsProject is the folder of the project that a settings file of Claude Code
// belongs to, or empty for any other file.
func (s *Setup) settingsProject(path string) string {
	full, err := filepath.Abs(path)
	if dir := filepath.Dir(full); err == nil && filepath.Base(dir) == ".claude" && !slices.Contains(s.ClaudeSettings(""), full) {
		return filepath.Dir(dir)
	}
	return ""
}
