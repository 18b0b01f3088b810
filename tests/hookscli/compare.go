package hookscli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// lacking are what Claude Code gives its hooks and Cline has nothing like:
// members of the payload, and after a dot those of one of its objects.
var lacking = []string{
	"prompt_id", "effort", "background_tasks", "session_crons", "tool_input.description",
	"tool_response.type", "tool_response.structuredPatch", "tool_response.originalFile",
	"tool_response.userModified", "tool_response.noOutputExpected",
}

// beyond are what Claude Code's documents have and the real one leaves out where
// it has nothing to say.
var beyond = []string{"permission_mode", "model", "tool_input.run_in_background", "tool_response.success"}

// unlike are those whose values are each host's own. Cline does not say whether
// the last line of a file has an end.
var unlike = []string{
	"session_id", "transcript_path", "permission_mode", "tool_use_id", "duration_ms", "tool_response.stdout",
	"tool_response.file.content", "tool_response.file.numLines", "tool_response.file.totalLines",
}

// ComparePayloads compares what the hooks of a run on Cline were given with what
// Claude Code gives them for the same action: the members, and their values where
// they do not name the run. The environment, the working folder and whether the
// transcript can be read are compared too, and that no hook ran more often. It
// returns what differs, one line each.
func ComparePayloads(real, got *Done) (wrong []string) {
	runs := make(map[string]int)
	for i := range got.Seen {
		s := &got.Seen[i]
		key := s.Row + " at " + s.Call()
		say := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("hook of row %s: ", key)+fmt.Sprintf(format, args...))
		}
		for _, dir := range []struct{ what, is string }{
			{"cwd", s.Text("cwd")}, {"CLAUDE_PROJECT_DIR", s.ProjectDir}, {"the working folder", s.Cwd},
		} {
			if dir.is != got.Arena.Workspace {
				say("%s is %q, want the workspace", dir.what, dir.is)
			}
		}
		for _, name := range []string{"session_id", "transcript_path"} {
			if s.Text(name) == "" {
				say("no %s", name)
			}
		}
		twin, n := real.twin(s, members(got, s))
		if twin == nil {
			continue // The outcome says at which calls a hook runs.
		}
		if runs[key]++; s.Text("tool_name") != "" && runs[key] > n {
			say("ran for the %d. time, under Claude Code %d times", runs[key], n)
		}
		if diff := cmp.Diff(members(real, twin), members(got, s)); diff != "" {
			say("standard input (-Claude Code +%s):\n%s", got.Host, diff)
		}
		if twin.Transcript != nil {
			if err := readable(s.Transcript); err != nil {
				say("transcript: %v", err)
			}
		}
	}
	return wrong
}

// twin is the call that answers to s, with these members if there is such a one,
// nil if there is none; n is how many calls there are. Where one call of Cline's
// is several of Claude Code's, their hooks run at once, in no order.
func (d *Done) twin(s *Seen, want map[string]any) (twin *Seen, n int) {
	for i := range d.Seen {
		c := &d.Seen[i]
		if c.Row != s.Row || c.Call() != s.Call() {
			continue
		}
		if n++; twin == nil || cmp.Equal(want, members(d, c)) {
			twin = c
		}
	}
	return twin, n
}

// members are what is compared of a payload: dotted names and their values.
func members(d *Done, s *Seen) map[string]any {
	out := make(map[string]any)
	put := func(name string, v any) {
		switch {
		case slices.Contains(lacking, name) || slices.Contains(beyond, name):
			return
		case slices.Contains(unlike, name):
			v = fmt.Sprintf("some %T", v)
		}
		if text, ok := v.(string); ok {
			v = strings.ReplaceAll(text, d.Arena.Workspace, "WORKSPACE")
		}
		out[name] = v
	}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		object, ok := v.(map[string]any)
		if !ok || slices.Contains(lacking, name) {
			put(name, v)
			return
		}
		for k, v := range object {
			walk(name+"."+k, v)
		}
	}
	for name, v := range s.Fields {
		walk(name, v)
	}
	return out
}

// readable wants the lines of a transcript that scripts in the wild read.
func readable(lines []string) error {
	texts := 0
	for i, line := range lines {
		var l struct {
			Type    string `json:"type"`
			Message struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return fmt.Errorf("line %d: %w: %.200s", i+1, err, line)
		}
		if l.Type == "user" || l.Type == "assistant" {
			if l.Message.Role != l.Type || len(l.Message.Content) == 0 {
				return fmt.Errorf("line %d: no message of the %s: %.200s", i+1, l.Type, line)
			}
			texts++
		}
	}
	if texts == 0 {
		return fmt.Errorf("no line of a user or an assistant among %d", len(lines))
	}
	return nil
}

// count is how often each value comes.
func count(values []string) map[string]int {
	out := make(map[string]int)
	for _, v := range values {
		out[v]++
	}
	maps.DeleteFunc(out, func(v string, _ int) bool { return v == "" })
	return out
}
