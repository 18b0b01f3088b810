package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/checkout"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/traces/mcp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

func mcpCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let agents ask about earlier tasks (Model Context Protocol)",
		Long: `Serve the Model Context Protocol on standard input and output: an agent starts it and asks
about earlier tasks by the tools search, open, list and stats. It reads the local store
alone, and answers about the repository of the folder in which it is started, with its
worktrees. --project and --all, which no call can change, say otherwise.

hookspan writes no agent's settings for this. These commands do, into these files:

`,
	}
	for _, agent := range a.agents {
		cmd.Long += fmt.Sprintf("  %-48s ~/%s\n", agent.AddServer, agent.Servers)
	}
	project := cmd.Flags().String("project", "", "answer about this `FOLDER`, or the repository that it is in")
	all := cmd.Flags().Bool("all", false, "answer about every folder")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a.configProblems()
		clean, err := configured.New(a.cfg)
		s := &mcp.Server{Path: a.cfg.StorePath(), Redact: clean, NoTexts: a.cfg.Capture == "none", Version: buildVersion(), Now: a.now}
		s.Known = func(host string) bool { _, ok := a.agents.Named(host); return ok }
		switch {
		case errors.Join(err, a.cfg.Protected()) != nil:
			return errors.Join(err, a.cfg.Protected())
		case !a.cfg.MCP:
			return hinted{errors.New("mcp: HOOKSPAN_MCP is false"), "hookspan config says where it is set"}
		case *all && *project != "":
			return wrongUsage(cmd, "--all and --project: want one of them")
		case !*all:
			s.Scope, err = a.scope(cmd, *project)
		}
		if err != nil {
			return err
		}
		// A question reads the sums of each task, which needs little memory at once.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
		if err := s.Run(cmd.Context(), &sdk.StdioTransport{}); err != nil {
			return fmt.Errorf("mcp: the agent's input: %w", err)
		}
		return nil
	}
	return cmd
}

// scope selects the tasks of the working folder's repository with its worktrees, or of the folder
// that is named.
func (a *app) scope(cmd *cobra.Command, named string) (f store.Filter, err error) {
	f.Directory, f.Resolved, err = projectPath(a, cmd, cmp.Or(named, "."))
	if err != nil {
		return f, err
	}
	everything := func(dir string) bool {
		return dir == "/" || otelmap.Below(a.home, dir) || otelmap.Below(store.Resolved(a.home), dir)
	}
	if trees := checkout.Worktrees(f.Resolved); trees != nil && !everything(trees[0]) {
		below, _ := filepath.Rel(trees[0], f.Resolved)
		linked := strings.TrimSuffix(f.Directory, string(filepath.Separator)+below) // the repository, by a symbolic link
		f.Directory, f.Also = trees[0], append(slices.DeleteFunc(trees[1:], everything), linked)
	} else if named == "" || everything(f.Directory) || everything(f.Resolved) {
		return f, hinted{fmt.Errorf("mcp: %s is in no repository, or has your home folder", f.Directory), "start it in a repository, or with --project FOLDER"}
	}
	return f, nil
}
