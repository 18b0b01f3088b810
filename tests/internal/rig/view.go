package rig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// CheckInfinium wants a document for every trace, under the right credentials.
// It returns what is wrong, one line each.
func CheckInfinium(posts []sink.Post, traces int) (wrong []string) {
	if len(posts) != traces {
		wrong = append(wrong, fmt.Sprintf("Infinium was sent %d documents, want %d", len(posts), traces))
	}
	for _, p := range posts {
		if p.Agent != InfiniumAgent || p.HeaderAgent != InfiniumAgent || p.HeaderKey != InfiniumSecret {
			wrong = append(wrong, fmt.Sprintf("document for %q was sent as %q with key %q", p.Agent, p.HeaderAgent, p.HeaderKey))
		}
		if len(p.Body) == 0 || p.Body[0] != '{' {
			wrong = append(wrong, fmt.Sprintf("document is no JSON object: %.200s", p.Body))
		}
	}
	return wrong
}

// Listed is what `hookspan list --json` is to say of a trace; an empty title
// matches any.
type Listed struct {
	Outcome  string `json:"outcome"`
	Title    string `json:"title"`
	Tools    int    `json:"tools"`
	Failures int    `json:"toolFailures"`
	Denials  int    `json:"toolDenials"`
}

// CountError counts a tool call that ended with an error.type, empty for success.
func (l *Listed) CountError(kind string) {
	switch kind {
	case "":
	case otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled:
		l.Denials++
	default:
		l.Failures++
	}
}

// CheckList compares the output of `hookspan list --json`, which has the newest
// trace first, with the traces in their order. It returns what is wrong, one
// line each.
func CheckList(stdout string, want []Listed) (wrong []string) {
	var got []Listed
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		return []string{fmt.Sprintf("hookspan list --json: %v\n%.1000s", err, stdout)}
	}
	slices.Reverse(got)
	for i := range min(len(got), len(want)) {
		if want[i].Title == "" {
			got[i].Title = ""
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		wrong = append(wrong, "hookspan list (-want +got):\n"+diff)
	}
	return wrong
}

// CheckShown compares the trace in the output of `hookspan show --json` with
// the one that was delivered. It returns what is wrong, one line each.
func CheckShown(stdout string, want *Trace) (wrong []string) {
	shown, err := sink.Decode([]byte(stdout))
	if err != nil {
		return []string{fmt.Sprintf("hookspan show --json: %v\n%.1000s", err, stdout)}
	}
	delivered := make([]sink.Span, len(want.Spans))
	for i, s := range want.Spans {
		delivered[i] = *s
	}
	byID := func(x, y sink.Span) int { return strings.Compare(x.TraceID+x.SpanID, y.TraceID+y.SpanID) }
	slices.SortFunc(shown, byID)
	slices.SortFunc(delivered, byID)
	for _, spans := range [][]sink.Span{shown, delivered} {
		for i := range spans {
			spans[i].Events = beforeEnd(&spans[i])
		}
	}
	// Both go through JSON once, so that numbers compare.
	if diff := cmp.Diff(plain(delivered), plain(shown)); diff != "" {
		wrong = append(wrong, "spans hookspan shows (-delivered +shown):\n"+diff)
	}
	return wrong
}

// beforeEnd is a span's events without the notifications that came after its end:
// of these a destination has what was there when its turn came.
func beforeEnd(s *sink.Span) []sink.Event {
	return slices.DeleteFunc(slices.Clone(s.Events), func(e sink.Event) bool {
		return e.Name == "hookspan.notification" && e.At.After(s.End)
	})
}

// plain is v as JSON has it.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return err.Error()
	}
	return out
}
