package hookscli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/built"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// attack is a call that Cline reads otherwise than a guard was once shown it.
type attack struct {
	tool string
	args map[string]any
	// gone is a file that the call removes, changed one that it writes, and told a text that
	// it gives the model.
	gone, changed, told string
}

// guard denies what the attacks do, of which it knows the plain form alone.
const guard = `#!/bin/sh
p=$(cat)
case $p in *'/ws/.env"'*|*'"command":"rm -rf'*|*'$(rm -rf'*|*'EVIL'*|*'curl a && b'*) echo "$p" >> "$0.denied"; echo 'not that' >&2; exit 2;; esac
`

// classicAttacks and sdkAttacks are what a model can ask of CLI 2 and of CLI 3.
func classicAttacks() map[string]attack {
	diff := "------- SEARCH\nplain\n=======\nEVIL\n+++++++ REPLACE\n"
	return map[string]attack{
		"the other path":  {tool: "write_to_file", args: map[string]any{"path": "", "absolutePath": ".env", "content": "taken\n"}, changed: ".env"},
		"a diff":          {tool: "write_to_file", args: map[string]any{"path": "note.txt", "content": "plain\n", "diff": diff}, changed: "note.txt"},
		"a rule":          {tool: "new_rule", args: map[string]any{"path": ".env", "content": "taken\n"}, changed: ".env"},
		"entities":        {tool: "write_to_file", args: map[string]any{"path": "note.txt", "content": "curl a &amp;&amp; b\n"}, changed: "note.txt"},
		"no character":    {tool: "write_to_file", args: map[string]any{"path": "note.txt", "content": "EV\uFFFDIL\n"}, changed: "note.txt"},
		"home is a name":  {tool: "read_file", args: map[string]any{"path": "~/../.env"}, told: "TOPSECRET"},
		"an ordinary one": {tool: "read_file", args: map[string]any{"path": "note.txt"}},
	}
}

func sdkAttacks() []attack {
	return []attack{
		{tool: "run_commands", args: map[string]any{"command": 5, "cmd": "rm -rf one"}, gone: "one"},
		{tool: "run_commands", args: map[string]any{"commands": `{"command":"ls","x":"$(rm -rf two)"}`}, gone: "two"},
		{tool: "read_files", args: map[string]any{"path": 5, "file_path": ".env"}, told: "TOPSECRET"},
		{tool: "read_files", args: map[string]any{"files": []any{"~/../.env"}}, told: "TOPSECRET"},
	}
}

// guarded runs one of Cline's programs with the guard and says what came of the attacks.
func guarded(t *testing.T, h *clinecli.Harness, bin string, cli clinecli.CLI, attacks []attack) {
	t.Helper()
	var script llm.Script
	for _, a := range attacks {
		script.Main = append(script.Main, llm.Turn{Text: "Next.", Calls: []llm.Call{{Name: a.tool, Args: a.args}}})
	}
	step := rig.Step{Args: []string{"--json", "do it"}, Timeout: 3 * time.Minute}
	end := llm.Turn{Text: "All done."}
	install := []string{"cline"}
	if cli == clinecli.CLI2 {
		install = append(install, "--pre-tool-use")
		step.Args = append([]string{"-y"}, step.Args...)
		step.Signal = &rig.Signal{Number: syscall.SIGKILL, When: rig.Condition{Output: `"ask":"resume_task"`}}
		end.Calls = []llm.Call{{Name: "attempt_completion", Args: map[string]any{"result": "Done."}}}
	}
	script.Main = append(script.Main, end)
	res, err := h.Do(t.Context(), t.TempDir(), cli, script, []rig.Step{step}, func(a *rig.Arena) error {
		if err := a.Write(map[string]string{
			"ws/.env": "TOPSECRET\n", "ws/note.txt": "plain\n", "ws/one": "1", "ws/two": "2", "hooks/guard.sh": guard,
			"home/.cline/hooks.json": `{"hooks":{"PreToolUse":[{"matcher":"Bash|Read|Edit|Write","hooks":[{"type":"command","command":"sh '` + filepath.Join(a.Dir, "hooks", "guard.sh") + `'"}]}]}}`,
		}); err != nil {
			return err
		}
		return a.InstallHookspan(t.Context(), bin, []string{"HOOKSPAN_HOOKS_SOFT_DENY=true"}, install...)
	})
	rig.Check(t, "Cline", err)
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(res.Arena.Workspace, name))
		return string(text)
	}
	var heard strings.Builder
	for _, r := range res.Requests {
		heard.WriteString(strings.Join(r.Heard, "\n"))
	}
	if len(res.Requests) == 0 {
		t.Fatalf("the model was not asked: %+v", res.Steps)
	}
	effects := 0
	for _, a := range attacks {
		if a.gone+a.changed+a.told != "" {
			effects++
		}
	}
	denied, _ := os.ReadFile(filepath.Join(res.Arena.Dir, "hooks", "guard.sh.denied"))
	if n := strings.Count(string(denied), `"hook_event_name"`); n < effects {
		t.Errorf("the guard denied %d of %d attacks: %+v", n, effects, res.Steps)
	}
	for _, a := range attacks {
		switch {
		case a.gone != "" && read(a.gone) == "":
			t.Errorf("%s %v ran past the guard: %s is gone", a.tool, a.args, a.gone)
		case a.changed != "" && read(a.changed) != map[string]string{".env": "TOPSECRET\n", "note.txt": "plain\n"}[a.changed]:
			t.Errorf("%s %v ran past the guard: %s is %q", a.tool, a.args, a.changed, read(a.changed))
		case a.told != "" && strings.Contains(heard.String(), a.told):
			t.Errorf("%s %v ran past the guard: the model got %s", a.tool, a.args, a.told)
		case a.gone+a.changed+a.told == "" && len(res.Requests) < 2:
			t.Errorf("%s %v was denied", a.tool, a.args)
		}
	}
}

// TestGuardsSeeWhatClineTakes has a guard stop calls that name what they do in a way that
// Cline reads and a plain look at the input does not.
func TestGuardsSeeWhatClineTakes(t *testing.T) {
	if testing.Short() {
		skip.Elsewhere(t, "drives the real agents; left out by -short")
	}
	t.Parallel()
	cache, err := rig.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := built.Put(t.Context(), bin, "cmd/hookspan", "cmd/cline-hook", "cmd/hook-runner"); err != nil {
		t.Fatal(err)
	}
	h := clinecli.NewHarness(cache, t.TempDir())
	for name, a := range classicAttacks() {
		t.Run("cli2 "+name, func(t *testing.T) {
			t.Parallel()
			guarded(t, h, bin, clinecli.CLI2, []attack{a})
		})
	}
	t.Run("cli3", func(t *testing.T) {
		t.Parallel()
		guarded(t, h, bin, clinecli.CLI3, sdkAttacks())
	})
}
