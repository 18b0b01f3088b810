package store

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

func TestSummaryOfATrace(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		build func(b *build)
		want  Summary
	}{
		{"with a root that counts", func(b *build) {
			*b = *clineTrace()
		}, Summary{
			Host: "cline", Session: "1772619300123", Model: "claude-sonnet-4-5", Directory: "/home/dev/shop-api",
			Title:   "Add a health endpoint to the API server. It must answer within 50 ms.",
			Outcome: otelmap.OutcomeCompleted, Runs: 1, Started: t0, Ended: at(134 * s), Spans: 16, Tools: 9, ToolFailures: 2, ToolDenials: 1,
			Usage: &Usage{Input: 81_234, Output: 3_456, CacheRead: 60_000, CostUSD: new(0.4321)},
		}},
		{"with a root that does not count", func(b *build) {
			root := b.Root("", otelmap.OutcomeFailed, 9*s)
			b.Tool(root, "a", "", 0, s)
			b.Tool(root, "b", "", 0, s)
			b.Fail(otelmap.ErrorTool, "")
			b.Chat(root, 0, s, usageAttrs(10, 1, 4, 0.5)...)
			b.Chat(root, s, 2*s, usageAttrs(20, 2, 5, 0.25)...)
			b.Chat(root, s, 2*s)
		}, Summary{
			Host: "cline", Session: "1772619300123", Model: "claude-sonnet-4-5", Directory: "/home/dev/shop-api",
			Title: "shop-api · 1 a, 1 b", Outcome: otelmap.OutcomeFailed, Runs: 1, Started: t0, Ended: at(9 * s),
			Spans: 6, Tools: 2, ToolFailures: 1,
			Usage: &Usage{Input: 30, Output: 3, CacheRead: 9, CostUSD: new(0.75)},
		}},
		{"without prices", func(b *build) {
			root := b.Root("task", otelmap.OutcomeCompleted, s)
			b.Chat(root, 0, s, num(otelmap.KeyInputTokens, 5), num(otelmap.KeyOutputTokens, 0))
		}, Summary{
			Host: "cline", Session: "1772619300123", Model: "claude-sonnet-4-5", Directory: "/home/dev/shop-api",
			Title: "task", Outcome: otelmap.OutcomeCompleted, Runs: 1, Started: t0, Ended: at(s), Spans: 2,
			Usage: &Usage{Input: 5},
		}},
		{"without a root", func(b *build) {
			b.Chat(99, 2*s, 3*s)
			b.Tool(99, "read_file", "", s, 2*s)
		}, Summary{
			Host: "cline", Title: "execute_tool read_file", Model: "claude-sonnet-4-5",
			Started: at(s), Ended: at(3 * s), Spans: 2, Tools: 1,
		}},
		{"of two runs", func(b *build) {
			one := usageAttrs(10, 1, 4, 0.5)
			b.Root("second", otelmap.OutcomeFailed, 9*s, append(one, num(otelmap.KeyToolCalls, 2), num(otelmap.KeyToolFailures, 1))...)
			b.Last().StartTimeUnixNano = otlp.UnixNano(at(5 * s))
			b.Root("first", otelmap.OutcomeCompleted, 3*s, append(one, num(otelmap.KeyToolCalls, 3))...)
		}, Summary{
			Host: "cline", Session: "1772619300123", Model: "claude-sonnet-4-5", Directory: "/home/dev/shop-api",
			Title: "first", Outcome: otelmap.OutcomeFailed, Runs: 2, Started: t0, Ended: at(9 * s), Spans: 2, Tools: 5, ToolFailures: 1,
			Usage: &Usage{Input: 20, Output: 2, CacheRead: 8, CostUSD: new(1.0)},
		}},
		{"of two runs, one of which does not count", func(b *build) {
			root := b.Root("first", otelmap.OutcomeCompleted, s)
			b.Tool(root, "a", "", 0, s)
			b.Root("second", otelmap.OutcomeCompleted, 3*s, num(otelmap.KeyToolCalls, 0))
			b.Last().StartTimeUnixNano = otlp.UnixNano(at(2 * s))
		}, Summary{
			Host: "cline", Session: "1772619300123", Model: "claude-sonnet-4-5", Directory: "/home/dev/shop-api",
			Title: "first", Outcome: otelmap.OutcomeCompleted, Runs: 2, Started: t0, Ended: at(3 * s), Spans: 3, Tools: 1,
		}},
		{"of spans that are not ours", func(b *build) {
			top := b.Add(-1, "GET /", s, 2*s)
			b.Add(top, "SELECT", 0, 3*s, num("gen_ai.operation.name", 7), str("gen_ai.usage.input_tokens", "7"))
		}, Summary{
			Host: "cline", Title: "GET /", Started: t0, Ended: at(3 * s), Spans: 2,
		}},
		{"with times missing and turned round", func(b *build) {
			b.Add(-1, "a", s, 2*s)
			b.Last().StartTimeUnixNano, b.Last().EndTimeUnixNano = 0, 0
			b.Add(-1, "b", 5*s, 4*s)
		}, Summary{
			Host: "cline", Title: "a", Started: at(5 * s), Ended: at(5 * s), Spans: 2,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuild(c.name)
			c.build(b)
			c.want.TraceID = traceID(b)
			tr := stored(t, b.Messages())
			if d := cmp.Diff(c.want, tr.Summary); d != "" {
				t.Errorf("summary (-want +got):\n%s", d)
			}
		})
	}
}

