package gemini

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// finder finds the files of a recording as in a home folder.
func finder(t testing.TB, name string) *transcript.Files {
	t.Helper()
	if name != "" {
		name = filepath.Join("../testdata/gemini", name)
	}
	return transcripttest.Home(t, name, ".gemini")
}

func idOf(t testing.TB, f *transcript.Files) string {
	t.Helper()
	return transcripttest.IDOf(t, f, Agent)
}

func recorded(t testing.TB, name string) *hook.Transcript {
	t.Helper()
	f := finder(t, name)
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: idOf(t, f)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return tr
}

// lines are what is compared of a transcript.
func lines(tr *hook.Transcript) (out []string) {
	for _, p := range tr.Prompts {
		out = append(out, fmt.Sprintf("prompt %q", p.Text))
	}
	for _, c := range tr.Requests {
		u := hook.Usage{}
		if c.Usage != nil {
			u = *c.Usage
		}
		out = append(out, fmt.Sprintf("call %.4s %d/%d/%d %.20q %v %v", c.Agent, u.Input, u.CacheRead, u.Output, c.Text, c.End.Sub(c.Start), len(c.ToolCallIDs)))
	}
	for _, r := range tr.ToolResults {
		out = append(out, fmt.Sprintf("result %.4s %s %d %.30q %v", r.Agent, r.Name, r.Status, r.Text, r.At.Sub(r.Asked)))
	}
	for _, a := range tr.Agents {
		out = append(out, fmt.Sprintf("agent %.4s %s %s %q %.30q %v", a.ID, a.Type, a.CallID, a.Task, a.Result, a.End.Sub(a.Start)))
	}
	for _, e := range tr.Ends {
		out = append(out, fmt.Sprintf("end %s %q", e.Kind, e.Result))
	}
	return out
}

// TestCostsOfRecordedSessions sums what the requests cost by the list, by hand: in
// gemini-2.5-pro input that is not cached at $1.25, cached at $0.125, output at $10.
func TestCostsOfRecordedSessions(t *testing.T) {
	for name, want := range map[string]float64{
		"hello":        ((1010-601)*1.25 + 601*0.125 + 58*10) / 1e6,
		"tools-resume": ((10390-6039)*1.25 + 6039*0.125 + 609*10) / 1e6,
		"subagent":     ((4100-2410)*1.25 + 2410*0.125 + 238*10) / 1e6,
	} {
		sum := 0.0
		for _, c := range recorded(t, name).Requests {
			if c.Usage.CostUSD == nil {
				t.Errorf("%s: request %s has no cost", name, c.ID)
				continue
			}
			sum += *c.Usage.CostUSD
		}
		if math.Abs(sum-want) > 1e-12 {
			t.Errorf("%s costs %v, want %v", name, sum, want)
		}
	}
}

// A later turn is read without the rows that the resume repeats.
func TestReadSince(t *testing.T) {
	f := finder(t, "tools-resume")
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: idOf(t, f), Since: time.Date(2026, 11, 22, 14, 22, 47, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Prompts) != 1 || len(tr.Requests) != 2 || len(tr.ToolResults) != 1 {
		t.Errorf("%v", lines(tr))
	}
}

