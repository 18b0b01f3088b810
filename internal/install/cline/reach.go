package cline

import "github.com/hookspan/hookspan/internal/install"

// Reach is where hookspan receives Cline's calls before they run.
type Reach struct {
	// Editors reports a hookspan PreToolUse hook that Cline in editors and the
	// CLI 2 start.
	Editors bool
	// Foreign reports that another PreToolUse hook file is where these read it.
	Foreign bool
	// Any reports that Cline starts a hookspan hook for any event.
	Any bool
}

// ReachOf reads the report of Status for the user's folders and those of a
// project. The SDK also runs a hook that is switched off in Cline's Hooks tab.
func ReachOf(r *install.Report, project string) (out Reach) {
	for _, s := range r.Sites {
		if s.Project != "" && s.Project != project {
			continue
		}
		editors := s.Kind != RoleSDK && s.Kind != RoleSDKDocuments
		for _, h := range s.Hooks {
			guard := editors && h.Event == "PreToolUse"
			switch h.State {
			case install.StateInstalled, install.StateOutdated:
				out.Any = true
				out.Editors = out.Editors || guard
			case install.StateOff:
				out.Any = true
			case install.StateForeign:
				out.Foreign = out.Foreign || guard
			}
		}
	}
	return out
}
