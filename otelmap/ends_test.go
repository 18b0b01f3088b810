package otelmap

import (
	"encoding/json"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

func TestEndOf(t *testing.T) {
	for _, c := range []struct {
		name       string
		key, value string
		failed     bool
		open       bool
		want       End
	}{
		{name: "a span without a word", want: EndOK},
		{name: "a span that failed", failed: true, want: EndFailed},
		{name: "a span without an end", open: true, want: EndUnfinished},
		{name: "a tool's failure", key: KeyErrorType, value: ErrorTool, failed: true, want: EndFailed},
		{name: "a denied call", key: KeyErrorType, value: ErrorToolDenied, failed: true, want: EndDenied},
		{name: "a cancelled call", key: KeyErrorType, value: ErrorToolCancelled, failed: true, want: EndDenied},
		{name: "an unfinished call", key: KeyErrorType, value: ErrorToolUnfinished, failed: true, want: EndUnfinished},
		{name: "an abandoned subagent", key: KeyErrorType, value: ErrorAbandoned, failed: true, want: EndUnfinished},
		{name: "an unknown outcome", key: KeyToolOutcome, value: ToolOutcomeUnknown, want: EndUnknown},
		{name: "an unknown outcome that failed", key: KeyToolOutcome, value: ToolOutcomeUnknown, failed: true, want: EndFailed},
		{name: "a call under way", key: KeyToolOutcome, value: ToolOutcomeRunning, want: EndRunning},
		{name: "a completed run", key: KeyOutcome, value: OutcomeCompleted, open: true, want: EndOK},
		{name: "a failed run", key: KeyOutcome, value: OutcomeFailed, want: EndFailed},
		{name: "a cancelled run", key: KeyOutcome, value: OutcomeCancelled, want: EndDenied},
		{name: "an interrupted run", key: KeyOutcome, value: OutcomeInterrupted, want: EndDenied},
		{name: "an abandoned run", key: KeyOutcome, value: OutcomeAbandoned, failed: true, want: EndUnfinished},
		{name: "a run under way", key: KeyOutcome, value: OutcomeRunning, want: EndRunning},
	} {
		s := &tracepb.Span{EndTimeUnixNano: 1}
		if c.open {
			s.EndTimeUnixNano = 0
		}
		if c.key != "" {
			s.Attributes = append(s.Attributes, otlp.String(c.key, c.value))
		}
		if c.failed {
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		}
		if got := EndOf(s); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := OutcomeEnd(""); got != EndUnfinished {
		t.Errorf("a run without an outcome: got %q", got)
	}
}

func TestHookEnd(t *testing.T) {
	for _, c := range []struct {
		status, decision string
		want             End
	}{
		{hook.HookOK, "", EndOK},
		{hook.HookOK, "allow", EndOK},
		{hook.HookAsync, "", EndOK},
		{hook.HookOK, "deny", EndDenied},
		{hook.HookError, "block", EndDenied},
		{hook.HookError, "", EndFailed},
		{hook.HookTimeout, "", EndFailed},
		{hook.HookNotStarted, "ask", EndFailed},
	} {
		if got := HookEnd(c.status, c.decision); got != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.status, c.decision, got, c.want)
		}
	}
}

// TestEndsAreDistinct holds the words and marks of the ends against one another: each says
// one end, in JSON as well.
func TestEndsAreDistinct(t *testing.T) {
	seen := make(map[string]End)
	bad := 0
	for i, e := range Ends {
		if int(e) != i {
			t.Errorf("end %d has the number %d", i, e)
		}
		text, err := json.Marshal(e)
		if err != nil || string(text) != `"`+e.String()+`"` {
			t.Errorf("%s as JSON: %s, %v", e, text, err)
		}
		for _, what := range []string{"word " + e.String(), "mark " + e.Mark(), "ASCII " + e.ASCII()} {
			if other, ok := seen[what]; ok {
				t.Errorf("%s of %q and of %q", what, other, e)
			}
			seen[what] = e
		}
		if e.Bad() {
			bad++
		}
	}
	if bad != 3 || EndDenied.Failed() || !EndUnfinished.Failed() || EndRunning.Bad() {
		t.Errorf("%d ends are bad", bad)
	}
}
