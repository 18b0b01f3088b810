package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
)

// importVerdict is what a second reading of the agent's files says of an import.
type importVerdict struct {
	// Sessions were compared, Differ have a difference.
	Sessions int              `json:"sessions"`
	Differ   []verify.Session `json:"differ,omitempty"`
	// Untold are sessions that the import does not read, Unread the places that are no row.
	Untold []verify.Session `json:"untold,omitempty"`
	Unread []second.Unread  `json:"unread,omitempty"`
}

// importCheck gathers what an import sends of each session.
type importCheck struct {
	host string
	// known are all sessions that the agent's reader finds.
	known map[string]bool
	read  []string
	seen  map[string]bool
	sums  map[string]*verify.Brief
	// cut are sessions of which the store has the end only, lacks those of which it need not
	// have any trace yet.
	cut, lacks map[string]bool
}

func newImportCheck(host string, all []importer.Session) *importCheck {
	c := &importCheck{host: host, known: make(map[string]bool), seen: make(map[string]bool), sums: make(map[string]*verify.Brief), cut: make(map[string]bool), lacks: make(map[string]bool)}
	for i := range all {
		c.known[all[i].ID] = true
	}
	return c
}

func (c *importCheck) observe(session string, skipped importer.Skipped, runs []*tracepb.ResourceSpans) {
	if runs == nil {
		switch {
		case skipped.SwitchedOff > 0:
			return
		case c.seen[session]:
			delete(c.sums, session) // the store has more of it
			return
		case skipped.AlreadyThere+skipped.Captured == 0:
			c.sums[session] = new(verify.Brief)
		}
		c.cut[session], c.lacks[session] = skipped.TooOld+skipped.Removed > 0, skipped.Captured+skipped.Open > 0
		c.read, c.seen[session] = append(c.read, session), true
		return
	}
	if s := c.sums[session]; s != nil {
		s.Add(runs...)
	}
}

func (c *importCheck) verdict(ctx context.Context, a *app, st *store.Store) (*importVerdict, error) {
	files, err := second.Read(ctx, c.host, second.EnvOf(a.home, a.getenv))
	if err != nil {
		return nil, err
	}
	v := &importVerdict{Sessions: len(c.read), Unread: files.Unread}
	check := verify.Check{
		Host: c.host, Files: files, Store: st, Briefs: c.sums, Now: a.now(),
		Cut: func(_ context.Context, session string) (bool, error) { return c.cut[session], nil },
	}
	if v.Differ, err = check.Sessions(ctx, c.read); err != nil {
		return nil, err
	}
	if v.Untold, err = check.Untold(ctx, c.known); err != nil {
		return nil, err
	}
	v.Differ = slices.DeleteFunc(v.Differ, func(s verify.Session) bool {
		if s.NoTrace && !c.lacks[s.Session] {
			v.Untold = append(v.Untold, s)
		}
		return s.NoTrace
	})
	for _, sessions := range [][]verify.Session{v.Differ, v.Untold} {
		verify.CleanSessions(sessions, a.clean)
	}
	verify.CleanUnread(v.Unread, a.clean)
	return v, nil
}

// text is the verdict in one line, below what was not read.
func (v *importVerdict) text() string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-9s %s\n", name, text) }
	for i, u := range v.Unread {
		if i == verify.MaxUnread {
			line("not read", fmt.Sprintf("and %d more places (--json has them)", len(v.Unread)-i))
			break
		}
		line("not read", termtext.Value(u.String()))
	}
	for _, u := range v.Untold {
		line("not read", "session "+termtext.Value(u.Session)+" is in a form or a place that is not supported: "+termtext.Value(u.Differences[0].String()))
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
