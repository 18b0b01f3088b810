package pipeline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/lab"
)

// identity are the members that say what an event is and to what it belongs.
// They go out as they are; everything else that is text gets something planted
// into it. A session's id is among them: it is how the host names the session.
var identity = []string{
	"taskId", "hookName", "timestamp", "clineVersion", "id", "startedAt", "endedAt", "rootSessionId",
	"agent_id", "parent_agent_id", "toolName", "name", "status", "completionStatus", "event", "eventId",
	"eventVersion", "severity", "ulid", "type", "say", "ask", "role", "tool_use_id", "sessionId", "session_id",
	"started_at", "ended_at", "messages_path", "parent_session_id", "agentId", "parentAgentId", "source",
	"sourceType", "success", "ts", "finishReason", "subagentId", "kind", "category",
	// Of Claude Code.
	"hook_event_name", "prompt_id", "promptId", "uuid", "parentUuid", "requestId", "requestRef", "tool_name", "stop_reason",
	"subtype", "timestamp", "version", "toolUseID", "sourceToolAssistantUUID", "hash", "notification_type",
}

// planter puts a text of its own behind every text of a payload.
type planter struct {
	next func(field string) string
	// fields counts the different members that were planted.
	fields map[string]int
}

func (p *planter) document(t testing.TB, b []byte) []byte {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return b // an empty payload stays one
	}
	return encode(t, p.value("", v))
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

func (p *planter) value(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			v[name] = p.value(name, v[name])
		}
	case []any:
		for i := range v {
			v[i] = p.value(field, v[i])
		}
	case string:
		return p.text(field, v)
	}
	return v
}

func (p *planter) text(field, s string) string {
	if slices.Contains(identity, field) || s == "" {
		return s
	}
	// JSON within a text, as tools' parameters have it, stays JSON.
	if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		var inner any
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if dec.Decode(&inner) == nil && !dec.More() {
			var out bytes.Buffer
			enc := json.NewEncoder(&out)
			enc.SetEscapeHTML(false)
			if enc.Encode(p.value(field, inner)) == nil {
				return strings.TrimSpace(out.String())
			}
		}
	}
	p.fields[field]++
	return s + " " + p.next(field)
}

// planted are the sessions into which something is planted: one of each dialect
// with every kind of event, and those of which Cline's own files are there.
var planted = []session{sessions[0], sessions[1], sessions[2], sessions[3], sessions[5], sessions[6], sessions[7]}

// plantFiles puts the files that Cline kept of a session into the home folder,
// planted like the payloads.
func (s session) plantFiles(w *world, p *planter) {
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
		w.Write(filepath.Join(filepath.FromSlash(s.home), filepath.Base(f)), string(p.document(w.T, b)))
	}
}

// traces is everything that leaves the spool, by the place it has come to.
func (w *world) traces() map[string]string {
	w.T.Helper()
	out := map[string]string{}
	for i, r := range w.OTLP.Requests() {
		out["otlp request "+strconv.Itoa(i)] = string(r.Body)
	}
	for i, r := range w.Infinium.Requests() {
		out["infinium request "+strconv.Itoa(i)] = string(r.Body)
	}
	err := filepath.WalkDir(w.Home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			// The events as they came, Cline's own files, the settings.
			if n := d.Name(); n == "spool" || n == ".cline" || n == ".claude" || n == ".config" {
				return fs.SkipDir
			}
			return nil
		}
		b, err := os.ReadFile(path) //nolint:gosec // Below the test's home folder.
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		out[strings.TrimPrefix(path, w.Home)] = string(b)
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, s := range w.Stored() {
		out["stored span "+s.Span] = s.Proto.String()
	}
	roots := []string{}
	for _, s := range w.OTLP.Spans() {
		if s.Parent == "" {
			roots = append(roots, s.Trace)
		}
	}
	commands := [][]string{{"list"}, {"list", "--json"}, {"status"}, {"status", "--json"}, {"doctor"}, {"config"}}
	for _, id := range roots {
		commands = append(commands, []string{"show", id}, []string{"show", "-v", id}, []string{"show", "--json", id})
	}
	for _, c := range commands {
		stdout, stderr, _ := w.Hookspan(c...)
		out["hookspan "+strings.Join(c, " ")] = stdout + stderr
	}
	return out
}

// playPlanted plays the planted sessions with four rounds each, so that a field
// meets other keys every time, and delivers everything.
func (w *world) playPlanted(next func(field string) string) *planter {
	w.T.Helper()
	p := &planter{next: next, fields: map[string]int{}}
	for _, s := range planted {
		s.plantFiles(w, p)
		for _, e := range lab.Recording(w.T, payloads, s.dir) {
			w.Hook(e.Name, p.document(w.T, e.Payload))
		}
	}
	for _, s := range claudeSessions {
		w.playClaude(s, 1, func(b []byte) []byte { return p.document(w.T, b) })
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
	all := keys()
	if len(all) < 60 {
		t.Fatalf("only %d keys", len(all))
	}
	for _, capture := range []string{"preview", "full", "none"} {
		for round := range 3 {
			t.Run(capture+" "+strconv.Itoa(round), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "HOOKSPAN_CAPTURE="+capture)
				n := round * 23
				used := map[int]bool{}
				p := w.playPlanted(func(string) string {
					n++
					used[n%len(all)] = true
					return all[n%len(all)].text()
				})
				if len(used) < len(all) {
					t.Fatalf("%d of %d keys were planted", len(used), len(all))
				}
				for _, f := range []string{
					"prompt", "command", "path", "result", "message", "workspaceRoots", "userId", "slug", "text", "contextRawPath", "model",
					"stdout", "cwd", "agent_type", "last_assistant_message", "error", "toolUseResult", "lastPrompt",
				} {
					if p.fields[f] == 0 {
						t.Errorf("no field %q was planted; there are %v", f, p.fields)
					}
				}
				for place, text := range w.traces() {
					for i, k := range all {
						if l := k.leak(text); l != "" {
							at := strings.Index(text, l)
							t.Errorf("key %d is in %s: %q", i, place, text[max(0, at-80):min(len(text), at+60)])
						}
					}
				}
			})
		}
	}
}

// TestPlantedKeysAreFoundUnredacted shows that the search of the test above
// finds what is there: without redaction the keys come out everywhere.
func TestPlantedKeysAreFoundUnredacted(t *testing.T) {
	t.Parallel()
	all := keys()
	w := newWorld(t, "HOOKSPAN_CAPTURE=full", "HOOKSPAN_REDACT=false")
	n := 0
	w.playPlanted(func(string) string { n++; return all[n%len(all)].text() })
	found := map[string]int{}
	for place, text := range w.traces() {
		kind, _, _ := strings.Cut(place, " ")
		for _, k := range all {
			if k.leak(text) != "" {
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
