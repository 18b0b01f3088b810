package verify

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
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
	// Untraced are sessions in the files without any trace.
	Untraced []Session `json:"untraced,omitempty"`
	// Unread is what of the files is no row, Unknown what is of a kind that is not known.
	Unread  []agentfiles.Unread  `json:"unread,omitempty"`
	Unknown []agentfiles.Unknown `json:"unknown,omitempty"`
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
	Env agentfiles.Env
	Now time.Time
	// Clean removes secrets, as the recording does.
	Clean func(string) string
	// Off reports that a folder's project switches recording off. If nil, none does.
	Off func(dir string) bool
	// All reports that the report covers sessions without a trace, too.
	All bool
}

// Verify compares the sessions of the traces with the agents' files.
func (v *Verifier) Verify(ctx context.Context, sums []store.Summary) (*Report, error) {
	rep := &Report{Traces: make([]Trace, len(sums))}
	chosen := make(map[string][]*Trace) // by host
	for i, t := range sums {
		out := &rep.Traces[i]
		*out = Trace{Trace: t.TraceID, Host: t.Host, Session: t.Session, Title: termtext.Line(t.Title)}
		switch {
		case !agentfiles.Reads(t.Host):
			out.Unverified = fmt.Sprintf("hookspan does not read the files of %q", t.Host)
		case t.Session == "":
			out.Unverified = "the trace names no session"
		default:
			chosen[t.Host] = append(chosen[t.Host], out)
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

// host compares the sessions of traces of an agent.
func (v *Verifier) host(ctx context.Context, rep *Report, host string, traces []*Trace) error {
	chosen := make(map[string][]*Trace) // by session
	for _, t := range traces {
		chosen[t.Session] = append(chosen[t.Session], t)
	}
	files, err := agentfiles.Read(ctx, host, v.Env)
	if err != nil {
		return err
	}
	c := Check{Host: host, Files: files, Store: v.Store, Now: v.Now, Clean: v.Clean, Off: v.Off, Cut: func(ctx context.Context, id string) (bool, error) {
		roots, err := v.Store.Conversations(ctx, id)
		return slices.ContainsFunc(roots, func(r store.Root) bool { return r.Removed }), err
	}}
	if !v.All {
		c.Some = make(map[string]bool)
		for id := range chosen {
			c.Some[id] = true
		}
	}
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
	for _, t := range traces {
		switch {
		case c.Sums[t.Session].empty():
			t.Unverified = "the trace was removed meanwhile"
		case slices.Contains(c.Gone, t.Session):
			t.Unverified = "the agent's files are gone"
		default:
			t.Calls, t.Requests = c.Sums[t.Session].counts(t.Trace)
		}
	}
	if v.All {
		untraced, err := c.Untraced(ctx, func(id string) bool { return chosen[id] != nil })
		if err != nil {
			return err
		}
		rep.Untraced, rep.Unknown = append(rep.Untraced, untraced...), append(rep.Unknown, files.Unknown...)
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
		rep.Calls, rep.Requests = rep.Calls+t.Calls, rep.Requests+t.Requests
		switch {
		case t.Unverified != "":
			rep.Unverified++
			continue
		case len(t.Differences) > 0:
			rep.Different++
		}
		rep.Verified++
	}
	rep.Complete = rep.Different+rep.Unverified+len(rep.Sessions)+len(rep.Unread) == 0 && !weighty(rep.Unknown)
}

// weighty reports a kind that is not known of which something may be missing.
func weighty(kinds []agentfiles.Unknown) bool {
	return slices.ContainsFunc(kinds, func(u agentfiles.Unknown) bool { return u.Counts })
}

// Clean applies clean to every text, and puts it on one line.
func (rep *Report) Clean(clean func(string) string) { scrub(clean, reflect.ValueOf(rep)) }

// scrub does so for all texts below a value but ids of traces.
func scrub(clean func(string) string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer:
		scrub(clean, v.Elem())
	case v.Type() == reflect.TypeFor[string]():
		v.SetString(termtext.Line(clean(v.String())))
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			scrub(clean, v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Trace" {
				scrub(clean, v.Field(i))
			}
		}
	}
}

// maxUnread bounds the places that were not read which are shown to people.
const maxUnread = 10

// places names the places that were not read, and the kinds that are not known.
func (f *Findings) places(line func(name, text string)) {
	for _, u := range f.Unread[:min(len(f.Unread), maxUnread)] {
		line("not read", termtext.Value(u.String()))
	}
	if n := len(f.Unread) - maxUnread; n > 0 {
		line("not read", fmt.Sprintf("and %d more places (--json has them)", n))
	}
	for _, u := range f.Unknown {
		line("not known", termtext.Value(u.String()))
	}
}

// Text shows the report to people, width columns wide if that is not zero.
func (rep *Report) Text(width int) string {
	var b strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	below := func(text string) { printf("    %s\n", termtext.Fold(termtext.Value(text), 4, width)) }
	all := func(differences []Difference) {
		for _, d := range differences {
			below(d.String())
		}
	}
	for i := range rep.Traces {
		t := &rep.Traces[i]
		mark, counts := "✗", ""
		switch {
		case t.Unverified != "":
			mark = "?"
		case len(t.Differences) == 0:
			mark, counts = "✓", "  "+countsText(t.Calls, t.Requests)
		}
		head := mark + " " + store.ShortID(t.Trace) + "  "
		title := termtext.Value(t.Title)
		if width > 0 {
			title = termtext.CutWidth(title, max(10, width-termtext.Width(head+counts)), "…")
		}
		printf("%s\n", head+title+counts)
		if t.Unverified != "" {
			below("cannot verify: " + t.Unverified)
		}
		all(t.Differences)
	}
	for _, s := range rep.Sessions {
		printf("✗ session %s: a second reading of all its files\n", termtext.Value(s.Session))
		all(s.Differences)
	}
	for _, u := range rep.Untraced {
		printf("? session %s: no trace\n", termtext.Value(u.Session))
		all(u.Differences[:1])
	}
	rep.places(func(name, text string) { printf("? %s: %s\n", name, text) })
	if rep.Private > 0 {
		printf("? %s in private folders were not compared\n", termtext.Plural(rep.Private, "request"))
	}
	sum := fmt.Sprintf("%d of %s verified", rep.Verified, termtext.Plural(len(rep.Traces), "trace"))
	if rep.Verified > 0 {
		differ := "no difference"
		if rep.Different > 0 {
			differ = termtext.Plural(rep.Different, "trace") + " with differences"
		} else if len(rep.Sessions) > 0 {
			differ = termtext.Plural(len(rep.Sessions), "session") + " with differences"
		}
		sum += ": " + countsText(rep.Calls, rep.Requests) + "; " + differ
	}
	printf("\n%s\n", termtext.Fold(sum, 0, width))
	return b.String()
}

func countsText(calls, requests int) string {
	return termtext.Plural(calls, "call") + ", " + termtext.Plural(requests, "request")
}

// maxNamed bounds the ids that a difference names.
const maxNamed = 5

// String describes the difference to people.
func (d Difference) String() string {
	switch d.Kind {
	case Missing:
		if d.InTrace == "" {
			return d.What + ": the trace lacks it" + d.place()
		}
	case Extra:
		return d.What + ": the agent's files do not have it" + d.place()
	case Double:
		return d.What + ": more often in the trace than in the agent's files" + d.place()
	case Order:
		return d.What + ": in the trace " + d.InTrace + ", in the agent's files " + d.InFiles
	}
	return fmt.Sprintf("%s: %s: %s in the trace, %s in the agent's files%s", d.What, d.Kind, d.InTrace, d.InFiles, d.place())
}

// place names the file and the ids of a difference.
func (d *Difference) place() string {
	n, text := len(d.IDs), ""
	if n > 1 || n == 1 && !strings.HasSuffix(d.What, d.IDs[0]) {
		text = " " + strings.Join(d.IDs[:min(n, maxNamed)], ", ")
	}
	if n > maxNamed {
		text += fmt.Sprintf(" and %d more", n-maxNamed)
	}
	if d.File != "" {
		text += " in " + filepath.Base(d.File)
	}
	if text == "" || d.Trace != "" && n == 1 { // it is named
		return ""
	}
	return " (" + text[1:] + ")"
}