// The path that a hook names counts only if the file is the session's.
func TestFindSession(t *testing.T) {
	f := finder(t, "hello")
	id := idOf(t, f)
	source := func(path string) string {
		t.Helper()
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: id, Path: path})
		if err != nil || len(tr.Sources) != 1 {
			t.Fatalf("path %q: %v", path, err)
		}
		return tr.Sources[0]
	}
	own := source("")
	other := filepath.Join(t.TempDir(), "session-2026-11-22T14-21-6db0b71b.jsonl")
	if err := os.WriteFile(other, []byte(`{"sessionId":"another","kind":"main"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, other, "session-6db0b71b.jsonl", filepath.Dir(own)} {
		if got := source(path); got != own {
			t.Errorf("path %q: %q was read", path, got)
		}
	}
	if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: "6db0b71b-of-another"}); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("another session that begins so: %v", err)
	}
}

// place writes a session's file.
func place(t *testing.T, f *transcript.Files, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(f.Home, ".gemini", "tmp", "p", chats, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file of the older form is one JSON object, which ends early while it is written.
func TestOlderForm(t *testing.T) {
	const begin = `{
  "sessionId": "s-older",
  "startTime": "2026-01-25T20:45:00.000Z",
  "messages": [
    {"id": "1", "timestamp": "2026-01-25T20:45:00Z", "type": "user", "content": [{"text": "go"}]},
    {"id": "2", "timestamp": "2026-01-25T20:45:03Z", "type": "gemini", "content": "I look.", "model": "gemini-2.5-pro",
      "tokens": {"input": 10, "output": 4, "cached": 6, "thoughts": 1, "tool": 0, "total": 15},
      "toolCalls": [
        {"id": "a", "name": "read_file", "args": {"p": 1}, "status": "success", "timestamp": "2026-01-25T20:45:04Z", "result": [{"functionResponse": {"response": {"output": "A"}}}]},
        {"id": "b", "name": "read_file", "args": {}, "status": "executing", "timestamp": "2026-01-25T20:45:04Z"}]},
    {"id": "3", "timestamp": "2026-01-25T20:45:06Z", "type": "info", "content": "Request cancelled."}`
	rows := []string{
		`prompt "go"`, `call  10/6/5 "I look." 3s 2`, `result  read_file 0 "A" 1s`,
		`result  read_file 4 "" ` + time.Time{}.Sub(time.Date(2026, 1, 25, 20, 45, 3, 0, time.UTC)).String(),
		`end session_end ""`,
	}
	for _, tt := range []struct {
		name, file, text string
		later            time.Duration
		torn             bool
		unread           int
	}{
		{"whole", "session-2026-01-25T20-45-s-older.json", begin + "]}", 0, false, 0},
		{"with another name", "mine.json", begin + "]}", 0, false, 0},
		{"cut off just now", "session-2026-01-25T20-45-s-older.json", begin + `, {"id": "3", "ty`, 0, true, 0},
		{"cut off for good", "session-2026-01-25T20-45-s-older.json", begin + `, {"id": "3", "ty`, time.Hour, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := finder(t, "")
			f.Sleep = func(context.Context, time.Duration) error { return nil }
			f.Now = func() time.Time { return time.Now().Add(tt.later) } // as far as the file's time goes
			place(t, f, tt.file, tt.text)
			if id := idOf(t, f); id != "s-older" {
				t.Errorf("session %q", id)
			}
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s-older", Full: true})
			if transcript.Torn(err) != tt.torn || !tt.torn && err != nil || len(tr.Unread) != tt.unread {
				t.Fatalf("error %v, not read %+v", err, tr.Unread)
			}
			if diff := cmp.Diff(rows, lines(tr)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// Until about March 2026 a subagent's file looked like another of the session.
func TestSubagentsWithTheSessionsID(t *testing.T) {
	const (
		head = `{"sessionId":"eeeeeeee-1","startTime":%q,"messages":[%s]}`
		at   = `"timestamp":"2026-01-25T20:45:%02dZ"`
	)
	row := func(id string, n int, kind, text, calls string) string {
		return fmt.Sprintf(`{"id":%q,`+at+`,"type":%q,"content":%q,"model":"m","toolCalls":[%s]}`, id, n, kind, text, calls)
	}
	call := func(id, name string, n int) string {
		return fmt.Sprintf(`{"id":%q,"name":%q,"args":{},"status":"success",`+at+`,"result":[]}`, id, name, n)
	}
	lead := strings.Join([]string{row("1", 0, "user", "go", ""), row("2", 2, "gemini", "I ask.", call("r", "read_file", 30)+","+call("c", "codebase_investigator", 30)), row("3", 32, "gemini", "Done.", "")}, ",")
	for name, rows := range map[string][]string{
		"by its task": {row("a", 3, "user", "Your task is to do a deep investigation of the codebase to x", ""), row("b", 9, "gemini", "Found.", ""), row("d", 10, "user", "You have exceeded the time limit. x", ""), row("e", 12, "gemini", "Late.", "")},
		"by its end":  {row("a", 3, "user", "look", ""), row("b", 9, "gemini", "Found.", call("f", finish, 10))},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, "")
			place(t, f, "session-2026-01-25T20-45-eeeeeeee.json", fmt.Sprintf(head, "2026-01-25T20:45:00Z", lead))
			place(t, f, "session-2026-01-25T20-46-eeeeeeee.json", fmt.Sprintf(head, "2026-01-25T20:45:03Z", strings.Join(rows, ",")))
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "eeeeeeee-1", Full: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(tr.Prompts) != 1 || len(tr.Ends) != 1 || tr.Ends[0].Result != "Done." {
				t.Errorf("prompts %+v, ends %+v; want the user's turn alone", tr.Prompts, tr.Ends)
			}
			if len(tr.Agents) != 1 || tr.Agents[0].CallID != "c" || tr.Agents[0].Type != "codebase_investigator" || tr.Agents[0].End.IsZero() {
				t.Errorf("agents %+v, want that of the investigator's call", tr.Agents)
			}
			for _, c := range tr.Requests {
				if (c.ID > "9") != (c.Agent != "") {
					t.Errorf("request %s is of agent %q", c.ID, c.Agent)
				}
			}
		})
	}
}

// TestTwoFilesOfASession reads a session that continues in a second file, which may repeat the
// rows of the first. The result must not depend on the files' modification times, since a copy has
// others, or on which of the two files a hook names.
func TestTwoFilesOfASession(t *testing.T) {
	const id = "eeeeeeee-1"
	row := func(id string, n int, kind, text string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-25T20:45:%02dZ","type":%q,"content":%q,"model":"m"}`, id, n, kind, text)
	}
	first := []string{row("1", 0, "user", "go"), row("2", 2, "gemini", "Done.")}
	second := []string{row("3", 10, "user", "on"), row("4", 12, "gemini", "And this.")}
	begins := `{"sessionId":"` + id + `","startTime":"2026-01-25T20:45:%02dZ"`
	for name, files := range map[string][2]string{
		"in the older form and in lines":   {"session-2026-01-25T20-45-eeeeeeee.json", "session-2026-01-25T20-45-eeeeeeee.jsonl"},
		"with a copy":                      {"session-2026-01-25T20-45-eeeeeeee.json", "session-2026-01-25T20-45-eeeeeeee.jsonl"},
		"in lines, the second sorts first": {"session-2026-01-25T20-45-eeeeeeee.jsonl", "session-2026-01-25T19-46-eeeeeeee.jsonl"},
	} {
		second := second
		if name == "with a copy" {
			second = slices.Concat(first, second)
		}
		var want []string
		for i := range 4 {
			f := finder(t, "")
			var paths []string
			for n, rows := range [][]string{first, second} {
				text := fmt.Sprintf(begins+"}\n", n) + strings.Join(rows, "\n") + "\n"
				if filepath.Ext(files[n]) == document {
					text = fmt.Sprintf(begins, n) + `,"messages":[` + strings.Join(rows, ",") + "]}"
				}
				path := place(t, f, files[n], text)
				paths = append(paths, path)
				written := time.Now().Add(time.Duration(1-2*(i%2)) * time.Duration(n) * time.Hour)
				if err := os.Chtimes(path, written, written); err != nil {
					t.Fatal(err)
				}
			}
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: id, Full: true, Path: paths[i/2]})
			if err != nil {
				t.Fatal(err)
			}
			got := lines(tr)
			for _, path := range tr.Sources {
				got = append(got, filepath.Base(path))
			}
			if want == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, the second file written first %v, a hook names file %d (-before +now):\n%s", name, i%2 == 1, i/2+1, diff)
			}
			if len(tr.Prompts) != 2 || len(tr.Requests) != 2 || len(tr.Ends) != 2 {
				t.Errorf("%s: %d prompts, %d requests, %d ends; want 2 of each", name, len(tr.Prompts), len(tr.Requests), len(tr.Ends))
			}
		}
	}
}

// A session of which only a subagent's file is left is that subagent's.
func TestASessionWhoseFileIsGone(t *testing.T) {
	f := finder(t, "")
	place(t, f, "s0000000/sub.jsonl", `{"sessionId":"s0000000","startTime":"2026-01-25T20:45:01Z","kind":"subagent"}`+"\n"+
		`{"id":"a","type":"user","timestamp":"2026-01-25T20:45:01Z","content":"look"}`+"\n"+`{"id":"b","type":"gemini","timestamp":"2026-01-25T20:45:02Z","content":"Found.","model":"m"}`)
	if id := idOf(t, f); id != "s0000000" {
		t.Errorf("session %q", id)
	}
	for _, path := range []string{"", filepath.Join(f.Home, ".gemini/tmp/p/chats/s0000000/sub.jsonl")} {
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s0000000", Path: path, Full: true})
		if path == "" && err != nil {
			continue // it is only found where it was listed
		}
		if err != nil || len(tr.Prompts) != 0 || len(tr.Agents) != 1 || tr.Requests[0].Agent != "sub" || len(tr.Unread) != 1 {
			t.Errorf("%+v, %v; want the subagent alone", tr, err)
		}
	}
}

// Of the versions whose files of subagents look like the session's, one alone is a subagent's, too.
func TestASessionOfWhichASubagentIsLeft(t *testing.T) {
	f := finder(t, "")
	place(t, f, "session-2026-01-25T20-46-eeeeeeee.json", `{"sessionId":"eeeeeeee-1","startTime":"2026-01-25T20:45:03Z","messages":[
		{"id":"a","type":"user","timestamp":"2026-01-25T20:45:03Z","content":"Your task is to do a deep investigation of the codebase to x"},
		{"id":"b","type":"gemini","timestamp":"2026-01-25T20:45:09Z","content":"Found.","model":"m"}]}`)
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "eeeeeeee-1", Full: true})
	if err != nil || len(tr.Prompts) != 0 || len(tr.Agents) != 1 || len(tr.Requests) != 1 || tr.Requests[0].Agent == "" || len(tr.Unread) != 1 {
		t.Errorf("%+v, %v; want the subagent alone", tr, err)
	}
}

