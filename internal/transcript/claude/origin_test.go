package claude

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/transcript"
)

func TestClaudeOriginOfAFork(t *testing.T) {
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, ".claude"), os.DirFS("../testdata/claude/fork")); err != nil {
		t.Fatal(err)
	}
	f := &transcript.Files{Home: home, GOOS: "linux"}
	const fork, origin = "d1d41a34-2523-4f48-a209-b3ea39d95781", "3a8f4545-74e5-4525-9bcc-68ae211d741d"
	session, turn, err := f.Origin(t.Context(), Agent, transcript.Query{Session: fork})
	if err != nil || session != origin || turn != "0c04bac2-2082-4d94-b8ab-a056fd76451a" {
		t.Errorf("the fork comes from %q after the turn %q: %v", session, turn, err)
	}
	if session, turn, err = f.Origin(t.Context(), Agent, transcript.Query{Session: origin}); session != "" || turn != "" || err != nil {
		t.Errorf("what is no fork comes from %q after %q: %v", session, turn, err)
	}
	projects, err := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", origin+".jsonl"))
	if err != nil || len(projects) != 1 {
		t.Fatal(projects, err)
	}
	if err := os.Remove(projects[0]); err != nil {
		t.Fatal(err)
	}
	if _, _, err = f.Origin(t.Context(), Agent, transcript.Query{Session: fork}); !errors.Is(err, transcript.ErrNotFound) || !strings.Contains(err.Error(), fork) {
		t.Errorf("with the other session gone: %v", err)
	}
	if _, _, err = f.Origin(t.Context(), Agent, transcript.Query{Session: "../x"}); err == nil {
		t.Error("an id that is a path was taken")
	}
}
