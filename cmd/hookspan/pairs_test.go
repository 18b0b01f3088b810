package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// bites are values with which a flag changes what a command prints over pairStore.
var bites = map[string]string{
	"project": "/w/a", "agent": "cline", "model": "=claude-opus-4-1", "tool": "Edit", "branch": "main", "outcome": "completed", "min-cost": "0.5",
	"failed": "", "denied": "", "since": "15d", "until": "8d", "grep": "gamma", "session": "s-a", "limit": "9", "json": "", "csv": "", "sums": "",
	"timeline": "", "sort": "cost", "by": "day", "command": "go", "file": "delta", "subagent": "reviewer", "slower": "400ms", "dearer": "0.1",
	"edits": "", "full": "", "pr": "7", "commit": "1c29f8", "format": "json", "output": "out.html", "cost": "", "span": "3", "verbose": "", "strict": "", "explain": "read-again",
}

// aside are flags that page or colour, and those that only ask a person.
var aside = []string{"all", "no-pager", "ascii", "help", "yes", "to", "resource"}

// TestNoFlagIsIgnored runs each command with each flag, with each pair of them and in each
// context: what a flag asks for is refused, or seen in what is printed.
func TestNoFlagIsIgnored(t *testing.T) {
	a := pairStore(t)
	home, _, _ := newTestApp(t, "import")
	if err := os.CopyFS(home.home, os.DirFS(filepath.Join("testdata", "home"))); err != nil {
		t.Fatal(err)
	}
	command := asking(t, home)
	command(nil, "import")
	var tasks []store.Summary
	command(&tasks, "list", "--json")
	at := slices.IndexFunc(tasks, func(s store.Summary) bool { return s.ToolFailures > 0 && s.ToolDenials > 0 })
	trace, session := tasks[at].TraceID, tasks[at].Session
	for _, c := range []struct {
		app *app
		// contexts are the arguments before the flags, only are the flags where not all of them are tried.
		contexts [][]string
		only     []string
	}{
		{a, [][]string{{"list", "--limit", "80"}, {"calls", "--limit", "400"}, {"stats"}, {"stats", "--by", "day"}, {"report", "--since=30d"}, {"findings", "--limit", "80"}, {"compare", "since=38d", "until=2d"}, {"export", "--until", "now"}}, nil},
		{a, [][]string{{"list", "--json"}, {"list", "--timeline"}, {"calls", "--json"}, {"stats", "--json"}, {"stats", "--by", "day"}}, []string{"json", "csv", "sums", "timeline", "sort", "by", "limit", "edits", "failed", "denied", "grep"}},
		{a, [][]string{{"export", "--format", "otlp", "--until", "now"}, {"verify", "--until", "now"}}, []string{"limit", "json", "output", "failed"}},
		{home, [][]string{{"show", trace}, {"show", session}, {"show", "--session=" + session}, {"show", trace, "--failed"}, {"show", trace, "--cost"}, {"show", trace, "--json"}, {"show", trace, "--failed", "--full"}}, nil},
		{home, [][]string{{"calls", "--edits"}, {"verify", "--until", "now"}, {"stats", "--by", "failure"}}, []string{"full", "json", "csv", "failed"}},
	} {
		root := rootCmd(c.app)
		for _, context := range c.contexts {
			cmd, _, err := root.Find(context[:1])
			if err != nil {
				t.Fatal(err)
			}
			pairs(t, c.app, cmd, context, c.only)
		}
	}
}

// pairs tries the flags of a command in one context.
func pairs(t *testing.T, a *app, cmd *cobra.Command, context, only []string) {
	t.Helper()
	var flags [][]string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value, known := bites[f.Name]
		switch {
		case slices.Contains(aside, f.Name) || only == nil && f.Name == "full" && cmd.Name() == "calls" || only != nil && !slices.Contains(only, f.Name) || slices.ContainsFunc(context, func(w string) bool { return strings.HasPrefix(w, "--"+f.Name) }):
		case !known:
			t.Errorf("%s --%s: it needs a value that bites", cmd.Name(), f.Name)
		case f.Value.Type() == "bool":
			flags = append(flags, []string{"--" + f.Name})
		default:
			flags = append(flags, []string{"--" + f.Name + "=" + value})
		}
	})
	if len(flags) == 0 {
		t.Errorf("%q has no flag", context)
	}
	prints := func(more ...string) string { return printed(t, a, slices.Concat(context, more)...) }
	alone := prints()
	var each []string
	flags = slices.DeleteFunc(flags, func(f []string) bool {
		text := prints(f...)
		if text == alone {
			t.Errorf("%q: %q changes nothing", context, f)
			return true
		}
		each = append(each, text)
		return false
	})
	for i := range flags {
		for j := range i {
			if names := fmt.Sprint(flags[i], flags[j]); strings.Contains(names, "--limit") && strings.Contains(names, "--since") {
				continue // of the newest tasks one of them selects more
			}
			if both := prints(slices.Concat(flags[j], flags[i])...); both != refused && (both == each[i] || both == each[j]) {
				t.Errorf("%q: of %q and %q one is ignored", context, flags[j], flags[i])
			}
		}
	}
}

