// Package golden_test holds the spans that recorded sessions give against what
// a reader of their payloads expects. testdata/README.md says of each golden
// file why it is right.
package golden_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/hook/codex"
	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/testkit/otlpstub"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
	codexfiles "github.com/hookspan/hookspan/internal/transcript/codex"
	copilotfiles "github.com/hookspan/hookspan/internal/transcript/copilot"
	geminifiles "github.com/hookspan/hookspan/internal/transcript/gemini"
	opencodefiles "github.com/hookspan/hookspan/internal/transcript/opencode"
	qwenfiles "github.com/hookspan/hookspan/internal/transcript/qwen"
	"github.com/hookspan/hookspan/otelmap"
)

const (
	payloads = "../../hook/cline/testdata"
	storage  = "../../internal/transcript/testdata"
)

// session is a recorded session and the host's files that belong to it.
type session struct {
	dir   string // below payloads, or of another agent below its own
	store string // below storage; empty where none was recorded
	// agent is the agent's word, empty for Cline.
	agent string
}

var sessions = []session{
	{"classic-session", "classic/1795175957341", ""},
	{"next-session", "", ""},
	{"sdk-session", "", ""},
	{"vscode-classic", "", ""},
	{"vscode-next", "sdk/vscode-next/1795341600000_k3v9x", ""},
	{"vscode-next-resumed", "sdk/vscode-next/1795341600000_k3v9x", ""},
	{"e2e-cli2/ok", "cli2/1795174833149", ""},
	{"e2e-cli2/precompact", "", ""},
	{"e2e-cli3/tools", "sdk/tools/1795174957841_0jeru", ""},
	{"e2e-cli3/subagent", "sdk/subagent/1795175660887_ibxt7", ""},
	{"e2e-cli3/provider-error", "sdk/provider-error/1795175034447_1mokh", ""},
	{"e2e-cli3/sigint", "", ""},
	{"e2e-cli3/yolo", "", ""},
	{"session.ndjson", "claude/2.1.240", "claude"},
	{"e2e/tools-resume", "claude/tools-resume", "claude"},
	{"e2e/subagent", "claude/subagent", "claude"},
	{"e2e/background-subagent", "claude/background-subagent", "claude"},
	{"e2e/interrupt", "claude/interrupt", "claude"},
	{"e2e/api-error", "claude/api-error", "claude"},
	{"api-error.ndjson", "gemini/api-error", "gemini"},
	{"interrupt.ndjson", "gemini/interrupt", "gemini"},
	{"subagent.ndjson", "gemini/subagent", "gemini"},
	{"tools-resume.ndjson", "gemini/tools-resume", "gemini"},
	{"behave.ndjson", "gemini/behave", "gemini"},
	{"lag.ndjson", "copilot/lag", "copilot"},
	{"not-allowed.ndjson", "copilot/not-allowed", "copilot"},
	{"api-error.ndjson", "copilot/api-error", "copilot"},
	{"interrupt.ndjson", "copilot/interrupt", "copilot"},
	{"subagent.ndjson", "copilot/subagent", "copilot"},
	{"tools-resume.ndjson", "copilot/tools-resume", "copilot"},
	{"behave.ndjson", "copilot/behave", "copilot"},
	{"hello.ndjson", "copilot/hello", "copilot"},
	{"hello.ndjson", "gemini/hello", "gemini"},
	{"hello.ndjson", "qwen/hello", "qwen"},
	{"behave.ndjson", "qwen/behave", "qwen"},
	{"tools-resume.ndjson", "qwen/tools-resume", "qwen"},
	{"subagent.ndjson", "qwen/subagent", "qwen"},
	{"interrupt.ndjson", "qwen/interrupt", "qwen"},
	{"api-error.ndjson", "qwen/api-error", "qwen"},
	{"direct.ndjson", "codex/direct", "codex"},
	{"direct-0.140.ndjson", "codex/direct-0.140", "codex"},
	{"codemode-resume.ndjson", "codex/codemode-resume", "codex"},
	{"subagent-v1.ndjson", "codex/subagent-v1", "codex"},
	{"subagent-v2.ndjson", "codex/subagent-v2", "codex"},
	{"compact.ndjson", "codex/compact", "codex"},
	{"behave.ndjson", "codex/behave", "codex"},
	{"interrupt.ndjson", "codex/interrupt", "codex"},
	{"failed-stream.ndjson", "codex/failed-stream", "codex"},
	{"api-error.ndjson", "codex/api-error", "codex"},
	{"tools-resume.ndjson", "opencode/tools-resume", "opencode"},
	{"permission.ndjson", "opencode/permission", "opencode"},
	{"subagent.ndjson", "opencode/subagent", "opencode"},
	{"interrupt.ndjson", "opencode/interrupt", "opencode"},
	{"api-error.ndjson", "opencode/api-error", "opencode"},
}

