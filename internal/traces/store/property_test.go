package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/otelmap"
)

// drawTrace draws a trace with few values, so that filters meet some.
func drawTrace(t *rapid.T, n int) *build {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	b := newBuild(fmt.Sprint("drawn ", n))
	from := time.Duration(rapid.IntRange(0, 40*24).Draw(t, "hour")) * time.Hour
	ms := func(label string) time.Duration {
		return time.Duration(rapid.IntRange(0, 100_000).Draw(t, label)) * time.Millisecond
	}
	usage := func() {
		s := b.Last()
		if rapid.Bool().Draw(t, "usage") {
			s.Attributes = append(s.Attributes,
				num(otelmap.KeyInputTokens, int64(rapid.IntRange(0, 1000).Draw(t, "in"))),
				num(otelmap.KeyOutputTokens, int64(rapid.IntRange(0, 1000).Draw(t, "out"))))
		}
		if rapid.Bool().Draw(t, "cost") {
			s.Attributes = append(s.Attributes, float(otelmap.KeyCost, float64(rapid.IntRange(0, 9999).Draw(t, "usd"))/10_000))
		}
	}
	text := func() string {
		return pick("text", "alpha beta", "beta gamma", "日本語", "Alphabet", "gamma\nalpha", "")
	}
	root := -1
	if rapid.IntRange(0, 9).Draw(t, "root") > 0 {
		root = b.Add(-1, "invoke_agent", from, from+ms("took"),
			str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyHost, pick("host", "cline", "claude-code")),
			str(otelmap.KeyConversationID, []string{"a1", "a2", "b1"}[n%3]), str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, text())),
			str(otelmap.KeyOutcome, pick("outcome", otelmap.OutcomeCompleted, otelmap.OutcomeFailed, otelmap.OutcomeAbandoned)),
			str(otelmap.KeyRequestModel, pick("model", "m-one", "m-two-3", "")),
			str(otelmap.KeyWorkingDirectory, pick("directory", "/a", "/a/b", "/ab", "")))
		usage()
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "spans") {
		switch pick("kind", "tool", "tool", "chat", "other") {
		case "tool":
			b.Tool(root, pick("tool", "Bash", "Read", "edit"), pick("arguments", `{"command":"go test"}`, `{"command":"npm"}`, `{}`), from, from+ms("call"))
			if kind := pick("status", "", "", otelmap.ErrorTool, otelmap.ErrorToolDenied, otelmap.ErrorToolUnfinished); kind != "" {
				b.Fail(kind, text())
			}
		case "chat":
			b.Chat(root, from, from+ms("request"))
			b.Last().Attributes[1] = str(otelmap.KeyRequestModel, pick("model", "m-one", "m-four", ""))
			usage()
		default:
			b.Add(root, text(), from, from+ms("other"))
		}
		if rapid.IntRange(0, 3).Draw(t, "hook") == 0 {
			b.Event(len(b.Spans), otelmap.EventHook, from+time.Duration(i),
				str(otelmap.KeyHookCommand, pick("hook", "x.sh", "y.sh")), str(otelmap.KeyHookTool, pick("tool", "Bash", "")),
				str(otelmap.KeyHookStatus, pick("status", "ok", "error", "timeout")),
				str(otelmap.KeyHookDecision, pick("decision", "", "deny", "allow")),
				str(otelmap.KeyHookReason, text()), num(otelmap.KeyHookDuration, int64(rapid.IntRange(0, 50).Draw(t, "ms"))))
		}
	}
	if len(b.Spans) == 0 {
		b.Add(-1, "alone", from, from)
	}
	return b
}

func drawFilter(t *rapid.T) Filter {
	pick := func(label string, of ...string) string {
		return rapid.SampledFrom(append(of, "", "", "", "")).Draw(t, "filter "+label)
	}
	f := Filter{
		Limit:   rapid.SampledFrom([]int{0, -1, 1, 3}).Draw(t, "limit"),
		Session: pick("session", "a", "a1", "b", "z"), Host: pick("host", "cline", "other"),
		Trace: pick("trace", "0", "A", "f"), Model: pick("model", "m", "m-two", "ONE", "four"),
		Tool: pick("tool", "bash", "Read"), Outcome: pick("outcome", otelmap.OutcomeFailed),
		MinCost:   rapid.SampledFrom([]float64{0, 0, 0, 0.001, 1}).Draw(t, "minimum cost"),
		Sort:      pick("sort", Orders...),
		Directory: pick("directory", "/a", "/a/", "/"), Resolved: pick("resolved", "/a/b", "/ab", "/nowhere"), Failed: pick("failed", "x") != "", Denied: pick("denied", "x") != "",
		Text: pick("text", "alpha", `"alpha beta"`, "alpha gamma", "本語", "alphab", "bet", "nowhere"),
	}
	if rapid.IntRange(0, 3).Draw(t, "since") == 0 {
		f.Since = at(time.Duration(rapid.IntRange(0, 40).Draw(t, "day")) * 24 * time.Hour)
	}
	if rapid.IntRange(0, 3).Draw(t, "ended") == 0 {
		f.Ended = at(time.Duration(rapid.IntRange(0, 40*24).Draw(t, "hour")) * time.Hour)
	}
	if rapid.IntRange(0, 3).Draw(t, "until") == 0 {
		f.Until = at(time.Duration(rapid.IntRange(0, 40).Draw(t, "day")) * 24 * time.Hour)
	}
	return f
}

