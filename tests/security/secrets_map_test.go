package security_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/infinium"
	"github.com/hookspan/hookspan/infinium/connectors"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/redactspans"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

const (
	clinePayloads  = "../../hook/cline/testdata"
	claudePayloads = "../../hook/claude/testdata"
	hostFiles      = "../../internal/transcript/testdata"
)

// recording is a recorded session and the host's own files of it.
type recording struct {
	payloads, files string
	claude          bool
}

// recordings are of each dialect, with every kind of event.
var recordings = []recording{
	{"../../../internal/demo/session", "../../demo/task", false},
	{"next-session", "", false},
	{"sdk-session", "", false},
	{"e2e-cli2/ok", "cli2/1795174833149", false},
	{"e2e-cli2/precompact", "", false},
	{"e2e-cli3/tools", "sdk/tools/1795174957841_0jeru", false},
	{"e2e-cli3/subagent", "sdk/subagent/1795175660887_ibxt7", false},
	{"e2e-cli3/provider-error", "sdk/provider-error/1795175034447_1mokh", false},
	{"e2e-cli3/sigint", "", false},
	{"e2e-cli3/yolo", "", false},
	{"session.ndjson", "claude/2.1.240", true},
	{"e2e/tools-resume", "claude/tools-resume", true},
	{"e2e/subagent", "claude/subagent", true},
	{"e2e/background-subagent", "claude/background-subagent", true},
	{"e2e/interrupt", "claude/interrupt", true},
	{"e2e/api-error", "claude/api-error", true},
}

func (s recording) host() string {
	if s.claude {
		return hook.HostClaude
	}
	return hook.HostCline
}

// events are the payloads in the order of arrival.
func (s recording) events(t testing.TB) []lab.Event {
	t.Helper()
	if !s.claude {
		return lab.Recording(t, clinePayloads, s.payloads)
	}
	if !strings.HasSuffix(s.payloads, ".ndjson") {
		return lab.Recording(t, claudePayloads, s.payloads)
	}
	b, err := os.ReadFile(filepath.Join(claudePayloads, s.payloads))
	if err != nil {
		t.Fatal(err)
	}
	var out []lab.Event
	for dec := json.NewDecoder(bytes.NewReader(b)); dec.More(); {
		var line struct{ Payload json.RawMessage }
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, lab.Event{Payload: line.Payload})
	}
	return out
}

// transcript reads the host's files, altered, as they would lie in a home folder.
func (s recording) transcript(t testing.TB, session string, alter func([]byte) []byte) *hook.Transcript {
	t.Helper()
	if s.files == "" {
		return nil
	}
	home := t.TempDir()
	agent, q := clinefiles.Agent, transcript.Query{Session: session, Dialect: clinefiles.DialectClassic}
	to := filepath.Join(".cline", "data", "tasks", session)
	switch {
	case s.claude:
		agent, to = claudefiles.Agent, ".claude"
	case strings.HasPrefix(s.files, "sdk/"):
		q.Dialect, to = clinefiles.DialectSDK, filepath.Join(".cline", "data", "sessions", session)
	}
	root := filepath.Join(hostFiles, filepath.FromSlash(s.files))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bytes.SplitAfter(b, []byte("\n"))
		if !strings.HasSuffix(path, ".jsonl") {
			lines = [][]byte{b}
		}
		var out []byte
		for _, line := range lines {
			out = append(append(out, alter(bytes.TrimSuffix(line, []byte("\n")))...), line[len(bytes.TrimSuffix(line, []byte("\n"))):]...)
		}
		path = filepath.Join(home, to, name)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, out, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &transcript.Files{Home: home, GOOS: "linux"}
	tr, err := f.Read(t.Context(), agent, q)
	if err != nil && !errors.Is(err, transcript.ErrNotFound) && tr == nil {
		// What was planted may have made the files unreadable.
		t.Logf("transcript of %s: %v", s.payloads, err)
	}
	return tr
}

// decodeAll turns payloads into events, one a second.
func decodeAll(host string, in []lab.Event) []hook.Event {
	var out []hook.Event
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, e := range in {
		at = at.Add(time.Second)
		raw := hook.Raw{Payload: e.Payload, Event: e.Name, StoredAt: at, Offset: int64(i), Cwd: "/home/dev/project"}
		// An event that does not decode is stored and gives no span.
		var evs []hook.Event
		if host == hook.HostClaude {
			evs, _ = claude.Decode(raw)
		} else {
			evs, _ = cline.Decode(raw)
		}
		out = append(out, evs...)
	}
	return out
}

// mapped makes the spans that delivery hands to every destination. Events of
// several sessions make runs of their own.
func mapped(clean *redact.Redactor, capture otelmap.Capture, host string, events []hook.Event, tr func(session string) *hook.Transcript) []*tracepb.ResourceSpans {
	o := otelmap.Options{Agent: agentstest.Mapping(host), Capture: capture, ScopeVersion: "test"}
	if clean != nil {
		o.Clean = clean.Preview
	}
	var names []string
	last := time.Time{}
	for i := range events {
		if e := &events[i]; !slices.Contains(names, e.Session) {
			names = append(names, e.Session)
		}
		if at := events[i].StoredAt; at.After(last) {
			last = at
		}
	}
	var out []*tracepb.ResourceSpans
	for _, name := range names {
		b := otelmap.NewBuilder(host, name, o, otelmap.Carry{})
		for i := range events {
			if events[i].Session == name {
				b.Add(events[i])
			}
		}
		transcript := tr(name)
		for _, r := range b.Runs(last.Add(24 * time.Hour)) {
			run := b.Spans(r, transcript)
			if clean != nil {
				run = redactspans.Clean(clean, run)
			}
			out = append(out, run)
		}
	}
	return out
}

func noTranscript(string) *hook.Transcript { return nil }

// sent is what the destinations get of the spans: the store, the file and an OTLP
// receiver the same attributes, Infinium its own schema.
func sent(t testing.TB, spans []*tracepb.ResourceSpans) string {
	t.Helper()
	for s := range otlp.Spans(spans) {
		for _, kv := range s.Attributes {
			switch kv.Key {
			case otelmap.KeyInputMessages, otelmap.KeyOutputMessages, otelmap.KeySystemInstructions:
				if !json.Valid([]byte(kv.Value.GetStringValue())) {
					t.Errorf("%s is no JSON: %.2000s", kv.Key, kv.Value.GetStringValue())
				}
			}
		}
	}
	doc, err := otlpjson.Encode(spans)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{string(doc)}
	for _, tr := range infinium.Traces(spans, connectors.Forms()) {
		b, err := tr.Encode()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return strings.Join(out, "\n")
}
