package agentfiles

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoteBehindAnInterruptIsNoAnswer has what Claude Code writes when a session is resumed
// whose last turn was interrupted, and a request that failed.
func TestNoteBehindAnInterruptIsNoAnswer(t *testing.T) {
	const prompt = `{"type":"user","timestamp":"2026-11-26T00:00:01Z","sessionId":"s","promptId":"p","message":{"role":"user","content":"go"}}
`
	for name, tt := range map[string]struct {
		rows     string
		answered bool
	}{
		"interrupted": {`{"type":"user","timestamp":"2026-11-26T00:00:02Z","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}
{"type":"assistant","timestamp":"2026-11-26T00:00:03Z","sessionId":"s","isApiErrorMessage":false,"message":{"model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}
`, false},
		"failed": {`{"type":"assistant","timestamp":"2026-11-26T00:00:03Z","sessionId":"s","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}
`, true},
	} {
		home := t.TempDir()
		path := filepath.Join(home, ".claude", "projects", "p", "s.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(prompt+tt.rows), 0o600); err != nil {
			t.Fatal(err)
		}
		reading, err := Read(t.Context(), "claude-code", Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		s := reading.Sessions["s"]
		if s == nil || len(s.Turns) != 1 || s.Turns[0].Answered != tt.answered || s.Turns[0].Cut == tt.answered {
			t.Errorf("%s: %+v, want a turn that was answered: %v", name, s, tt.answered)
		}
	}
}

// TestTheLastRowsOfAResponseHaveItsCounts has a gateway that guesses the input at first.
func TestTheLastRowsOfAResponseHaveItsCounts(t *testing.T) {
	home := t.TempDir()
	const row = `{"type":"assistant","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","model":"m","stop_reason":`
	const first, last = row + `null,"usage":{"input_tokens":900,"output_tokens":0},"content":[]}}` + "\n", row + `"end_turn","usage":{"input_tokens":700,"output_tokens":5},"content":[]}}` + "\n"
	for i, text := range []string{first + last + last, last + first} {
		write(t, home, ".claude/projects/-w/s.jsonl", text)
		got, err := Read(t.Context(), "claude-code", Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		if q := got.Sessions["s"].Requests["m1"]; q == nil || q.Input != 700 || q.Output != 5 {
			t.Errorf("%d: the request is %+v", i, q)
		}
	}
}

// TestBreakdownsCountWhereTheSumsAreZero has a response whose own counts are all 0.
func TestBreakdownsCountWhereTheSumsAreZero(t *testing.T) {
	home := t.TempDir()
	write(t, home, ".claude/projects/-w/s.jsonl", `{"type":"assistant","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","model":"m","stop_reason":"end_turn","usage":{"input_tokens":0,"output_tokens":0,"cache_creation":{"ephemeral_1h_input_tokens":40},"iterations":[{"type":"message","input_tokens":3,"output_tokens":1},{"type":"message","output_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":40}]},"content":[]}}`+"\n")
	got, err := Read(t.Context(), "claude-code", Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if q := got.Sessions["s"].Requests["m1"]; q == nil || q.Input != 50 || q.Output != 6 || q.CacheRead != 7 || q.CacheWrite != 40 {
		t.Errorf("the request is %+v", q)
	}
}

// TestAnEventAnswersACallWithoutOutput has a command whose output is not in the file.
func TestAnEventAnswersACallWithoutOutput(t *testing.T) {
	home := t.TempDir()
	const id = "01a20018-0000-7000-8000-000000000000"
	write(t, home, ".codex/sessions/rollout-2026-01-01T00-00-00-"+id+".jsonl", `{"type":"session_meta","timestamp":"2026-01-01T00:00:00Z","payload":{"id":"`+id+`"}}
{"type":"response_item","timestamp":"2026-01-01T00:00:01Z","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c1"}}
{"type":"response_item","timestamp":"2026-01-01T00:00:01Z","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c2"}}
{"type":"event_msg","timestamp":"2026-01-01T00:00:02Z","payload":{"type":"exec_command_end","call_id":"c1","exit_code":0}}
`)
	got, err := Read(t.Context(), "codex", Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if calls := got.Sessions[id].calls; !calls["c1"][0].Answered || calls["c2"][0].Answered || len(got.Unknown) > 0 {
		t.Errorf("calls %+v and %+v, unknown %v", calls["c1"][0], calls["c2"][0], got.Unknown)
	}
}

// TestWordsOfClaudeCode has what it says of a command that there is not, and of one that was
// running when the user interrupted.
func TestWordsOfClaudeCode(t *testing.T) {
	home := t.TempDir()
	const row = `{"sessionId":"s","timestamp":"2026-01-01T00:00:01Z","type":`
	write(t, home, ".claude/projects/-w/s.jsonl", row+`"user","message":{"role":"user","content":"Unknown skill: x"}}
`+row+`"user","message":{"role":"user","content":"go"}}
`+row+`"assistant","message":{"id":"m1","model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}
`+row+`"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"Exit code 137\n[Request interrupted by user for tool use]"}]}}
`)
	got, err := Read(t.Context(), "claude-code", Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Sessions["s"]; len(s.Prompts) != 1 || len(s.Turns) != 1 || s.calls["t"][0].Status != Bad {
		t.Errorf("%d prompts, %d turns, the call is %v", len(s.Prompts), len(s.Turns), s.calls["t"][0].Status)
	}
}
