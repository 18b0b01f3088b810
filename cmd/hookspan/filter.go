package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// filterFlags are the flags by which a command selects traces.
type filterFlags struct {
	app *app
	cmd *cobra.Command
	f   store.Filter

	project, agent, since, until, pull string

	all, asJSON, sums bool
	asCSV             bool
}

// outcomes are the ways a trace ends, and that of one that has not ended.
var outcomes = []string{"completed", "cancelled", "interrupted", "failed", "abandoned", otelmap.OutcomeRunning}

// addFilterFlags adds the flags that every command that selects traces has.
func addFilterFlags(a *app, cmd *cobra.Command) *filterFlags {
	ff := &filterFlags{app: a, cmd: cmd}
	flags := cmd.Flags()
	flags.StringVar(&ff.project, "project", "", "only this `FOLDER` and those below it; . is this one, and the last part of a path suffices")
	flags.StringVar(&ff.agent, "agent", "", "only this agent: "+strings.Join(a.agents.WithGuests().Words(), ", "))
	flags.StringVar(&ff.f.Model, "model", "", "only with this model, or a part of its name such as opus; =NAME is the whole name")
	flags.StringVar(&ff.f.Tool, "tool", "", "only with a call of this tool, or with a part of its name such as mcp__postgres; =NAME is the whole name")
	flags.StringVar(&ff.f.Branch, "branch", "", "only tasks that ended on this branch, where that is known")
	flags.StringVar(&ff.pull, "pr", "", "only tasks with a request for this pull request: its address, or `NUMBER`")
	flags.StringVar(&ff.f.Commit, "commit", "", "only with a call that made this commit, or one whose `ID` begins so")
	flags.StringVar(&ff.f.Outcome, "outcome", "", "only those that ended so: "+strings.Join(outcomes, ", "))
	flags.Float64Var(&ff.f.MinCost, "min-cost", 0, "only what cost at least so many `DOLLARS`")
	flags.BoolVar(&ff.f.Failed, "failed", false, "only those that failed, or with a call that failed")
	flags.BoolVar(&ff.f.Denied, "denied", false, "only with a call that was denied or cancelled")
	flags.StringVar(&ff.since, "since", "", "only what began since then: today, monday, 24h, 1w, or a day such as 2026-01-31")
	flags.StringVar(&ff.until, "until", "", "only what began until then, a day included: yesterday, 1w, 2026-01-31")
	flags.StringVar(&ff.f.Text, "grep", "", "only with these words in a prompt, an answer, a call or its result; \"quotes\" make a phrase")
	flags.StringVar(&ff.f.Session, "session", "", "only this session, or those whose id begins so")
	oneOf(cmd, "agent", a.agents.WithGuests().Words()...)
	oneOf(cmd, "outcome", outcomes...)
	_ = cmd.MarkFlagDirname("project")
	ff.complete("model", store.ByModel)
	ff.complete("tool", store.ByTool)
	ff.complete("session", store.BySession)
	return ff
}

// addListing adds the flags of a command that lists what it selects.
func (ff *filterFlags) addListing() {
	flags := ff.cmd.Flags()
	flags.IntVarP(&ff.f.Limit, "limit", "n", store.DefaultLimit, "how many at most; 0 for all, as without it for programs")
	flags.BoolVar(&ff.all, "all", false, "all of them")
	flags.BoolVar(&ff.asJSON, "json", false, "print as JSON")
}

// addSums adds the flag of a command whose JSON may have sums.
func (ff *filterFlags) addSums() {
	ff.cmd.Flags().BoolVar(&ff.sums, "sums", false, "with --json: an object with the sums over all that is selected, listed or not")
}

// any reports whether a flag restricts what is selected.
func (ff *filterFlags) any() bool {
	f := ff.f
	f.Limit, f.Sort = 0, ""
	return !reflect.DeepEqual(f, store.Filter{}) || ff.project != "" || ff.pull != "" || ff.agent != "" || ff.since != "" || ff.until != ""
}

// run calls do with the local store, what runs and the filter that the flags describe.
func (ff *filterFlags) run(do func(context.Context, *pipeline.Pipeline, store.Filter) error) error {
	f, err := ff.check()
	if err != nil {
		return err
	}
	return withPipeline(ff.cmd.Context(), ff.app, func(ctx context.Context, p *pipeline.Pipeline) error {
		return ff.with(ctx, p, f, do)
	})
}

// with calls do with the filter that check returned, and the project.
func (ff *filterFlags) with(ctx context.Context, p *pipeline.Pipeline, f store.Filter, do func(context.Context, *pipeline.Pipeline, store.Filter) error) (err error) {
	if ff.project != "" {
		if f.Directory, f.Resolved, err = ff.folder(ctx, p.Store); err != nil {
			return err
		}
	}
	if ff.pull != "" {
		f.Among, err = view.TasksOf(ctx, p.Store, ff.pull)
		switch {
		case err != nil:
			return err
		case f.Among == "":
			return hinted{fmt.Errorf("--pr %q: no such pull request is known", ff.pull), "hookspan stats --by pr lists those that are"}
		}
	}
	err = do(ctx, p, f)
	var many store.WordsError
	switch {
	case errors.As(err, &many):
		return wrongUsage(ff.cmd, "--grep: it has %d words: want at most %d", int(many), store.MaxWords)
	case errors.Is(err, store.ErrText):
		return wrongUsage(ff.cmd, "--grep %q: it has no letter and no digit: want a word to look for", f.Text)
	}
	return err
}

