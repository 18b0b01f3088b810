package otelmap

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// A model that numbers its calls anew in each reply makes each call under the id of an
// earlier one. By hooks, which are stored twice here, by the files alone, and where a hook
// reports only some of the calls, the spans and their ids are the same.
func TestCallsWithOneID(t *testing.T) {
	type call struct {
		sec    float64
		name   string
		input  string
		status hook.ToolStatus
		unseen bool // no hook reports it
	}
	made := []call{
		{1, "Bash", `{"command":"make"}`, hook.ToolFailed, false},
		{3, "Nope", `{}`, hook.ToolFailed, true},
		{5, "Bash", `{"command":"make"}`, hook.ToolFailed, false}, // the same again
		{7, "Read", `{"file_path":"a"}`, hook.ToolOK, false},
		{9, "Bash", `{"command":"make"}`, hook.ToolOK, false},
	}
	tr := &hook.Transcript{}
	var hooks, files []hook.Event
	add := func(list *[]hook.Event, e hook.Event, body uint64) {
		e.Hash = body
		*list = append(*list, e)
	}
	start := turnPrompt(0, "p1")
	hooks, files = append(hooks, start), append(files, start)
	for i, c := range made {
		for _, kind := range []hook.Kind{hook.KindToolStart, hook.KindToolEnd} {
			e := turnTool(c.sec, kind, "p1", c.name, "call_0")
			e.Tool.Input, e.Tool.Output = c.input, ""
			if kind == hook.KindToolEnd {
				e.StoredAt = e.StoredAt.Add(500 * time.Millisecond)
				e.Tool.Status, e.Tool.Output = c.status, fmt.Sprint("told ", i)
				if c.status == hook.ToolFailed {
					e.Tool.Error = e.Tool.Output
				}
			}
			add(&files, e, uint64(len(files)))
			if c.unseen {
				continue
			}
			body := hook.Hash([]byte(fmt.Sprint(kind, e.Tool)))
			if kind == hook.KindToolStart {
				body = hook.Hash([]byte(c.name + c.input))
			}
			e.Key, e.KeyWithin = fmt.Sprint(kind, "/call_0/", body), time.Second
			add(&hooks, e, body)
			e.StoredAt = e.StoredAt.Add(300 * time.Millisecond)
			add(&hooks, e, body) // a second file has the hook, too
		}
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{
			ID: "call_0", Turn: "p1", Name: c.name, Input: c.input, Text: fmt.Sprint("told ", i), Status: c.status,
			Asked: ev(c.sec, 0).Time, At: ev(c.sec+0.5, 0).Time,
		})
	}
	stop := turnStop(11, "p1")
	hooks, files = append(hooks, stop), append(files, stop)
	spans := func(events []hook.Event) (out []string) {
		b := buildTurns(Carry{}, logged(events...))
		runs := b.Runs(far)
		if len(runs) != 1 {
			t.Fatalf("%d runs, want 1", len(runs))
		}
		for _, s := range spansOf(b, runs[0], tr)[1:] {
			out = append(out, fmt.Sprintf("%s %s %s %q", otlp.SpanID(s), s.Name, value(s, KeyToolArguments), s.Status.GetMessage()))
		}
		return out
	}
	want := spans(files)
	if len(want) != len(made) {
		t.Fatalf("%d calls by the files, want %d: %q", len(want), len(made), want)
	}
	if diff := cmp.Diff(want, spans(hooks)); diff != "" {
		t.Errorf("calls (-by the files +by hooks):\n%s", diff)
	}
}
