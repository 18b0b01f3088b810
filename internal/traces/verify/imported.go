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
	s.fresh = s.fresh || runs != nil
	if sums := c.sums[session]; sums != nil {
		sums.Add(runs...)
	}
}

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

// Verdict reads the files of an agent a second time: those that have changed since they were noted,
// those of sessions whose traces have, and those that may have something of the same sessions. All
// are read if a session differs, or has no trace and was not noted for that.
func (c *ImportCheck) Verdict(ctx context.Context, p Place) (*ImportVerdict, error) {
	files, err := agentfiles.Find(ctx, c.host, p.Env)
	if err != nil {
		return nil, err
	}
	old, err := readNotes(ctx, c.host, &p)
	if err != nil {
		return nil, err
	}
	traces, err := p.Store.Written(ctx, c.host)
	if err != nil {
		return nil, err
	}
	v, untraced, read, err := c.verdict(ctx, &p, files, old.Files, p.Since, c.touched(old.Traces, traces))
	part := old.Files != nil || !p.Since.IsZero()
	if err == nil && part && (len(v.Differ)+len(v.Gone) > 0 || !old.Files.Name(untraced)) {
		v, untraced, read, err = c.verdict(ctx, &p, files, nil, time.Time{}, nil)
	}
	if err != nil || !p.Since.IsZero() {
		return v, err
	}
	return v, notes{files.Noted(read, old.Files, p.Now.Add(-settled), untraced), traces}.write(ctx, c.host, &p)
}

// settled is how old a file's time must be to show that nothing was written since.
const settled = 2 * time.Second

// touched are the sessions with new traces, and with others than those of a verdict.
func (c *ImportCheck) touched(old, now map[string]string) (ids []string) {
	for id, s := range c.sessions {
		if s.fresh || old[id] != now[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// equal reports that nothing differs, and that nothing was left out.
func (v *ImportVerdict) equal() bool {
	return len(v.Differ)+len(v.Untraced)+len(v.Unread)+len(v.Gone) == 0
}

// Lost reports that a whole line or file was not read.
func (v *ImportVerdict) Lost() bool {
	return slices.ContainsFunc(v.Unread, func(u agentfiles.Unread) bool { return !u.Part })
}

// verdict reads files as [agentfiles.Files.Read] does. untraced are those of sessions without a trace.
func (c *ImportCheck) verdict(ctx context.Context, p *Place, found *agentfiles.Files, old agentfiles.Notes, since time.Time, touched []string) (
	v *ImportVerdict, untraced []string, files *agentfiles.Reading, err error,
) {
	clean := p.Clean
	files, err = found.Read(ctx, old, since, touched)
	if err != nil {
		return nil, nil, nil, err
	}
	v = &ImportVerdict{Findings: Findings{Unread: slices.Clone(files.Unread), Unknown: files.Unknown}}
	check := Check{
		Host: c.host, Files: files, Store: p.Store, Sums: c.sums, Now: p.Now, Clean: clean, Off: p.Off,
		Cut: func(_ context.Context, session string) (bool, error) { return c.sessions[session].cut, nil },
	}
	if v.Differ, err = check.Sessions(ctx, c.read); err != nil {
		return nil, nil, nil, err
	}
	if old != nil || !since.IsZero() { // the others' files were compared before, or are older than what was asked for
		check.Gone = slices.DeleteFunc(check.Gone, func(id string) bool { return !c.sessions[id].fresh })
	}
	v.Gone, v.Sessions = check.Gone, len(c.read)-len(check.Gone)
	if v.Untraced, err = check.Untraced(ctx, func(id string) bool { return c.sessions[id] != nil }); err != nil {
		return nil, nil, nil, err
	}
	v.Differ = slices.DeleteFunc(v.Differ, func(s Session) bool {
		if s.NoTrace && !c.sessions[s.Session].lacks {
			v.Untraced = append(v.Untraced, s)
		}
		return s.NoTrace
	})
	for _, s := range v.Untraced {
		if of := files.Sessions[s.Session]; of != nil {
			untraced = append(untraced, of.Files...)
		}
	}
	scrub(clean, reflect.ValueOf(v))
	v.Complete = v.equal() && !weighty(v.Unknown)
	return v, untraced, files, nil
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
