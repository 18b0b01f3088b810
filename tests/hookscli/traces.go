package hookscli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

const (
	errorDenied = "ToolDenied"
	notFound    = "127" // a shell's exit code for a program that is not there
)

// CompareTraces compares what hooks saw and did in a run on Cline with the traces
// that came of it: the span that a hook finds in TRACEPARENT is there and holds
// the event of the hook's own run; every denied call says so and by whom, and no
// other does; a run that a hook stopped says so. rows are those worked through,
// in order. It returns what differs, one line each.
func CompareTraces(d *Done, rows []Row, soft bool) (wrong []string) {
	traces, wrong := rig.Traces(d.Spans)
	spans := make(map[string]*sink.Span, len(d.Spans))
	for _, t := range traces {
		for _, s := range t.Spans {
			spans[fmt.Sprintf("00-%s-%s-01", s.TraceID, s.SpanID)] = s
		}
	}
	for i := range d.Seen {
		if err := d.inTrace(&d.Seen[i], spans); err != nil {
			wrong = append(wrong, fmt.Sprintf("hook of row %s at %s: %v", d.Seen[i].Row, d.Seen[i].Call(), err))
		}
	}
	var denied, stopped, lost, wantDenied, wantStopped []string
	for _, s := range spans {
		by := d.rowOf(s.Attrs.String(otelmap.KeyHookDeniedBy))
		denied = append(denied, by)
		if e := s.Attrs.String(otelmap.KeyErrorType); by != "" && (e != errorDenied || s.Status != "Error") {
			wrong = append(wrong, fmt.Sprintf("call that the hook of row %s denied: status %s, error.type %q", by, s.Status, e))
		}
		stopped = append(stopped, d.rowOf(s.Attrs.String(otelmap.KeyHookStoppedBy)))
		for _, e := range s.Events {
			if e.Name == otelmap.EventHook && fmt.Sprint(e.Attrs[otelmap.KeyHookExitCode]) == notFound {
				lost = append(lost, d.rowOf(e.Attrs.String(otelmap.KeyHookCommand)))
			}
		}
	}
	for _, r := range rows {
		o := r.On(d.Host, soft)
		if o.Stopped || r.Denied {
			wantDenied = append(wantDenied, r.Name)
		}
		if o.Stopped {
			wantStopped = append(wantStopped, r.Name)
		}
		if slices.ContainsFunc(r.Handlers, func(h Handler) bool { return h.Missing }) && !slices.Contains(lost, r.Name) {
			wrong = append(wrong, fmt.Sprintf("no span event says that the hook of row %s is not there", r.Name))
		}
	}
	if diff := cmp.Diff(count(wantDenied), count(denied)); diff != "" {
		wrong = append(wrong, "rows whose calls were denied, by the traces (-want +got):\n"+diff)
	}
	if diff := cmp.Diff(count(wantStopped), count(stopped)); diff != "" {
		wrong = append(wrong, "rows that stopped a run, by the traces (-want +got):\n"+diff)
	}
	return wrong
}

// inTrace wants a call of a hook to be in the trace as the hook saw it.
func (d *Done) inTrace(s *Seen, spans map[string]*sink.Span) error {
	span := spans[s.TraceParent]
	if span == nil {
		return fmt.Errorf("its TRACEPARENT %q is no span that came", s.TraceParent)
	}
	attr := func(key string) string { return span.Attrs.String(key) }
	if id := attr(otelmap.KeyConversationID); id != s.Text("session_id") {
		return fmt.Errorf("its TRACEPARENT is the span %q of session %q, its session is %q", span.Name, id, s.Text("session_id"))
	}
	op, want := attr(otelmap.KeyOperation), otelmap.OpInvokeAgent
	if s.Text("tool_name") != "" {
		want = otelmap.OpExecuteTool
	}
	if op != want {
		return fmt.Errorf("its TRACEPARENT is the span %q with operation %q, want %q", span.Name, op, want)
	}
	for _, e := range span.Events {
		if e.Name == otelmap.EventHook && d.rowOf(e.Attrs.String(otelmap.KeyHookCommand)) == s.Row &&
			e.Attrs.String(otelmap.KeyHookEvent) == s.Text("hook_event_name") &&
			e.Attrs.String(otelmap.KeyHookTool) == s.Text("tool_name") {
			return nil
		}
	}
	return fmt.Errorf("no event of the span %q is its run, among %d events", span.Name, len(span.Events))
}

// rowOf is the row whose hook has the command, empty if none has.
func (d *Done) rowOf(command string) string {
	_, name, ok := strings.Cut(command, "/hooks/")
	if !ok {
		return ""
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		return name[:i]
	}
	return name
}
