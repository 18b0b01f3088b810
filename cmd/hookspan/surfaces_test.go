package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

var surfaceStores = flag.Int("surfaces", 10, "over how many drawn stores the commands and the page are compared")

// figures are what every surface counts. Failed includes Unfinished, Input the cache.
type figures struct {
	Tasks, Calls, Failed, Denied, Unfinished int
	Input, Output, CacheRead, CacheWrite     int64
	Cost                                     float64
	Took, Waited                             time.Duration
}

func (f *figures) add(of figures) {
	f.Tasks, f.Calls, f.Failed, f.Denied, f.Unfinished = f.Tasks+of.Tasks, f.Calls+of.Calls, f.Failed+of.Failed, f.Denied+of.Denied, f.Unfinished+of.Unfinished
	f.Input, f.Output, f.CacheRead, f.CacheWrite = f.Input+of.Input, f.Output+of.Output, f.CacheRead+of.CacheRead, f.CacheWrite+of.CacheWrite
	f.Cost, f.Took, f.Waited = f.Cost+of.Cost, f.Took+of.Took, f.Waited+of.Waited
}

// used sets what a surface reports of tokens and cost.
func (f figures) used(u *store.Usage) figures {
	if u != nil {
		f.Input, f.Output, f.CacheRead, f.CacheWrite, f.Cost = u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost()
	}
	return f
}

func ofTotals(t store.Totals) figures {
	return figures{Tasks: t.Traces, Calls: t.Calls, Failed: t.Failures, Denied: t.Denials, Took: t.Took, Waited: t.Waited}.used(t.Usage)
}

func ofSummary(s *store.Summary) figures {
	return figures{Tasks: 1, Calls: s.Tools, Failed: s.ToolFailures, Denied: s.ToolDenials, Took: s.Duration(), Waited: s.Waited}.used(s.Usage)
}

func ofStatus(status string) figures {
	f := figures{Calls: 1}
	switch status {
	case "unfinished":
		f.Failed, f.Unfinished = 1, 1
	case "failed":
		f.Failed = 1
	case "denied":
		f.Denied = 1
	}
	return f
}

// Which figures a surface has.
func all(f figures) figures { f.Unfinished = 0; return f } // Sums count them among the failures.

func byCall(f figures) figures {
	return figures{Calls: f.Calls, Failed: f.Failed, Denied: f.Denied, Unfinished: f.Unfinished}
}
func byTask(f figures) figures   { f = all(f).used(&store.Usage{}); return f }
func reported(f figures) figures { return figures{Tasks: f.Tasks, Failed: f.Failed} }

// drawnStore is a store whose figures are known without reading it.
type drawnStore struct {
	sum figures
	// by has the sums by "project", "agent", "model" and "day", and by "task".
	by map[string]map[string]figures
}

func (d *drawnStore) add(by, key string, f figures) {
	if d.by[by] == nil {
		d.by[by] = make(map[string]figures)
	}
	have := d.by[by][key]
	have.add(f)
	d.by[by][key] = have
}

