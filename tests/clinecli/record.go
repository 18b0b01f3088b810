package clinecli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Hook names, as the hook files are called.
var (
	// ClassicHooks are the hooks of CLI 2 that are safe to install everywhere.
	// PreToolUse is not among them: with any PreToolUse file present the classic
	// core can stop a task dead.
	ClassicHooks = []string{"TaskStart", "TaskResume", "TaskCancel", "TaskComplete", "PostToolUse", "UserPromptSubmit", "Notification", "PreCompact"}
	// SDKHooks are the hooks of CLI 3.
	SDKHooks = []string{"TaskStart", "TaskResume", "TaskCancel", "TaskComplete", "TaskError", "PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionShutdown"}
)

// RecordHooks installs a recorder for the named hooks in the workspace, where
// both programs look. With no names it records the hooks that are safe for the
// program. The recorder answers that Cline may continue and nothing else.
func RecordHooks(a *rig.Arena, cli CLI, names ...string) error {
	if len(names) == 0 {
		names = SDKHooks
		if cli == CLI2 {
			names = ClassicHooks
		}
	}
	dir := filepath.Join(a.Workspace, ".clinerules", "hooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the hook folder: %w", err)
	}
	for _, name := range names {
		if err := a.WriteRecorder(filepath.Join(dir, name), name, "printf '{\"cancel\":false}'\n"); err != nil {
			return err
		}
	}
	return nil
}

// install has hookspan install itself for Cline, and the recorder.
func install(ctx context.Context, a *rig.Arena, bin string, cli CLI, where Recorder) error {
	args := []string{"cline"}
	if where == InFront {
		front := filepath.Join(a.Dir, "cline-hook")
		then := fmt.Sprintf("exec '%s' \"$@\" < '%s'/$id.json\n", filepath.Join(bin, "cline-hook"), a.Records)
		if err := a.WriteRecorder(front, "", then); err != nil {
			return err
		}
		args = append(args, "--binary", front)
	}
	if err := a.InstallHookspan(ctx, bin, nil, args...); err != nil {
		return err
	}
	if where == Second {
		return RecordHooks(a, cli)
	}
	return nil
}

// Recorded returns the recorded hook calls in the order of the host's
// timestamps: CLI 3 starts hooks without waiting, so that they arrive in any
// order. A payload without a timestamp counts as of when its hook had started.
func Recorded(a *rig.Arena) ([]rig.Recorded, error) {
	recs, err := a.Recorded()
	if err != nil {
		return nil, err
	}
	for i := range recs {
		if at, ok := hostTime(recs[i].Payload); ok {
			recs[i].At = at
		}
	}
	slices.SortStableFunc(recs, func(x, y rig.Recorded) int { return x.At.Compare(y.At) })
	return recs, nil
}

// hostTime is the payload's timestamp: milliseconds in a string on CLI 2, ISO
// 8601 on CLI 3.
func hostTime(payload []byte) (time.Time, bool) {
	var p struct {
		Timestamp string `json:"timestamp"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return time.Time{}, false
	}
	if ms, err := strconv.ParseInt(p.Timestamp, 10, 64); err == nil {
		return time.UnixMilli(ms), true
	}
	at, err := time.Parse(time.RFC3339Nano, p.Timestamp)
	return at, err == nil
}

// RecordedNames are the names of the recorded hooks, in the same order.
func RecordedNames(a *rig.Arena) ([]string, error) {
	recs, err := Recorded(a)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(recs))
	for i, r := range recs {
		names[i] = r.Name
	}
	return names, nil
}

// HookStatus is one hook's row in the chat of CLI 2.
type HookStatus struct {
	Hook   string `json:"hookName"`
	Tool   string `json:"toolName"`
	Status string `json:"status"`
}

// uiMessage is an entry of ui_messages.json.
type uiMessage struct {
	TS   int64  `json:"ts"`
	Say  string `json:"say"`
	Ask  string `json:"ask"`
	Text string `json:"text"`
}

// HookStatuses reads the hook rows of every task of CLI 2 in the order of the
// file.
func HookStatuses(a *rig.Arena) ([]HookStatus, error) {
	paths, err := filepath.Glob(filepath.Join(a.Home, ".cline", "data", "tasks", "*", "ui_messages.json"))
	if err != nil {
		return nil, err
	}
	var out []HookStatus
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, fmt.Errorf("read Cline's chat: %w", err)
		}
		var msgs []uiMessage
		if err := json.Unmarshal(data, &msgs); err != nil {
			return nil, fmt.Errorf("decode %q: %w", p, err)
		}
		for _, m := range msgs {
			if m.Say != "hook_status" {
				continue
			}
			var s HookStatus
			if err := json.Unmarshal([]byte(m.Text), &s); err != nil {
				return nil, fmt.Errorf("decode a hook row %q: %w", m.Text, err)
			}
			out = append(out, s)
		}
	}
	return out, nil
}
