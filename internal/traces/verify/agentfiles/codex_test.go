package agentfiles

import (
	"fmt"
	"slices"
	"testing"
)

// TestAgentsOfAgentsAreTheSessions has a thread that a subagent began: its work is the session's,
// or the subagent's whose session is gone.
func TestAgentsOfAgentsAreTheSessions(t *testing.T) {
	ids := []string{"01a20017-0000-7000-8000-000000000000", "01a20018-0000-7000-8000-000000000000", "01a20019-0000-7000-8000-000000000000"}
	home := t.TempDir()
	for i, id := range ids {
		source := `"cli"`
		if i > 0 {
			source = fmt.Sprintf(`{"subagent":{"thread_spawn":{"parent_thread_id":%q}}}`, ids[i-1])
		}
		write(t, home, ".codex/sessions/rollout-2026-01-01T00-00-00-"+id+".jsonl", fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":%q,"source":%s}}
{"timestamp":"2026-01-01T00:00:01Z","type":"turn_context","payload":{"turn_id":"t%d","model":"m"}}
{"timestamp":"2026-01-01T00:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"output_tokens":7}}}}
`, id, source, i))
	}
	got, err := Read(t.Context(), "codex", Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Sessions[ids[0]]; len(got.Sessions) != 1 || s == nil || len(s.Requests) != 3 {
		t.Fatalf("sessions %v, want one with three requests", got.Sessions)
	}
	var agents []string
	for _, q := range got.Sessions[ids[0]].Requests {
		agents = append(agents, q.Agent)
	}
	if slices.Sort(agents); !slices.Equal(agents, []string{"", ids[1], ids[2]}) {
		t.Errorf("agents %q", agents)
	}
}

// TestCallsThatAskForOthers has a question that fails itself, and one whose answer is that of
// the script which was left running.
func TestCallsThatAskForOthers(t *testing.T) {
	const id = "01a20017-0000-7000-8000-000000000000"
	home, rows := t.TempDir(), ""
	for _, row := range [][4]string{
		{"a", "exec_command", `{\"cmd\":\"x\"}`, `Process running with session ID 7`},
		{"b", "write_stdin", `{\"session_id\":7}`, `write_stdin failed: stdin is closed for this session`},
		{"c", "exec", `{}`, `Script running with cell ID 7`},
		{"d", "wait", `{\"cell_id\":\"7\"}`, `Script failed\nOutput:\n`},
		{"e", "exec_command", `{\"cmd\":\"x\"}`, "exec_command failed for `x`: CreateProcess { message: \\\"Codex(Sandbox(Denied"},
		{"f", "exec_command", `{\"cmd\":\"x\"}`, "exec_command failed for `x`: CreateProcess { message: \\\"Rejected("},
	} {
		rows += fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"function_call","call_id":%q,"name":%q,"arguments":"%s"}}
{"timestamp":"2026-01-01T00:00:03Z","type":"response_item","payload":{"type":"function_call_output","call_id":%q,"output":"%s"}}
`, row[0], row[1], row[2], row[0], row[3])
	}
	write(t, home, ".codex/sessions/rollout-2026-01-01T00-00-00-"+id+".jsonl", fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":%q,"source":"cli"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"turn_context","payload":{"turn_id":"t","model":"m"}}
`, id)+rows)
	got, err := Read(t.Context(), "codex", Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Sessions[id].calls
	for call, want := range map[string]Status{"a": Unstated, "b": Failed, "c": Failed, "d": OK, "e": Failed, "f": Denied} {
		if calls[call][0].Status != want {
			t.Errorf("call %s: %v, want %v", call, calls[call][0].Status, want)
		}
	}
}

// TestCommentaryIsNoAnswer has a turn whose file ends within it, and calls that are numbered in
// each session.
func TestCommentaryIsNoAnswer(t *testing.T) {
	home := t.TempDir()
	ids := []string{"01a20017-0000-7000-8000-000000000000", "01a20018-0000-7000-8000-000000000000"}
	for i, id := range ids {
		write(t, home, ".codex/sessions/rollout-2026-01-01T00-00-00-"+id+".jsonl", fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":%q,"source":"cli"}}
{"timestamp":"2026-01-01T00:0%d:01Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t%[2]d"}}
{"timestamp":"2026-01-01T00:0%[2]d:02Z","type":"event_msg","payload":{"type":"user_message","message":"go"}}
{"timestamp":"2026-01-01T00:0%[2]d:03Z","type":"response_item","payload":{"type":"function_call","call_id":"functions.bash:7","name":"exec_command","arguments":"{}"}}
{"timestamp":"2026-01-01T00:0%[2]d:04Z","type":"response_item","payload":{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}}
`, id, i))
	}
	got, err := Read(t.Context(), "codex", Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if s := got.Sessions[id]; len(s.Turns) != 1 || s.Turns[0].Answered || len(s.Calls) != 1 {
			t.Errorf("%s: turns %+v, calls %v, want one that was not answered, with a call", id, s.Turns, s.Calls)
		}
	}
}
