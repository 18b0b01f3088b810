package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/provision"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/verify"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/internal/transcript"
)

type importFlags struct {
	since         string
	sessions, to  []string
	dryRun, again bool
	asJSON        bool
	// from is what check reads in since.
	from time.Time
}

func importCmd(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [AGENT]",
		Short: "Build traces of past sessions from the agent's own files",
		Long: `Build the traces of sessions from before hookspan was installed, from what the
agent keeps in its own files, and send them to the configured destinations. AGENT
is ` + strings.Join(a.agents.Words(), " or ") + `;
without it, all agents that have sessions on this machine are imported.

A task that is on this machine already is left out, whether an earlier import or
hooks recorded it, and so is one that has not ended. The next import continues one
that was interrupted. What another destination does not take is stored on this machine all
the same, and waits for it: the next import, hookspan flush and later hooks send it.

The local store keeps what was imported for HOOKSPAN_RETENTION, counted from the
import. For a year after it has removed a task, an import leaves the task out, so
that no destination gets it twice; --again imports it all the same.

Every span is marked with hookspan.imported=true: what is counted when it arrives is of
today. The branch is the one that the agent's files name.

At the end, all files of the agent are read a second time by other code. What was not
read is named, and one line says whether the traces have what the files have.

The exit code is 1 when a session or a whole line of it could not be read, is in a form or a
place that is not supported, when a variable names no folder that can be read, or when a destination did not take everything.`,
		ValidArgs: a.agents.Words(),
		Args:      takes(1, "one agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			allowed := "want one of " + strings.Join(a.agents.Words(), ", ")
			switch err := f.check(a, cmd); {
			case err != nil:
				return err
			case len(args) == 0 && (len(f.sessions) > 0 || f.asJSON):
				return wrongUsage(cmd, "import: no agent named, which --session and --json need: %s", allowed)
			case len(args) == 0:
				return importAll(a, cmd, f)
			}
			agent, ok := a.agents.Named(args[0])
			if !ok {
				return wrongUsage(cmd, "import: agent %q: %s", args[0], allowed)
			}
			return importFrom(a, cmd, agent.Reader(), f)
		},
	}
	cmd.Flags().StringVar(&f.since, "since", "", "only what ended since then: 30d, 12h, or a day such as 2026-01-31")
	cmd.Flags().StringArrayVar(&f.sessions, "session", nil, "only this session, by the agent's own id (may be repeated)")
	cmd.Flags().StringSliceVar(&f.to, "to", nil, "only to these of the configured destinations, separated by commas")
	cmd.Flags().BoolVar(&f.again, "again", false, "also import what was deleted, or removed after HOOKSPAN_RETENTION")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "send nothing, say what would be sent")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print as JSON")
	yesFlag(cmd) // for scripts: nothing is asked
	return cmd
}

