package rig

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Recorded is one hook call as a recorder saw it.
type Recorded struct {
	// At is when the hook process had started.
	At time.Time
	// Name is the hook's name that the recorder was given.
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

// WriteRecorder writes a program at path that records a call of the named hook
// and then runs the shell commands in then. Where hook is empty, the name is
// the program's first argument. In then, $id.json is the record's file name.
func (a *Arena) WriteRecorder(path, hook, then string) error {
	if hook == "" {
		hook = "$1"
	}
	script := strings.NewReplacer("$hook", hook, "$dir", a.Records).Replace(recordScript) + then
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		return fmt.Errorf("write the recorder %q: %w", path, err)
	}
	return nil
}

// Hooks writes a recorder and returns settings with the hooks of the user's beside what
// doc has: a recorder for each of the events and, for one named in more, a further
// command. handler gives a command the form of the agent's settings.
func (a *Arena) Hooks(events []string, more map[string]string, handler func(command string) map[string]any, doc map[string]any) (string, error) {
	recorder := filepath.Join(a.Dir, "record")
	if err := a.WriteRecorder(recorder, "", ""); err != nil {
		return "", err
	}
	hooks := make(map[string][]map[string]any, len(events))
	for _, e := range events {
		hooks[e] = append(hooks[e], handler(recorder+" "+e))
		if command := more[e]; command != "" {
			hooks[e] = append(hooks[e], handler(command))
		}
	}
	whole := map[string]any{"hooks": hooks}
	maps.Copy(whole, doc)
	text, err := json.MarshalIndent(whole, "", "   ")
	if err != nil {
		return "", fmt.Errorf("encode the user's hooks: %w", err)
	}
	return string(text) + "\n", nil
}

// Group is a command in Claude Code's form of settings, which others have as well.
func Group(command string) map[string]any {
	return map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}
}

// Recorded returns the recorded hook calls in the order in which the hooks'
// processes started.
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
		out = append(out, Recorded{At: time.Unix(0, ns), Name: parts[2], Payload: data})
	}
	slices.SortStableFunc(out, func(x, y Recorded) int { return x.At.Compare(y.At) })
	return out, nil
}
