package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/store"
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
		Use: "doctor", Short: "Look for what keeps traces from appearing",
		Long: `Look at the hooks, the settings, the spool, the log and the state of delivery, and
say what is wrong and what to do about it. Nothing is sent; hookspan test does that.
The exit code is 1 when there is a problem.`,
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
					a.printf("%-8s %s\n", f.Level, printable(f.Text))
					if f.Hint != "" {
						a.printf("%-8s hint: %s\n", "", printable(f.Hint))
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

	if _, err := a.hookBinary(""); err != nil {
		var h hinted
		errors.As(err, &h)
		add("problem", err.Error(), h.hint)
	} else {
		out = append(out, a.examineProgram(ctx))
	}
	out = append(out, a.examineState(ctx)...)
	for _, p := range config.Problems(a.cfgErr) {
		add("problem", p.Error(), "hookspan config shows what is in force in its place")
	}
	if a.cfgErr == nil {
		add("ok", "every setting is valid", "")
	}
	clean, err := a.redactor()
	if err != nil {
		add("problem", err.Error(), "until it is mended nothing is delivered")
	}
	st, err := a.status(ctx)
	if err != nil {
		add("problem", err.Error(), "")
		return out
	}
	out = append(out, a.examineHooks(st)...)
	out = append(out, a.examineDelivery(st)...)
	out = append(out, a.examineSpool()...)
	out = append(out, a.examineLog()...)
	if clean != nil {
		for i := range out {
			// Some quote a payload, or a folder that stands in one.
			out[i].Text, out[i].Hint = clean.String(out[i].Text), clean.String(out[i].Hint)
		}
	}
	return out
}

// examineProgram runs the hook program, which may be damaged or made for
// another machine.
func (a *app) examineProgram(ctx context.Context) finding {
	path, err := a.hookBinary("")
	if err != nil {
		return finding{"problem", err.Error(), ""}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := exec.CommandContext(ctx, path, "--help").Run(); err != nil { //nolint:gosec // Our own program.
		return finding{"problem", fmt.Sprintf("cline-hook does not run: %s: %v", path, err), "build or install it again"}
	}
	return finding{"ok", "cline-hook is beside hookspan and runs", ""}
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
		out = append(out, finding{"problem", "recording is " + st.Recording, "unset the variable; hookspan config says where it is set"})
	}
	for _, f := range st.report.Folders {
		out = append(out, examineFolder(st, f)...)
	}
	if st.HooksHealthy {
		out = append(out, finding{"ok", "Cline's hooks are installed", ""})
	}
	for _, w := range st.report.Warnings {
		out = append(out, finding{"note", w, ""})
	}
	return out
}

// examineFolder tells what is not as it should be in one folder, all events
// that are in the same state in one sentence.
func examineFolder(st *status, f install.Folder) []finding {
	var order []string
	events := map[string][]string{}
	state := map[string]install.State{}
	for _, h := range st.Hooks {
		if filepath.Dir(h.Path) != f.Path || h.State == install.StateOurs {
			continue
		}
		what := string(h.State)
		if h.Reason != "" {
			what += ": " + h.Reason
		}
		if events[what] == nil {
			order = append(order, what)
		}
		events[what] = append(events[what], h.Event)
		state[what] = h.State
	}
	var out []finding
	for _, what := range order {
		n := plural(len(events[what]), "hook")
		if len(events[what]) <= 3 {
			n = strings.Join(events[what], ", ")
		}
		x := finding{"problem", n + " in " + f.Path + ": " + what, "hookspan install cline"}
		switch state[what] {
		case install.StateForeign:
			x.Level, x.Hint = "note", "hookspan install cline --chain runs your hook and hookspan's"
		case install.StateEdited:
			x.Hint = "hookspan install cline --force writes it anew"
		}
		out = append(out, x)
	}
	return out
}

func (a *app) examineDelivery(st *status) []finding {
	var out []finding
	if len(st.Destinations) == 0 {
		out = append(out, finding{"problem", "no destination is set up", "hookspan config shows the settings; without HOOKSPAN_EXPORTERS the local store is always there"})
	}
	for _, d := range st.Destinations {
		switch {
		case d.Failing > 0:
			out = append(out, finding{"problem", d.Name + ": " + d.LastError, "once it is mended, hookspan flush delivers what waits"})
		case len(d.Parked) > 0:
			p := d.Parked[len(d.Parked)-1]
			out = append(out, finding{
				"problem", d.Name + ": " + plural(len(d.Parked), "trace") + " refused for good, the last: " + p.Error,
				"it is not sent again by itself; once it is mended, hookspan flush does",
			})
		default:
			out = append(out, finding{"ok", d.Name + ": no delivery is failing", ""})
		}
	}
	return out
}

// examineSpool looks for events that could not be read.
func (a *app) examineSpool() []finding {
	if _, err := os.Lstat(a.cfg.SpoolDir()); errors.Is(err, fs.ErrNotExist) {
		return []finding{{"note", "no event has been stored yet", "work with Cline once; if this stays, reload the editor's window"}}
	}
	sp, err := spool.Open(a.cfg.SpoolDir(), spool.Options{})
	if err != nil {
		return []finding{{"problem", err.Error(), ""}}
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		return []finding{{"problem", err.Error(), ""}}
	}
	var out []finding
	var c spoolCounts
	for _, k := range keys {
		if err := c.session(sp, k); err != nil && !errors.Is(err, fs.ErrNotExist) {
			out = append(out, finding{"problem", err.Error(), ""})
		}
	}
	return append(out, c.findings()...)
}

// spoolCounts counts what is odd in the spool.
type spoolCounts struct {
	events, raw, cut, undecoded, damaged, newer int
	rawExample, undecodedExample                string
}

func (c *spoolCounts) session(sp *spool.Spool, k spool.Key) error {
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
		_, err := cline.Decode(cline.Raw{Payload: rec.Payload, Event: rec.Event, StoredAt: rec.At})
		switch {
		case rec.Raw && len(rec.Payload) > 0:
			c.raw++
			c.rawExample = rec.Event + ", " + string(rec.Payload[:min(len(rec.Payload), 60)])
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
			out = append(out, finding{"note", plural(n, what) + " " + is, hint})
		}
	}
	out = append(out, finding{"ok", plural(c.events, "event") + " in the spool", ""})
	add(c.raw, "event", "of a form that is not JSON", "kept as they came; the last: "+printable(c.rawExample))
	add(c.undecoded, "event", "of a form this hookspan does not know", "kept as they came; the last: "+printable(c.undecodedExample))
	add(c.damaged, "damaged place", "in the spool", "the records around are whole; the damaged bytes stay in the log")
	add(c.newer, "event", "written by a newer hookspan", "kept untouched: upgrade to read them")
	add(c.cut, "event", "larger than HOOKSPAN_MAX_EVENT_BYTES", "stored with long texts cut")
	return out
}

func plural(n int, what string) string {
	s := strconv.Itoa(n) + " " + what
	if n != 1 {
		s += "s"
	}
	return s
}

// examineLog shows the newest lines of the log.
func (a *app) examineLog() []finding {
	f, err := os.Open(a.cfg.LogPath())
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var last []string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if strings.Contains(sc.Text(), ": configuration: ") {
			continue // every hook says it; what is wrong now stands further up
		}
		if last = append(last, sc.Text()); len(last) > 3 {
			last = last[1:]
		}
	}
	var out []finding
	for _, l := range last {
		out = append(out, finding{"note", "log: " + strings.TrimSpace(l), ""})
	}
	return out
}
