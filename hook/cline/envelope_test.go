package cline

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
)

func TestDialectByShape(t *testing.T) {
	tests := []struct{ name, payload, want string }{
		{"proto3 with a model", `{"hookName":"TaskStart","taskId":"1795","model":{"provider":"anthropic","slug":"x"}}`, dialectClassic},
		{"before the model was sent", `{"hookName":"TaskStart","taskId":"1795"}`, dialectClassic},
		{"documented form with ISO time", `{"hookName":"PostToolUse","taskId":"cline-t-abc123","timestamp":"2026-04-18T10:00:05Z"}`, dialectClassic},
		{"conversation for a task", `{"hookName":"TaskStart","taskId":"conv_1_x"}`, dialectNext},
		{"unknown model", `{"hookName":"TaskStart","taskId":"1795","model":{"provider":"unknown","slug":"unknown"}}`, dialectNext},
		{"unknown provider only", `{"hookName":"TaskStart","taskId":"1795","model":{"provider":"unknown","slug":"x"}}`, dialectClassic},
		{"snake name", `{"hookName":"agent_start","taskId":"conv_1_x"}`, dialectSDK},
		{"snake name not known yet", `{"hookName":"pre_dream"}`, dialectSDK},
		{"session context beside a Pascal name", `{"hookName":"TaskStart","sessionContext":{"rootSessionId":"s"}}`, dialectSDK},
		{"agent beside a Pascal name", `{"hookName":"TaskStart","agent_id":"a"}`, dialectSDK},
		{"null agent says nothing", `{"hookName":"TaskStart","agent_id":null,"sessionContext":null}`, dialectClassic},
		{"version says nothing", `{"hookName":"TaskStart","clineVersion":"4.1.13","taskId":"1795"}`, dialectClassic},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := decodeOne(t, tt.payload, "").Dialect; got != tt.want {
				t.Errorf("dialect %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDialectOfEveryRecording(t *testing.T) {
	for _, f := range fixtures(t) {
		want := dialectClassic
		switch {
		case len(f.Raw.Payload) == 0:
			want = ""
		case strings.HasPrefix(f.Folder, "next"), strings.HasPrefix(f.Folder, "vscode-next"):
			want = dialectNext
		case strings.HasPrefix(f.Folder, "sdk"), strings.HasPrefix(f.Folder, "e2e-cli3"):
			want = dialectSDK
		}
		events, err := Decode(f.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := events[0].Dialect; got != want {
			t.Errorf("%s: dialect %q, want %q", path.Join(f.Folder, f.Name), got, want)
		}
	}
}

// A recording's file is named after the hook file Cline started, so that the
// name and kind found in the payload must be those of the file.
func TestNameOfEveryRecording(t *testing.T) {
	for _, f := range fixtures(t) {
		events, err := Decode(f.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := events[0]; got.Name != f.Raw.Event || got.Kind != kindOf(f.Raw.Event, nil) || got.Kind == hook.KindUnknown {
			t.Errorf("%s: name %q, kind %v", path.Join(f.Folder, f.Name), got.Name, got.Kind)
		}
	}
}

func TestKindOfEveryHook(t *testing.T) {
	want := map[string]hook.Kind{
		"TaskStart": hook.KindRunStart, "TaskResume": hook.KindRunResume, "UserPromptSubmit": hook.KindPrompt,
		"PreToolUse": hook.KindToolStart, "PostToolUse": hook.KindToolEnd, "PreCompact": hook.KindCompact,
		"Notification": hook.KindNotification, "TaskComplete": hook.KindRunComplete, "TaskError": hook.KindRunError,
		"TaskCancel": hook.KindRunCancel, "SessionShutdown": hook.KindSessionEnd,
	}
	got := map[string]hook.Kind{}
	for _, h := range hooks {
		got[h.name] = decodeOne(t, `{"hookName":"`+h.name+`"}`, "").Kind
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	for wire, name := range map[string]string{
		"agent_start": "TaskStart", "agent_resume": "TaskResume", "prompt_submit": "UserPromptSubmit",
		"tool_call": "PreToolUse", "tool_result": "PostToolUse", "agent_end": "TaskComplete",
		"agent_error": "TaskError", "agent_abort": "TaskCancel", "session_shutdown": "SessionShutdown",
	} {
		ev := decodeOne(t, `{"hookName":"`+wire+`"}`, "")
		if ev.Name != name || ev.Kind != want[name] {
			t.Errorf("%s: name %q and kind %v, want %q and %v", wire, ev.Name, ev.Kind, name, want[name])
		}
	}
}
