package copilot

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// finder finds the files of a recording as in a home folder.
func finder(t testing.TB, name string) *transcript.Files {
	t.Helper()
	if name != "" {
		name = filepath.Join("../testdata/copilot", name)
	}
	return transcripttest.Home(t, name, ".copilot")
}

func idOf(t testing.TB, f *transcript.Files) string {
	t.Helper()
	return transcripttest.IDOf(t, f, Agent)
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
			l := newLog(1 << 16)
			var r row
			if !r.Parse([]byte(`{"type":"session.usage_record","timestamp":"2026-11-22T14:35:52.794Z","data":{"usage":{` + tt.usage + `,"apiCallId":"id"}}}`)) {
				t.Fatal("the row is none")
			}
			l.add(&r)
			got := -1.0
			if c := l.Calls[0].Usage.CostUSD; c != nil {
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
	if len(tr.Prompts) != 1 || len(tr.Requests) != 2 || len(tr.ToolResults) != 1 {
		t.Errorf("%d prompts, %d calls, %d results", len(tr.Prompts), len(tr.Requests), len(tr.ToolResults))
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
