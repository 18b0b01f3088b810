package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/spool"
)

// finding is one thing the doctor looked at.
type finding struct {
	// Level is "ok", "note" or "problem".
	Level string `json:"level"`
	Text  string `json:"text"`
	// Hint says what to do; empty where there is nothing to do.
	Hint string `json:"hint,omitempty"`
}

func (a *app) doctorCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Diagnose problems that keep traces from appearing",
		Long: `Look at the hooks, the settings, the spool, the log and the state of delivery, and
say what is wrong and what to do about it. Nothing is sent; hookspan test does that.
For each destination it reports the last try and its result. The exit code is 1 when
there is a problem.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.examine(cmd.Context())
			problems := 0
			for _, f := range found {
				if f.Level == "problem" {
					problems++
				}
			}
			if asJSON {
				if err := a.printJSON(found); err != nil {
					return err
				}
			} else {
				for _, f := range found {
					a.printf("%-8s %s\n", f.Level, termtext.Value(f.Text))
					if f.Hint != "" {
						a.printf("%-8s hint: %s\n", "", termtext.Value(f.Hint))
					}
				}
			}
			if problems > 0 {
				return exitError(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) examine(ctx context.Context) []finding {
	var out []finding
	add := func(level, text, hint string) { out = append(out, finding{level, text, hint}) }

	st, statusErr := a.status(ctx)
	for _, program := range st.programs() {
		out = append(out, a.examineProgram(ctx, program))
	}
	out = append(out, a.examineState(ctx)...)
	for _, p := range config.Problems(a.cfgErr) {
		add("problem", p.Error(), "correct it; hookspan config shows the value in force instead")
	}
	if a.cfgErr == nil {
		add("ok", "every setting is valid", "")
	}
	clean, err := pipeline.Redactor(a.cfg)
	if err != nil {
		add("problem", termtext.Message(err), "nothing is delivered until that file is fixed")
	}
	if statusErr != nil {
		add("problem", termtext.Message(statusErr), "fix that first; the other checks need it")
		return out
	}
	out = append(out, a.examineHooks(st)...)
	out = append(out, a.examineOtherAgents()...)
	out = append(out, a.examineOwnHooks(st)...)
	out = append(out, a.examineDelivery(st)...)
	out = append(out, a.examineStripped(st)...)
	out = append(out, a.examineSpool()...)
	out = append(out, a.examineLog(st)...)
	if clean != nil {
		for i := range out {
			// Some quote a payload, or a folder that stands in one.
			out[i].Text, out[i].Hint = clean.Tail(out[i].Text), clean.Tail(out[i].Hint)
		}
	}
	return out
}

// programs are the hook programs that this machine needs: those of the agents
// that have hooks of hookspan's. Where none has, it is the one for Cline, so that
// a machine without any is told of.
func (st *status) programs() []string {
	var out []string
	if st == nil || st.report.Present() || !st.claude.Present() {
		out = append(out, "cline-hook")
	}
	if st != nil && st.claude.Present() {
		out = append(out, "claude-hook")
	}
	return out
}

// examineProgram runs a hook program, which may be missing, damaged or made for
// another machine.
func (a *app) examineProgram(ctx context.Context, program string) finding {
	path, err := a.hookProgram(program, "")
	if err != nil {
		var h hinted
		errors.As(err, &h)
		return finding{"problem", err.Error(), h.hint}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := exec.CommandContext(ctx, path, "--help").Run(); err != nil { //nolint:gosec // Our own program.
		return finding{"problem", fmt.Sprintf("%s does not run: %s: %v", program, path, err), "build or install it again"}
	}
	return finding{"ok", program + " is beside hookspan and runs", ""}
}

// examineState tries what every event and every trace needs: to write to the
// state folder, and to read the local store.
func (a *app) examineState(ctx context.Context) []finding {
	dir := a.cfg.StateDir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // the first event makes it
	}
	f, err := os.CreateTemp(dir, ".doctor-")
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return []finding{{"problem", "the state folder cannot be written to, so events are lost: " + err.Error(), "free space, or set it right: " + dir}}
	}
	if _, err := os.Stat(a.cfg.StorePath()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s, err := store.Open(ctx, a.cfg.StorePath())
	if err == nil {
		_, err = s.List(ctx, store.Filter{Limit: 1})
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		return []finding{{"problem", err.Error(), "move the file away; events that are still in the spool are not lost, traces in it are"}}
	}
	return []finding{{"ok", "the state folder can be written to and the local store can be read", ""}}
}

func (a *app) examineHooks(st *status) []finding {
	var out []finding
	switch {
	case a.paused():
		out = append(out, finding{"problem", "recording is paused", "hookspan resume"})
	case st.Recording != recordingOn:
		out = append(out, finding{"problem", "recording is " + st.Recording, recordingHint(st.Recording)})
	}
	out = append(out, examineCline(st)...)
	return append(out, examineClaude(st.claude)...)
}

// recordingHint says how to have events recorded again.
func recordingHint(why string) string {
	if strings.Contains(why, ".hookspan.env") {
		return "remove that line to record this project's tasks"
	}
	return "unset the variable; hookspan config says where it is set"
}

// examineCline looks at Cline's hooks. Where another agent has hooks and Cline
// none, Cline is not used; where Cline has some, a folder of another project, or
// the user's, needs none.
func examineCline(st *status) []finding {
	if !st.report.Present() && st.claude.Present() {
		return nil
	}
	var out []finding
	nobody := !st.report.Present()
	if nobody {
		out = append(out, finding{"problem", "no agent has hookspan's hooks, so nothing is recorded", "hookspan install cline, or hookspan install claude"})
	}
	for _, s := range st.report.Sites {
		found := examineFolder(&s)
		if nobody {
			// That hooks are missing has been said.
			found = slices.DeleteFunc(found, func(x finding) bool { return x.Level == "problem" })
		}
		if s.Present || nobody {
			out = append(out, found...)
		}
	}
	if st.report.Healthy() {
		out = append(out, finding{"ok", "Cline's hooks are installed", ""})
	}
	for _, w := range slices.Concat(st.report.Warnings, st.report.Off) {
		out = append(out, finding{"note", w, ""})
	}
	return out
}

// examineClaude looks at the hooks in Claude Code's settings. Settings without
// any are the user's own business.
func examineClaude(r *install.Report) []finding {
	var out []finding
	if !r.Present() {
		for _, s := range r.Sites {
			if s.Err != nil {
				out = append(out, finding{"note", s.Err.Error(), "Claude Code ignores a file that it cannot read; hookspan install claude would refuse it"})
			}
		}
		return out
	}
	for _, s := range r.Sites {
		if s.Present {
			out = append(out, examineSettings(&s)...)
		}
	}
	for _, why := range r.Off {
		out = append(out, finding{"problem", why, "Claude Code runs hooks again once that setting is gone"})
	}
	if r.Healthy() {
		out = append(out, finding{"ok", "Claude Code's hooks are installed", ""})
	}
	for _, w := range r.Warnings {
		out = append(out, finding{"note", w, ""})
	}
	if r.Telemetry != "" {
		out = append(out, finding{
			"note", "Claude Code sends telemetry of its own too (CLAUDE_CODE_ENABLE_TELEMETRY in " + r.Telemetry + ")",
			"its spans and hookspan's have different scope names; a backend that gets both shows tokens and costs twice",
		})
	}
	return out
}

// examineSettings lists what is wrong in one settings file.
func examineSettings(s *install.Site) []finding {
	hint := "hookspan install claude"
	if s.Kind != claude.ScopeUser {
		hint += " --scope " + s.Kind + " --project " + s.Project
	}
	if s.Err != nil {
		return []finding{{"problem", s.Err.Error(), "Claude Code runs no hooks from a file that it cannot read: fix it, then " + hint}}
	}
	var out []finding
	for _, state := range []install.State{install.StateOutdated, install.StateMissing, install.StateEdited} {
		x := finding{Level: "problem", Hint: hint}
		if state == install.StateMissing && s.Count(state) == len(s.Hooks) {
			x.Hint += "; or, if you have taken the hooks out, hookspan uninstall claude"
		}
		if state == install.StateEdited {
			x.Level, x.Hint = "note", hint+" --force writes it anew"
		}
		for _, g := range s.Groups() {
			if g.State == state {
				x.Text = string(state) + " in " + s.Path + ": " + g.Text()
				out = append(out, x)
			}
		}
	}
	return out
}

// examineFolder lists what is wrong in one hook folder.
func examineFolder(s *install.Site) []finding {
	var out []finding
	for _, g := range s.Groups() {
		x := finding{"problem", g.Names("hook") + " in " + s.Path + ": " + string(g.State) + install.WithReason(g.Reason), "hookspan install cline"}
		switch g.State {
		case install.StateInstalled:
			continue
		case install.StateForeign:
			x.Level, x.Hint = "note", "hookspan install cline --chain runs your hook and hookspan's"
		case install.StateEdited:
			x.Hint = "hookspan install cline --force writes it anew"
		case install.StateOff:
			x.Hint = "switch it on in Cline's Hooks tab, or run hookspan install cline"
		}
		out = append(out, x)
	}
	return out
}

// examineSpool looks for events that could not be read.
func (a *app) examineSpool() []finding {
	if _, err := os.Lstat(a.cfg.SpoolDir()); errors.Is(err, fs.ErrNotExist) {
		return []finding{{"note", "no event has been stored yet", "work with your agent once; if this stays with Cline, reload the editor's window"}}
	}
	sp, err := spool.Open(a.cfg.SpoolDir(), spool.Options{})
	if err != nil {
		return []finding{{"problem", termtext.Message(err), "events are lost until the spool can be opened"}}
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		return []finding{{"problem", termtext.Message(err), "nothing is delivered until the spool can be read"}}
	}
	var out []finding
	var c spoolCounts
	sources := a.setup().Sources()
	for _, k := range keys {
		if err := c.session(sp, k, sources[k.Host].Decode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			out = append(out, finding{"problem", termtext.Message(err), "this session is not delivered; the others are"})
		}
	}
	return append(out, c.findings()...)
}

// spoolCounts counts what is odd in the spool.
type spoolCounts struct {
	events, raw, cut, undecoded, damaged, newer int
	rawExample, undecodedExample                string
}

// session counts one session's events. decode reads an event of its host, and is
// nil for a host that this hookspan does not know.
func (c *spoolCounts) session(sp *spool.Spool, k spool.Key, decode func(*spool.Record) ([]hook.Event, error)) error {
	s, err := sp.Session(k)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for r.Next() {
		rec := r.Record()
		c.events++
		if rec.Cut > 0 {
			c.cut++
		}
		err := fmt.Errorf("%s: the agent %q is not known", rec.Event, k.Host)
		if decode != nil {
			_, err = decode(rec)
		}
		switch {
		case rec.Raw && len(rec.Payload) > 0:
			c.raw++
			c.rawExample = cmp.Or(rec.Event, "an event without a name") + ": " + string(rec.Payload[:min(len(rec.Payload), 60)])
		case err != nil:
			c.undecoded++
			c.undecodedExample = err.Error()
		}
	}
	c.damaged += len(r.Damage())
	c.newer += r.Unknown()
	return r.Err()
}

func (c *spoolCounts) findings() []finding {
	var out []finding
	add := func(n int, what, is, hint string) {
		if n > 0 {
			out = append(out, finding{"note", termtext.Plural(n, what) + " " + is, hint})
		}
	}
	out = append(out, finding{"ok", termtext.Plural(c.events, "event") + " in the spool", ""})
	add(c.raw, "event", "of a form that is not JSON", "kept as they came; the last: "+termtext.Value(c.rawExample))
	add(c.undecoded, "event", "of a form this hookspan does not know", "kept as they came; the last: "+termtext.Value(c.undecodedExample))
	add(c.damaged, "damaged place", "in the spool", "the records around are whole; the damaged bytes stay in the log")
	add(c.newer, "event", "written by a newer hookspan", "kept untouched: upgrade to read them")
	add(c.cut, "event", "larger than HOOKSPAN_MAX_EVENT_BYTES", "stored with long texts cut")
	return out
}
