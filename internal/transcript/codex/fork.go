package codex

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// thread is a session or a subagent, and when it began.
type thread struct {
	id   string
	born time.Time
}

func (t thread) before(other thread) bool {
	return cmp.Or(t.born.Compare(other.born), cmp.Compare(t.id, other.id)) < 0
}

// history is what a file has of other threads. The file of a fork begins with its own
// session_meta and that of the thread that it was forked from. All rows of that thread
// follow, the session_meta of earlier threads included, with the time of the fork and the
// ids of the original.
type history struct {
	self thread
	// spawner is the thread that started this one as a subagent, parent that or its session.
	spawner, parent string
	// from are the threads whose rows were copied, the nearest first.
	from []thread
	// begun reports that another row than a session_meta has come, copying that the rows
	// are copies, and skip that another file has the original, or an earlier copy.
	begun, copying, skip bool
	// inherited reports that copies were left out.
	inherited bool
	// last is the time of the newest copy, turn that of the newest copied turn.
	last time.Time
	turn string
	// base is when the copied turn began, and copies counts its rows: they all have the
	// time of the fork.
	base   time.Time
	copies time.Duration
	// elsewhere reports that one of the threads has a file, in which the turn is looked for if
	// sure is set, or that a file that began before this one has a copy of the turn.
	elsewhere func(threads []thread, turn string, sure bool) bool
}

// copyGap is how far apart copies may be written, which Codex does at once.
const copyGap = 250 * time.Millisecond

// add adds a session_meta.
func (h *history) add(p rawjson.Object, at time.Time) (own bool) {
	t := thread{p.Text("id"), transcript.ISOTime(p.Text("timestamp"))}
	if h.self.id == "" {
		h.self, h.spawner = t, cmp.Or(p.Members("source").Members("subagent").Members("thread_spawn").Text("parent_thread_id"), p.Text("parent_thread_id"))
		h.parent = h.spawner
		if session := p.Text("session_id"); session != "" && session != t.id {
			h.parent = session
		}
	}
	if t.id == h.self.id || t.id == "" || h.begun && !h.copying {
		return t.id == h.self.id
	}
	if !slices.ContainsFunc(h.from, func(o thread) bool { return o.id == t.id }) {
		h.from = append(h.from, t)
	}
	if !h.copying {
		h.copying, h.last, h.base = true, at, at
		h.skip = h.has(h.from, "", false)
	}
	return false
}

func (h *history) has(threads []thread, turn string, sure bool) bool {
	return h.elsewhere != nil && h.elsewhere(threads, turn, sure)
}

// copied reports that a row is a copy of one that counts elsewhere. A copy that counts
// here gets the time of its turn. known reports a turn of the thread that started this one.
func (h *history) copied(r *row, known map[string]bool) bool {
	h.begun = true
	if !h.copying {
		return false
	}
	what := ""
	if r.kind == event {
		what = r.what
	}
	seconds, timed := rawjson.Int(r.payload.Get("started_at"))
	timed = timed && what == taskStarted
	began, turn := time.Unix(seconds, 0).UTC(), r.payload.Text("turn_id")
	born := h.self.born.Unix()
	own := timed && !h.self.born.IsZero() && !known[turn] && (seconds > born || seconds == born && !h.has(h.from, turn, true))
	if own || r.at.Sub(h.last) > copyGap {
		h.copying = false
		return false
	}
	if r.at.After(h.last) {
		h.last = r.at
	}
	if what == taskStarted {
		h.turn = turn
		// The turn is of the thread that was the newest when it began. Later ones have copies.
		owner := 0
		for timed && owner < len(h.from)-1 && h.from[owner].born.Unix() > seconds {
			owner++
		}
		if timed {
			h.skip = h.has(h.from[:owner+1], turn, false)
		} else { // of any of them, one of which may have no file
			h.skip = h.has(h.from, turn, len(h.from) > 1)
		}
		if timed {
			h.base, h.copies = began, 0
		}
	}
	if h.skip {
		h.inherited = true
		return true
	}
	h.copies++
	r.at = h.base.Add(h.copies * time.Microsecond)
	if seconds, ok := rawjson.Int(r.payload.Get("completed_at")); ok && what == "task_complete" && seconds > r.at.Unix() {
		r.at = time.Unix(seconds, 0).UTC()
	}
	return false
}

// headOf reads the first rows of a file, and its copies if they are asked for.
func headOf(ctx context.Context, f *transcript.Files, path string, copies bool) (h history, err error) {
	limit := int64(transcript.MaxHead)
	if copies {
		limit = 0
	}
	var r row
	damaged := transcript.Damaged{Max: transcript.MaxLine}
	lines := transcript.LinesOf(&r)
	err = eachRow(ctx, f, path, lines, limit, func(line []byte) bool {
		return damaged.Take(line, &r, func() bool {
			meta := r.kind == sessionMeta
			if meta {
				h.add(r.payload, r.at)
			} else {
				h.copied(&r, nil)
			}
			return meta || copies && h.copying
		})
	})
	return h, err
}

// fact is what the head of a file says of other threads, nothing if it names none.
func (h *history) fact() (says []string) {
	if h.parent == "" && len(h.from) == 0 {
		return nil
	}
	says = []string{h.spawner, h.parent}
	for _, t := range append([]thread{h.self}, h.from...) {
		says = append(says, t.id, t.born.Format(time.RFC3339Nano))
	}
	return says
}

// historyOf is the history of which these are the facts.
func historyOf(says []string) (h history) {
	if len(says) < 4 {
		return h
	}
	h.spawner, h.parent = says[0], says[1]
	for t := range slices.Chunk(says[2:], 2) {
		h.from = append(h.from, thread{t[0], transcript.ISOTime(t[len(t)-1])})
	}
	h.self, h.from = h.from[0], h.from[1:]
	return h
}

// elsewhere is the function of the history of the file of self.
func elsewhere(ctx context.Context, f *transcript.Files, self *thread) func([]thread, string, bool) bool {
	var s *shelf
	return func(threads []thread, turn string, sure bool) bool {
		if s == nil {
			s = shelfOf(ctx, f)
		}
		own := func(t thread) bool {
			return slices.ContainsFunc(s.paths[t.id], func(path string) bool { return !sure || turn == "" || s.turns(path)[turn] })
		}
		if slices.ContainsFunc(threads, own) {
			return true
		}
		return slices.ContainsFunc(threads, func(t thread) bool {
			first, copied := s.firstCopy(t.id, turn)
			return copied && first.before(*self)
		})
	}
}