// draw draws a task. Its calls follow one another, and it begins and ends on one day.
func (d *drawnStore) draw(r *rand.Rand, n int, now time.Time) []*tracepb.ResourceSpans {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	y, m, day := now.AddDate(0, 0, -1-r.IntN(20)).Date()
	start := time.Date(y, m, day, 6+r.IntN(12), r.IntN(60), r.IntN(60), 0, now.Location())
	var spans []*tracepb.Span
	add := func(name string, from, took time.Duration, a ...*commonpb.KeyValue) *tracepb.Span {
		s := &tracepb.Span{
			Name: name, TraceId: []byte{0: 0xcc, 14: byte(n >> 8), 15: byte(n)}, SpanId: []byte{0: 1, 7: byte(len(spans))},
			StartTimeUnixNano: otlp.UnixNano(start.Add(from)), EndTimeUnixNano: otlp.UnixNano(start.Add(from + took)), Attributes: a,
		}
		if len(spans) > 0 {
			s.ParentSpanId = spans[0].SpanId
		}
		spans = append(spans, s)
		return s
	}
	project, agent, model := pick("/w/shop", "/w/site", "/w/tool"), pick("cline", "claude-code", "codex"), ""
	task := figures{Tasks: 1, Took: time.Duration(60+r.IntN(3000)) * time.Second}
	root := add("invoke_agent", 0, task.Took, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, agent), otlp.String(otelmap.KeyWorkingDirectory, project),
		otlp.String(otelmap.KeyConversationID, fmt.Sprint("session-", n)), otlp.String(otelmap.KeyOutcome, pick(outcomes[:5]...)))
	for i := range r.IntN(4) {
		u := store.Usage{Output: int64(r.IntN(500)), CacheRead: int64(r.IntN(5000)), CacheWrite: int64(r.IntN(300))}
		u.Input = u.CacheRead + u.CacheWrite + int64(r.IntN(1000))
		cost := float64(r.IntN(256)) / 64
		u.CostUSD = &cost
		name := pick("claude-opus-4-1", "gpt-5-codex")
		if i == 0 {
			model = name
		}
		add("chat "+name, time.Duration(i)*time.Second, time.Second, otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, name),
			otlp.Int(otelmap.KeyInputTokens, u.Input), otlp.Int(otelmap.KeyOutputTokens, u.Output), otlp.Int(otelmap.KeyCacheReadTokens, u.CacheRead),
			otlp.Int(otelmap.KeyCacheWriteTokens, u.CacheWrite), otlp.Float(otelmap.KeyCost, cost))
		task.add(figures{}.used(&u))
		d.add("model", name, figures{}.used(&u))
	}
	for i := range r.IntN(6) {
		s := add("execute_tool", time.Duration(10+8*i)*time.Second, 5*time.Second, otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, pick("Bash", "Read", "mcp__db__query")),
			otlp.String(otelmap.KeyToolArguments, pick(`{"command":"go test"}`, `{"file_path":"/w/a"}`)))
		kind := pick("", "", otelmap.ErrorTool, otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled, otelmap.ErrorToolUnfinished)
		if kind != "" {
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "no"}
			s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyErrorType, kind))
		}
		task.add(ofStatus(map[string]string{otelmap.ErrorTool: "failed", otelmap.ErrorToolDenied: "denied", otelmap.ErrorToolCancelled: "denied", otelmap.ErrorToolUnfinished: "unfinished"}[kind]))
		if r.IntN(3) == 0 { // It waits from its second to its third second.
			s.Attributes = append(s.Attributes, otlp.Int(otelmap.KeyHostDuration, 2000))
			s.Events = append(s.Events, &tracepb.Span_Event{Name: otelmap.EventPermission, TimeUnixNano: s.StartTimeUnixNano + 1e9})
			task.Waited += 2 * time.Second
		}
	}
	if r.IntN(3) == 0 {
		root.Events = append(root.Events, &tracepb.Span_Event{Name: otelmap.EventNotification, TimeUnixNano: otlp.UnixNano(start.Add(5 * time.Second)), Attributes: []*commonpb.KeyValue{
			otlp.Bool(otelmap.KeyAwaitsUser, true), otlp.Int(otelmap.KeyWaited, 3000),
		}})
		task.Waited += 3 * time.Second
	}
	d.sum.add(task)
	d.add("project", project, task)
	d.add("agent", agent, task)
	d.add("day", start.Format(time.DateOnly), task)
	d.add("task", otlp.TraceID(root), task)
	d.add("model", model, byTask(task))
	have := d.by["model"][model]
	have.Unfinished += task.Unfinished
	d.by["model"][model] = have
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}
}

// TestSurfacesAgree draws stores and compares what the commands and the page's API say with what was
// drawn.
func TestSurfacesAgree(t *testing.T) {
	for seed := range uint64(*surfaceStores) { //nolint:gosec // A count.
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { surfacesAgree(t, rand.New(rand.NewPCG(1, seed))) }) //nolint:gosec // not for secrets
	}
}

