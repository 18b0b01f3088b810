package verify

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/otelmap"
)

// reportedTurn is a turn of Claude Code with a call.
func reportedTurn(session string, minute int) string {
	return fmt.Sprintf(`{"type":"user","uuid":"%[1]su%[2]d","sessionId":%[1]q,"timestamp":"2026-01-01T00:%02[2]d:00Z","cwd":"/w","promptId":"%[1]sp%[2]d","message":{"role":"user","content":"go on"}}
{"type":"assistant","uuid":"%[1]sa%[2]d","parentUuid":"%[1]su%[2]d","sessionId":%[1]q,"timestamp":"2026-01-01T00:%02[2]d:01Z","requestId":"%[1]sr%[2]d","message":{"id":"%[1]sm%[2]d","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2},"content":[{"type":"tool_use","id":"toolu_%[1]s_%[2]d","name":"Bash","input":{}}]}}
{"type":"user","uuid":"%[1]sv%[2]d","parentUuid":"%[1]sa%[2]d","sessionId":%[1]q,"timestamp":"2026-01-01T00:%02[2]d:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[1]s_%[2]d","content":"ok"}]}}
{"type":"assistant","uuid":"%[1]sb%[2]d","parentUuid":"%[1]sv%[2]d","sessionId":%[1]q,"timestamp":"2026-01-01T00:%02[2]d:03Z","requestId":"%[1]sq%[2]d","message":{"id":"%[1]sn%[2]d","role":"assistant","model":"m","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2},"content":[{"type":"text","text":"done"}]}}
`, session, minute)
}

// TestReport verifies traces of every kind: right ones, wrong ones, those of sessions whose
// files are gone, damaged or not read at all, and finds sessions without a trace.
func TestReport(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "-w")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(session, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, session+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, session := range []string{"pruned", "aa", "aa-fork", "lost", "gone", "open", "untraced"} {
		write(session, reportedTurn(session, 8*i)+reportedTurn(session, 8*i+1))
	}
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	st.Now = func() time.Time { return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, r := range read(t, home) {
		for i, m := range r.spans {
			scope := m.ScopeSpans[len(m.ScopeSpans)-1]
			switch {
			case r.id == "untraced", r.id == "open" && i == 1:
				continue
			case r.id == "lost" && i == 1:
				scope.Spans = slices.DeleteFunc(scope.Spans, tool("Bash"))
			}
			if err := st.UploadTraces(t.Context(), r.spans[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	stranger := rootSpan(0, 1, otelmap.OutcomeCompleted)
	stranger.TraceId = []byte("0123456789abcdef")
	set(stranger, otlp.String(otelmap.KeyHost, "stranger"))
	set(stranger, otlp.String(otelmap.KeyConversationID, "s"))
	nameless := rootSpan(2, 3, otelmap.OutcomeCompleted)
	nameless.TraceId = []byte("1123456789abcdef")
	set(nameless, otlp.String(otelmap.KeyHost, "claude-code"))
	if err := st.UploadTraces(t.Context(), []*tracepb.ResourceSpans{resource(stranger), resource(nameless)}); err != nil {
		t.Fatal(err)
	}
	sums, err := st.List(t.Context(), store.Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(sums, func(x, y store.Summary) int {
		return cmp.Or(strings.Compare(x.Host, y.Host), strings.Compare(x.Session, y.Session), x.Started.Compare(y.Started))
	})
	if n, err := st.Prune(t.Context(), time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	sums = slices.DeleteFunc(sums, func(s store.Summary) bool { return s.Session == "pruned" && s.Started.Minute() == 0 })
	sums = append(sums, store.Summary{TraceID: "2123456789abcdef", Host: "claude-code", Session: "removed", Title: "two\nlines"})
	if err := os.Remove(filepath.Join(dir, "gone.jsonl")); err != nil {
		t.Fatal(err)
	}
	// What was written since then is no row, in a session that was asked for and in another.
	write("aa", reportedTurn("aa", 8)+reportedTurn("aa", 9)+"{\n")
	write("untraced", reportedTurn("untraced", 48)+"{\n")

	v := Verifier{Store: st, Env: agentfiles.Env{Home: home}}
	var out strings.Builder
	for _, c := range []struct {
		name string
		of   []string
		all  bool
		now  time.Time
	}{
		{name: "every trace, and what has none", all: true},
		{name: "every trace"},
		{name: "right ones", of: []string{"aa-fork"}},
		{name: "those of a damaged file", of: []string{"aa"}},
		{name: "one of a session whose first is removed", of: []string{"pruned"}},
		{name: "no trace", of: []string{"none"}},
		{name: "one whose last turn is not stored", of: []string{"open"}},
		{name: "so, a minute later", of: []string{"open"}, now: time.Date(2026, 1, 1, 0, 42, 0, 0, time.UTC)},
	} {
		v.All, v.Now = c.all, c.now
		if c.now.IsZero() {
			v.Now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		some := sums
		if c.of != nil {
			some = slices.DeleteFunc(slices.Clone(sums), func(s store.Summary) bool { return !slices.Contains(c.of, s.Session) })
		}
		rep, err := v.Verify(t.Context(), some)
		if err != nil {
			t.Fatal(err)
		}
		rep.Clean(func(text string) string {
			return strings.ReplaceAll(filepath.ToSlash(strings.ReplaceAll(text, home, "HOME")), "go on", "GO")
		})
		fmt.Fprintf(&out, "== %s: %d verified, %d different, %d unverified; %d calls, %d requests\n%s\n",
			c.name, rep.Verified, rep.Different, rep.Unverified, rep.Calls, rep.Requests, rep.Text(0))
		for _, tr := range rep.Traces {
			fmt.Fprintf(&out, "%s %s %q %q\n", tr.Host, tr.Session, tr.Title, tr.Unverified)
		}
	}
	golden.Check(t, "report.txt", out.String())
}
