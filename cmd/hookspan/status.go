package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/diagnose"
	"github.com/hookspan/hookspan/internal/hookproc"
)

func (a *app) statusCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show what is installed, recorded and delivered",
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.machine().Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(st)
			}
			a.configProblems()
			a.printf("%s", st.Text())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// machine returns what status and doctor diagnose.
func (a *app) machine() *diagnose.Machine {
	dir := workingDir()
	m := &diagnose.Machine{
		Setup: a.setup(), ConfigErr: a.cfgErr, EnvFile: a.envFile(), Dir: dir, ProjectOff: hookproc.ProjectOff(dir),
		Program: func(name string) (string, error) { return a.hookProgram(name, "") },
	}
	for _, o := range hookproc.OtherAgents(a.cfg.StateDir) {
		m.Others = append(m.Others, diagnose.OtherAgent(o))
	}
	hooks := a.hookSetup()
	m.Own = diagnose.OwnHooks{Setup: hooks, Sources: hooks.Sources(dir), Problems: a.hookProblems().List()}
	return m
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
