package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/ui/hooks"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
)

func hooksCmd(a *app) *cobra.Command {
	c := group("hooks COMMAND", "Run your own hooks, in Claude Code's form, when Cline works",
		hooksListCmd(a), hooksAddCmd(a), hooksRemoveCmd(a), hooksImportCmd(a),
		hooksTrustCmd(a), hooksUntrustCmd(a), hooksTestCmd(a))
	c.Long = `Your own hooks, in the form of Claude Code's settings, run when Cline works. They
are in ~/.cline/hooks.json, for all your projects, and in a project's
.cline/hooks.json, which counts once you trust it.

  hookspan hooks add --event PreToolUse --matcher Bash -- ~/guard.sh
  hookspan hooks test --event PreToolUse --tool execute_command --json '{"command":"ls"}'
  hookspan hooks list`
	return c
}

func projectFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().String("project", "", usage)
	_ = cmd.MarkFlagDirname("project")
}

// projectDir returns the project's folder. Without the flag it is empty, or with
// here the working directory.
func projectDir(cmd *cobra.Command, here bool) (string, error) {
	name, _ := cmd.Flags().GetString("project") // empty for a command without the flag
	if name == "" && !here {
		return "", nil
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("--project %q: %w", name, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", wrongUsage(cmd, "--project %q: not a folder: want the folder of a project that exists", name)
	}
	return dir, nil
}

// hooksText writes about hooks on standard output.
func (a *app) hooksText() hooks.Text { return hooks.Text{W: a.stdout, Clean: a.clean} }

// hintUnknown says that a tool is not known. No tool, an empty name, is known.
func hintUnknown(a *app, tool string) {
	if tool == "" || sample.KnownTool(tool) {
		return
	}
	a.hint("hookspan knows no tool " + termtext.Value(tool) + ", of Cline's or Claude Code's; upper and lower case count")
}