// A call that has ended without a time, as in files that other programs have written, ended
// with the answer that asked for it.
func TestCallsWithoutATime(t *testing.T) {
	f := finder(t, "")
	place(t, f, "session-2026-01-25T20-45-t0000000.jsonl", strings.Join([]string{
		`{"sessionId":"t0000000","startTime":"2026-01-25T20:45:00Z"}`,
		`{"id":"1","type":"user","timestamp":"2026-01-25T20:45:00Z","content":"go"}`,
		`{"id":"2","type":"gemini","timestamp":"2026-01-25T20:45:02Z","content":"","model":"m","toolCalls":[{"id":"a","name":"x","status":"success"},{"id":"b","name":"x","status":"executing"}]}`,
	}, "\n"))
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "t0000000", Full: true})
	if err != nil {
		t.Fatal(err)
	}
	want := time.Date(2026, 1, 25, 20, 45, 2, 0, time.UTC)
	if n := len(tr.ToolResults); n != 2 || !tr.ToolResults[0].At.Equal(want) || !tr.ToolResults[1].At.IsZero() {
		t.Errorf("calls %+v, want the first ended at %v, and the second open", tr.ToolResults, want)
	}
}

// A call of a tool that a subagent does not have is only in what the model is told.
func TestUnauthorizedCalls(t *testing.T) {
	f := finder(t, "")
	place(t, f, "session-2026-01-25T20-45-s0000000.jsonl", `{"sessionId":"s0000000","startTime":"2026-01-25T20:45:00Z"}`+"\n"+`{"id":"1","type":"user","timestamp":"2026-01-25T20:45:00Z","content":"go"}`)
	place(t, f, "s0000000/sub.jsonl", strings.Join([]string{
		`{"sessionId":"s0000000","startTime":"2026-01-25T20:45:01Z","kind":"subagent"}`,
		`{"id":"a","type":"user","timestamp":"2026-01-25T20:45:01Z","content":"look"}`,
		`{"id":"b","type":"gemini","timestamp":"2026-01-25T20:45:02Z","content":"","model":"m","toolCalls":[{"id":"r","name":"read_file","status":"success","timestamp":"2026-01-25T20:45:03Z"}]}`,
		`{"id":"c","type":"user","timestamp":"2026-01-25T20:45:03Z","content":[{"functionResponse":{"id":"w","name":"write_file","response":{"error":"Unauthorized tool call: 'write_file' is not available to this agent."}}},{"functionResponse":{"id":"r","name":"read_file","response":{"output":"x"}}}]}`,
	}, "\n"))
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s0000000", Full: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tr.ToolResults); n != 2 || tr.ToolResults[1].ID != "w" || tr.ToolResults[1].Agent != "sub" || tr.ToolResults[1].Status != hook.ToolFailed || len(tr.Requests[0].ToolCallIDs) != 2 {
		t.Errorf("calls %+v of %+v, want the one that failed, too", tr.ToolResults, tr.Requests)
	}
}

