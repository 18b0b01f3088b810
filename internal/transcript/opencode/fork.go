package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/hookspan/hookspan/internal/transcript"
)

// copied are the messages of a session that are older than itself.
const copied = `SELECT id, CAST(data ->> '$.time.created' AS TEXT), coalesce(data ->> '$.role', '') FROM message
WHERE session_id = ?1 AND octet_length(data) <= ?3 AND iif(json_valid(data), data ->> '$.time.created' < ?2, 0) ORDER BY data ->> '$.time.created'`

// timed is a message by when it was written, in milliseconds, and the session that has it.
type timed struct {
	id, session string
	begun       float64
}

// byTime are a database's messages by their times.
func byTime(ctx context.Context, f *transcript.Files, path string) map[string][]timed {
	type key struct{ messages string }
	return transcript.Recall(f, key{path}, func(*transcript.Files) map[string][]timed {
		all := make(map[string][]timed)
		db, err := open(ctx, path, standard)
		if err != nil {
			return all // reading the session reports it
		}
		defer func() { _ = db.Close() }() // read only
		var at string
		var m timed
		_ = db.each(ctx, `SELECT m.time_created, m.id, m.session_id, s.time_created FROM message m JOIN session s ON s.id = m.session_id`, nil, []any{&at, &m.id, &m.session, &m.begun}, func() bool {
			all[at] = append(all[at], m)
			return true
		})
		return all
	})
}

// copies notes the messages that a session has copied, each from the session that began first of
// those that have one of its time and role. One whose original is gone is not among them.
func (l *log) copies(ctx context.Context, f *transcript.Files, db *database, s *session, inherited map[string]bool) error {
	type own struct {
		id, at, role string
		from         []timed
	}
	var list []own
	var m own
	err := db.each(ctx, copied, []any{s.id, s.created.UnixMilli(), maxRow}, []any{&m.id, &m.at, &m.role}, func() bool {
		list = append(list, m)
		return true
	})
	if err != nil || len(list) == 0 {
		return err
	}
	all, ids := byTime(ctx, f, db.path), []string{}
	for i := range list {
		for _, other := range all[list[i].at] {
			if other.begun < float64(s.created.UnixMilli()) {
				list[i].from, ids = append(list[i].from, other), append(ids, other.id)
			}
		}
	}
	wanted, _ := json.Marshal(ids) // texts always encode
	roles := make(map[string]string)
	var id, role string
	err = db.each(ctx, `SELECT id, coalesce(iif(json_valid(data), data ->> '$.role', ''), '') FROM message WHERE id IN (SELECT value FROM json_each(?1)) AND octet_length(data) <= ?2`,
		[]any{string(wanted), maxRow}, []any{&id, &role}, func() bool {
			roles[id] = role
			return true
		})
	for _, m := range list {
		from := slices.DeleteFunc(m.from, func(other timed) bool { role, ok := roles[other.id]; return !ok || role != m.role })
		if len(from) == 0 {
			continue
		}
		earliest := slices.MinFunc(from, func(a, b timed) int { return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(a.id, b.id)) })
		inherited[m.id] = true
		l.t.Origin, l.t.OriginTurn = earliest.session, earliest.id
	}
	if l.t.OriginTurn != "" {
		l.t.OriginTurn = turnAt(ctx, db, l.t.Origin, l.t.OriginTurn)
	}
	return err
}
