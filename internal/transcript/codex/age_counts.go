package codex

import (
	"encoding/json"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// oldCounts is the age of running counts of tokens in place of a record of each response,
// before 0.151. A count follows its answer, and often the results of its calls; from 0.34 to
// 0.63 it precedes the answer, and is held back until the answer has come. The same count
// may be written again.
type oldCounts struct {
	next func(*row)
	// total is the newest running total, recorded that the turn has records.
	total    string
	recorded bool
	// held is a count whose answer is to come, nil for none. late reports that the file's
	// counts follow their answers.
	held *row
	late bool
	// came reports that a part of an answer came since the last count, and answered when the
	// last part came that is no thought.
	came     bool
	answered time.Time
}

func (a *oldCounts) add(r *row) {
	p := r.payload
	kind := r.what
	switch {
	case r.kind == "token_usage_record":
		a.close()
		a.recorded, a.came = true, false
	case r.kind == "turn_context":
		a.close()
	case r.kind == "compacted", r.kind == responseItem && kind == "message" && p.Text("role") != "assistant":
		a.asked()
	case r.kind == event && kind == "token_count":
		a.count(p.Members("info"), r.at)
		return
	case r.kind == event && kind == itemDone && p.Members("item").Text("type") == userMessage:
		a.asked()
	case r.kind == event && (kind == taskStarted || kind == "task_complete" || kind == "turn_aborted"):
		// A compaction's count comes before the row from which its turn is known.
		if a.held != nil && !r.at.Before(a.held.at) {
			a.asked()
		}
		if kind == taskStarted {
			a.recorded, a.late = false, a.late || !r.inserted
		}
	case r.kind == responseItem && (kind == "reasoning" || kind == "message" || isCall(kind)):
		if a.late {
			a.close()
		}
		if a.held != nil {
			break
		}
		if a.came = true; kind != "reasoning" {
			a.answered = r.at
		}
	}
	a.next(r)
}

// asked notes that the model was asked for the next answer.
func (a *oldCounts) asked() {
	a.close()
	a.came, a.answered = false, time.Time{}
}

// see notes a total, and reports that it is a new one. Another version may repeat the same
// counts with more members.
func (a *oldCounts) see(info rawjson.Object) (before string, isNew bool) {
	total := added(info.Members("total_token_usage"), nil)
	if before = a.total; info.Get("total_token_usage") == nil || total == before {
		return before, false
	}
	a.total = total
	return before, true
}

func (a *oldCounts) count(info rawjson.Object, at time.Time) {
	before, isNew := a.see(info)
	if !isNew || a.recorded {
		return
	}
	usage := string(info.Get("last_token_usage"))
	if usage == "" {
		usage = added(info.Members("total_token_usage"), rawjson.Members([]byte(before)))
	}
	a.close()
	a.late = a.late || a.came
	if !a.answered.IsZero() {
		at = a.answered
	}
	record := newRow("token_usage_record", at, "usage", usage)
	if a.came {
		a.next(record)
	} else {
		a.held = record
	}
	a.came, a.answered = false, time.Time{}
}

func (a *oldCounts) close() {
	if held := a.held; held != nil {
		a.held = nil
		a.next(held)
	}
}

// added is what a running total has more than the one before.
func added(total, before rawjson.Object) string {
	more := make(map[string]int64)
	for _, name := range []string{"input_tokens", "output_tokens", "reasoning_output_tokens", "cached_input_tokens", "cache_write_input_tokens", "total_tokens"} {
		if n := transcript.TokenCount(total, name) - transcript.TokenCount(before, name); n > 0 {
			more[name] = n
		}
	}
	text, _ := json.Marshal(more) // of numbers, it never fails
	return string(text)
}
