package cline

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

// editorSources are the manifest sources of Cline's SDK bundle inside editors.
var editorSources = map[string]bool{"vscode": true, "jetbrains": true}

// conversationPrefix begins the ids under which the hooks of Cline's SDK inside an
// editor report; its files have other ids.
const conversationPrefix = "conv_"

// conversationTime reads the time in conv_<milliseconds>_<random>.
func conversationTime(id string) (time.Time, bool) {
	rest, ok := strings.CutPrefix(id, conversationPrefix)
	if !ok {
		return time.Time{}, false
	}
	digits, random, ok := strings.Cut(rest, "_")
	if !ok || random == "" {
		return time.Time{}, false
	}
	return idTime(digits)
}

// idTime reads the decimal milliseconds that Cline's ids hold.
func idTime(digits string) (time.Time, bool) {
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || ms < 1 || ms > transcript.MaxMillis {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// maxCandidates bounds the manifests read for one conversation, newest first: a
// machine gathers sessions for years.
const maxCandidates = 1000

// sessionAt finds the session below root that an editor had open in cwd at a
// time; empty if there is none.
//
// Session ids begin with their start in milliseconds, so the newest that can
// fit is examined first and the search ends at the first that does. Manifests
// that cannot be read are skipped: another session may be the one.
func sessionAt(ctx context.Context, f *transcript.Files, root string, at time.Time, cwd string) (string, error) {
	if cwd == "" {
		return "", nil
	}
	type candidate struct {
		id    string
		start time.Time
	}
	var candidates []candidate
	for _, dir := range transcript.Subfolders(root) {
		id := filepath.Base(dir)
		digits, _, _ := strings.Cut(id, "_")
		start, ok := idTime(digits)
		if transcript.CheckID("session id", id) == nil && ok && !start.After(at) {
			candidates = append(candidates, candidate{id, start})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(b.start.Compare(a.start), cmp.Compare(b.id, a.id))
	})
	if len(candidates) > maxCandidates {
		candidates = candidates[:maxCandidates]
	}
	ended, wait := "", true
	for _, c := range candidates {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		m, err := transcript.Small[manifest](ctx, f, filepath.Join(root, c.id, c.id+".json"), wait)
		if transcript.Torn(err) {
			// At most one session is being written just now; the others that
			// are cut off stay so, and waiting for each would add up.
			wait = false
		}
		if err != nil || !editorSources[m.Source] || transcript.ISOTime(m.StartedAt).After(at) {
			continue
		}
		if !samePath(f.GOOS, m.Cwd, cwd) && !samePath(f.GOOS, m.WorkspaceRoot, cwd) {
			continue
		}
		if !m.endedBefore(at) {
			return c.id, nil
		}
		ended = cmp.Or(ended, c.id)
	}
	return ended, nil
}

// endedBefore reports that the session had ended at a time. A session that is
// resumed keeps its manifest, with another status.
func (m *manifest) endedBefore(at time.Time) bool {
	end := transcript.ISOTime(m.EndedAt)
	return m.Status != "running" && !end.IsZero() && end.Before(at)
}

// samePath compares folders as the system's file names do by default.
func samePath(goos, a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	switch goos {
	case "windows":
		a, b = strings.ReplaceAll(a, `\`, "/"), strings.ReplaceAll(b, `\`, "/")
		return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
	case "darwin":
		return strings.EqualFold(filepath.Clean(a), filepath.Clean(b))
	}
	return filepath.Clean(a) == filepath.Clean(b)
}
