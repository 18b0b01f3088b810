package second

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

func opencodeFolders(e Env) []string {
	return append(below([]string{e.Getenv("XDG_DATA_HOME")}, "opencode"), below([]string{e.Home}, ".local", "share", "opencode")...)
}

// readOpencode reads a database. The JSON files of older versions are named as not read.
func readOpencode(ctx context.Context, r *file) error {
	if !strings.HasSuffix(r.path, ".db") {
		if dir := filepath.ToSlash(filepath.Dir(r.path)); strings.Contains(dir, "/storage/session") {
			r.skip(0, "it is a session in the form of older versions")
		}
		return nil
	}
	options := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "trusted_schema(0)", "busy_timeout(2000)"}}
	if !exists(r.path + "-wal") {
		options.Set("immutable", "1")
	}
	place := "/" + strings.TrimPrefix(filepath.ToSlash(r.path), "/")
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: place, RawQuery: options.Encode()}).String())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // read only
	parents, created := make(map[string]string), make(map[string]float64)
	if err := each(ctx, db, `SELECT id, coalesce(parent_id, ''), time_created FROM session`, func(id, parent string, at float64) {
		parents[id], created[id] = parent, at
	}); err != nil {
		return err
	}
	subs := make(map[string]bool) // messages of subagents
	users := make(map[string]bool)
	turn := func(session string) (sub bool) {
		r.session, r.agent = session, ""
		if parents[session] != "" {
			r.agent = session
		}
		for range 100 {
			if parent := parents[r.session]; parent != "" {
				r.session, sub = parent, true
			}
		}
		return sub
	}
	var own string
	_ = own
	if err := each(ctx, db, `SELECT session_id, id || char(10) || data, time_created FROM message ORDER BY session_id, time_created, id`, func(session, text string, at float64) {
		id, data, _ := strings.Cut(text, "\n")
		m := value[struct {
			Role   string   `json:"role"`
			Cost   *float64 `json:"cost"`
			Model  string   `json:"modelID"`
			Finish string   `json:"finish"`
			Error  *struct {
				Name string `json:"name"`
			} `json:"error"`
			Time struct {
				Created float64 `json:"created"`
			} `json:"time"`
			Tokens struct {
				Input     float64 `json:"input"`
				Output    float64 `json:"output"`
				Reasoning float64 `json:"reasoning"`
				Cache     struct {
					Read  float64 `json:"read"`
					Write float64 `json:"write"`
				} `json:"cache"`
			} `json:"tokens"`
		}]([]byte(data))
		if m.Role == "" && !jsontext.Value(data).IsValid(lenient) {
			r.skip(0, "message "+id+" is no JSON object")
		}
		if own != session {
			r.end()
			own = session
		}
		sub := turn(session)
		when := cmp.Or(m.Time.Created, at)
		r.at = time.UnixMilli(int64(when))
		users[id], subs[id] = m.Role == "user", sub || when < created[session]
		if t := m.Tokens; m.Role == "assistant" && (m.Error != nil || t.Input+t.Output+t.Reasoning+t.Cache.Read+t.Cache.Write > 0) {
			q := counted(t.Input+t.Cache.Read+t.Cache.Write, t.Output+t.Reasoning, t.Cache.Read, t.Cache.Write)
			q.Cost, q.Failed = m.Cost, m.Error != nil
			r.request(1, fmt.Sprintf("%.0f/%s/%.0f", when, m.Model, t.Input+t.Output), m.Model, q)
		}
		switch {
		case sub || when < created[session]:
		case m.Role == "user":
			r.begin(id)
		case m.Role == "assistant" && m.Error != nil && m.Error.Name == "MessageAbortedError":
			r.interrupt()
		case m.Role == "assistant":
			r.answered, r.failed = m.Finish == "stop" || m.Finish == "length" || m.Error != nil, m.Error != nil
			r.lasts()
		}
	}); err != nil {
		return err
	}
	return each(ctx, db, `SELECT session_id, message_id || char(10) || data, time_created FROM part ORDER BY message_id, id`, func(session, text string, at float64) {
		id, data, _ := strings.Cut(text, "\n")
		p := value[struct {
			Type      string `json:"type"`
			Text      string `json:"text"`
			Call      string `json:"callID"`
			Tool      string `json:"tool"`
			Synthetic bool   `json:"synthetic"`
			Ignored   bool   `json:"ignored"`
			State     struct {
				Status string `json:"status"`
				Error  ends   `json:"error"`
				Input  struct {
					Tool string `json:"tool"`
				} `json:"input"`
				Metadata struct {
					Exit float64 `json:"exit"`
				} `json:"metadata"`
			} `json:"state"`
		}]([]byte(data))
		turn(session)
		if p.Type == "" && !jsontext.Value(data).IsValid(lenient) {
			r.skip(0, "a part of message "+id+" is no JSON object")
		}
		r.at = time.UnixMilli(int64(at))
		switch {
		case p.Type == "tool" && p.Call != "":
			name := p.Tool
			if name == "invalid" { // as which opencode records a tool that it does not have
				name = cmp.Or(p.State.Input.Tool, name)
			}
			r.call(p.Call, name)
			if p.State.Status == "completed" || p.State.Status == "error" {
				r.result(p.Call, opencodeStatus(p.State.Status == "error" || p.Tool == "invalid" || p.State.Metadata.Exit != 0, p.State.Error.text()))
			}
		case (p.Type == "text" || p.Type == "file") && users[id] && !subs[id] && !p.Synthetic && !p.Ignored:
			r.typed(1, id, p.Text)
		}
	})
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

// each visits the rows of a query, each with two texts and a time.
func each(ctx context.Context, db *sql.DB, query string, visit func(x, y string, at float64)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // read only
	for rows.Next() {
		var x, y string
		var at float64
		if err := rows.Scan(&x, &y, &at); err != nil {
			return err
		}
		visit(x, y, at)
	}
	return rows.Err()
}
