package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
)

// Report is what a verification found.
type Report struct {
	// Verified, Different and Unverified count traces. Different ones were verified.
	Verified   int `json:"verified"`
	Different  int `json:"different"`
	Unverified int `json:"unverified"`
	// Calls and Requests were compared.
	Calls    int `json:"calls"`
	Requests int `json:"requests"`
	// Private counts requests that were not compared since nothing is recorded in their folders.
	Private int     `json:"private,omitempty"`
	Traces  []Trace `json:"traces"`
	// Sessions have differences that are of no trace above.
	Sessions []Session `json:"sessions,omitempty"`
	Findings
}

// Findings are what a reading of an agent's files found beside differences.
type Findings struct {
	// Untold are sessions in the files without any trace: imports have them, or they are in a
	// form that is not read.
	Untold []Session `json:"untold,omitempty"`
	// Unread is what of the files is no row, Unknown what is of a kind that is not known.
	Unread  []second.Unread  `json:"unread,omitempty"`
	Unknown []second.Unknown `json:"unknown,omitempty"`
	// Complete reports that all was compared and nothing differs.
	Complete bool `json:"complete"`
}

// Trace is a trace of a report.
type Trace struct {
	Trace string `json:"traceId"`
	// Calls and Requests were compared.
	Calls       int          `json:"calls"`
	Requests    int          `json:"requests"`
	Differences []Difference `json:"differences,omitempty"`
	Host        string       `json:"host"`
	Session     string       `json:"session"`
	Title       string       `json:"title,omitempty"`
	// Unverified is why the trace could not be verified, empty if it was.
	Unverified string `json:"unverified,omitempty"`
}

// Verifier verifies traces of a store.
type Verifier struct {
	Store *store.Store
	// Env is where the agents' files are.
	Env second.Env
	Now time.Time
	// Clean removes secrets, as the recording does.
	Clean func(string) string
	// Off reports that a folder's project switches recording off. If nil, none does.
	Off func(dir string) bool
	// All reports that the report covers sessions without a trace, too.
	All bool
}

// Verify compares the sessions of the traces with the agents' files. An error is the store's
// or the context's.
func (v *Verifier) Verify(ctx context.Context, sums []store.Summary) (*Report, error) {
	rep := &Report{Traces: make([]Trace, len(sums))}
	chosen := make(map[string]map[string][]*Trace) // by host and session
	for i, t := range sums {
		out := &rep.Traces[i]
		*out = Trace{Trace: t.TraceID, Host: t.Host, Session: t.Session, Title: termtext.Line(t.Title)}
		switch {
		case !second.Reads(t.Host):
			out.Unverified = fmt.Sprintf("hookspan does not read the files of %q", t.Host)
		case t.Session == "":
			out.Unverified = "the trace names no session"
		default:
			if chosen[t.Host] == nil {
				chosen[t.Host] = make(map[string][]*Trace)
			}
			chosen[t.Host][t.Session] = append(chosen[t.Host][t.Session], out)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(chosen)) {
		if err := v.host(ctx, rep, host, chosen[host]); err != nil {
			return nil, err
		}
	}
	rep.count()
	return rep, nil
}

// host compares sessions of an agent.
func (v *Verifier) host(ctx context.Context, rep *Report, host string, chosen map[string][]*Trace) error {
	files, err := second.Read(ctx, host, v.Env)
	if err != nil {
		return err
	}
	c := Check{Host: host, Files: files, Store: v.Store, Now: v.Now, Clean: v.Clean, Off: v.Off, Cut: func(ctx context.Context, id string) (bool, error) {
		roots, err := v.Store.Conversations(ctx, id)
		return slices.ContainsFunc(roots, func(r store.Root) bool { return r.Removed }), err
	}}
	differ, err := c.Sessions(ctx, slices.Sorted(maps.Keys(chosen)))
	if err != nil {
		return err
	}
	rep.Private += c.Private
	for _, s := range differ {
		s.Differences = slices.DeleteFunc(s.Differences, func(d Difference) bool {
			i := slices.IndexFunc(chosen[s.Session], func(t *Trace) bool { return t.Trace == d.Trace })
			if i >= 0 {
				t := chosen[s.Session][i]
				t.Differences = append(t.Differences, d)
			}
			return i >= 0
		})
		if len(s.Differences) > 0 {
			rep.Sessions = append(rep.Sessions, s)
		}
	}
	for id, traces := range chosen {
		for _, t := range traces {
			t.Calls, t.Requests = c.Sums[id].counts(t.Trace)
			switch {
			case c.Sums[id].empty():
				t.Unverified = "the trace was removed meanwhile"
			case slices.Contains(c.Gone, id):
				t.Unverified = "the agent's files are gone"
			}
		}
	}
	if v.All {
		ids := make(map[string]bool)
		for id := range chosen {
			ids[id] = true
		}
		untold, err := c.Untold(ctx, ids)
		if err != nil {
			return err
		}
		rep.Untold, rep.Unknown = append(rep.Untold, untold...), append(rep.Unknown, files.Unknown...)
	}
	for _, u := range files.Unread {
		if v.All || chosen[u.Session] != nil {
			rep.Unread = append(rep.Unread, u)
		}
	}
	return nil
}

// count sums up the traces.
func (rep *Report) count() {
	for i := range rep.Traces {
		t := &rep.Traces[i]
		if t.Unverified != "" {
			rep.Unverified++
			t.Calls, t.Requests = 0, 0
			continue
		}
		rep.Verified++
		if len(t.Differences) > 0 {
			rep.Different++
		}
		rep.Calls += t.Calls
		rep.Requests += t.Requests
	}
	rep.Complete = rep.Different+rep.Unverified+len(rep.Sessions)+len(rep.Unread) == 0 && !weighty(rep.Unknown)
}

// weighty reports a kind that is not known of which something may be missing.
func weighty(kinds []second.Unknown) bool {
	return slices.ContainsFunc(kinds, func(u second.Unknown) bool { return u.Counts })
}

// Clean applies clean to every text, each of which may be the agent's files', and puts it
// on one line.
func (rep *Report) Clean(clean func(string) string) {
	for i := range rep.Traces {
		t := &rep.Traces[i]
		scrub(clean, &t.Host, &t.Session, &t.Title, &t.Unverified)
		cleanDifferences(t.Differences, clean)
	}
	rep.clean(clean, rep.Sessions)
}

// clean does so for what was found, and for sessions.
func (f *Findings) clean(clean func(string) string, sessions []Session) {
	for _, s := range [][]Session{sessions, f.Untold} {
		for i := range s {
			scrub(clean, &s[i].Session)
			cleanDifferences(s[i].Differences, clean)
		}
	}
	for i := range f.Unread {
		scrub(clean, &f.Unread[i].File, &f.Unread[i].Reason, &f.Unread[i].Session)
	}
	for i := range f.Unknown {
		scrub(clean, &f.Unknown[i].Kind, &f.Unknown[i].File)
	}
}

func cleanDifferences(all []Difference, clean func(string) string) {
	for k := range all {
		d := &all[k]
		scrub(clean, &d.What, &d.InTrace, &d.InFiles, &d.File)
		for j := range d.IDs {
			scrub(clean, &d.IDs[j])
		}
	}
}

func scrub(clean func(string) string, texts ...*string) {
	for _, text := range texts {
		*text = termtext.Line(clean(*text))
	}
}