// What the user typed while the model worked is of the turn; afterwards it begins one.
func TestSteering(t *testing.T) {
	const hint = `{"text":"User steering update:\n<user_input>\nnot that\n</user_input>\nInternal instruction: re-evaluate"}`
	f := finder(t, "")
	place(t, f, "session-2026-01-25T20-45-s0000000.jsonl", strings.Join([]string{
		`{"sessionId":"s0000000","startTime":"2026-01-25T20:45:00Z"}`,
		`{"id":"1","type":"user","timestamp":"2026-01-25T20:45:00Z","content":"go"}`,
		`{"id":"2","type":"gemini","timestamp":"2026-01-25T20:45:02Z","content":"","model":"m","toolCalls":[{"id":"a","name":"x","status":"success","timestamp":"2026-01-25T20:45:03Z"}]}`,
		`{"id":"3","type":"user","timestamp":"2026-01-25T20:45:04Z","content":[{"functionResponse":{"id":"a"}},` + hint + `]}`,
		`{"id":"4","type":"gemini","timestamp":"2026-01-25T20:45:05Z","content":"Done.","model":"m"}`,
		`{"id":"5","type":"user","timestamp":"2026-01-25T20:45:06Z","content":[` + hint + `]}`,
	}, "\n"))
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s0000000", Full: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range tr.Prompts {
		got = append(got, fmt.Sprint(p.Text, " ", p.Queued))
	}
	if diff := cmp.Diff([]string{"go false", "not that true", "not that false"}, got); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

