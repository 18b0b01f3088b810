package main

import (
	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookhttp"
	"github.com/hookspan/hookspan/internal/userhooks/runner"
)

// hooksOf is what the user's hooks get from this process.
func hooksOf(a *app) *userhooks.Process {
	parts := runner.Parts()
	parts.Post, parts.Host = hookhttp.Client{}.Post, hookhttp.Host
	return &userhooks.Process{
		Config: a.cfg, Environ: a.environ, Home: a.home, GOOS: a.goos, Now: a.now,
		Clean: a.clean, Log: a.log.Line, Parts: parts,
	}
}

// hookSetup is where the user's hooks are configured.
func hookSetup(a *app) *userhooks.Setup { return hooksOf(a).Setup() }

// clean removes the secrets from a text of the user's hooks: their commands, their
// addresses, and what they print.
func (a *app) clean(text string) string {
	if a.cleaner == nil {
		a.cleaner = configured.Always(a.cfg)
	}
	return a.cleaner.String(text)
}

// runHooksCmd is what cline-hook starts where a file with hooks exists and hook-runner
// does not suffice. It prints the answer for Cline and exits with 0, or fails with
// nothing printed.
func runHooksCmd(a *app) *cobra.Command {
	var r userhooks.Request
	cmd := &cobra.Command{
		Use: "run-hooks", Short: "Run the user's hooks for the event on standard input", Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return hooksOf(a).Answer(cmd.Context(), r, a.stdin, a.stdout.Writer)
		},
	}
	cmd.Flags().AddGoFlagSet(runner.Flags(&r))
	return cmd
}
