package agents

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/transcript"
)

// TestReadersNameAllFoldersOfAWorkspace has the rows in which each agent names them, and
// one of a workspace with one folder.
func TestReadersNameAllFoldersOfAWorkspace(t *testing.T) {
	const codex = `{"timestamp":"2026-06-10T09:00:00.000Z","type":"session_meta","payload":{"id":"11111111-1111-7111-8111-111111111111","timestamp":"2026-06-10T09:00:00.000Z","cwd":"/w/app"}}` + "\n" +
		`{"timestamp":"2026-06-10T09:00:01.000Z","type":"turn_context","payload":{"cwd":"/w/app","model":"m","workspace_roots":ROOTS}}` + "\n"
	const claude = `{"type":"user","uuid":"u1","sessionId":"s1","cwd":"/w/app","timestamp":"2026-06-10T09:00:00.000Z","message":{"role":"user","content":"go"}}` + "\n" +
		`{"type":"attachment","uuid":"u2","parentUuid":"u1","sessionId":"s1","cwd":"/w/app","timestamp":"2026-06-10T09:00:00.100Z","attachment":{"type":"environment","snapshot":{"workingDirectory":"/w/app","additionalWorkingDirectories":ROOTS}}}` + "\n"
	const gemini = `{"sessionId":"s1","startTime":"2026-06-10T09:00:00.000Z","kind":"main"}` + "\n" +
		`{"id":"1","type":"user","timestamp":"2026-06-10T09:00:00.000Z","content":"go"}` + "\n"
	const cline = `[{"role":"user","content":[{"type":"text","text":"<environment_details>\n# Workspace Configuration\n{\n  \"workspaces\": {WORKSPACES}\n}\n\n# Mode</environment_details>"}],"ts":1780000000000}]`
	files := map[string]map[string]string{
		"codex":  {".codex/sessions/2026/06/10/rollout-2026-06-10T09-00-00-11111111-1111-7111-8111-111111111111.jsonl": codex},
		"claude": {".claude/projects/-w-app/s1.jsonl": claude},
		"gemini": {".gemini/tmp/p/chats/session-2026-06-10T09-00-s1.jsonl": gemini + `{"$set":{"directories":ROOTS}}` + "\n"},
		"cline": {
			".cline/data/tasks/1780000000000/ui_messages.json":              `[{"ts":1780000000000,"type":"say","say":"task","text":"go"}]`,
			".cline/data/tasks/1780000000000/api_conversation_history.json": cline,
		},
	}
	ids := map[string]string{"codex": "11111111-1111-7111-8111-111111111111", "cline": "1780000000000"}
	for name, in := range files {
		for _, folders := range [][]string{{"/w/app", "/w/api"}, {"/w/app"}} {
			home := t.TempDir()
			list, workspaces := `["/w/app","/w/api"]`, `"/w/app":{"hint":"app"},"/w/api":{"hint":"api"}`
			if len(folders) == 1 {
				list, workspaces = `["/w/app"]`, `"/w/app":{"hint":"app"}`
			}
			for path, text := range in {
				path = filepath.Join(home, path)
				text = strings.NewReplacer("ROOTS", list, "WORKSPACES", strings.ReplaceAll(workspaces, `"`, `\"`)).Replace(text)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			agent, _ := All().Named(name)
			q := transcript.Query{Session: "s1", Full: true}
			if id := ids[name]; id != "" {
				q.Session = id
			}
			if name == "cline" {
				q.Dialect = "classic"
			}
			tr, err := (&transcript.Files{Home: home}).Read(t.Context(), agent.Reader(), q)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := tr.Folders; len(folders) > 1 && !slices.Equal(got, folders) || len(folders) == 1 && len(got) > 1 || len(tr.Unread) > 0 {
				t.Errorf("%s: folders %q of %q, unread %v", name, got, folders, tr.Unread)
			}
		}
	}
}
