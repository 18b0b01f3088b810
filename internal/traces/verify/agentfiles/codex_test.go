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
	got, err := Read(t.Context(), "codex", EnvOf(home, nil))
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
