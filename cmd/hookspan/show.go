package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/calltext"
	"github.com/hookspan/hookspan/internal/traces/findings"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// showFlags are the flags of hookspan show.
type showFlags struct {
	session, span, file, commit     string
	failed, full                    bool
	verbose, ascii, asJSON, noPager bool
	cost                            bool
}

// newestSession is the value of --session without one.
const newestSession = "newest"

func showCmd(a *app) *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "Show a trace as a tree, the newest if none is named",
		Long: `Show what the agent did in one task: tools, requests to the model, subagents,
errors, with durations, tokens and cost. ID is the beginning of a trace id, four
digits or more, as hookspan list prints it, or that of a session's id.

Each tool call has a number. --span shows one call with its arguments, its result
and the hooks that decided about it, --failed every call that failed. With --full
the texts are whole: from the agent's own files or, if these no longer have them,
from the spool, without secrets; where they are from is printed.

--cost says where the money went: for the agent's requests and its subagents, and which
requests missed the cache or were made larger by the output of a call, and what hookspan
findings finds in the task.

It also says what the session's first request had: the input that the agent and its
settings send before any work is done, the share that was cached, and how that changed
since the agent's session before in the same folder.

--file shows how the task changed a file, or those of a folder, as diffs.

--commit shows the task with the call that made a commit.

--session shows a whole conversation in order: what you and the agent said, and
the tools.

On a terminal the output goes through the pager in PAGER, or less.`,
		Example: `  hookspan show
  hookspan show 1c29f818 --span 3 --full
  hookspan show --failed --full
  hookspan show --cost
  hookspan show --session`,
		Args: takes(1, "one trace id"), ValidArgsFunction: completeTraces(a),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.session, "session", "", "show a whole session: the newest one, that of the trace ID, or the one whose id begins with `ID`")
	flags.Lookup("session").NoOptDefVal = newestSession
	flags.StringVar(&f.span, "span", "", "show one call: its `NUMBER` in the tree, or the beginning of a span id")
	flags.StringVar(&f.file, "file", "", "show how this file, folder/ or *.pattern was changed, as diffs")
	flags.StringVar(&f.commit, "commit", "", "show the task that made this commit, or one whose `ID` begins so")
	flags.BoolVar(&f.failed, "failed", false, "show every call that failed, was denied or never ended")
	flags.BoolVar(&f.cost, "cost", false, "show where the money went: requests, subagents, cache misses, large outputs")
	flags.BoolVar(&f.full, "full", false, "with --span or --failed: whole texts, not only the previews")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show ids and whole previews")
	flags.BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters alone")
	flags.BoolVar(&f.noPager, "no-pager", false, "no pager, also on a terminal")
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, changed := strings.Join(args, ""), flags.Changed
		if err := f.wrong(cmd, id); err != nil {
			return err
		}
		return withPipeline(cmd.Context(), a, func(ctx context.Context, p *pipeline.Pipeline) error {
			if changed("session") {
				return showSession(ctx, a, p, cmd, f, id)
			}
			id, err := f.named(ctx, p, id)
			if err != nil {
				return err
			}
			t, err := p.Trace(ctx, id)
			if isSession, serr := namesSession(ctx, a, p, id, err); serr != nil {
				return serr
			} else if isSession {
				if f.failed || f.cost || f.span != "" || f.file != "" {
					return wrongUsage(cmd, "%q: it is a session: --span, --failed, --cost and --file are for one trace", id)
				}
				return showSession(ctx, a, p, cmd, f, id)
			}
			if err != nil {
				return noSuchTrace(ctx, a, p, id, err)
			}
			switch {
			case f.file != "":
				edits := callsFlags{filterFlags: &filterFlags{app: a, asJSON: f.asJSON}, calls: view.CallFilter{File: f.file, Edits: true}, full: true}
				return edits.print(ctx, p, store.Filter{Trace: t.TraceID, Limit: -1})
			case f.failed || f.span != "":
				return showCalls(ctx, a, p, t, f)
			case f.cost:
				return showCost(ctx, a, p, t, f)
			case f.asJSON:
				return a.printJSON(t)
			}
			if id == "" {
				defer a.hintSkipped(ctx)
			}
			return paged(a, f, func(w io.Writer) error {
				o := showOptions(a, f)
				o.Resume = a.resume(ctx, &t.Summary)
				return view.Tree(w, t, o)
			})
		})
	}
	return cmd
}

