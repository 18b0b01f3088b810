package claude

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// maxFolders bounds how deep the folders of subagents nest.
const maxFolders = 8

// copiers are the beginnings of the ids of agents whose files begin with a copy of the
// conversation that they are asked about.
var copiers = [...]string{"acompact-", "aside_question-"}

func copiesRows(agent string) bool {
	return slices.ContainsFunc(copiers[:], func(prefix string) bool { return strings.HasPrefix(agent, prefix) })
}

// copiedBy returns the log of a conversation if an agent's file begins with a copy of it, else nil.
func (l *fileLog) copiedBy(agent string) *fileLog {
	if copiesRows(agent) {
		return l
	}
	return nil
}

// head is what the beginning of a transcript says.
type head struct {
	path, name string
	// session is the first row's.
	session string
	// first stands for the id and the time of the first answer, or without one for the first
	// row's id, prompt for the first prompt and its time, and compacted for a compaction before
	// the first answer: files that have one in common may have rows in common. They are zero if
	// there is none.
	first, prompt, compacted uint64
}

// family returns the files that may have rows in common with h.
func (h *head) family(all map[uint64][]*head) (family []*head) {
	for _, key := range [...]uint64{h.first, h.prompt, h.compacted} {
		for _, other := range all[key] {
			if !slices.Contains(family, other) {
				family = append(family, other)
			}
		}
	}
	return family
}

// project is what the beginnings of the transcripts in its folder say. There may be very
// many.
type project struct{ sessions, agents []head }

// session returns the head of a session's file.
func (p *project) session(path string) *head {
	name := strings.TrimSuffix(filepath.Base(path), suffix)
	i, ok := slices.BinarySearchFunc(p.sessions, name, func(h head, name string) int { return cmp.Compare(h.name, name) })
	if !ok {
		return &head{path: path, name: name}
	}
	return &p.sessions[i]
}

// readProject reads the beginnings of the transcripts in a project's folder. With a time
// only those of subagents written since then are read.
func readProject(ctx context.Context, f *transcript.Files, folder string, since time.Time) *project {
	type key struct{ project string }
	return transcript.Recall(f, key{folder}, func(f *transcript.Files) *project {
		all := new(project)
		entries, _ := os.ReadDir(folder) // what cannot be listed has no files
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), suffix)
			if !ok || !since.IsZero() && !strings.HasPrefix(name, agentPrefix) {
				continue
			}
			path := filepath.Join(folder, e.Name())
			if !since.IsZero() {
				if s, ok := transcript.Stat(name, path); !ok || s.ModTime.Before(since.Add(-transcript.LineSlack)) {
					continue
				}
			}
			h, first := head{path: path, name: name}, ""
			eachRow(ctx, f, path, transcript.MaxHead, func(row *row) bool {
				h.session = cmp.Or(h.session, row.text("sessionId"))
				h.compacted = cmp.Or(h.compacted, compaction(row))
				if h.prompt == 0 && row.opensTurn() {
					h.prompt = idHash(slices.Concat(row.Get("timestamp"), row.message))
				}
				if first = cmp.Or(first, row.text("uuid")); first == "" {
					return true
				}
				if row.kind != "assistant" {
					return true
				}
				// A copy may have new uuids, and begin with a prompt of its own.
				first = row.text("timestamp") + " " + rawjson.Unquote(rawjson.Member(row.message, "id"))
				return false
			})
			h.first = idHash([]byte(first))
			if h.session == name {
				h.session = name // the same memory
			}
			if strings.HasPrefix(name, agentPrefix) {
				all.agents = append(all.agents, h)
			} else {
				all.sessions = append(all.sessions, h)
			}
		}
		slices.SortFunc(all.sessions, func(a, b head) int { return cmp.Compare(a.name, b.name) })
		return all
	})
}

// families returns the files that have a beginning in common with others: those of all
// projects where many sessions are read, else those of one folder.
func families(ctx context.Context, f *transcript.Files, folder string) map[uint64][]*head {
	type key struct{ families string }
	if f.Remembers() {
		folder = ""
	}
	return transcript.Recall(f, key{folder}, func(f *transcript.Files) map[uint64][]*head {
		folders := []string{folder}
		if folder == "" {
			folders = projects(roots(f))
		}
		first, all := make(map[uint64]*head), make(map[uint64][]*head)
		add := func(key uint64, h *head) {
			switch {
			case key == 0 || first[key] == h:
			case first[key] == nil:
				first[key] = h
			case all[key] == nil:
				all[key] = []*head{first[key], h}
			default:
				all[key] = append(all[key], h)
			}
		}
		for _, folder := range folders {
			p := readProject(ctx, f, folder, time.Time{})
			compacted, some := make(map[uint64]bool), false
			for i := range p.sessions {
				h := &p.sessions[i]
				add(h.first, h)
				add(h.prompt, h)
				add(h.compacted, h)
				compacted[h.compacted] = h.compacted != 0
				some = some || h.compacted != 0
			}
			if some && f.Remembers() { // else only what is new counts
				for i := range p.sessions {
					eachCompaction(ctx, f, p.sessions[i].path, func(key uint64) {
						if compacted[key] {
							add(key, &p.sessions[i])
						}
					})
				}
			}
		}
		return all
	})
}

