package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
)

// workTurn is a turn of the session that each agent's files are written of. Times are in seconds.
type workTurn struct {
	at           int
	text         string
	hidden, cut  bool // no prompt; interrupted after its last step
	steps        []workStep
	again, split bool // the prompt twice; a prompt in front of the second step
}

// workStep is an answer of the model, and the calls it asks for.
type workStep struct {
	at, in, out int
	id, text    string
	calls       []workCall
	uncounted   bool
}

type workCall struct {
	at, done        int
	id, name, agent string
	failed          bool
}

const workSession = "01a20018-0000-7000-8000-00000000abcd"

// work is a session with calls of both ends, several requests, and turns of different prompts.
func work() []workTurn {
	call := func(at int, name string, failed bool) workCall {
		return workCall{at: at, done: at + 2, id: fmt.Sprintf("call_00000000000%d", at), name: name, failed: failed}
	}
	step := func(at int, text string, calls ...workCall) workStep {
		return workStep{at: at, in: 1000 + at, out: 100 + at, id: fmt.Sprintf("answer_00000000%d", at), text: text, calls: calls}
	}
	return []workTurn{
		{at: 100, text: "Add a cache to the shop", steps: []workStep{
			step(110, "", call(111, "read", false), call(114, "write", true)), step(120, "", call(121, "write", false)), step(130, "The cache is there."),
		}},
		{at: 200, text: "Now write tests for it", steps: []workStep{step(210, "", call(211, "run", false)), step(220, "They pass.")}},
		{at: 300, text: "Explain the result", steps: []workStep{step(310, "", call(311, "read", false)), step(320, "It is faster.")}},
	}
}

// workChanges are the kinds of change, in the files.
var workChanges = []struct {
	name string
	kind Kind
	what string // what the difference is about; a turn that only one side has shows by its prompt, too
	do   func(w []workTurn) []workTurn
}{
	{"call removed", Extra, "call", func(w []workTurn) []workTurn {
		w[0].steps[0].calls = w[0].steps[0].calls[1:]
		return w
	}},
	{"call doubled", Missing, "call", func(w []workTurn) []workTurn {
		twin := w[0].steps[0].calls[0]
		twin.id += "-again"
		w[0].steps[0].calls = append(w[0].steps[0].calls, twin)
		return w
	}},
	{"call renamed", Name, "call", func(w []workTurn) []workTurn {
		w[0].steps[0].calls[0].name = "another"
		return w
	}},
	{"call moved to another agent", Agent, "call", func(w []workTurn) []workTurn {
		w[0].steps[0].calls[0].agent = "a1"
		return w
	}},
	{"call turned to failed", Status, "call", func(w []workTurn) []workTurn {
		w[0].steps[0].calls[0].failed = true
		return w
	}},
	{"call turned to done", Status, "call", func(w []workTurn) []workTurn {
		w[0].steps[0].calls[1].failed = false
		return w
	}},
	{"request removed", Extra, "request", func(w []workTurn) []workTurn {
		w[0].steps[1].uncounted = true
		return w
	}},
	{"request doubled", Missing, "request", func(w []workTurn) []workTurn {
		twin := w[0].steps[1]
		twin.id, twin.at, twin.calls = twin.id+"-again", twin.at+5, nil
		w[0].steps = slices.Insert(w[0].steps, 2, twin)
		return w
	}},
	{"tokens of a request moved to another", Output, "request", func(w []workTurn) []workTurn {
		w[0].steps[0].out -= 50
		w[0].steps[1].out += 50
		return w
	}},
	{"prompt removed", Extra, "prompt", func(w []workTurn) []workTurn {
		w[1].hidden = true
		return w
	}},
	{"prompt doubled", Missing, "prompt", func(w []workTurn) []workTurn {
		w[1].again = true
		return w
	}},
	{"prompts swapped", Text, "prompt", func(w []workTurn) []workTurn {
		w[0].text, w[1].text = w[1].text, w[0].text
		return w
	}},
	{"turn lost", Extra, "prompt", func(w []workTurn) []workTurn { return w[:2] }},
	{"turn cut in two", Missing, "prompt", func(w []workTurn) []workTurn {
		w[0].split = true
		return w
	}},
	{"root invented", Missing, "turn", func(w []workTurn) []workTurn {
		return append(w, workTurn{at: 400, text: "Thank you", steps: []workStep{{at: 410, in: 1410, out: 510, id: "answer_000000410", text: "With pleasure."}}})
	}},
	{"outcome turned", Outcome, "turn", func(w []workTurn) []workTurn {
		w[1].cut = true
		w[1].steps[1].text = ""
		return w
	}},
}

