package codex

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgentFiles has a subagent's file in the folder of its own local day, and in the archive.
func TestAgentFiles(t *testing.T) {
	const thread = "01a203a0-2cf5-7990-af98-998a6ab6b451"
	for _, tt := range []struct{ places, want []string }{
		{[]string{"sessions/2026/11/01"}, []string{"sessions/2026/11/01"}},
		{[]string{"sessions/2026/10/31", "sessions/2027/01/05", "archived_sessions"}, []string{"sessions/2026/10/31", "sessions/2027/01/05"}},
		{[]string{"archived_sessions"}, []string{"archived_sessions"}},
		{nil, nil},
	} {
		f := finder(t, "")
		for _, dir := range tt.places {
			place(t, f, dir+"/rollout-2026-11-01T00-00-00-"+thread+".jsonl", "{}\n")
		}
		f.Getenv = func(string) string { return "" }
		session := filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "01", "rollout-2026-11-01T00-00-01-01a203a0-0000-7990-af98-998a6ab6b451.jsonl")
		var got []string
		for _, path := range newLog(0).agentFiles(t.Context(), f, session, thread) {
			dir, err := filepath.Rel(filepath.Join(f.Home, ".codex"), filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(dir))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.places, diff)
		}
	}
}
