package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
)

// hooks checks the agents' hooks. An agent without any is not used if another has
// some.
func (e *exam) hooks() {
	none := len(e.st.installed()) == 0
	if none {
		e.add(Problem, "no agent has hookspan's hooks, so nothing is recorded", "hookspan install finds your agents and installs the hooks")
	}
	for _, h := range e.st.agents {
		for _, text := range h.Report.Left {
			e.add(Note, text, "hookspan install "+h.Agent.Word)
		}
		switch {
		case !none && !h.Report.Present():
			if slices.Contains(e.st.WithoutHooks, h.Agent.Word) {
				e.add(Note, h.Agent.Name+" is on this machine and has none of hookspan's hooks: it is not recorded", "hookspan install "+h.Agent.Word)
			}
		case h.Agent.Settings:
			e.settings(h)
		default:
			e.folders(h, none)
		}
	}
}

// folders checks an agent that reads hooks from folders. A folder of another
// project needs no hooks. If no agent has hooks, that has been found already.
func (e *exam) folders(h agentHooks, none bool) {
	for _, s := range h.Report.Sites {
		if s.Present || none {
			e.folder(h, s, none)
		}
	}
	if h.Report.Healthy() {
		e.add(OK, h.Agent.Name+"'s hooks are installed", "")
	}
	for _, text := range slices.Concat(h.Report.Warnings, h.Report.Off) {
		e.add(Note, text, "")
	}
}

func (e *exam) folder(h agentHooks, s install.Site, none bool) {
	command := "hookspan install " + h.Agent.Word
	for _, g := range s.Groups() {
		level, hint := Problem, command
		switch g.State {
		case install.StateInstalled:
			continue
		case install.StateForeign:
			level, hint = Note, command+" --chain runs your hook and hookspan's"
		case install.StateEdited:
			hint = command + " --force writes it anew"
		case install.StateOff:
			hint = "switch it on in " + h.Agent.Name + "'s Hooks tab, or run " + command
		}
		if level != Problem || !none {
			e.add(level, g.Names("hook")+" in "+s.Path+": "+string(g.State)+install.WithReason(g.Reason), hint)
		}
	}
}

// settings checks an agent that reads hooks from settings files. Of settings
// without hookspan's hooks it only notes those that cannot be read.
func (e *exam) settings(h agentHooks) {
	if !h.Report.Present() {
		for _, s := range h.Report.Sites {
			if s.Err != nil {
				e.add(Note, s.Err.Error(), h.Agent.Name+" ignores a file that it cannot read; hookspan install "+h.Agent.Word+" would refuse it")
			}
		}
		return
	}
	for _, s := range h.Report.Sites {
		if s.Present {
			e.settingsFile(h, s)
		}
	}
	for _, why := range h.Report.Off {
		e.add(Problem, why, cmp.Or(h.Report.OffHint, h.Agent.Name+" runs hooks again once that setting is gone"))
	}
	if h.Report.Healthy() {
		e.add(OK, h.Agent.Name+"'s hooks are installed", "")
	}
	for _, text := range h.Report.Warnings {
		e.add(Note, text, "")
	}
	if h.Report.Telemetry != "" {
		e.add(Note, h.Agent.Name+" sends its telemetry too (CLAUDE_CODE_ENABLE_TELEMETRY in "+h.Report.Telemetry+")",
			"its spans and hookspan's have different scope names; a backend that gets both shows tokens and costs twice")
	}
}

func (e *exam) settingsFile(h agentHooks, s install.Site) {
	command := "hookspan install " + h.Agent.Word
	if s.Kind == install.ScopeManaged {
		command = "the administrator runs hookspan install --managed"
	}
	if s.Project != "" {
		command += " --scope " + s.Kind + " --project " + s.Project
	}
	if s.Err != nil {
		e.add(Problem, s.Err.Error(), h.Agent.Name+" runs no hooks from a file that it cannot read: fix it, then "+command)
		return
	}
	for _, state := range []install.State{install.StateOutdated, install.StateMissing, install.StateEdited} {
		level, hint := Problem, command
		if state == install.StateMissing && s.Count(state) == len(s.Hooks) {
			hint += "; or, if you have taken the hooks out, hookspan uninstall " + h.Agent.Word
		}
		if state == install.StateEdited {
			level, hint = Note, command+" --force writes it anew"
		}
		for _, g := range s.Groups() {
			if g.State == state {
				e.add(level, string(state)+" in "+s.Path+": "+g.Text(), hint)
			}
		}
	}
}

// stripped looks for settings that an agent keeps from its hooks.
func (e *exam) stripped() {
	names := []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}
	cfg := e.Setup.Config
	if len(cfg.Exporters) > 0 && !slices.Contains(cfg.Exporters, config.ExporterOTLP) || slices.ContainsFunc(names, cfg.InFile) {
		return
	}
	i := slices.IndexFunc(names, func(name string) bool { return cfg.Source(name) == config.Environment })
	for _, h := range e.st.installed() {
		strips := h.Agent.Name + " removes OTEL_* from what it gives its hooks"
		hint := "set it in " + e.EnvFile
		switch {
		case !h.Agent.StripsOTel:
		case i >= 0:
			e.add(Problem, names[i]+" is set in the environment alone: "+strips+", so its traces do not go there by themselves", hint)
		case h.Report.Endpoint != "":
			level := Problem
			if h.Report.Telemetry != "" {
				level = Note // it may be meant for the agent's own telemetry alone
			}
			e.add(level, "the OTLP endpoint in the env of "+h.Report.Endpoint+" does not reach hookspan: "+strips, hint)
		}
	}
}

// standard names the standard's variables that have no effect on hookspan, or one on an
// agent that a person may not expect.
func (e *exam) standard() {
	var own, names []string
	for _, name := range e.Setup.Config.Ineffective() {
		if strings.HasPrefix(name, "OTEL_") {
			names = append(names, name)
		} else {
			own = append(own, name)
		}
	}
	if len(own) > 0 {
		e.add(Note, strings.Join(own, ", ")+": no effect in the environment, where a project may have set it", "set it in "+e.EnvFile)
	}
	if len(names) > 0 {
		e.add(Note, strings.Join(names, ", ")+": no effect on hookspan, which sends every run from its log of events",
			"where they are meant for another program, there is nothing to do; limits for otlp belong in "+e.EnvFile+", and sampling in a Collector")
	}
	if e.Setup.Config.OTLPOff() {
		e.add(Note, "otlp is off: OTEL_TRACES_EXPORTER is none", "unset it, or name otlp in HOOKSPAN_EXPORTERS")
	}
	cline := slices.ContainsFunc(e.st.installed(), func(h agentHooks) bool { return h.Agent.Host == hook.HostCline })
	set := e.Setup.Config.Source("OTEL_TRACES_EXPORTER") == config.Environment && !strings.EqualFold(e.Setup.Config.TracesExporter, "none")
	if cline && set {
		e.add(Note, "OTEL_TRACES_EXPORTER is set here: a Cline that is started with it also sends its traces to Cline's collector",
			"unset it for Cline; hookspan does not need it")
	}
}
