package hookscli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/tests/internal/rig"
)

// hookScript is a hook of a row. It starts no process but for its own action:
// every hook is called for every action. That its standard input is one line is
// what many a hook in the wild relies on.
//
// A call is recorded as the rig's recorders do, under the row's name. Beside it
// lie what the hook saw of its environment and the transcript's lines then.
const hookScript = `#!/bin/sh
IFS= read -r p
case $p in *'{{MARK}}'*) ;; *) exit 0;; esac
id=$(date +%s%N)-$$-{{NAME}}
t=${p#*'"transcript_path":"'}
t=${t%%'"'*}
cp "$t" '{{RECORDS}}'/"$id.jsonl"
printf '%s\n' "$TRACEPARENT" "$CLAUDE_PROJECT_DIR" "$PWD" > '{{RECORDS}}'/"$id.env"
printf '%s\n' "$p" > '{{RECORDS}}'/".$id"
mv '{{RECORDS}}'/".$id" '{{RECORDS}}'/"$id.json"
`

// Hooks writes the hooks of the rows and the files they need, and returns what
// belongs into a settings file: the user's and the project's.
func Hooks(a *rig.Arena, rows []Row) (user, project []byte, err error) {
	type group struct {
		Matcher string           `json:"matcher,omitempty"`
		Hooks   []map[string]any `json:"hooks"`
	}
	groups := [2]map[string][]group{{}, {}}
	files := make(map[string]string)
	for i := range rows {
		r := &rows[i]
		for name, text := range r.Files {
			files["ws/"+name] = text
		}
		for k, h := range r.Handlers {
			path := filepath.Join(a.Dir, "hooks", fmt.Sprintf("%s-%d", r.Name, k))
			if !h.Missing {
				mark := r.Mark()
				if h.Always {
					mark = ""
				}
				script := strings.NewReplacer("{{MARK}}", mark, "{{NAME}}", r.Name, "{{RECORDS}}", a.Records).Replace(hookScript) + h.Script + "\n"
				files["hooks/"+filepath.Base(path)] = script
			}
			entry := map[string]any{"type": "command", "command": "'" + path + "'"}
			for name, v := range h.More {
				entry[name] = v
			}
			scope := groups[0]
			if h.Project {
				scope = groups[1]
			}
			scope[h.Event] = append(scope[h.Event], group{Matcher: h.Matcher, Hooks: []map[string]any{entry}})
		}
	}
	if err := a.Write(files); err != nil {
		return nil, nil, err
	}
	scripts, err := filepath.Glob(filepath.Join(a.Dir, "hooks", "*"))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range scripts {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // A program.
			return nil, nil, fmt.Errorf("make the hook a program: %w", err)
		}
	}
	var out [2][]byte
	for i := range groups {
		if out[i], err = json.MarshalIndent(map[string]any{"hooks": groups[i]}, "", "  "); err != nil {
			return nil, nil, fmt.Errorf("encode the hooks: %w", err)
		}
	}
	return out[0], out[1], nil
}

// Seen is one call of a hook, as the hook saw it.
type Seen struct {
	// Row is the row's name.
	Row string
	// Payload is the hook's standard input, and Fields the same decoded.
	Payload json.RawMessage
	Fields  map[string]any
	// Transcript are the lines of the transcript at that time; nil where it could
	// not be read.
	Transcript []string
	// TraceParent, ProjectDir and Cwd are the hook's TRACEPARENT,
	// CLAUDE_PROJECT_DIR and working folder.
	TraceParent, ProjectDir, Cwd string
}

// Text is a member of the payload that is a string.
func (s *Seen) Text(key string) string {
	text, _ := s.Fields[key].(string)
	return text
}

// Call is "event tool".
func (s *Seen) Call() string {
	return strings.TrimSpace(s.Text("hook_event_name") + " " + s.Text("tool_name"))
}

// SeenIn returns the calls of hooks in the order in which they ran.
func SeenIn(a *rig.Arena) ([]Seen, error) {
	recs, err := a.Recorded()
	if err != nil {
		return nil, err
	}
	out := make([]Seen, len(recs))
	for i, r := range recs {
		s := Seen{Row: r.Name, Payload: r.Payload}
		if err := json.Unmarshal(r.Payload, &s.Fields); err != nil {
			return nil, fmt.Errorf("a hook of row %s was given no JSON: %w\n%s", r.Name, err, r.Payload)
		}
		base, err := filepath.Glob(filepath.Join(a.Records, fmt.Sprintf("%d-*-%s.env", r.At.UnixNano(), r.Name)))
		if err != nil || len(base) == 0 {
			return nil, fmt.Errorf("environment of a hook of row %s is missing: %w", r.Name, err)
		}
		env, err := os.ReadFile(base[0])
		if err != nil {
			return nil, fmt.Errorf("environment of a hook of row %s: %w", r.Name, err)
		}
		lines := strings.Split(string(env), "\n")
		s.TraceParent, s.ProjectDir, s.Cwd = lines[0], lines[1], lines[2]
		if text, err := os.ReadFile(strings.TrimSuffix(base[0], ".env") + ".jsonl"); err == nil {
			s.Transcript = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		}
		out[i] = s
	}
	return out, nil
}
