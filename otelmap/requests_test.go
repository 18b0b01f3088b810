package otelmap

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestRequestsOfHooks has requests that hooks report, a subagent's among them, of which the
// files have none, some or all: the tokens and the ids of spans are the same.
func TestRequestsOfHooks(t *testing.T) {
	start := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	usage := func(in int64) *hook.Usage { return &hook.Usage{Input: in, InputIncludesCache: true} }
	files := []hook.Request{
		{ID: "resp_1", Turn: "t", Start: at(1), End: at(2), Usage: usage(10)},
		{ID: "resp_2", Turn: "t", Agent: "sub", Start: at(4), End: at(5), Usage: usage(20)},
		{ID: "resp_3", Turn: "t", Start: at(7), End: at(8), Usage: usage(40)},
	}
	build := func() *Builder {
		b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true}}, Carry{})
		offset := int64(0)
		add := func(s int, kind hook.Kind, agent string, c *hook.Request) {
			offset++
			e := hook.Event{Host: "h", Session: "s", Turn: "t", Kind: kind, StoredAt: at(s), Offset: offset, Hash: uint64(offset), Agent: agent, Request: c} //nolint:gosec // small
			if agent != "" {
				e.ParentAgent, e.Turn = hook.ParentUnknown, ""
			}
			b.Add(e)
		}
		add(0, hook.KindPrompt, "", nil)
		for i, c := range files {
			if c.Agent != "" {
				add(3, hook.KindRunStart, c.Agent, nil)
			}
			began, ended := &hook.Request{RequestID: fmt.Sprint("req_", i)}, &hook.Request{RequestID: fmt.Sprint("req_", i), ID: c.ID, Usage: c.Usage}
			add(1+3*i, hook.KindAside, c.Agent, began)
			add(2+3*i, hook.KindAside, c.Agent, ended)
			if c.Agent != "" {
				add(6, hook.KindRunComplete, c.Agent, nil)
			}
		}
		return b
	}
	want := []string{"resp_1 req_0 10", "resp_2 req_1 20", "resp_3 req_2 40"}
	var ids []string
	for n := range len(files) + 1 {
		b := build()
		runs := b.Runs(at(10))
		var got, made []string
		for s := range otlp.Spans([]*tracepb.ResourceSpans{b.OpenSpans(runs[0], &hook.Transcript{Requests: files[:n]}, at(10))}) {
			in, _ := otlp.Integer(s.Attributes, KeyInputTokens)
			if otlp.Text(s.Attributes, KeyOperation) == OpChat {
				got = append(got, fmt.Sprintf("%s %s %d", otlp.Text(s.Attributes, KeyResponseID), otlp.Text(s.Attributes, KeyRequestID), in))
				made = append(made, otlp.SpanID(s))
			}
			if all, _ := otlp.Integer(s.Attributes, KeyRunInputTokens); len(s.ParentSpanId) == 0 && all != 70 {
				t.Errorf("with %d of the requests in the files: %d tokens in all, want 70", n, all)
			}
		}
		if diff := cmp.Diff(want, got); len(runs) != 1 || diff != "" {
			t.Errorf("%d runs, with %d of the requests in the files (-want +got):\n%s", len(runs), n, diff)
		}
		if ids == nil {
			ids = made
		}
		if diff := cmp.Diff(ids, made); diff != "" {
			t.Errorf("the ids of spans change:\n%s", diff)
		}
	}
}

// TestRequestsOfOneID has responses that a gateway gives one id, and a sum, of which two hooks
// report each: all count once, whatever the files have of them.
func TestRequestsOfOneID(t *testing.T) {
	start := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var all []hook.Request
	for i := range 3 {
		all = append(all, hook.Request{ID: "resp", Turn: "t", Start: at(2 * i), End: at(2*i + 1), Usage: &hook.Usage{Input: 10}})
	}
	for n := range len(all) + 1 {
		b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true}}, Carry{})
		b.Add(hook.Event{Host: "h", Session: "s", Turn: "t", Kind: hook.KindPrompt, StoredAt: at(0)})
		for i := range 2 * (len(all) + 1) {
			c := hook.Request{Kind: hook.RequestsUnlisted, ID: "t", End: at(i), Usage: &hook.Usage{Input: 10}}
			if i < 2*len(all) {
				c = all[i/2]
			}
			b.Add(hook.Event{Host: "h", Session: "s", Turn: "t", Kind: hook.KindAside, StoredAt: c.End, Time: c.End, Offset: int64(i + 1), Request: &c})
		}
		spans := otlp.Spans([]*tracepb.ResourceSpans{b.OpenSpans(b.Runs(at(10))[0], &hook.Transcript{Requests: all[:n]}, at(10))})
		for s := range spans {
			if in, _ := otlp.Integer(s.Attributes, KeyRunInputTokens); len(s.ParentSpanId) == 0 && in != 40 {
				t.Errorf("with %d of the requests in the files: %d tokens in all, want 40", n, in)
			}
		}
	}
}
