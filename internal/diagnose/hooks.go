package diagnose

import (
	"slices"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/install"
)

// examineHooks checks the agents' hooks. An agent without any is not used if
// another has some.
func (st *Status) examineHooks() []Finding {
	var out []Finding
	none := len(st.installed()) == 0
	if none {
		out = append(out, Finding{Problem, "no agent has hookspan's hooks, so nothing is recorded", st.machine.Agents.InstallCommands()})
	}
	for _, h := range st.agents {
		switch {
		case h.Settings:
			out = append(out, h.examineSettings()...)
		case none || h.Present():
			out = append(out, h.examineFolders(none)...)
		}
	}
	return out
}

// examineFolders checks an agent that reads hooks from folders. A folder of
// another project needs no hooks. If no agent has hooks, that has been found
// already.
func (h *agentHooks) examineFolders(none bool) []Finding {
	var out []Finding
	for _, s := range h.Sites {
		if s.Present || none {
			out = append(out, h.examineFolder(&s)...)
		}
	}
	if none {
		out = slices.DeleteFunc(out, func(x Finding) bool { return x.Level == Problem })
	}
	if h.Healthy() {
		out = append(out, Finding{OK, h.Name + "'s hooks are installed", ""})
	}
	return append(out, notes(h.Warnings, h.Off)...)
}

func notes(texts ...[]string) []Finding {
	var out []Finding
	for _, text := range slices.Concat(texts...) {
		out = append(out, Finding{Note, text, ""})
	}
	return out
}

func (h *agentHooks) examineFolder(s *install.Site) []Finding {
	command := "hookspan install " + h.Word
	var out []Finding
	for _, g := range s.Groups() {
		x := Finding{Problem, g.Names("hook") + " in " + s.Path + ": " + string(g.State) + install.WithReason(g.Reason), command}
		switch g.State {
		case install.StateInstalled:
			continue
		case install.StateForeign:
			x.Level, x.Hint = Note, command+" --chain runs your hook and hookspan's"
		case install.StateEdited:
			x.Hint = command + " --force writes it anew"
		case install.StateOff:
			x.Hint = "switch it on in " + h.Name + "'s Hooks tab, or run " + command
		}
		out = append(out, x)
	}
	return out
}

// examineSettings checks an agent that reads hooks from settings files. Settings
// without hooks of hookspan's are the user's affair.
func (h *agentHooks) examineSettings() []Finding {
	var out []Finding
	if !h.Present() {
		for _, s := range h.Sites {
			if s.Err != nil {
				out = append(out, Finding{Note, s.Err.Error(), h.Name + " ignores a file that it cannot read; hookspan install " + h.Word + " would refuse it"})
			}
		}
		return out
	}
	for _, s := range h.Sites {
		if s.Present {
			out = append(out, h.examineSettingsFile(&s)...)
		}
	}
	for _, why := range h.Off {
		out = append(out, Finding{Problem, why, h.Name + " runs hooks again once that setting is gone"})
	}
	if h.Healthy() {
		out = append(out, Finding{OK, h.Name + "'s hooks are installed", ""})
	}
	out = append(out, notes(h.Warnings)...)
	if h.Telemetry != "" {
		out = append(out, Finding{
			Note, h.Name + " sends telemetry of its own too (CLAUDE_CODE_ENABLE_TELEMETRY in " + h.Telemetry + ")",
			"its spans and hookspan's have different scope names; a backend that gets both shows tokens and costs twice",
		})
	}
	return out
}

func (h *agentHooks) examineSettingsFile(s *install.Site) []Finding {
	command := "hookspan install " + h.Word
	if s.Project != "" {
		command += " --scope " + s.Kind + " --project " + s.Project
	}
	if s.Err != nil {
		return []Finding{{Problem, s.Err.Error(), h.Name + " runs no hooks from a file that it cannot read: fix it, then " + command}}
	}
	var out []Finding
	for _, state := range []install.State{install.StateOutdated, install.StateMissing, install.StateEdited} {
		x := Finding{Level: Problem, Hint: command}
		if state == install.StateMissing && s.Count(state) == len(s.Hooks) {
			x.Hint += "; or, if you have taken the hooks out, hookspan uninstall " + h.Word
		}
		if state == install.StateEdited {
			x.Level, x.Hint = Note, command+" --force writes it anew"
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

// examineStripped looks for settings that an agent keeps from its hooks.
func (st *Status) examineStripped() []Finding {
	cfg := st.machine.Config
	names := []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}
	if len(cfg.Exporters) > 0 && !slices.Contains(cfg.Exporters, config.ExporterOTLP) || slices.ContainsFunc(names, cfg.InFile) {
		return nil
	}
	var out []Finding
	for _, h := range st.installed() {
		if !h.StripsOTel {
			continue
		}
		x := Finding{Problem, "", "set it in " + st.EnvFile}
		strips := h.Name + " removes OTEL_* from what it gives its hooks"
		i := slices.IndexFunc(names, func(name string) bool { return cfg.Source(name) == config.Environment })
		switch {
		case i >= 0:
			x.Text = names[i] + " is set in the environment alone: " + strips + ", so its traces do not go there by themselves"
		case h.Endpoint == "":
			continue
		default:
			if h.Telemetry != "" {
				x.Level = Note // it may be meant for the agent's own telemetry alone
			}
			x.Text = "the OTLP endpoint in the env of " + h.Endpoint + " does not reach hookspan: " + strips
		}
		out = append(out, x)
	}
	return out
}
