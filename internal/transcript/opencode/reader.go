// Package opencode reads the database in which opencode keeps its sessions, messages and
// their parts.
//
// The format is internal to opencode: rows over 8 MiB and parts of unknown types are
// skipped. Each message of the model is one request with its tokens and its cost in USD;
// a cost of zero is none, since opencode also writes it for a model without a price.
// opencode counts the tokens of a request when its tool calls have ended, so that a
// request whose calls were interrupted has none. A subagent is a session with a parent.
// A fork begins with copies of another session's messages, with new ids and their old
// times: they are read of the session that began first, and as long as it is there only
// of that one.
//
// The database is opened read-only. A session is read within 30 seconds, 1 GiB and
// 1,000,000 rows, and only from plain tables: more is an error. Older versions kept a JSON
// file for each message, which are read of sessions that are in no database.
package opencode

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Agent reads opencode's database.
var Agent = transcript.Reader{
	Host: opencode.Host, Read: read, Sessions: sessions, AddEvents: addEvents, Timed: true,
}

func sessions(ctx context.Context, f *transcript.Files) (found []transcript.Session, err error) {
	files, places := databases(f)
	stored := make(map[string]bool)
	for _, path := range files {
		db, err := open(ctx, path, standard)
		if err != nil {
			continue
		}
		var id, cwd string
		var updated float64
		_ = db.each(ctx, // a file that cannot be read has no sessions
			`SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL`, nil, []any{&id, &cwd, &updated}, func() bool {
				stored[id] = true
				if transcript.CheckID("session id", id) == nil {
					found = append(found, transcript.Session{
						ID: id, Dialect: opencode.Dialect, Path: path, Cwd: cwd, ModTime: transcript.Millis(updated).Time(),
					})
				}
				return true
			})
		_ = db.Close() // read only
	}
	return append(found, olderSessions(ctx, f, places, stored)...), ctx.Err()
}

func read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	files, places := databases(f)
	var errs []error
	for _, path := range files {
		db, err := open(ctx, path, standard)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t, err := readSession(ctx, f, db, q)
		_ = db.Close() // read only
		if t != nil {
			return t, err
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, transcript.ErrNotFound) {
		return nil, err
	}
	return readOlder(ctx, f, places, q)
}

// maxAgents bounds the subagents of one session.
const maxAgents = 1000

// session is a session in the database: the one read, or a subagent's.
type session struct {
	id, parent, cwd, version, kind string
	created, updated               time.Time
}

// tree is the query for a session and its subagents, the session first.
const tree = `WITH RECURSIVE tree(id, depth) AS (
	SELECT id, 0 FROM session WHERE id = ?1
	UNION SELECT s.id, t.depth + 1 FROM session s JOIN tree t ON s.parent_id = t.id WHERE t.depth < 100)
SELECT s.id, coalesce(s.parent_id, ''), s.directory, s.version, coalesce(s.agent, ''), s.time_created, s.time_updated
FROM tree JOIN session s ON s.id = tree.id ORDER BY tree.depth, s.time_created, s.id LIMIT ?2`

// readSession reads one session. Without a session of this id it returns nothing.
func readSession(ctx context.Context, f *transcript.Files, db *database, q transcript.Query) (*hook.Transcript, error) {
	path := db.path
	var s session
	var created, updated float64
	var all []session
	err := db.each(ctx, tree, []any{q.Session, maxAgents + 1},
		[]any{&s.id, &s.parent, &s.cwd, &s.version, &s.kind, &created, &updated}, func() bool {
			s.created, s.updated = transcript.Millis(created).Time(), transcript.Millis(updated).Time()
			all = append(all, s)
			return true
		})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	l := newLog(path, q)
	l.t.Cwd, l.t.HostVersion = all[0].cwd, all[0].version
	var errs []error
	for i, s := range all {
		if i > 0 && !q.Since.IsZero() && s.updated.Before(q.Since) {
			continue
		}
		errs = append(errs, l.session(ctx, db, s, i == 0))
	}
	return l.done(f), errors.Join(errs...)
}

func newLog(path string, q transcript.Query) *log {
	l := &log{
		Log: transcript.NewLog(transcript.MaxText), path: path, query: q,
		t: &hook.Transcript{Session: q.Session, Sources: []string{path}}, spawned: make(map[string]spawn),
	}
	if q.Whole != nil {
		l.Texts.Max = int(transcript.DefaultMaxBytes)
	}
	return l
}

// done returns what was gathered.
func (l *log) done(f *transcript.Files) *hook.Transcript {
	t := l.t
	t.Calls, t.ToolResults, t.Prompts, t.Agents, t.Ends, t.Compactions = l.Calls, l.Results, l.Prompts, l.Agents, l.Ends, l.Compactions
	slices.SortStableFunc(t.Calls, func(a, b hook.LLMCall) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) })
	t.Pending = l.pending && !hook.Elapsed(f.Now(), l.last, transcript.PendingAge)
	return t
}

