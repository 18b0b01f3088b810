package otelmap

import (
	"slices"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
)

// plainKeys are the attributes with strings that CaptureNone keeps: names, ids and kinds.
// The server of an MCP call may be from its input.
var plainKeys = []string{
	KeyOperation, KeyAgentName, KeyAgent, KeyModel, KeyFinishReasons, KeyConversationID, KeyProvider, KeyRequestModel, KeyResponseModel, KeyResponseID,
	KeyToolName, KeyToolType, KeyToolCallID, KeyErrorType, KeyExceptionType, KeyWorkingDirectory, KeyHost, KeyHostVersion, KeyHostApp,
	KeyRepositoryName, KeyRepositoryURL, KeyBranch, KeyHostProvider, KeyDialect, KeyOutcome, KeyEvidence, KeyEvidenceMissing, KeyPromptID, KeyToolOutcome, KeyUser, KeyRequestID, KeyFinish, KeyUsageSource,
}

// WithoutTexts returns spans that were mapped earlier without the texts that CaptureNone
// leaves out. The argument is not changed.
func WithoutTexts(m *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	m = proto.CloneOf(m)
	plain := func(attrs []*commonpb.KeyValue) []*commonpb.KeyValue {
		return slices.DeleteFunc(attrs, func(kv *commonpb.KeyValue) bool {
			switch kv.GetValue().GetValue().(type) {
			case *commonpb.AnyValue_BoolValue, *commonpb.AnyValue_IntValue, *commonpb.AnyValue_DoubleValue:
				return false
			}
			return !slices.Contains(plainKeys, kv.GetKey())
		})
	}
	for _, scope := range m.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			s.Attributes = plain(s.Attributes)
			for _, e := range s.GetEvents() {
				e.Attributes = plain(e.Attributes)
			}
			if s.Status != nil {
				s.Status.Message = ""
			}
		}
	}
	return m
}

// WithUsageCost returns spans with KeyUsageCost on the requests whose cost is known. The
// argument is not changed.
func WithUsageCost(m *tracepb.ResourceSpans) *tracepb.ResourceSpans {
	m = proto.CloneOf(m)
	for s := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
		cost, ok := otlp.Find(s.Attributes, KeyCost).GetValue().(*commonpb.AnyValue_DoubleValue)
		if ok && otlp.Text(s.Attributes, KeyOperation) == OpChat && otlp.Find(s.Attributes, KeyUsageCost) == nil {
			s.Attributes = append(s.Attributes, otlp.Float(KeyUsageCost, cost.DoubleValue))
		}
	}
	return m
}
