package codex

import (
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
		for _, raw := range elements(p, "content") {
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
