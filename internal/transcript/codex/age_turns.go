package codex

import (
	"strconv"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// oldTurns is the age of turns that have neither a begin nor an end, before 0.99: each prompt
// begins one, which its last answer completes. So does the final answer of a later version
// that was killed before it recorded the end.
type oldTurns struct {
	next func(*row)
	// id makes the id of a turn that began at a time.
	id func(at time.Time) string
	// lead reports that the file is the session's: a subagent's turns are its session's.
	lead bool
	// numbered reports that the file has the begin and the end of turns.
	numbered bool
	// text is that of the last answer, which came at final if nothing has followed that shows
	// that the turn continues. after is the time of the first row behind it.
	text         string
	final, after time.Time
}

func (a *oldTurns) add(r *row) {
	p := r.payload
	kind := r.what
	switch {
	case r.kind == event && kind == taskStarted:
		a.close()
		a.numbered = true
	case r.kind == event && (kind == "task_complete" || kind == "turn_aborted"):
		a.final = time.Time{}
	case a.numbered, !a.lead:
	case r.kind == event && kind == itemDone && p.Members("item").Text("type") == userMessage:
		a.begin(r.at)
	case r.kind == "compacted" && !a.final.IsZero():
		// The user asked for it when the turn had ended.
		a.begin(a.after)
		a.text, a.final = p.Text("message"), r.at
	}
	if a.after.IsZero() {
		a.after = r.at
	}
	item := r.kind == responseItem
	at := r.at
	a.next(r)
	switch {
	case item && kind == "message" && p.Text("role") == "assistant":
		for _, raw := range contents(p) {
			if text := rawjson.Members(raw).Text("text"); text != "" {
				a.text = text
			}
		}
		if !a.numbered || p.Text("phase") == "final_answer" {
			a.final, a.after = at, time.Time{}
		}
	case item && isCall(kind):
		a.final = time.Time{}
	}
}

func (a *oldTurns) begin(at time.Time) {
	a.close()
	a.next(newEvent(taskStarted, at, "turn_id", rawjson.Encode(a.id(at))))
}

// close ends the turn whose last answer came.
func (a *oldTurns) close() {
	if !a.final.IsZero() {
		a.next(newEvent("task_complete", a.final, "last_agent_message", rawjson.Encode(a.text)))
	}
	a.final, a.after = time.Time{}, time.Time{}
}

// oldEvents is the age of events in place of completed items, before 0.160.
type oldEvents struct{ next func(*row) }

func (a *oldEvents) add(r *row) {
	if r.kind != event {
		a.next(r)
		return
	}
	p, at := r.payload, r.at
	raw := func(name string) string { return string(p.Get(name)) }
	id := raw("call_id")
	switch r.what {
	case "user_message":
		text := p.Text("message")
		if images, _ := p.Elements("images"); text == "" && len(images) > 0 {
			text = image
		}
		r = said(at, text)
	case "collab_agent_spawn_end":
		r = newItem(at, agentActivity, "id", id, "agent_thread_id", raw("new_thread_id"), "kind", `"started"`)
	case "sub_agent_activity":
		at = instant(p, "occurred_at_ms", at)
		r = newItem(at, agentActivity, "id", raw("event_id"), "agent_thread_id", raw("agent_thread_id"), "kind", raw("kind"))
	case "exec_command_end":
		r = newItem(at, "CommandExecution", "id", id, "command", raw("command"), "status", raw("status"), "exit_code", raw("exit_code"),
			"aggregated_output", raw("aggregated_output"))
		r.began(p)
	case "patch_apply_end":
		status := raw("status")
		if ok, said := rawjson.Bool(p.Get("success")); status == "" && said && !ok {
			status = `"failed"`
		}
		r = newItem(at, "FileChange", "id", id, "changes", raw("changes"), "status", status, "stdout", raw("stdout"), "stderr", raw("stderr"))
	case "mcp_tool_call_end":
		what, result := p.Members("invocation"), p.Members("result")
		status, answer := "", result.Get("Ok")
		if answer == nil || rawjson.Members(answer).Is("isError") || rawjson.Members(answer).Is("is_error") {
			status = `"failed"`
		}
		if failure := result.Get("Err"); failure != nil {
			answer = []byte(object("content", "["+object("text", string(failure))+"]"))
		}
		r = newItem(at, "McpToolCall", "id", id, "server", string(what.Get("server")), "tool", string(what.Get("tool")),
			"arguments", string(what.Get("arguments")), "status", status, "result", string(answer))
		r.began(p)
	case "web_search_end":
		r = newItem(at, webSearch, "id", id, "query", raw("query"), "action", raw("action"))
	}
	a.next(r)
}

// began sets when the item of a call began by how long it took.
func (r *row) began(p rawjson.Object) {
	took := p.Members("duration")
	seconds, _ := rawjson.Int(took.Get("secs"))
	nanos, _ := rawjson.Int(took.Get("nanos"))
	if seconds < 0 || seconds > maxSeconds || nanos < 0 || nanos >= int64(time.Second) {
		return
	}
	at := r.at.Add(-time.Duration(seconds)*time.Second - time.Duration(nanos))
	r.payload = append(r.payload, rawjson.Members([]byte(object("started_at_ms", strconv.FormatInt(at.UnixMilli(), 10))))...)
}
