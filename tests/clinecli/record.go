package clinecli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
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

// Recorded is one hook call as the recorder saw it.
type Recorded struct {
	// At is the host's own timestamp, or when the hook process had started where
	// the payload has none.
	At time.Time
	// Name is the hook file's name.
	Name string
	// Payload is its standard input.
	Payload json.RawMessage
}

// recordScript records the standard input of hook $hook in the folder $dir as
// "time-pid-hook.json". The rename makes a record appear whole.
const recordScript = `#!/bin/sh
id=$(date +%s%N)-$$-$hook
cat > "$dir/.$id"
mv "$dir/.$id" "$dir/$id.json"
`

// RecordHooks installs a recorder for the named hooks in the workspace, where
// both programs look. With no names it records the hooks that are safe for the
// arena's program. The recorder answers that Cline may go on and says no more.
func RecordHooks(a *Arena, names ...string) error {
	if len(names) == 0 {
		names = SDKHooks
		if a.CLI == CLI2 {
			names = ClassicHooks
		}
	}
	dir := filepath.Join(a.Workspace, ".clinerules", "hooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the hook folder: %w", err)
	}
	for _, name := range names {
		script := strings.NewReplacer("$hook", name, "$dir", a.Records).Replace(recordScript) +
			"printf '{\"cancel\":false}'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil { //nolint:gosec // A hook is executed.
			return fmt.Errorf("write the recorder for %s: %w", name, err)
		}
	}
	return nil
}

// recordBefore writes a program at path that records the hook named by its
// first argument and then becomes the given program. It stands in the place of
// that program where there must not be a second hook: Cline treats two hooks on
// one event differently from one.
func recordBefore(path, program, records string) error {
	script := strings.NewReplacer("$hook", "$1", "$dir", records).Replace(recordScript) +
		fmt.Sprintf("exec '%s' \"$@\" < '%s'/$id.json\n", program, records)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil { //nolint:gosec // It is executed.
		return fmt.Errorf("write the recorder in front of %q: %w", program, err)
	}
	return nil
}

// Recorded reads what the recorder got, in the order of the host's timestamps:
// CLI 3 starts hooks without waiting, so that they arrive in any order.
func (a *Arena) Recorded() ([]Recorded, error) {
	entries, err := os.ReadDir(a.Records)
	if err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	var out []Recorded
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(base, ".") {
			continue
		}
		parts := strings.SplitN(base, "-", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("record %q: name is not time-pid-hook", e.Name())
		}
		ns, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", e.Name(), err)
		}
		data, err := os.ReadFile(filepath.Join(a.Records, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read record %q: %w", e.Name(), err)
		}
		at, ok := hostTime(data)
		if !ok {
			at = time.Unix(0, ns)
		}
		out = append(out, Recorded{At: at, Name: parts[2], Payload: data})
	}
	slices.SortStableFunc(out, func(x, y Recorded) int { return x.At.Compare(y.At) })
	return out, nil
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
func (a *Arena) RecordedNames() ([]string, error) {
	recs, err := a.Recorded()
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
func (a *Arena) HookStatuses() ([]HookStatus, error) {
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
