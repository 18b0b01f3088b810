package calltext

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/redactspans"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap/step"
	"github.com/hookspan/hookspan/spool"
)

// Finder finds texts on this machine.
type Finder struct {
	Files *transcript.Files
	Spool *spool.Spool
	// Agent returns what reads the files of an agent and its records in the spool, both empty
	// for one that is not known.
	Agent func(host string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error))
	// Redact removes secrets, from a task's texts also what it removes from another of them.
	Redact *redact.Redactor
	// Home is shortened to ~ in the names of sources.
	Home string
}

// Rows returns the whole texts of rows of one trace, of those that are no calls the
// previews. The error is the context's.
func (f *Finder) Rows(ctx context.Context, t *store.Trace, rows ...*view.Row) ([]view.CallText, error) {
	texts := make([]view.CallText, len(rows))
	var wanted []Wanted
	var at []int
	agents := callersOf(t)
	for i, r := range rows {
		if r.Kind == view.KindTool {
			wanted, at = append(wanted, agents.wanted(r)), append(at, i)
			continue
		}
		texts[i] = r.Texts()
		texts[i].Source = "only the preview is left: this is no tool call"
	}
	if len(wanted) == 0 {
		return texts, nil
	}
	found, err := f.Find(ctx, t, wanted)
	for i := range found {
		texts[at[i]] = found[i]
	}
	return texts, err
}

// Calls replaces what calls of several traces have of their arguments by the whole ones. It asks
// trace for each trace once, and reads each session once.
func (f *Finder) Calls(ctx context.Context, trace func(id string) (*store.Trace, error), calls []store.Call) error {
	sessions := make(map[[2]string][]*store.Call)
	for i := range calls {
		c := &calls[i]
		at := [2]string{c.Host, cmp.Or(c.Session, c.Trace)}
		sessions[at] = append(sessions[at], c)
	}
	for _, all := range sessions {
		if err := f.session(ctx, trace, all); err != nil {
			return err
		}
	}
	return nil
}

// callers are the ids of the subagents that made calls, by the calls' spans.
type callers map[string]string

func callersOf(t *store.Trace) callers {
	var tree step.Tree
	var spans []*tracepb.Span
	for s := range otlp.Spans(t.ResourceSpans) {
		if tree.Add(step.Of(s)) == len(spans) {
			spans = append(spans, s)
		}
	}
	out := make(callers)
	for i, s := range spans {
		if owner := tree.Owner(i); owner != step.None {
			out[otlp.SpanID(s)] = step.Of(spans[owner]).AgentID()
		}
	}
	return out
}

// wanted describes the call of a row.
func (c callers) wanted(r *view.Row) Wanted {
	w := WantedOf(r.Span())
	w.Agent = c[r.SpanID()]
	return w
}

// task is a trace and those of its calls whose texts are looked for.
type task struct {
	trace  *store.Trace
	wanted []Wanted
	calls  []*store.Call
}

// session is Calls for one session's calls. In another folder it is another session.
func (f *Finder) session(ctx context.Context, trace func(id string) (*store.Trace, error), calls []*store.Call) error {
	folders := make(map[string][]*task)
	slices.SortStableFunc(calls, func(x, y *store.Call) int { return strings.Compare(x.Trace, y.Trace) })
	var in *task
	var whole []view.Row
	var agents callers
	places := make(map[string]int)
	for i, c := range calls {
		if i == 0 || c.Trace != calls[i-1].Trace {
			t, err := trace(c.Trace)
			if err != nil {
				return err
			}
			in, whole, agents = &task{trace: t}, view.Rows(t), callersOf(t)
			cwd := QueryOf(t).Cwd
			folders[cwd] = append(folders[cwd], in)
			clear(places)
			for at := range whole {
				places[whole[at].SpanID()] = at
			}
		}
		at, ok := places[c.Span]
		if !ok {
			return fmt.Errorf("trace %s: call %s is gone", c.Trace, c.Span)
		}
		in.wanted, in.calls = append(in.wanted, agents.wanted(&whole[at])), append(in.calls, c)
	}
	for _, tasks := range folders {
		texts, err := f.find(ctx, tasks)
		if err != nil {
			return err
		}
		for _, in := range tasks {
			for i, c := range in.calls {
				c.Arguments = texts[i].Arguments
			}
			texts = texts[len(in.calls):]
		}
	}
	return nil
}

// Find returns the texts of calls of one trace, in their order: from the agent's
// files, else from the spool, else the previews. The error is the context's.
func (f *Finder) Find(ctx context.Context, t *store.Trace, calls []Wanted) ([]view.CallText, error) {
	return f.find(ctx, []*task{{trace: t, wanted: calls}})
}

// find is Find for some tasks of one session, whose files it reads once. From a call's texts it
// removes what its own task removes: what is a secret in one may be a file's name in another.
func (f *Finder) find(ctx context.Context, tasks []*task) ([]view.CallText, error) {
	t := &store.Trace{Summary: tasks[0].trace.Summary, ResourceSpans: tasks[0].trace.ResourceSpans}
	var calls []Wanted
	for _, of := range tasks {
		calls = append(calls, of.wanted...)
		if of.trace.Started.Before(t.Started) {
			t.Started = of.trace.Started
		}
		if of.trace.Ended.After(t.Ended) {
			t.Ended = of.trace.Ended
		}
	}
	read, decode := f.Agent(t.Host)
	inFiles, why := f.files(ctx, read, t, calls)
	byID := make(map[string][]Record)
	for _, r := range inFiles {
		byID[r.ID] = append(byID[r.ID], r)
	}
	var inSpool []Record
	spooled := false
	out := make([]view.CallText, len(calls))
	for i, w := range calls {
		of := byID[w.ID]
		if w.ID == "" {
			of = inFiles
		}
		r := Choose(of, w)
		if r == nil || r.Text.Result == "" && w.Preview.Result != "" {
			if !spooled {
				inSpool, spooled = f.spooled(decode, t, wants(calls)), true
			}
			if s := Choose(inSpool, w); s != nil && (r == nil || s.Text.Result != "") {
				r = s
			}
		}
		if r != nil {
			out[i] = r.Text
		} else {
			out[i] = w.Preview
			out[i].Source = "only the preview is left: " + why
		}
	}
	said := f.said(ctx, read, t)
	at := 0
	for _, of := range tasks {
		f.clean(said, of.trace, out[at:at+len(of.wanted)])
		at += len(of.wanted)
	}
	return out, ctx.Err()
}

