package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

const recordings = "../testdata/codex"

// finder finds the files of a recording as in a home folder.
func finder(t testing.TB, name string) *transcript.Files {
	t.Helper()
	if name != "" {
		name = filepath.Join(recordings, name)
	}
	return transcripttest.Home(t, name, ".codex")
}

// newest lists the sessions of a recording and reads the last.
func newest(t testing.TB, name string) (*transcript.Files, transcript.Session, *hook.Transcript) {
	t.Helper()
	f := finder(t, name)
	list, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: sessions %+v, %v", name, list, err)
	}
	s := list[len(list)-1]
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: s.ID})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f, s, tr
}

// TestRecordedSessions counts what the real program wrote. The mock's request n had 1000
// and 10 n tokens of input, 600 and n of them cached, and 50 and n of output.
func TestRecordedSessions(t *testing.T) {
	type sum struct {
		Sessions, Prompts, Calls, Results, Failed, Agents int
		Input, Cached, Output                             int64
		Ends                                              []hook.Kind
	}
	done := []hook.Kind{hook.KindRunComplete}
	for name, want := range map[string]sum{
		"direct":          {1, 1, 8, 8, 5, 0, 8360, 4836, 436, done},
		"direct-0.140":    {3, 1, 8, 8, 5, 0, 8360, 4836, 436, done},
		"codemode-resume": {1, 2, 8, 11, 2, 0, 1010*2 + 1020*2 + 1030 + 1040 + 1050 + 1060, 601*2 + 602*2 + 603 + 604 + 605 + 606, 51*2 + 52*2 + 53 + 54 + 55 + 56, []hook.Kind{hook.KindRunComplete, hook.KindRunComplete}},
		"subagent-v1":     {1, 1, 6, 4, 1, 1, 6210, 3621, 321, done},
		"subagent-v2":     {1, 1, 5, 4, 0, 1, 5150, 3015, 265, done},
		"compact":         {1, 1, 3, 1, 0, 0, 11050, 1215, 156, done},
		"behave":          {1, 1, 10, 8, 1, 0, 10550, 6055, 555, []hook.Kind{hook.KindRunResume, hook.KindRunComplete}},
		"interrupt":       {1, 1, 1, 2, 2, 0, 1010, 601, 51, []hook.Kind{hook.KindSessionEnd}},
		"failed-stream":   {1, 1, 2, 1, 0, 0, 1010, 601, 51, []hook.Kind{hook.KindRunError}},
		"api-error":       {1, 1, 1, 0, 0, 0, 0, 0, 0, []hook.Kind{hook.KindRunError}},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, tr := newest(t, name)
			list, err := f.Sessions(t.Context(), Agent)
			if err != nil {
				t.Fatal(err)
			}
			got := sum{Sessions: len(list), Prompts: len(tr.Prompts), Calls: len(tr.Requests), Results: len(tr.ToolResults), Agents: len(tr.Agents)}
			ids := map[string]bool{}
			for _, c := range tr.Requests {
				if c.Usage != nil {
					got.Input, got.Cached, got.Output = got.Input+c.Usage.Input, got.Cached+c.Usage.CacheRead, got.Output+c.Usage.Output
				}
				if ids[c.ID] || c.Start.After(c.End) || c.Turn == "" || c.Model == "" || c.Provider != "mock" {
					t.Errorf("call %+v", c)
				}
				ids[c.ID] = true
			}
			for _, r := range tr.ToolResults {
				if r.Status.Failed() {
					got.Failed++
				}
				if r.Name == "" || r.Input == "" && r.Name != "apply_patch" || r.At.Before(r.Asked) || r.Status == hook.ToolUnknown {
					t.Errorf("result is not whole: %+v", r)
				}
			}
			for _, a := range tr.Agents {
				if a.CallID == "" || a.Task != "count the lines of a.txt" || a.Result != "There is 1 line." || a.End.IsZero() || a.Turn != tr.Prompts[0].Turn {
					t.Errorf("agent %+v", a)
				}
			}
			for _, e := range tr.Ends {
				got.Ends = append(got.Ends, e.Kind)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sums (-want +got):\n%s", diff)
			}
			if tr.HostVersion == "" || tr.Cwd != "/home/dev/ws" || tr.Pending {
				t.Errorf("version %q, folder %q, pending %v", tr.HostVersion, tr.Cwd, tr.Pending)
			}
		})
	}
}