// wrong returns an error for flags that cannot go together.
func (f *showFlags) wrong(cmd *cobra.Command, id string) error {
	changed := cmd.Flags().Changed
	switch _, badPattern := path.Match(f.file, ""); {
	case badPattern != nil:
		return wrongUsage(cmd, wantPattern, f.file, badPattern)
	case changed("session") && (f.failed || changed("span") || f.full):
		return wrongUsage(cmd, "--session: it shows whole conversations: --span, --failed and --full are for one trace")
	case f.commit != "" && (id != "" || changed("session")):
		return wrongUsage(cmd, "--commit: it names the task: want it without ID and --session")
	case f.cost && (changed("session") || f.failed || changed("span")):
		return wrongUsage(cmd, "--cost: it is of one trace: want it without --session, --span and --failed")
	case f.file != "" && (changed("session") || f.failed || changed("span") || f.cost):
		return wrongUsage(cmd, "--file: want it without --session, --span, --failed and --cost")
	case f.failed && changed("span"):
		return wrongUsage(cmd, "--span and --failed: want one of them")
	case f.full && !f.failed && !changed("span"):
		return wrongUsage(cmd, "--full: want --span or --failed, to say of which calls")
	case f.verbose && (f.cost || f.failed || f.asJSON || changed("span") || changed("file")):
		return wrongUsage(cmd, "--verbose: it is of the tree: want it without --cost, --failed, --span, --file and --json")
	case changed("span") && !view.NamesRow(f.span):
		return wrongUsage(cmd, "--span %q: want a number as the tree prints it, such as 3, or the beginning of a span id, four digits or more", f.span)
	}
	return nil
}

// fullCommit is how long the id of a commit is at least.
const fullCommit = 40

// named returns the id of the trace that the flags name, else id.
func (f *showFlags) named(ctx context.Context, p *pipeline.Pipeline, id string) (string, error) {
	if f.commit == "" {
		return id, nil
	}
	made, err := p.Store.List(ctx, store.Filter{Commit: f.commit, Limit: 2})
	switch {
	case err != nil:
		return "", err
	case len(made) == 0:
		return "", hinted{fmt.Errorf("commit %s: no recorded call made it", f.commit), "hookspan blame FILE shows which lines are of recorded commits"}
	case len(made) > 1 && len(f.commit) < fullCommit:
		return "", hinted{fmt.Errorf("commit %s: several tasks made commits that begin so", f.commit), "give more digits, or see hookspan list --commit " + f.commit}
	}
	return made[0].TraceID, nil
}

func showOptions(a *app, f showFlags) view.Options {
	o := a.viewOptions()
	o.Verbose, o.ASCII = f.verbose, f.ascii
	return o
}

// paged writes to standard output, on a terminal through the pager.
func paged(a *app, f showFlags, write func(io.Writer) error) error {
	out, ok := a.stdout.Writer.(*os.File)
	if !ok || f.noPager || a.terminal() == 0 {
		return write(a.stdout)
	}
	set := slices.ContainsFunc(a.environ, func(kv string) bool { return strings.HasPrefix(kv, "PAGER=") })
	return showPaged(pagerCommand(a.getenv, set, a.goos), out, a.stderr, a.environ, write)
}

// shownCall is a call as --json prints it.
type shownCall struct {
	Trace   string      `json:"traceId"`
	Span    string      `json:"spanId"`
	Number  int         `json:"number,omitempty"`
	Name    string      `json:"name"`
	Status  otelmap.End `json:"status"`
	Started time.Time   `json:"started,omitzero"`
	Ended   time.Time   `json:"ended,omitzero"`
	view.CallText
}

// showCost prints where the money of a task went.
func showCost(ctx context.Context, a *app, p *pipeline.Pipeline, t *store.Trace, f showFlags) error {
	w := store.WorkOf(t)
	opening, err := p.Store.Opening(ctx, w)
	if err != nil {
		return err
	}
	found, err := findings.Read(ctx, p.Store, store.Filter{Trace: t.TraceID})
	if err != nil {
		return err
	}
	costs := view.CostsOf(w, opening)
	costs.Findings = found.Findings
	if f.asJSON {
		return a.printJSON(costs)
	}
	return view.Cost(a.stdout, t.Title, costs, a.viewOptions())
}

