package diagnose

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/pipeline"
)

// fakeInstaller reports a fixed state of hooks.
type fakeInstaller struct {
	install.Installer
	report install.Report
}

func (f fakeInstaller) Status(context.Context, install.System, install.Options) (*install.Report, error) {
	return &f.report, nil
}

// TestExamineCoversEveryAgentInTheTable diagnoses an agent that only this test's
// table has.
func TestExamineCoversEveryAgentInTheTable(t *testing.T) {
	home := t.TempDir()
	cfg, _ := config.Load(config.Input{Environ: []string{"HOME=" + home}, Home: home, GOOS: "linux"})
	site := install.Site{Place: install.Place{Path: "/hooks"}, Present: true, Hooks: []install.Hook{
		{Event: "Start", State: install.StateInstalled},
		{Event: "Stop", State: install.StateOutdated, Faulty: true},
	}}
	for _, tt := range []struct {
		settings bool
		text     string
	}{
		{false, "Stop in /hooks: outdated"},
		{true, "outdated in /hooks: Stop"},
	} {
		m := &Machine{
			Setup: &pipeline.Setup{
				Config: cfg, Home: home, GOOS: "linux", Now: time.Now,
				Agents: agents.Table{{
					Agent: hook.Agent{Host: "test-agent", Word: "test", Name: "Test Agent", Program: "test-hook"}, Settings: tt.settings,
					Installer: fakeInstaller{report: install.Report{Sites: []install.Site{site}, Warnings: []string{"a warning"}}},
				}},
			},
			Program: func(name string) (string, error) { return "/no/such/" + name, nil },
		}
		found := m.Examine(t.Context())
		for _, want := range []Finding{{Note, "a warning", ""}, {Problem, tt.text, "hookspan install test"}} {
			if !slices.Contains(found, want) {
				t.Errorf("settings %t: no finding %v in %v", tt.settings, want, found)
			}
		}
	}
}