// log gathers what the database says of one session.
type log struct {
	*transcript.Log
	path  string
	query transcript.Query
	// t is what the session's own row says.
	t *hook.Transcript
	// spawned are the calls that started subagents, by the subagent's session.
	spawned map[string]spawn
	// turns are the turns of the user's messages, turnAt finds that of a message
	// where the message, or what is before it, was not read.
	turns  map[string]string
	turnAt func(id string) string
	// turn is the newest turn, pending reports that a request of it has no tokens. last is
	// the newest change.
	turn    string
	pending bool
	// person is the newest message of the person's.
	person string
	last   time.Time
}

// spawn is the call that started a subagent.
type spawn struct{ call, caller, turn, task string }

// message is one message with its parts, in their order.
type message struct {
	id    string
	row   int // its number among those read, from 1
	data  rawjson.Object
	parts []rawjson.Object
}

const (
	// sizes is what the messages and parts of a session take, which SQLite would sort
	// before it returns the first.
	sizes = `SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM (
	SELECT data FROM message WHERE session_id = ?1 AND time_updated >= ?2 UNION ALL
	SELECT data FROM part WHERE session_id = ?1 AND time_updated >= ?2) WHERE octet_length(data) <= ?3`
	messages = `SELECT id, time_updated, CASE WHEN octet_length(data) <= ?3 THEN data ELSE '' END
FROM message WHERE session_id = ?1 AND time_updated >= ?2 ORDER BY time_created, id`
	parts = `SELECT message_id, time_updated, CASE WHEN octet_length(data) <= ?3 THEN data ELSE '' END
FROM part WHERE session_id = ?1 AND time_updated >= ?2 ORDER BY message_id, id`
)

// session reads the messages of the session or of a subagent.
func (l *log) session(ctx context.Context, db *database, s session, lead bool) error {
	since := int64(0)
	if !l.query.Since.IsZero() {
		since = l.query.Since.UnixMilli()
	}
	args := []any{s.id, since, maxRow}
	var list []*message
	byID := make(map[string]*message)
	var id, data string
	var updated float64
	changed := func() bool {
		if at := transcript.Millis(updated).Time(); at.After(l.last) {
			l.last = at
		}
		return true
	}
	var count, size int64
	err := db.each(ctx, sizes, args, []any{&count, &size}, func() bool { return true })
	if err == nil && (count > int64(db.left.rows) || size > db.left.bytes) {
		err = db.take(int(count), size)
	}
	if err != nil {
		return err
	}
	err = db.each(ctx, messages, args, []any{&id, &updated, &data}, func() bool {
		m := &message{id: id, row: len(list) + 1, data: rawjson.Members([]byte(data))}
		list, byID[id] = append(list, m), m
		return changed()
	})
	errParts := db.each(ctx, parts, args, []any{&id, &updated, &data}, func() bool {
		if m := byID[id]; m != nil {
			m.parts = append(m.parts, rawjson.Members([]byte(data)))
		}
		return changed()
	})
	l.turnAt = func(id string) string { return turnAt(ctx, db, s.id, id) }
	inherited, errCopies := l.copies(ctx, db, &s)
	l.addAll(list, &s, lead, inherited)
	return errors.Join(err, errParts, errCopies)
}

// addAll adds the messages of the session or of a subagent, but for those that it has
// copied from another session.
func (l *log) addAll(list []*message, s *session, lead bool, inherited map[string]bool) {
	agent := &hook.Subagent{}
	if !lead {
		from := l.spawned[s.id]
		*agent = hook.Subagent{
			ID: s.id, Type: s.kind, CallID: from.call, ParentAgent: from.caller, Turn: from.turn, Task: from.task, Start: s.created,
		}
	}
	l.turns = make(map[string]string)
	for _, m := range list {
		if !inherited[m.id] {
			l.add(m, agent)
		}
	}
	if !lead {
		l.Agents = append(l.Agents, *agent)
	}
}

// copied are the messages of a session that are older than itself, each with those of the
// same time and role of sessions that began before it, the earliest first.
const copied = `WITH own AS MATERIALIZED (
	SELECT id, iif(json_valid(data), data ->> '$.time.created', NULL) AS created, iif(json_valid(data), data ->> '$.role', NULL) AS role
	FROM message WHERE session_id = ?1 AND octet_length(data) <= ?3)
SELECT own.id, other.id, other.session_id
FROM own CROSS JOIN message found ON found.time_created = own.created CROSS JOIN session s ON s.id = found.session_id CROSS JOIN message other ON other.id = found.id
WHERE own.created < ?2 AND s.time_created < ?2 AND octet_length(other.data) <= ?3
AND iif(json_valid(other.data), other.data ->> '$.role', NULL) = own.role
ORDER BY own.created, s.time_created, other.id`

