package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// claudeTurn is a turn of Claude Code with a call and two answers, of 2 and 3 tokens.
func claudeTurn(session string, n int, more string) string {
	row := func(kind, id string, second int, message string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":"%s%d","sessionId":%q,"timestamp":"2026-01-01T00:%02d:%02dZ","cwd":"/w"%s,"message":%s}`+"\n", kind, id, n, session, n, second, more, message)
	}
	answer := func(id, stop, content string, output int) string {
		return fmt.Sprintf(`{"id":"%s%d","role":"assistant","model":"m","stop_reason":%q,"usage":{"input_tokens":1,"output_tokens":%d},"content":[%s]}`, id, n, stop, output, content)
	}
	call := fmt.Sprintf("toolu_00000000%d", n)
	return row("user", "u", 0, fmt.Sprintf(`{"role":"user","content":"prompt %d"}`, n)) +
		row("assistant", "a", 1, answer("m", "tool_use", `{"type":"tool_use","id":"`+call+`","name":"Bash","input":{}}`, 2)) +
		row("user", "v", 2, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+call+`","content":"ok"}]}`) +
		row("assistant", "b", 3, answer("n", "end_turn", `{"type":"text","text":"done"}`, 3))
}

// codexTurn is a turn of Codex with an answer of 10 tokens, of which there are total so far.
func codexTurn(id string, total int, at string) string {
	var b strings.Builder
	for _, row := range []string{
		`"event_msg","payload":{"type":"task_started","turn_id":"` + id + `"`,
		`"turn_context","payload":{"turn_id":"` + id + `","model":"m"`,
		`"event_msg","payload":{"type":"user_message","message":"go on"`,
		`"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]`,
		fmt.Sprintf(`"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"output_tokens":%d},"last_token_usage":{"output_tokens":10}}`, total),
		`"event_msg","payload":{"type":"task_complete","turn_id":"` + id + `","last_agent_message":"done"`,
	} {
		_, _ = fmt.Fprintf(&b, `{"timestamp":%q,"type":%s}}`+"\n", at, row)
	}
	return b.String()
}

func qwenRow(second int, kind, more string) string {
	return fmt.Sprintf(`{"uuid":"q%d","sessionId":"q1","timestamp":"2026-11-10T10:00:%02[1]dZ","type":%q,"cwd":"/w",%s}`+"\n", second, kind, more)
}

func geminiRow(id string, second int, kind, more string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-10T10:00:%02dZ","type":%q,%s}`+"\n", id, second, kind, more)
}

// geminiTurn is a turn of the Gemini CLI with a call and two answers, of 2 and 3 tokens.
func geminiTurn(n int) string {
	call := fmt.Sprintf(`"toolCalls":[{"id":"list-00000000%d","name":"list","args":{},"status":"success","timestamp":"2026-11-10T10:00:%02dZ"}]`, n, 10*n+2)
	return geminiRow(fmt.Sprint("u", n), 10*n, "user", `"content":"go on"`) +
		geminiRow(fmt.Sprint("g", n), 10*n+1, "gemini", `"content":"","model":"m","tokens":{"input":1,"output":2},`+call) +
		geminiRow(fmt.Sprint("h", n), 10*n+3, "gemini", `"content":"done","model":"m","tokens":{"input":1,"output":3}`)
}

func codexMeta(at, id, more string) string {
	return fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":%q,"timestamp":%[1]q,"cwd":"/w","cli_version":"0.120.0","source":"cli"%[3]s}}`+"\n", at, id, more)
}

// codexCommand is a call of Codex and its output.
func codexCommand(at, id, call, output string) string {
	return fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"function_call","call_id":%q,"name":"%s}}`+"\n"+
		`{"timestamp":%[1]q,"type":"response_item","payload":{"type":"function_call_output","call_id":%[2]q,"output":%[4]q}}`+"\n", at, id, call, output)
}

// copilotRows are the rows of a session of Copilot, a second apart.
func copilotRows(rows ...string) string {
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":"e%d","timestamp":"2026-11-10T10:00:%02[1]dZ","type":"%s}`+"\n", i, rows[i])
	}
	return strings.Join(rows, "")
}

// qwenRows are the rows of a session of Qwen Code, a second apart.
func qwenRows(rows ...string) string {
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"uuid":"u%d","sessionId":"0a000034-0000-4000-8000-000000000002","timestamp":"2026-11-10T10:00:%02[1]d.000Z","cwd":"/w",%s}`+"\n", i, rows[i])
	}
	return strings.Join(rows, "")
}