// importAll imports what all agents have. One agent's fault leaves the others alone.
func importAll(a *app, cmd *cobra.Command, f importFlags) error {
	past := provision.PastSessions(cmd.Context(), a.setup())
	if len(past) == 0 {
		a.printf("no agent has sessions on this machine\n")
	}
	var errs []error
	for _, agent := range a.agents {
		here := slices.ContainsFunc(past, func(one provision.Past) bool { return one.Agent.Word == agent.Word })
		if !here && a.unusable(agent.Host) > 0 {
			errs = append(errs, exitError(1))
		}
	}
	for i, one := range past {
		if cmd.Context().Err() != nil {
			break
		}
		a.printf("%s%s\n", map[bool]string{true: "\n"}[i > 0], one.Agent.Name)
		if err := importFrom(a, cmd, one.Agent.Reader(), f); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// past is what an import would find, by names and the beginnings of files, in a few seconds.
func (a *app) past(ctx context.Context) (have []string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, one := range provision.PastSessions(ctx, a.setup()) {
		if one.Sessions > 0 {
			have = append(have, one.Agent.Name+": "+termtext.Plural(one.Sessions, "session"))
		}
	}
	return have
}

// hooked are the agents that have hookspan's hooks.
func (a *app) hooked(ctx context.Context) []string {
	found, _, _ := machineOf(a).Agents(ctx) // doctor says what cannot be read
	names := []string{}
	for _, one := range found {
		if one.Installed {
			names = append(names, one.Agent.Name)
		}
	}
	return names
}

// noTracesYet says what to do without traces: import what the agents have of past sessions.
func noTracesYet(ctx context.Context, a *app) string {
	text := noTraces
	if names := a.hooked(ctx); len(names) > 0 {
		text = strings.Join(names, ", ") + ": hooks are installed, so work as usual; hookspan doctor says what is missing"
	}
	if have := a.past(ctx); len(have) > 0 {
		text = "hookspan import would find " + strings.Join(have, ", ") + "; " + text
	}
	return text
}

// check checks the flags, once for all agents.
func (f *importFlags) check(a *app, cmd *cobra.Command) (err error) {
	if f.from, err = sinceWhen(cmd, f.since, a.now()); err != nil {
		return err
	}
	names := a.setup().Destinations()
	for _, to := range f.to {
		if !slices.Contains(names, to) {
			return wrongUsage(cmd, "--to %q: it is not configured: want one of %s", to, strings.Join(names, ", "))
		}
	}
	return nil
}

func importFrom(a *app, cmd *cobra.Command, agent transcript.Reader, f importFlags) error {
	ctx := cmd.Context()
	a.configProblems()
	unusable := a.unusable(agent.Host)
	a.byHand = true
	p, err := a.setup().Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	if len(p.Deliverer.Destinations) == 0 {
		return noDestination()
	}
	p.Deliverer.Destinations = importer.Order(p.Deliverer.Destinations, f.to)
	im := &importer.Importer{
		Agent: agent, Deliverer: p.Deliverer, Since: f.from, DryRun: f.dryRun, Again: f.again, Retention: a.cfg.Retention,
		Version: buildVersion(),
		Off:     a.off, Limits: a.noteLimits,
	}
	p.Owe(p.Deliverer.Destinations)
	switch known, err := p.Ledger(); {
	case err != nil:
		return err
	case known != nil:
		im.Known = known
		im.Owed = func(ctx context.Context) ([]deliver.Result, error) {
			results := make([]deliver.Result, len(p.Deliverer.Destinations))
			for i := range results {
				results[i].Destination = p.Deliverer.Destinations[i].Name
			}
			return results, p.SendOwed(ctx, deliver.Pass{OtherSettings: true}, results)
		}
	}
	if !f.dryRun {
		alone, err := p.Alone(ctx, func() { a.hint("another import is under way; this one begins when it has ended") })
		if err != nil {
			return err
		}
		defer func() { _ = alone.Close() }()
	}
	files := a.setup().Files()
	all, err := im.Sessions(ctx, files)
	if err != nil {
		return err
	}
	sessions, missing := importer.Select(all, f.sessions)
	if missing != "" {
		return hinted{
			fmt.Errorf("--session %q: no such session among the %d found", missing, len(all)),
			"a session's id is the name of its folder or file, without the ending",
		}
	}
	defer importer.Room(len(sessions))()
	if !f.dryRun {
		for _, d := range p.Deliverer.Destinations {
			a.ofThePast(d.Name)
		}
	}
	check := verify.NewImportCheck(agent.Host, all)
	im.Observe = check.Observe
	step, done := flushProgress(a, len(sessions), "importing")
	im.Progress = step
	rep, err := im.Run(ctx, sessions)
	done()
	if im.Known == nil && !f.dryRun && rep.Runs > 0 {
		a.hint("the local store is not a destination, so what was sent is not remembered: another import sends all of it again, under the same ids")
	}
	var v *verify.ImportVerdict
	if err == nil && !f.dryRun && im.Known != nil && rep.Stored() && (rep.Unchanged == 0 || rep.Sessions > 0) {
		v, err = check.Verdict(ctx, verify.Place{
			Env: agentfiles.Env{Home: a.home, Getenv: a.getenv}, Store: p.Store, Version: buildVersion(), Since: f.from, Now: a.now(), Clean: a.clean, Off: a.off,
		})
	}
	if rerr := printImport(a, rep, v, f.asJSON); err == nil {
		err = rerr
	}
	if err == nil && unusable > 0 {
		err = exitError(1)
	}
	return err
}

// unusable prints which folders the agent of a name in traces is told to use and are not
// read, and counts them.
func (a *app) unusable(host string) int {
	i := slices.IndexFunc(a.agents, func(one agents.Agent) bool { return one.Host == host })
	if i < 0 {
		return 0
	}
	texts := a.agents[i].Unusable(a.getenv)
	for _, text := range texts {
		a.warnf("%s", text)
	}
	return len(texts)
}

func printImport(a *app, rep *importer.Report, v *verify.ImportVerdict, asJSON bool) error {
	said := struct {
		*importer.Report
		Verdict *verify.ImportVerdict `json:"verdict,omitempty"`
	}{rep, v}
	return a.result(asJSON, said, rep.Complete() && (v == nil || len(v.Untraced) == 0 && !v.Lost()), func() {
		a.printf("%s", rep.Text(a.cfg.Retention))
		for _, u := range rep.Unreadable {
			a.warnf("session %s was not imported: %s", filepath.Base(u.Session), u.Error)
		}
		if v != nil {
			a.printf("%s", v.Text())
		}
		if rep.Skipped.Open > 0 {
			a.hint("nothing need be done about open traces: a later hookspan import takes those that hooks do not record, at their end or " +
				strings.TrimSuffix(a.cfg.IdleTimeout.String(), "0s") + " after their last event")
		}
		if rep.Waiting() {
			a.hint("fix the cause, then run the same import again: it sends what is left")
		}
	})
}
