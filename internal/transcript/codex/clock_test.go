package codex

import (
	"testing"

	"github.com/hookspan/hookspan/hook/codex"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// The clock is set back within a task: it stays one.
func TestAClockSetBack(t *testing.T) {
	row := func(kind, payload string) string {
		return `{"timestamp":"%s","type":"` + kind + `","payload":` + payload + `}`
	}
	first := row(sessionMeta, `{"id":"`+oldSession+`"}`)
	prompt := row(event, `{"type":"user_message","message":"go %n"}`)
	work := []string{
		row(responseItem, `{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"a%n"}`), row(responseItem, `{"type":"function_call_output","call_id":"a%n","output":"x"}`),
		row(event, `{"type":"token_count","info":{"total_token_usage":{"input_tokens":%n1},"last_token_usage":{"input_tokens":1}}}`),
		row(responseItem, `{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"b%n"}`), row(responseItem, `{"type":"function_call_output","call_id":"b%n","output":"x"}`),
		row(responseItem, `{"type":"message","role":"assistant","content":[{"text":"done"}]}`),
	}
	begin, end := row(event, `{"type":"task_started","turn_id":"t%n"}`), row(event, `{"type":"task_complete","turn_id":"t%n","last_agent_message":"done"}`)
	for _, turn := range [][]string{append([]string{prompt}, work...), append(append([]string{begin, prompt}, work...), end)} {
		transcripttest.Jumps(t, Agent, codex.Dialect, oldSession, ".codex/"+nameOf(oldSession), first, turn, 1250)
	}
}
