package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/regular"
	"github.com/hookspan/hookspan/internal/termtext"
)

type hooksImportFlags struct {
	project           projectFlag
	dryRun, noInstall bool
}

func (a *app) hooksImportCmd() *cobra.Command {
	var f hooksImportFlags
	c := &cobra.Command{
		Use:   "claude [FILE...]",
		Short: "Take hooks over from Claude Code's settings",
		Long: `Add the hooks of ~/.claude/settings.json to your own hooks.json, or with --project
those of the project's .claude/settings.json and settings.local.json to the
project's. Claude Code's files stay as they are. What will not work on Cline is said,
and hooks that are there already are left out, as are those that report to hookspan.
The variables of "env" come with the hooks; their values are not shown.

A project's file is not trusted by that: read what it runs, then hookspan hooks trust.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.hooksImport(cmd, f, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	f.project.register(c, "take over this project's, into its .cline/hooks.json")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done and do nothing")
	c.Flags().BoolVar(&f.noInstall, "no-install", false, "do not install hook files into Cline's folders")
	return group("import AGENT", "Take hooks over from another agent", c)
}

// claudeSettings are the settings files that are looked at where none is named.
func (a *app) claudeSettings(project string) []string {
	if project != "" {
		dir := filepath.Join(project, ".claude")
		return []string{filepath.Join(dir, "settings.json"), filepath.Join(dir, "settings.local.json")}
	}
	dir := a.getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(a.home, ".claude")
	}
	return []string{filepath.Join(dir, "settings.json")}
}

func (a *app) hooksImport(cmd *cobra.Command, f hooksImportFlags, files []string) error {
	dir, err := f.project.folder(cmd, false)
	if err != nil {
		return err
	}
	path, project, err := a.hooksPath(dir)
	if err != nil {
		return err
	}
	to, err := openHooks(path, project)
	if err != nil {
		return err
	}
	named := len(files) > 0
	if !named {
		files = a.claudeSettings(dir)
	}
	after, found := to.Data, []hookfile.Handler(nil)
	read := 0
	for _, file := range files {
		data, err := readClaudeSettings(file)
		if errors.Is(err, fs.ErrNotExist) && !named {
			continue
		}
		if err != nil {
			return err
		}
		read++
		var added []hookfile.Handler
		if after, added, err = a.importFile(file, dir, data, after); err != nil {
			return err
		}
		found = append(found, added...)
	}
	if read == 0 {
		return hinted{
			fmt.Errorf("no settings of Claude Code: %s: not there", strings.Join(files, ", ")),
			"name the file: hookspan hooks import claude FILE",
		}
	}
	if bytes.Equal(after, to.Data) {
		a.printf("nothing to add to %s\n", path)
		return nil
	}
	a.printf("\n")
	if _, err := a.saveHooks(to, after, false, f.dryRun); err != nil {
		return err
	}
	if err := a.hookFiles(cmd.Context(), dir, found, f.dryRun, f.noInstall); err != nil {
		return err
	}
	a.printHooksNext(f.dryRun)
	return nil
}

// readClaudeSettings reads a settings file that the user names or has.
func readClaudeSettings(path string) ([]byte, error) {
	data, err := regular.Read(path, regular.Options{Max: hookfile.MaxSize})
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w", path, err)
	}
	return data, nil
}

// importFile adds the hooks of one settings file to the text of a hooks.json, and
// says what becomes of them.
func (a *app) importFile(path, project string, settings, to []byte) (after []byte, added []hookfile.Handler, err error) {
	file, notes, err := hookfile.Import(settings, path, func(h hookfile.Handler) bool {
		return h.Type == hookfile.TypeCommand && claude.Records(h.Command, h.Args)
	})
	if err != nil {
		return nil, nil, err
	}
	a.printf("%s\n", path)
	double := 0
	for _, h := range file.Handlers {
		var changed bool
		if to, changed, err = hookfile.Add(to, h); err != nil {
			return nil, nil, fmt.Errorf("settings %q, line %d: %s: %w", path, h.Line, a.clean(hookfile.Describe(h)), err)
		}
		if !changed {
			double++
			continue
		}
		added = append(added, h)
		a.printf("  add      %s\n", termtext.Value(a.clean(hookfile.Describe(h))))
	}
	if double > 0 {
		a.printf("  keep     %s there already\n", termtext.Plural(double, "hook"))
	}
	if len(file.Handlers) == 0 {
		a.printf("  no hook that can run on Cline\n")
	}
	if len(file.Handlers) > 0 {
		if to, err = a.importEnv(path, project, file.Env, to); err != nil {
			return nil, nil, err
		}
	}
	for _, n := range notes {
		a.printf("  note: %s\n", termtext.Value(n))
	}
	if from := a.claudeProject(path); project == "" && from != "" {
		a.printf("  note: the file is that of the project %s, and its hooks will run in all your projects: "+
			"hookspan hooks import claude --project %s keeps them there\n", termtext.Value(from), termtext.Value(hookfile.ShellWord(from)))
	}
	for _, p := range a.checkHooks(file, project, a.hookSources(project)) {
		where := "line " + strconv.Itoa(p.Line)
		if p.Column > 0 {
			where += ", column " + strconv.Itoa(p.Column)
		}
		a.printf("  note: %s: %s\n", where, termtext.Value(p.Text))
	}
	return to, added, nil
}

// importEnv adds the variables of a settings file to the text of a hooks.json.
func (a *app) importEnv(path, project string, vars []hookfile.Variable, to []byte) ([]byte, error) {
	to, added, kept, err := hookfile.AddEnv(to, vars)
	if err != nil {
		return nil, fmt.Errorf("settings %q: %w", path, err)
	}
	if len(added) > 0 {
		a.printf("  add      env: %s\n", termtext.Value(strings.Join(added, ", ")))
		if project != "" {
			a.printf("  note: the project's hooks.json will hold these values: keep it out of version control if one of them is a secret\n")
		}
	}
	if len(kept) > 0 {
		a.printf("  keep     env: %s, with another value there\n", termtext.Value(strings.Join(kept, ", ")))
	}
	return to, nil
}

// claudeProject is the folder of the project that a settings file of Claude Code
// belongs to, or empty for any other file.
func (a *app) claudeProject(path string) string {
	full, err := filepath.Abs(path)
	if dir := filepath.Dir(full); err == nil && filepath.Base(dir) == ".claude" && !slices.Contains(a.claudeSettings(""), full) {
		return filepath.Dir(dir)
	}
	return ""
}
