package verify

import (
	"context"
	"fmt"
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
	// Sessions were compared, Differ have a difference. Gone have traces and no files, and
	// were not compared.
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
	// runs counts what is imported.
	runs int
}

// imported is what an import said of a session: that it was read, that some of it is new, that
// the store has the end only, and that it need not have any trace yet.
type imported struct{ seen, fresh, cut, lacks bool }

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
		s.seen, s.cut, s.lacks = true, skipped.TooOld+skipped.Removed > 0, skipped.Captured+skipped.Open > 0
		c.read = append(c.read, session)
	}
	c.runs, s.fresh = c.runs+len(runs), s.fresh || runs != nil
	if sums := c.sums[session]; sums != nil {
		sums.Add(runs...)
	}
}

// noted is the dialect of the note about a verdict that found nothing: of which state of the
// files and of the store it is.
const noted = "second reading"

// Place is where an import ran: the agent's files, the store, the version of the program, from
// when on it imported and when it ended. Clean removes secrets, Off is that of [Check].
type Place struct {
	Env        agentfiles.Env
	Store      *store.Store
	Version    string
	Since, Now time.Time
	Clean      func(string) string
	Off        func(dir string) bool
}

// Verdict reads the files of an agent a second time: those that were written since the last
// verdict, if that found nothing and what it is of is unchanged, or since what was imported. All
// are read if anything differs.
func (c *ImportCheck) Verdict(ctx context.Context, p Place) (*ImportVerdict, error) {
	traces, err := p.Store.Count(ctx, store.Filter{Host: c.host, Limit: -1})
	if err != nil {
		return nil, err
	}
	files, err := agentfiles.Find(ctx, c.host, p.Env)
	if err != nil {
		return nil, err
	}
	from, whole, err := c.unchanged(ctx, &p, files, traces)
	if err != nil {
		return nil, err
	}
	v, err := c.verdict(ctx, &p, files, from)
	if err == nil && !from.IsZero() && !(v.Complete || weighty(v.Unknown) && v.equal()) {
		v, err = c.verdict(ctx, &p, files, time.Time{})
	}
	if err != nil || !whole || !v.equal() {
		return v, err
	}
	at := p.Now.Add(-settled)
	note := store.Import{Host: c.host, Dialect: noted, Stamp: fmt.Sprintln(p.Version, files.State(at)), There: traces, Directory: at.Format(time.RFC3339Nano)}
	return v, p.Store.NoteImports(ctx, []store.Import{note})
}

// settled is how old a file's time must be to show that nothing was written since.
const settled = 2 * time.Second

// unchanged returns since when files have to be read, and whether these and those that were
// read before are all: an import since a later time leaves some out.
func (c *ImportCheck) unchanged(ctx context.Context, p *Place, files *agentfiles.Files, traces int) (from time.Time, whole bool, err error) {
	notes, err := p.Store.Imports(ctx, c.host)
	for _, n := range notes {
		at, _ := time.Parse(time.RFC3339Nano, n.Directory) // zero for another's note
		if n.Dialect == noted && n.There+c.runs == traces && n.Stamp == fmt.Sprintln(p.Version, files.State(at)) {
			return at, !p.Since.After(at), err
		}
	}
	return p.Since, p.Since.IsZero(), err
}

// equal reports that nothing differs, and that nothing was left out.
func (v *ImportVerdict) equal() bool {
	return len(v.Differ)+len(v.Untraced)+len(v.Unread)+len(v.Gone) == 0
}

// Lost reports that a whole line or file was not read.
func (v *ImportVerdict) Lost() bool {
	return slices.ContainsFunc(v.Unread, func(u agentfiles.Unread) bool { return !u.Part })
}

func (c *ImportCheck) verdict(ctx context.Context, p *Place, found *agentfiles.Files, since time.Time) (*ImportVerdict, error) {
	clean := p.Clean
	files, err := found.Read(ctx, since)
	if err != nil {
		return nil, err
	}
	v := &ImportVerdict{Findings: Findings{Unread: files.Unread, Unknown: files.Unknown}}
	check := Check{
		Host: c.host, Files: files, Store: p.Store, Sums: c.sums, Now: p.Now, Clean: clean, Off: p.Off,
		Cut: func(_ context.Context, session string) (bool, error) { return c.sessions[session].cut, nil },
	}
	if v.Differ, err = check.Sessions(ctx, c.read); err != nil {
		return nil, err
	}
	if !since.IsZero() { // the others' files were compared before, or are older than what was asked for
		check.Gone = slices.DeleteFunc(check.Gone, func(id string) bool { return !c.sessions[id].fresh })
	}
	v.Gone, v.Sessions = check.Gone, len(c.read)-len(check.Gone)
	if v.Untraced, err = check.Untraced(ctx, func(id string) bool { return c.sessions[id] != nil }); err != nil {
		return nil, err
	}
	v.Differ = slices.DeleteFunc(v.Differ, func(s Session) bool {
		if s.NoTrace && !c.sessions[s.Session].lacks {
			v.Untraced = append(v.Untraced, s)
		}
		return s.NoTrace
	})
	scrub(clean, reflect.ValueOf(v))
	v.Complete = v.equal() && !weighty(v.Unknown)
	return v, nil
}

// Text is the verdict in one line, below what was not read.
func (v *ImportVerdict) Text() string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-9s %s\n", name, text) }
	v.unread(line)
	for _, u := range v.Untraced {
		line("not read", "session "+termtext.Value(u.Session)+" is in a form or a place that is not supported: "+termtext.Value(u.Differences[0].String()))
	}
	v.unknown(line)
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
