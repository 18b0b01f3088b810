package codex

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A subagent's file is in the folder of its own local day, which may be the one before its
// session's, but not any day before.
func TestAgentFilesByDay(t *testing.T) {
	const thread = "01a203a0-2cf5-7990-af98-998a6ab6b451"
	for _, tt := range []struct {
		day  string
		want int
	}{
		{"2026/11/01", 1}, {"2026/11/02", 1}, {"2027/01/05", 1}, {"2026/10/31", 1}, {"2026/10/30", 0}, {"2025/12/31", 0},
	} {
		root := t.TempDir()
		session := filepath.Join(root, "2026", "11", "01", "rollout-2026-11-01T00-00-01-01a203a0-0000-7990-af98-998a6ab6b451.jsonl")
		dir := filepath.Join(root, filepath.FromSlash(tt.day))
		for _, d := range []string{filepath.Dir(session), dir} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, "rollout-2026-11-01T00-00-00-"+thread+".jsonl")
		if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var want []string
		if tt.want > 0 {
			want = []string{file}
		}
		if diff := cmp.Diff(want, agentFiles(session, thread)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.day, diff)
		}
	}
}
