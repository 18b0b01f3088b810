package codex

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// Codex has changed its rows several times. Each age rewrites what an earlier version wrote
// as the rows of 0.160 and later, so that the log knows one form:
//
//	flat      before September 2025: items without payloads and times
//	events    before 0.160: events in place of completed items
//	turns     before 0.99: no begin and no end of a turn
//	counts    before 0.151: running counts of tokens in place of a record of each response
//
// A file may have rows of several versions. Each age gives its rows to the next one.
type ages struct {
	flat   flatRows
	events oldEvents
	turns  oldTurns
	counts oldCounts
}

// newAges returns the ages of a file, whose rows end in take. Copies of other threads' rows
// are left out by inherit, which gives the others to its argument.
func newAges(id func(at time.Time) string, inherit func(r *row, next func(*row)), take func(*row)) *ages {
	a := new(ages)
	a.counts.next = take
	a.turns.id, a.turns.next = id, a.counts.add
	a.events.next = a.turns.add
	a.flat.next = func(r *row) { inherit(r, a.events.add) }
	return a
}

// object is the text of an object whose members are pairs of a name and a JSON value.
func object(members ...string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i+1 < len(members); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(rawjson.Encode(members[i]) + ":" + cmp.Or(members[i+1], "null"))
	}
	b.WriteByte('}')
	return b.String()
}

// newRow makes a row of a payload's members.
func newRow(kind string, at time.Time, members ...string) *row {
	p := rawjson.Members([]byte(object(members...)))
	return &row{kind: kind, at: at, payload: p, what: p.Text("type"), inserted: true}
}

func newEvent(kind string, at time.Time, members ...string) *row {
	return newRow(event, at, append([]string{"type", rawjson.Encode(kind)}, members...)...)
}

// newItem makes a row of a completed item.
func newItem(at time.Time, kind string, members ...string) *row {
	item := object(append([]string{"type", rawjson.Encode(kind)}, members...)...)
	return newEvent(itemDone, at, "item", item)
}

// said makes a row of what the user typed.
func said(at time.Time, text string) *row {
	return newItem(at, userMessage, "content", "["+object("text", rawjson.Encode(text))+"]")
}
