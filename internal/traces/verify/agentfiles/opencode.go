package agentfiles

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hookspan/hookspan/internal/files/regular"
)

type opencodeMessage struct {
	ID, Role, ModelID, Finish, Text string
	Cost                            *float64
	Error                           *struct{ Name string }
	Time                            struct{ Created, Completed float64 }
	Tokens                          struct {
		Input, Output, Reasoning float64
		Cache                    struct{ Read, Write float64 }
	}
	// Model is in the messages of opencode 2.
	Model struct{ ID string }
}

type opencodePart struct {
	Type, Text, CallID, Tool string
	Synthetic, Ignored       bool
	Cost                     float64
	State                    struct {
		Status   string
		Error    ends
		Input    struct{ Tool string }
		Metadata struct{ Exit float64 }
	}
}

// opencodeFile is what is known of the sessions while they are read.
type opencodeFile struct {
	*file
	parents map[string]string
	created map[string]float64
	// users and subs are the messages of users and of subagents, turns are those of the messages,
	// current is the session whose turn is under way.
	users, subs map[string]bool
	turns       map[string]*Turn
	current     string
	// first are the ids of the messages of a database by what their copies in forks have of them.
	first map[string]string
	// steps are the costs of messages by their steps, to which Kilo adds nothing.
	steps map[string]float64
}

// readOpencode reads a database, or a session of an older version, whose messages are files.
func readOpencode(ctx context.Context, r *file) error {
	c := &opencodeFile{file: r, parents: make(map[string]string), created: make(map[string]float64), users: make(map[string]bool), subs: make(map[string]bool), turns: make(map[string]*Turn), steps: make(map[string]float64)}
	if !strings.HasSuffix(r.path, ".db") {
		return c.older()
	}
	options := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "trusted_schema(0)", "busy_timeout(2000)"}}
	if !is(logOf(r.path), false) {
		options.Set("immutable", "1")
	}
	place := "/" + strings.TrimPrefix(filepath.ToSlash(r.path), "/")
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: place, RawQuery: options.Encode()}).String())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // read only
	tables := make(map[string]bool)
	c.first = make(map[string]string)
	err = each(ctx, db, `SELECT name, '', '', '', 0 FROM sqlite_master`, func(name, _, _, _ string, _ float64) { tables[name] = true })
	if err != nil {
		return err
	}
	sessions := "session"
	if !tables[sessions] && tables["session_v2"] {
		sessions = "session_v2"
	}
	session := func(id, parent, _, _ string, at float64) { c.parents[id], c.created[id] = parent, at }
	for _, t := range []struct {
		table, query string
		visit        func(session, id, kind, data string, at float64)
	}{
		{"session_v2", `SELECT id, coalesce(parent_id, ''), '', '', time_created FROM session_v2`, session},
		{"session", `SELECT id, coalesce(parent_id, ''), '', '', time_created FROM session`, session},
		{"message", `SELECT session_id, m.id, '', data, m.time_created FROM message m LEFT JOIN ` + sessions + ` s ON s.id = session_id
			ORDER BY s.time_created, session_id, m.time_created, m.id`, c.message},
		{"part", `SELECT session_id, message_id, '', data, time_created FROM part ORDER BY message_id, id`, c.part},
		{"session_message", `SELECT session_id, id, type, data, time_created FROM session_message ORDER BY session_id, seq`, c.message},
	} {
		if !tables[t.table] && (t.table != "message" && t.table != "session" || tables["session_v2"]) {
			continue
		}
		if err := each(ctx, db, t.query, t.visit); err != nil {
			return err
		}
	}
	return nil
}

// logOf is the log that a database has beside it, not beside a link that leads to it.
func logOf(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return path + "-wal"
}

// older reads a session's file of an older version, and the files of its messages.
func (c *opencodeFile) older() error {
	storage, below, found := strings.Cut(filepath.ToSlash(c.path), "/storage/session/")
	if !found || strings.HasPrefix(below, "message/") || strings.HasPrefix(below, "part/") {
		return nil
	}
	var s struct {
		ID, ParentID string
		Time         struct{ Created float64 }
	}
	text, err := regular.Read(c.path, regular.Options{})
	if err != nil || !c.parse(append(text, ' '), &s) || s.ID == "" {
		c.skip(0, "it is no session", false)
		return nil
	}
	c.parents[s.ID], c.created[s.ID] = s.ParentID, s.Time.Created
	each := func(folder, id string, take func(id, text string)) {
		paths, _ := filepath.Glob(filepath.Join(storage, "storage", folder, id, "*.json")) // the pattern is good
		for _, path := range paths {
			text, failed := regular.Read(path, regular.Options{})
			err = errors.Join(err, failed)
			if failed == nil {
				take(strings.TrimSuffix(filepath.Base(path), ".json"), string(text))
			}
		}
	}
	each("message", s.ID, func(id, text string) {
		c.message(s.ID, id, "", text, 0)
		each("part", id, func(_, text string) { c.part(s.ID, id, "", text, float64(c.at.UnixMilli())) })
	})
	return err
}

