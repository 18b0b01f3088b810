package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
)

// ImportVerdict is what a second reading of the agent's files says of an import.
type ImportVerdict struct {
	// Sessions were compared, Differ have a difference. Gone have traces and no files, and
	// were not compared.
	Sessions int       `json:"sessions"`
	Differ   []Session `json:"differ,omitempty"`
	Gone     []string  `json:"gone,omitempty"`
	// Untold are sessions that the import does not read, Unread the places that are no row.
	Untold []Session       `json:"untold,omitempty"`
	Unread []second.Unread `json:"unread,omitempty"`
	// Unknown is what is of a kind that is not known. Complete reports that all was compared
	// and nothing differs.
	Unknown  []second.Unknown `json:"unknown,omitempty"`
	Complete bool             `json:"complete"`
}

// ImportCheck gathers what an import sends of each session.
type ImportCheck struct {
	host string
	// known are all sessions that the agent's reader finds.
	known map[string]bool
	read  []string
	seen  map[string]bool
	sums  map[string]*Sums
	// cut are sessions of which the store has the end only, lacks those of which it need not
	// have any trace yet.
	cut, lacks map[string]bool
}

// NewImportCheck returns the check of an import of an agent, of which these are all sessions
// that its reader finds.
func NewImportCheck(host string, all []importer.Session) *ImportCheck {
	c := &ImportCheck{host: host, known: make(map[string]bool), seen: make(map[string]bool), sums: make(map[string]*Sums), cut: make(map[string]bool), lacks: make(map[string]bool)}
	for i := range all {
		c.known[all[i].ID] = true
	}
	return c
}

// Observe takes what an import does with a session, as [importer.Importer] reports it.
func (c *ImportCheck) Observe(session string, skipped importer.Skipped, runs []*tracepb.ResourceSpans) {
	if runs == nil {
		switch {
		case skipped.SwitchedOff > 0:
			return
		case c.seen[session]:
			delete(c.sums, session) // the store has more of it
			return
		case skipped.AlreadyThere+skipped.Captured == 0:
			c.sums[session] = new(Sums)
		}
		c.cut[session], c.lacks[session] = skipped.TooOld+skipped.Removed > 0, skipped.Captured+skipped.Open > 0
		c.read, c.seen[session] = append(c.read, session), true
		return
	}
	if s := c.sums[session]; s != nil {
		s.Add(runs...)
	}
}

// Verdict reads the files of an agent a second time. clean removes secrets.
func (c *ImportCheck) Verdict(ctx context.Context, env second.Env, st *store.Store, now time.Time, clean func(string) string) (*ImportVerdict, error) {
	files, err := second.Read(ctx, c.host, env)
	if err != nil {
		return nil, err
	}
	v := &ImportVerdict{Unread: files.Unread, Unknown: files.Unknown}
	check := Check{
		Host: c.host, Files: files, Store: st, Sums: c.sums, Now: now, Clean: clean,
		Cut: func(_ context.Context, session string) (bool, error) { return c.cut[session], nil },
	}
	if v.Differ, err = check.Sessions(ctx, c.read); err != nil {
		return nil, err
	}
	v.Gone, v.Sessions = check.Gone, len(c.read)-len(check.Gone)
	if v.Untold, err = check.Untold(ctx, c.known); err != nil {
		return nil, err
	}
	v.Differ = slices.DeleteFunc(v.Differ, func(s Session) bool {
		if s.NoTrace && !c.lacks[s.Session] {
			v.Untold = append(v.Untold, s)
		}
		return s.NoTrace
	})
	for _, sessions := range [][]Session{v.Differ, v.Untold} {
		CleanSessions(sessions, clean)
	}
	CleanUnread(v.Unread, clean)
	CleanUnknown(v.Unknown, clean)
	v.Complete = len(v.Differ)+len(v.Untold)+len(v.Unread)+len(v.Gone) == 0 && !weighty(v.Unknown)
	return v, nil
}

// Text is the verdict in one line, below what was not read.
func (v *ImportVerdict) Text() string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-9s %s\n", name, text) }
	for i, u := range v.Unread {
		if i == MaxUnread {
			line("not read", fmt.Sprintf("and %d more places (--json has them)", len(v.Unread)-i))
			break
		}
		line("not read", termtext.Value(u.String()))
	}
	for _, u := range v.Untold {
		line("not read", "session "+termtext.Value(u.Session)+" is in a form or a place that is not supported: "+termtext.Value(u.Differences[0].String()))
	}
	for _, u := range v.Unknown {
		line("not known", termtext.Value(u.String()))
	}
	if n := len(v.Gone); n > 0 {
		line("not compared", termtext.Plural(n, "session")+" without files: "+termtext.Value(strings.Join(v.Gone[:min(n, maxNamed)], ", ")))
	}
	text := termtext.Plural(v.Sessions, "session") + " equal to a second reading of all files"
	switch n := len(v.Differ); {
	case n == 0 && len(v.Untold) > 0:
		text += ", but for " + termtext.Plural(len(v.Untold), "session") + " that were not read"
	case n > 0:
		text = fmt.Sprintf("%d of %s differ from a second reading of all files, first %s: 'hookspan verify --all' names the differences",
			n, termtext.Plural(v.Sessions, "session"), termtext.Value(v.Differ[0].Session))
	}
	line("verified", text)
	return b.String()
}
