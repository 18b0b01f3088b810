package backlog

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// event is what one hook was given.
type event struct {
	name    string
	at      time.Time
	payload []byte
}

// writer makes a session's events, one after the other. The payload of the last
// is overwritten by the next.
type writer struct {
	s    Session
	at   time.Time
	next time.Time
	buf  []byte
	// calls counts the tool calls of the session.
	calls int
}

func (w *writer) events() iter.Seq[event] {
	return func(yield func(event) bool) {
		turn := w.classic
		switch w.s.Dialect {
		case SDK:
			turn = w.sdk
		case Claude:
			turn = w.claude
		case Classic:
		}
		w.next = w.at
		for n := range w.s.Turns {
			if !turn(n, yield) {
				return
			}
		}
	}
}

// emit hands on an event whose payload is in the buffer.
func (w *writer) emit(name string, yield func(event) bool) bool {
	e := event{name, w.next, w.buf}
	w.next = w.next.Add(pace)
	return yield(e)
}

const (
	classicHead = `{"clineVersion":"4.0.12","hookName":"%s","timestamp":"%d","taskId":"1795175957341","workspaceRoots":["/home/dev/project"],` +
		`"userId":"5bce98f73f3ed0c837f2729ed9509b38ea66a156db7f653356cb6fe37b366e85","model":{"provider":"anthropic","slug":"claude-sonnet-4-5-20250929"},`
	sdkHead = `{"clineVersion":"","timestamp":"%s","taskId":"conv_1795175976718_1sqz0a8","sessionContext":{"rootSessionId":"1795175975708_abcde"},` +
		`"workspaceRoots":["/home/dev/project"],"workspaceInfo":{"rootPath":"/home/dev/project","hint":"workspace"},"userId":"unknown",` +
		`"agent_id":"agent_1","parent_agent_id":null,"hookName":"%s",`
	claudeHead = `{"session_id":"7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17","prompt_id":"prompt-%d","transcript_path":"/home/dev/.claude/projects/p/none.jsonl",` +
		`"cwd":"/home/dev/project","permission_mode":"default","hook_event_name":"%s",`
)

// classic is a turn of Cline's extension: the task begins or continues, tools run,
// it is complete.
func (w *writer) classic(n int, yield func(event) bool) bool {
	put := func(name, format string, args ...any) bool {
		w.buf = fmt.Appendf(w.buf[:0], classicHead, name, w.next.UnixMilli())
		w.buf = append(fmt.Appendf(w.buf, format, args...), '}')
		return w.emit(name, yield)
	}
	const ids = `"taskId":"1795175957341","ulid":"01K5KBSRCHYLFABCDEFGHJKMNP"`
	ok := n == 0 && put("TaskStart", `"taskStart":{"taskMetadata":{%s,"initialTask":"Fix the login validation bug"}}`, ids) ||
		n > 0 && put("TaskResume", `"taskResume":{"taskMetadata":{%s},"previousState":{"messageCount":"%d"}}`, ids, n)
	ok = ok && put("UserPromptSubmit", `"userPromptSubmit":{"prompt":"Go on with step %d of the plan"}`, n)
	for i := range w.s.calls() {
		if !ok {
			return false
		}
		c := w.call(i)
		ok = put("PreToolUse", `"preToolUse":{"toolName":"%s","parameters":{%s}}`, c.tool, c.input) &&
			put("PostToolUse", `"postToolUse":{"toolName":"%s","parameters":{%s},"result":"%s","success":true,"executionTimeMs":9}`, c.tool, c.input, c.result)
	}
	return ok && put("TaskComplete", `"taskComplete":{"taskMetadata":{%s,"result":"Step %d is done; all 42 tests pass.","command":""}}`, ids, n) &&
		put("Notification", `"notification":{"event":"task_complete","source":"attempt_completion","message":"Step %d is done; all 42 tests pass.",`+
			`"eventVersion":"1","eventId":"01M7WD6M%018d","sourceType":"tool","sourceId":"attempt_completion","severity":"info"}`, n, n)
}