func (s session) name() string {
	name := strings.ReplaceAll(strings.TrimSuffix(s.dir, ".ndjson"), "/", "-")
	if s.agent != "" {
		name = s.agent + "-" + strings.TrimPrefix(name, "e2e-")
	}
	return name
}

// events decodes the session's payloads in the order of arrival.
func (s session) events(t testing.TB) []hook.Event {
	t.Helper()
	switch s.agent {
	case "claude":
		return s.claudeEvents(t)
	case "copilot":
		return s.lineEvents(t, "../../hook/copilot/testdata", copilot.Decode)
	case "gemini":
		return s.lineEvents(t, "../../hook/gemini/testdata", gemini.Decode)
	case "qwen":
		return s.lineEvents(t, "../../hook/qwen/testdata", qwen.Decode)
	case "codex":
		return s.lineEvents(t, "../../hook/codex/testdata", codex.Decode)
	case "opencode":
		return s.lineEvents(t, "../../hook/opencode/testdata", opencode.Decode)
	}
	files, err := filepath.Glob(filepath.Join(payloads, s.dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads of %s: %v", s.dir, err)
	}
	var out []hook.Event
	for i, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		raw := cline.Raw{Payload: b, Event: event, Offset: int64(i), Cwd: "/home/dev/project"}
		evs, err := cline.Decode(raw)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, e := range evs {
			if e.Session == "" {
				continue // stored, but of no session
			}
			e.StoredAt = e.At().Add(10 * time.Millisecond)
			out = append(out, e)
		}
	}
	return out
}

// transcript reads the host's files as they would be found in a home folder.
func (s session) transcript(t testing.TB, id string) *hook.Transcript {
	t.Helper()
	if s.store == "" {
		return nil
	}
	home := t.TempDir()
	agent, q := clinefiles.Agent, transcript.Query{Session: id, Dialect: clinefiles.DialectClassic, Cwd: "/home/dev/project"}
	to := filepath.Join(".cline", "data", "tasks", id)
	switch {
	case s.agent == "claude":
		agent, to = claudefiles.Agent, ".claude"
	case s.agent == "copilot":
		agent, to = copilotfiles.Agent, ".copilot"
	case s.agent == "gemini":
		agent, to = geminifiles.Agent, ".gemini"
	case s.agent == "qwen":
		agent, to = qwenfiles.Agent, ".qwen"
	case s.agent == "codex":
		agent, to = codexfiles.Agent, ".codex"
	case s.agent == "opencode":
		agent, to = opencodefiles.Agent, "recorded"
		opencodetest.Write(t, home, filepath.Join(storage, s.store, "opencode.sql"))
	case strings.HasPrefix(id, "conv_"):
		// A conversation, whose session has to be found.
		q.Dialect, to = clinefiles.DialectNext, filepath.Join(".cline", "data", "sessions", filepath.Base(s.store))
	case strings.HasPrefix(s.store, "sdk/"):
		q.Dialect, to = clinefiles.DialectSDK, filepath.Join(".cline", "data", "sessions", id)
	}
	if err := os.CopyFS(filepath.Join(home, to), os.DirFS(filepath.Join(storage, s.store))); err != nil {
		t.Fatal(err)
	}
	f := &transcript.Files{Home: home, GOOS: "linux"}
	tr, err := f.Read(context.Background(), agent, q)
	if err != nil {
		t.Fatalf("transcript of %s: %v", s.dir, err)
	}
	return tr
}