// TestDamagedFiles reads what is whole of a recorded session whose lines were damaged.
func TestDamagedFiles(t *testing.T) {
	want := lines(recorded(t, "hello"))
	for name, damage := range map[string]func(text []byte) []byte{
		"a byte order mark":    func(text []byte) []byte { return append([]byte("\ufeff"), text...) },
		"line ends of Windows": func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) },
		"a block of NUL": func(text []byte) []byte {
			return bytes.ReplaceAll(text, []byte("\n"), append([]byte("\n"), make([]byte, 4096)...))
		},
		"a torn row with the next one": func(text []byte) []byte {
			return bytes.ReplaceAll(text, []byte("\n{"), []byte("\n{\"id\":\"x\",\"type\":\"gem{"))
		},
		"raw line breaks in a text": func(text []byte) []byte {
			return append([]byte("{\"id\":\"i\",\"type\":\"info\",\"content\":\"a\nb\tc\"}\n"), text...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, "hello")
			id := idOf(t, f)
			paths, err := filepath.Glob(filepath.Join(f.Home, ".gemini/tmp/*/chats/*.jsonl"))
			if err != nil || len(paths) != 1 {
				t.Fatal(paths, err)
			}
			text, err := os.ReadFile(paths[0])
			if err == nil {
				err = os.WriteFile(paths[0], damage(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := idOf(t, f); got != id {
				t.Errorf("session %q, want %q", got, id)
			}
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: id})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, lines(tr)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// A subagent's file beside one of the older form has that form, too.
func TestOlderFormOfSubagents(t *testing.T) {
	f := finder(t, "")
	const rows = `"messages": [{"id": "u%[1]s", "timestamp": "2026-04-12T01:18:00Z", "type": "user", "content": "go"},
		{"id": "g%[1]s", "timestamp": "2026-04-12T01:18:05Z", "type": "gemini", "content": "ok", "model": "m", "tokens": {"input": %[2]d, "output": 1, "cached": 0}}]}`
	place(t, f, "session-1-s-main.json", `{"sessionId": "s-main", "kind": "main", `+fmt.Sprintf(rows, "1", 10))
	place(t, f, "s-main/abc.json", `{"sessionId": "abc", "kind": "subagent", "startTime": "2026-04-12T01:18:01Z", `+fmt.Sprintf(rows, "2", 20))
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: idOf(t, f), Full: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`prompt "go"`, `call  10/0/1 "ok" 5s 0`, `call abc 20/0/1 "ok" 5s 0`, `agent abc   "go" "ok" -2562047h47m16.854775808s`, `end run_complete "ok"`}
	if diff := cmp.Diff(want, lines(tr)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

// A file in a form that is not known is listed, and reading it says so.
func TestUnknownForms(t *testing.T) {
	for _, text := range []string{`{"version": 9, "turns": []}`, `{"sessionId": "s", "turns": []}`, `{"sessionId": "s", "messages": [{"role": "user"}]}`} {
		f := finder(t, "")
		place(t, f, "session 9.json", text)
		list, err := f.Sessions(t.Context(), Agent)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: sessions %+v, %v, want one", text, list, err)
		}
		if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: list[0].ID, Path: list[0].Path}); !errors.Is(err, transcript.ErrForm) {
			t.Errorf("%s: error %v, want %v", text, err, transcript.ErrForm)
		}
	}
}

