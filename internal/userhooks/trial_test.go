package userhooks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

func TestEffect(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   hook.Kind
		answer translate.Answer
		want   string
	}{
		{"denied call", hook.KindToolStart, translate.Answer{Reply: hook.Reply{Cancel: true, ErrorMessage: "no\n such"}}, "Cline does not run the tool, stops the task and shows: no such"},
		{"refused prompt", hook.KindPrompt, translate.Answer{Reply: hook.Reply{Cancel: true, ErrorMessage: "no"}}, "Cline does not take the prompt, stops the task and shows: no"},
		{"stopped", hook.KindToolEnd, translate.Answer{Reply: hook.Reply{Cancel: true, ErrorMessage: "no"}}, "Cline stops the task and shows: no"},
		{"softly denied", hook.KindToolStart, translate.Answer{Soft: true, Reply: hook.Reply{OverrideInput: "{}"}}, "Cline makes a call that says the reason and fails, in place of the one that was denied; the task continues."},
		{"other input", hook.KindToolStart, translate.Answer{Reply: hook.Reply{OverrideInput: "{}"}}, "Cline runs the tool with the input that a hook gave."},
		{"a text", hook.KindToolEnd, translate.Answer{Reply: hook.Reply{Context: "lint"}}, "Cline continues and gives the model what the hooks say."},
		{"a text for later", hook.KindRunComplete, translate.Answer{Pending: []string{"lint"}}, "Cline continues; the model does not receive the text yet."},
		{"nothing", hook.KindToolStart, translate.Answer{Reply: hook.Reply{Context: " "}}, "Cline continues as if there were no hook."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &Outcome{Call: &translate.Call{Event: hook.Event{Kind: tt.kind}}, Answer: tt.answer}
			if got := o.Effect(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	denied := translate.Answer{Reply: hook.Reply{Cancel: true, ErrorMessage: "no"}}
	for _, dialect := range []string{sample.Next, sample.SDK} {
		o := &Outcome{Call: &translate.Call{Event: hook.Event{Kind: hook.KindToolStart, Dialect: dialect}}, Answer: denied}
		const want = "Cline does not run the tool, stops the task and does not show the reason, which the trace has: no"
		if got := o.Effect(); got != want {
			t.Errorf("%s: got %q, want %q", dialect, got, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	v := verdict.Verdict{
		Decision: verdict.Deny, Reason: "no", Stop: true, StopReason: "enough",
		UpdatedInput: []byte(`{"a":1}`), Context: []string{"c"}, Feedback: []string{"no", "f"},
		SystemMessages: []string{"hey"}, Errors: []string{"broken"}, Ignored: []string{"x is not known"},
	}
	want := []string{
		"deny: no", "stop the agent: enough", `other input: {"a":1}`, "for the model: c", "for the model: f",
		"for you: hey", "error: broken", "ignored: x is not known",
	}
	if diff := cmp.Diff(want, Verdict(v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"no objection"}, Verdict(verdict.Verdict{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEnding(t *testing.T) {
	command := hookfile.Handler{Type: hookfile.TypeCommand}
	for _, tt := range []struct {
		name string
		run  hookrun.Run
		want string
	}{
		{"exited", hookrun.Run{Handler: command, Duration: 1500 * time.Millisecond, Output: verdict.Output{Exit: 2}}, "exit 2, 1.5 s"},
		{"answered", hookrun.Run{Handler: hookfile.Handler{Type: hookfile.TypeHTTP}, Duration: 3 * time.Millisecond}, "answered in 3 ms"},
		{"not waited for", hookrun.Run{Handler: command, Async: true}, "started and not waited for"},
		{"not started", hookrun.Run{Handler: command, Async: true, Err: "no such"}, "failed: no such"},
		{"too slow", hookrun.Run{Handler: command, Duration: 10 * time.Second, Output: verdict.Output{TimedOut: true}, Err: "x"}, "stopped at its time limit after 10 s: the call continues as if there were no hook"},
	} {
		if got := Ending(&tt.run); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 12 * time.Millisecond: "12 ms", time.Second: "1 s", 1500 * time.Millisecond: "1.5 s", 10 * time.Minute: "600 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
