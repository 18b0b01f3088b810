package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/termtext"
)

// examineDelivery reports for each destination the last try and its result.
func (a *app) examineDelivery(st *status) []finding {
	var out []finding
	if len(st.Destinations) == 0 {
		out = append(out, finding{"problem", "no destination is set up", "hookspan config shows the settings; without HOOKSPAN_EXPORTERS the local store is always there"})
	}
	for i := range st.Destinations {
		d := &st.Destinations[i]
		switch {
		case d.Off != "":
			continue // examine names the wrong setting
		case d.Name == config.ExporterStore && d.Stored == nil:
			continue // examineState names the fault
		case d.Fault != "":
			out = append(out, finding{"problem", d.Name + " gets nothing: " + d.Fault, "its traces wait; fix that, then run 'hookspan test'"})
		default:
			out = append(out, a.examineAnswer(d))
		}
		if n := len(d.Parked); n > 0 {
			last := d.Parked[n-1]
			hint := "fix the cause, then run 'hookspan flush': it sends them again"
			switch {
			case d.Taken.After(last.At):
				hint = d.Name + " has taken others since: 'hookspan flush' sends these again"
			case d.elsewhere != "":
				hint = "the address has changed since: 'hookspan flush' sends them to " + d.Target
			}
			out = append(out, finding{
				"problem", fmt.Sprintf("%s: %s rejected, kept here, the last %s: %s", d.Name, termtext.Plural(n, "trace"), a.ago(last.At), last.Error), hint,
			})
		}
	}
	return out
}

// examineAnswer judges a destination by its last answer.
func (a *app) examineAnswer(d *destination) finding {
	waits := ""
	if d.Failing > 0 {
		waits = "; " + termtext.Plural(d.Failing, "session") + " wait"
		if d.Failing == 1 {
			waits += "s"
		}
		waits += ", next try " + d.NextTry.Local().Format(time.DateTime)
	}
	retry := "fix the cause, then run 'hookspan test'"
	if d.Failing > 0 {
		retry = "fix the cause, then run 'hookspan flush'"
	}
	text := d.Name + ": "
	switch {
	case d.Name == config.ExporterStore && d.Failing > 0:
		return finding{"problem", text + d.LastError + waits, retry}
	case d.Stored != nil:
		return finding{"ok", text + a.standing(d), ""}
	case d.Error != "":
		text += fmt.Sprintf("tried %s: %s", a.ago(d.Tried), d.said())
		if d.Taken.IsZero() {
			text += "; it has never taken anything"
		} else {
			text += "; taken last " + a.ago(d.Taken)
		}
		return finding{"problem", text + waits, retry}
	case !d.Tried.IsZero():
		return finding{"ok", text + a.standing(d) + waits, ""}
	case d.elsewhere != "":
		return finding{
			"note", fmt.Sprintf("%s%s is not tried yet: the last try was at %s%s", text, d.Target, d.elsewhere, waits),
			"run 'hookspan test'; 'hookspan flush' sends what waits",
		}
	case d.Failing > 0:
		return finding{"problem", text + d.LastError + waits, retry}
	case d.Runs > 0:
		return finding{"ok", text + a.standing(d), ""}
	}
	return finding{"note", text + d.Target + " is not tried yet", "run 'hookspan test'"}
}

// examineStripped looks for settings that Claude Code keeps from its hooks.
func (a *app) examineStripped(st *status) []finding {
	if !st.claude.Present() || len(a.cfg.Exporters) > 0 && !slices.Contains(a.cfg.Exporters, config.ExporterOTLP) {
		return nil
	}
	hint := "set it in " + a.envFile()
	names := []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}
	if slices.ContainsFunc(names, a.cfg.InFile) {
		return nil
	}
	for _, name := range names {
		if a.cfg.Source(name) == config.Environment {
			return []finding{{
				"problem", name + " is set in the environment alone: Claude Code removes OTEL_* from what it gives its hooks, so its traces do not go there by themselves", hint,
			}}
		}
	}
	where := st.claude.Endpoint
	if where == "" {
		return nil
	}
	level := "problem"
	if st.claude.Telemetry != "" {
		level = "note" // it may be meant for Claude Code's own telemetry alone
	}
	return []finding{{level, "the OTLP endpoint in the env of " + where + " does not reach hookspan: Claude Code removes OTEL_* from what it gives its hooks", hint}}
}
