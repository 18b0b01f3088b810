package rig_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestChecksOfOwnViewFindWhatDiffers(t *testing.T) {
	t.Parallel()
	const list = `[{"outcome":"failed","title":"b","tools":0,"toolFailures":0,"more":1},{"outcome":"completed","title":"a","tools":2,"toolFailures":1}]`
	const doc = `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"s"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",
		"name":"n","kind":1,"startTimeUnixNano":"5","endTimeUnixNano":"6","attributes":[{"key":"n","value":{"intValue":"7"}}]}]}]}]}`
	trace := func(name string) *rig.Trace {
		return &rig.Trace{Spans: []*sink.Span{{
			TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: "b7ad6b7169203331", Name: name, Kind: "Internal", Status: "Unset", Scope: "s",
			Start: time.Unix(0, 5).UTC(), End: time.Unix(0, 6).UTC(), Attrs: sink.Attrs{"n": 7}, Resource: sink.Attrs{},
		}}}
	}
	notified := func(at int64) *rig.Trace {
		tr := trace("n")
		tr.Spans[0].Events = []sink.Event{{Name: "hookspan.notification", At: time.Unix(0, at).UTC()}}
		return tr
	}
	listed := func(title string) []rig.Listed {
		return []rig.Listed{{Outcome: "completed", Title: title, Tools: 2, Failures: 1}, {Outcome: "failed", Title: "b"}}
	}
	post := sink.Post{Agent: rig.InfiniumAgent, HeaderAgent: rig.InfiniumAgent, HeaderKey: rig.InfiniumSecret, Body: []byte("{}")}
	foreign, bare := post, post
	foreign.HeaderKey, bare.Body = "x", []byte("[]")
	tests := map[string]struct {
		wrong []string
		want  string
	}{
		"the list as it is":                        {rig.CheckList(list, listed("a")), ""},
		"a list with any title":                    {rig.CheckList(list, listed("")), ""},
		"a list with another title":                {rig.CheckList(list, listed("c")), "hookspan list"},
		"a list that is too long":                  {rig.CheckList(list, listed("a")[:1]), "hookspan list"},
		"a list that is none":                      {rig.CheckList("nothing", nil), "hookspan list --json"},
		"the trace as it is":                       {rig.CheckShown(doc, trace("n")), ""},
		"a trace with another name":                {rig.CheckShown(doc, trace("m")), "spans hookspan shows"},
		"a notification after the end, not shown":  {rig.CheckShown(doc, notified(7)), ""},
		"a notification before the end, not shown": {rig.CheckShown(doc, notified(6)), "spans hookspan shows"},
		"a trace that is no document":              {rig.CheckShown("nothing", trace("n")), "hookspan show --json"},
		"a document as it is":                      {rig.CheckInfinium([]sink.Post{post}, 1), ""},
		"a document too few":                       {rig.CheckInfinium([]sink.Post{post}, 2), "1 documents, want 2"},
		"a document of another":                    {rig.CheckInfinium([]sink.Post{foreign}, 1), `with key "x"`},
		"a document that is none":                  {rig.CheckInfinium([]sink.Post{bare}, 1), "no JSON object"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(tt.wrong, "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("said %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompareOutcomeFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	root := sink.Span{
		TraceID: "t", SpanID: "r", Status: "Error", Attrs: sink.Attrs{"hookspan.outcome": "failed", "input.value": "a"},
		Resource: sink.Attrs{"service.name": "x"}, Links: []sink.Link{{TraceID: "o", SpanID: "p"}},
	}
	traces, _ := rig.Traces([]sink.Span{root})
	other, _ := rig.Traces([]sink.Span{{TraceID: "o", SpanID: "p"}})
	for want, wrong := range map[string][]string{
		"":             traces[0].CompareOutcome("failed", "a", "x"),
		"outcome":      traces[0].CompareOutcome("abandoned", "a", "x"),
		"status":       traces[0].CompareOutcome("completed", "a", "x"),
		"task":         traces[0].CompareOutcome("failed", "b", "x"),
		"service.name": traces[0].CompareOutcome("failed", "a", "y"),
	} {
		got := strings.Join(wrong, "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("CompareOutcome says %q, want %q", got, want)
		}
	}
	if !traces[0].LinksTo(other[0]) || other[0].LinksTo(traces[0]) {
		t.Error("LinksTo does not distinguish a link from none")
	}
}
