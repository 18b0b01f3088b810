//go:build !windows

package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

var pi = Installer{Agent: hook.AgentOf(hook.HostPi)}

// feed runs the plugin in Node.js, with a hook program of that text, and gives it the
// events of a file. It returns what the program got.
func feed(t *testing.T, i Installer, program, events string) (lines []byte) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "no node on this machine to run the plugin: %v", err)
	}
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	if err := syscall.Mkfifo(got, 0o600); err != nil {
		t.Fatal(err)
	}
	// The program outlives the plugin by as long as it reads.
	read := make(chan []byte, 1)
	go func() {
		lines, err := os.ReadFile(got)
		if err != nil {
			t.Error(err)
		}
		read <- lines
	}()
	hook := filepath.Join(dir, "hook")
	write(t, hook, strings.ReplaceAll(program, "GOT", got), 0o755)
	plugin := filepath.Join(dir, "hookspan.mjs")
	write(t, plugin, string(i.render(hook)), 0o644)
	abs := func(name string) string {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	cmd := exec.CommandContext(t.Context(), node, abs("testdata/feed.mjs"), plugin, abs(events))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the plugin ended with %v and said %q", err, out)
	}
	return <-read
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

const keeps = "#!/bin/sh\ncase $1 in opencode | pi) exec cat > GOT ;; esac\n"

// TestPluginHandsOn gives the plugin events that opencode published, and the extension those of
// Pi, and compares the lines that their hook program gets.
func TestPluginHandsOn(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bus.ndjson")
	if err != nil || len(files) != 9 {
		t.Fatalf("recordings %q, %v; want 9", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".bus.ndjson")
		t.Run(name, func(t *testing.T) {
			i := opencode
			if strings.HasPrefix(name, "pi-") {
				i = pi
			}
			var got bytes.Buffer
			for line := range bytes.Lines(feed(t, i, keeps, file)) {
				var o map[string]any
				if err := json.Unmarshal(line, &o); err != nil {
					t.Fatalf("line %q: %v", line, err)
				}
				o["cwd"] = "" // the folder of the test
				text, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				got.Write(append(text, '\n'))
			}
			golden.Check(t, name+".lines.ndjson", got.String())
		})
	}
}

// TestExtensionWaitsForTheRow gives a prompt whose row is written late: another extension's
// handler takes its time. The next event has it, at the latest.
func TestExtensionWaitsForTheRow(t *testing.T) {
	const at = `"session":"s","file":"/s.jsonl","event":{`
	events := filepath.Join(t.TempDir(), "late")
	write(t, events, strings.Join([]string{
		`{"ts":1,"name":"session_start",` + at + `"reason":"startup"}}`,
		`{"ts":2,"name":"message_end",` + at + `"message":{"role":"user","content":"go","timestamp":7}}}`,
		`{"ts":3,"name":"tool_execution_start",` + at + `"type":"tool_execution_start","toolCallId":"c"}}`,
		`{"ts":4,"name":"ui_prompt_start",` + at + `"kind":"confirm"}}`, `{"ts":4,"name":"ui_prompt_start",` + at + `"kind":"confirm"}}`,
		`{"ts":5,"name":"agent_settled",` + at + `"type":"agent_settled","aborted":true}}`,
		`{"ts":6,"name":"ui_prompt_start",` + at + `"kind":"confirm"}}`,
		`{"ts":7,"name":"agent_settled",` + at + `"type":"agent_settled","aborted":false}}`,
		`{"ts":7,"name":"message_end",` + at + `"message":{"role":"assistant","stopReason":"error"}}}`,
		`{"ts":7,"name":"agent_settled",` + at + `"type":"agent_settled","aborted":true}}`,
		`{"ts":8,"name":"session_shutdown",` + at + `"type":"session_shutdown","reason":"quit"}}`,
	}, "\n"), 0o600)
	var got []string
	for line := range bytes.Lines(feed(t, pi, keeps, events)) {
		var o struct{ Type, Turn, Text, Outcome, MessageID string }
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(strings.Join([]string{o.Type, o.Turn, o.Text, o.Outcome, o.MessageID}, " ")))
	}
	want := []string{"session_start", "message_end 7 go  7", "tool_execution_start 7", "ui_prompt_start 7   7/1", "ui_prompt_start 7   7/2", "agent_settled 7  aborted", "agent_settled   error", "session_shutdown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines of a task without a row, and of what comes after it (-want +got):\n%s", diff)
	}
}

