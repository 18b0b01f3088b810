package copilot

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// finder finds the files of a recording as in a home folder.
func finder(t testing.TB, name string) *transcript.Files {
	t.Helper()
	home := t.TempDir()
	if name != "" {
		if err := os.CopyFS(filepath.Join(home, ".copilot"), os.DirFS(filepath.Join("../testdata/copilot", name))); err != nil {
			t.Fatal(err)
		}
	}
	return &transcript.Files{Home: home, GOOS: "linux", Now: func() time.Time { return time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC) }}
}

// idOf is the id of the recording's session.
func idOf(t testing.TB, f *transcript.Files) string {
	t.Helper()
	all, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(all) != 1 {
		t.Fatalf("sessions %+v, %v; want one", all, err)
	}
	return all[0].ID
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
	for _, c := range tr.Calls {
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

// TestRecordedSessions reads what the real program wrote. The mock's request n had
// 1000 and 10 n tokens of input, 600 and n of them cached, and 50 and n of output.
func TestRecordedSessions(t *testing.T) {
	for name, want := range map[string][]string{
		"interrupt": {
			`prompt "Sleep please"`,
			`call  1010/601/51 "Sleeping." 24ms 1`,
			`result  bash 3 "" 5.325s`,
			`end session_end ""`,
		},
		"api-error": {
			`prompt "Fail please"`,
			`end run_error ""`,
		},
		"behave": {
			`prompt "Behave"`,
			`prompt "keep going"`,
			`call  1010/601/51 "" 24ms 1`,
			`call  1020/602/52 "" 4ms 1`,
			`call  1030/603/53 "" 2ms 1`,
			`call  1040/604/54 "" 12ms 1`,
			`call  1050/605/55 "" 3ms 1`,
			`call  1060/606/56 "" 3ms 1`,
			`call  1070/607/57 "First try to stop." 3ms 0`,
			`call  1080/608/58 "Stopped for good." 2ms 0`,
			`result  bash 2 "Denied by preToolUse hook from" 47ms`,
			`result  bash 2 "Denied by preToolUse hook: hoo" 31ms`,
			`result  bash 0 "plaintext" 350ms`,
			`result  bash 0 "slow" 2.246s`,
			`result  bash 0 "rewritten" 131ms`,
			`result  bash 0 "postblock" 149ms`,
			`end run_resume ""`,
			`end run_complete "Stopped for good."`,
		},
		"not-allowed": {
			`prompt "No permission"`,
			`call  1010/601/51 "I'll read the file f" 20ms 1`,
			`call  1020/602/52 "Two at once." 5ms 2`,
			`call  1030/603/53 "" 4ms 1`,
			`call  1040/604/54 "" 2ms 1`,
			`call  1050/605/55 "" 3ms 1`,
			`call  1060/606/56 "" 2ms 1`,
			`call  1070/607/57 "" 3ms 1`,
			`call  1080/608/58 "All done: read a.txt" 3ms 0`,
			`result  view 0 "alpha\n" 77ms`,
			`result  view 0 "beta\n" 129ms`,
			`result  bash 2 "Permission denied because no i" 141ms`,
			`result  create 2 "Permission denied because no i" 89ms`,
			`result  view 1 "Path does not exist" 95ms`,
			`result  bash 2 "Permission to run this tool wa" 223ms`,
			`result  no_such_tool 1 "Tool 'no_such_tool' does not e" 93ms`,
			`result  edit 1 "No match found" 128ms`,
			`end run_complete "All done: read a.txt, one command failed, new.txt written."`,
		},
		"hello": {
			`prompt "say hello"`,
			`call  1010/601/51 "hello there" 20ms 0`,
			`end run_complete "hello there"`,
		},
		"tools-resume": {
			`prompt "Read a.txt and write new.txt"`,
			`prompt "And the second file"`,
			`call  1010/601/51 "I'll read the file f" 29ms 1`,
			`call  1020/602/52 "Two at once." 4ms 2`,
			`call  1030/603/53 "" 8ms 1`,
			`call  1040/604/54 "" 3ms 1`,
			`call  1050/605/55 "" 6ms 1`,
			`call  1060/606/56 "" 2ms 1`,
			`call  1070/607/57 "" 2ms 1`,
			`call  1080/608/58 "All done: read a.txt" 5ms 0`,
			`call  1010/601/51 "Second answer." 24ms 1`,
			`call  1020/602/52 "Second done." 3ms 0`,
			`result  view 0 "alpha\n" 66ms`,
			`result  view 0 "beta\n" 120ms`,
			`result  bash 1 "oops\nExit Code: 3" 472ms`,
			`result  create 0 "Created file /home/dev/ws/new." 106ms`,
			`result  view 1 "Path does not exist" 54ms`,
			`result  bash 2 "Denied by preToolUse hook: hoo" 26ms`,
			`result  no_such_tool 1 "Tool 'no_such_tool' does not e" 70ms`,
			`result  edit 1 "No match found" 77ms`,
			`result  view 0 "beta\n" 72ms`,
			`end run_complete "All done: read a.txt, one command failed, new.txt written."`,
			`end run_complete "Second done."`,
		},
		"subagent": {
			`prompt "Delegate the counting"`,
			`call  1010/601/51 "I'll delegate." 20ms 1`,
			`call 4f96 1020/602/52 "Counting." 4ms 1`,
			`call 4f96 1030/603/53 "There is 1 line." 4ms 0`,
			`call  1040/604/54 "The agent counted on" 7ms 0`,
			`result 4f96 view 0 "alpha\n" 62ms`,
			`result  task 0 "There is 1 line." 343ms`,
			`agent 4f96 explore call_mwrxw5cx_1_0 "count the lines of a.txt" "There is 1 line." 282ms`,
			`end run_complete "The agent counted one line."`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := recorded(t, name)
			for _, c := range tr.Calls {
				if c.Provider != "openai" {
					t.Errorf("provider %q of request %s", c.Provider, c.ID)
				}
			}
			if diff := cmp.Diff(want, lines(tr)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
			if tr.HostVersion != "1.0.102" || tr.Cwd != "/home/dev/ws" || tr.Model != "gpt-5.2" || tr.Pending || tr.Undecided {
				t.Errorf("version %q, folder %q, model %q, pending %v", tr.HostVersion, tr.Cwd, tr.Model, tr.Pending)
			}
		})
	}
}

// The prompt after a refused end is the hook's answer, but not one of a later turn.
func TestPromptAfterARefusedEnd(t *testing.T) {
	const refusal = `{"type":"user.message","data":{"content":"Behave"},"timestamp":"2026-11-22T14:22:40Z"}
{"type":"hook.end","data":{"hookType":"agentStop","output":{"decision":"block","reason":"keep going"}},"timestamp":"2026-11-22T14:22:41Z"}
`
	const next = `{"type":"user.message","data":{"content":"keep going"},"timestamp":"2026-11-22T14:22:47Z"}` + "\n"
	for between, injected := range map[string]bool{"": true, sessionShutdown: false, abort: false} {
		text := refusal
		if between != "" {
			text += `{"type":"` + between + `","data":{},"timestamp":"2026-11-22T14:22:43Z"}` + "\n"
		}
		tr, err := readText(t, []byte(text+next))
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Prompts) != 2 || tr.Prompts[0].Injected || tr.Prompts[1].Injected != injected {
			t.Errorf("with %q between: %+v, want the second injected %t", between, tr.Prompts, injected)
		}
	}
}

// readText reads a session whose file has the text.
func readText(t *testing.T, text []byte) (*hook.Transcript, error) {
	t.Helper()
	files := finder(t, "")
	dir := filepath.Join(files.Home, ".copilot", folder, "s1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return files.Read(t.Context(), Agent, transcript.Query{Session: "s1"})
}

// TestOnlyTheUsersOwnKeyHasACost has the rows of requests as Copilot writes them.
func TestOnlyTheUsersOwnKeyHasACost(t *testing.T) {
	const tokens = `"inputTokens":1010,"outputTokens":51,"cacheReadTokens":601,"cacheWriteTokens":200,"reasoningTokens":5,"cost":0.33`
	for _, tt := range []struct {
		name, usage string
		want        float64 // negative: none
	}{
		{"OpenAI's", `"model":"gpt-5.6-sol",` + tokens + `,"isByok":true,"providerType":"openai"`, (209*4 + 601*0.4 + 200*5 + 51*20) / 1e6},
		{"Anthropic's", `"model":"claude-sonnet-5",` + tokens + `,"isByok":true,"providerType":"anthropic"`, (209*2 + 601*0.2 + 200*2.5 + 51*10) / 1e6},
		{"GitHub's", `"model":"claude-sonnet-5",` + tokens + `,"isByok":false`, -1},
		{"of an older version", `"model":"claude-sonnet-5",` + tokens, -1},
		{"an unknown model", `"model":"llama-4",` + tokens + `,"isByok":true,"providerType":"local_model"`, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLog("s", 1<<16)
			var r row
			if !r.parse([]byte(`{"type":"session.usage_record","timestamp":"2026-11-22T14:35:52.794Z","data":{"usage":{` + tt.usage + `,"apiCallId":"id"}}}`)) {
				t.Fatal("the row is none")
			}
			l.add(&r)
			got := -1.0
			if c := l.calls[0].Usage.CostUSD; c != nil {
				got = *c
			}
			if math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("cost = %v, want %v", got, tt.want)
			}
		})
	}
}

