// Package hooktest tests what decodes an agent's hook payloads.
package hooktest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	// LeadID reports that the lead agent has an id, too.
	LeadID bool
	// Recordings is how many recordings testdata holds.
	Recordings int
	// Also holds what else the events must be; may be nil. Head compares what Peek says with
	// the first event; if nil, Check does.
	Also func(t *testing.T, ev *hook.Event, err error)
	Head func(t *testing.T, r hook.Raw, events []hook.Event, err error)
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

// File is a payload in a file, or on a line of one.
type File struct {
	Folder, Name string
	Raw          hook.Raw
}

// StoredAt is when the payloads of Files came.
var StoredAt = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// Files reads the payloads below a folder, in order. Each is named after the hook that got
// it: "003-PreToolUse.json" is the third of a session, "PostToolUse.Bash.json" a variant.
func Files(t testing.TB, dir string) (all []File) {
	t.Helper()
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		folder, file := path.Split(name)
		switch {
		case err != nil || path.Ext(file) != ".json":
			return err
		case path.Base(folder) == "golden" || path.Base(folder) == "tables":
			return nil
		}
		payload, err := fs.ReadFile(root, name)
		event, _, _ := strings.Cut(file, ".")
		if _, after, ok := strings.Cut(event, "-"); ok {
			event = after
		}
		all = append(all, File{path.Clean(folder), file, hook.Raw{Payload: payload, Event: event, StoredAt: StoredAt, Cwd: "/started/here"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Named returns the payload of a file, which is named with its folder.
func Named(t testing.TB, all []File, name string) hook.Raw {
	t.Helper()
	i := slices.IndexFunc(all, func(f File) bool { return path.Join(f.Folder, f.Name) == name })
	if i < 0 {
		t.Fatalf("no payload %q", name)
	}
	return all[i].Raw
}

// One decodes a payload that is legal and gives one event.
func One(t testing.TB, decode func(hook.Raw) ([]hook.Event, error), payload, event string) hook.Event {
	t.Helper()
	events, err := decode(hook.Raw{Payload: []byte(payload), Event: event, StoredAt: StoredAt, Cwd: "/started/here"})
	if err != nil || len(events) != 1 {
		t.Fatalf("decoding %s gave %d events, %v, want 1", payload, len(events), err)
	}
	return events[0]
}

// Golden decodes every recorded payload and compares the events with the golden file of the
// recording, which leaves asides out.
func (a Agent) Golden(t *testing.T) {
	for _, file := range a.recordings(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".ndjson")
		t.Run(name, func(t *testing.T) {
			all := ""
			for _, r := range Recorded(t, file) {
				for _, ev := range a.decode(t, r) {
					if ev.Kind != hook.KindAside {
						all += golden.Line(ev, "") + "\n"
					}
				}
			}
			golden.Check(t, "golden/"+name+".txt", all)
		})
	}
}

// GoldenOf does the same with files, a golden file for each folder.
func (a Agent) GoldenOf(t *testing.T, files []File) {
	folders := map[string]string{}
	for _, f := range files {
		for _, ev := range a.decode(t, f.Raw) {
			folders[f.Folder] += f.Name + " " + golden.Line(ev, "") + "\n"
		}
	}
	for folder, events := range folders {
		t.Run(folder, func(t *testing.T) {
			golden.Check(t, "golden/"+strings.ReplaceAll(folder, "/", "-")+".txt", events)
		})
	}
}

// decode decodes a payload that is legal.
func (a Agent) decode(t *testing.T, r hook.Raw) []hook.Event {
	t.Helper()
	events, err := a.Decode(r)
	if err != nil {
		t.Fatalf("%s: %v", r.Payload, err)
	}
	a.Check(t, r, events, err)
	return events
}

// Fuzz decodes what the recordings have, and payloads of the caller's, in all variations:
// twice the same, and as Check wants it.
func (a Agent) Fuzz(f *testing.F, payloads ...[2]string) {
	var files []File
	for _, file := range a.recordings(f) {
		for _, r := range Recorded(f, file) {
			files = append(files, File{Raw: r})
		}
	}
	a.FuzzOf(f, files, payloads...)
}

// FuzzOf does the same with files.
func (a Agent) FuzzOf(f *testing.F, files []File, payloads ...[2]string) {
	for _, file := range files {
		f.Add(file.Raw.Payload, file.Raw.Event)
	}
	for _, p := range payloads {
		f.Add([]byte(p[0]), p[1])
	}
	f.Fuzz(func(t *testing.T, payload []byte, event string) {
		r := hook.Raw{Payload: payload, Event: strings.ToValidUTF8(event, ""), StoredAt: StoredAt}
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
	if len(events) == 0 {
		t.Fatal("no event")
	}
	if a.Head != nil {
		a.Head(t, r, events, err)
	} else {
		a.checkHead(t, r, events, err)
	}
	for i := range events {
		checkEvent(t, &events[i])
		if ev := &events[i]; (ev.Agent != "") != (ev.ParentAgent != "") && !a.LeadID {
			t.Fatalf("agent %q with parent %q", ev.Agent, ev.ParentAgent)
		}
		if a.Also != nil {
			a.Also(t, &events[i], err)
		}
	}
}

func (a Agent) checkHead(t *testing.T, r hook.Raw, events []hook.Event, err error) {
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
	ends := slices.ContainsFunc(events, func(ev hook.Event) bool {
		if a.Ends == nil {
			return ev.Kind.Terminal()
		}
		return a.Ends(&ev)
	})
	if head.RunEnds != ends {
		t.Fatalf("Peek says that a run ends: %v, the events: %v", head.RunEnds, ends)
	}
}

func checkEvent(t *testing.T, ev *hook.Event) {
	t.Helper()
	texts := []string{
		ev.Session, ev.Turn, ev.Agent, ev.ParentAgent, ev.AgentType, ev.HostVersion, ev.Provider, ev.Model, ev.User, ev.Prompt, ev.Result, ev.Message,
		ev.ErrorType, ev.PermissionMode, ev.Transcript, ev.Cwd, ev.Name, ev.Key,
	}
	hasTool := ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd || ev.Kind == hook.KindPermission
	if hasTool != (ev.Tool != nil) && ev.Kind != hook.KindNote {
		t.Fatalf("kind %v with tool %v", ev.Kind, ev.Tool)
	}
	if tool := ev.Tool; tool != nil {
		ofCall := tool.ID != "" && ev.Kind != hook.KindPermission && ev.Kind != hook.KindNote
		if ofCall && ev.Key == "" && !hook.AgentOf(ev.Host).Tasks {
			t.Fatalf("call %q has no Key, by which its repeats are found: hook/claude/tool.go lists the members with a call's id", tool.ID)
		}
		texts = append(texts, tool.ID, tool.Name, tool.Input, tool.Output, tool.Error, tool.Agent)
		if tool.Input != "" && !json.Valid([]byte(tool.Input)) {
			t.Fatalf("input %q is not JSON", tool.Input)
		}
		if tool.Duration < hook.UnknownDuration {
			t.Fatalf("duration %v", tool.Duration)
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
}
