package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// drawnTask is a task that few values describe, so that filters meet some.
func drawnTask(r *rand.Rand, n int, now time.Time) []*tracepb.ResourceSpans {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	start := now.Add(-time.Duration(r.IntN(40*24)) * time.Hour)
	var spans []*tracepb.Span
	add := func(name string, a ...*commonpb.KeyValue) *tracepb.Span {
		s := &tracepb.Span{
			Name: name, TraceId: []byte{0: 0xbb, 14: byte(n >> 8), 15: byte(n)}, SpanId: []byte{0: 1, 7: byte(len(spans))},
			StartTimeUnixNano: otlp.UnixNano(start), EndTimeUnixNano: otlp.UnixNano(start.Add(time.Duration(r.IntN(1e6)) * time.Microsecond)), Attributes: a,
		}
		if len(spans) > 0 {
			s.ParentSpanId = spans[0].SpanId
		}
		spans = append(spans, s)
		return s
	}
	add("invoke_agent", otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, pick("cline", "claude-code", "codex")),
		otlp.String(otelmap.KeyConversationID, pick("s-a", "s-b", "s-c")), otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, pick("alpha beta", "beta gamma", "日本語", "Über gamma"))),
		otlp.String(otelmap.KeyOutcome, pick(outcomes[:5]...)), otlp.String(otelmap.KeyRequestModel, pick("claude-opus-4-1", "gpt-5-codex")),
		otlp.String(otelmap.KeyWorkingDirectory, pick("/w/a", "/w/a/b", "/w/ab", "/w/c")),
		otlp.Int(otelmap.KeyInputTokens, int64(r.IntN(1000))), otlp.Int(otelmap.KeyOutputTokens, int64(r.IntN(1000))), otlp.Float(otelmap.KeyCost, float64(r.IntN(100))/100))
	for range r.IntN(6) {
		s := add("execute_tool", otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, pick("Bash", "Read", "Edit")),
			otlp.String(otelmap.KeyToolArguments, pick(`{"command":"go test"}`, `{"path":"delta"}`)))
		if kind := pick("", "", otelmap.ErrorTool, otelmap.ErrorToolDenied, otelmap.ErrorToolUnfinished); kind != "" {
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "no"}
			s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyErrorType, kind))
		}
	}
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}
}

// totals are what each answer sums up.
type totals struct {
	Traces, Calls, Failures, Denials int
	Input                            int64
	Cents                            float64
}

func (t *totals) add(traces, calls, failures, denials int, u *store.Usage) {
	t.Traces, t.Calls, t.Failures, t.Denials = t.Traces+traces, t.Calls+calls, t.Failures+failures, t.Denials+denials
	if u != nil {
		t.Input += u.Input
		if u.CostUSD != nil {
			t.Cents = math.Round(t.Cents + 100**u.CostUSD)
		}
	}
}