// copies returns the messages that a session has copied, by their ids. One whose original
// is gone is not among them.
func (l *log) copies(ctx context.Context, db *database, s *session) (map[string]bool, error) {
	found := make(map[string]bool)
	var id, other, from string
	err := db.each(ctx, copied, []any{s.id, s.created.UnixMilli(), maxRow}, []any{&id, &other, &from}, func() bool {
		if !found[id] {
			found[id] = true
			l.t.Origin, l.t.OriginTurn = from, other
		}
		return true
	})
	if len(found) > 0 {
		l.t.OriginTurn = turnAt(ctx, db, l.t.Origin, l.t.OriginTurn)
	}
	return found, err
}

// created is when the message began.
func (m *message) created() time.Time { return rawjson.Instant(m.data.Members("time").Get("created")) }

// add adds a message of the lead agent, whose agent has no id, or of a subagent.
func (l *log) add(m *message, agent *hook.Subagent) {
	at := func(name string) time.Time { return rawjson.Instant(m.data.Members("time").Get(name)) }
	switch m.data.Text("role") {
	case "user":
		if agent.ID == "" {
			l.begin(m)
			if slices.ContainsFunc(m.parts, func(p rawjson.Object) bool { return p.Text("type") == "compaction" }) {
				l.Compactions = append(l.Compactions, at("created"))
			}
		}
		text, injected := m.words()
		switch text = l.keep(text); {
		case text == "":
		case agent.ID != "":
			agent.Task = cmp.Or(agent.Task, text)
		case !injected || l.turns[m.id] == m.id:
			l.Prompts = append(l.Prompts, hook.Prompt{At: at("created"), Text: text, Turn: m.id, Injected: injected})
		}
	case "assistant":
		l.answer(m, agent, at("created"), at("completed"))
	}
}

// words are what the person said in a message, or what stands for it: the command, the
// file's name. If there is nothing of the person's, they are what opencode wrote.
func (m *message) words() (text string, injected bool) {
	var said, meant, host string
	for _, p := range m.parts {
		switch kind := p.Text("type"); {
		case p.Is("ignored"):
		case kind == "text" && p.Is("synthetic"):
			host = cmp.Or(host, p.Text("text"))
		case kind == "text":
			said = cmp.Or(said, p.Text("text"))
		case kind == "subtask":
			meant = cmp.Or(meant, p.Text("description", "prompt"))
			if command := p.Text("command"); command != "" {
				meant = "/" + command
			}
		case kind == "file":
			meant = cmp.Or(meant, "["+cmp.Or(p.Text("filename"), p.Text("mime"), "file")+"]")
		case kind == "compaction" && !p.Is("auto"):
			meant = cmp.Or(meant, "/compact")
		}
	}
	said = cmp.Or(said, meant)
	return cmp.Or(said, host), said == ""
}

// begin notes which turn a message of the user's begins or continues.
func (l *log) begin(m *message) {
	switch part := !l.query.Since.IsZero(); {
	case part && (len(m.parts) == 0 || m.continues()):
		l.person = l.turnAt(m.id) // what tells it may be older
	case !m.continues(), l.person == "":
		l.person = m.id
	}
	l.turns[m.id] = l.person
}

// continues reports a message in the user's name without anything of the person's: it
// continues the turn before it. opencode writes such messages when it compacts a session,
// after that, and for the user's own commands.
func (m *message) continues() bool {
	return len(m.parts) > 0 && !slices.ContainsFunc(m.parts, func(p rawjson.Object) bool {
		return !p.Is("synthetic") && !p.Is("ignored") && (p.Text("type") != "compaction" || !p.Is("auto"))
	})
}

// turnAt returns the newest message of the person's up to a message, itself if there is
// none.
func turnAt(ctx context.Context, db *database, session, at string) (turn string) {
	var id, data string
	_ = db.each(ctx, upTo, []any{session, at, maxRow}, []any{&id, &data}, func() bool { // then it begins one
		earlier := &message{id: id}
		parts, _ := rawjson.Elements([]byte(data))
		for _, raw := range parts {
			earlier.parts = append(earlier.parts, rawjson.Members(raw))
		}
		if !earlier.continues() {
			turn = id
		}
		return turn == ""
	})
	return cmp.Or(turn, at)
}

// upTo lists the user's messages up to one, the newest first, with what tells of their
// parts whether they are the person's.
const upTo = `SELECT m.id, (SELECT json_group_array(json_object('type', p.data ->> 'type',
	'synthetic', p.data -> 'synthetic', 'ignored', p.data -> 'ignored', 'auto', p.data -> 'auto'))
	FROM part p WHERE p.message_id = m.id AND length(p.data) <= ?3 AND json_valid(p.data))
FROM message m WHERE m.session_id = ?1 AND iif(json_valid(m.data), m.data ->> 'role', NULL) = 'user'
AND (m.time_created, m.id) <= (SELECT time_created, id FROM message WHERE id = ?2)
ORDER BY m.time_created DESC, m.id DESC`

func (l *log) keep(text string) string {
	text = l.Texts.Keep(text)
	l.Shrink()
	return text
}
