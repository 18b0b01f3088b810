package importer

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/codex"
	"github.com/hookspan/hookspan/internal/transcript/gemini"
	"github.com/hookspan/hookspan/internal/transcript/qwen"
)

// TestACopyAfterHooksAddsNothing imports a session that hooks have reported, whose files are
// at two places.
func TestACopyAfterHooksAddsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		agent          transcript.Reader
		recording      string
		place, another string
	}{
		"Codex, put away":              {codex.Agent, "codex/direct/sessions", ".codex/sessions", ".codex/archived_sessions"},
		"the Gemini CLI, moved":        {gemini.Agent, "gemini/hello/tmp/ws", ".gemini/tmp/ws", ".gemini/tmp/moved"},
		"Qwen Code, moved":             {qwen.Agent, "qwen/hello/projects/-home-dev-ws", ".qwen/projects/-home-dev-ws", ".qwen/projects/-moved"},
		"Qwen Code, with its subagent": {qwen.Agent, "qwen/subagent/projects/-home-dev-ws", ".qwen/projects/-home-dev-ws", ".qwen/projects/-moved"},
	} {
		t.Run(name, func(t *testing.T) {
			recording := filepath.Join("..", "transcript", "testdata", filepath.FromSlash(c.recording))
			f := home(t, map[string]string{c.place: recording})
			w := newWorld(t)
			w.now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			f.Now = func() time.Time { return w.now }
			sessions, err := f.Sessions(t.Context(), c.agent)
			if err != nil || len(sessions) == 0 {
				t.Fatalf("sessions %v, error %v", sessions, err)
			}
			for _, s := range sessions {
				tr, err := f.Read(t.Context(), c.agent, transcript.Query{Session: s.ID, Path: s.Path, Full: true})
				if err != nil {
					t.Fatal(err)
				}
				events := slices.Collect(c.agent.Events(s.Dialect, tr))
				for i := range events { // hooks are a little later than the rows
					events[i].StoredAt = events[i].StoredAt.Add(time.Millisecond)
				}
				w.capture(events...)
			}
			if err := os.CopyFS(filepath.Join(f.Home, filepath.FromSlash(c.another)), os.DirFS(recording)); err != nil {
				t.Fatal(err)
			}
			found, err := Sessions(t.Context(), f, c.agent)
			if err != nil {
				t.Fatal(err)
			}
			im := w.importer(c.agent.Host)
			im.Agent = c.agent
			if rep := w.run(im, found...); rep.Runs != 0 || rep.Skipped.Captured+rep.Skipped.AlreadyThere == 0 {
				t.Errorf("%d traces of %d sessions imported, skipped %+v; want none", rep.Runs, len(found), rep.Skipped)
			}
		})
	}
}