// plants reports that an agent's files can have a change of a kind: Pi has no subagents.
func plants(host string, kind Kind) bool { return kind != Agent || host != hook.HostPi }

// asked lists the prompts of a turn, before the step of a number.
func (w *workTurn) asked(step int) (prompts []workTurn) {
	switch {
	case step == 0 && !w.hidden:
		prompts = append(prompts, workTurn{at: w.at, text: w.text})
		if w.again {
			prompts = append(prompts, workTurn{at: w.at + 1, text: w.text})
		}
	case step == 1 && w.split:
		prompts = append(prompts, workTurn{at: w.steps[1].at - 2, text: "Go on"})
	}
	return prompts
}

// row is a row as JSON, with the time of a number of seconds.
type row map[string]any

func stamp(at int) string { return workTime(at).Format("2006-01-02T15:04:05.000Z") }

func workTime(at int) time.Time {
	return time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(at) * time.Second)
}

func when(at int) float64 { return float64(workTime(at).UnixMilli()) }

// rows collects rows of files, and writes them.
type rows map[string][]row

func (r rows) write(t *testing.T, home string) {
	t.Helper()
	for name, all := range r {
		var text strings.Builder
		for _, one := range all {
			b, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(append(b, '\n'))
		}
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// workFiles write the session as each agent does but opencode and its forks.
var workFiles = map[string]func(t *testing.T, home string, w []workTurn){
	"claude-code": claudeWork, "codex": codexWork, "copilot-cli": copilotWork, "gemini-cli": geminiWork, "qwen-code": qwenWork,
	"cline": clineWork, "kimi-code": kimiWork, "pi": piWork,
}

// workOf writes the session as an agent does.
func workOf(host string) func(*testing.T, string, []workTurn) {
	if a := hook.AgentOf(host); a.Plugin != "" {
		return opencodeWork(a.Word)
	}
	return workFiles[host]
}

func claudeWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	var main, sub []row
	add := func(at int, kind string, agent string, message row) {
		r := row{"type": kind, "uuid": fmt.Sprint(kind, at, len(main), len(sub)), "sessionId": workSession, "timestamp": stamp(at), "cwd": "/w", "version": "2.1.240", "message": message}
		if agent != "" {
			r["agentId"], r["isSidechain"] = agent, true
			sub = append(sub, r)
			return
		}
		main = append(main, r)
	}
	for i := range w {
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				add(p.at, "user", "", row{"role": "user", "content": p.text})
			}
			answer := func(agent string, content []row) row {
				m := row{"id": s.id + agent, "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use"}
				if s.text != "" {
					m["stop_reason"] = "end_turn"
				}
				if !s.uncounted && agent == "" {
					m["usage"] = row{"input_tokens": s.in, "output_tokens": s.out}
				}
				return m
			}
			content := []row{{"type": "text", "text": s.text}}
			if s.text == "" {
				content = []row{}
			}
			for _, c := range s.calls {
				use := row{"type": "tool_use", "id": c.id, "name": c.name, "input": row{}}
				if c.agent != "" {
					add(c.at, "assistant", c.agent, answer(c.agent, []row{use}))
					continue
				}
				content = append(content, use)
			}
			if !(w[i].cut && k == len(w[i].steps)-1) || !s.uncounted {
				add(s.at, "assistant", "", answer("", content))
			}
			for _, c := range s.calls {
				add(c.done, "user", c.agent, row{"role": "user", "content": []row{{"type": "tool_result", "tool_use_id": c.id, "is_error": c.failed, "content": map[bool]string{true: "Exit code 1", false: "done"}[c.failed]}}})
			}
		}
		if w[i].cut {
			add(w[i].at+50, "user", "", row{"role": "user", "content": "[Request interrupted by user]"})
		}
	}
	files := rows{".claude/projects/-w/" + workSession + ".jsonl": main}
	if len(sub) > 0 {
		files[".claude/projects/-w/"+workSession+"/subagents/agent-a1.jsonl"] = sub
	}
	files.write(t, home)
}

func codexWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	const agent = "01a20018-0000-7000-8000-0000000000a1"
	main := []row{{"type": "session_meta", "timestamp": stamp(90), "payload": row{"id": workSession, "session_id": workSession, "timestamp": stamp(90), "cwd": "/w", "cli_version": "0.169.0", "source": "exec"}}}
	sub := []row{{"type": "session_meta", "timestamp": stamp(111), "payload": row{
		"id": agent, "session_id": workSession, "parent_thread_id": workSession, "timestamp": stamp(111), "cwd": "/w", "cli_version": "0.169.0",
		"source": row{"subagent": row{"thread_spawn": row{"parent_thread_id": workSession, "depth": 1}}},
	}}}
	add := func(to *[]row, at int, kind string, payload row) {
		*to = append(*to, row{"type": kind, "timestamp": stamp(at), "payload": payload})
	}
	turn := ""
	begin := func(at int) {
		turn = fmt.Sprintf("turn-00000000-%d", at)
		add(&main, at, "event_msg", row{"type": "task_started", "turn_id": turn})
		add(&main, at, "turn_context", row{"turn_id": turn, "model": "m", "cwd": "/w"})
	}
	for i := range w {
		if w[i].hidden {
			begin(w[i].at)
		}
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				begin(p.at)
				add(&main, p.at, "event_msg", row{"type": "item_completed", "turn_id": turn, "item": row{"type": "UserMessage", "id": fmt.Sprintf("prompt-00000-%d", p.at), "content": []row{{"type": "text", "text": p.text}}}})
			}
			for _, c := range s.calls {
				to := &main
				if c.agent != "" {
					to = &sub
				}
				add(to, c.at, "response_item", row{"type": "function_call", "name": c.name, "arguments": "{}", "call_id": c.id})
			}
			if !s.uncounted {
				add(&main, s.at, "token_usage_record", row{"turn_id": turn, "response_id": s.id, "usage": row{"input_tokens": s.in, "output_tokens": s.out, "total_tokens": s.in + s.out}})
			}
			for _, c := range s.calls {
				to := &main
				if c.agent != "" {
					to = &sub
				}
				add(to, c.done, "response_item", row{"type": "function_call_output", "call_id": c.id, "output": fmt.Sprintf("Process exited with code %d\nOutput:\n", map[bool]int{true: 1}[c.failed])})
			}
			if s.text != "" {
				add(&main, s.at+1, "response_item", row{"type": "message", "role": "assistant", "content": []row{{"type": "output_text", "text": s.text}}})
			}
		}
		if w[i].cut {
			add(&main, w[i].at+50, "event_msg", row{"type": "turn_aborted", "turn_id": turn, "reason": "interrupted"})
		} else {
			add(&main, w[i].at+50, "event_msg", row{"type": "task_complete", "turn_id": turn, "last_agent_message": "done"})
		}
	}
	files := rows{".codex/sessions/2026/01/01/rollout-2026-01-01T10-00-00-" + workSession + ".jsonl": main}
	if len(sub) > 1 {
		files[".codex/sessions/2026/01/01/rollout-2026-01-01T10-01-51-"+agent+".jsonl"] = sub
	}
	files.write(t, home)
}

func copilotWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	var all []row
	add := func(at int, kind, agent string, data row) {
		r := row{"type": kind, "id": fmt.Sprint(kind, "-", at, "-", data["toolCallId"]), "timestamp": stamp(at), "data": data}
		if agent != "" {
			r["agentId"] = agent
		}
		all = append(all, r)
	}
	add(90, "session.start", "", row{"sessionId": workSession, "copilotVersion": "1.0.102", "context": row{"cwd": "/w"}})
	for i := range w {
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				add(p.at, "user.message", "", row{"content": p.text, "interactionId": fmt.Sprint("i", p.at)})
			}
			var asks []row
			for _, c := range s.calls {
				if c.agent == "" {
					asks = append(asks, row{"toolCallId": c.id, "name": c.name, "arguments": row{}})
				}
			}
			if !s.uncounted {
				add(s.at, "session.usage_record", "", row{"usage": row{"model": "m", "inputTokens": s.in, "outputTokens": s.out, "cacheReadTokens": 0, "cacheWriteTokens": 0, "apiCallId": s.id}})
			}
			if s.text != "" || len(s.calls) > 0 {
				add(s.at, "assistant.message", "", row{"messageId": s.id, "model": "m", "content": s.text, "toolRequests": asks, "apiCallId": s.id})
			}
			for _, c := range s.calls {
				if c.agent != "" {
					add(c.at, "assistant.message", c.agent, row{"messageId": s.id + c.agent, "model": "m", "content": "", "toolRequests": []row{{"toolCallId": c.id, "name": c.name, "arguments": row{}}}})
				}
				add(c.at, "tool.execution_start", c.agent, row{"toolCallId": c.id, "toolName": c.name, "arguments": row{}})
				add(c.done, "tool.execution_complete", c.agent, row{"toolCallId": c.id, "success": !c.failed})
			}
		}
		if w[i].cut {
			add(w[i].at+50, "abort", "", row{"reason": "user initiated"})
		}
	}
	rows{".copilot/session-state/" + workSession + "/events.jsonl": all}.write(t, home)
}

// piWork writes no calls of subagents, of which Pi has none.
func piWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	all := []row{{"type": "session", "version": 3, "id": workSession, "timestamp": stamp(90), "cwd": "/w"}}
	add := func(at int, role string, message row) {
		message["role"], message["timestamp"] = role, when(at)
		all = append(all, row{"type": "message", "id": fmt.Sprint("row-", at, "-", len(all)), "timestamp": stamp(at), "message": message})
	}
	for i := range w {
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				add(p.at, "user", row{"content": []row{{"type": "text", "text": p.text}}})
			}
			content := []row{}
			if s.text != "" {
				content = append(content, row{"type": "text", "text": s.text})
			}
			for _, c := range s.calls {
				if c.agent == "" {
					content = append(content, row{"type": "toolCall", "id": c.id, "name": c.name, "arguments": row{}})
				}
			}
			m := row{"content": content, "provider": "p", "model": "m", "responseId": s.id, "stopReason": "stop", "durationMs": 0}
			if !s.uncounted {
				m["usage"] = row{"input": s.in, "output": s.out}
			}
			switch {
			case w[i].cut && k == len(w[i].steps)-1:
				m["stopReason"] = "aborted"
			case len(content) > 0 && s.text == "":
				m["stopReason"] = "toolUse"
			}
			add(s.at, "assistant", m)
			for _, c := range s.calls {
				add(c.done, "toolResult", row{"toolCallId": c.id, "toolName": c.name, "content": []row{}, "isError": c.failed, "durationMs": 1000})
			}
		}
	}
	rows{".pi/agent/sessions/--w--/2026-01-01T10-01-30-000Z_" + workSession + ".jsonl": all}.write(t, home)
}

func geminiWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	head := func(kind string) row {
		return row{"sessionId": workSession, "projectHash": "h", "startTime": stamp(90), "lastUpdated": stamp(90), "kind": kind}
	}
	main, sub := []row{head("main")}, []row{head("subagent")}
	for i := range w {
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				main = append(main, row{"id": fmt.Sprintf("prompt-00000-%d", p.at), "timestamp": stamp(p.at), "type": "user", "content": []row{{"text": p.text}}})
			}
			r := row{"id": s.id, "timestamp": stamp(s.at), "type": "gemini", "content": s.text, "model": "m"}
			if !s.uncounted {
				r["tokens"] = row{"input": s.in, "output": s.out, "cached": 0, "thoughts": 0, "tool": 0, "total": s.in + s.out}
			}
			var calls, others []row
			for _, c := range s.calls {
				status, answer := "success", row{"output": "done"}
				if c.failed {
					status, answer = "error", row{"error": "it failed"}
				}
				call := row{"id": c.id, "name": c.name, "args": row{}, "status": status, "timestamp": stamp(c.done), "result": []row{{"functionResponse": row{"id": c.id, "name": c.name, "response": answer}}}}
				if c.agent != "" {
					others = append(others, call)
					continue
				}
				calls = append(calls, call)
			}
			if len(calls) > 0 {
				r["toolCalls"] = calls
			}
			if len(others) > 0 {
				sub = append(sub, row{"id": s.id + "-a1", "timestamp": stamp(s.at), "type": "gemini", "content": "", "model": "m", "toolCalls": others})
			}
			main = append(main, r)
		}
		if w[i].cut {
			main = append(main, row{"id": fmt.Sprint("info", i), "timestamp": stamp(w[i].at + 50), "type": "info", "content": "Request cancelled."})
		}
	}
	files := rows{".gemini/tmp/w/chats/session-2026-01-01T10-00-" + workSession[:8] + ".jsonl": main}
	if len(sub) > 1 {
		files[".gemini/tmp/w/chats/"+workSession+"/a1.jsonl"] = sub
	}
	files.write(t, home)
}

func qwenWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	var main, sub []row
	add := func(at int, kind, agent string, more row) {
		r := row{"uuid": fmt.Sprint(kind, "-", at, "-", len(main), "-", len(sub)), "sessionId": workSession, "timestamp": stamp(at), "type": kind, "cwd": "/w", "version": "0.24.4"}
		for key, v := range more {
			r[key] = v
		}
		if agent != "" {
			r["agentId"], r["isSidechain"] = agent, true
			sub = append(sub, r)
			return
		}
		main = append(main, r)
	}
	for i := range w {
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				add(p.at, "user", "", row{"provenance": "real_user", "message": row{"role": "user", "parts": []row{{"text": p.text}}}})
			}
			if !s.uncounted {
				add(s.at, "system", "", row{"subtype": "ui_telemetry", "systemPayload": row{"uiEvent": row{
					"event.name": "qwen-code.api_response", "event.timestamp": stamp(s.at), "response_id": s.id, "model": "m",
					"input_token_count": s.in, "output_token_count": s.out, "total_token_count": s.in + s.out, "prompt_id": workSession + "########0",
				}}})
			}
			for _, agent := range []string{"", "a1"} {
				parts := []row{}
				if s.text != "" && agent == "" {
					parts = append(parts, row{"text": s.text})
				}
				for _, c := range s.calls {
					if c.agent == agent {
						parts = append(parts, row{"functionCall": row{"id": c.id, "name": c.name, "args": row{}}})
					}
				}
				if len(parts) > 0 {
					add(s.at, "assistant", agent, row{"model": "m", "message": row{"role": "model", "parts": parts}})
				}
				for _, c := range s.calls {
					if c.agent == agent {
						answer, status := row{"output": "done"}, "success"
						if c.failed {
							answer, status = row{"error": "it failed"}, "error"
						}
						add(c.done, "tool_result", agent, row{"message": row{"role": "user", "parts": []row{{"functionResponse": row{"id": c.id, "name": c.name, "response": answer}}}}, "toolCallResult": row{"callId": c.id, "status": status}})
					}
				}
			}
		}
	}
	files := rows{".qwen/projects/-w/chats/" + workSession + ".jsonl": main}
	if len(sub) > 0 {
		files[".qwen/projects/-w/subagents/"+workSession+"/agent-a1.jsonl"] = sub
	}
	files.write(t, home)
}

func kimiWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	const folder = ".kimi-code/sessions/wd_w_000000000001/" + workSession + "/"
	files := rows{folder + "state.json": {{"id": workSession, "cwd": "/w"}}}
	add := func(at int, kind, agent string, more row) {
		r := row{"type": kind, "time": when(at)}
		for key, v := range more {
			r[key] = v
		}
		name := folder + "agents/" + cmp.Or(agent, "main") + "/wire.jsonl"
		files[name] = append(files[name], r)
	}
	event := func(at int, kind, agent string, more row) {
		more["type"] = kind
		add(at, "context.append_loop_event", agent, row{"event": more})
	}
	turns := 0
	prompt := func(at int, kind, text string) {
		add(at, "turn.prompt", "", row{"input": []row{{"type": "text", "text": text}}, "origin": row{"kind": kind}, "promptId": fmt.Sprint("msg_", at), "turnId": turns})
		turns++
	}
	for i := range w {
		if w[i].hidden {
			prompt(w[i].at, "task", "a task has ended")
		}
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				prompt(p.at, "user", p.text)
			}
			end := row{"uuid": s.id, "finishReason": "tool_use"}
			event(s.at, "step.begin", "", row{"uuid": s.id})
			if !s.uncounted {
				usage := row{"inputOther": s.in, "output": s.out, "inputCacheRead": 0, "inputCacheCreation": 0}
				add(s.at, "llm.request", "", row{"kind": "loop", "provider": "p", "model": "m", "modelAlias": "k"})
				add(s.at, "usage.record", "", row{"model": "k", "usage": usage})
				end["usage"] = usage
			}
			if s.text != "" {
				end["finishReason"] = "end_turn"
				event(s.at, "content.part", "", row{"stepUuid": s.id, "part": row{"type": "text", "text": s.text}})
			}
			for _, c := range s.calls {
				if c.agent != "" {
					add(s.at, "subagent.spawned", "", row{"subagentId": c.agent, "subagentName": "coder"})
				}
				event(s.at, "tool.call", c.agent, row{"stepUuid": s.id, "toolCallId": c.id, "name": c.name, "args": row{}})
			}
			for _, c := range s.calls {
				event(c.done, "tool.result", c.agent, row{"toolCallId": c.id, "result": row{"output": "done", "isError": c.failed}})
			}
			event(s.at+6, "step.end", "", end)
		}
		add(w[i].at+50, "turn.ended", "", row{"reason": map[bool]string{true: "cancelled", false: "completed"}[w[i].cut]})
	}
	files.write(t, home)
}

func clineWork(t *testing.T, home string, w []workTurn) {
	t.Helper()
	var main, sub []row
	for i := range w {
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				main = append(main, row{"id": fmt.Sprintf("msg_prompt_%d", p.at), "role": "user", "ts": when(p.at), "content": []row{{"type": "text", "text": `<user_input mode="act">` + p.text + `</user_input>`}}})
			}
			for _, agent := range []string{"", "a1"} {
				var content, results []row
				if s.text != "" && agent == "" {
					content = append(content, row{"type": "text", "text": s.text})
				}
				for _, c := range s.calls {
					if c.agent == agent {
						content = append(content, row{"type": "tool_use", "id": c.id, "name": c.name, "input": row{}})
						results = append(results, row{"type": "tool_result", "tool_use_id": c.id, "name": c.name, "is_error": c.failed, "content": fmt.Sprintf(`{"success":%v}`, !c.failed)})
					}
				}
				answer := row{"id": s.id + agent, "role": "assistant", "ts": when(s.at), "content": content, "modelInfo": row{"id": "m", "provider": "p"}}
				if !s.uncounted && agent == "" {
					answer["metrics"] = row{"inputTokens": s.in, "outputTokens": s.out, "cacheReadTokens": 0, "cacheWriteTokens": 0}
				}
				to := &main
				if agent != "" {
					to = &sub
				}
				if len(content) > 0 || agent == "" && !w[i].cut {
					*to = append(*to, answer)
				}
				if len(results) > 0 {
					*to = append(*to, row{"id": s.id + agent + "-results", "role": "user", "ts": when(s.calls[0].done), "content": results})
				}
			}
		}
	}
	const session = "1795175660887_ibxt7"
	folder := ".cline/data/sessions/" + session + "/"
	files := rows{
		folder + session + ".messages.json": {{"version": 1, "agent": "lead", "sessionId": session, "messages": main}},
		folder + session + ".json":          {{"version": 1, "session_id": session, "source": "cli", "started_at": stamp(90), "status": "completed", "model": "m", "cwd": "/w"}},
	}
	if len(sub) > 0 {
		files[folder+"agent_a1.messages.json"] = []row{{"version": 1, "agent": "a1", "sessionId": session, "messages": sub}}
	}
	files.write(t, home)
}

