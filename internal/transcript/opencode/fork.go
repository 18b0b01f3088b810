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

// byTime are a database's messages by their times, those of sessions that began earlier first.
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
		for _, list := range all {
			slices.SortFunc(list, func(a, b timed) int { return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(a.id, b.id)) })
		}
		return all
	})
}

// copies notes the messages that a session has copied, each from the session that began first of
// those that have one of its time and role. One whose original is gone is not among them. messages
// are those that were read, all of them unless since a time.
func (l *log) copies(ctx context.Context, f *transcript.Files, db *database, s *session, messages []*message, inherited map[string]bool) error {
	if l.query.Since.IsZero() && !slices.ContainsFunc(messages, func(m *message) bool { return m.created().Before(s.created) }) {
		return nil
	}
	type own struct {
		id, at, role string
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
	all := byTime(ctx, f, db.path)
	earliest := make([]*timed, len(list))
	for round, left := 0, true; left && err == nil; round++ { // mostly the first one is it
		candidate := func(i int) *timed {
			if from := all[list[i].at]; earliest[i] == nil && round < len(from) && from[round].begun < float64(s.created.UnixMilli()) {
				return &from[round]
			}
			return nil
		}
		var ids []string
		for i := range list {
			if c := candidate(i); c != nil {
				ids = append(ids, c.id)
			}
		}
		wanted, _ := json.Marshal(ids) // texts always encode
		roles := make(map[string]string)
		var id, role string
		err = db.each(ctx, `SELECT id, coalesce(iif(json_valid(data), data ->> '$.role', ''), '') FROM message WHERE id IN (SELECT value FROM json_each(?1)) AND octet_length(data) <= ?2`,
			[]any{string(wanted), maxRow}, []any{&id, &role}, func() bool {
				roles[id] = " " + role
				return true
			})
		left = len(ids) > 0
		for i, m := range list {
			if c := candidate(i); c != nil && roles[c.id] == " "+m.role {
				earliest[i] = c
			}
		}
	}
	for i, m := range list {
		if from := earliest[i]; from != nil {
			inherited[m.id] = true
			l.t.Origin, l.t.OriginTurn = from.session, from.id
		}
	}
	if l.t.OriginTurn != "" {
		l.t.OriginTurn = turnAt(ctx, db, l.t.Origin, l.t.OriginTurn)
	}
	return err
}
