package infinium

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/otelmap"
)

func TestUsage(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	type attrs = []*commonpb.KeyValue
	provider, model := str(otelmap.KeyHostProvider, "openai-native"), str(otelmap.KeyRequestModel, "gpt-5")
	tests := map[string]struct {
		root  attrs
		chats []attrs
		want  *LLMUsage
		tags  map[string]string
	}{
		"nothing known": {attrs{provider, model}, nil, nil, map[string]string{}},
		"the host's own count comes first": {
			attrs{num(otelmap.KeyInputTokens, 100), num(otelmap.KeyHostInputTokens, 10), num(otelmap.KeyOutputTokens, 1)},
			nil,
			&LLMUsage{PromptTokens: n(10), CompletionTokens: n(1), TotalTokens: n(11)},
			map[string]string{},
		},
		"the standard count replaces it": {
			attrs{num(otelmap.KeyInputTokens, 100)},
			nil,
			&LLMUsage{PromptTokens: n(100), TotalTokens: n(100)},
			map[string]string{},
		},
		"the root's totals are not added to the requests'": {
			attrs{num(otelmap.KeyInputTokens, 100), num(otelmap.KeyCacheReadTokens, 7), num(otelmap.KeyLLMRequests, 9), dec(otelmap.KeyCost, 1)},
			[]attrs{{num(otelmap.KeyInputTokens, 60), num(otelmap.KeyCacheReadTokens, 5), dec(otelmap.KeyCost, 2)}},
			&LLMUsage{Model: "m", PromptTokens: n(100), TotalTokens: n(100), APICallsCount: n(9)},
			map[string]string{TagCacheReads: "7", TagTotalCost: "1"},
		},
		"without totals the requests are summed": {
			nil,
			[]attrs{{num(otelmap.KeyInputTokens, 60), dec(otelmap.KeyCost, 0.1)}, {}, {num(otelmap.KeyInputTokens, 2), dec(otelmap.KeyCost, 0.2)}},
			&LLMUsage{Model: "m", PromptTokens: n(62), TotalTokens: n(62), APICallsCount: n(3)},
			map[string]string{TagTotalCost: "0.3"},
		},
		"requests of unknown size are counted": {
			nil, []attrs{{}}, &LLMUsage{Model: "m", APICallsCount: n(1)}, map[string]string{},
		},
		"zero is known": {
			attrs{provider, model, num(otelmap.KeyInputTokens, 0), num(otelmap.KeyCacheWriteTokens, 0), dec(otelmap.KeyCost, 0)},
			nil,
			&LLMUsage{Provider: "openai-native", Model: "gpt-5", PromptTokens: n(0), TotalTokens: n(0)},
			map[string]string{TagCacheWrites: "0", TagTotalCost: "0"},
		},
		"impossible figures are unknown": {
			attrs{num(otelmap.KeyInputTokens, -1), dec(otelmap.KeyCost, -2), num(otelmap.KeyOutputTokens, 3)},
			nil,
			&LLMUsage{CompletionTokens: n(3), TotalTokens: n(3)},
			map[string]string{},
		},
		"a whole price keeps its zeros": {
			attrs{num(otelmap.KeyInputTokens, 1), dec(otelmap.KeyCost, 100)},
			nil,
			&LLMUsage{PromptTokens: n(1), TotalTokens: n(1)},
			map[string]string{TagTotalCost: "100"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := &tree{id: traceID(1)}
			tr.root("cline", 10, tt.root...)
			for i, c := range tt.chats {
				tr.chat(uint64(i+2), 1, "m", i, i+1, c...)
			}
			got := Traces(tr.messages(), testForms)[0]
			if d := cmp.Diff(tt.want, got.LLMUsage); d != "" {
				t.Errorf("usage (-want +got):\n%s", d)
			}
			tags := map[string]string{}
			for _, k := range []string{TagCacheReads, TagCacheWrites, TagTotalCost} {
				if v, ok := got.Environment.CustomTags[k]; ok {
					tags[k] = v
				}
			}
			if d := cmp.Diff(tt.tags, tags); d != "" {
				t.Errorf("tags (-want +got):\n%s", d)
			}
		})
	}
}

func TestModelTag(t *testing.T) {
	tests := map[string]struct {
		host  string
		attrs []*commonpb.KeyValue
		want  string
	}{
		"Cline joins provider and model": {"cline", []*commonpb.KeyValue{
			str(otelmap.KeyProvider, "openai"), str(otelmap.KeyHostProvider, "openai-native"), str(otelmap.KeyRequestModel, "gpt-5"),
		}, "openai-native/gpt-5"},
		"a model alone":               {"cline", []*commonpb.KeyValue{str(otelmap.KeyRequestModel, "gpt-5")}, "gpt-5"},
		"a provider alone":            {"cline", []*commonpb.KeyValue{str(otelmap.KeyProvider, "openai")}, "openai"},
		"neither":                     {"cline", nil, ""},
		"Claude Code names the model": {"claude-code", []*commonpb.KeyValue{str(otelmap.KeyProvider, "anthropic"), str(otelmap.KeyRequestModel, "m")}, "m"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := &tree{id: traceID(1)}
			tr.root(tt.host, 10, tt.attrs...)
			tags := Traces(tr.messages(), testForms)[0].Environment.CustomTags
			if got, ok := tags[TagModel]; got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %t; want %q", got, ok, tt.want)
			}
		})
	}
}
