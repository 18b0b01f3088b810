package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/install"
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
						a.printf("%-8s hint: %s\n", "", f.Hint)
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
		add("ok", "cline-hook is beside hookspan", "")
	}
	for _, p := range config.Problems(a.cfgErr) {
		add("problem", p.Error(), "until then the default is in force")
	}
	if a.cfgErr == nil {
		add("ok", "every setting is valid", "")
	}
	if _, err := a.redactor(); err != nil {
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
	return append(out, a.examineLog()...)
}

func (a *app) examineHooks(st *status) []finding {
	var out []finding
	if st.Recording != "on" {
		out = append(out, finding{"problem", "recording is " + st.Recording, "hookspan resume, or unset the variable"})
	}
	var missing []string
	for _, h := range st.Hooks {
		text := h.Event + " in " + filepath.Dir(h.Path) + " is " + string(h.State)
		if h.Reason != "" {
			text += ": " + h.Reason
		}
		switch h.State {
		case install.StateOurs:
		case install.StateMissing:
			missing = append(missing, h.Event)
		case install.StateForeign:
			out = append(out, finding{"note", text, "hookspan install cline --chain runs your hook and hookspan's"})
		default:
			out = append(out, finding{"problem", text, "hookspan install cline"})
		}
	}
	if n := len(missing); n > 0 {
		text := "Cline's hooks are not installed"
		if n < len(st.Hooks) {
			text = "hooks are missing: " + strings.Join(missing, ", ")
		}
		out = append(out, finding{"problem", text, "hookspan install cline"})
	}
	if st.HooksHealthy {
		out = append(out, finding{"ok", "Cline's hooks are installed", ""})
	}
	for _, w := range st.report.Warnings {
		out = append(out, finding{"note", w, ""})
	}
	return out
}

func (a *app) examineDelivery(st *status) []finding {
	var out []finding
	if len(st.Destinations) == 0 {
		out = append(out, finding{"problem", "no destination is set up", "unset HOOKSPAN_EXPORTERS, or see hookspan config"})
	}
	for _, d := range st.Destinations {
		switch {
		case d.Failing > 0:
			out = append(out, finding{"problem", d.Name + ": " + d.LastError, "hookspan flush tries again at once"})
		case len(d.Parked) > 0:
			out = append(out, finding{"problem", d.Name + ": refused for good: " + d.Parked[len(d.Parked)-1].Error, "the local store still has the trace: hookspan show " + d.Parked[len(d.Parked)-1].Trace})
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
	example                                     string
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
			c.example = rec.Event + ", " + string(rec.Payload[:min(len(rec.Payload), 60)])
		case err != nil:
			c.undecoded++
			c.example = err.Error()
		}
	}
	c.damaged += len(r.Damage())
	c.newer += r.Unknown()
	return r.Err()
}

func (c *spoolCounts) findings() []finding {
	var out []finding
	add := func(n int, what, hint string) {
		if n > 0 {
			out = append(out, finding{"note", plural(n, what), hint})
		}
	}
	out = append(out, finding{"ok", plural(c.events, "event") + " readable in the spool", ""})
	add(c.raw, "event", "payloads that are not JSON are kept as they came; the last: "+printable(c.example))
	add(c.undecoded, "event", "kept, but of a form this hookspan does not know: "+printable(c.example))
	add(c.damaged, "damaged place", "the records around them are whole; what was damaged is kept in quarantine")
	add(c.newer, "event", "written by a newer hookspan, kept untouched: upgrade to read them")
	add(c.cut, "event", "larger than HOOKSPAN_MAX_EVENT_BYTES, stored with long texts cut")
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
