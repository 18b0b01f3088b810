package otlp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// outline is messages as text, such as "r1{s1{ab} s2{c}}".
func outline(messages []*tracepb.ResourceSpans) string {
	var out []string
	for _, m := range messages {
		var scopes []string
		for _, s := range m.ScopeSpans {
			var names string
			for _, span := range s.Spans {
				names += span.Name
			}
			scopes = append(scopes, fmt.Sprintf("%s{%s}", s.Scope.GetName(), names))
		}
		out = append(out, fmt.Sprintf("%s{%s}", Text(m.Resource.GetAttributes(), "name"), strings.Join(scopes, " ")))
	}
	return strings.Join(out, " ")
}

func TestBatchesKeepResourcesScopesAndOrder(t *testing.T) {
	scope := func(name, spans string) *tracepb.ScopeSpans {
		out := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: name}}
		for _, c := range spans {
			out.Spans = append(out.Spans, &tracepb.Span{Name: string(c)})
		}
		return out
	}
	resource := func(name string, scopes ...*tracepb.ScopeSpans) *tracepb.ResourceSpans {
		return &tracepb.ResourceSpans{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{String("name", name)}}, ScopeSpans: scopes,
		}
	}
	messages := []*tracepb.ResourceSpans{
		resource("r1", scope("s1", "abc"), scope("s2", "d")), resource("r2", scope("s1", "ef")), nil, resource("r1", scope("s1", "g")),
	}
	var split []string
	for _, group := range Split(messages, 3) {
		split = append(split, outline(group))
	}
	for name, tt := range map[string]struct{ want, got string }{
		"Merge":  {"r1{s1{abcg} s2{d}} r2{s1{ef}} {}", outline(Merge(messages))},
		"Split":  {"r1{s1{abc}} | r1{s2{d}} r2{s1{ef}} | r1{s1{g}}", strings.Join(split, " | ")},
		"Select": {"r1{s1{ac} s2{d}} r2{s1{e}} r1{s1{g}}", outline(Select(messages, func(s *tracepb.Span) bool { return strings.Contains("acdeg", s.Name) }))},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
