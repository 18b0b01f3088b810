package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

func TestFailureLineIsTheOneWithTheFailure(t *testing.T) {
	for message, want := range map[string]string{
		"": "", "File does not exist.": "File does not exist.",
		"Command failed with exit code 1.\n> test\n1 failing: login rejects an empty password": "1 failing: login rejects an empty password",
		"Exit code 1": "Exit code 1", "Exit code 1\ndone": "Exit code 1", "done": "", "building\nDone in 1.2s.": "building", "All done!\n✓ finished": "",
		"Exit code 1\n  ✓ token (3 ms)\n  ✓ error handling (4 ms)\n  ✗ cart › empty delta (14 ms)\n    Expected: 6\n2 passed, 1 failed": "✗ cart › empty delta (14 ms)",
		"Exit code 1\nok  \tshop/errors\t0.1s\n--- PASS: TestPanic (0.00s)\n--- FAIL: TestLogin (0.00s)\n    login_test.go:12: x\nFAIL": "--- FAIL: TestLogin (0.00s)",
		"ok  \tshop/a\t0.1s\npanic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()":                           "panic: runtime error: index out of range",
		"thread 'main' panicked at src/lib.rs:4:9:\nboom\nnote: run with RUST_BACKTRACE=1":                                              "thread 'main' panicked at src/lib.rs:4:9:",
		"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: bad window":                                     "ValueError: bad window",
		"running 2 tests\ntest parse_error ... ok\ntest lexer ... FAILED\n\n1 passed; 1 failed":                                         "test lexer ... FAILED",
		"tests/test_error.py::test_a PASSED [ 50%]\nE   assert 1 == 2\nFAILED tests/test_error.py::test_b - assert 1 == 2":              "FAILED tests/test_error.py::test_b - assert 1 == 2",
		"src/a.ts(3,1): error TS2304: Cannot find name 'x'.\nFound 1 error.":                                                            "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
		"Reading package lists... Done\nE: Unable to locate package jqq":                                                                "E: Unable to locate package jqq",
		"Exit code 1\n{\n  \"name\": \"shop\"\n}":                                                                                       "\"name\": \"shop\"", "}": "}",
		"Exit code 127\nbash: foo: command not found":                                      "bash: foo: command not found",
		"0 errors\n3 warnings\nstopped by the watcher":                                     "stopped by the watcher",
		"<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>": "String to replace not found in file.",
		"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.": "The user doesn't want to proceed with this tool use",
		"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nonly the validation, please":   "only the validation, please",
	} {
		if got := FailureLine(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

func TestDeniedByNamesWhoAndWhy(t *testing.T) {
	for _, c := range []struct{ kind, message, hook, who, why string }{
		{otelmap.ErrorToolDenied, "exec command rejected by user", "", ByYou, ""},
		{otelmap.ErrorToolDenied, "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. x). STOP what you are doing and wait.", "", ByYou, ""},
		{otelmap.ErrorToolDenied, "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. x). To tell you how to proceed, the user said:\nno hooks", "", ByYou, "no hooks"},
		{otelmap.ErrorToolDenied, "The user rejected permission to use this specific tool call with the following feedback: use the other file", "", ByYou, "use the other file"},
		{otelmap.ErrorToolDenied, "[Operation Cancelled] Reason: User denied execution.", "", ByYou, ""},
		{otelmap.ErrorToolDenied, "no: the token must stay", "", ByYou, "no: the token must stay"},
		{otelmap.ErrorToolDenied, "Permission to use Bash with command rm has been denied.", "", ByRule, "Permission to use Bash with command rm has been denied."},
		{otelmap.ErrorToolDenied, "The user has specified a rule which prevents you from using this specific tool call.", "", ByRule, "The user has specified a rule which prevents you from using this specific tool call."},
		{otelmap.ErrorToolDenied, "PreToolUse:Bash hook error: [guard.sh]: no pushes", "", ByHook, "PreToolUse:Bash hook error: [guard.sh]: no pushes"},
		{otelmap.ErrorToolDenied, "no pushes", "guard.sh", ByHook, "no pushes"},
		{otelmap.ErrorToolCancelled, "[Request interrupted by user for tool use]", "", ByYou, ""},
	} {
		call := &tracepb.Span{
			Status:     &tracepb.Status{Message: c.message},
			Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyErrorType, c.kind)},
		}
		if c.hook != "" {
			call.Attributes = append(call.Attributes, otlp.String(otelmap.KeyHookDeniedBy, c.hook))
		}
		if who, why := DeniedBy(call); who != c.who || why != c.why {
			t.Errorf("%q: %q, %q, want %q, %q", c.message, who, why, c.who, c.why)
		}
	}
}

// Commands that end with a word of success, or a code alone, have not failed for one reason.
func TestFailuresWithoutAReasonAreOfTheirCommands(t *testing.T) {
	s := Sums{By: ByFailure}
	for _, c := range []store.Call{
		{Command: "make deploy", Error: "Exit code 1\ndone"},
		{Command: "npm run build", Error: "done"},
		{Command: "make deploy", Error: "Exit code 2"},
		{Command: "go test", Error: "Exit code 1\n--- FAIL: TestLogin"},
	} {
		c.Tool, c.Status = "Bash", otelmap.EndFailed
		s.Add(&store.Work{Calls: []store.Call{c}})
	}
	got := make(map[string]int)
	for _, g := range s.Groups() {
		got[g.Key] = g.Calls
	}
	want := map[string]int{"Bash: make deploy failed": 2, "Bash: npm run build failed": 1, "Bash: --- FAIL: TestLogin": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReasonNamesTheHookOnce(t *testing.T) {
	call := &store.Call{Status: otelmap.EndDenied, ErrorType: otelmap.ErrorToolDenied, DeniedBy: "/hooks/guard.sh", Error: "denied by /hooks/guard.sh: rm goes through all of /"}
	if got, want := Reason(call), "denied by a hook: /hooks/guard.sh: rm goes through all of /"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHookThatTheAgentReportsIsNamedOnce is about a denial of which the call has no attribute:
// a list of calls and a trace name the hook, and the notes of a list do so once.
func TestHookThatTheAgentReportsIsNamedOnce(t *testing.T) {
	call := &tracepb.Span{
		TraceId: make([]byte, 16), EndTimeUnixNano: 1, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "not on Fridays"},
		Attributes: []*commonpb.KeyValue{str(otelmap.KeyOperation, otelmap.OpExecuteTool), str(otelmap.KeyToolName, "Bash"), str(otelmap.KeyErrorType, otelmap.ErrorToolDenied)},
		Events: []*tracepb.Span_Event{{Name: otelmap.EventHook, Attributes: []*commonpb.KeyValue{
			str(otelmap.KeyHookCommand, "guard.sh"), str(otelmap.KeyHookDecision, "deny"), str(otelmap.KeyHookReason, "not on Fridays"),
		}}},
	}
	stored := store.NewTrace([]*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{call}}}}})
	who, why := DeniedBy(call)
	if who != ByHook || why != "not on Fridays" {
		t.Errorf("a trace says %q, %q", who, why)
	}
	if by := Denier(&store.WorkOf(stored).Calls[0]); by != "a hook: guard.sh" {
		t.Errorf("the calls say %q", by)
	}
	notes := Notes(nil, "", store.HookRunsOf(stored), map[string][]*tracepb.Span{stored.TraceID: {call}})[stored.TraceID]
	if len(notes) != 1 {
		t.Errorf("notes %+v", notes)
	}
}

// TestWhatTheAgentTellsTheModelDeniesNothing is about a call that the user was asked about: its
// exception has the agent's instruction to the model beside hookspan's message.
func TestWhatTheAgentTellsTheModelDeniesNothing(t *testing.T) {
	const asked = "the user was asked, and the tool never ran"
	call := &tracepb.Span{
		TraceId: make([]byte, 16), EndTimeUnixNano: 1, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: asked},
		Attributes: []*commonpb.KeyValue{str(otelmap.KeyOperation, otelmap.OpExecuteTool), str(otelmap.KeyErrorType, otelmap.ErrorToolDenied)},
		Events: []*tracepb.Span_Event{{Name: otelmap.EventException, Attributes: []*commonpb.KeyValue{
			str(otelmap.KeyExceptionMessage, asked+"\nThe user doesn't want to proceed with this tool use. STOP: write the hook first"),
		}}},
	}
	stored := store.NewTrace([]*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{call}}}}})
	who, _ := DeniedBy(call)
	if by := Denier(&store.WorkOf(stored).Calls[0]); by != who || who != ByYou {
		t.Errorf("denied by %q in a trace, by %q in a list of calls", who, by)
	}
}