// of sets the session of the next rows, which is that of the lead agent.
func (c *opencodeFile) turnOf(session string) (sub bool) {
	c.session, c.agent = session, ""
	for range 100 {
		if parent := c.parents[c.session]; parent != "" {
			c.session, c.agent, sub = parent, session, true
		}
	}
	return sub
}

// message adds a message. Its kind is its role in opencode 2, empty in others.
func (c *opencodeFile) message(session, id, kind, data string, at float64) {
	c.kind("opencode messages", kind, []byte(data))
	m := value[opencodeMessage]([]byte(data))
	m.Role = cmp.Or(kind, m.Role)
	if m.Role == "" && !jsontext.Value(data).IsValid(lenient) {
		c.skip(0, "message "+id+" is no JSON object", true)
	}
	c.add(session, id, &m, at)
	if kind == "user" && !c.subs[id] {
		c.typed(1, id, m.Text)
	}
}

func (c *opencodeFile) add(session, id string, m *opencodeMessage, at float64) {
	if c.current != session {
		c.turn, c.current = new(Turn), session
	}
	sub := c.turnOf(session)
	when := cmp.Or(m.Time.Created, at)
	c.at = time.UnixMilli(int64(when))
	copied := when < c.created[session]
	c.users[id], c.subs[id] = m.Role == "user", sub || copied
	if t := m.Tokens; m.Role == "assistant" && (m.Error != nil || t.Input+t.Output+t.Reasoning+t.Cache.Read+t.Cache.Write > 0) {
		q := counted(t.Input+t.Cache.Read+t.Cache.Write, t.Output+t.Reasoning, t.Cache.Read, t.Cache.Write)
		q.Cost, q.Failed = m.Cost, m.Error != nil
		model := cmp.Or(m.ModelID, m.Model.ID)
		key := fmt.Sprintf("%.0f/%s/%.0f", when, model, t.Input+t.Output)
		switch {
		case c.first == nil:
		case copied:
			key = cmp.Or(c.first[key], id)
		default:
			c.first[key], key = id, id
		}
		c.request(1, key, model, q)
	}
	switch {
	case sub || copied:
	case m.Role == "user":
		c.begin(id)
	case m.Role == "assistant" && m.Error != nil && m.Error.Name == "MessageAbortedError":
		c.interrupt()
	case m.Role == "assistant":
		command := m.Finish == "" && m.Time.Completed > 0 && m.Tokens.Input == 0       // of the user's
		another := m.Finish == "" || m.Finish == "tool-calls" || m.Finish == "unknown" // after these opencode asks again
		c.says(!another || m.Error != nil || command, m.Error != nil)
	}
	c.turns[id] = c.turn
}

func (c *opencodeFile) part(session, id, _, data string, at float64) {
	p := value[opencodePart]([]byte(data))
	c.turnOf(session)
	c.turn = cmp.Or(c.turns[id], c.turn)
	if p.Type == "" && !jsontext.Value(data).IsValid(lenient) {
		c.skip(0, "a part of message "+id+" is no JSON object", true)
	}
	c.kind("opencode parts", p.Type, []byte(data))
	c.at = time.UnixMilli(int64(at))
	switch {
	case p.Type == "tool" && p.CallID != "":
		name := p.Tool
		if name == "invalid" { // as which opencode records a tool that it does not have
			name = cmp.Or(p.State.Input.Tool, name)
		}
		c.made(c.asked(p.CallID, name))
		if p.State.Status == "completed" || p.State.Status == "error" {
			c.result(p.CallID, opencodeStatus(p.State.Status == "error" || p.Tool == "invalid" || p.State.Metadata.Exit != 0, p.State.Error.text()))
		}
	case p.Cost > 0 && c.of().Requests[id] != nil:
		cost := c.steps[id] + p.Cost
		c.steps[id], c.of().Requests[id].Cost = cost, &cost
	case (p.Type == "text" || p.Type == "file") && c.users[id] && !c.subs[id] && !p.Synthetic && !p.Ignored:
		c.typed(1, id, p.Text)
	}
}

func opencodeStatus(failed bool, text string) Status {
	switch {
	case strings.HasPrefix(text, "The user rejected permission") || strings.HasPrefix(text, "The user has specified a rule which prevents"):
		return Denied
	case strings.HasPrefix(text, "Tool execution aborted"):
		return Bad
	}
	return statusIf(failed)
}

// each visits the rows of a query, each with four texts and a time.
func each(ctx context.Context, db *sql.DB, query string, visit func(session, id, kind, data string, at float64)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // read only
	for rows.Next() {
		var session, id, kind, data string
		var at float64
		if err := rows.Scan(&session, &id, &kind, &data, &at); err != nil {
			return err
		}
		visit(session, id, kind, data, at)
	}
	return rows.Err()
}