// lineEvents decodes a session recorded as lines with the time of arrival in
// nanoseconds.
func (s session) lineEvents(t testing.TB, dir string, decode func(hook.Raw) ([]hook.Event, error)) (out []hook.Event) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, s.dir))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var row struct {
			TS      int64
			Event   string
			Payload json.RawMessage
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		evs, err := decode(hook.Raw{Payload: row.Payload, Event: row.Event, StoredAt: time.Unix(0, row.TS).UTC(), Offset: int64(len(out)), Cwd: "/"})
		if err != nil {
			t.Fatalf("%s: %v", s.dir, err)
		}
		out = append(out, evs...)
	}
	return out
}

func build(events []hook.Event) (*otelmap.Builder, []*otelmap.Run) {
	e := events[0]
	b := otelmap.NewBuilder(e.Host, e.Session, otelmap.Options{Agent: agentstest.Mapping(e.Host), ScopeVersion: "test"}, otelmap.Carry{})
	last := time.Time{}
	for _, e := range events {
		b.Add(e)
		if e.StoredAt.After(last) {
			last = e.StoredAt
		}
	}
	return b, b.Runs(last.Add(time.Hour))
}

// encode gives all runs of a session as OTLP JSON, one document a line.
func encode(t testing.TB, b *otelmap.Builder, runs []*otelmap.Run, tr *hook.Transcript) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, r := range runs {
		out.Write(encodeSpans(t, b.Spans(r, tr)))
	}
	return out.Bytes()
}

func encodeSpans(t testing.TB, run *tracepb.ResourceSpans) []byte {
	t.Helper()
	doc, err := otlpjson.Encode([]*tracepb.ResourceSpans{run})
	if err != nil {
		t.Fatal(err)
	}
	return append(doc, '\n')
}

// spansOf returns a run's spans, the root first.
func spansOf(b *otelmap.Builder, r *otelmap.Run, tr *hook.Transcript) []*tracepb.Span {
	return b.Spans(r, tr).GetScopeSpans()[0].GetSpans()
}

func TestRecordedSessions(t *testing.T) {
	for _, s := range sessions {
		t.Run(s.name(), func(t *testing.T) {
			events := s.events(t)
			tr := s.transcript(t, events[0].Session)
			b, runs := build(events)
			if tr != nil && b.ApplyRefusals(tr.Ends) {
				runs = b.Runs(events[len(events)-1].StoredAt.Add(time.Hour))
			}
			for _, r := range runs {
				if !r.Ended {
					t.Errorf("run %s has not ended", r.ID)
				}
				wellFormed(t, spansOf(b, r, tr))
			}
			goldenMessages(t, s.name()+".otlp.json", encode(t, b, runs, tr))
			golden.Check(t, s.name()+".txt", outline(b, runs, tr))
		})
	}
}

// TestSameSpansWhateverTheOrder delivers each session again with its events
// repeated and in other orders that the hosts can produce: hooks of one moment
// run in parallel, and the SDK runs all but tool hooks detached.
func TestSameSpansWhateverTheOrder(t *testing.T) {
	for _, s := range sessions {
		t.Run(s.name(), func(t *testing.T) {
			events := s.events(t)
			tr := s.transcript(t, events[0].Session)
			b, runs := build(events)
			want := encode(t, b, runs, tr)
			rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // A repeatable shuffle.
			for round := range 50 {
				got := reorder(events, rng)
				b, runs := build(got)
				if diff := gocmp.Diff(string(want), string(encode(t, b, runs, tr))); diff != "" {
					t.Fatalf("round %d: spans differ (-in order +reordered):\n%s", round, diff)
				}
			}
		})
	}
}

