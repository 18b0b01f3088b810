package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/calltext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Report is what a verification found.
type Report struct {
	// Verified, Different and Unverified count traces. Different ones were verified.
	Verified   int `json:"verified"`
	Different  int `json:"different"`
	Unverified int `json:"unverified"`
	// Calls and Requests were compared, NotCompared calls could not be.
	Calls       int     `json:"calls"`
	Requests    int     `json:"requests"`
	NotCompared int     `json:"notCompared,omitempty"`
	Traces      []Trace `json:"traces"`
	// Sessions are those of which the second reading of the files says something else than
	// all their traces together.
	Sessions []Session `json:"sessions,omitempty"`
	// Untold are sessions in the files without any trace: imports have them, or they are in a
	// form that is not read.
	Untold []Session `json:"untold,omitempty"`
	// Unread is what of the files is no row.
	Unread []second.Unread `json:"unread,omitempty"`
}

// Trace is a trace of a report.
type Trace struct {
	Result
	Host    string `json:"host"`
	Session string `json:"session"`
	Title   string `json:"title,omitempty"`
	// Unverified is why the trace could not be verified, empty if it was.
	Unverified string `json:"unverified,omitempty"`
}

// Verifier verifies traces of a store.
type Verifier struct {
	Store *store.Store
	// Transcripts read the agents' files, by host.
	Transcripts map[string]transcript.Reader
	Files       *transcript.Files
	// All reports that the report covers sessions without a trace, too.
	All bool
}

// Verify compares the traces with the agents' files. An error is the store's or the
// context's.
func (v *Verifier) Verify(ctx context.Context, sums []store.Summary) (*Report, error) {
	type session struct{ host, id string }
	bySession := make(map[session][]store.Summary)
	var order []session
	for _, t := range sums {
		k := session{t.Host, t.Session}
		if bySession[k] == nil {
			order = append(order, k)
		}
		bySession[k] = append(bySession[k], t)
	}
	rep := &Report{Traces: []Trace{}}
	for _, k := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		results, why, err := v.session(ctx, k.host, k.id)
		if err != nil {
			return nil, err
		}
		for _, t := range bySession[k] {
			out := Trace{Result: Result{Trace: t.TraceID}, Host: t.Host, Session: t.Session, Title: termtext.Line(t.Title), Unverified: why}
			if r, found := results[t.TraceID]; found && why == "" {
				out.Result = r
			}
			rep.add(&out)
		}
	}
	byHost := make(map[string]map[string]bool)
	for _, k := range order {
		if byHost[k.host] == nil {
			byHost[k.host] = make(map[string]bool)
		}
		byHost[k.host][k.id] = true
	}
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		if err := v.again(ctx, rep, host, byHost[host]); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// again holds all traces of the sessions against a second reading of the files.
func (v *Verifier) again(ctx context.Context, rep *Report, host string, ids map[string]bool) error {
	if v.Transcripts[host].Read == nil {
		return nil
	}
	files, err := second.Read(ctx, host, second.EnvOf(v.Files.Home, v.Files.Getenv))
	if err != nil {
		return err
	}
	c := Check{Host: host, Files: files, Store: v.Store, Now: v.now(), Cut: func(ctx context.Context, id string) (bool, error) {
		roots, err := v.Store.Conversations(ctx, id)
		return slices.ContainsFunc(roots, func(r store.Root) bool { return r.Removed }), err
	}}
	differ, err := c.Sessions(ctx, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return err
	}
	rep.Sessions = append(rep.Sessions, differ...)
	if v.All {
		untold, err := c.Untold(ctx, ids)
		if err != nil {
			return err
		}
		rep.Untold = append(rep.Untold, untold...)
	}
	for _, u := range files.Unread {
		if v.All || ids[u.Session] {
			rep.Unread = append(rep.Unread, u)
		}
	}
	return nil
}

func (v *Verifier) now() time.Time {
	if v.Files.Now == nil {
		return time.Now()
	}
	return v.Files.Now()
}

// Clean applies clean to every text, each of which may be the agent's files', and puts it
// on one line.
func (r *Report) Clean(clean func(string) string) {
	for i := range r.Traces {
		t := &r.Traces[i]
		texts := []*string{&t.Host, &t.Session, &t.Title, &t.Unverified}
		for k := range t.Differences {
			d := &t.Differences[k]
			texts = append(texts, &d.What, &d.InTrace, &d.InFiles)
		}
		for _, text := range texts {
			*text = termtext.Line(clean(*text))
		}
	}
	for _, sessions := range [][]Session{r.Sessions, r.Untold} {
		CleanSessions(sessions, clean)
	}
	CleanUnread(r.Unread, clean)
}

// CleanSessions does so for sessions, and CleanUnread for what was not read.
func CleanSessions(sessions []Session, clean func(string) string) {
	for i := range sessions {
		s := &sessions[i]
		s.Session = termtext.Line(clean(s.Session))
		for k := range s.Differences {
			d := &s.Differences[k]
			for _, text := range []*string{&d.What, &d.InTrace, &d.InFiles, &d.File} {
				*text = termtext.Line(clean(*text))
			}
			for j := range d.IDs {
				d.IDs[j] = termtext.Line(clean(d.IDs[j]))
			}
		}
	}
}

func CleanUnread(unread []second.Unread, clean func(string) string) {
	for i := range unread {
		u := &unread[i]
		for _, text := range []*string{&u.File, &u.Reason, &u.Session} {
			*text = termtext.Line(clean(*text))
		}
	}
}

func (r *Report) add(t *Trace) {
	r.Traces = append(r.Traces, *t)
	if t.Unverified != "" {
		r.Unverified++
		return
	}
	r.Verified++
	if len(t.Differences) > 0 {
		r.Different++
	}
	r.Calls += t.Calls
	r.Requests += t.Requests
	r.NotCompared += t.NotCompared
}

// session compares all traces of a session with its files. why says what keeps it from
// that.
func (v *Verifier) session(ctx context.Context, host, id string) (results map[string]Result, why string, err error) {
	agent := v.Transcripts[host]
	switch {
	case agent.Read == nil:
		return nil, fmt.Sprintf("hookspan does not read the files of %q", host), nil
	case id == "":
		return nil, "the trace names no session", nil
	}
	var c Comparison
	var q transcript.Query
	err = eachOwn(ctx, v.Store, host, id, func(t *store.Trace) error {
		if q.Session == "" {
			q = calltext.QueryOf(t)
		}
		c.Add(t)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if q.Session == "" {
		return nil, "the trace was removed meanwhile", nil
	}
	files, err := v.Files.Read(ctx, agent, q)
	if why = problem(files, err); why != "" {
		return nil, why, ctx.Err()
	}
	results = make(map[string]Result)
	for _, r := range c.Results(files) {
		results[r.Trace] = r
	}
	return results, "", nil
}

// problem says why files cannot be compared with, "" if they can.
func problem(files *hook.Transcript, err error) string {
	switch {
	case errors.Is(err, transcript.ErrNotFound):
		return "the agent's files are gone"
	case err != nil:
		return "the agent's files cannot be read completely: " + termtext.Message(err)
	case files == nil:
		return "the agent's files say nothing"
	}
	return ""
}