// check returns the filter that the flags describe, without the project.
func (ff *filterFlags) check() (f store.Filter, err error) {
	f = ff.f
	changed, now := ff.cmd.Flags().Changed, ff.app.now()
	switch {
	case changed("min-cost") && !aCost(f.MinCost):
		return f, wrongUsage(ff.cmd, "--min-cost %g: want a number of dollars above 0", f.MinCost)
	case f.Limit < 0:
		return f, wrongUsage(ff.cmd, "--limit %d: want 1 or more, or 0 for all", f.Limit)
	case ff.all && changed("limit") && f.Limit > 0:
		return f, wrongUsage(ff.cmd, "--all and --limit %d: want one of them", f.Limit)
	case ff.sums && !ff.asJSON:
		return f, wrongUsage(ff.cmd, "--sums: want --json; without it the last line has the sums")
	case ff.all || f.Limit == 0 || (ff.asJSON || ff.asCSV) && !changed("limit"):
		f.Limit = -1
	}
	if f.Outcome != "" && !slices.Contains(outcomes, f.Outcome) {
		return f, wrongUsage(ff.cmd, "--outcome %q: want one of %s", f.Outcome, strings.Join(outcomes, ", "))
	}
	if ff.agent != "" {
		if f.Host, err = hostOf(ff.app, ff.cmd, ff.agent); err != nil {
			return f, err
		}
	}
	if f.Since, err = sinceWhen(ff.cmd, ff.since, now); err != nil {
		return f, err
	}
	if ff.until != "" {
		if _, f.Until, err = view.Period(ff.until, now); err != nil {
			return f, wrongUsage(ff.cmd, "--until %w", err)
		}
		if f.Until.IsZero() {
			f.Until = otlp.First // the zero time is no condition
		}
		if !f.Until.After(f.Since) {
			return f, wrongUsage(ff.cmd, "--since %s and --until %s: want an --until that is later", ff.since, ff.until)
		}
	}
	return f, nil
}

// aCost reports whether a number can be the least cost of something.
func aCost(usd float64) bool { return usd > 0 && usd <= math.MaxFloat64 }

// hostOf is the host of the agent that --agent names.
func hostOf(a *app, cmd *cobra.Command, name string) (string, error) {
	agent, ok := a.agents.WithGuests().Named(name)
	if !ok {
		return "", wrongUsage(cmd, "--agent %q: want one of %s", name, strings.Join(a.agents.WithGuests().Words(), ", "))
	}
	return agent.Host, nil
}

// folder is the folder that --project names: a path, or the last part of the path of
// a project in the store.
func (ff *filterFlags) folder(ctx context.Context, s *store.Store) (path, resolved string, err error) {
	if view.IsPath(ff.project) {
		return projectPath(ff.app, ff.cmd, ff.project)
	}
	folders, err := s.Folders(ctx)
	if err != nil {
		return "", "", err
	}
	path, err = view.ProjectOf(folders, ff.project)
	switch {
	case err != nil:
		return "", "", wrongUsage(ff.cmd, "--project %q: %w", ff.project, err)
	case path == "":
		return "", "", hinted{fmt.Errorf("--project %q: no trace has such a folder", ff.project), "hookspan stats --by project lists the folders"}
	}
	return path, "", nil
}

// projectPath returns the whole path of a project's folder, which need not exist, as it
// is named and without symbolic links.
func projectPath(a *app, cmd *cobra.Command, name string) (path, resolved string, err error) {
	path = name
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		path = a.home + rest
	}
	if a.goos != "windows" && otelmap.OnDrive(path) {
		return otelmap.Folder(path), "", nil // another machine has it
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", "", fmt.Errorf("--project %q: %w", name, err)
	}
	return path, store.Resolved(path), nil
}

// complete offers the shell what traces have as the value of a flag.
func (ff *filterFlags) complete(flag string, by store.By) {
	_ = ff.cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begins string) ([]string, cobra.ShellCompDirective) {
		var out []string
		_ = ff.app.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			groups, err := s.Group(ctx, store.Filter{}, by, nil)
			for _, g := range groups {
				if g.Key != "" && strings.HasPrefix(g.Key, begins) {
					out = append(out, g.Key)
				}
			}
			return err
		})
		return out, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeTraces offers the shell the newest traces.
func completeTraces(a *app) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begins string) (out []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_ = a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			sums, err := s.List(ctx, store.Filter{Trace: begins, Limit: 50})
			for _, t := range sums {
				out = append(out, cobra.CompletionWithDesc(t.TraceID, t.Title))
			}
			return err
		})
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sinceWhen reads --since; without it the time is zero.
func sinceWhen(cmd *cobra.Command, word string, now time.Time) (time.Time, error) {
	if word == "" {
		return time.Time{}, nil
	}
	from, _, err := view.Period(word, now)
	switch {
	case err != nil:
		return from, wrongUsage(cmd, "--since %w", err)
	case from.After(now):
		return from, wrongUsage(cmd, "--since %q: want a time in the past", word)
	}
	return from, nil
}

// possible refuses a time that no trace can have: where traces are deleted, it is a slip.
func possible(cmd *cobra.Command, flag, word string, t time.Time) error {
	if word != "" && (t.Before(otlp.First) || t.After(otlp.Last)) {
		return wrongUsage(cmd, "%s %q: it is in the year %d: want one from %d to %d", flag, word, t.Year(), otlp.First.Year(), otlp.Last.Year())
	}
	return nil
}