// TestExtensionFindsTheRow gives prompts that another extension replaces before their row is
// written, a message of an extension's that comes again and has its row late, and one after a
// task whose end could not be handed on.
func TestExtensionFindsTheRow(t *testing.T) {
	const at = `"session":"s","file":"/s.jsonl","event":{`
	custom := `{"ts":2,"name":"message_end",` + at + `"message":{"role":"custom","content":"build failed","timestamp":%d}}`
	settled := `{"ts":5,"name":"agent_settled",` + at + `"type":"agent_settled","aborted":true}}`
	events := filepath.Join(t.TempDir(), "rows")
	write(t, events, strings.Join([]string{
		`{"ts":1,"name":"session_start",` + at + `"reason":"startup"}}`,
		`{"ts":2,"name":"message_end",` + at + `"message":{"role":"user","content":"my secret","timestamp":7}},"row":"r1","written":{"role":"user","content":"[redacted]","timestamp":7}}`,
		`{"ts":3,"name":"message_end",` + at + `"message":{"role":"user","content":"my other","timestamp":8}},"row":"q1","written":{"role":"user","content":"[redacted] too","timestamp":8}}`, settled,
		fmt.Sprintf(custom, 8) + `,"row":"r2"}`, settled,
		fmt.Sprintf(custom, 9) + `}`, `{"ts":5,"name":"agent_settled","session":null,"event":{"type":"agent_settled"}}`,
		fmt.Sprintf(custom, 10) + `,"row":"r4"}`, settled,
		`{"ts":8,"name":"session_shutdown",` + at + `"type":"session_shutdown","reason":"quit"}}`,
	}, "\n"), 0o600)
	var got []string
	for line := range bytes.Lines(feed(t, pi, keeps, events)) {
		var o struct{ Type, Turn, Text string }
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		if o.Type == "message_end" {
			got = append(got, o.Turn+" "+o.Text)
		}
	}
	if diff := cmp.Diff([]string{"r1 [redacted]", "r1 [redacted] too", "r2 build failed", "9 build failed", "r4 build failed"}, got); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

// TestPluginLeavesOutWhatAForkCopies gives the events of a fork, which publishes each
// message that it copies.
func TestPluginLeavesOutWhatAForkCopies(t *testing.T) {
	events := filepath.Join(t.TempDir(), "fork")
	write(t, events, strings.Join([]string{
		`{"ts":900,"event":{"type":"session.created","properties":{"info":{"id":"f","time":{"created":900}}}}}`,
		`{"ts":901,"event":{"type":"message.updated","properties":{"info":{"id":"c1","role":"user","sessionID":"f","time":{"created":100}}}}}`,
		`{"ts":902,"event":{"type":"message.part.updated","properties":{"part":{"id":"p1","type":"text","text":"old","messageID":"c1","sessionID":"f"}}}}`,
		`{"ts":903,"event":{"type":"message.updated","properties":{"info":{"id":"c2","role":"assistant","parentID":"c1","sessionID":"f","time":{"created":101}}}}}`,
		`{"ts":904,"event":{"type":"message.part.updated","properties":{"part":{"id":"p2","type":"tool","tool":"bash","callID":"x","messageID":"c2","sessionID":"f","state":{"status":"completed"}}}}}`,
		`{"ts":990,"event":{"type":"message.updated","properties":{"info":{"id":"n1","role":"user","sessionID":"f","time":{"created":990}}}}}`,
		`{"ts":991,"event":{"type":"message.part.updated","properties":{"part":{"id":"p3","type":"text","text":"new","messageID":"n1","sessionID":"f"}}}}`,
	}, "\n"), 0o600)
	got := string(feed(t, opencode, keeps, events))
	if n := strings.Count(got, "message.part.updated"); n != 1 || !strings.Contains(got, `"text":"new"`) {
		t.Errorf("the program got\n%swant the new prompt alone", got)
	}
}

// TestPluginTakesTheModelsTextForTheAnswer gives the progress that Kilo shows as a part of the
// last message and then removes.
func TestPluginTakesTheModelsTextForTheAnswer(t *testing.T) {
	const message = `"messageID":"a","sessionID":"s"}}}}`
	events := filepath.Join(t.TempDir(), "progress")
	write(t, events, strings.Join([]string{
		`{"ts":1,"event":{"type":"message.updated","properties":{"info":{"id":"a","role":"assistant","parentID":"u","sessionID":"s"}}}}`,
		`{"ts":2,"event":{"type":"message.part.updated","properties":{"part":{"id":"p","type":"text","text":"done",` + message,
		`{"ts":3,"event":{"type":"message.part.updated","properties":{"part":{"id":"q","type":"text","text":"Initializing snapshot","synthetic":true,` + message,
		`{"ts":4,"event":{"type":"session.idle","properties":{"sessionID":"s"}}}`,
	}, "\n"), 0o600)
	if got := string(feed(t, opencode, keeps, events)); !strings.Contains(got, `"text":"done"`) {
		t.Errorf("the program got\n%swant the text of the model", got)
	}
}

// TestPluginNeverThrows gives the plugin events of forms that it does not know, and hook
// programs that end.
func TestPluginNeverThrows(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "odd")
	write(t, odd, strings.Join([]string{
		`{"ts":1,"event":{}}`, `{"ts":1,"event":null}`, `{"ts":1,"event":{"type":"session.idle"}}`,
		`{"ts":1,"event":{"type":"message.updated","properties":{}}}`, `{"ts":1,"event":{"type":"message.part.updated","properties":{"part":{"type":"tool"}}}}`,
		`{"ts":1,"event":{"type":"session.created","properties":{"info":null}}}`, `{"ts":1,"event":{"type":"session.error","properties":{"error":{"name":"x"}}}}`,
		`{"ts":1,"event":{"type":"session.created","properties":{"info":{"id":"a","parentID":"a"}}}}`,
		`{"ts":20000,"event":{"type":"session.idle","properties":{"sessionID":"a"}}}`,
	}, "\n"), 0o600)
	oddPi := filepath.Join(t.TempDir(), "odd")
	write(t, oddPi, strings.Join([]string{
		`{"ts":1,"name":"session_start","session":null,"event":null}`, `{"ts":1,"name":"session_start","session":"s","event":null}`,
		`{"ts":1,"name":"session_start","session":"s","event":{}}`, `{"ts":1,"name":"message_end","session":"s","event":{}}`,
		`{"ts":1,"name":"message_end","session":null,"event":{"message":{"role":"user"}}}`, `{"ts":1,"name":"turn_end","session":"s","event":{}}`,
		`{"ts":1,"name":"tool_execution_end","session":"s","event":{"type":"tool_execution_end","result":null}}`,
		`{"ts":20000,"name":"model_select","session":"s","event":{"type":"model_select"}}`, `{"ts":20000,"name":"agent_settled","session":null,"event":{}}`,
	}, "\n"), 0o600)
	for name, program := range map[string]string{"keeps": keeps, "ends at once": "#!/bin/sh\n: > GOT\n"} {
		t.Run(name, func(t *testing.T) {
			feed(t, opencode, program, odd)
			feed(t, pi, program, oddPi)
		})
	}
	t.Run("is gone", func(t *testing.T) {
		feedWithout(t, opencode, odd)
		feedWithout(t, pi, oddPi)
	})
}

// feedWithout is feed with a hook program that is not there.
func feedWithout(t *testing.T, i Installer, events string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "no node on this machine to run the plugin: %v", err)
	}
	plugin := filepath.Join(t.TempDir(), "hookspan.mjs")
	write(t, plugin, string(i.render("/nowhere/claude-hook")), 0o644)
	cmd := exec.CommandContext(t.Context(), node, "testdata/feed.mjs", plugin, events)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the plugin ended with %v and said %q", err, out)
	}
}