func qwenAnswer(text string, output int) string {
	return fmt.Sprintf(`"type":"assistant","model":"m","message":{"parts":[{"text":%q}]},"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":%d,"totalTokenCount":%d}`, text, output, output+1)
}

// TestBothReadingsFindWhatTheFilesHave holds both against numbers that were counted by hand.
func TestBothReadingsFindWhatTheFilesHave(t *testing.T) {
	const (
		first, fork, last  = "01a20017-0000-7000-8000-000000000000", "01a20018-0000-7000-8000-000000000000", "01a20019-0000-7000-8000-000000000000"
		codex              = ".codex/sessions/2026/11/10/rollout-2026-11-10T10-00-00-"
		p, q               = ".claude/projects/-w/", ".claude/projects/-z/"
		day1, day2, day3   = "2026-11-10T10:00:00.000Z", "2026-11-11T10:00:00.000Z", "2026-11-12T10:00:00.000Z"
		gemini, geminiHead = ".gemini/tmp/w/chats/session-0a000001-", `{"sessionId":"0a000001-1","projectHash":"w","startTime":"2026-11-10T10:00:00Z"}` + "\n"
		later2, later3     = "2026-11-11T10:05:00.000Z", "2026-11-12T10:05:00.000Z"
	)
	copied := func(turns, from string) string {
		return strings.ReplaceAll(turns, `,"message":`, `,"forkedFrom":{"sessionId":"`+from+`"},"message":`)
	}
	two := claudeTurn("s1", 1, "") + claudeTurn("s1", 2, "")
	queued := func(second int) string {
		return fmt.Sprintf(`{"type":"attachment","uuid":"q%d","sessionId":"s1","timestamp":"2026-01-01T00:01:%02[1]dZ","attachment":{"type":"queued_command","commandMode":"prompt","prompt":[{"type":"text","text":"and that"}]}}`+"\n", second)
	}
	side := `,"isSidechain":true,"agentId":"acompact-1"`
	answers := strings.SplitAfter(two, "\n")
	mixed := `"iterations":[{"type":"message"},{"type":"advisor_message","model":"o","output_tokens":40},{"type":"compaction","output_tokens":500},{"type":"advisor_message","model":"h","output_tokens":1000}],`
	history := codexTurn("t1", 10, day1)
	older := func(prompt string, total int, at string) string { // without ids
		rows := strings.SplitAfter(strings.ReplaceAll(codexTurn("t", total, at), "go on", prompt), "\n")
		return strings.Replace(rows[1], `"turn_id":"t",`, "", 1) + strings.Join(rows[2:5], "")
	}
	forked := codexMeta(day2, fork, "") + codexMeta(day2, first, "") + codexTurn("t1", 10, day2) + codexTurn("t2", 20, later2)
	again := codexMeta(day3, last, "") + codexMeta(day3, fork, "") + codexMeta(day3, first, "") + codexTurn("t1", 10, day3) + codexTurn("t2", 20, day3) + codexTurn("t3", 30, later3)
	sub := codexMeta(day1, fork, `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+first+`"}}}`) + codexTurn("t9", 10, day1)
	for name, c := range map[string]struct {
		files map[string]string
		want  found
	}{
		"a copy of Claude Code in another project, under another id": {
			map[string]string{q + "s1.jsonl": two, p + "s2.jsonl": strings.ReplaceAll(two, `"s1"`, `"s2"`) + claudeTurn("s2", 3, "")}, found{2, 3, 3, 15, nil},
		},
		"a fork of Claude Code without the session it was forked from": {
			map[string]string{p + "s2.jsonl": copied(strings.ReplaceAll(two, `"s1"`, `"s2"`), "s1") + claudeTurn("s2", 3, "")}, found{1, 3, 3, 15, nil},
		},
		"a fork of a fork of Claude Code, of which the first is gone": {
			map[string]string{
				p + "s2.jsonl": copied(strings.ReplaceAll(two, `"s1"`, `"s2"`), "s1") + claudeTurn("s2", 3, ""),
				p + "s3.jsonl": copied(strings.ReplaceAll(two, `"s1"`, `"s3"`)+claudeTurn("s3", 3, ""), "s2") + claudeTurn("s3", 4, ""),
			}, found{2, 4, 4, 20, nil},
		},
		"a fork of Claude Code without the session it was forked from, with a copy of its beginning": {
			map[string]string{
				p + "a.jsonl":  copied(strings.ReplaceAll(claudeTurn("s1", 1, ""), `"s1"`, `"s2"`), "s1"),
				p + "s2.jsonl": copied(strings.ReplaceAll(two, `"s1"`, `"s2"`), "s1") + claudeTurn("s2", 3, ""),
			}, found{1, 3, 3, 15, nil},
		},
		"rows of Claude Code with the id of a session that has no file": {
			map[string]string{p + "s2.jsonl": two + claudeTurn("s2", 3, "")}, found{1, 3, 3, 15, nil},
		},
		"answers of Claude Code that are there again, an hour later": {
			map[string]string{p + "s1.jsonl": two + strings.ReplaceAll(answers[1]+answers[3], "T00:", "T01:")}, found{1, 2, 2, 10, nil},
		},
		"a copy of Claude Code with new ids of its rows": {
			map[string]string{p + "s1.jsonl": two, p + "s2.jsonl": strings.NewReplacer(`"s1"`, `"s2"`, `"uuid":"`, `"uuid":"c`).Replace(two) + claudeTurn("s2", 3, "")}, found{2, 3, 3, 15, nil},
		},
		"an answer whose tokens only its copy for a side question has": {
			map[string]string{
				p + "s1.jsonl": strings.Replace(two, `"output_tokens":3`, `"output_tokens":1`, 1),
				p + "s1/subagents/agent-aside_question-1.jsonl": strings.ReplaceAll(claudeTurn("s1", 1, strings.Replace(side, "acompact", "aside_question", 1)), `"uuid":"`, `"uuid":"c`),
			}, found{1, 2, 2, 10, nil},
		},
		"a file that begins within a turn": {
			map[string]string{p + "s1.jsonl": strings.Join(answers[3:], "")}, found{1, 1, 1, 8, nil},
		},
		"a command for the model that was interrupted before an answer": {
			map[string]string{p + "s1.jsonl": claudeTurn("s1", 1, "") + `{"type":"user","uuid":"c1","sessionId":"s1","timestamp":"2026-01-01T00:02:00Z","message":{"role":"user","content":"<command-message>x</command-message>\n<command-name>/x</command-name>"}}
{"type":"user","uuid":"c2","sessionId":"s1","timestamp":"2026-01-01T00:02:00Z","isMeta":true,"message":{"role":"user","content":"Do x"}}
{"type":"user","uuid":"c3","sessionId":"s1","timestamp":"2026-01-01T00:02:01Z","message":{"role":"user","content":"[Request interrupted by user]"}}
`}, found{1, 2, 1, 5, nil},
		},
		"a command that Claude Code carried out, and what it adds to the next one": {
			map[string]string{p + "s1.jsonl": claudeTurn("s1", 1, "") + `{"type":"user","uuid":"c1","sessionId":"s1","timestamp":"2026-01-01T00:02:00Z","message":{"role":"user","content":"<command-name>/help</command-name>\n<command-message>help</command-message>"}}
{"type":"user","uuid":"c2","sessionId":"s1","timestamp":"2026-01-01T00:02:00Z","message":{"role":"user","content":"<local-command-stdout></local-command-stdout>"}}
{"type":"user","uuid":"c3","sessionId":"s1","timestamp":"2026-01-01T00:02:01Z","isMeta":true,"message":{"role":"user","content":"Caveat: these are local commands"}}
`}, found{1, 1, 1, 5, nil},
		},
		"two equal prompts that waited, in blocks": {
			map[string]string{p + "s1.jsonl": claudeTurn("s1", 1, "") + queued(1) + queued(2)}, found{1, 3, 1, 5, nil},
		},
		"a compaction and a side question that are answered at one time": {
			map[string]string{
				p + "s1.jsonl": two,
				p + "s1/subagents/agent-acompact-1.jsonl":       claudeTurn("s1", 1, side) + claudeTurn("s1", 5, side),
				p + "s1/subagents/agent-aside_question-1.jsonl": claudeTurn("s1", 1, side) + strings.NewReplacer("acompact", "aside_question", `"n5"`, `"o5"`, `"m5"`, `"k5"`, "000005", "000006").Replace(claudeTurn("s1", 5, side)),
			}, found{1, 2, 4, 20, nil},
		},
		"a prompt that quotes an interruption": {
			map[string]string{p + "s1.jsonl": strings.Replace(two, "prompt 1", "[Request interrupted by user] is in my log, why?", 1)}, found{1, 2, 2, 10, nil},
		},
		"an image of Claude Code as a prompt": {
			map[string]string{p + "s1.jsonl": strings.Replace(two, `"prompt 1"`, `[{"type":"image","source":{"type":"base64","data":"eA=="}}]`, 1)}, found{1, 2, 2, 10, nil},
		},
		"an image of Codex as a prompt": {
			map[string]string{codex + first + ".jsonl": codexMeta(day1, first, "") + history + strings.Replace(codexTurn("t2", 20, later2), `"message":"go on"`, `"message":"","images":["data:image/png;base64,eA=="]`, 1)}, found{1, 2, 0, 20, nil},
		},
		"running totals of Codex alone": {
			map[string]string{codex + first + ".jsonl": codexMeta(day1, first, "") + strings.ReplaceAll(history+codexTurn("t2", 30, later2), `,"last_token_usage":{"output_tokens":10}`, "")}, found{1, 2, 0, 30, nil},
		},
		"an image of Qwen Code as a prompt": {
			map[string]string{".qwen/projects/-w/chats/q1.jsonl": qwenRow(0, "user", `"message":{"parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}`) + qwenRow(1, "assistant", `"model":"m","message":{"parts":[{"text":"a cat"}]},"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":5,"totalTokenCount":6}`)},
			found{1, 1, 0, 5, nil},
		},
		"a failed request and an image of the Gemini CLI": {
			map[string]string{gemini + "1.jsonl": geminiHead + geminiRow("u1", 1, "user", `"content":"go on"`) + geminiRow("e1", 2, "error", `"content":"[API Error: quota]"`) +
				geminiRow("u2", 3, "user", `"content":[{"inlineData":{"mimeType":"image/png"}}]`) + geminiRow("g2", 4, "gemini", `"content":"a cat","model":"m","tokens":{"input":1,"output":7}`)},
			found{1, 2, 0, 7, nil},
		},
		"a session of the Gemini CLI in the older form, continued in lines": {
			map[string]string{
				gemini + "1.jsonl": geminiHead + geminiTurn(1) + geminiTurn(2),
				gemini + "2.json":  `{"sessionId":"0a000001-1","messages":[` + strings.ReplaceAll(strings.TrimSuffix(geminiTurn(1), "\n"), "\n", ",") + `]}`,
			}, found{1, 2, 2, 10, nil},
		},
		"a session of the Gemini CLI in lines, of which the older form has more": {
			map[string]string{
				gemini + "2.jsonl": geminiHead + geminiTurn(1),
				gemini + "1.json":  `{"sessionId":"0a000001-1","messages":[` + strings.ReplaceAll(strings.TrimSuffix(geminiTurn(1)+geminiTurn(2), "\n"), "\n", ",") + `]}`,
			}, found{1, 2, 2, 10, nil},
		},
		"a turn of the Gemini CLI in which the user steered": {
			map[string]string{gemini + "1.jsonl": geminiHead + strings.Replace(geminiTurn(1), `{"id":"h1"`,
				geminiRow("s1", 12, "user", `"content":[{"functionResponse":{"id":"list-000000001"}},{"text":"User steering update:\n<user_input>\nnot that\n</user_input>\nInternal instruction: re-evaluate"}]`)+`{"id":"h1"`, 1)},
			found{1, 2, 1, 5, nil},
		},
		"calls of the Gemini CLI whose model numbers them anew": {
			map[string]string{gemini + "1.jsonl": geminiHead + strings.NewReplacer("list-000000001", "read_file__call_0", "list-000000002", "read_file__call_0", `"list"`, `"read_file"`).Replace(geminiTurn(1)+
				strings.Replace(geminiTurn(2), "success", "error", 1))},
			found{1, 2, 2, 10, nil},
		},
		"a call of a tool that a subagent of the Gemini CLI does not have": {
			map[string]string{
				gemini + "1.jsonl": geminiHead + geminiTurn(1),
				".gemini/tmp/w/chats/0a000001-1/sub.jsonl": `{"sessionId":"0a000001-1","startTime":"2026-11-10T10:00:11Z","kind":"subagent"}` + "\n" + geminiRow("a", 11, "user", `"content":"look"`) +
					geminiRow("b", 11, "gemini", `"content":"","model":"m","tokens":{"input":1,"output":4},"toolCalls":[{"id":"r","name":"read","status":"success","timestamp":"2026-11-10T10:00:12Z"}]`) +
					geminiRow("c", 12, "user", `"content":[{"functionResponse":{"id":"w","name":"write","response":{"error":"Unauthorized tool call: 'write' is not available to this agent."}}},{"functionResponse":{"id":"r","name":"read","response":{"output":"x"}}}]`),
			}, found{1, 1, 3, 9, nil},
		},
		"a turn that ends with a thought": {
			map[string]string{p + "s1.jsonl": strings.Replace(two, `{"type":"text","text":"done"}`, `{"type":"thinking","thinking":"x"}`, 1)}, found{1, 2, 2, 10, nil},
		},
		"the copy of a conversation that was resumed, for a compaction": {
			map[string]string{
				p + "s1.jsonl": two, p + "s2.jsonl": strings.ReplaceAll(two, `"s1"`, `"s2"`) + claudeTurn("s2", 3, ""),
				p + "s2/subagents/agent-acompact-1.jsonl": strings.ReplaceAll(claudeTurn("s2", 1, side)+claudeTurn("s2", 2, side)+claudeTurn("s2", 3, side), `"uuid":"`, `"uuid":"c`),
			}, found{2, 3, 3, 15, nil},
		},
		"what the editor shows beside a prompt": {
			map[string]string{p + "s1.jsonl": strings.Replace(two, "prompt 1", `<ide_opened_file>x</ide_opened_file>\nprompt 1`, 1)}, found{1, 2, 2, 10, nil},
		},
		"an advisor and a compaction in one answer": {
			map[string]string{p + "s1.jsonl": strings.Replace(two, `"output_tokens":3`, mixed+`"output_tokens":3`, 1)}, found{1, 2, 2, 1550, nil},
		},
		"raw control characters, two rows on a line, and a mark within the file": {
			map[string]string{p + "s1.jsonl": strings.Replace(strings.Replace(two, "done", "one\n\ttwo", 1), "\n{\"type\":\"user\",\"uuid\":\"v1\"", "\ufeff{\"type\":\"user\",\"uuid\":\"v1\"", 1)},
			found{1, 2, 2, 10, nil},
		},
		"a fork of a fork of Codex": {
			map[string]string{codex + first + ".jsonl": codexMeta(day1, first, "") + history, codex + fork + ".jsonl": forked, codex + last + ".jsonl": again}, found{3, 3, 0, 30, nil},
		},
		"a fork of a fork of Codex, of which the first is gone": {
			map[string]string{codex + fork + ".jsonl": forked, codex + last + ".jsonl": again}, found{2, 3, 0, 30, nil},
		},
		"a fork of a fork of Codex, of which the middle is gone": {
			map[string]string{codex + first + ".jsonl": codexMeta(day1, first, "") + history, codex + last + ".jsonl": again}, found{2, 3, 0, 30, nil},
		},
		"a fork of Codex of a version without ids of turns": {
			map[string]string{
				codex + first + ".jsonl": codexMeta(day1, first, "") + older("one", 10, day1) + older("two", 20, "2026-11-10T10:05:00.000Z"),
				codex + fork + ".jsonl":  codexMeta(day2, fork, "") + codexMeta(day2, first, "") + older("one", 10, day2) + older("two", 20, day2) + older("three", 30, later2),
			}, found{2, 3, 0, 30, nil},
		},
		"a fork of Codex without ids of turns, of a session that went on with the same prompt": {
			map[string]string{
				codex + first + ".jsonl": codexMeta(day1, first, "") + older("one", 10, day1) + older("go on", 20, later2),
				codex + fork + ".jsonl":  codexMeta(day2, fork, "") + codexMeta(day2, first, "") + older("one", 10, day2) + older("go on", 20, later2),
			}, found{2, 3, 0, 30, nil},
		},
		"a fork of Codex without ids of turns whose session is gone": {
			map[string]string{codex + fork + ".jsonl": codexMeta(day2, fork, "") + codexMeta(day2, first, "") + older("one", 10, day2) + older("three", 20, later2)}, found{1, 2, 0, 20, nil},
		},
		"a subagent of Codex whose session is gone": {map[string]string{codex + fork + ".jsonl": sub}, found{1, 1, 0, 10, nil}},
		"a shutdown of Copilot for two models, one of which no answer names": {
			map[string]string{".copilot/session-state/0a000034-0000-4000-8000-000000000001/events.jsonl": `{"type":"session.start","timestamp":"2026-11-10T10:00:00Z","id":"e0","data":{"sessionId":"0a000034-0000-4000-8000-000000000001","selectedModel":"m"}}
{"type":"user.message","timestamp":"2026-11-10T10:00:01Z","id":"e1","data":{"content":"go on"}}
{"type":"assistant.message","timestamp":"2026-11-10T10:00:02Z","id":"e2","data":{"messageId":"m1","content":"","toolRequests":[{"toolCallId":"c1","name":"bash"}],"outputTokens":30}}
{"type":"tool.execution_complete","timestamp":"2026-11-10T10:00:03Z","id":"e3","data":{"toolCallId":"c1","success":true,"shellExecution":{"exitCode":1}}}
{"type":"assistant.message","timestamp":"2026-11-10T10:00:04Z","id":"e4","data":{"messageId":"m2","content":"done","toolRequests":[],"outputTokens":10}}
{"type":"session.shutdown","timestamp":"2026-11-10T10:00:05Z","id":"e5","data":{"modelMetrics":{"m":{"usage":{"inputTokens":100,"outputTokens":30}},"o":{"usage":{"inputTokens":50,"outputTokens":12}}}}}
`}, found{1, 1, 1, 42, nil},
		},
		"telemetry of Qwen Code from the second turn on": {
			map[string]string{".qwen/projects/-w/chats/0a000034-0000-4000-8000-000000000002.jsonl": qwenRows(
				`"type":"user","message":{"parts":[{"text":"go"}]}`, qwenAnswer("a", 10), `"type":"user","message":{"parts":[{"text":"on"}]}`,
				`"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","prompt_id":"x########1","response_id":"r","model":"m","input_token_count":1,"output_token_count":30}}`, qwenAnswer("b", 30),
			)}, found{1, 2, 0, 40, nil},
		},
		"a usage record of Codex in the first turn alone": {
			map[string]string{codex + first + ".jsonl": codexMeta(day1, first, "") + strings.Replace(history, `{"timestamp":"`+day1+`","type":"event_msg","payload":{"type":"token_count"`,
				`{"timestamp":"`+day1+`","type":"token_usage_record","payload":{"turn_id":"t1","response_id":"r1","usage":{"output_tokens":10,"total_tokens":10}}}`+"\n"+
					`{"timestamp":"`+day1+`","type":"event_msg","payload":{"type":"token_count"`, 1) + codexTurn("t2", 20, day2)}, found{1, 2, 0, 20, nil},
		},
		"an agent of Codex, without a prompt, that is left": {
			map[string]string{codex + fork + ".jsonl": strings.Join(slices.Delete(strings.SplitAfter(sub, "\n"), 3, 4), "")}, found{1, 0, 0, 10, nil},
		},
		"subagents of Claude Code whose session's file is gone": {
			map[string]string{p + "s1/subagents/agent-a1.jsonl": strings.ReplaceAll(claudeTurn("s1", 1, ""), `"sessionId":`, `"isSidechain":true,"agentId":"a1","sessionId":`)}, found{1, 0, 1, 5, nil},
		},
		"a subagent of Claude Code that called nothing, whose session's file is gone": {
			map[string]string{p + "s1/subagents/agent-a1.jsonl": strings.ReplaceAll(answers[0]+answers[3], `"sessionId":`, `"isSidechain":true,"agentId":"a1","sessionId":`)}, found{1, 0, 0, 3, nil},
		},
		"a search of Codex for tools by the provider": {
			map[string]string{codex + first + ".jsonl": codexMeta(day1, first, "") + strings.Replace(history, `{"timestamp":"`+day1+`","type":"response_item"`,
				`{"timestamp":"`+day1+`","type":"response_item","payload":{"type":"tool_search_call","call_id":null,"status":"completed","execution":"server","arguments":{"query":"q"}}}`+"\n"+
					`{"timestamp":"`+day1+`","type":"response_item","payload":{"type":"tool_search_output","call_id":null,"status":"completed","execution":"server","tools":[]}}`+"\n"+
					`{"timestamp":"`+day1+`","type":"response_item"`, 1)}, found{1, 1, 1, 10, nil},
		},
		"commands of Codex that were left running, of which one is asked for twice": {
			map[string]string{codex + first + ".jsonl": codexMeta(day1, first, "") + strings.Replace(history, `{"timestamp":"`+day1+`","type":"response_item"`,
				codexCommand(day1, "c1", `exec_command","arguments":"{\"cmd\":\"make\"}"`, "Process running with session ID 78")+codexCommand(day1, "c2", `write_stdin","arguments":"{\"session_id\":78}"`, "Process running with session ID 78")+
					codexCommand(day1, "c3", `write_stdin","arguments":"{\"session_id\":78}"`, "Process exited with code 2")+`{"timestamp":"`+day1+`","type":"response_item"`, 1)}, found{1, 1, 3, 10, nil},
		},
		"an answer of Copilot in several messages, in autopilot": {
			map[string]string{".copilot/session-state/c1/events.jsonl": copilotRows(
				`session.start","data":{"sessionId":"c1","context":{"cwd":"/w"}}`, `user.message","data":{"content":"go on","interactionId":"i"}`,
				`assistant.message","data":{"messageId":"m1","apiCallId":"a1","model":"m","content":"a","outputTokens":10,"toolRequests":[]}`,
				`assistant.message","data":{"messageId":"m2","apiCallId":"a1","model":"m","content":"b","outputTokens":20,"toolRequests":[{"toolCallId":"call_000000001","name":"task_complete"}]}`,
				`tool.execution_start","data":{"toolCallId":"call_000000001","toolName":"task_complete"}`, `tool.execution_complete","data":{"toolCallId":"call_000000001","success":true}`, `session.task_complete","data":{"summary":"done"}`,
			)}, found{1, 1, 1, 30, nil},
		},
		"a prompt of Claude Code without an id behind one that has one": {
			map[string]string{p + "s1.jsonl": claudeTurn("s1", 1, `,"promptId":"p1"`) + strings.Replace(claudeTurn("s1", 2, ""), `"uuid":"u2"`, `"uuid":"u2","parentUuid":"b1"`, 1)}, found{1, 2, 2, 10, nil},
		},
		"an image of Cline as the user's feedback": {
			map[string]string{".cline/data/tasks/1769000000000/ui_messages.json": `[{"ts":1769000000000,"type":"say","say":"task","text":"go on"},
{"ts":1769000001000,"type":"say","say":"api_req_started","text":"{\"tokensIn\":1,\"tokensOut\":20}"},{"ts":1769000002000,"type":"say","say":"completion_result","text":"done"},
{"ts":1769000003000,"type":"say","say":"user_feedback","text":"","images":["data:image/png;base64,eA=="]},
{"ts":1769000004000,"type":"say","say":"api_req_started","text":"{\"tokensIn\":1,\"tokensOut\":5}"},{"ts":1769000005000,"type":"say","say":"completion_result","text":"a cat"}]`}, found{1, 2, 0, 25, nil},
		},
		"a task of Cline whose files begin with a mark": {
			map[string]string{".cline/data/tasks/1769000000000/ui_messages.json": "\ufeff" + `[{"ts":1769000000000,"type":"say","say":"text","text":"go on"},
{"ts":1769000001000,"type":"say","say":"api_req_started","text":"{\"tokensIn\":1,\"tokensOut\":20}"},
{"ts":1769000002000,"type":"say","say":"completion_result","text":"done"}]`}, found{1, 1, 0, 20, nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := bothReadings(t, c.files)
			if got.sessions != c.want.sessions || got.prompts != c.want.prompts || got.calls != c.want.calls || got.output != c.want.output || len(got.unread) > 0 {
				t.Errorf("found %+v, want %+v", got, c.want)
			}
		})
	}
}
