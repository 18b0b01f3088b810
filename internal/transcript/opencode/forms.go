package opencode

import (
	"context"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// form is how a version of opencode keeps messages and their parts. The queries return both in
// the form of version 1. Their arguments are the session, the time since which a row has
// changed, and maxRow.
type form struct {
	// sizes is what the messages and parts of a session take, which SQLite would sort
	// before it returns the first.
	sizes, messages, parts string
	// copies notes the messages that a session has copied from another one.
	copies func(l *log, ctx context.Context, f *transcript.Files, db *database, s *session, list []*message, inherited map[string]bool) error
}

// sessionTables are the tables of sessions, the newer version's first: it has taken over those
// of the other.
func (d *database) sessionTables() (tables []string) {
	for _, table := range [...]string{"session_v2", "session"} {
		if d.has[table] {
			tables = append(tables, table)
		}
	}
	return tables
}

// forms are those of the tables that are there. An upgraded database has both: version 2
// keeps the ids of messages that it takes over, and leaves out some of their parts.
func (d *database) forms() (forms []*form) {
	if d.has["message"] && d.has["part"] {
		forms = append(forms, &first)
	}
	if d.has["session_v2"] && d.has["session_message"] {
		forms = append(forms, &second)
	}
	return forms
}

// A row that is too long is read without what makes it so.
const (
	shortMessage = `CASE WHEN octet_length(data) <= ?3 THEN data WHEN octet_length(data) > 8 * ?3 OR NOT json_valid(data) THEN json_object('octets', octet_length(data))
ELSE json_object('octets', octet_length(data), 'role', data -> 'role', 'parentID', data -> 'parentID', 'providerID', data -> 'providerID', 'modelID', data -> 'modelID',
	'finish', data -> 'finish', 'cost', data -> 'cost', 'tokens', data -> 'tokens', 'time', data -> 'time', 'error', data -> 'error') END`
	shortPart = `CASE WHEN octet_length(data) <= ?3 THEN data WHEN octet_length(data) > 8 * ?3 OR NOT json_valid(data) THEN json_object('octets', octet_length(data))
ELSE json_object('octets', octet_length(data), 'type', data -> 'type', 'synthetic', data -> 'synthetic', 'ignored', data -> 'ignored', 'auto', data -> 'auto', 'time', data -> 'time',
	'text', substr(data ->> 'text', 1, 65536), 'callID', data -> 'callID', 'tool', data -> 'tool', 'state', json_object(
		'status', data -> '$.state.status', 'time', data -> '$.state.time', 'output', substr(data ->> '$.state.output', 1, 65536), 'error', substr(data ->> '$.state.error', 1, 65536),
		'metadata', json_object('sessionId', data -> '$.state.metadata.sessionId', 'exit', data -> '$.state.metadata.exit'),
		'input', iif(octet_length(data -> '$.state.input') <= 65536, data -> '$.state.input', json_object(
			'command', substr(data ->> '$.state.input.command', 1, 4096), 'filePath', data -> '$.state.input.filePath', 'prompt', substr(data ->> '$.state.input.prompt', 1, 4096))))) END`
)

// partsSince are the parts that have changed since a time, and of a message that has the ends of its
// steps: what they cost can be known before Kilo adds to the message's cost that of subagents.
const partsSince = ` FROM part WHERE session_id = ?1 AND (time_updated >= ?2 OR
	message_id IN (SELECT id FROM message WHERE session_id = ?1 AND time_updated >= ?2) AND iif(json_valid(data), data ->> 'type', '') = 'step-finish')`

var first = form{
	sizes: `SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM (
	SELECT data FROM message WHERE session_id = ?1 AND time_updated >= ?2 UNION ALL
	SELECT data` + partsSince + `) WHERE octet_length(data) <= ?3`,
	messages: `SELECT id, time_updated, ` + shortMessage + ` FROM message WHERE session_id = ?1 AND time_updated >= ?2 ORDER BY time_created, id`,
	parts:    `SELECT message_id, time_updated, ` + shortPart + partsSince + ` ORDER BY message_id, id`,
	copies:   (*log).copies,
}

// rows are those of version 2 that are read, all of a session.
const rows = ` FROM session_message m WHERE session_id = ?1 AND ?2 >= 0 AND octet_length(data) <= 8 * ?3 AND json_valid(data) AND type IN `

var second = form{
	sizes: `SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM session_message WHERE session_id = ?1 AND ?2 >= 0 AND octet_length(data) <= 8 * ?3`,
	messages: `SELECT id, time_updated, json FROM (
SELECT seq, id, time_updated, json_object('role', CASE type WHEN 'shell' THEN 'assistant' WHEN 'synthetic' THEN 'user' WHEN 'compaction' THEN 'user' ELSE type END, 'seq', seq,
	'octets', iif(octet_length(data) > ?3, octet_length(data), NULL),
	'providerID', data -> '$.model.providerID', 'modelID', data -> '$.model.id', 'finish', data -> 'finish', 'cost', data -> 'cost', 'tokens', data -> 'tokens', 'time', data -> 'time', 'outcome', data -> 'outcome',
	'error', iif(data -> 'error' IS NULL, NULL, json_object(
		'name', iif(data ->> '$.error.type' IN ('aborted', 'interrupted'), 'MessageAbortedError', data ->> '$.error.type'), 'data', json_object('message', data -> '$.error.message')))) AS json` +
		rows + `('user', 'synthetic', 'assistant', 'shell', 'compaction', 'idle')
UNION ALL SELECT seq, id || '_summary', time_updated, json_object('role', 'assistant', 'seq', seq, 'providerID', data -> '$.model.providerID', 'modelID', data -> '$.model.id',
	'finish', 'stop', 'cost', data -> 'cost', 'tokens', data -> 'tokens', 'time', json_object('created', data -> '$.time.created', 'completed', time_updated))` +
		rows + `('compaction') AND data -> 'tokens' IS NOT NULL) ORDER BY seq, id`,
	parts: `SELECT id, time_updated, json FROM (
SELECT seq, 0 AS n, id, time_updated, json_object('type', 'text', 'text', substr(data ->> 'text', 1, ?3), 'synthetic', json(iif(type = 'user', 'false', 'true'))) AS json` + rows + `('user', 'synthetic')
UNION ALL SELECT seq, 1, id, time_updated, json_object('type', 'compaction', 'auto', json(iif(data ->> 'reason' = 'auto', 'true', 'false')))` + rows + `('compaction')
UNION ALL SELECT seq, 1, id, time_updated, json_object('type', 'tool', 'callID', coalesce(data -> 'shellID', data -> 'callID', '"' || id || '"'), 'tool', 'bash', 'state', json_object(
	'status', iif(data -> '$.time.completed' IS NULL, 'running', 'completed'), 'input', json_object('command', data -> 'command'),
	'output', substr(coalesce(data ->> '$.output.text', data ->> 'output'), 1, ?3), 'metadata', json_object('exit', data -> 'exit'),
	'time', json_object('start', data -> '$.time.created', 'end', data -> '$.time.completed')))` + rows + `('shell')
UNION ALL SELECT seq, c.key, m.id, time_updated, CASE c.value ->> 'type' WHEN 'tool' THEN json_object('type', 'tool', 'callID', coalesce(c.value -> 'callID', c.value -> 'id'), 'tool', c.value -> 'name', 'state', json_object(
	'status', c.value -> '$.state.status', 'input', c.value -> '$.state.input',
	'output', (SELECT substr(group_concat(t.value ->> 'text', char(10)), 1, ?3) FROM json_each(c.value, '$.state.content') t), 'error', substr(c.value ->> '$.state.error.message', 1, ?3),
	'metadata', json_object('sessionId', coalesce(c.value -> '$.state.metadata.sessionID', c.value -> '$.state.structured.sessionID'), 'exit', coalesce(c.value -> '$.state.metadata.exit', c.value -> '$.state.structured.exit')),
	'time', json_object('start', c.value -> '$.time.ran', 'end', c.value -> '$.time.completed'))) ELSE c.value END
FROM session_message m, json_each(m.data, '$.content') c WHERE m.session_id = ?1 AND octet_length(m.data) <= 8 * ?3 AND json_valid(m.data) AND m.type = 'assistant') ORDER BY seq, n`,
	copies: (*log).forked,
}

// forked notes the messages of a fork of version 2, which copies another session's under their
// numbers there.
func (l *log) forked(ctx context.Context, _ *transcript.Files, db *database, s *session, _ []*message, inherited map[string]bool) error {
	if !db.has["session_v2.fork_session_id"] {
		return nil
	}
	var id, from, other string
	return db.each(ctx, `SELECT m.id, s.fork_session_id, other.id FROM session_v2 s JOIN session_message m ON m.session_id = s.id
JOIN session_message other ON other.session_id = s.fork_session_id AND other.seq = m.seq
WHERE s.id = ?1 AND substr(m.id, -length('_' || m.seq)) = '_' || m.seq ORDER BY m.seq`, []any{s.id}, []any{&id, &from, &other}, func() bool {
		inherited[id], inherited[id+"_summary"] = true, true
		l.t.Origin = from
		return true
	})
}

// steers reports a message of version 2 that was typed while the model worked: it is of the turn
// that has not ended.
func (l *log) steers(m *message) bool {
	n := len(l.Ends)
	return m.data.Get("seq") != nil && l.person != "" && l.turn == l.person && (n == 0 || l.Ends[n-1].Turn != l.person)
}

// idle ends the turn, or the subagent's work, as version 2 notes it.
func (l *log) idle(o rawjson.Object, agent *hook.Subagent, at time.Time) {
	kind, n := hook.KindRunComplete, len(l.Ends)
	switch o.Text("outcome") {
	case "interrupted":
		kind = hook.KindRunCancel
	case "failed":
		kind = hook.KindRunError
	}
	switch {
	case agent.ID != "":
		if agent.End.IsZero() {
			agent.End = at
		}
	case l.person == "":
	case n == 0 || l.Ends[n-1].Turn != l.person:
		l.Ends, l.pending = append(l.Ends, hook.TurnEnd{Turn: l.person, At: at, Kind: kind}), false
	case l.Ends[n-1].Kind == hook.KindRunComplete:
		l.Ends[n-1].Kind = kind
	}
}
