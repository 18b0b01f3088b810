package translate

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

func denied(reason string) []verdict.Verdict {
	return []verdict.Verdict{{Decision: verdict.Deny, Reason: reason}}
}

// nasty are reasons that would be dangerous as anything but text.
var nasty = []string{
	"no rm here", "it's \"quoted\" `touch pwned` $(touch pwned) %s %d \\n", "two\nlines; touch pwned", "'; touch pwned; '", `\'; touch pwned; '`, `ends in \`, "50% of !x\t%", "é\U0001f600 -n", "a\x00b",
	"../../../../etc/hostname", "../../../../../../../../etc/passwd\n", strings.Repeat("long ", 5000),
}

func TestSoftDenialOfCommandOnlyPrintsReason(t *testing.T) {
	c := call(t, pre(t, "sdk", "run_commands", `["a","b"]`), here)
	for _, reason := range nasty {
		a := c.Answer(denied(reason), Options{SoftDeny: true})
		var in struct{ Commands []string }
		if err := json.Unmarshal([]byte(a.Reply.OverrideInput), &in); err != nil || len(in.Commands) != 1 || a.Reply.Cancel {
			t.Fatalf("reply %+v, %v", a.Reply, err)
		}
		want := deniedBy + strings.TrimSpace(strings.ReplaceAll(cut(strings.TrimSpace(reason), maxReason), "\x00", ""))
		ran := 0
		for _, shell := range [...]string{"sh", "dash", "bash", "ksh", "zsh", "fish", "busybox sh"} {
			name, arg, _ := strings.Cut(shell, " ")
			path, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			ran++
			args := []string{"-c", in.Commands[0]}
			if arg != "" {
				args = append([]string{arg}, args...)
			}
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Dir = t.TempDir()
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%s, %q: %v, want exit code 1", shell, reason, err)
			}
			if got := strings.TrimSpace(stderr.String()); got != want || stdout.Len() > 0 {
				t.Errorf("%s: stderr %q, stdout %q, want stderr %q", shell, got, stdout.String(), want)
			}
			if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
				t.Errorf("%s, %q made %v, %v", shell, reason, left, err)
			}
		}
		if ran == 0 {
			skip.Missing(t, "there is no POSIX shell here")
		}
		// Characters that fish and csh interpret must not be between the quotes.
		quoted := strings.TrimSuffix(strings.TrimPrefix(in.Commands[0], softBefore), softAfter)
		if strings.ContainsAny(quoted, "'!\n") || strings.Contains(quoted, `\\`) || strings.HasSuffix(quoted, `\`) {
			t.Errorf("command %q", in.Commands[0])
		}
		if !a.Soft {
			t.Errorf("%q: the answer does not say that it is soft", reason)
		}
	}
}

// Hooks get no event for the end of a softly denied call, whatever the reason.
func TestSoftDenialIsRecognized(t *testing.T) {
	for tool, input := range map[string]string{
		"run_commands": `["a","b"]`, "read_files": `["a","b"]`, "editor": `{"path":"a","new_text":"x"}`,
	} {
		c := call(t, pre(t, "sdk", tool, input), here)
		for _, reason := range nasty {
			a := c.Answer(denied(reason), Options{SoftDeny: true})
			raw := payload(t, "sdk", "tool_result", map[string]any{"tool_result": map[string]any{
				"id": "call_1", "name": tool, "input": json.RawMessage(a.Reply.OverrideInput), "output": "x",
			}})
			if ended := call(t, raw, here); len(ended.Events) != 0 {
				t.Errorf("%s, %q gives %s", tool, reason, ended.Events[0].Payload)
			}
		}
	}
}

func TestSoftDenialNamesImpossibleFile(t *testing.T) {
	for tool, input := range map[string]string{
		"read_files": `["a"]`, "editor": `{"path":"a","new_text":"x"}`,
	} {
		c := call(t, pre(t, "sdk", tool, input), here)
		for _, reason := range nasty {
			a := c.Answer(denied(reason), Options{SoftDeny: true})
			type file struct {
				Path    string
				OldText string `json:"old_text"`
			}
			var in struct {
				file
				Files []file
			}
			if err := json.Unmarshal([]byte(a.Reply.OverrideInput), &in); err != nil || a.Reply.Cancel || !a.Soft {
				t.Fatalf("%s: answer %+v, %v", tool, a, err)
			}
			name := in.Path
			switch {
			case tool == "read_files" && len(in.Files) == 1:
				name = in.Files[0].Path
			case in.OldText == "":
				t.Errorf("%s: %s would make a file", tool, a.Reply.OverrideInput)
			}
			if !strings.HasPrefix(name, nowhere+deniedBy) || strings.Count(name, "/") != 3 || strings.ContainsAny(name, "\\\x00\n") {
				t.Errorf("%s: path %q", tool, name)
			}
			if cleaned := (place{cwd: "/w"}).abs(name); cleaned != name {
				t.Errorf("%s: %q is another path than it says: %q", tool, name, cleaned)
			}
		}
	}
}

func TestDenialStopsTaskIfSoftDenialIsImpossible(t *testing.T) {
	windows := here
	windows.GOOS = "windows"
	tests := []struct {
		name string
		c    *Call
		note string
	}{
		{"classic", call(t, pre(t, "classic", "execute_command", `{"command":"x"}`), here), "only the SDK's"},
		{"next", call(t, pre(t, "next", "run_commands", `{"commands":["x"]}`), here), "only the SDK's"},
		{"windows", call(t, pre(t, "sdk", "run_commands", `["x"]`), windows), "Windows"},
		{"another tool", call(t, pre(t, "sdk", "apply_patch", `{"input":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`), here), "call of apply_patch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.c.Answer(denied("no"), Options{SoftDeny: true})
			if !a.Reply.Cancel || a.Soft || a.Reply.ErrorMessage != "no" || a.Reply.OverrideInput != "" {
				t.Errorf("reply %+v", a.Reply)
			}
			if len(a.Notes) != 1 || !strings.Contains(a.Notes[0], tt.note) {
				t.Errorf("notes %q, want one that says %q", a.Notes, tt.note)
			}
		})
	}
}