// TestAnswersEqualThoseFromTheSpans uploads drawn traces, in parts and again, and
// compares every answer with one that is computed from the stored messages.
func TestAnswersEqualThoseFromTheSpans(t *testing.T) {
	approx := []gocmp.Option{cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-9)}
	zones := []*time.Location{time.UTC, time.FixedZone("east", 13*3600+45*60), time.FixedZone("west", -9*3600)}
	s := open(t)
	if _, err := s.db.ExecContext(t.Context(), `PRAGMA synchronous = OFF`); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		all, err := s.List(t.Context(), Filter{Limit: -1})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, sum := range all {
			ids = append(ids, sum.TraceID)
		}
		if _, err := s.Delete(t.Context(), ids); err != nil {
			rt.Fatal(err)
		}
		for i := range rapid.IntRange(0, 8).Draw(rt, "traces") {
			b := drawTrace(rt, i)
			cut := rapid.IntRange(0, len(b.Spans)).Draw(rt, "cut")
			for _, spans := range [][]*tracepb.Span{b.Spans[:cut], b.Spans[cut/2:]} {
				upload(t, s, b.Request(spans...))
			}
			if rapid.Bool().Draw(rt, "again") { // a span changes
				other := drawTrace(rt, i)
				upload(t, s, other.Messages())
			}
		}
		var m memory = everything(t, s)
		for range 6 {
			f := drawFilter(rt)
			loc := rapid.SampledFrom(zones).Draw(rt, "zone")
			check := func(what string, want, got any, err error) {
				if d := gocmp.Diff(want, got, approx...); d != "" || err != nil {
					rt.Errorf("%s of %+v: %v (-from the spans +from the store):\n%s", what, f, err, d)
				}
			}
			plain := f
			plain.Sort = ""
			list, err := s.List(t.Context(), f)
			check("list", m.list(plain), list, err)
			totals, err := s.Totals(t.Context(), f)
			check("totals", m.totals(f), totals, err)
			page, err := s.Page(t.Context(), f)
			check("traces of the page", m.list(f), page.Traces, err)
			check("totals of the page", totals, page.Totals, err)
			n, err := s.Count(t.Context(), f)
			check("count", totals.Traces, n, err)
			choosesCalls := f.Tool != "" || f.Failed || f.Denied || f.Text != ""
			for _, by := range Keys {
				groups, err := s.Group(t.Context(), f, by, loc)
				check("group by "+string(by), m.group(f, by, loc), groups, err)
				if !by.OfCalls() || !choosesCalls {
					check("sum by "+string(by), relevant(totals, by), relevant(sumOf(groups), by), nil)
				}
			}
			all := f
			all.Limit = -1
			order := cmpopts.SortSlices(func(x, y HookRun) bool { return fmt.Sprint(x) < fmt.Sprint(y) })
			runs, err := s.HookRuns(t.Context(), all)
			if d := gocmp.Diff(m.hookRuns(f), runs, cmpopts.EquateEmpty(), order); d != "" || err != nil {
				rt.Errorf("hook runs of %+v: %v (-from the spans +from the store):\n%s", f, err, d)
			}
			if !slices.IsSortedFunc(runs, func(x, y HookRun) int { return cmp.Or(y.Started.Compare(x.Started)) }) {
				rt.Errorf("hook runs are not sorted")
			}
			if f.Text != "" {
				hits, err := s.Search(t.Context(), f)
				check("search", m.search(f), hits, err)
			}
		}
	})
}

// relevant returns the members that the sums of groups and the totals share.
func relevant(t Totals, by By) Totals {
	switch by {
	case ByHook:
		return Totals{}
	case ByTool, ByCommand:
		return Totals{Calls: t.Calls, Failures: t.Failures, Denials: t.Denials}
	}
	return t
}

func sumOf(groups []Group) (sum Totals) {
	unpriced := make(map[string]bool)
	for _, g := range groups {
		sum.add(part{Totals: g.Totals})
		for _, m := range g.Unpriced {
			unpriced[m] = true
		}
	}
	sum.Unpriced = slices.Sorted(maps.Keys(unpriced))
	return sum
}

func TestManyKeepsAllValuesInOrder(t *testing.T) {
	var m many[int]
	const n = 2 << 20 // whose lists, each twice as long as the one before it, would be too long
	for i := range n {
		*m.add(0) = i
	}
	all := slices.Concat(m...)
	if len(all) != n || all[0] != 0 || all[n-1] != n-1 || !slices.IsSorted(all) {
		t.Fatalf("%d values, want 0 to %d", len(all), n-1)
	}
}