// eachRow visits the rows in the first bytes of a file until visit returns false. What
// cannot be read has none.
func eachRow(ctx context.Context, f *transcript.Files, path string, bytes int64, visit func(*row) bool) {
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // read only
	r := reader{maxLine: transcript.MaxLine}
	_ = r.rows(ctx, io.NewSectionReader(file, 0, min(bytes, file.Size())), visit)
}

// compaction stands for the compaction that a row notes, zero if it notes none. A copy of a
// conversation may begin there.
func compaction(r *row) uint64 {
	if r.kind != "system" || r.text("subtype") != compactBoundary {
		return 0
	}
	return idHash(append([]byte(compactBoundary), r.Get("timestamp")...))
}

const compactBoundary = "compact_boundary"

// eachCompaction visits the compactions of a file.
func eachCompaction(ctx context.Context, f *transcript.Files, path string, visit func(uint64)) {
	file, err := f.Open(ctx, path, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // read only
	r := reader{maxLine: transcript.MaxLine}
	var row row
	_ = r.lines(false).Each(ctx, io.NewSectionReader(file, 0, file.Size()), func(line []byte) bool {
		if bytes.Contains(line, []byte(compactBoundary)) && row.parse(line) {
			if key := compaction(&row); key != 0 {
				visit(key)
			}
		}
		return true
	})
}

// named returns the paths in all projects that have a name.
func named(f *transcript.Files, name string) (paths []string) {
	type key struct{}
	type places struct {
		folders []string
		one     map[string]int32 // the first folder that has a name
		more    map[string][]int32
	}
	if !f.Remembers() {
		for _, folder := range projects(roots(f)) {
			paths = append(paths, filepath.Join(folder, name))
		}
		return paths
	}
	all := transcript.Recall(f, key{}, func(f *transcript.Files) *places {
		all := &places{folders: projects(roots(f)), one: make(map[string]int32), more: make(map[string][]int32)}
		for i, folder := range all.folders {
			entries, _ := os.ReadDir(folder) // another user's
			for _, e := range entries {
				if _, known := all.one[e.Name()]; known {
					all.more[e.Name()] = append(all.more[e.Name()], int32(i)) //nolint:gosec // There are fewer.
				} else {
					all.one[e.Name()] = int32(i) //nolint:gosec // There are fewer.
				}
			}
		}
		return all
	})
	if i, ok := all.one[name]; ok {
		for _, i := range append([]int32{i}, all.more[name]...) {
			paths = append(paths, filepath.Join(all.folders[i], name))
		}
	}
	return paths
}

// copies returns the files of a session's id in all projects but one of them, oldest
// first. A session that went to another folder may have several.
func copies(f *transcript.Files, session, but string) []transcript.Session {
	var found []transcript.Session
	for _, path := range named(f, session+suffix) {
		if path == but {
			continue
		}
		if s, ok := transcript.Stat(session, path); ok {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b transcript.Session) int { return a.ModTime.Compare(b.ModTime) })
	return found
}

// subagentsOf lists the files of a session's subagents, which may be in the folders of
// several projects.
func subagentsOf(f *transcript.Files, session string) (paths []string, err error) {
	for _, dir := range named(f, session) {
		below, e := agentFiles(filepath.Join(dir, subagents), 0)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("list subagents %q: %w", dir, e))
		}
		paths = append(paths, below...)
	}
	return paths, err
}

// rowID identifies a row by the message that it is a part of, or by when it was written.
// session is the id of the session that the row names.
type rowID struct {
	id, session uint64
	at          time.Time
	answer      bool
}

// idsOf are the rows of a file, in order.
func idsOf(ctx context.Context, f *transcript.Files, path string) []rowID {
	type key struct{ rows string }
	return transcript.Recall(f, key{path}, func(f *transcript.Files) (all []rowID) {
		eachRow(ctx, f, path, 1<<62, func(row *row) bool {
			if id := idOf(row); id.id != 0 {
				all = append(all, id)
			}
			return true
		})
		return all
	})
}

