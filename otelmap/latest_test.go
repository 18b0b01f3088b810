package otelmap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/internal/otlp"
)

func spanOf(op string, a ...*commonpb.KeyValue) *tracepb.Span {
	return &tracepb.Span{Attributes: append([]*commonpb.KeyValue{otlp.String(KeyOperation, op)}, a...)}
}

func one(spans ...*tracepb.Span) *tracepb.ResourceSpans {
	return &tracepb.ResourceSpans{SchemaUrl: SchemaURL, ScopeSpans: []*tracepb.ScopeSpans{{SchemaUrl: SchemaURL, Spans: spans}}}
}

func TestLatestNamesReplaceTheDefaultOnes(t *testing.T) {
	tests := []struct {
		name      string
		op        string
		have, get []*commonpb.KeyValue
	}{
		{
			"request", OpChat,
			[]*commonpb.KeyValue{
				otlp.String(KeyProvider, "anthropic"), otlp.Int(KeyCacheReadTokens, 5), otlp.Int(KeyCacheWriteTokens, 7),
				otlp.String(KeyEffort, "high"), otlp.Bool(KeyCompacted, true),
			},
			[]*commonpb.KeyValue{
				otlp.String(KeyProvider, "anthropic"), otlp.Int(KeyCacheReadTokens, 5), otlp.Int(KeyLatestCacheWrite, 7),
				otlp.String(KeyReasoningLevel, "high"), otlp.Bool(KeyLatestCompacted, true),
			},
		},
		{
			"agent", OpInvokeAgent,
			[]*commonpb.KeyValue{
				otlp.String(KeyProvider, "anthropic"), otlp.String(KeyHostProvider, "anthropic"), otlp.String(KeyEffort, "high"),
				otlp.Int(KeyInputTokens, 20), otlp.Int(KeyCacheReadTokens, 5), otlp.Int(KeyCacheWriteTokens, 7),
			},
			[]*commonpb.KeyValue{
				otlp.String(KeyHostProvider, "anthropic"), otlp.String(KeyEffort, "high"),
				otlp.Int(KeyInputTokens, 20), otlp.Int(KeyRunCacheReadTokens, 5), otlp.Int(KeyRunCacheWriteTokens, 7),
			},
		},
		{"another program's span", "embeddings", []*commonpb.KeyValue{otlp.Int(KeyCacheWriteTokens, 7)}, []*commonpb.KeyValue{otlp.Int(KeyCacheWriteTokens, 7)}},
	}
	for _, tt := range tests {
		m := one(spanOf(tt.op, tt.have...))
		before := proto.CloneOf(m)
		want := one(spanOf(tt.op, tt.get...))
		want.ScopeSpans[0].SchemaUrl = LatestSchemaURL
		if diff := cmp.Diff(want, WithLatestNames(m), protocmp.Transform()); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
		if !proto.Equal(m, before) {
			t.Errorf("%s: the argument was changed", tt.name)
		}
	}
}

func TestLatestNamesOfTools(t *testing.T) {
	tests := []struct {
		tool, arguments, failure string
		program, skill           string
		code                     int64 // -1 for none
	}{
		{"Bash", `{"command":"npm test"}`, "", "npm", "", -1},
		{"Bash", `{"command":"CI=1 /usr/bin/go test ./..."}`, "Exit code 1\n--- FAIL", "go", "", 1},
		{"bash", `{"command":"sleep 1; exit 3"}`, "oops\nExit Code: 3", "", "", 3},
		{"execute_command", `{"command":"npm test"}`, "Command failed with exit code 2.\nOutput:\nx", "npm", "", 2},
		{"run_commands", `{"commands":["npm test"]}`, "[Command exited with code 1]\nx", "npm", "", 1},
		{"run_commands", `{"commands":["npm test","ls"]}`, "", "", "", -1},
		{"Bash", `{"command":"x=$(cat a) npm test"}`, "", "", "", -1},
		{"Bash", `{"command":"'my tool' a"}`, "", "", "", -1},
		{"Bash", `{"command":"npm te…`, "killed", "", "", -1},
		{"Bash", `{"command":"a"}`, "it said Exit code 1 somewhere", "a", "", -1},
		{"Bash", `{"command":"a"}`, "Exit code 99999999999999999999", "a", "", -1},
		{"apply_patch", `{"command":"*** Begin Patch"}`, "Exit code 1\n", "", "", -1},
		{"Skill", `{"skill":"pdf"}`, "", "", "pdf", -1},
		{"use_skill", `{"skill_name":"pdf"}`, "", "", "pdf", -1},
		{"skill", `{"name":"pdf"}`, "", "", "pdf", -1},
		{"Skill", ``, "", "", "", -1},
		{"Read", `{"skill":"pdf","command":"ls"}`, "Exit code 1", "", "", -1},
	}
	for _, tt := range tests {
		s := spanOf(OpExecuteTool, otlp.String(KeyToolName, tt.tool), otlp.String(KeyToolArguments, tt.arguments))
		if tt.failure != "" {
			fail(s, ErrorTool, tt.failure, never.Time())
		}
		got := WithLatestNames(one(s)).ScopeSpans[0].Spans[0].Attributes
		code, ok := otlp.Integer(got, KeyExitCode)
		if !ok {
			code = -1
		}
		if p, sk := otlp.Text(got, KeyExecutable), otlp.Text(got, KeySkillName); p != tt.program || sk != tt.skill || code != tt.code {
			t.Errorf("%s %s: got program %q, skill %q, code %d", tt.tool, tt.arguments, p, sk, code)
		}
	}
}
