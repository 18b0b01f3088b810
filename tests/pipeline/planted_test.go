package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/plantedkeys"
)

// planted are the sessions into which something is planted: one of each dialect
// with every kind of event, and those of which Cline's own files are there.
var planted = []session{sessions[0], sessions[1], sessions[2], sessions[3], sessions[5], sessions[6], sessions[7]}

// plantFiles puts the files that Cline kept of a session into the home folder,
// planted like the payloads.
func (s session) plantFiles(w *world, p *plantedkeys.Planter) {
	w.T.Helper()
	if s.files == "" {
		return
	}
	files, err := filepath.Glob(filepath.Join(storage, s.files, "*.json"))
	if err != nil || len(files) == 0 {
		w.T.Fatalf("no files of %s: %v", s.dir, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f) //nolint:gosec // The test's own data.
		if err != nil {
			w.T.Fatal(err)
		}
		w.Write(filepath.Join(filepath.FromSlash(s.home), filepath.Base(f)), string(p.Document(b)))
	}
}

// playPlanted plays the planted sessions with four rounds each, so that a field
// meets other keys every time, and delivers everything.
func (w *world) playPlanted(next func(field string) string) *plantedkeys.Planter {
	w.T.Helper()
	p := &plantedkeys.Planter{Next: next, Fields: map[string]int{}}
	for _, s := range planted {
		s.plantFiles(w, p)
		for _, e := range lab.Recording(w.T, payloads, s.dir) {
			w.Hook(e.Name, p.Document(e.Payload))
		}
	}
	for _, s := range claudeSessions {
		w.playClaude(s, 1, func(b []byte) []byte { return p.Document(b) })
	}
	w.Settle()
	for name, r := range w.Flush() {
		if r.Waiting != 0 || r.Parked != 0 {
			w.T.Errorf("%s: %+v", name, r)
		}
	}
	return p
}

// TestPlantedKeysGoNowhere plants keys into every text of payloads and of
// Cline's files and looks for them in whatever comes out.
func TestPlantedKeysGoNowhere(t *testing.T) {
	all := plantedkeys.Keys()
	if len(all) < 60 {
		t.Fatalf("only %d keys", len(all))
	}
	// Each level has the keys in other places.
	for round, capture := range []string{"preview", "full", "none"} {
		t.Run(capture, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "HOOKSPAN_CAPTURE="+capture)
			n := round * 23
			used := map[int]bool{}
			p := w.playPlanted(func(string) string {
				n++
				used[n%len(all)] = true
				return all[n%len(all)].Text()
			})
			if len(used) < len(all) {
				t.Fatalf("%d of %d keys were planted", len(used), len(all))
			}
			for _, f := range []string{
				"prompt", "command", "path", "result", "message", "workspaceRoots", "userId", "slug", "text", "contextRawPath", "model",
				"stdout", "cwd", "agent_type", "last_assistant_message", "error", "toolUseResult", "lastPrompt",
			} {
				if p.Fields[f] == 0 {
					t.Errorf("no field %q was planted; there are %v", f, p.Fields)
				}
			}
			for place, text := range w.Outputs() {
				for i, k := range all {
					if l := k.Leak(text); l != "" {
						at := strings.Index(text, l)
						t.Errorf("key %d is in %s: %q", i, place, text[max(0, at-80):min(len(text), at+60)])
					}
				}
			}
		})
	}
}

// TestPlantedKeysAreFoundUnredacted shows that the search of the test above
// finds what is there: without redaction the keys come out everywhere.
func TestPlantedKeysAreFoundUnredacted(t *testing.T) {
	t.Parallel()
	all := plantedkeys.Keys()
	w := newWorld(t, "HOOKSPAN_CAPTURE=full", "HOOKSPAN_REDACT=false")
	n := 0
	w.playPlanted(func(string) string { n++; return all[n%len(all)].Text() })
	found := map[string]int{}
	for place, text := range w.Outputs() {
		kind, _, _ := strings.Cut(place, " ")
		for _, k := range all {
			if k.Leak(text) != "" {
				found[kind]++
			}
		}
	}
	for _, place := range []string{"otlp", "infinium", "stored", "hookspan", "/traces.jsonl"} {
		if found[place] < len(all)/2 {
			t.Errorf("%d keys found in %s, want most of %d", found[place], place, len(all))
		}
	}
	t.Logf("found: %v", found)
}
