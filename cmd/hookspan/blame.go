package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/lookpath"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func blameCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "blame FILE[:LINE]", Short: "Show which tasks wrote the lines of a file",
		Long: `Show for the lines of a file the commits that they are from, as git blame says, and of
each the task that made it: a commit that a recorded call made and printed, or of which
nothing else has the subject. The others are not recorded: those of people, and those from
before hookspan or from another machine.`,
		Example: `  hookspan blame internal/auth/login.go
  hookspan blame internal/auth/login.go:42`,
		Args: takes(1, "one file"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return wrongUsage(cmd, "found no file, want one, as in hookspan blame main.go")
		}
		file, line := args[0], ""
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			if i := strings.LastIndexByte(file, ':'); i > 0 {
				file, line = file[:i], file[i+1:]
			}
			if n, err := strconv.Atoi(line); line != "" && (err != nil || n < 1) {
				return wrongUsage(cmd, "%s: found line %q, want a number of 1 or more", file, line)
			}
		}
		lines, err := gitBlame(cmd.Context(), file, line)
		if err != nil {
			return err
		}
		return withPipeline(cmd.Context(), a, func(ctx context.Context, p *pipeline.Pipeline) error {
			tasks := make(map[string]*store.Summary)
			for i := range lines {
				l := &lines[i]
				if _, known := tasks[l.Commit]; !known {
					found, err := p.Store.List(ctx, store.Filter{Commit: l.Commit, Limit: 1})
					if err != nil {
						return err
					}
					tasks[l.Commit] = nil
					if len(found) > 0 {
						tasks[l.Commit] = &found[0]
					}
				}
				l.Task = tasks[l.Commit]
			}
			if asJSON {
				return a.printJSON(lines)
			}
			return view.Blame(a.stdout, lines, a.viewOptions())
		})
	}
	return cmd
}

// gitBlame asks git for the commits of a file's lines.
func gitBlame(ctx context.Context, file, line string) ([]view.Blamed, error) {
	off, err := withoutPrograms(ctx, file)
	if err != nil {
		return nil, err
	}
	args := append(off, "blame", "--no-textconv", "--porcelain")
	if line != "" {
		args = append(args, "-L", line+","+line)
	}
	out, err := git(ctx, file, append(args, "--", filepath.Base(file))...)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("git blame %s: %s", file, termtext.Line(string(bytes.TrimSpace(failed.Stderr))))
	}
	if err != nil {
		return nil, fmt.Errorf("git blame %s: %w", file, err)
	}
	return parseBlame(out), nil
}

// withoutPrograms are the arguments by which git blame starts no program that the settings of a
// repository name: it would pass the file through filters to compare it with the last commit.
func withoutPrograms(ctx context.Context, file string) (args []string, err error) {
	args = []string{"-c", "core.fsmonitor=false"}
	out, err := git(ctx, file, "config", "--name-only", "--get-regexp", `^filter\..*\.(clean|process)$`)
	var none *exec.ExitError
	if err != nil && !errors.As(err, &none) { // git blame says what is wrong
		return nil, fmt.Errorf("git blame %s: %w", file, err)
	}
	for key := range strings.Lines(out) {
		key = strings.TrimSuffix(key, "\n")
		name := key[len("filter."):strings.LastIndexByte(key, '.')]
		if strings.Contains(name, "=") { // which -c cannot name
			return nil, fmt.Errorf("git blame %s: found a filter with the name %q in the settings of git, want a name without =", file, name)
		}
		args = append(args, "-c", key+"=", "-c", "filter."+name+".required=false")
	}
	return args, nil
}

// git runs git in a file's folder. It fetches nothing, for which a repository can name a program.
func git(ctx context.Context, file string, args ...string) (string, error) {
	cmd, err := lookpath.Here().Command(ctx, "git", append([]string{"-C", filepath.Dir(file)}, args...)...)
	if err != nil {
		return "", fmt.Errorf("found no git: %w", err)
	}
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=none")
	out, err := cmd.Output()
	return string(out), err
}

// parseBlame reads what git blame --porcelain prints: before each line its commit and its
// number, and once for each commit what is known of it.
func parseBlame(out string) (lines []view.Blamed) {
	subjects := make(map[string]string)
	for text := range strings.Lines(out) {
		text = strings.TrimSuffix(text, "\n")
		name, rest, _ := strings.Cut(text, " ")
		switch words := strings.Fields(rest); {
		case strings.HasPrefix(text, "\t"): // the line itself
		case name == "summary" && len(lines) > 0:
			subjects[lines[len(lines)-1].Commit] = rest
		case len(name) >= 40 && len(words) >= 2:
			n, _ := strconv.Atoi(words[1])
			if last := len(lines) - 1; last >= 0 && lines[last].Commit == name && lines[last].To == n-1 {
				lines[last].To = n
			} else {
				lines = append(lines, view.Blamed{From: n, To: n, Commit: name})
			}
		}
	}
	for i := range lines {
		lines[i].Subject = subjects[lines[i].Commit]
	}
	return lines
}
