package codex

import (
	"fmt"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/transcript"
)

// Results under one id are of several calls if a model numbers its calls anew in each
// reply. What the model wrote is a call's arguments, also if no tool understands it.
func TestResultsWithOneID(t *testing.T) {
	l := newLog(transcript.MaxText)
	at := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	for i, text := range []string{
		`{"type":"function_call","call_id":"call_0","name":"exec_command","arguments":"{\"cmd\":\"make\"}"}`,
		`{"type":"function_call_output","call_id":"call_0","output":"Process exited with code 2\nOutput:\nno rule"}`,
		`{"type":"function_call","call_id":"call_0","name":"exec_command","arguments":"{\"command\":[\"make\"]}"}`,
		`{"type":"function_call_output","call_id":"call_0","output":"failed to parse function arguments: missing field"}`,
		`{"type":"function_call","call_id":"call_0","name":"exec_command","arguments":"{\"cmd\": make"}`,
		`{"type":"function_call_output","call_id":"call_0","output":"failed to parse function arguments: expected value"}`,
		`{"type":"function_call","call_id":"call_0","name":"exec_command","arguments":"{\"cmd\":\"make\"}"}`,
		`{"type":"function_call_output","call_id":"call_0","output":"Process exited with code 0\nOutput:\nmade"}`,
	} {
		var r row
		if !r.Parse([]byte(fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":%s}`, at.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano), text))) {
			t.Fatalf("row %d is none", i)
		}
		l.add(&r)
	}
	var got []string
	for _, r := range l.Results {
		got = append(got, fmt.Sprint(r.Name, " ", r.Input, " ", r.Status))
	}
	want := []string{
		`Bash {"command":"make"} 1`, `Bash {"command":["make"]} 1`, `Bash "{\"cmd\": make" 1`, `Bash {"command":"make"} 0`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("results %q, want %q", got, want)
	}
}
