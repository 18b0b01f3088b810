package otelmap

import (
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestUserOfARunIsTheOneThatTheResourceNames has an agent that reports an id of the user,
// and a person or company that names one.
func TestUserOfARunIsTheOneThatTheResourceNames(t *testing.T) {
	named := []*commonpb.KeyValue{otlp.String("team.id", "core"), otlp.String(KeyUser, "u-7")}
	for name, tt := range map[string]struct {
		resource       []*commonpb.KeyValue
		reported, want string
	}{
		"both": {named, "opaque", "u-7"}, "the resource alone": {named, "", "u-7"}, "the agent alone": {nil, "opaque", "opaque"}, "neither": {},
	} {
		begin := prompt(0, "go")
		begin.User = tt.reported
		b := build(Options{Resource: tt.resource}, Carry{}, logged(begin, ev(1, hook.KindRunComplete)))
		if got := otlp.Text(spansOf(b, b.Runs(far)[0], nil)[0].Attributes, KeyUser); got != tt.want {
			t.Errorf("%s: the user is %q, want %q", name, got, tt.want)
		}
	}
}
