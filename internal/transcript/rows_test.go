package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// note is a row: {"note":TEXT,"at":TIME}.
type note struct {
	text string
	at   time.Time
}

func (n *note) Parse(line []byte) bool {
	o := rawjson.Members(line)
	*n = note{o.Text("note"), ISOTime(o.Text("at"))}
	return n.text != ""
}

func (n *note) Time() time.Time { return n.at }

func (n *note) Opens() bool { return strings.HasPrefix(n.text, "prompt") }

// readNotes reads a file of notes into a log.
func readNotes(t *testing.T, l *Log, text string, q Query) (notes []string, unread []hook.Unread, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notes.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := (&Files{Home: t.TempDir(), Now: func() time.Time { return time.Now().Add(time.Hour) }}).withDefaults()
	f.unread = new([]hook.Unread)
	var n note
	err = l.Read(t.Context(), f, path, q, &n, nil, func() { notes = append(notes, n.text) })
	for i := range *f.unread {
		(*f.unread)[i].File = filepath.Base((*f.unread)[i].File)
	}
	return notes, *f.unread, err
}

// Whole rows are read and what is no JSON is noted. An object of another kind is neither.
func TestRowsOfDamagedLines(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 0, 1, 0, time.UTC)
	next := `{"note":"b","at":"2026-11-22T14:00:01Z"}`
	for name, tt := range map[string]struct {
		text   string
		want   []string
		unread []hook.Unread
	}{
		"whole":                      {`{"note":"a"}` + "\n" + next, []string{"a", "b"}, nil},
		"objects of another kind":    {`{"other":1}` + "\n{}\n" + next, []string{"b"}, nil},
		"torn, glued to the next":    {`{"note":"a","x` + next, []string{"b"}, []hook.Unread{{File: "notes.jsonl", Line: 1, Reason: "no JSON object"}}},
		"no JSON":                    {"nonsense\n" + next, []string{"b"}, []hook.Unread{{File: "notes.jsonl", Line: 1, At: at, Reason: "no JSON object"}}},
		"two on a line":              {`{"note":"a"}` + next, []string{"a", "b"}, nil},
		"another kind on the line":   {`{"other":1}` + next, []string{"b"}, []hook.Unread{{File: "notes.jsonl", Line: 1, Reason: "no JSON object"}}},
		"torn, at the end of a file": {next + "\n" + `{"note":"c"`, []string{"b"}, []hook.Unread{{File: "notes.jsonl", Line: 2, Reason: "no JSON object"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, unread, err := readNotes(t, NewLog(MaxText), tt.text, Query{})
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.unread, unread); diff != "" && len(tt.unread)+len(unread) > 0 {
				t.Errorf("unread (-want +got):\n%s", diff)
			}
		})
	}
}

// The rows of all files of a session count, and the place is noted for whole texts alone.
func TestRowsAreCounted(t *testing.T) {
	l := NewLog(MaxText)
	l.rows = MaxRows - 1
	got, _, err := readNotes(t, l, `{"note":"a"}`+"\n"+`{"note":"b"}`+"\n"+`{"note":"c"}`, Query{})
	if !errors.Is(err, ErrBeyond) || !cmp.Equal(got, []string{"a"}) || l.Line != 0 {
		t.Errorf("%q in line %d, %v; want the one that is left and ErrBeyond", got, l.Line, err)
	}
	if tr, err := l.Transcript(Query{Session: "s"}); !errors.Is(err, ErrBeyond) || len(tr.Sources) != 1 || tr.Session != "s" {
		t.Errorf("%+v, %v; want the file and ErrBeyond", tr, err)
	}
	l = NewLog(MaxText)
	if _, _, err := readNotes(t, l, `{"note":"a"}`+"\n"+`{"note":"b"}`, Query{Whole: func(string, string) bool { return true }}); err != nil || l.Line != 2 || filepath.Base(l.File) != "notes.jsonl" {
		t.Errorf("place %q:%d, %v; want line 2", l.File, l.Line, err)
	}
	if err := l.Note("gone.jsonl", ErrNotFound); !errors.Is(err, ErrNotFound) || len(l.sources) != 1 {
		t.Errorf("%v, sources %q; want those that are there", err, l.sources)
	}
}