// opencodeWork writes the session as opencode or a fork does.
func opencodeWork(word string) func(*testing.T, string, []workTurn) {
	return func(t *testing.T, home string, w []workTurn) {
		t.Helper()
		writeDatabase(t, filepath.Join(home, ".local", "share", word, word+".db"), w)
	}
}

func writeDatabase(t *testing.T, path string, w []workTurn) {
	t.Helper()
	var sql strings.Builder
	recorded, err := regular.Read(filepath.Join("..", "..", "transcript", "testdata", "opencode", "interrupt", "opencode.sql"), regular.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(recorded)) {
		if strings.HasPrefix(line, "CREATE TABLE") {
			sql.WriteString(line)
		}
	}
	insert := func(table string, values ...any) {
		var texts []string
		for _, v := range values {
			if r, ok := v.(row); ok {
				b, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				v = string(b)
			}
			if v == "" {
				texts = append(texts, "NULL")
				continue
			}
			texts = append(texts, "'"+strings.ReplaceAll(fmt.Sprint(v), "'", "''")+"'")
		}
		fmt.Fprintf(&sql, "INSERT INTO %s VALUES (%s);\n", table, strings.Join(texts, ", "))
	}
	ms := func(at int) int64 { return workTime(at).UnixMilli() }
	session := func(id, parent string) {
		insert("session (id, parent_id, directory, title, version, project_id, slug, time_created, time_updated)", id, parent, "/w", "work", "1.18.33", "p", "s", ms(90), ms(900))
	}
	session("ses_main", "")
	n, asked := 0, ""
	part := func(message, session string, at int, data row) {
		n++
		insert("part (id, message_id, session_id, time_created, time_updated, data)", fmt.Sprintf("prt_%04d", n), message, session, ms(at), ms(at), data)
	}
	for i := range w {
		for k, s := range w[i].steps {
			for _, p := range w[i].asked(k) {
				id := fmt.Sprintf("msg_%d", p.at)
				asked = id
				insert("message (id, session_id, time_created, time_updated, data)", id, "ses_main", ms(p.at), ms(p.at), row{"role": "user", "time": row{"created": ms(p.at)}})
				part(id, "ses_main", p.at, row{"type": "text", "text": p.text})
			}
			for _, agent := range []string{"", "a1"} {
				var parts []row
				if s.text != "" && agent == "" {
					parts = append(parts, row{"type": "text", "text": s.text})
				}
				for _, c := range s.calls {
					if c.agent != agent {
						continue
					}
					state := row{"status": "completed", "input": row{}, "output": "done", "time": row{"start": ms(c.at), "end": ms(c.done)}}
					if c.failed {
						state["status"], state["error"] = "error", "it failed"
					}
					parts = append(parts, row{"type": "tool", "callID": c.id, "tool": c.name, "state": state})
				}
				if len(parts) == 0 && agent != "" {
					continue
				}
				of, id := "ses_main", "msg_"+s.id
				if agent != "" {
					of, id = "ses_a1", id+"_a1"
					session(of, "ses_main")
				}
				m := row{"role": "assistant", "parentID": asked, "providerID": "p", "modelID": "m", "finish": "tool-calls", "time": row{"created": ms(s.at), "completed": ms(s.at + 1)}, "tokens": row{"input": 0, "output": 0}}
				if s.text != "" {
					m["finish"] = "stop"
				}
				if w[i].cut && k == len(w[i].steps)-1 {
					m["error"] = row{"name": "MessageAbortedError"}
				}
				if !s.uncounted && agent == "" {
					m["tokens"] = row{"input": s.in, "output": s.out, "reasoning": 0, "cache": row{"read": 0, "write": 0}}
				}
				insert("message (id, session_id, time_created, time_updated, data)", id, of, ms(s.at), ms(s.at), m)
				for _, p := range parts {
					part(id, of, s.at, p)
				}
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	opencodetest.Exec(t, path, sql.String())
}

// TestEachChangeInTheFilesIsFound writes one session as each agent does, makes its traces, and
// then plants each kind of change in the files.
func TestEachChangeInTheFilesIsFound(t *testing.T) {
	found, cells := 0, 0
	for _, a := range agents.All() {
		write, home := workOf(a.Host), t.TempDir()
		if write == nil {
			t.Errorf("workFiles has no function for %s that writes work() as it does; plants says what it cannot have", a.Host)
			continue
		}
		write(t, home, work())
		all := read(t, home)
		if len(all) != 1 || len(all[0].spans) != len(work()) {
			t.Errorf("%s: of what workFiles wrote the reader has %d sessions, want one with %d runs", a.Host, len(all), len(work()))
			continue
		}
		r := &all[0]
		for _, d := range r.differences(t, r.spans) {
			t.Errorf("%s: unchanged: %s", a.Host, d)
		}
		for _, c := range workChanges {
			if !plants(a.Host, c.kind) {
				continue
			}
			cells++
			r.home = t.TempDir()
			write(t, r.home, c.do(work()))
			differences := r.differences(t, r.spans)
			fits := func(d Difference) bool { return d.Kind == c.kind && strings.Contains(d.What, c.what) }
			if !slices.ContainsFunc(differences, fits) {
				t.Errorf("%s: %s: found %v, want one of the kind %s of a %s", a.Host, c.name, differences, c.kind, c.what)
				continue
			}
			found++
		}
	}
	t.Logf("%d of %d cells found", found, cells)
}

// TestIDsThatComeAgainAreDifferentCalls has a model that counts the calls of each answer anew: the
// calls of the session, and those after each change, have no difference, and each change is found.
func TestIDsThatComeAgainAreDifferentCalls(t *testing.T) {
	numbered := func(w []workTurn) []workTurn {
		for i := range w {
			for j := range w[i].steps {
				for k := range w[i].steps[j].calls {
					w[i].steps[j].calls[k].id = fmt.Sprint("call_", k)
				}
			}
		}
		return w
	}
	changes := append(slices.Clone(workChanges), workChanges[0])
	changes[len(changes)-1].name, changes[len(changes)-1].do = "later call failed", func(w []workTurn) []workTurn {
		w[2].steps[0].calls[0].failed = true
		return w
	}
	for _, a := range agents.All() {
		write, home := workOf(a.Host), t.TempDir()
		if write == nil {
			continue // TestEachChangeInTheFilesIsFound says so
		}
		write(t, home, numbered(work()))
		before := read(t, home)[0]
		for _, c := range changes {
			if !plants(a.Host, c.kind) {
				continue
			}
			home := t.TempDir()
			w := numbered(c.do(work()))
			write(t, home, w)
			after := read(t, home)[0]
			for _, d := range after.differences(t, after.spans) {
				if strings.Contains(d.What, "call") { // a change can leave half a turn
					t.Errorf("%s: %s: %s", a.Host, c.name, d)
				}
			}
			sums, calls := new(Sums), 0
			sums.Add(after.spans...)
			for _, turn := range w {
				for _, step := range turn.steps {
					calls += len(step.calls)
				}
			}
			if len(sums.calls) != calls {
				t.Errorf("%s: %s: %d calls in the traces, %d in the files", a.Host, c.name, len(sums.calls), calls)
			}
			if len(after.differences(t, before.spans)) == 0 {
				t.Errorf("%s: %s is not found", a.Host, c.name)
			}
		}
		for _, d := range before.differences(t, before.spans) {
			t.Errorf("%s: %s", a.Host, d)
		}
	}
}