// TestNamesAreThoseOfTheHooks compares the names of calls with those that the hooks of
// the same sessions reported.
func TestNamesAreThoseOfTheHooks(t *testing.T) {
	compared := 0
	for _, name := range []string{"direct", "codemode-resume", "subagent-v1", "subagent-v2", "behave"} {
		reported := map[string]string{}
		text, err := os.ReadFile(filepath.Join("../../../hook/codex/testdata", name+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var e struct {
				Payload struct {
					ID   string `json:"tool_use_id"`
					Name string `json:"tool_name"`
				}
			}
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			reported[e.Payload.ID] = e.Payload.Name
		}
		_, _, tr := newest(t, name)
		for _, r := range tr.ToolResults {
			want, ok := reported[r.ID]
			if !ok {
				continue // no hook reports it, such as an unknown tool
			}
			compared++
			if r.Name != want {
				t.Errorf("%s: call %s is %q, its hooks say %q", name, r.ID, r.Name, want)
			}
		}
	}
	if compared == 0 {
		t.Error("no call was compared")
	}
}

func TestTheEndOfASession(t *testing.T) {
	for name, want := range map[string]hook.Kind{
		"direct": hook.KindUnknown, "interrupt": hook.KindSessionEnd, "api-error": hook.KindSessionEnd, "failed-stream": hook.KindSessionEnd,
	} {
		f, s, _ := newest(t, name)
		kind, at, err := f.End(t.Context(), Agent, transcript.Query{Session: s.ID, Path: s.Path})
		if err != nil || kind != want || at.IsZero() != (want == hook.KindUnknown) {
			t.Errorf("%s: %v at %v, %v, want %v", name, kind, at, err, want)
		}
	}
}

func TestNamesOfFiles(t *testing.T) {
	const id = "01a203a0-228b-7012-bf93-1ab49890d26e"
	for name, want := range map[string]string{
		"rollout-2026-11-22T14-19-15-" + id + ".jsonl": id, "rollout-" + id + ".jsonl": "", "x-2026-" + id + ".jsonl": "", "rollout-2026-11-22T14-19-15-" + id: "",
	} {
		if got, ok := idOf(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, want)
		}
	}
	if _, err := finder(t, "direct").Read(t.Context(), Agent, transcript.Query{Session: "another"}); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("another session: %v", err)
	}
}

// TestReadingFromATime reads the second of two turns without the first.
func TestReadingFromATime(t *testing.T) {
	f, s, full := newest(t, "codemode-resume")
	since := full.Prompts[1].At.Add(-500 * time.Millisecond)
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: s.ID, Path: s.Path, Since: since})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Prompts) != 1 || len(tr.Requests) != 2 || len(tr.ToolResults) != 2 || tr.HostVersion != "0.169.0" {
		t.Errorf("prompts %+v, calls %+v, results %+v, version %q", tr.Prompts, tr.Requests, tr.ToolResults, tr.HostVersion)
	}
}

// FuzzRows takes in rows of any content.
func FuzzRows(f *testing.F) {
	err := fs.WalkDir(os.DirFS(recordings), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(recordings, path))
		f.Add(text)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLog(1 << 16)
		var r row
		for line := range bytes.Lines(text) {
			if r.Parse(bytes.TrimSpace(line)) {
				l.add(&r)
			}
		}
		tr := &hook.Transcript{Session: "fuzzed", Prompts: l.Prompts, Requests: l.Calls, ToolResults: l.Results, Ends: l.Ends}
		for e := range Agent.Events("codex", tr) {
			if e.StoredAt.IsZero() || e.Kind == hook.KindUnknown {
				t.Fatalf("event %+v", e)
			}
		}
	})
}

// TestEndIsUndecided until Codex has recorded it, which it does when the user's hooks have
// let the turn end.
func TestEndIsUndecided(t *testing.T) {
	begin := []string{`0|session_meta|{"id":"` + oldSession + `"}`, `0|event_msg|{"type":"task_started","turn_id":"t"}`, typed("0", "go")}
	said := []string{answer("1", "seen"), counted("1.2", 10, 10)}
	refused := `2|event_msg|{"type":"item_completed","turn_id":"t","item":{"type":"HookPrompt","id":"h"}}`
	call := `2|response_item|{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c"}`
	result := `3|response_item|{"type":"function_call_output","call_id":"c","output":"out"}`
	complete := `4|event_msg|{"type":"task_complete","turn_id":"t","last_agent_message":"seen"}`
	for name, tt := range map[string]struct {
		rows []string
		want bool
	}{
		"nothing yet":     {nil, false},
		"an answer":       {said, true},
		"its end":         {append(said[:2:2], complete), false},
		"a refusal":       {append(said[:2:2], refused), false},
		"an answer again": {append(said[:2:2], refused, answer("3", "done"), counted("3.2", 20, 20)), true},
		"a call":          {append(said[:2:2], call), false},
		"a call's result": {append(said[:2:2], call, result), false},
		"an answer after a turn that was interrupted in a call": {slices.Concat(said[:2:2], []string{
			call, `4|event_msg|{"type":"turn_aborted","turn_id":"t"}`,
			`5|event_msg|{"type":"task_started","turn_id":"u"}`, answer("6", "done"), counted("6.2", 20, 20),
		}), true},
		"another turn":    {append(said[:2:2], complete, `5|event_msg|{"type":"task_started","turn_id":"u"}`), false},
		"an interruption": {append(said[:2:2], `4|event_msg|{"type":"turn_aborted","turn_id":"t"}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, "")
			place(t, f, nameOf(oldSession), rowsOf(append(begin[:3:3], tt.rows...)...))
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: oldSession})
			if err != nil {
				t.Fatal(err)
			}
			f.Now = func() time.Time { return tr.Prompts[0].At.Add(time.Minute) }
			if tr, err = f.Read(t.Context(), Agent, transcript.Query{Session: oldSession}); err != nil || tr.Undecided != tt.want {
				t.Errorf("undecided is %v, %v; want %v", tr.Undecided, err, tt.want)
			}
		})
	}
}