// showCalls shows one row of a trace, or the calls that failed.
func showCalls(ctx context.Context, a *app, p *pipeline.Pipeline, t *store.Trace, f showFlags) error {
	rows := view.Rows(t)
	places := view.Failed(rows)
	if !f.failed {
		place, err := view.FindRow(rows, f.span)
		if err != nil {
			return hinted{fmt.Errorf("trace %s: %w", store.ShortID(t.TraceID), err), "hookspan show " + store.ShortID(t.TraceID) + " prints the numbers, with -v also the ids"}
		}
		places = []int{place}
	}
	chosen, texts := make([]*view.Row, len(places)), make([]view.CallText, len(places))
	for i, at := range places {
		chosen[i], texts[i] = &rows[at], rows[at].Texts()
	}
	if f.full {
		var err error
		if texts, err = a.finder(p).Rows(ctx, t, chosen...); err != nil {
			return err
		}
	}
	for i := range texts { // Cline's file has an error without a text for a refused request.
		if _, message := rows[0].Problem(); texts[i].Error == otelmap.ErrorOther && message != "" {
			texts[i].Error = message
		}
	}
	if f.asJSON {
		out := make([]shownCall, len(places))
		for i, r := range chosen {
			out[i] = shownCall{t.TraceID, r.SpanID(), r.Number, r.Label, r.Status, r.Start, r.End, texts[i]}
		}
		return a.printJSON(out)
	}
	if len(places) == 0 {
		a.printf("no call failed in trace %s\n", store.ShortID(t.TraceID))
		a.hint("hookspan calls --failed lists those of every task")
		return nil
	}
	err := paged(a, f, func(w io.Writer) error {
		for i, at := range places {
			if i > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return err
				}
			}
			if err := view.Call(w, t, chosen[i], view.HooksOf(rows, at), texts[i], showOptions(a, f)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !f.full {
		a.hint("these are previews; --full shows the whole texts")
	}
	return err
}

// finder finds the whole texts of calls.
func (a *app) finder(p *pipeline.Pipeline) *calltext.Finder {
	return &calltext.Finder{
		Files: a.setup().Files(), Spool: p.Deliverer.Spool, Home: a.home, Agent: a.agents.Reader, Redact: configured.Always(a.cfg),
	}
}

// resume returns the agent's command that continues a session, "" if it has none or has
// not kept the session here.
func (a *app) resume(ctx context.Context, t *store.Summary) string {
	reader, _ := a.agents.Reader(t.Host)
	q := transcript.Query{Session: t.Session, Cwd: t.Cwd(), Since: a.now()} // only whether it is there
	if reader.Read != nil {
		if _, err := a.setup().Files().Read(ctx, reader, q); errors.Is(err, transcript.ErrNotFound) {
			return ""
		}
	}
	return a.agents.ResumeCommand(t.Host, t.Session)
}

// showSession shows a whole session: the newest, that of a trace, or the one whose id
// begins with a word.
func showSession(ctx context.Context, a *app, p *pipeline.Pipeline, cmd *cobra.Command, f showFlags, id string) error {
	if f.session != "" && f.session != newestSession {
		if id != "" {
			return wrongUsage(cmd, "--session=%s and %q: want one of them", f.session, id)
		}
		id = f.session
	}
	session, err := findSession(ctx, a, p, id)
	if err != nil {
		return err
	}
	running := a.running(ctx, p)
	page, err := p.Store.Page(ctx, store.Filter{Session: session, Whole: true, Limit: -1}, running...)
	if err != nil {
		return err
	}
	sums, total := append(page.Running, page.Traces...), page.Totals
	for i := range page.Running {
		total.Add(&page.Running[i])
	}
	get := func(id string) (*store.Trace, error) { return stored(ctx, p.Store, running, id) }
	if f.asJSON {
		slices.Reverse(sums)
		traces := make([]*store.Trace, 0, len(sums))
		for i := range sums {
			t, err := get(sums[i].TraceID)
			if err != nil {
				return err
			}
			traces = append(traces, t)
		}
		return a.printJSON(traces)
	}
	return paged(a, f, func(w io.Writer) error {
		return view.Conversation(w, sums, &total, get, showOptions(a, f))
	})
}

// stored returns the trace with an id, of a task that ran before or stored.
func stored(ctx context.Context, s *store.Store, running []*store.Trace, id string) (*store.Trace, error) {
	if i := slices.IndexFunc(running, func(t *store.Trace) bool { return t.TraceID == id }); i >= 0 {
		return running[i], nil
	}
	return s.Trace(ctx, id)
}

// ofSessions returns the tasks of sessions whose ids begin with a word, the newest first.
func ofSessions(ctx context.Context, a *app, p *pipeline.Pipeline, word string) ([]store.Summary, error) {
	page, err := p.Store.Page(ctx, store.Filter{Session: word, Limit: -1}, a.running(ctx, p)...)
	sums := append(page.Running, page.Traces...)
	slices.SortStableFunc(sums, func(x, y store.Summary) int { return y.Started.Compare(x.Started) })
	return sums, err
}

// namesSession reports whether a word of which no trace was found is a session's id or
// the beginning of one.
func namesSession(ctx context.Context, a *app, p *pipeline.Pipeline, word string, err error) (bool, error) {
	if len(word) < 4 || !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrPrefix) {
		return false, nil
	}
	sums, err := ofSessions(ctx, a, p, word)
	return len(sums) > 0, err
}

// findSession returns the id of a session. The word is the beginning of its id, or of
// the id of one of its traces.
func findSession(ctx context.Context, a *app, p *pipeline.Pipeline, word string) (string, error) {
	sums, err := ofSessions(ctx, a, p, word)
	if err != nil {
		return "", err
	}
	switch id, err := view.SessionOf(sums, word); {
	case err != nil:
		return "", hinted{err, "give more of the id"}
	case id != "":
		return id, nil
	}
	t, err := p.Trace(ctx, word)
	switch {
	case err == nil && t.Session != "":
		return t.Session, nil
	case err == nil:
		return "", fmt.Errorf("trace %s has no session", store.ShortID(t.TraceID))
	case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrPrefix):
		if word == "" {
			return "", noSuchTrace(ctx, a, p, word, err)
		}
		return "", hinted{fmt.Errorf("no session begins with %q, and no trace", word), "hookspan list --json prints the ids of sessions"}
	}
	return "", noSuchTrace(ctx, a, p, word, err)
}

