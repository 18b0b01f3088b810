// Package hooktest tests what decodes an agent's hook payloads.
package hooktest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/golden"
)

// Agent is what an agent's package makes of a payload.
type Agent struct {
	Decode func(hook.Raw) ([]hook.Event, error)
	Peek   func(payload []byte, event string) hook.Head
	// Ends reports that a run ends with the event. If nil, it does with every one whose
	// kind is terminal.
	Ends func(*hook.Event) bool
	// Recordings is how many recordings testdata holds.
	Recordings int
}

// NoEnviron is an environment without variables.
func NoEnviron(string) string { return "" }

// Lines reads a recording: a JSON object with a payload, its event and the time it came, on
// each line.
func Lines(file string) (raws []hook.Raw, err error) {
	lines, err := os.ReadFile(file) //nolint:gosec // A file of testdata.
	for line := range bytes.Lines(lines) {
		var row struct {
			TS      arrival
			Event   string
			Payload json.RawMessage
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, err
		}
		raws = append(raws, hook.Raw{Payload: row.Payload, Event: row.Event, StoredAt: time.Time(row.TS), Offset: int64(len(raws))})
	}
	return raws, err
}

// arrival is a time in nanoseconds, or a date.
type arrival time.Time

func (a *arrival) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, (*time.Time)(a))
	}
	ns, err := strconv.ParseInt(string(b), 10, 64)
	*a = arrival(time.Unix(0, ns).UTC())
	return err
}

// Recorded is Lines in a test, of hooks that were started in one folder.
func Recorded(t testing.TB, file string) []hook.Raw {
	t.Helper()
	raws, err := Lines(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raws {
		raws[i].Cwd = "/started/here"
	}
	return raws
}

func (a Agent) recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.ndjson")
	if err != nil || len(files) != a.Recordings {
		t.Fatalf("recordings %q, %v; want %d", files, err, a.Recordings)
	}
	return files
}

// Golden decodes every recorded payload and compares the events with the golden file of the
// recording, which leaves asides out.
func (a Agent) Golden(t *testing.T) {
	for _, file := range a.recordings(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".ndjson")
		t.Run(name, func(t *testing.T) {
			all := ""
			for _, r := range Recorded(t, file) {
				events, err := a.Decode(r)
				if err != nil {
					t.Fatal(err)
				}
				a.Check(t, r, events, err)
				for _, ev := range events {
					if ev.Kind != hook.KindAside {
						all += golden.Line(ev, "") + "\n"
					}
				}
			}
			golden.Check(t, "golden/"+name+".txt", all)
		})
	}
}

// Fuzz decodes what the recordings have, and payloads of the caller's, in all variations:
// twice the same, and as Check wants it.
func (a Agent) Fuzz(f *testing.F, payloads ...[2]string) {
	for _, file := range a.recordings(f) {
		for _, r := range Recorded(f, file) {
			f.Add([]byte(r.Payload), r.Event)
		}
	}
	for _, p := range payloads {
		f.Add([]byte(p[0]), p[1])
	}
	f.Fuzz(func(t *testing.T, payload []byte, event string) {
		r := hook.Raw{Payload: payload, Event: strings.ToValidUTF8(event, "")}
		events, err := a.Decode(r)
		a.Check(t, r, events, err)
		again, _ := a.Decode(r)
		if diff := cmp.Diff(events, again); diff != "" {
			t.Fatalf("a second time (-first +second):\n%s", diff)
		}
	})
}

// Check holds what every decoded event must be, whatever the payload.
func (a Agent) Check(t *testing.T, r hook.Raw, events []hook.Event, err error) {
	t.Helper()
	head := a.Peek(r.Payload, r.Event)
	first := &events[0]
	if head.Session != first.Session || head.Name != first.Name || head.Kind != first.Kind {
		t.Fatalf("Peek gave %+v for the event %+v", head, first)
	}
	// Of a payload that breaks off behind its session, what was read counts.
	if err != nil && first.Session == "" && (first.Kind != hook.KindUnknown || len(events) != 1) {
		t.Fatalf("events %+v with error %v", events, err)
	}
	ends := false
	for i := range events {
		ev := &events[i]
		if a.Ends == nil {
			ends = ends || ev.Kind.Terminal()
		} else {
			ends = ends || a.Ends(ev)
		}
		checkEvent(t, ev)
	}
	if head.RunEnds != ends {
		t.Fatalf("Peek says that a run ends: %v, the events: %v", head.RunEnds, ends)
	}
}

func checkEvent(t *testing.T, ev *hook.Event) {
	t.Helper()
	texts := []string{ev.Session, ev.Turn, ev.Agent, ev.AgentType, ev.Model, ev.Prompt, ev.Result, ev.Message, ev.Key}
	hasTool := ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd || ev.Kind == hook.KindPermission
	if hasTool != (ev.Tool != nil) {
		t.Fatalf("kind %v with tool %v", ev.Kind, ev.Tool)
	}
	if tool := ev.Tool; tool != nil {
		texts = append(texts, tool.ID, tool.Name, tool.Output, tool.Error, tool.Agent)
		if tool.Input != "" && !json.Valid([]byte(tool.Input)) {
			t.Fatalf("input %q is not JSON", tool.Input)
		}
		if tool.Status == hook.ToolOK && tool.Error != "" {
			t.Fatalf("error %q of a call that went well", tool.Error)
		}
	}
	for _, s := range texts {
		if !utf8.ValidString(s) {
			t.Fatalf("text %q is not UTF-8", s)
		}
	}
	if (ev.Agent != "") != (ev.ParentAgent != "") {
		t.Fatalf("agent %q with parent %q", ev.Agent, ev.ParentAgent)
	}
}