func idOf(r *row) rowID {
	var id []byte
	if r.kind == "assistant" {
		id = rawjson.Member(r.message, "id")
	}
	if id == nil && !r.at.IsZero() {
		id = append([]byte(r.kind), r.Get("timestamp")...) // a copy may have a new uuid
	}
	if id == nil {
		id = r.Get("uuid")
	}
	return rowID{idHash(id), idHash([]byte(r.text("sessionId"))), r.at, r.kind == "assistant"}
}

// idHash is zero for no id.
func idHash(id []byte) uint64 {
	if len(id) == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write(id) // never fails
	return h.Sum64()
}

// idSet are the rows of some files.
type idSet map[uint64]bool

func (s idSet) add(ids []rowID) {
	for _, id := range ids {
		s[id.id] = true
	}
}

func (s idSet) has(r *row) bool {
	if len(s) == 0 {
		return false
	}
	id := idOf(r).id
	return id != 0 && s[id]
}

// others decides which rows of a session's files are another session's. A request is
// counted once on the machine, wherever its rows are: for the session that began first,
// by what the files say.
type others struct {
	ctx   context.Context
	files *transcript.Files
	since time.Time
	// before are the rows that the file has in common with files that began before it.
	before idSet
	// owners are the rows of other sessions' own files, nil for a session without one.
	owners map[string]idSet
	// found says which sessions have a file.
	found map[string]bool
	// inherited are the requests that other sessions count.
	inherited idSet
	// copiedBy are the sessions with copies of all rows.
	copiedBy []string
}

func newOthers(ctx context.Context, f *transcript.Files, since time.Time) others {
	return others{ctx: ctx, files: f, since: since, before: make(idSet), owners: make(map[string]idSet), found: make(map[string]bool), inherited: make(idSet)}
}

// has reports that the row is that of another session.
func (o *others) has(r *row, session string) bool {
	if o.before.has(r) {
		return true
	}
	raw := r.Get("sessionId")
	if len(raw) == len(session)+2 && string(raw[1:len(raw)-1]) == session || o.files == nil { // the usual case
		return false
	}
	id := rawjson.Unquote(raw)
	if id == "" || id == session {
		return false
	}
	rows, known := o.owners[id]
	if !known {
		for _, s := range copies(o.files, id, "") {
			if rows == nil {
				rows = make(idSet)
			}
			rows.add(idsOf(o.ctx, o.files, s.Path))
		}
		o.owners[id] = rows
	}
	return rows.has(r)
}

// note counts a row that is another session's.
func (o *others) note(r *row) {
	if r.kind == "assistant" && o.inherited != nil {
		o.inherited.add([]rowID{idOf(r)})
	}
}

// exists reports that a session has a file, or is not known.
func (o *others) exists(session string) bool {
	found, known := o.found[session]
	if o.files == nil {
		return true
	}
	if !known {
		found = session == "" || transcript.CheckID("session id", session) == nil && len(copies(o.files, session, "")) > 0
		o.found[session] = found
	}
	return found
}

// addEarlier gathers the rows of the files of a family that began before mine: of two files
// that is the one that ends where the other continues, or whose own rows are older.
func (o *others) addEarlier(family []*head, mine *head) {
	ctx, f, session := o.ctx, o.files, idHash([]byte(mine.name))
	var own []rowID
	for _, h := range family {
		if h.name == mine.name {
			continue
		}
		if own == nil {
			own = idsOf(ctx, f, mine.path)
		}
		theirs := idsOf(ctx, f, h.path)
		if h.first != mine.first && !related(theirs, own) {
			continue
		}
		order := slices.CompareFunc(theirs, own, func(a, b rowID) int {
			if a.id == b.id {
				return 0
			}
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(h.name, mine.name))
		})
		if cmp.Or(order, cmp.Compare(h.name, mine.name)) < 0 {
			// A row that names my session is a copy of mine, whatever file it is in.
			o.before.add(slices.DeleteFunc(slices.Clone(theirs), func(r rowID) bool { return r.session == session }))
		} else if n := len(own); n <= len(theirs) && slices.EqualFunc(own, theirs[:n], func(a, b rowID) bool { return a.id == b.id }) {
			o.copiedBy = append(o.copiedBy, h.name)
		}
	}
}

// related reports that two files have an answer in common: a prompt and its time alone may be
// those of two runs that began together.
func related(theirs, own []rowID) bool {
	set := make(idSet)
	set.add(theirs)
	return slices.ContainsFunc(own, func(r rowID) bool { return r.answer && set[r.id] })
}

// agentFiles lists the subagents' files in a folder and those below it.
func agentFiles(dir string, depth int) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxFolders:
			// What cannot be listed below is as if it were not there.
			below, _ := agentFiles(path, depth+1)
			paths = append(paths, below...)
		case strings.HasPrefix(e.Name(), agentPrefix):
			paths = append(paths, path)
		}
	}
	return paths, err
}