// TestEveryAnswerCountsTheSame asks list, stats, the calls by tool and the page's API with
// the same random filters.
func TestEveryAnswerCountsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // not for secrets
	a, _, _ := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	now := a.now().Truncate(time.Second)
	for n := range 300 {
		if err := s.UploadTraces(t.Context(), drawnTask(r, n, now)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ask := page(t, a)
	command := asking(t, a)
	found := 0
	for range 40 {
		var flags []string
		query := url.Values{"limit": {"5000"}}
		filter := func(chance int, flag, param, word string, value ...string) {
			if r.IntN(chance) == 0 {
				if flags = append(flags, "--"+flag); word != "" {
					flags = append(flags, word)
				}
				query.Set(param, append(value, word)[0])
			}
		}
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		agent := pick("cline", "claude", "codex")
		filter(5, "agent", "agent", agent, map[string]string{"claude": "claude-code"}[agent]+strings.TrimPrefix(agent, "claude"))
		filter(5, "project", "project", pick("/w/a", "/w/a/b", "/w/ab", "/w", "/w/a/"))
		filter(5, "model", "model", pick("opus", "gpt-5", "CODEX", "claude-opus-4-1", "sonnet"))
		filter(4, "tool", "tool", pick("bash", "Read", "edit"))
		filter(6, "outcome", "outcome", pick(outcomes[:5]...))
		filter(6, "min-cost", "min-cost", strconv.FormatFloat(float64(1+r.IntN(100))/100, 'f', -1, 64))
		filter(6, "session", "session", pick("s-a", "s-b"))
		filter(5, "grep", "text", pick("alpha", "gamma", `"beta gamma"`, "本語", "uber", "delta", "go test"))
		filter(6, "failed", "failed", "")
		filter(6, "denied", "denied", "")
		filter(5, "since", "since", now.Add(-time.Duration(500+r.IntN(500))*time.Hour).UTC().Format(time.RFC3339))
		filter(5, "until", "until", now.Add(-time.Duration(r.IntN(500))*time.Hour).UTC().Format(time.RFC3339))

		var answer listJSON
		command(&answer, append([]string{"list", "--json", "--sums"}, flags...)...)
		list := answer.Tasks
		var stats, byTool statsJSON
		command(&stats, append([]string{"stats", "--json"}, flags...)...)
		command(&byTool, append([]string{"stats", "--by", "tool", "--json"}, flags...)...)
		var shown struct {
			Traces []struct{ Summary store.Summary }
			Totals store.Totals
		}
		if err := json.Unmarshal(ask("/api/v1/sessions?"+query.Encode()), &shown); err != nil {
			t.Fatal(err)
		}
		var want, listed, summed, paged, onPage, calls totals
		ids := make(map[string]bool)
		for _, sum := range list {
			ids[sum.TraceID] = true
			want.add(1, sum.Tools, sum.ToolFailures, sum.ToolDenials, sum.Usage)
		}
		for _, row := range shown.Traces {
			sum := row.Summary
			onPage.add(1, sum.Tools, sum.ToolFailures, sum.ToolDenials, sum.Usage)
			if !ids[sum.TraceID] {
				t.Errorf("%q: the page has %s, list has not", flags, sum.TraceID)
			}
		}
		for to, all := range map[*totals]store.Totals{&listed: answer.Totals, &summed: stats.Totals, &paged: shown.Totals} {
			to.add(all.Traces, all.Calls, all.Failures, all.Denials, all.Usage)
		}
		for _, g := range byTool.Groups {
			calls.add(0, g.Calls, g.Failures, g.Denials, nil)
		}
		// A filter for calls leaves some of the tasks' calls out.
		if slices.ContainsFunc(flags, func(flag string) bool {
			return slices.Contains([]string{"--tool", "--grep", "--failed", "--denied"}, flag)
		}) {
			if calls.Calls > want.Calls || calls.Calls != byTool.Totals.Calls {
				t.Errorf("%q: %d calls by tool, %d in their totals, list has %d", flags, calls.Calls, byTool.Totals.Calls, want.Calls)
			}
			calls.Calls, calls.Failures, calls.Denials = want.Calls, want.Failures, want.Denials
		}
		calls.Traces, calls.Input, calls.Cents = want.Traces, want.Input, want.Cents
		for name, got := range map[string]totals{"the list's sums": listed, "stats": summed, "the page's sums": paged, "the page's list": onPage, "the calls by tool": calls} {
			if got != want {
				t.Errorf("%q: %s: %+v, list has %+v", flags, name, got, want)
			}
		}
		if want.Traces > 0 {
			found++
		}
	}
	if found < 15 {
		t.Errorf("only %d filters selected a task", found)
	}
}

// asking returns what runs a command over the home of an app and reads the JSON that it
// prints.
func asking(t *testing.T, a *app) func(into any, args ...string) {
	return func(into any, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		c := newApp(args, strings.NewReader(""), &stdout, &stderr, a.environ)
		c.home, c.goos = a.home, a.goos
		if code := run(t.Context(), c); code != 0 {
			t.Fatalf("%q: exit code %d: %s%s", args, code, &stdout, &stderr)
		}
		if into == nil {
			return
		}
		if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
			t.Fatalf("%q: %v: %s", args, err, &stdout)
		}
	}
}

// page starts hookspan ui and returns what asks its API.
func page(t *testing.T, a *app) func(path string) []byte {
	t.Helper()
	out, in := io.Pipe()
	c := newApp([]string{"ui", "--no-open", "--port", "0"}, strings.NewReader(""), in, io.Discard, a.environ)
	c.home, c.goos = a.home, a.goos
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, c)
		_ = in.Close()
		ended <- code
	}()
	t.Cleanup(func() { cancel(); <-ended })
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	words := strings.Fields(string(line[:n]))
	address, err := url.Parse(words[slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "http://") })])
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimPrefix(address.Fragment, "token=")
	return func(path string) []byte {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+address.Port()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = address.Host
		req.Header.Set("X-Hookspan-Token", token)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close() //nolint:errcheck // The test reads it to its end.
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(fmt.Errorf("%s: %s: %s: %w", path, res.Status, body, err))
		}
		return body
	}
}
