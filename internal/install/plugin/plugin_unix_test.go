//go:build !windows

package plugin

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// feed runs the plugin in Node.js, with a hook program of that text, and gives it the
// events of a file. It returns what the program got.
func feed(t *testing.T, program, events string) (lines []byte) {
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
	write(t, plugin, string(opencode.render(hook)), 0o644)
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

const keeps = "#!/bin/sh\n[ \"$1\" = opencode ] && exec cat > GOT\n"

// TestPluginHandsOn gives the plugin events that opencode published, and compares the
// lines that its hook program gets.
func TestPluginHandsOn(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bus.ndjson")
	if err != nil || len(files) != 6 {
		t.Fatalf("recordings %q, %v; want 6", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".bus.ndjson")
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for line := range bytes.Lines(feed(t, keeps, file)) {
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
	got := string(feed(t, keeps, events))
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
	if got := string(feed(t, keeps, events)); !strings.Contains(got, `"text":"done"`) {
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
	for name, program := range map[string]string{"keeps": keeps, "ends at once": "#!/bin/sh\n: > GOT\n"} {
		t.Run(name, func(t *testing.T) { feed(t, program, odd) })
	}
	t.Run("is gone", func(t *testing.T) { feedWithout(t, odd) })
}

// feedWithout is feed with a hook program that is not there.
func feedWithout(t *testing.T, events string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "no node on this machine to run the plugin: %v", err)
	}
	plugin := filepath.Join(t.TempDir(), "hookspan.mjs")
	write(t, plugin, string(opencode.render("/nowhere/claude-hook")), 0o644)
	cmd := exec.CommandContext(t.Context(), node, "testdata/feed.mjs", plugin, events)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the plugin ended with %v and said %q", err, out)
	}
}
