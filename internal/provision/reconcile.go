package provision

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Receipt says what reconcile did for an agent. Its JSON is stable.
type Receipt struct {
	Agent string `json:"agent"`
	Name  string `json:"name"`
	// State is installed, updated, unchanged, removed, absent or failed.
	State string `json:"state"`
	// Managed is the organisation's file with the agent's hooks, Detail says more.
	Managed string `json:"managed,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// Failed and the others are the states of a receipt. What is removed are hooks that an
// organisation's make superfluous.
const (
	installed = "installed"
	updated   = "updated"
	unchanged = "unchanged"
	removed   = "removed"
	absent    = "absent"
	Failed    = "failed"
)

// Receipts are the result of Reconcile.
type Receipts struct {
	Version string `json:"version"`
	// Changed reports that something was, or with --dry-run would be, changed.
	Changed bool `json:"changed"`
	// Programs is the version of the programs that the user's hooks start, if any do.
	Programs string    `json:"programs,omitempty"`
	Agents   []Receipt `json:"agents"`
}

// Reconcile brings the agents of this user to the wanted state.
func (m Machine) Reconcile(ctx context.Context, dryRun bool) Receipts {
	out := Receipts{Version: m.Setup.Version}
	copied := false
	for _, agent := range m.Setup.Agents {
		r := Receipt{Agent: agent.Word, Name: agent.Name}
		one := func() error {
			return m.reconcile(ctx, &r, agent, dryRun, func() (err error) {
				if dryRun || copied && m.copied() {
					return nil
				}
				var changed bool
				changed, err = m.CopyPrograms(ctx)
				out.Changed, copied = out.Changed || changed, true
				return err
			})
		}
		err := m.Alone(ctx, one)
		if err != nil {
			r.State, r.Detail = Failed, termtext.Message(err)
		}
		out.Changed = out.Changed || r.State == installed || r.State == updated || r.State == removed
		out.Agents = append(out.Agents, r)
	}
	out.Programs, _ = m.Copies.Version()
	return out
}

// reconcile does what one agent needs. programs copies the hook programs.
func (m Machine) reconcile(ctx context.Context, r *Receipt, agent agents.Agent, dryRun bool, programs func() error) error {
	report, err := m.HookStatus(ctx, agent)
	if err != nil {
		return err
	}
	own := false // hooks of the user
	lacks, has := make(map[string]bool), []string(nil)
	for _, s := range report.Sites {
		if s.Kind == install.ScopeManaged {
			r.Managed = cmp.Or(r.Managed, s.Path)
			for _, h := range s.Hooks {
				if h.State == install.StateOutdated { // The user's stay: they may be the only ones that work.
					return fmt.Errorf("%q: %s: %s: the administrator runs hookspan install --managed", s.Path, h.Event, h.Reason)
				}
				lacks[h.Event] = lacks[h.Event] || h.State == install.StateMissing
				if h.State != install.StateMissing {
					has = append(has, h.Event)
				}
			}
		} else {
			own = own || s.Present && s.Project == ""
		}
	}
	for _, event := range slices.Sorted(maps.Keys(lacks)) {
		if lacks[event] && !slices.Contains(has, event) {
			return fmt.Errorf("%q has not every hook (%s is missing): the user's stay; the administrator runs hookspan install --managed", r.Managed, event)
		}
	}
	o := install.Options{}
	run := agent.Installer.Plan
	where, _ := agent.FoundIn(ctx, m.Setup.Files())
	switch {
	case r.Managed != "" && !own:
		r.State = unchanged
		return nil
	case r.Managed != "":
		run, r.State = agent.Installer.PlanUninstall, removed
		o.Scope = install.ScopeUser
	case !own && where == "":
		r.State = absent
		return nil
	default:
		if err := m.UseCopy(agent.Program, &o); err != nil {
			return err
		}
		if o.ForHooks, err = m.GuardInPlace(ctx, ""); err != nil {
			return err
		}
		o.PreToolUse = o.ForHooks
		r.State = installed
		if own {
			r.State = updated
		}
	}
	plan, err := run(ctx, m.System(), o)
	if err != nil {
		return err
	}
	if !plan.Undo {
		if err := programs(); err != nil {
			return err
		}
		if !dryRun {
			if err := m.StartCopy(ctx, o.Binary); err != nil {
				return err
			}
		}
	}
	if !plan.Changed() {
		r.State = unchanged
	}
	if plan.Next != "" {
		r.Detail = plan.Next
	} else if len(report.Off) > 0 {
		r.Detail = report.Off[0]
	}
	if n := len(plan.Edited()) + len(plan.Foreign()); n > 0 {
		r.Detail = fmt.Sprintf("%s left as found: hookspan install %s says which", termtext.Plural(n, "hook"), agent.Word)
	}
	if dryRun {
		return nil
	}
	return install.Apply(plan)
}