// reorder repeats some events and moves each by up to half a second, which is
// more than any hook of the recordings was late.
func reorder(events []hook.Event, rng *rand.Rand) []hook.Event {
	type late struct {
		e  hook.Event
		at time.Time
	}
	var out []late
	for _, e := range events {
		copies := 2
		if e.Time.IsZero() && e.Key == "" {
			copies = 1 // nothing distinguishes such an event from another
		}
		for range 1 + rng.IntN(copies) {
			out = append(out, late{e, e.At().Add(time.Duration(rng.IntN(500)) * time.Millisecond)})
		}
	}
	slices.SortStableFunc(out, func(x, y late) int { return x.at.Compare(y.at) })
	evs := make([]hook.Event, len(out))
	for i := range out {
		evs[i] = out[i].e
		evs[i].Offset = int64(i)
	}
	return evs
}

// TestTotalsAreTheHosts compares the sums over a session's runs with the totals
// that Cline itself keeps.
func TestTotalsAreTheHosts(t *testing.T) {
	type totals struct {
		Input, Output, CacheRead, CacheWrite, Requests int64
		Cost                                           float64
	}
	tests := map[string]totals{
		"classic-session": {5303, 2504, 176098, 17107, 10, 0.17044965},
		// The last request got its usage after Cline had written its own total.
		"e2e-cli2-ok":             {6500 + 1600, 265 + 56, 1500 + 300, 0, 6, 0},
		"e2e-cli3-tools":          {9800, 378, 2100, 0, 7, 0},
		"e2e-cli3-subagent":       {2500 + 2500, 105 + 105, 600 + 600, 0, 4, 0},
		"e2e-cli3-provider-error": {},
	}
	for _, s := range sessions {
		want, ok := tests[s.name()]
		if !ok {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			events := s.events(t)
			tr := s.transcript(t, events[0].Session)
			b, runs := build(events)
			var got totals
			for _, r := range runs {
				root := spansOf(b, r, tr)[0]
				for _, kv := range root.Attributes {
					switch kv.Key {
					case otelmap.KeyHostInputTokens:
						got.Input += kv.Value.GetIntValue()
					case otelmap.KeyRunOutputTokens:
						got.Output += kv.Value.GetIntValue()
					case otelmap.KeyRunCacheReadTokens:
						got.CacheRead += kv.Value.GetIntValue()
					case otelmap.KeyRunCacheWriteTokens:
						got.CacheWrite += kv.Value.GetIntValue()
					case otelmap.KeyLLMRequests:
						got.Requests += kv.Value.GetIntValue()
					case otelmap.KeyCost:
						got.Cost += kv.Value.GetDoubleValue()
					}
				}
			}
			if d := got.Cost - want.Cost; d < -1e-12 || d > 1e-12 {
				t.Errorf("cost %.12f, want %.12f", got.Cost, want.Cost)
			}
			got.Cost = want.Cost
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// wellFormed checks what must hold for any run.
func wellFormed(t *testing.T, spans []*tracepb.Span) {
	t.Helper()
	ids := map[string]bool{}
	for _, s := range spans {
		id := otlp.SpanID(s)
		if ids[id] {
			t.Errorf("span id %s of %q stands twice", id, s.Name)
		}
		ids[id] = true
	}
	for i, s := range spans {
		if otlp.End(s).Before(otlp.Start(s)) {
			t.Errorf("%q ends before it starts", s.Name)
		}
		if i > 0 && !ids[otlp.ParentID(s)] {
			t.Errorf("%q has a parent that is not of its run", s.Name)
		}
		if otlp.TraceID(s) != otlp.TraceID(spans[0]) {
			t.Errorf("%q is of another trace", s.Name)
		}
	}
}

// goldenMessages compares the messages, not their texts: how a document is written
// is up to the encoder.
func goldenMessages(t *testing.T, name string, lines []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if golden.Updating() {
		if err := os.WriteFile(path, indent(t, lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(messages(t, want), messages(t, lines), protocmp.Transform()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// messages reads OTLP JSON documents.
func messages(t *testing.T, docs []byte) (all []*tracepb.ResourceSpans) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(docs))
	for {
		var doc json.RawMessage
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := otlptest.Messages(doc)
		if err != nil {
			t.Fatal(err)
		}
		for s := range otlp.Spans(got) {
			if s.Status == nil {
				s.Status = &tracepb.Status{} // an encoder may leave out a status that is not set
			}
		}
		all = append(all, got...)
	}
}

func indent(t *testing.T, lines []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for line := range bytes.Lines(lines) {
		if err := json.Indent(&out, line, "", " "); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// outline is the form in which a person reviews a session.
func outline(b *otelmap.Builder, runs []*otelmap.Run, tr *hook.Transcript) []byte {
	var out bytes.Buffer
	for i, r := range runs {
		spans := spansOf(b, r, tr)
		root := spans[0]
		fmt.Fprintf(&out, "run %d: %s, %d spans, starts %s\n", i+1, r.Outcome, len(spans),
			otlp.Start(root).Format("15:04:05.000"))
		if len(root.Links) > 0 {
			fmt.Fprintf(&out, "  follows %s\n", hex.EncodeToString(root.Links[0].TraceId))
		}
		children(&out, spans, root, "  ", otlp.Start(root))
	}
	return out.Bytes()
}

func status(s *tracepb.Span) string {
	if s.Status.Code == tracepb.Status_STATUS_CODE_ERROR {
		return "Error"
	}
	return "Unset"
}

func children(out *bytes.Buffer, spans []*tracepb.Span, s *tracepb.Span, pad string, zero time.Time) {
	ms := func(t time.Time) int64 { return t.Sub(zero).Milliseconds() }
	fmt.Fprintf(out, "%s%s  [%d..%d ms] %s %s\n", pad, s.Name, ms(otlp.Start(s)), ms(otlp.End(s)),
		status(s), s.Status.Message)
	for _, kv := range s.Attributes {
		if slices.Contains(quiet, kv.Key) {
			continue
		}
		fmt.Fprintf(out, "%s    %s=%s\n", pad, kv.Key, otlpstub.Value(kv.Value).String())
	}
	for _, e := range s.Events {
		fmt.Fprintf(out, "%s    @%d %s", pad, ms(otlp.Time(e.TimeUnixNano)), e.Name)
		for _, kv := range e.Attributes {
			fmt.Fprintf(out, " %s=%s", strings.TrimPrefix(kv.Key, "hookspan."), otlpstub.Value(kv.Value).String())
		}
		fmt.Fprintln(out)
	}
	kids := slices.DeleteFunc(slices.Clone(spans), func(c *tracepb.Span) bool {
		return otlp.ParentID(c) != otlp.SpanID(s)
	})
	slices.SortStableFunc(kids, func(x, y *tracepb.Span) int {
		return cmp.Compare(otlp.Start(x).UnixNano(), otlp.Start(y).UnixNano())
	})
	for _, c := range kids {
		children(out, spans, c, pad+"  ", zero)
	}
}

// quiet are attributes that say the same on every span of their kind.
var quiet = []string{
	otelmap.KeyOperation, otelmap.KeyToolName, otelmap.KeyToolType, otelmap.KeyAgentName,
	otelmap.KeyHost, otelmap.KeyHostProvider, otelmap.KeyUser, otelmap.KeyProvider, otelmap.KeyConversationID,
}