// withPipeline calls f with a pipeline whose store is up to date.
func withPipeline(ctx context.Context, a *app, f func(context.Context, *pipeline.Pipeline) error) error {
	a.configProblems()
	p, err := a.setup().OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return f(ctx, p)
}

// noSuchTrace says why the trace that was asked for cannot be shown.
func noSuchTrace(ctx context.Context, a *app, p *pipeline.Pipeline, id string, err error) error {
	if some, lerr := ofSessions(ctx, a, p, ""); lerr == nil && len(some) == 0 {
		a.hintSkipped(ctx)
		return hinted{errors.New("no tasks yet"), noTracesYet(ctx, a)}
	}
	var several *store.AmbiguousError
	switch {
	case errors.Is(err, store.ErrNotFound) && slices.ContainsFunc(a.running(ctx, p), func(r *store.Trace) bool { return r.Is(id) }):
		return hinted{fmt.Errorf("trace %s is of a task that still runs", id), "it is stored when the task has ended"}
	case errors.Is(err, store.ErrNotFound):
		return hinted{fmt.Errorf("no trace begins with %q", id), "hookspan list prints the ids"}
	case errors.As(err, &several):
		a.warnf("several traces begin with %q:", id)
		for _, c := range several.Candidates {
			_, _ = fmt.Fprintf(a.stderr, "  %s  %s\n", termtext.Value(c.TraceID), termtext.Value(c.Title))
		}
		if several.More {
			_, _ = fmt.Fprintf(a.stderr, "  and others\n")
		}
		a.hint("give more digits")
		return exitError(1)
	case errors.Is(err, store.ErrPrefix):
		return hinted{err, "hookspan list prints the ids"}
	}
	return err
}
