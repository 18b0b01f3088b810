package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

// ImportVerdict is what a second reading of the agent's files says of an import.
type ImportVerdict struct {
	// Sessions were compared, Differ have a difference, and Gone have traces and no files.
	Sessions int       `json:"sessions"`
	Differ   []Session `json:"differ,omitempty"`
	Gone     []string  `json:"gone,omitempty"`
	Findings
}

// ImportCheck gathers what an import sends of each session.
type ImportCheck struct {
	host string
	// sessions are all that the agent's reader finds, read those of which it says what is there.
	sessions map[string]*imported
	read     []string
	sums     map[string]*Sums
}

// imported is what an import said of a session: that it was read, that some of it is new, that
// the store has the end only, that it need not have any trace yet, and that a part is private.
type imported struct{ seen, fresh, cut, lacks, private bool }

// NewImportCheck returns the check of an import of an agent, of which these are all sessions
// that its reader finds.
func NewImportCheck(host string, all []importer.Session) *ImportCheck {
	c := &ImportCheck{host: host, sessions: make(map[string]*imported), sums: make(map[string]*Sums)}
	for i := range all {
		c.sessions[all[i].ID] = new(imported)
	}
	return c
}

// Observe takes what an import does with a session, as [importer.Importer] reports it.
func (c *ImportCheck) Observe(session string, skipped importer.Skipped, runs []*tracepb.ResourceSpans) {
	s, there := c.sessions[session], skipped.AlreadyThere+skipped.Captured > 0
	switch {
	case s.seen && runs == nil:
		delete(c.sums, session) // the store has more of it
	case !s.seen && runs == nil && skipped.SwitchedOff > 0 && !there:
		// All of it may be private.
	case !s.seen:
		if !there {
			c.sums[session] = new(Sums)
		}
		s.seen, s.cut, s.lacks, s.private = true, skipped.TooOld+skipped.Removed > 0, skipped.Captured+skipped.Open > 0, skipped.SwitchedOff > 0
		c.read = append(c.read, session)
	}
	s.fresh = s.fresh || runs != nil
	if sums := c.sums[session]; sums != nil {
		sums.Add(runs...)
	}
}

// Place is where an import of what is Since a time ran, and ended Now. Clean and Off are as in [Check].
type Place struct {
	Env        agentfiles.Env
	Store      *store.Store
	Version    string
	Since, Now time.Time
	Clean      func(string) string
	Off        func(dir string) bool
}

// notes are what a verdict leaves to the next one: of which states of the files it is, and with
// which states of their traces sessions are equal to them. What is not equal is compared again.
type notes struct {
	Files agentfiles.Notes
	Equal map[string]string
}

const (
	// reader is the name of the notes in the store.
	reader = "second reading"
	// settled is how old a file's time must be to show that nothing was written since.
	settled = 2 * time.Second
)

// Verdict reads the files of an agent a second time: those that have changed since they were noted,
// those of sessions whose traces have or that were not found equal, and those that may have something
// of the same sessions. All are read if a session differs, or has no trace and was not noted for that.
func (c *ImportCheck) Verdict(ctx context.Context, p Place) (*ImportVerdict, error) {
	files, err := agentfiles.Find(ctx, c.host, p.Env)
	if err != nil {
		return nil, err
	}
	text, err := p.Store.Reading(ctx, c.host, reader, p.Version)
	if err != nil {
		return nil, err
	}
	var old notes
	_ = json.Unmarshal([]byte(text), &old) // nothing if damaged
	traces, err := p.Store.Written(ctx, c.host)
	if err != nil {
		return nil, err
	}
	v, read, err := c.verdict(ctx, &p, files, old.Files, p.Since, c.touched(old.Equal, traces))
	part := old.Files != nil || !p.Since.IsZero()
	if err == nil && part && (len(v.Differ)+len(v.Gone) > 0 || !old.Files.Name(v.untraced(read))) {
		v, read, err = c.verdict(ctx, &p, files, nil, time.Time{}, nil)
	}
	if err == nil && p.Since.IsZero() {
		n := notes{files.Noted(read, old.Files, p.Now.Add(-settled), v.untraced(read)), c.equal(v, read, p.Now, old.Equal, traces)}
		if text, err := json.Marshal(n); err != nil {
			return nil, err
		} else if err := p.Store.NoteReading(ctx, c.host, reader, p.Version, string(text)); err != nil {
			return nil, err
		}
	}
	if err == nil {
		scrub(p.Clean, reflect.ValueOf(v))
	}
	return v, err
}

