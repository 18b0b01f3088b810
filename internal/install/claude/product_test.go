package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// TestUninstallRestoresBytesWithComments installs into settings of any layout, with
// comments, and takes the hooks out again.
func TestUninstallRestoresBytesWithComments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd := strings.TrimPrefix(oddSettings(t), jsonedit.ByteOrderMark)
		// A comment after the first bracket is within the object or list that it opens.
		at := strings.IndexAny(odd, "{[") + 1
		text := "// mine \"{\n" + odd[:at] + rapid.SampledFrom([]string{"", "/* x */", " // y\n"}).Draw(t, "comment") + odd[at:] + "/* } */"
		of := rapid.SampledFrom([]*product{qwenCode(), geminiCLI()}).Draw(t, "agent")
		e, err := of.open([]byte(text), nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		w := wantedHandler{of: of, binary: testHook, guarded: true, form: formShell, force: rapid.Bool().Draw(t, "force")}
		if _, err := e.install(w); err != nil {
			t.Fatal(err)
		}
		var events []string
		for _, f := range e.find() {
			events = append(events, f.event)
		}
		for _, ev := range of.events {
			if !slices.Contains(events, ev.name) {
				t.Fatalf("no hook for %s in\n%s", ev.name, e.text)
			}
		}
		if !json.Valid(jsonedit.WithoutComments(e.text)) {
			t.Fatalf("installed settings are no JSON:\n%s", e.text)
		}
		after, err := of.open(e.text, e.empty)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := after.uninstall(); err != nil {
			t.Fatal(err)
		}
		if string(after.text) != text {
			t.Fatalf("uninstalled\n%q\nwant\n%q\ninstalled\n%q", after.text, text, e.text)
		}
	})
}

// TestEntriesOfTheOtherAgentAreFixed judges entries that were copied from one agent's
// settings to the other's.
func TestStrictAgentsGetCommandsThatEndWell(t *testing.T) {
	w := wantedHandler{of: copilotCLI(), binary: testHook, guarded: true, form: formShell}
	ev, _ := w.of.event("preToolUse")
	var command string
	for _, f := range w.render(ev, "", nil) {
		if s, ok := f.Value.(string); ok && f.Key == "command" {
			command = s
		}
	}
	if !strings.HasSuffix(command, " copilot preToolUse || true") || strings.Contains(command, "exec ") {
		t.Errorf("command %q", command)
	}
	for command, want := range map[string]install.State{
		command:                                 install.StateInstalled,
		strings.TrimSuffix(command, " || true"): install.StateOutdated,
	} {
		h := handler{form: formShell, timeout: "10"}
		h.resolve(command)
		if state, reason := w.judge(h, "preToolUse", ""); state != want {
			t.Errorf("%s: %s (%s), want %s", command, state, reason, want)
		}
	}
}

func TestEntriesOfTheOtherAgentAreFixed(t *testing.T) {
	qwen := wantedHandler{of: qwenCode(), binary: testHook, guarded: true, form: formShell}
	claude := newWanted("linux", testHook, version{2, 1, 100}, true, false)
	for name, tt := range map[string]struct {
		w     wantedHandler
		words []string
		want  install.State
	}{
		"Qwen Code's own":           {qwen, []string{"qwen", "Stop"}, install.StateInstalled},
		"Claude Code's, in Qwen's":  {qwen, []string{"Stop"}, install.StateOutdated},
		"Claude Code's own":         {claude, []string{"Stop"}, install.StateInstalled},
		"Qwen Code's, in Claude's":  {claude, []string{"qwen", "Stop"}, install.StateOutdated},
		"Qwen Code's without event": {qwen, []string{"qwen"}, install.StateOutdated},
	} {
		h := handler{program: testHook, words: tt.words, form: formShell, guarded: true, timeout: "10"}
		if state, reason := tt.w.judge(h, "Stop", ""); state != tt.want {
			t.Errorf("%s: %s (%s), want %s", name, state, reason, tt.want)
		}
	}
}
