package agents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

// TestReader: an import shows a task that has just ended, unless a hook may refuse that.
func TestReader(t *testing.T) {
	for _, hooks := range []string{`{}`, `{"hooks":{"Stop":[{"hooks":[{"command":"make test"}]}]}}`} {
		home := t.TempDir()
		project := filepath.Join(home, "ws")
		rows := ""
		for _, members := range []string{`"type":"user","message":{"parts":[{"text":"go"}]}`, `"type":"assistant","message":{"parts":[{"text":"done"}]}`} {
			rows += fmt.Sprintf(`{"sessionId":"s1","cwd":%q,"timestamp":%q,%s}`+"\n", project, time.Now().Format(time.RFC3339Nano), members)
		}
		for path, text := range map[string]string{
			filepath.Join(home, ".qwen", "projects", "w", "chats", "s1.jsonl"): rows,
			filepath.Join(project, ".qwen", "settings.json"):                   hooks,
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		agent, _ := All().Named("qwen")
		tr, err := (&transcript.Files{Home: home}).Read(t.Context(), agent.Reader(), transcript.Query{Session: "s1"})
		if want := hooks != `{}`; err != nil || len(tr.Ends) != 1 || tr.Pending != want || tr.Undecided != want {
			t.Errorf("with %s: %+v, %v; want undecided %v", hooks, tr, err, want)
		}
	}
}

// TestRelativeFoldersAreUnusable leaves out databases, whose names are relative to the agent's folder.
func TestRelativeFoldersAreUnusable(t *testing.T) {
	got := ""
	for _, a := range All() {
		got += strings.Join(a.Unusable(func(string) string { return "below" }), "\n")
	}
	if !strings.Contains(got, "CODEX_HOME: found") || strings.Contains(got, "_DB") {
		t.Errorf("%q, want all but the databases", got)
	}
}
