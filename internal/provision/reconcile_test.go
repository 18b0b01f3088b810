package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/diagnose"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/userhooks"
)

// installer has hooks in one state and one plan for all calls.
type installer struct {
	install.Installer
	report install.Report
	err    error
	plan   install.Plan
}

func (i *installer) Status(context.Context, install.System, install.Options) (*install.Report, error) {
	return &i.report, i.err
}

func (i *installer) Plan(context.Context, install.System, install.Options) (*install.Plan, error) {
	return &i.plan, nil
}

func (i *installer) PlanUninstall(context.Context, install.System, install.Options) (*install.Plan, error) {
	i.plan.Undo = true
	return &i.plan, nil
}

func TestReconcileStates(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	own := install.Site{Place: install.Place{Path: "/own", Kind: install.ScopeUser}, Present: true}
	managed := install.Site{Place: install.Place{Path: "/managed", Kind: install.ScopeManaged}, Present: true}
	outdated := managed
	outdated.Hooks = []install.Hook{{Event: "Stop", State: install.StateOutdated, Reason: "is old"}}
	partly, rest := managed, managed
	partly.Hooks = []install.Hook{{Event: "Stop", State: install.StateInstalled}, {Event: "SessionStart", State: install.StateMissing}}
	rest.Hooks = []install.Hook{{Event: "Stop", State: install.StateMissing}, {Event: "SessionStart", State: install.StateInstalled}}
	changes := install.Plan{Actions: []install.Action{{Op: install.OpCreate, Path: "/own"}}}
	for name, tt := range map[string]struct {
		here      bool
		installer installer
		want      Receipt
		changed   bool
	}{
		"an agent that is not here":              {want: Receipt{State: "absent"}},
		"an agent without hooks":                 {here: true, installer: installer{plan: changes}, want: Receipt{State: "installed"}, changed: true},
		"old hooks":                              {installer: installer{report: install.Report{Sites: []install.Site{own}}, plan: changes}, want: Receipt{State: "updated"}, changed: true},
		"hooks that are as wanted":               {installer: installer{report: install.Report{Sites: []install.Site{own}}}, want: Receipt{State: "unchanged"}},
		"an organisation's hooks":                {here: true, installer: installer{report: install.Report{Sites: []install.Site{managed}}}, want: Receipt{State: "unchanged", Managed: "/managed"}},
		"an organisation's hooks and the user's": {installer: installer{report: install.Report{Sites: []install.Site{managed, own}}, plan: changes}, want: Receipt{State: "removed", Managed: "/managed"}, changed: true},
		"an organisation's hooks for some events": {
			installer: installer{report: install.Report{Sites: []install.Site{partly, own}}, plan: changes},
			want:      Receipt{State: Failed, Managed: "/managed", Detail: `"/managed" has not every hook (SessionStart is missing): the user's stay; the administrator runs hookspan install --managed`},
		},
		"an organisation's hooks in two files": {
			installer: installer{report: install.Report{Sites: []install.Site{partly, rest, own}}, plan: changes},
			want:      Receipt{State: "removed", Managed: "/managed"}, changed: true,
		},
		"an organisation's old hooks": {
			installer: installer{report: install.Report{Sites: []install.Site{outdated}}},
			want:      Receipt{State: Failed, Managed: "/managed", Detail: `"/managed": Stop: is old: the administrator runs hookspan install --managed`},
		},
		"hooks that cannot be read": {here: true, installer: installer{err: errors.New("no access")}, want: Receipt{State: Failed, Detail: "no access"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, &tt.installer)
			if tt.here {
				if err := os.Mkdir(filepath.Join(m.Setup.Home, "."+m.Setup.Agents[0].Word), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			tt.want.Agent, tt.want.Name = m.Setup.Agents[0].Word, m.Setup.Agents[0].Name
			want := Receipts{Version: "1.2.0", Changed: tt.changed, Agents: []Receipt{tt.want}}
			if diff := cmp.Diff(want, m.Reconcile(t.Context(), true)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// machine has one agent, whose hooks an installer has.
func machine(t *testing.T, i *installer) Machine {
	t.Helper()
	home := t.TempDir()
	cfg, err := config.Load(config.Input{Environ: []string{"HOME=" + home}, Home: home, GOOS: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	agent, _ := agents.All().Named("codex")
	agent.Installer = i
	return Machine{&diagnose.Machine{
		Setup: &pipeline.Setup{
			Config: cfg, Agents: agents.Table{agent}, Home: home, GOOS: "linux", Version: "1.2.0",
			Now: time.Now, Getenv: func(string) string { return "" },
		},
		Program: func(name string) (string, error) { return filepath.Join(home, name), nil },
		Own:     diagnose.OwnHooks{Setup: &userhooks.Setup{Home: home, GOOS: "linux"}},
	}}
}