// refused is what a command prints whose usage is wrong.
const refused = "refused"

// printed is what a command prints and writes, and its exit code.
func printed(t *testing.T, a *app, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	one := newApp(args, strings.NewReader(""), &out, &errs, a.environ)
	one.home, one.now = a.home, a.now
	file := filepath.Join(a.home, "out.html")
	for i, arg := range one.args {
		one.args[i] = strings.Replace(arg, "=out.html", "="+file, 1)
	}
	code := run(t.Context(), one)
	if code == 64 && errs.Len() > 0 {
		return refused
	}
	written, _ := os.ReadFile(file) //nolint:gosec // The test's.
	_ = os.Remove(file)
	return fmt.Sprint(code, out.String(), string(written))
}

// pairStore has tasks in which each condition of a filter selects some, and each two others.
func pairStore(t *testing.T) *app {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // not for secrets
	a, _, _ := newTestApp(t, "list")
	if code := run(t.Context(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	now := time.Now().Truncate(time.Second)
	a.now = func() time.Time { return now }
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 150 {
		task := drawnTask(r, n, now)
		spans := task[0].ScopeSpans[0].Spans
		spans[0].Attributes = append(spans[0].Attributes, otlp.String(otelmap.KeyBranch, []string{"main", "login"}[r.IntN(2)]), otlp.String(otelmap.KeyRepositoryURL, "https://github.com/o/shop"))
		subagent := spans[0].SpanId
		var ids []string
		for i, call := range spans[1:] {
			id := fmt.Sprint("call", i)
			ids = append(ids, `{"type":"tool_call","id":"`+id+`"}`)
			if call.ParentSpanId = [][]byte{spans[0].SpanId, subagent}[r.IntN(2)]; otlp.Text(call.Attributes, otelmap.KeyToolName) != "Bash" && r.IntN(3) > 0 {
				call.Attributes = slices.DeleteFunc(call.Attributes, func(a *commonpb.KeyValue) bool { return a.Key == otelmap.KeyToolArguments })
				call.Attributes = append(call.Attributes, otlp.String(otelmap.KeyToolArguments, []string{`{"path":"delta","new_text":"gamma"}`, `{"path":"other","new_text":"gamma"}`, `{"path":"delta","new_text":"x"}`, `{"path":"gamma"}`}[r.IntN(4)]))
			}
			call.Attributes = append(call.Attributes, otlp.String(otelmap.KeyToolCallID, id))
			if i == 0 && r.IntN(2) == 0 { // the others may be of a subagent
				call.Attributes = []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyAgentName, []string{"reviewer", "tester"}[r.IntN(2)])}
				subagent = call.SpanId
			}
		}
		spans = append(spans, &tracepb.Span{
			Name: "chat", TraceId: spans[0].TraceId, SpanId: []byte{0: 2, 7: 1}, ParentSpanId: spans[0].SpanId, StartTimeUnixNano: spans[0].StartTimeUnixNano, EndTimeUnixNano: spans[0].EndTimeUnixNano,
			Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, []string{"claude-opus-4-1", "gpt-5-codex"}[r.IntN(2)]),
				otlp.Int(otelmap.KeyInputTokens, 10), otlp.Int(otelmap.KeyOutputTokens, 1), otlp.Float(otelmap.KeyCost, r.Float64()),
				otlp.String(otelmap.KeyOutputMessages, `[{"role":"assistant","parts":[`+strings.Join(ids, ",")+`]}]`),
			},
		})
		if n == 0 { // the pull request of a branch
			spans = append(spans, &tracepb.Span{
				Name: "execute_tool Bash", TraceId: spans[0].TraceId, SpanId: []byte{0: 2, 7: 2}, ParentSpanId: spans[0].SpanId, StartTimeUnixNano: spans[0].StartTimeUnixNano, EndTimeUnixNano: spans[0].EndTimeUnixNano,
				Attributes: []*commonpb.KeyValue{
					otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, "Bash"),
					otlp.String(otelmap.KeyToolArguments, `{"command":"gh pr create --head login"}`), otlp.String(otelmap.KeyToolResult, "https://github.com/o/shop/pull/7"),
				},
			})
		}
		if n%3 > 0 {
			spans[1].Attributes = append(spans[1].Attributes, otlp.Strings(otelmap.KeyCommits, []string{"1c29f81801af8ce06428281231111dc1aa02bb03"}))
		}
		task[0].ScopeSpans[0].Spans = spans
		if err := s.UploadTraces(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return a
}
