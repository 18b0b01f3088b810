package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/diagnose"
	"github.com/hookspan/hookspan/internal/provision"
	"github.com/hookspan/hookspan/internal/record"
)

func statusCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show what is installed, recorded and delivered"}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		st, err := machineOf(a).Status(cmd.Context())
		if err != nil {
			return err
		}
		return a.result(*asJSON, st, true, func() {
			a.configProblems()
			_, _ = io.WriteString(a.stdout, st.Text(lookOf(a)))
		})
	}
	return cmd
}

func doctorCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Diagnose problems that keep traces from appearing",
		Long: `Look at the hooks, the settings, the spool, the log and the state of delivery, and
say what is wrong and what to do about it. Nothing is sent; hookspan test does that.
For each destination it reports the last try and its result. The exit code is 1 when
there is a problem.`,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		found := machineOf(a).Examine(cmd.Context())
		ok := !slices.ContainsFunc(found, func(f diagnose.Finding) bool { return f.Level == diagnose.Problem })
		return a.result(*asJSON, found, ok, func() {
			_, _ = io.WriteString(a.stdout, diagnose.Text(found, lookOf(a)))
		})
	}
	return cmd
}

// lookOf is how status and doctor look on standard output.
func lookOf(a *app) diagnose.Look {
	width := a.terminal()
	return diagnose.Look{Marks: width > 0, Color: a.color(), Width: width}
}

// machineOf returns the machine that status and doctor diagnose, and that is installed to.
func machineOf(a *app) provision.Machine {
	dir := workingDir()
	hooks := hookSetup(a)
	m := &diagnose.Machine{
		Setup: a.setup(), ConfigErr: a.cfgErr, EnvFile: envFile(a), Dir: dir, ProjectFile: record.OffBy(dir), Private: record.PrivateBy(a.cfg.PrivateFolders(), dir),
		Program: func(name string) (string, error) { return hookProgram(a, name, "") },
		Copies:  copiesOf(a),
		Past:    a.past,
		Ran:     record.Programs(a.cfg.StateDir),
		Own:     diagnose.OwnHooks{Setup: hooks, Sources: hooks.Sources(dir), Problems: hooksOf(a).Problems().List()},
	}
	m.ProjectOff = m.ProjectFile != ""
	return provision.Machine{Machine: m}
}

// workingDir returns the working directory, or nothing if it does not exist any
// more.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// hintSkipped says, as doctor does, which agents that have recorded nothing do not run their hooks.
func (a *app) hintSkipped(ctx context.Context) {
	machine := machineOf(a)
	for _, agent := range a.agents {
		if _, err := os.Stat(filepath.Join(a.cfg.SpoolDir(), agent.Host)); err == nil {
			continue
		}
		if r, err := machine.HookStatus(ctx, agent); err == nil && r.Present() && len(r.Off) > 0 {
			a.hint(agent.Name + "'s tasks are missing here: " + r.Off[0] + ": " + cmp.Or(r.OffHint, "hookspan doctor says more"))
		}
	}
}