// said is what the agent's files say of the time of a trace, nil if they say nothing.
func (f *Finder) said(ctx context.Context, a transcript.Reader, t *store.Trace) *hook.Transcript {
	if a.Read == nil {
		return nil
	}
	q := QueryOf(t)
	q.Since, q.Until = t.Started, t.Ended
	tr, _ := f.Files.Read(ctx, a, q) // less is known without it
	return tr
}

// clean removes the secrets from texts of a task, by what the agent's files say of it, too.
func (f *Finder) clean(said *hook.Transcript, t *store.Trace, texts []view.CallText) {
	m := f.Redact.Memory()
	if said != nil {
		remember(m, t, said)
	}
	each(texts, func(s string) string {
		return rawjson.Clean(bounded(s), func(s string) string { return m.Clean(s, 0) })
	})
	values := redactspans.Secrets(t.ResourceSpans, m.Values(func(int64) bool { return true }))
	each(texts, func(s string) string {
		values = slices.DeleteFunc(values, func(v redact.Value) bool { return v.Names(s) })
		return s
	})
	each(texts, func(s string) string { return redact.Again(s, values) })
}

// remember has a memory note what is removed from the texts of a task.
func remember(m *redact.Memory, t *store.Trace, tr *hook.Transcript) {
	note := func(at time.Time, texts ...string) {
		if !t.Started.IsZero() && (at.Before(t.Started.Add(-slack)) || at.After(t.Ended.Add(slack))) {
			return
		}
		for _, text := range texts {
			m.Clean(text, 0)
		}
	}
	for _, p := range tr.Prompts {
		note(p.At, p.Text)
	}
	for i := range tr.Requests {
		note(tr.Requests[i].Start, tr.Requests[i].Text, tr.Requests[i].Reasoning, tr.Requests[i].Message)
	}
	for i := range tr.ToolResults {
		r := &tr.ToolResults[i]
		note(cmp.Or(r.At, r.Asked), r.Input, r.Text)
	}
}

// QueryOf says which session of the agent a trace is from.
func QueryOf(t *store.Trace) transcript.Query {
	q := transcript.Query{Session: t.Session, Cwd: t.Cwd(), Full: true}
	for s := range otlp.Spans(t.ResourceSpans) {
		if d := step.Of(s).Dialect(); d != "" {
			q.Dialect = d
			break
		}
	}
	return q
}

// files reads the calls from the agent's files. If they do not have one, why says
// so.
func (f *Finder) files(ctx context.Context, a transcript.Reader, t *store.Trace, calls []Wanted) (_ []Record, why string) {
	if a.Read == nil {
		return nil, "hookspan does not read the files of this agent"
	}
	q := QueryOf(t)
	q.Whole = wants(calls)
	tr, err := f.Files.Read(ctx, a, q)
	switch {
	case errors.Is(err, transcript.ErrNotFound):
		return nil, "the agent's files are gone"
	case tr == nil:
		return nil, fmt.Sprintf("the agent's files cannot be read: %v", err)
	case err != nil:
		why = fmt.Sprintf("a part of the agent's files cannot be read: %v", err)
	default:
		why = "the agent's files do not have this call"
	}
	return FromResults(tr.ToolResults, func(r *hook.ToolResult) string {
		unit := "message"
		if strings.HasSuffix(r.File, ".jsonl") {
			unit = "line"
		}
		switch {
		case r.File == "" && len(tr.Sources) > 0:
			return "from " + f.short(tr.Sources[0])
		case r.Row == 0:
			return "from " + f.short(r.File)
		}
		return fmt.Sprintf("from %s, %s %d", f.short(r.File), unit, r.Row)
	}), why
}

// short returns a path with ~ for the home folder.
func (f *Finder) short(path string) string {
	if rest, ok := strings.CutPrefix(path, f.Home+string(filepath.Separator)); ok && f.Home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// spooled reads the wanted calls from the session's payloads. What cannot be read is left
// out.
func (f *Finder) spooled(decode func(*spool.Record) ([]hook.Event, error), t *store.Trace, wanted func(id, name string) bool) []Record {
	if f.Spool == nil || decode == nil {
		return nil
	}
	s, err := f.Spool.Session(spool.SessionKey(t.Host, t.Session))
	if err != nil {
		return nil // usual once the session was delivered
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }()
	var events []hook.Event
	for r.Next() {
		some, err := decode(r.Record())
		if err != nil {
			continue
		}
		for _, e := range some {
			if e.Tool != nil && wanted(e.Tool.ID, e.Tool.Name) {
				events = append(events, e)
			}
		}
	}
	records := FromTool(events)
	for i := range records {
		records[i].Text.Place, records[i].Text.Source = view.PlaceSpool, "from the spool"
	}
	return records
}
