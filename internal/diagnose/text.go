package diagnose

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Look is how texts for people look. The zero value is for a pipe.
type Look struct {
	// Marks puts a symbol before each line that is right or wrong, Color colours it.
	Marks, Color bool
	// Width is that of the terminal in columns; if zero, lines have any length.
	Width int
}

// marks are the symbol and the colour of each level.
var marks = map[Level]struct{ symbol, sgr string }{
	OK: {"✓", "32"}, Note: {"!", "33"}, Problem: {"✗", "31"},
}

// mark returns what precedes a line of a level, two columns wide; "" is no level.
func (l Look) mark(level Level) string {
	switch {
	case !l.Marks:
		return ""
	case level == "":
		return "  "
	}
	return l.paint(marks[level].sgr, marks[level].symbol) + " "
}

// fold breaks a safe text that begins at a column, as termtext.Fold does.
func (l Look) fold(text string, column int) string { return termtext.Fold(text, column, l.Width) }

// paint colours a safe text (ECMA-48, SGR).
func (l Look) paint(sgr, text string) string {
	if !l.Color {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// Text shows findings to people, with a last line that sums up.
func Text(found []Finding, l Look) string {
	var b strings.Builder
	count := map[Level]int{}
	for _, f := range found {
		count[f.Level]++
		lead, below := fmt.Sprintf("%-8s ", f.Level), fmt.Sprintf("%-8s hint: ", "")
		if l.Marks {
			lead, below = l.mark(f.Level), "  "+l.paint("2", "hint:")+" "
		}
		fmt.Fprintf(&b, "%s%s\n", lead, l.fold(termtext.Value(f.Text), 2))
		if f.Hint != "" {
			fmt.Fprintf(&b, "%s%s\n", below, l.fold(termtext.Value(f.Hint), len("  hint: ")))
		}
	}
	sum, sgr := "everything works", marks[OK].sgr
	if n := count[Problem]; n > 0 {
		sum, sgr = termtext.Plural(n, "problem"), marks[Problem].sgr
	}
	if n := count[Note]; n > 0 {
		sum += ", " + termtext.Plural(n, "note")
	}
	fmt.Fprintf(&b, "\n%s\n", l.paint(sgr, sum))
	return b.String()
}

// Text shows the status to people, with a last line that sums up.
func (st *Status) Text(l Look) string {
	var b strings.Builder
	problems := len(config.Problems(st.machine.ConfigErr))
	printf := func(level Level, format string, args ...any) {
		if level == Problem {
			problems++
		}
		fmt.Fprintf(&b, l.mark(level)+format, args...)
	}
	right := func(ok bool) Level {
		if ok {
			return OK
		}
		return Problem
	}
	recording := st.Recording
	if Paused(st.machine.Setup.Config) {
		recording += "; hookspan resume continues it"
	}
	row := func(level Level, name, text string) {
		printf(level, "%-12s %s\n", name, l.fold(termtext.Value(text), len("  ")+13))
	}
	// Off otherwise is as the user wants it.
	row(cmp.Or(map[string]Level{recordingOn: OK, recordingPaused: Problem}[st.Recording], Note), "recording", recording)
	if st.LastEvent.IsZero() {
		row("", "events", "none yet")
	} else {
		row("", "events", fmt.Sprintf("last %s; %s, %s in the spool", st.LastEvent.Local().Format(time.DateTime),
			termtext.Plural(st.Sessions, "session"), bytesText(st.SpoolBytes)))
	}
	st.programRows(row)
	row("", "state", st.StateDir)
	if st.HookVersion != "" {
		row("", "hooks run", "hookspan "+st.HookVersion)
	}
	row("", "env file", st.EnvFile)
	if st.MachineFile != "" {
		managed := ""
		if st.Managed {
			managed = " (managed: what it sets holds)"
		}
		row("", "machine file", st.MachineFile+managed)
	}
	for _, side := range []string{config.Machine, config.File, config.Environment, config.Fallback} {
		var names []string
		for _, v := range st.Values {
			if v.Source == side {
				names = append(names, v.Name)
			}
		}
		if len(names) > 0 {
			row("", "settings", side+": "+strings.Join(names, ", "))
		}
	}
	st.budgetRows(row)
	b.WriteByte('\n')
	if text := st.ownHooksText(); text != "" {
		printf("", "%s\n\n", l.fold(text, 2))
	}
	present := st.installed()
	if len(present) == 0 {
		printf(Problem, "no agent has hookspan's hooks: hookspan install\n\n")
	}
	for _, h := range present {
		text := h.Report.Text()
		if l.Marks {
			lines := strings.Split("    "+strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    "), "\n")
			for i, line := range lines {
				body := strings.TrimLeft(line, " ")
				column := len(line) - len(body)
				lines[i] = line[:column] + l.fold(body, column)
			}
			text = h.Agent.Name + "\n" + strings.Join(lines, "\n") + "\n"
		}
		printf(right(h.Report.Healthy()), "%s\n", text)
	}
	without := len(st.WithoutHooks)
	if len(present) == 0 {
		without = 0 // said above
	}
	if without > 0 {
		printf(Note, "%s\n\n", l.fold("here without hookspan's hooks, so not recorded: "+strings.Join(st.WithoutHooks, ", "), 2))
	}
	for i := range st.Destinations {
		d := &st.Destinations[i]
		for n, line := range st.destinationLines(d) {
			name, level := "", Level("")
			if n == 0 {
				name, level = d.Name, d.level()
			}
			row(level, name, line)
		}
	}
	if len(st.Destinations) == 0 {
		printf(Problem, "no destination is set up; hookspan config shows the settings\n")
	}
	sum, sgr := "everything works", marks[OK].sgr
	switch {
	case problems > 0:
		sum, sgr = termtext.Plural(problems, "problem")+": hookspan doctor says what to do", marks[Problem].sgr
	case without > 0:
		sum, sgr = fmt.Sprintf("what is installed works; %s without hooks: hookspan install", termtext.Plural(without, "agent")), marks[Note].sgr
	}
	fmt.Fprintf(&b, "\n%s\n", l.paint(sgr, sum))
	return b.String()
}

func (st *Status) budgetRows(row func(level Level, name, text string)) {
	for _, f := range st.Budgets {
		row(map[bool]Level{true: Note}[f.Level != ""], "budgets", f.Text)
	}
}

func (st *Status) ownHooksText() string {
	if len(st.OwnHooks) == 0 {
		return ""
	}
	parts := make([]string, len(st.OwnHooks))
	for i, f := range st.OwnHooks {
		parts[i] = fmt.Sprintf("%d in %s", f.Hooks, f.Path)
		switch {
		case f.Error != "":
			parts[i] = f.Path + " cannot be read"
		case !f.Trusted:
			parts[i] += " (not trusted)"
		}
	}
	text := "your hooks: " + termtext.Value(strings.Join(parts, ", "))
	if !st.machine.Setup.Config.Hooks {
		text += "; switched off by HOOKSPAN_HOOKS"
	}
	return strings.Join(append([]string{text}, st.OwnHooksRun...), "\n")
}

// level judges a destination.
func (d *Destination) level() Level {
	if d.Off != "" && d.Off != switchedOff || d.Fault != "" || d.Error != "" || d.Failing > 0 || len(d.Parked) > 0 || d.Name == config.ExporterStore && d.Stored == nil {
		return Problem
	}
	return OK
}

func (st *Status) destinationLines(d *Destination) (lines []string) {
	if why := cmp.Or(d.Off, d.Fault); why != "" {
		lines = append(lines, "off: "+why)
	} else {
		lines = append(lines, strings.Join(append([]string{d.state(st.machine.Setup.Now())}, d.counts()...), "; "))
	}
	if d.Stored != nil && d.Stored.Bytes > 0 {
		lines = append(lines, storeSize(d.Stored, st.machine.Setup.Config.StoreMaxBytes, st.machine.Setup.Now()))
	}
	if d.Failing > 0 {
		if d.Error == "" && d.Fault == "" && d.elsewhere == "" {
			lines = append(lines, "failing: "+d.LastError)
		}
		lines = append(lines, fmt.Sprintf("next try %s, or now with: hookspan flush", d.NextTry.Local().Format(time.DateTime)))
	}
	if n := len(d.Parked); n > 0 {
		lines = append(lines, fmt.Sprintf("rejected %s: %s", ago(st.machine.Setup.Now(), d.Parked[n-1].At), d.Parked[n-1].Error))
	}
	return lines
}

// state is the result of the last try.
func (d *Destination) state(now time.Time) string {
	switch {
	case d.Name == config.ExporterStore && d.Stored == nil:
		return "cannot be read: hookspan doctor"
	case d.Stored != nil && d.Stored.Traces == 0:
		return "no traces yet"
	case d.Stored != nil:
		return fmt.Sprintf("%s, %s on this machine, imported ones included; the newest began %s",
			termtext.Plural(d.Stored.Traces, "trace"), termtext.Plural(d.Stored.Spans, "span"), ago(now, d.Stored.Newest))
	case d.Error != "":
		return fmt.Sprintf("failing: tried %s: %s", ago(now, d.Tried), d.errorAt())
	case !d.Tried.IsZero():
		return fmt.Sprintf("taken %s at %s", ago(now, d.Taken), d.Target)
	case d.elsewhere != "":
		return fmt.Sprintf("not tried yet at %s (last at %s): hookspan test", d.Target, d.elsewhere)
	case d.Runs > 0 || d.Failing > 0:
		return d.Target
	}
	return fmt.Sprintf("not tried yet at %s: hookspan test", d.Target)
}

// errorAt is the error of the last try, with the address.
func (d *Destination) errorAt() string {
	text := deliver.WithoutName(d.Error, d.Name)
	if !strings.Contains(text, d.Target) {
		text += " (" + d.Target + ")"
	}
	if d.Denials > 1 {
		text += fmt.Sprintf(", %d times in a row", d.Denials)
	}
	return text
}

// counts describes the sessions, traces and spans in the spool.
func (d *Destination) counts() []string {
	var out []string
	if d.Runs > 0 && d.Stored == nil {
		out = append(out, fmt.Sprintf("%s, %s of the sessions in the spool delivered", termtext.Plural(d.Runs, "trace"), termtext.Plural(d.Spans, "span")))
	}
	if d.Behind > 0 {
		out = append(out, termtext.Plural(d.Behind, "session")+" under way or waiting")
	}
	if d.Owed > 0 {
		out = append(out, termtext.Plural(d.Owed, "imported trace")+" waiting")
	}
	if d.Series > 0 {
		out = append(out, fmt.Sprintf("%d series", d.Series))
	}
	if d.Shrunk > 0 {
		out = append(out, termtext.Plural(int(d.Shrunk), "correction")+" to less, which stays counted")
	}
	if d.Rejected > 0 {
		out = append(out, termtext.Plural(d.Rejected, "span")+" rejected")
	}
	if n := len(d.Parked); n > 0 {
		out = append(out, termtext.Plural(n, "trace")+" rejected, kept here")
	}
	return out
}

// ago says how long ago t was, in the largest unit.
func ago(now, t time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return termtext.Plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return termtext.Plural(int(d/time.Hour), "hour") + " ago"
	default:
		return termtext.Plural(int(d/(24*time.Hour)), "day") + " ago"
	}
}

// storeSize compares the store's size with its limit.
func storeSize(s *store.Stats, most int64, now time.Time) string {
	text := fmt.Sprintf("%s of at most %s (HOOKSPAN_STORE_MAX_BYTES)", bytesText(s.Bytes), bytesText(most))
	if n := s.Limited.Traces; n > 0 {
		text += fmt.Sprintf("; %s removed to stay below it, the last %s", termtext.Plural(n, "trace"), ago(now, s.Limited.Last))
	}
	return text
}

func bytesText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