// What ended before a time is left out, and what has not ended is not.
func TestTranscriptOfALog(t *testing.T) {
	second := func(n int) time.Time { return time.Date(2026, 11, 22, 14, 0, n, 0, time.UTC) }
	l := NewLog(MaxText)
	l.Calls = []hook.Request{{ID: "late", Start: second(8), End: second(9)}, {ID: "across", Start: second(1), End: second(5)}, {ID: "early", Start: second(1), End: second(4)}, {ID: "open", Start: second(2)}}
	l.Results = []hook.ToolResult{{ID: "early", Asked: second(1), At: second(4)}, {ID: "across", Asked: second(4), At: second(5)}, {ID: "open", Asked: second(6)}, {ID: "left", Asked: second(1)}}
	l.Prompts = []hook.Prompt{{Text: "early", At: second(4)}, {Text: "late", At: second(5)}}
	l.Ends = []hook.TurnEnd{{Result: "early", At: second(4)}, {Result: "late", At: second(5)}}
	l.Agents = []hook.Subagent{{ID: "second", Start: second(2)}, {ID: "first", Start: second(1)}}
	tr, err := l.Transcript(Query{Since: second(5)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range tr.Requests {
		got = append(got, "call "+c.ID)
	}
	for _, r := range tr.ToolResults {
		got = append(got, "result "+r.ID)
	}
	for _, a := range tr.Agents {
		got = append(got, "agent "+a.ID)
	}
	got = append(got, tr.Prompts[0].Text, tr.Ends[0].Result)
	want := []string{"call across", "call open", "call late", "result across", "result open", "agent first", "agent second", "late", "late"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

// The texts of a log are cut to half of the bound, those that a reader keeps elsewhere
// included.
func TestTextsOfALogAreBounded(t *testing.T) {
	l := NewLog(4 << 10)
	long := strings.Repeat("x", 1<<10)
	input := `{"text":"` + long + `"}`
	other := l.Texts.Keep(long)
	l.Others = func(text, _ func(*string)) { text(&other) }
	l.Calls = []hook.Request{{Text: l.Texts.Keep(long)}}
	l.Results = []hook.ToolResult{{Text: l.Texts.Keep(long), Input: l.Texts.KeepJSON(input)}}
	l.Prompts = []hook.Prompt{{Text: l.Texts.Keep(long)}}
	l.Shrink()
	l.Ends = []hook.TurnEnd{{Result: l.Texts.Keep(long)}}
	l.Shrink()
	sum := len(other) + len(l.Calls[0].Text) + len(l.Results[0].Text) + len(l.Results[0].Input) + len(l.Prompts[0].Text) + len(l.Ends[0].Result)
	if sum > 4<<10 || len(other) != 256 || len(l.Ends[0].Result) != 256 || rawjson.Check([]byte(l.Results[0].Input)) != nil {
		t.Errorf("%d bytes in all, %d and %d of two texts, input %q", sum, len(other), len(l.Ends[0].Result), l.Results[0].Input)
	}
}

// The file that a hook names is read if it is the session's, else the newest copy.
func TestFindAndList(t *testing.T) {
	home := t.TempDir()
	put := func(name string, at time.Time) string {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	older, newer := put("a/s1.jsonl", day), put("b/s1.jsonl", day.AddDate(0, 0, 1))
	put("b/other.txt", day)
	places := Folders{home}
	own := func(path string) bool { return filepath.Base(path) == "s1.jsonl" }
	copies := func() []string { return []string{older, newer, filepath.Join(home, "c", "s1.jsonl")} }
	for named, want := range map[string]string{older: older, "": newer, "s1.jsonl": newer, filepath.Join(home, "b/other.txt"): newer, filepath.Join(home, "d/s1.jsonl"): newer} {
		if got, err := Find(t.Context(), Query{Session: "s1", Path: named}, own, copies, places, "s1.jsonl"); got != want || err != nil {
			t.Errorf("named %q: %q, %v; want %q", named, got, err, want)
		}
	}
	_, err := Find(t.Context(), Query{Session: "s2"}, own, func() []string { return nil }, places, "s2.jsonl")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "no s2.jsonl in "+home) {
		t.Errorf("error %v, want what was looked for and where", err)
	}
	main := func(name string) (id, path string) {
		id, ok := strings.CutSuffix(name, ".jsonl")
		if !ok {
			return "", ""
		}
		return id, name
	}
	list, err := List(t.Context(), "d", []string{filepath.Join(home, "a"), filepath.Join(home, "none"), filepath.Join(home, "b")}, main)
	if err != nil || len(list) != 2 || list[0].Path != older || list[1].Path != newer || list[0].Dialect != "d" || list[0].ID != "s1" {
		t.Errorf("list %+v, %v", list, err)
	}
}
