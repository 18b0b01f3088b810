package pipeline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
)

// TestDeliveriesNoteLimits reads a session of Codex's as a delivery does.
func TestDeliveriesNoteLimits(t *testing.T) {
	home := t.TempDir()
	text, err := os.ReadFile(filepath.FromSlash("../transcript/codex/testdata/limits/codex.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	const session = "01a227e7-df5f-76d2-878c-dbb3b61c3228"
	path := filepath.Join(home, ".codex", "sessions", "2026", "11", "29", "rollout-2026-11-29T15-23-57-"+session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	noted := make(map[string]int)
	s := &Setup{
		Config: &config.Config{}, Agents: agents.All(), Home: home, Getenv: func(string) string { return "" },
		NoteLimits: func(host string, all []hook.Limit) { noted[host] += len(all) },
	}
	if _, err := s.Sources()[hook.HostCodex].Transcript(t.Context(), session, deliver.Facts{}); err != nil || len(noted) != 1 || noted[hook.HostCodex] != 3 {
		t.Errorf("noted %v, %v", noted, err)
	}
}