// A session without a row yet is no unknown form, and one that is cut off has an error
// until it has one.
func TestDocumentsWithoutRows(t *testing.T) {
	for text, torn := range map[string]bool{`{"sessionId": "s", "messages": []}`: false, `{"sessionId": "s", "messages": [`: true} {
		f := finder(t, "")
		place(t, f, "session-s.json", text)
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s"})
		if tr == nil || transcript.Torn(err) != torn || !torn && err != nil || len(tr.Unread) != 0 {
			t.Errorf("%s: %+v, %v", text, tr, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"tools-resume", "subagent"} {
		paths, err := filepath.Glob(filepath.Join("../testdata/gemini", name, "tmp/ws/chats/*.jsonl"))
		if err != nil || len(paths) != 1 {
			f.Fatal(paths, err)
		}
		text, err := os.ReadFile(paths[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"id":"1","type":"gemini","timestamp":"2026-11-22T14:22:47Z","toolCalls":[1,{"result":[{}]},{"agentId":"a"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		files := &transcript.Files{Home: t.TempDir(), GOOS: "linux", Now: func() time.Time { return time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC) }}
		dir := filepath.Join(files.Home, ".gemini", "tmp", "p", chats)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text = append([]byte(`{"sessionId":"s1","kind":"main"}`+"\n"), text...)
		if err := os.WriteFile(filepath.Join(dir, "session-1-s1.jsonl"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := files.Read(t.Context(), Agent, transcript.Query{Session: "s1"})
		if err != nil && tr == nil {
			t.Fatal(err)
		}
		for _, c := range tr.Requests {
			if c.ID == "" || c.End.Before(c.Start) {
				t.Errorf("request %+v", c)
			}
		}
		for e := range Agent.Events("", tr) {
			if e.StoredAt.IsZero() {
				t.Errorf("event without a time: %+v", e)
			}
		}
	})
}

func TestReadFindsTheProject(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"as written":      {"/home/dev/ws\n", "/home/dev/ws"},
		"of another one":  {"/home/dev/other", ""},
		"no file":         {"", ""},
		"a file too long": {strings.Repeat("/home/dev/ws", 1<<12), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, "hello")
			project := filepath.Join(f.Home, ".gemini", "tmp", "ws")
			found, err := filepath.Glob(filepath.Join(project, chats, "*.jsonl"))
			if err != nil || len(found) != 1 {
				t.Fatalf("files %q, %v", found, err)
			}
			text, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			// The recording's folder was renamed, its hash was not.
			text = bytes.Replace(text, []byte("a1735afaa1979fe7bbea1f49b11665869bd5cc93aa3eedc601f24412b498e03f"), fmt.Appendf(nil, "%x", sha256.Sum256([]byte("/home/dev/ws"))), 1)
			if err := os.WriteFile(found[0], text, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(project, projectFile), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: idOf(t, f)})
			if err != nil || tr.Cwd != c.want {
				t.Errorf("folder %q, %v, want %q", tr.Cwd, err, c.want)
			}
		})
	}
}

// A row that changes the session's folders repeats those that it had.
func TestFoldersOfAWorkspaceOnce(t *testing.T) {
	f := finder(t, "")
	place(t, f, "session-2026-05-25T20-45-s-folder.jsonl", `{"sessionId":"s-folders","startTime":"2026-05-25T20:45:00.000Z","directories":["/a","/b"]}
{"id":"1","timestamp":"2026-05-25T20:45:00Z","type":"user","content":[{"text":"go"}]}
{"$set":{"directories":["/a","/b","/c"]}}
`)
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s-folders", Full: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/a", "/b", "/c"}, tr.Folders); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}
