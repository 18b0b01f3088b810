package cline

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
)

// Hosts are the hook files of hookspan that Cline's programs start.
type Hosts struct {
	editors, sdk map[string]bool
	// Foreign reports that another PreToolUse hook file is where Cline in editors and the
	// CLI 2 read it.
	Foreign bool
}

// The hosts, for people.
const (
	hostEditors = "Cline in editors and the CLI 2"
	hostSDK     = "the CLI 3"
)

// unseen says what classic Cline does without asking a PreToolUse hook.
const unseen = "classic Cline asks no hook before the command of attempt_completion, and before the up to eight files that summarize_task reads"

// HostsOf reads the report of Status for the user's folders and those of a project. The
// SDK also runs a hook that is switched off in Cline's Hooks tab.
func HostsOf(r *install.Report, project string) Hosts {
	out := Hosts{editors: map[string]bool{}, sdk: map[string]bool{}}
	for _, s := range r.Sites {
		if s.Project != "" && s.Project != project {
			continue
		}
		editors := s.Kind != RoleSDK && s.Kind != RoleSDKDocuments
		for _, h := range s.Hooks {
			on := h.State == install.StateInstalled || h.State == install.StateOutdated
			if on && editors {
				out.editors[h.Event] = true
			}
			if (on || h.State == install.StateOff) && s.Kind != RoleEditors {
				out.sdk[h.Event] = true
			}
			out.Foreign = out.Foreign || editors && h.Event == preToolUse && h.State == install.StateForeign
		}
	}
	return out
}

// Any reports that Cline starts a hookspan hook for any event.
func (h Hosts) Any() bool { return len(h.editors)+len(h.sdk) > 0 }

// Guard reports a hookspan PreToolUse hook that Cline in editors and the CLI 2 start.
func (h Hosts) Guard() bool { return h.editors[preToolUse] }

// files are Cline's hook files for one of Claude Code's events: those that its classic and
// next cores start, and those of its SDK.
func files(event string) (editors, sdk []string) {
	switch event {
	case "SessionStart":
		return []string{"TaskStart", "TaskResume"}, []string{"TaskStart", "TaskResume"}
	case "PostToolUseFailure":
		return []string{"PostToolUse"}, []string{"PostToolUse"}
	case "Stop":
		return []string{"TaskComplete"}, []string{"TaskComplete"}
	case "PreCompact", "Notification":
		return []string{event}, nil
	case "SubagentStart":
		return nil, []string{"TaskStart"}
	case "SubagentStop":
		return nil, []string{"TaskComplete"}
	case "StopFailure":
		return nil, []string{"TaskError"}
	case "SessionEnd":
		return []string{"TaskCancel"}, []string{"TaskCancel", "SessionShutdown"}
	}
	return []string{event}, []string{event}
}

// Of are the hosts in which a hook on one of Claude Code's events runs. missing are those
// that have the event, and no hookspan hook file for it.
func (h Hosts) Of(event string) (runs, missing []string) {
	editors, sdk := files(event)
	for _, host := range []struct {
		name   string
		wanted []string
		has    map[string]bool
	}{{hostEditors, editors, h.editors}, {hostSDK, sdk, h.sdk}} {
		if slices.ContainsFunc(host.wanted, func(name string) bool { return host.has[name] }) {
			runs = append(runs, host.name)
		} else if host.wanted != nil {
			missing = append(missing, host.name)
		}
	}
	return runs, missing
}

// Everywhere reports that no host lacks a hook file for one of the events.
func (h Hosts) Everywhere(events []string) bool {
	return !slices.ContainsFunc(events, func(e string) bool { _, missing := h.Of(e); return missing != nil })
}

// Summary says where hooks on events run, in a line for those with the same hosts.
func (h Hosts) Summary(events []string) []string {
	named := map[string]string{}
	var order []string
	for _, event := range events {
		runs, missing := h.Of(event)
		where := "run in " + strings.Join(runs, ", and in ")
		if len(runs) == 0 {
			where = "run nowhere"
		}
		if len(missing) > 0 {
			where += "; no hookspan hook file for them in " + strings.Join(missing, " and ")
		}
		if named[where] == "" {
			order = append(order, where)
			named[where] = event
		} else {
			named[where] += ", " + event
		}
	}
	for i, where := range order {
		order[i] = "hooks on " + named[where] + " " + where
	}
	if slices.Contains(events, preToolUse) && h.Guard() {
		order = append(order, unseen)
	}
	return order
}
