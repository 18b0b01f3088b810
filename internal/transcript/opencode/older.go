package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Before opencode had a database it kept a JSON file for each session, message and part:
// storage/session/PROJECT/SESSION.json, storage/message/SESSION/MESSAGE.json and
// storage/part/MESSAGE/PART.json. The files stay when it has moved them into the database.
const (
	storage    = "storage"
	jsonSuffix = ".json"
)

// jsonFiles lists the files of a folder, which may be missing, by name.
func jsonFiles(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir) // a folder that cannot be listed has none
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), jsonSuffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// object reads a file of one object.
func object(ctx context.Context, f *transcript.Files, path string) (rawjson.Object, error) {
	text, err := transcript.Small[json.RawMessage](ctx, f, path, false)
	if err != nil {
		return nil, err
	}
	o := rawjson.Members(text)
	if o == nil {
		return nil, transcript.ReadError(path, transcript.ErrForm)
	}
	return o, nil
}

// olderSession reads the file of a session.
func olderSession(ctx context.Context, f *transcript.Files, path string) (session, error) {
	o, err := object(ctx, f, path)
	at := o.Members("time")
	return session{
		id: o.Text("id"), parent: o.Text("parentID"), cwd: o.Text("directory"), version: o.Text("version"),
		created: rawjson.Instant(at.Get("created")), updated: rawjson.Instant(at.Get("updated")),
	}, err
}

// olderSessions lists the sessions that have files and are not in a database.
func olderSessions(ctx context.Context, f *transcript.Files, places transcript.Folders, stored map[string]bool) (found []transcript.Session) {
	for _, dir := range places {
		for _, project := range transcript.Subfolders(filepath.Join(dir, storage, "session")) {
			for _, path := range jsonFiles(project) {
				id := strings.TrimSuffix(filepath.Base(path), jsonSuffix)
				s, ok := transcript.Stat(id, path)
				if !ok || stored[id] || ctx.Err() != nil {
					continue
				}
				// One that cannot be read is listed, and reading it says why.
				if own, err := olderSession(ctx, f, path); err == nil && own.parent != "" {
					continue
				} else if err == nil {
					s.Cwd, s.ModTime = own.cwd, cmp.Or(own.updated, s.ModTime)
				}
				s.Dialect = opencode.Dialect
				found = append(found, s)
			}
		}
	}
	return found
}

// readOlder reads a session of which there are files, with its subagents.
func readOlder(ctx context.Context, f *transcript.Files, places transcript.Folders, q transcript.Query) (*hook.Transcript, error) {
	var path string
	for _, dir := range places {
		for _, project := range transcript.Subfolders(filepath.Join(dir, storage, "session")) {
			if s, ok := transcript.Stat(q.Session, filepath.Join(project, q.Session+jsonSuffix)); ok {
				path = s.Path
			}
		}
	}
	if path == "" {
		return nil, places.NotFound(q.Session, "opencode*.db with it")
	}
	q.Since = time.Time{} // all of it is read
	l := newLog(path, q)
	var errs []error
	read := make(map[string]bool)
	for queue := []string{q.Session}; len(queue) > 0 && len(read) < maxAgents; queue = queue[1:] {
		id := queue[0]
		if read[id] || transcript.CheckID("session id", id) != nil {
			continue
		}
		read[id] = true
		s, err := olderSession(ctx, f, filepath.Join(filepath.Dir(path), id+jsonSuffix))
		if err != nil || s.id != id {
			if len(read) == 1 {
				return nil, cmp.Or(err, transcript.ReadError(path, transcript.ErrForm))
			}
			continue // a subagent that was deleted
		}
		if len(read) == 1 {
			l.t.Cwd, l.t.HostVersion = s.cwd, s.version
		}
		list, err := olderMessages(ctx, f, filepath.Dir(filepath.Dir(filepath.Dir(path))), id)
		errs = append(errs, err)
		l.turnAt = func(id string) string { return id }
		l.addAll(list, &s, len(read) == 1, l.olderCopies(ctx, f, filepath.Dir(filepath.Dir(filepath.Dir(path))), list, &s))
		for _, m := range list {
			for _, p := range m.parts {
				if child := opencode.Tool(p).Agent; p.Text("type") == "tool" && child != "" {
					queue = append(queue, child)
				}
			}
		}
	}
	return l.done(f), errors.Join(errs...)
}

// olderCopies are the messages that a session has copied from one that began before it.
func (l *log) olderCopies(ctx context.Context, f *transcript.Files, dir string, list []*message, s *session) map[string]bool {
	type key struct{ older string }
	moment := func(m *message) string { return m.data.Text("role") + " " + m.created().String() }
	inherited := make(map[string]bool)
	for _, m := range list {
		if at := m.created(); at.IsZero() || !at.Before(s.created) {
			continue
		}
		all := transcript.Recall(f, key{dir}, func(f *transcript.Files) map[string][]timed {
			all := make(map[string][]timed)
			for _, project := range transcript.Subfolders(filepath.Join(dir, "session")) {
				for _, path := range jsonFiles(project) {
					other, err := olderSession(ctx, f, path)
					if err != nil || transcript.CheckID("session id", other.id) != nil {
						continue // reading it says why
					}
					for _, path := range jsonFiles(filepath.Join(dir, "message", other.id)) {
						if o, err := object(ctx, f, path); err == nil {
							at := moment(&message{data: o})
							all[at] = append(all[at], timed{o.Text("id"), other.id, float64(other.created.UnixMilli())})
						}
					}
				}
			}
			return all
		})
		for _, other := range all[moment(m)] {
			if other.begun < float64(s.created.UnixMilli()) {
				inherited[m.id], l.t.Origin, l.t.OriginTurn = true, other.session, other.id
				break
			}
		}
	}
	return inherited
}

// olderMessages reads the messages of a session with their parts.
func olderMessages(ctx context.Context, f *transcript.Files, dir, session string) (list []*message, err error) {
	var errs []error
	for _, path := range jsonFiles(filepath.Join(dir, "message", session)) {
		o, err := object(ctx, f, path)
		if errs = append(errs, f.Rest(path, err)); err != nil {
			continue
		}
		m := &message{id: o.Text("id"), row: len(list) + 1, data: o}
		if transcript.CheckID("message id", m.id) == nil {
			for _, path := range jsonFiles(filepath.Join(dir, "part", m.id)) {
				p, err := object(ctx, f, path)
				errs = append(errs, f.Rest(path, err))
				if err == nil {
					m.parts = append(m.parts, p)
				}
			}
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b *message) int { return a.created().Compare(b.created()) })
	return list, errors.Join(errs...)
}