func TestUnknownOutcomesAreNeitherSuccessesNorFailures(t *testing.T) {
	const s = time.Second
	b := newBuild("unknown")
	root := b.Root("Run the tests", otelmap.OutcomeCompleted, 9*s,
		num(otelmap.KeyToolCalls, 3), num(otelmap.KeyToolFailures, 1), num(otelmap.KeyToolUnknown, 1))
	b.Tool(root, "read_file", `{"path":"a"}`, s, 2*s)
	b.Tool(root, "execute_command", `{"command":"npm test"}`, 3*s, 4*s)
	b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyToolOutcome, otelmap.ToolOutcomeUnknown))
	b.Tool(root, "execute_command", `{"command":"boom"}`, 5*s, 6*s)
	b.Fail(otelmap.ErrorTool, "no")
	tr := stored(t, b.Messages())
	if tr.Tools != 3 || tr.ToolFailures != 1 || tr.ToolsUnknown != 1 {
		t.Errorf("%d tools, %d failed, %d unknown; want 3, 1, 1", tr.Tools, tr.ToolFailures, tr.ToolsUnknown)
	}
}

func TestTitleIsOneShortLine(t *testing.T) {
	long := strings.Repeat("ä", maxTitle)
	for _, c := range []struct{ in, want string }{
		{"  a\n\n\tb  ", "a b"},
		{long, long},
		{long + "b", long[:2*(maxTitle-1)] + "…"},
		{strings.Repeat(" ", 1000) + "late", "late"},
	} {
		if got := oneLine(c.in, maxTitle); got != c.want {
			t.Errorf("oneLine(%.30q): got %.30q, want %.30q", c.in, got, c.want)
		}
	}
	huge := oneLine(strings.Repeat("wörter ", 1_000_000), maxTitle)
	if n := utf8.RuneCountInString(huge); n != maxTitle || !utf8.ValidString(huge) {
		t.Errorf("a huge text gives %d runes", n)
	}
}

func TestSummaryJSON(t *testing.T) {
	s := Summary{TraceID: "00", Started: t0, Ended: t0.Add(1500 * time.Microsecond), Runs: 1, Usage: &Usage{Input: 1}}
	got, err := json.Marshal([]Summary{s, {TraceID: "01"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"traceId":"00","parts":1,"started":"2026-03-04T10:15:00Z","ended":"2026-03-04T10:15:00.0015Z",` +
		`"spans":0,"tools":0,"toolFailures":0,"toolDenials":0,` +
		`"usage":{"inputTokens":1,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0},"durationMs":1},` +
		`{"traceId":"01","parts":0,"spans":0,"tools":0,"toolFailures":0,"toolDenials":0,"durationMs":0}]`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
}

// TestDenialsAreNoFailures compares a trace whose root span counts its calls with one whose
// root does not, and with the sums.
func TestDenialsAreNoFailures(t *testing.T) {
	const s = time.Second
	for name, counted := range map[string][]*commonpb.KeyValue{
		"the root counts":         {num(otelmap.KeyToolCalls, 4), num(otelmap.KeyToolFailures, 3)},
		"the root does not count": nil,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuild(name)
			root := b.Root("Clean up", otelmap.OutcomeCompleted, 9*s, counted...)
			for i, kind := range []string{"", otelmap.ErrorTool, otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled} {
				b.Tool(root, "Bash", `{"command":"rm"}`, time.Duration(i)*s, time.Duration(i+1)*s)
				if kind != "" {
					b.Fail(kind, "no")
				}
			}
			st := open(t)
			upload(t, st, b.Messages())
			list, err := st.List(t.Context(), Filter{})
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			sums, err := st.Totals(t.Context(), Filter{})
			if err != nil {
				t.Fatal(err)
			}
			one := list[0]
			if got := [3]int{one.Tools, one.ToolFailures, one.ToolDenials}; got != [3]int{4, 1, 2} {
				t.Errorf("%d calls, failures and denials, want 4, 1 and 2", got)
			}
			if got := [3]int{sums.Calls, sums.Failures, sums.Denials}; got != [3]int{4, 1, 2} {
				t.Errorf("sums of %d calls, failures and denials, want 4, 1 and 2", got)
			}
		})
	}
}
