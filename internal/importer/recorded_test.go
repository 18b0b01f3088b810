package importer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/testkit/otlpstub"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
	"github.com/hookspan/hookspan/otelmap"
)

// home is a home folder with copies of recorded files: folder by its place
// below the home.
func home(t *testing.T, files map[string]string) *transcript.Files {
	t.Helper()
	f := &transcript.Files{Home: t.TempDir(), GOOS: "linux", Now: func() time.Time { return at(1_000_000) }}
	for to, from := range files {
		if err := os.CopyFS(filepath.Join(f.Home, filepath.FromSlash(to)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// payloads are the events of a recorded session's hooks. Claude Code's carry no
// time, so theirs are begin and a step for each.
func payloads(t *testing.T, dir string, begin time.Time) []hook.Event {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads in %s: %v", dir, err)
	}
	var out []hook.Event
	for i, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "-")
		var events []hook.Event
		if begin.IsZero() {
			events, err = cline.Decode(cline.Raw{Payload: b, Event: event, Offset: int64(i)})
		} else {
			stored := begin.Add(time.Duration(i) * 10 * time.Millisecond)
			events, err = claude.Decode(claude.Raw{Payload: b, Event: event, Offset: int64(i), StoredAt: stored})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.StoredAt.IsZero() {
				e.StoredAt = e.At()
			}
			out = append(out, e)
		}
	}
	return out
}

// spansOf returns a run's spans, the root first.
func spansOf(b *otelmap.Builder, r *otelmap.Run, tr *hook.Transcript) []*tracepb.Span {
	return b.Spans(r, tr).GetScopeSpans()[0].GetSpans()
}

// built gives the runs of events that are long past.
func built(events []hook.Event) (*otelmap.Builder, []*otelmap.Run) {
	b := otelmap.NewBuilder(events[0].Host, events[0].Session, otelmap.Options{Agent: agentstest.Mapping(events[0].Host)}, otelmap.Carry{})
	for _, e := range events {
		b.Add(e)
	}
	return b, b.Runs(events[len(events)-1].StoredAt.Add(24 * time.Hour))
}

// TestClaudeIDsAreThoseOfHooks imports recorded sessions of Claude Code and
// holds the ids of all runs, subagents and tools against those that the hooks of
// the same sessions give.
func TestClaudeIDsAreThoseOfHooks(t *testing.T) {
	spans := func(events []hook.Event, tr *hook.Transcript) []string {
		b, runs := built(events)
		var out []string
		for _, r := range runs {
			for i, s := range spansOf(b, r, tr) {
				name := s.Name
				if strings.HasPrefix(name, "chat") {
					continue // hooks tell of none; they come of the same files
				}
				if i == 0 {
					name += " " + r.Outcome
				}
				out = append(out, fmt.Sprintf("%s %s %s", otlp.TraceID(s), otlp.SpanID(s), name))
			}
		}
		slices.Sort(out)
		return out
	}
	for _, scenario := range []string{"api-error", "background-subagent", "interrupt", "subagent", "tools-resume"} {
		t.Run(scenario, func(t *testing.T) {
			f := home(t, map[string]string{".claude/projects": claudeFiles(scenario)})
			found, err := f.Sessions(t.Context(), claudefiles.Agent)
			if err != nil || len(found) != 1 {
				t.Fatalf("sessions %v, error %v", found, err)
			}
			tr, err := f.Read(t.Context(), claudefiles.Agent, transcript.Query{Session: found[0].ID, Path: found[0].Path})
			if err != nil {
				t.Fatal(err)
			}
			if len(tr.Prompts) == 0 {
				t.Fatal("the transcript has no prompt")
			}
			hooks := payloads(t, filepath.Join("..", "..", "hook", "claude", "testdata", "e2e", scenario), tr.Prompts[0].At)
			if d := cmp.Diff(spans(hooks, tr), spans(Events(HostClaude, DialectClaude, tr), tr)); d != "" {
				t.Errorf("spans (-hooks +import):\n%s", d)
			}
		})
	}
}

func claudeFiles(scenario string) string {
	return filepath.Join("..", "transcript", "testdata", "claude", scenario, "projects")
}

// timed gives the events of hooks the times that the files have.
func timed(events []hook.Event, tr *hook.Transcript) []hook.Event {
	times := make(map[string]time.Time)
	for _, p := range tr.Prompts {
		times["prompt "+p.Turn] = p.At
	}
	for _, e := range tr.Ends {
		times["end "+e.Turn] = e.At
	}
	for _, r := range tr.ToolResults {
		times["start "+r.ID], times["result "+r.ID] = r.Asked, r.At
	}
	last := tr.Prompts[0].At.Add(-time.Second)
	for i := range events {
		e := &events[i]
		key := ""
		switch {
		case e.Kind == hook.KindPrompt:
			key = "prompt " + e.Turn
		case e.Kind == hook.KindToolStart:
			key = "start " + e.Tool.ID
		case e.Kind == hook.KindToolEnd:
			key = "result " + e.Tool.ID
		case e.Kind.Terminal() && e.ParentAgent == "":
			key = "end " + e.Turn
		}
		if last = last.Add(time.Millisecond); times[key].After(last) {
			last = times[key]
		}
		e.StoredAt = last
	}
	return events
}

// TestImportAfterHooksAddsNothing records sessions of Claude Code by their hooks and then
// imports its files, with those of a session that was resumed: its file begins with a copy
// of the history, under its own id. Only its own turn is added, and nothing of a copy
// without one, whatever its name.
func TestImportAfterHooksAddsNothing(t *testing.T) {
	const first, last = "00000000-1111-4222-8333-444444444444", "ffffffff-1111-4222-8333-444444444444"
	for _, scenario := range []string{"api-error", "background-subagent", "interrupt", "subagent", "tools-resume"} {
		for _, c := range []struct {
			name, copied string
			sameID       bool
			turns        int
		}{
			{scenario, first, false, 1},
			{scenario + ", a copy of the first name", first, false, 0},
			{scenario + ", a copy of the last name", last, false, 0},
			{scenario + ", a copy of the first name with the other's id", first, true, 0},
			{scenario + ", a copy of the last name with the other's id", last, true, 0},
		} {
			t.Run(c.name, func(t *testing.T) { importAfterHooks(t, scenario, c.copied, c.sameID, c.turns) })
		}
	}
}

func importAfterHooks(t *testing.T, scenario, copied string, sameID bool, turns int) {
	f := home(t, map[string]string{".claude/projects": claudeFiles(scenario)})
	found, err := f.Sessions(t.Context(), claudefiles.Agent)
	if err != nil || len(found) != 1 {
		t.Fatalf("sessions %v, error %v", found, err)
	}
	tr, err := f.Read(t.Context(), claudefiles.Agent, transcript.Query{Session: found[0].ID, Path: found[0].Path})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	b, runs := built(timed(payloads(t, filepath.Join("..", "..", "hook", "claude", "testdata", "e2e", scenario), tr.Prompts[0].At), tr))
	for _, r := range runs {
		if err := w.upload(b.Spans(r, tr)); err != nil {
			t.Fatal(err)
		}
	}
	sums := func() store.Totals {
		sums, err := w.store.Totals(t.Context(), store.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return sums
	}
	recorded := sums()
	if recorded.Usage == nil {
		recorded.Usage = &store.Usage{}
	}
	text, err := os.ReadFile(found[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(found[0].Path), copied+".jsonl")
	if !sameID {
		text = bytes.ReplaceAll(text, []byte(found[0].ID), []byte(copied))
	}
	if turns > 0 {
		text = append(text, strings.ReplaceAll(claudeTurn(copied, 3), "2026-", "2029-")...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.now = time.Now()
	sessions, err := Sessions(t.Context(), f, claudefiles.Agent)
	if err != nil || len(sessions) != 2 {
		t.Fatalf("sessions %v, error %v", sessions, err)
	}
	rep := w.run(w.importer(HostClaude), sessions...)
	got := sums()
	if got.Usage == nil {
		got.Usage = &store.Usage{}
	}
	n := int64(turns)
	got.Traces, got.Runs, got.Usage.Input, got.Usage.Output = got.Traces-turns, got.Runs-turns, got.Usage.Input-n, got.Usage.Output-2*n
	got.Took, got.Usage.CostUSD, recorded.Usage.CostUSD = recorded.Took, nil, nil
	if d := cmp.Diff(recorded, got); d != "" || recorded.Traces == 0 || rep.Sessions != 2 {
		t.Errorf("%d traces, %d sessions imported; without the new turn the sums are (-hooks +import):\n%s", recorded.Traces, rep.Sessions, d)
	}
}

// TestClineRunsAreThoseOfHooks imports recorded sessions of Cline: as many runs
// as their hooks give, with the same ends and tasks, each sharing time with the
// one the hooks gave, so that none is imported twice.
func TestClineRunsAreThoseOfHooks(t *testing.T) {
	for _, c := range []struct {
		name, dialect, session, from, hooks string
	}{
		{"classic", DialectClassic, "1795175957341", "../../demo/task", "../../../internal/demo/session"},
		{"the command line 2", DialectClassic, "1795174833149", "cli2/1795174833149", "e2e-cli2/ok"},
		{"the SDK, tools", DialectSDK, "1795174957841_0jeru", "sdk/tools/1795174957841_0jeru", "e2e-cli3/tools"},
		{"the SDK, a subagent", DialectSDK, "1795175660887_ibxt7", "sdk/subagent/1795175660887_ibxt7", "e2e-cli3/subagent"},
		{"the SDK, a provider that fails", DialectSDK, "1795175034447_1mokh", "sdk/provider-error/1795175034447_1mokh", "e2e-cli3/provider-error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := "tasks"
			if c.dialect == DialectSDK {
				kind = "sessions"
			}
			f := home(t, map[string]string{
				".cline/data/" + kind + "/" + c.session: filepath.Join("..", "transcript", "testdata", filepath.FromSlash(c.from)),
			})
			tr, err := f.Read(t.Context(), clinefiles.Agent, transcript.Query{Session: c.session, Dialect: c.dialect, Full: true})
			if err != nil {
				t.Fatal(err)
			}
			tr.Session = c.session
			hb, hooks := built(payloads(t, filepath.Join("..", "..", "hook", "cline", "testdata", filepath.FromSlash(c.hooks)), time.Time{}))
			b, runs := built(Events(HostCline, c.dialect, tr))
			if len(runs) != len(hooks) {
				t.Fatalf("%d runs, by hooks %d", len(runs), len(hooks))
			}
			for i := range runs {
				got, want := spansOf(b, runs[i], tr)[0], spansOf(hb, hooks[i], tr)[0]
				if runs[i].Outcome != hooks[i].Outcome {
					t.Errorf("run %d is %s, by hooks %s", i, runs[i].Outcome, hooks[i].Outcome)
				}
				if otlp.Start(got).After(otlp.End(want)) || otlp.Start(want).After(otlp.End(got)) {
					t.Errorf("run %d lasts from %s to %s, by hooks from %s to %s", i, otlp.Start(got), otlp.End(got), otlp.Start(want), otlp.End(want))
				}
				for _, k := range []string{otelmap.KeyInputValue, otelmap.KeyOutputValue, otelmap.KeyInputTokens, otelmap.KeyCost} {
					if g, w := attr(got.Attributes, k), attr(want.Attributes, k); g != w && w != "" {
						t.Errorf("run %d: %s is %q, by hooks %q", i, k, g, w)
					}
				}
			}
		})
	}
}

// TestRunsOfEditorsAreNamedByWhatWasTyped imports a session of Cline's SDK in
// an editor, whose prompts are wrapped, and which is resumed without a word. The
// tasks are those of the golden files vscode-next and vscode-next-resumed.
func TestRunsOfEditorsAreNamedByWhatWasTyped(t *testing.T) {
	const session = "1795341600000_k3v9x"
	f := home(t, map[string]string{
		".cline/data/sessions/" + session: filepath.Join("..", "transcript", "testdata", "sdk", "vscode-next", session),
	})
	tr, err := f.Read(t.Context(), clinefiles.Agent, transcript.Query{Session: session, Dialect: DialectSDK, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	tr.Session = session
	b, runs := built(Events(HostCline, DialectSDK, tr))
	var tasks []string
	for _, r := range runs {
		root := spansOf(b, r, tr)[0]
		tasks = append(tasks, attr(root.Attributes, otelmap.KeyInputValue))
	}
	const first = "Fix the login validation bug"
	want := []string{first, `Wrap the answer in <user_input mode="act"> tags`, first}
	if d := cmp.Diff(want, tasks); d != "" {
		t.Errorf("tasks (-want +got):\n%s", d)
	}
}

// attr is an attribute's value as text, empty where there is none.
func attr(kvs []*commonpb.KeyValue, key string) string {
	for _, kv := range kvs {
		if kv.Key == key {
			return otlpstub.Value(kv.Value).String()
		}
	}
	return ""
}