func surfacesAgree(t *testing.T, r *rand.Rand) {
	a, _, _ := newTestApp(t, "list")
	if code := run(context.Background(), a); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s, err := store.Open(t.Context(), a.cfg.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	drawn := &drawnStore{by: make(map[string]map[string]figures)}
	for n := range 1 + r.IntN(40) {
		if err := s.UploadTraces(t.Context(), drawn.draw(r, n, a.now())); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	same := func(surface string, got, want figures, has func(figures) figures) {
		t.Helper()
		if got, want := has(got), has(want); got != want {
			t.Errorf("%s: %+v\nwant %+v", surface, got, want)
		}
	}
	sameGroups := func(surface, by string, got map[string]figures, has func(figures) figures) {
		t.Helper()
		for key, want := range drawn.by[by] {
			same(surface+" by "+by+", "+key, got[key], want, has)
		}
		for key := range got {
			if _, ok := drawn.by[by][key]; !ok {
				t.Errorf("%s by %s: %q was not drawn", surface, by, key)
			}
		}
	}
	command := asking(t, a)
	request := page(t, a)
	ask := func(into any, path string) {
		t.Helper()
		if err := json.Unmarshal(request("/api/v1/"+path), into); err != nil {
			t.Fatal(path, err)
		}
	}

	tasks := func(surface string, list []store.Summary) {
		by := map[string]map[string]figures{"project": {}, "agent": {}, "model": {}, "day": {}, "task": {}}
		for i := range list {
			one := &list[i]
			for by, keys := range map[string]map[string]figures{one.Directory: by["project"], one.Host: by["agent"], one.Model: by["model"], one.Started.In(a.now().Location()).Format(time.DateOnly): by["day"], one.TraceID: by["task"]} {
				have := keys[by]
				have.add(ofSummary(one))
				keys[by] = have
			}
		}
		for key := range drawn.by["model"] { // of which another task is
			by["model"][key] = by["model"][key].used(&store.Usage{})
		}
		for _, key := range []string{"project", "agent", "day", "task"} {
			sameGroups(surface, key, by[key], all)
		}
		sameGroups(surface, "model", by["model"], byTask)
	}
	var list listJSON
	command(&list, "list", "--json", "--sums")
	same("the list's sums", ofTotals(list.Totals), drawn.sum, all)
	tasks("the list", list.Tasks)
	var sessions struct {
		Traces []struct{ Summary store.Summary }
		Totals store.Totals
	}
	ask(&sessions, "sessions?limit=5000")
	same("the page's sums", ofTotals(sessions.Totals), drawn.sum, all)
	listed := make([]store.Summary, len(sessions.Traces))
	for i := range listed {
		listed[i] = sessions.Traces[i].Summary
	}
	tasks("the page's list", listed)

	groups := func(surface, by string, of []store.Group) {
		got := make(map[string]figures)
		for _, g := range of {
			got[g.Key] = ofTotals(g.Totals)
		}
		sameGroups(surface, by, got, all)
	}
	var usage struct {
		Totals store.Totals
		Groups map[string][]store.Group
	}
	ask(&usage, "usage")
	same("the page's costs", ofTotals(usage.Totals), drawn.sum, all)
	for _, by := range []string{"project", "agent", "model", "day"} {
		var stats statsJSON
		command(&stats, "stats", "--by", by, "--json")
		same("stats by "+by, ofTotals(stats.Totals), drawn.sum, all)
		groups("stats", by, stats.Groups)
		groups("the page's costs", by, usage.Groups[by])
	}

	type call struct {
		Status, Host string
		Directory    string    `json:"workingDirectory"`
		Trace        string    `json:"traceId"`
		Started      time.Time `json:"started"`
	}
	var calls struct {
		Calls  []call
		Totals store.Totals
	}
	for surface, get := range map[string]func(){"calls": func() { command(&calls, "calls", "--json", "--sums") }, "the page's calls": func() { ask(&calls, "calls?limit=5000") }} {
		calls.Calls = nil
		get()
		by := map[string]map[string]figures{"project": {}, "agent": {}, "day": {}, "task": {}}
		for _, c := range calls.Calls {
			for key, keys := range map[string]map[string]figures{c.Directory: by["project"], c.Host: by["agent"], c.Started.In(a.now().Location()).Format(time.DateOnly): by["day"], c.Trace: by["task"]} {
				have := keys[key]
				have.add(ofStatus(c.Status))
				keys[key] = have
			}
		}
		for key, got := range by {
			sameGroups(surface, key, got, byCall)
		}
		total := ofTotals(calls.Totals)
		total.Unfinished = drawn.sum.Unfinished
		same(surface+"' sums", total, drawn.sum, byCall)
	}

	var report view.Report
	command(&report, "report", "--since", "2000-01-01", "--format", "json")
	same("report", ofTotals(report.Totals), drawn.sum, all)
	for _, table := range report.Tables {
		by := map[string]string{"Projects": "project", "Models": "model"}[table.Title]
		for _, row := range table.Rows {
			for key, want := range drawn.by[by] {
				if key == row[0] || by == "project" && path.Base(key) == row[0] {
					got := figures{}
					got.Tasks, _ = strconv.Atoi(row[1])
					got.Failed, _ = strconv.Atoi(row[3])
					same("report by "+by+", "+key, got, want, reported)
				}
			}
		}
	}

	few := 0
	for id, want := range drawn.by["task"] {
		if few++; few > 3 {
			break
		}
		var shown store.Summary
		command(&shown, "show", id, "--json")
		same("show "+id, ofSummary(&shown), want, all)
		var bad []struct{ Status, Name string }
		command(&bad, "show", id, "--failed", "--json")
		got := figures{Calls: want.Calls}
		for _, c := range bad {
			one := ofStatus(c.Status)
			one.Calls = 0
			got.add(one)
		}
		same("show --failed "+id, got, want, byCall)
		var head struct{ Summary store.Summary }
		ask(&head, "traces/"+id)
		same("the page's task "+id, ofSummary(&head.Summary), want, all)
		var rows struct {
			Kinds, Statuses []string
			Kind, Status    string
		}
		ask(&rows, "traces/"+id+"/rows")
		kinds, _ := base64.StdEncoding.DecodeString(rows.Kind)
		statuses, _ := base64.StdEncoding.DecodeString(rows.Status)
		got = figures{}
		for i, kind := range kinds {
			if rows.Kinds[kind] == string(view.KindTool) {
				got.add(ofStatus(rows.Statuses[statuses[i]]))
			}
		}
		same("the page's rows of "+id, got, want, byCall)
	}
}