// A later turn is read from its prompt on.
func TestReadSince(t *testing.T) {
	f := finder(t, "tools-resume")
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: idOf(t, f), Since: time.Date(2026, 11, 22, 14, 35, 57, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Prompts) != 1 || len(tr.Calls) != 2 || len(tr.ToolResults) != 1 {
		t.Errorf("%v", lines(tr))
	}
}

// Copilot writes the file late: until it has the hook's row of the end, more may come.
func TestALateFileIsAwaited(t *testing.T) {
	f := finder(t, "lag")
	id := idOf(t, f)
	path := filepath.Join(f.Home, ".copilot", folder, id, fileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Now = func() time.Time { return time.Date(2026, 11, 22, 14, 37, 14, 0, time.UTC) }
	q := transcript.Query{Session: id, Path: path}
	rows := bytes.SplitAfter(whole, []byte("\n"))
	stop := []byte(`"hookType": "agentStop"`)
	end := slices.IndexFunc(rows, func(row []byte) bool { return bytes.Contains(row, stop) && bytes.Contains(row, []byte(`"hook.end"`)) })
	for have, late := range map[int]bool{end: true, end + 1: false, len(rows): false} {
		if err := os.WriteFile(path, slices.Concat(rows[:have]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if tr, err := f.Read(t.Context(), Agent, q); err != nil || tr.Undecided != late {
			t.Errorf("with %d of %d rows: %+v, %v; want undecided %v", have, len(rows), tr, err, late)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if tr, err := f.Read(t.Context(), Agent, q); err != nil || !tr.Undecided {
		t.Errorf("without a file: %+v, %v; want an undecided transcript", tr, err)
	}
	if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: id}); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("without a file that a hook has named: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"tools-resume", "subagent"} {
		paths, err := filepath.Glob(filepath.Join("../testdata/copilot", name, folder, "*", fileName))
		if err != nil || len(paths) != 1 {
			f.Fatal(paths, err)
		}
		text, err := os.ReadFile(paths[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"type":"tool.execution_complete","data":{"error":1},"timestamp":"2026-11-22T14:22:47Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, err := readText(t, text)
		if err != nil && tr == nil {
			t.Fatal(err)
		}
		for _, c := range tr.Calls {
			if c.ID == "" || c.End.Before(c.Start) {
				t.Errorf("request %+v", c)
			}
		}
		for _, e := range Agent.Events("", tr) {
			if e.StoredAt.IsZero() {
				t.Errorf("event without a time: %+v", e)
			}
		}
	})
}
