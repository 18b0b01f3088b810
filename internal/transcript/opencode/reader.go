// Package opencode reads the database in which opencode, or a fork, keeps its sessions,
// messages and their parts.
//
// The format is internal to opencode: parts of unknown types are skipped, and of rows over
// 8 MiB the beginning is read. Each message of the model is one request with its tokens and its cost in USD;
// a cost of zero is none, since opencode also writes it for a model without a price. That of
// the steps counts: Kilo adds to a message what the subagents cost that it started.
// opencode counts the tokens of a request when its tool calls have ended, so that a
// request whose calls were interrupted has none. A subagent is a session with a parent.
// A fork begins with copies of another session's messages, with new ids and their old
// times: they are read of the session that began first, and as long as it is there only
// of that one.
//
// The database is opened read-only. A session is read within 30 seconds, 1 GiB and
// 1,000,000 rows, and only from plain tables: more is an error. Older versions kept a JSON
// file for each message, which are read of sessions that are in no database.
//
// Version 2 has other tables, which are read as its source describes them: no program of
// that version was run. What it has taken over from version 1 is read once.
package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Agent reads the database of opencode or a fork.
func Agent(a hook.Agent) transcript.Reader {
	return transcript.Reader{
		Host: a.Host, Read: agent(a).read, Sessions: agent(a).sessions, Parts: parts, AddEvents: addEvents, Timed: true,
	}
}

// parts is the database's log, if it has one with something in it. The older files of a session
// are too many to look at each.
func parts(s transcript.Session) ([]string, error) {
	if filepath.Ext(s.Path) == jsonSuffix {
		return nil, errors.ErrUnsupported
	}
	if log := logOf(s.Path); written(log) {
		return []string{log}, nil
	}
	return nil, nil
}

type agent hook.Agent

func (a agent) sessions(ctx context.Context, f *transcript.Files) (found []transcript.Session, err error) {
	files, places := a.databases(f)
	stored := make(map[string]bool)
	for _, path := range files {
		db, err := open(ctx, path, standard)
		if err != nil {
			continue
		}
		var id, cwd string
		var updated float64
		for _, table := range db.sessionTables() {
			_ = db.each(ctx, // a file that cannot be read has no sessions
				`SELECT id, directory, time_updated FROM `+table+` WHERE parent_id IS NULL`, nil, []any{&id, &cwd, &updated}, func() bool {
					if known := stored[id]; !known && transcript.CheckID("session id", id) == nil {
						found = append(found, transcript.Session{
							ID: id, Dialect: opencode.Dialect, Path: path, Cwd: cwd, ModTime: transcript.Millis(updated).Time(),
						})
					}
					stored[id] = true
					return true
				})
		}
		_ = db.Close() // read only
	}
	return append(found, olderSessions(ctx, f, places, stored)...), ctx.Err()
}

