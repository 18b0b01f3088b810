package claude

import (
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

func TestEventNames(t *testing.T) {
	names := EventNames()
	if len(names) != 34 {
		t.Errorf("%d names, want 34", len(names))
	}
	recorded := map[string]bool{}
	for _, f := range fixtures(t) {
		if f.Folder == "events" {
			event, _, _ := strings.Cut(f.Name, ".")
			recorded[event] = true
		}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s stands there twice", name)
		}
		if kindOf(name, true) == hook.KindUnknown {
			t.Errorf("the kind of %s is unknown", name)
		}
		if !recorded[name] {
			t.Errorf("no payload of %s among the tests' own", name)
		}
	}
	for name := range recorded {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among the names", name)
		}
	}
	names[0] = "changed"
	if EventNames()[0] == "changed" {
		t.Error("the names are shared between callers")
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]hook.Kind{
		"SessionStart": hook.KindSessionStart, "UserPromptSubmit": hook.KindPrompt, "UserPromptExpansion": hook.KindNote,
		"PreToolUse": hook.KindToolStart, "PostToolUse": hook.KindToolEnd, "PostToolUseFailure": hook.KindToolEnd,
		"PermissionRequest": hook.KindPermission, "PermissionDenied": hook.KindToolEnd, "PreCompact": hook.KindCompact,
		"PostCompact": hook.KindNote, "PostModelSwitch": hook.KindNote, "TaskCreated": hook.KindNote, "TaskCompleted": hook.KindNote,
		"Elicitation": hook.KindNote, "ElicitationResult": hook.KindNote, "Notification": hook.KindNotification,
		"SubagentStart": hook.KindNote, "SubagentStop": hook.KindNote, "Stop": hook.KindRunComplete, "StopFailure": hook.KindRunError,
		"SessionEnd": hook.KindSessionEnd, "PostToolBatch": hook.KindAside, "MessageDisplay": hook.KindAside,
		"InstructionsLoaded": hook.KindAside, "FileChanged": hook.KindAside, "ConfigChange": hook.KindAside,
		"TeammateIdle": hook.KindAside, "Setup": hook.KindAside, "DirectoryAdded": hook.KindAside, "CwdChanged": hook.KindAside,
		"WorktreeCreate": hook.KindAside, "WorktreeRemove": hook.KindAside, "PreModelSwitch": hook.KindAside,
		"stop": hook.KindUnknown, "PreDream": hook.KindUnknown, "": hook.KindUnknown,
	} {
		if got := kindOf(name, false); got != want {
			t.Errorf("kind of %q is %v, want %v", name, got, want)
		}
		switch name {
		case "SubagentStart":
			want = hook.KindRunStart
		case "SubagentStop":
			want = hook.KindRunComplete
		}
		if got := kindOf(name, true); got != want {
			t.Errorf("kind of %q in a subagent is %v, want %v", name, got, want)
		}
	}
}
