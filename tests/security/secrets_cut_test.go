package security_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/plantedkeys"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// cutRows have the hook process shorten a payload, before any redaction.
var cutRows = []proof.Row{{
	Name:  "a payload above HOOKSPAN_MAX_EVENT_BYTES whose long texts are cut behind each byte of a key",
	Rule:  nothingOut + ", with whole texts captured",
	Short: 800, Long: 30_000, Run: keysAtCutter,
}}

// longTexts are payloads with a text too long to keep, in each form of it.
var longTexts = []struct {
	name  string
	host  record.Agent
	event func(session, text string) lab.Event
}{
	{"a result", clineHost, func(session, text string) lab.Event {
		return clineTool(session, map[string]any{"toolName": "read_file", "parameters": map[string]any{"path": "a"}, "result": text, "success": true, "executionTimeMs": 3})
	}},
	{"a tool's input", clineHost, func(session, text string) lab.Event {
		return clineTool(session, map[string]any{"toolName": "write_to_file", "parameters": map[string]any{"path": "a", "content": text}, "result": "ok", "success": true, "executionTimeMs": 3})
	}},
	{"JSON in a tool's input", clineHost, func(session, text string) lab.Event {
		return clineTool(session, map[string]any{"toolName": "read_files", "parameters": map[string]any{"files": string(asJSON([]any{map[string]any{"path": text}}))}, "result": "ok", "success": true})
	}},
	{"a list of texts", clineHost, func(session, text string) lab.Event {
		return clineTool(session, map[string]any{"toolName": "run_commands", "parameters": map[string]any{"commands": []string{text, text, text}}, "result": text, "success": true})
	}},
	{"both outputs of a command", claudeHost, func(session, text string) lab.Event {
		return lab.Event{Name: "PostToolUse", Payload: asJSON(map[string]any{
			"session_id": session, "hook_event_name": "PostToolUse", "prompt_id": "p", "cwd": "/", "tool_name": "Bash", "tool_use_id": "t",
			"tool_input": map[string]any{"command": text}, "tool_response": map[string]any{"stdout": text, "stderr": text, "interrupted": false},
		})}
	}},
	{"a prompt", claudeHost, func(session, text string) lab.Event {
		return lab.Event{Name: "UserPromptSubmit", Payload: asJSON(map[string]any{
			"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt_id": "p", "cwd": "/", "prompt": text,
		})}
	}},
}

var (
	clineHost  = record.Agent{Facts: hook.AgentOf(hook.HostCline), Peek: cline.Peek, Reply: cline.EncodeReply}
	claudeHost = record.Agent{Facts: hook.AgentOf(hook.HostClaude), Peek: claude.PeekIn(func(string) string { return "" })}
)

func clineTool(session string, body map[string]any) lab.Event {
	return lab.Event{Name: "PostToolUse", Payload: asJSON(map[string]any{
		"clineVersion": "4.0.12", "hookName": "PostToolUse", "timestamp": "1795175957341", "taskId": session,
		"workspaceRoots": []string{"/home/dev/project"}, "userId": "u", "postToolUse": body,
	})}
}

func keysAtCutter(t *testing.T, r *proof.Result) {
	clean, all := redact.New(nil), plantedkeys.Keys()
	type trial struct {
		key  plantedkeys.Key
		what string
	}
	left := filler(40_000)
	perShape := 0
	for _, k := range all {
		perShape += len(k.Text()) + 1
	}
	step := max(1, perShape*len(longTexts)/r.N)
	n, cuts := 0, 0
	for _, form := range longTexts {
		kept := keptOf(t, form.host, form.event("probe", left))
		if kept <= 0 || kept > 3000 {
			t.Fatalf("%s: %d bytes of the text were kept", form.name, kept)
		}
		batch := map[string]trial{}
		var events []lab.Event
		flush := func() {
			for _, rec := range recorded(t, form.host, events) {
				if bytes.Contains(rec.Payload, []byte("bytes cut]")) {
					cuts++
				}
				one := decodeAll(form.host.Facts.Host, []lab.Event{{Name: rec.Event, Payload: rec.Payload}})
				got := sent(t, mapped(clean, otelmap.CaptureFull, form.host.Facts.Host, one, noTranscript))
				tr := batch[rec.Session]
				if l := tr.key.Leak(got); l != "" {
					i := strings.Index(got, l)
					r.Break("%s: %s: %q", form.name, tr.what, got[max(0, i-90):min(len(got), i+60)])
				}
				r.Trial(1)
			}
			clear(batch)
			events = events[:0]
		}
		for _, k := range all {
			for at := 0; at <= len(k.Text()); at++ {
				if n++; n%step != 0 {
					continue
				}
				session := fmt.Sprint("s", n)
				batch[session] = trial{k, fmt.Sprintf("%d bytes of the key %q", at, k.Before)}
				events = append(events, form.event(session, filler(kept-at)+k.Text()+" "+left))
				if len(events) == 100 {
					flush()
				}
			}
		}
		flush()
	}
	if cuts < r.N {
		t.Errorf("%d payloads were cut, want all %d", cuts, r.N)
	}
	r.Note("%d forms of payloads, %d keys", len(longTexts), len(all))
}

// keptOf is how many bytes of an event's longest text are kept.
func keptOf(t *testing.T, host record.Agent, e lab.Event) int {
	t.Helper()
	recs := recorded(t, host, []lab.Event{e})
	if len(recs) != 1 {
		t.Fatalf("%d records of one event", len(recs))
	}
	var v any
	if err := json.Unmarshal(recs[0].Payload, &v); err != nil {
		t.Fatal(err)
	}
	return longest(v)
}

// longest is the place of the first mark of a cut in a decoded value.
func longest(v any) int {
	switch v := v.(type) {
	case string:
		if i := strings.Index(v, "… ["); i >= 0 {
			return i
		}
	case []any:
		for _, e := range v {
			if n := longest(e); n > 0 {
				return n
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if n := longest(v[name]); n > 0 {
				return n
			}
		}
	}
	return 0
}

// recorded gives events to a hook process that keeps 4 KiB of each.
func recorded(t *testing.T, host record.Agent, events []lab.Event) []*spool.Record {
	t.Helper()
	w := &lab.World{T: t, Home: t.TempDir()}
	for _, e := range events {
		p := record.Process{
			Agent: host, Event: e.Name, Stdin: bytes.NewReader(e.Payload), Home: w.Home, GOOS: "linux", Dir: "/", Now: time.Now,
			Environ: []string{"HOME=" + w.Home, "HOOKSPAN_MAX_EVENT_BYTES=4KiB"},
			Spawn:   func(...string) error { return nil },
		}
		if stored, err := p.Record(); err != nil || !stored {
			t.Fatalf("record %s: %v, %v", e.Name, stored, err)
		}
	}
	return w.Records(t)
}
