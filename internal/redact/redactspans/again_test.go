package redactspans

import (
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/redact"
)

// texts returns a message with texts in the order of name and value.
func attributes(pairs ...string) *tracepb.ResourceSpans {
	var out []*commonpb.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, &commonpb.KeyValue{Key: pairs[i], Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: pairs[i+1]}}})
	}
	return &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "run", Attributes: out}}}}}
}

func TestCleanAgainRemovesWhatWasRemovedElsewhere(t *testing.T) {
	const result, said, path, branch = "gen_ai.tool.call.result", "gen_ai.output.messages", "process.working_directory", "vcs.ref.head.name"
	r := redact.New(nil)
	for _, tt := range []struct {
		name, removed string
		message       []string
		want          string // in each text, what is left of the value
	}{
		{"a password of the environment in an answer", "DB_PASSWORD=hunter2-prod", []string{said, `[{"content":"Your password is hunter2-prod, keep it."}]`}, "is [REDACTED:assigned-secret], keep"},
		{"in an escaped line", "DB_PASSWORD=hunter2-prod", []string{result, `{"a":"x\nhunter2-prod\ny"}`}, `x\n[REDACTED:assigned-secret]\ny`},
		{"the command of a hook that denied a call", "DB_PASSWORD=hunter2-prod", []string{"hookspan.hook.denied_by", "guard.sh hunter2-prod"}, "guard.sh [REDACTED:assigned-secret]"},
		{"the command of a hook that stopped a run", "DB_PASSWORD=hunter2-prod", []string{said, "use hunter2-prod now", "hookspan.hook.stopped_by", "guard.sh hunter2-prod"}, "use [REDACTED:assigned-secret] now"},
		{"the command at the end of a task", "DB_PASSWORD=hunter2-prod", []string{said, "use hunter2-prod now", "hookspan.completion.command", "login hunter2-prod"}, "use [REDACTED:assigned-secret] now"},
		{"a part of a longer word", "DB_PASSWORD=hunter2-prod", []string{result, "hunter2-production"}, "hunter2-production"},
		{"the name of a branch", "DB_PASSWORD=hunter2-prod", []string{said, "use hunter2-prod now", branch, "hunter2-prod"}, "use hunter2-prod now"},
		{"a folder", "DB_PASSWORD=hunter2-prod", []string{said, "use hunter2-prod now", path, "/srv/hunter2-prod"}, "use hunter2-prod now"},
		{"a file in another text", "DB_PASSWORD=hunter2-prod", []string{said, "use hunter2-prod now", result, "cat /etc/hunter2-prod"}, "use hunter2-prod now"},
		{"a word", "password: letmein1", []string{said, "use letmein1 now"}, "use letmein1 now"},
		{"a password of an address", "postgres://app:kite4242@db/x", []string{said, "it was kite4242"}, "it was [REDACTED:url-password]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := r.Memory()
			m.At(7)
			m.Clean(tt.removed, 0)
			in := attributes(tt.message...)
			before := proto.CloneOf(in)
			got := CleanAgain(r, in, m.Values(func(at int64) bool { return at == 7 }))
			if s := got.GetScopeSpans()[0].GetSpans()[0].GetAttributes()[0].GetValue().GetStringValue(); !strings.Contains(s, tt.want) {
				t.Errorf("got %q, want %q in it", s, tt.want)
			}
			if !proto.Equal(in, before) {
				t.Error("the message was changed")
			}
			if other := m.Values(func(at int64) bool { return at == 8 }); len(other) > 0 {
				t.Errorf("%d values belong to another task", len(other))
			}
		})
	}
}

func TestCleanAgainKeepsTheNamesInLists(t *testing.T) {
	r := redact.New(nil)
	m := r.Memory()
	m.Clean("DB_PASSWORD=hunter2-prod", 0)
	in := attributes("gen_ai.output.messages", "use hunter2-prod now")
	in.Resource = &resourcepb.Resource{Attributes: []*commonpb.KeyValue{otlp.Strings("hookspan.workspace.folders", []string{"/srv/a", "/srv/hunter2-prod"})}}
	if got := CleanAgain(r, in, m.Values(func(int64) bool { return true })); !proto.Equal(got, in) {
		t.Errorf("got %v", got)
	}
}