// sdk is a turn of the Cline that is made of its SDK.
func (w *writer) sdk(n int, yield func(event) bool) bool {
	put := func(event, hook, format string, args ...any) bool {
		w.buf = fmt.Appendf(w.buf[:0], sdkHead, w.next.UTC().Format("2006-01-02T15:04:05.000Z"), hook)
		w.buf = append(fmt.Appendf(w.buf, format, args...), '}')
		return w.emit(event, yield)
	}
	ok := put("TaskStart", "agent_start", `"taskStart":{"taskMetadata":{}}`)
	for i := range w.s.calls() {
		if !ok {
			return false
		}
		c := w.call(i)
		head := fmt.Sprintf(`"id":"call_%d","name":"%s","input":{%s}`, w.calls, c.tool, c.input)
		form := fmt.Sprintf(`"toolName":"%s","parameters":{%s}`, c.tool, c.input)
		ok = put("PreToolUse", "tool_call", `"iteration":%d,"tool_call":{%s},"preToolUse":{%s}`, i+1, head, form) &&
			put("PostToolUse", "tool_result", `"iteration":%d,"tool_result":{%s,"output":{"query":"q","result":"%s","success":true},"durationMs":9},`+
				`"postToolUse":{%s,"result":"%s","success":true,"executionTimeMs":9}`, i+1, head, c.result, form, c.result)
	}
	return ok && put("TaskComplete", "agent_end", `"iteration":%d,"turn":{"outputText":"Step %d is done; all 42 tests pass.","status":"completed"},"taskComplete":{"taskMetadata":{}}`, w.s.calls()+1, n)
}

// claude is a turn of Claude Code.
func (w *writer) claude(n int, yield func(event) bool) bool {
	put := func(name, format string, args ...any) bool {
		w.buf = fmt.Appendf(w.buf[:0], claudeHead, n, name)
		w.buf = append(fmt.Appendf(w.buf, format, args...), '}')
		return w.emit(name, yield)
	}
	ok := put("UserPromptSubmit", `"prompt":"Go on with step %d of the plan"`, n)
	for i := range w.s.calls() {
		if !ok {
			return false
		}
		c := w.call(i)
		form := fmt.Sprintf(`"tool_name":"%s","tool_input":{%s},"tool_use_id":"toolu_%012d"`, c.claudeTool, c.input, w.calls)
		ok = put("PreToolUse", `%s`, form) && put("PostToolUse", `%s,"duration_ms":9,"tool_response":{"type":"text","text":"%s"}`, form, c.result)
	}
	return ok && put("Stop", `"stop_hook_active":false,"last_assistant_message":"Step %d is done; all 42 tests pass."`, n)
}

// call is one use of a tool, its texts escaped for JSON.
type call struct{ tool, claudeTool, input, result string }

// call makes the next call: four kinds take turns, and no two are the same.
func (w *writer) call(i int) call {
	w.calls++
	path := "src/part_" + strconv.Itoa(w.calls%977) + "/login_" + strconv.Itoa(i) + ".ts"
	result := path + `: line ` + strconv.Itoa(w.calls) + `\n` + Text
	switch w.calls % 4 {
	case 0:
		return call{"execute_command", "Bash", `"command":"npm test -- ` + path + `","requires_approval":"false"`, result}
	case 1:
		return call{"search_files", "Grep", `"path":"src","regex":"login_` + strconv.Itoa(i) + `","file_pattern":"*.ts"`, result}
	case 2:
		return call{"replace_in_file", "Edit", `"path":"` + path + `","diff":"<<<<<<< SEARCH\n  return true\n=======\n  return Boolean(user && password)\n>>>>>>> REPLACE"`, result}
	}
	return call{"read_file", "Read", `"path":"` + path + `"`, result}
}

// Text is some 600 bytes of what tools answer, escaped for JSON: code, a test's
// report, a commit.
var Text = strings.Join([]string{
	`1 | import { hash } from \"./crypto\"`,
	`2 | export const login = (user?: string, password?: string): boolean => {`,
	`3 |   if (user === undefined || password === undefined) return false`,
	`4 |   const row = table.find((r) => r.name === user)`,
	`5 |   return row !== undefined && row.hash === hash(password, row.salt)`,
	`6 | }`,
	`commit 3f786850e387550fdab836ed7e6dc881de23001b (HEAD -> main, origin/main)`,
	`  PASS  src/login.test.ts (42 tests, 1.204 s)`,
	`  https://github.com/example/project/blob/main/src/login.ts#L12-L40`,
	`Tests: 42 passed, 42 total`,
}, `\n`)
