package otelmap

import (
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
)

// TestUnknownOutcomesAreCounted has calls whose hook does not say how they ended; what the
// host's files say counts, whatever is captured.
func TestUnknownOutcomesAreCounted(t *testing.T) {
	file := func(status hook.ToolStatus) []hook.ToolResult {
		return []hook.ToolResult{{Name: "run", Input: `{"path":"run"}`, Text: "out", Status: status, At: ev(3, 0).Time}}
	}
	for _, c := range []struct {
		name    string
		status  hook.ToolStatus
		files   []hook.ToolResult
		outcome string
		err     string
		unknown string
	}{
		{"nothing reports it", hook.ToolUnknown, nil, "unknown", "", "1"},
		{"the files do not report it", hook.ToolUnknown, file(hook.ToolUnknown), "unknown", "", "1"},
		{"the files report a success", hook.ToolUnknown, file(hook.ToolOK), "", "", ""},
		{"the files report a failure", hook.ToolUnknown, file(hook.ToolFailed), "", ErrorTool, ""},
		{"the hook reports a success", hook.ToolOK, file(hook.ToolUnknown), "", "", ""},
		{"the hook reports a failure", hook.ToolFailed, file(hook.ToolOK), "", ErrorTool, ""},
	} {
		for _, capture := range []Capture{CapturePreview, CaptureNone} {
			t.Run(c.name+" with "+string(capture), func(t *testing.T) {
				end := tool(2, hook.KindToolEnd, "run", "")
				end.Tool.Status = c.status
				b := build(Options{Capture: capture}, Carry{}, logged(ev(0, hook.KindRunStart), tool(1, hook.KindToolStart, "run", ""), end, ev(9, hook.KindRunComplete)))
				spans := spansOf(b, b.Runs(far)[0], &hook.Transcript{ToolResults: c.files})
				root, call := spans[0], spans[1]
				if got := value(call, KeyToolOutcome); got != c.outcome {
					t.Errorf("outcome %q, want %q", got, c.outcome)
				}
				if got := value(call, KeyErrorType); got != c.err || (call.Status.Code == tracepb.Status_STATUS_CODE_ERROR) != (c.err != "") || call.Status.Code == tracepb.Status_STATUS_CODE_OK {
					t.Errorf("error.type %q with status %v, want %q", got, call.Status.Code, c.err)
				}
				if got := value(root, KeyToolUnknown); got != c.unknown {
					t.Errorf("%q calls of unknown outcome, want %q", got, c.unknown)
				}
			})
		}
	}
}
