package calltext

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// TestPlacesOfTexts looks each text of the recorded sessions up in the line that is
// named as its place.
func TestPlacesOfTexts(t *testing.T) {
	t.Parallel()
	for _, a := range agents.All() {
		if a.Plugin != "" || a.Host == hook.HostCline {
			continue // its files are no lines
		}
		name, agent := a.Word, a.Transcript
		recordings, err := filepath.Glob(filepath.Join("..", "..", "transcript", "testdata", name, "*"))
		if err != nil || len(recordings) == 0 {
			t.Fatal(recordings, err)
		}
		found := 0
		for _, dir := range recordings {
			home := t.TempDir()
			if err := os.CopyFS(filepath.Join(home, a.Folder), os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			f := &transcript.Files{Home: home, GOOS: "linux", Now: time.Now}
			sessions, err := f.Sessions(t.Context(), agent)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sessions {
				q := transcript.Query{Session: s.ID, Full: true}
				q.Whole = func(string, string) bool { return true }
				tr, err := f.Read(t.Context(), agent, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range tr.ToolResults {
					text, err := os.ReadFile(r.File)
					lines := bytes.Split(text, []byte("\n"))
					if err != nil || r.Row < 1 || r.Row > len(lines) || !slices.Contains(tr.Sources, r.File) {
						t.Errorf("%s: call %s is in %s, line %d: %v", dir, r.ID, r.File, r.Row, err)
						continue
					}
					// Of an output with several lines the first one.
					word, _, _ := strings.Cut(strings.TrimSpace(r.Text), "\n")
					if line := rawjson.Canonical(lines[r.Row-1]); !strings.Contains(line, strings.Trim(rawjson.Encode(word), `"`)) {
						t.Errorf("%s: call %s with %q is not in line %d of %s: %s", dir, r.ID, word, r.Row, r.File, line)
					}
					found++
				}
				if q.Whole = nil; len(tr.ToolResults) > 0 {
					if tr, err = f.Read(t.Context(), agent, q); err != nil || tr.ToolResults[0].File != "" || tr.ToolResults[0].Row != 0 {
						t.Errorf("%s: a reading of other texts has places: %+v, %v", dir, tr.ToolResults[0], err)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no recorded session has a call", name)
		}
	}
}