// touched are the sessions with other traces than when they were equal, and those to compare that were not.
func (c *ImportCheck) touched(equal, now map[string]string) map[string]bool {
	ids := make(map[string]bool)
	for id, state := range equal {
		if now[id] != state {
			ids[id] = true
		}
	}
	for id, s := range c.sessions {
		if _, known := equal[id]; s.fresh || s.seen && !known {
			ids[id] = true
		}
	}
	return ids
}

// equal are the states of the traces of the sessions that are equal: those that a verdict compared
// in whole, those that the import does not know, and those that were equal and of which no file was read.
func (c *ImportCheck) equal(v *ImportVerdict, read *agentfiles.Reading, at time.Time, old, now map[string]string) map[string]string {
	out := make(map[string]string)
	for id, state := range old {
		if !read.About[id] {
			out[id] = state
		}
	}
	for id, files := range read.Sessions {
		s := c.sessions[id]
		if s == nil || s.seen && !s.private && now[id] != "" && at.Sub(files.Ended) >= openAge {
			out[id] = now[id]
		}
	}
	for _, s := range slices.Concat(v.Differ, v.Untraced) {
		delete(out, s.Session)
	}
	return out
}

// untraced are the files of the sessions without a trace.
func (v *ImportVerdict) untraced(read *agentfiles.Reading) map[string]bool {
	files := make(map[string]bool)
	for _, s := range v.Untraced {
		if of := read.Sessions[s.Session]; of != nil {
			for _, path := range of.Files {
				files[path] = true
			}
		}
	}
	return files
}

// Lost reports that a whole line or file was not read.
func (v *ImportVerdict) Lost() bool {
	return slices.ContainsFunc(v.Unread, func(u agentfiles.Unread) bool { return !u.Part })
}

// verdict reads files as [agentfiles.Files.Read] does.
func (c *ImportCheck) verdict(ctx context.Context, p *Place, found *agentfiles.Files, old agentfiles.Notes, since time.Time, touched map[string]bool) (
	*ImportVerdict, *agentfiles.Reading, error,
) {
	files, err := found.Read(ctx, old, since, slices.Collect(maps.Keys(touched)))
	if err != nil {
		return nil, nil, err
	}
	v := &ImportVerdict{Findings: Findings{Unread: slices.Clone(files.Unread), Unknown: files.Unknown}}
	check := Check{
		Host: c.host, Files: files, Store: p.Store, Sums: c.sums, Now: p.Now, Clean: p.Clean, Off: p.Off,
		Cut: func(_ context.Context, session string) (bool, error) { return c.sessions[session].cut, nil },
	}
	if v.Differ, err = check.Sessions(ctx, c.read); err != nil {
		return nil, nil, err
	}
	if old != nil || !since.IsZero() { // the others are equal as they were
		check.Gone = slices.DeleteFunc(check.Gone, func(id string) bool { return !touched[id] })
	}
	v.Gone, v.Sessions = check.Gone, len(c.read)-len(check.Gone)
	if v.Untraced, err = check.Untraced(ctx, func(id string) bool { return c.sessions[id] != nil }); err != nil {
		return nil, nil, err
	}
	v.Differ = slices.DeleteFunc(v.Differ, func(s Session) bool {
		if s.NoTrace && !c.sessions[s.Session].lacks {
			v.Untraced = append(v.Untraced, s)
		}
		return s.NoTrace
	})
	v.Complete = len(v.Differ)+len(v.Untraced)+len(v.Unread)+len(v.Gone) == 0 && !weighty(v.Unknown)
	return v, files, nil
}

// Text is the verdict in one line, below what was not read.
func (v *ImportVerdict) Text() string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-9s %s\n", name, text) }
	v.places(line)
	for _, u := range v.Untraced {
		line("not read", "session "+termtext.Value(u.Session)+" is in a form or a place that is not supported: "+termtext.Value(u.Differences[0].String()))
	}
	if n := len(v.Gone); n > 0 {
		line("not compared", termtext.Plural(n, "session")+" without files: "+termtext.Value(strings.Join(v.Gone[:min(n, maxNamed)], ", ")))
	}
	text := termtext.Plural(v.Sessions, "session") + " equal to a second reading of all files"
	if weighty(v.Unknown) {
		text += ", as far as it knows the kinds of rows"
	}
	switch n := len(v.Differ); {
	case n == 0 && len(v.Untraced) > 0:
		text += ", but for " + termtext.Plural(len(v.Untraced), "session") + " that were not read"
	case n > 0:
		text = fmt.Sprintf("%d of %s differ from a second reading of all files, first %s: 'hookspan verify --all' names the differences",
			n, termtext.Plural(v.Sessions, "session"), termtext.Value(v.Differ[0].Session))
	}
	line("verified", text)
	return b.String()
}