func (a agent) read(ctx context.Context, f *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
	files, places := a.databases(f)
	var errs []error
	for _, path := range files {
		db, err := open(ctx, path, standard)
		if errors.Is(err, transcript.ErrNotFound) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t, err := readSession(ctx, f, db, q)
		again := db.changed()
		_ = db.Close() // read only
		if again {     // once: from now on it has a log, or is written as a whole
			if db, err = open(ctx, path, standard); err == nil {
				t, err = readSession(ctx, f, db, q)
				_ = db.Close() // read only
			}
		}
		if t != nil {
			return t, err
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
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
func (d *database) tree(table string) string {
	agent := `''`
	if d.has[table+".agent"] { // not before May 2026
		agent = `coalesce(s.agent, '')`
	}
	return `WITH RECURSIVE tree(id, depth) AS (
	SELECT id, 0 FROM ` + table + ` WHERE id = ?1
	UNION SELECT s.id, t.depth + 1 FROM ` + table + ` s JOIN tree t ON s.parent_id = t.id WHERE t.depth < 100)
SELECT s.id, coalesce(s.parent_id, ''), s.directory, s.version, ` + agent + `, s.time_created, s.time_updated
FROM tree JOIN ` + table + ` s ON s.id = tree.id ORDER BY tree.depth, s.time_created, s.id LIMIT ?2`
}

// readSession reads one session. Without a session of this id it returns nothing.
func readSession(ctx context.Context, f *transcript.Files, db *database, q transcript.Query) (*hook.Transcript, error) {
	path := db.path
	var s session
	var created, updated float64
	var all []session
	for _, table := range db.sessionTables() {
		err := db.each(ctx, db.tree(table), []any{q.Session, maxAgents + 1},
			[]any{&s.id, &s.parent, &s.cwd, &s.version, &s.kind, &created, &updated}, func() bool {
				s.created, s.updated = transcript.Millis(created).Time(), transcript.Millis(updated).Time()
				all = append(all, s)
				return true
			})
		if err != nil {
			return nil, err
		}
		if len(all) > 0 {
			break
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	l := newLog(path, q)
	l.t.Cwd, l.t.HostVersion = all[0].cwd, all[0].version
	var errs []error
	for i, s := range all {
		if i > 0 && !q.Since.IsZero() && s.updated.Before(q.Since) {
			continue
		}
		errs = append(errs, l.session(ctx, f, db, s, i == 0))
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
	t.Requests, t.ToolResults, t.Prompts, t.Agents, t.Ends, t.Compactions = l.Calls, l.Results, l.Prompts, l.Agents, l.Ends, l.Compactions
	slices.SortStableFunc(t.Requests, func(a, b hook.Request) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) })
	t.Unread = append(t.Unread, l.Kinds.Unread()...)
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

// spawn is the newest call of a subagent. at is when the first began to run, before which the
// subagent's session may be made.
type spawn struct {
	call, turn, task string
	at               time.Time
}

// message is one message with its parts, in their order.
type message struct {
	id    string
	row   int // its number among those read, from 1
	data  rawjson.Object
	parts []rawjson.Object
}

// session reads the messages of the session or of a subagent.
func (l *log) session(ctx context.Context, f *transcript.Files, db *database, s session, lead bool) error {
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
	inherited := make(map[string]bool)
	var errs []error
	for _, form := range db.forms() {
		if !db.small(ctx) {
			err := db.each(ctx, form.sizes, args, []any{&count, &size}, func() bool { return true })
			db.left.rows++ // that was none of the session's
			if err == nil && (count > int64(db.left.rows) || size > db.left.bytes) {
				err = db.take(int(count), size)
			}
			if err != nil {
				return err
			}
		}
		fresh := make(map[string]*message)
		err := db.each(ctx, form.messages, args, []any{&id, &updated, &data}, func() bool {
			if byID[id] == nil { // what the version before has is there again
				m := &message{id: id, row: len(list) + 1, data: rawjson.Members([]byte(data))}
				list, byID[id], fresh[id] = append(list, m), m, m
				l.cut(m.data, updated)
			}
			return changed()
		})
		errParts := db.each(ctx, form.parts, args, []any{&id, &updated, &data}, func() bool {
			if m := fresh[id]; m != nil {
				m.parts = append(m.parts, rawjson.Members([]byte(data)))
				l.cut(m.parts[len(m.parts)-1], updated)
			}
			return changed()
		})
		errs = append(errs, err, errParts, form.copies(l, ctx, f, db, &s, list, inherited))
	}
	l.turnAt = func(id string) string { return id }
	if db.has["part"] {
		l.turnAt = func(id string) string { return turnAt(ctx, db, s.id, id) }
	}
	l.addAll(list, &s, lead, inherited)
	return errors.Join(errs...)
}

// cut notes that a row was too long to be read as a whole.
func (l *log) cut(o rawjson.Object, updated float64) {
	if size, ok := rawjson.Int(o.Get("octets")); ok {
		l.t.Unread = append(l.t.Unread, hook.Unread{
			File: l.path, At: transcript.Millis(updated).Time(), Reason: fmt.Sprintf("texts of a row of %d MiB, of which %d are read", size>>20, maxRow>>20),
		})
	}
}

// addAll adds the messages of the session or of a subagent, but for those that it has
// copied from another session.
func (l *log) addAll(list []*message, s *session, lead bool, inherited map[string]bool) {
	agent := &hook.Subagent{}
	if !lead {
		from := l.spawned[s.id]
		*agent = hook.Subagent{
			ID: s.id, Type: s.kind, CallID: from.call, Turn: from.turn, Task: from.task, Start: s.created,
		}
		if from.at.After(s.created) {
			agent.Start = from.at
			for _, m := range list { // opencode can write anew when a call began, as it reports progress
				if at := m.created(); m.data.Text("role") == "assistant" && at.After(s.created) && at.Before(agent.Start) {
					agent.Start = at
				}
			}
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

// created is when the message began.
func (m *message) created() time.Time { return rawjson.Instant(m.data.Members("time").Get("created")) }

// add adds a message of the lead agent, whose agent has no id, or of a subagent.
func (l *log) add(m *message, agent *hook.Subagent) {
	at := func(name string) time.Time { return rawjson.Instant(m.data.Members("time").Get(name)) }
	switch m.data.Text("role") {
	case "user":
		steers := agent.ID == "" && l.steers(m) && !m.continues()
		if steers {
			l.turns[m.id] = l.person
		} else if agent.ID == "" {
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
		case steers:
			l.Prompts = append(l.Prompts, hook.Prompt{At: at("created"), Text: text, Turn: l.person, Queued: true})
		case !injected || l.turns[m.id] == m.id:
			l.Prompts = append(l.Prompts, hook.Prompt{At: at("created"), Text: text, Turn: m.id, Injected: injected})
		}
	case "assistant":
		l.answer(m, agent, at("created"), at("completed"))
	case "idle":
		l.idle(m.data, agent, at("created"))
	case "system": // instructions
	default:
		l.Kinds.Meet(l.path, "messages/"+m.data.Text("role"), at("created"), m.data)
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
