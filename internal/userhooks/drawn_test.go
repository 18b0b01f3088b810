//go:build !windows

package userhooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// drawnHook is a hook of a drawn file.
type drawnHook struct {
	matcher, rule, command string
	async, once, block     bool
	timeout                int
}

func drawHook(r *rand.Rand) drawnHook {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	return drawnHook{
		matcher: pick("", "*", "Bash", "execute_command", "Edit|Write", "^B.*h$"),
		rule:    pick("", "", "", "Bash(rm *)", "Bash(ls *)"),
		command: pick("guard.sh", "guard.sh", "lint.sh", `"$CLAUDE_PROJECT_DIR"/check.sh`),
		async:   r.IntN(4) == 0, once: r.IntN(4) == 0, block: r.IntN(4) == 0,
		timeout: r.IntN(4) * 40,
	}
}

func (h drawnHook) fits() bool { return h.matcher != "Edit|Write" && h.rule != "Bash(ls *)" }

func (h drawnHook) members() map[string]any {
	m := map[string]any{"type": "command", "command": h.command, "async": h.async, "once": h.once}
	if h.timeout > 0 {
		m["timeout"] = h.timeout
	}
	if h.rule != "" {
		m["if"] = h.rule
	}
	if h.block {
		m["onFailure"] = "block"
	}
	return m
}

// Each command that fits a call starts once, in the strictest form in which a file that
// counts has it, whichever file comes first.
func TestDrawnHooksStartInTheirStrictestForm(t *testing.T) {
	w := newWorld(t)
	w.ClineDir = w.path("named")
	if err := os.MkdirAll(w.ClineDir, 0o700); err != nil {
		t.Fatal(err)
	}
	trusted := w.path("config/trusted-hooks.json")
	r := rand.New(rand.NewPCG(45, 0)) //nolint:gosec // The same sets each time.
	for set := range 1000 {
		want := map[string]drawnHook{}
		_ = os.Remove(trusted)
		for _, name := range []string{"home/.cline/hooks.json", "named/hooks.json", "project/.cline/hooks.json"} {
			counts, groups := true, []any{}
			hooks := make([]drawnHook, r.IntN(4))
			for i := range hooks {
				hooks[i] = drawHook(r)
				groups = append(groups, map[string]any{"matcher": hooks[i].matcher, "hooks": []any{hooks[i].members()}})
			}
			text, _ := json.Marshal(map[string]any{"hooks": map[string]any{"PreToolUse": groups}})
			w.write(name, string(text))
			if strings.HasPrefix(name, "project") {
				if counts = r.IntN(3) > 0; counts {
					if err := w.Trust.Add(w.path(name), text); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, h := range hooks {
				before, had := want[h.command]
				switch {
				case !counts || !h.fits():
					continue
				case had:
					h.async, h.once, h.block = h.async && before.async, h.once && before.once, h.block || before.block
					h.timeout = max(cmp.Or(h.timeout, 60), cmp.Or(before.timeout, 60))
				}
				h.timeout = cmp.Or(h.timeout, 60)
				want[h.command] = h
			}
		}
		trial, err := w.Select(w.command("rm -rf x"))
		if err != nil {
			t.Fatal(err)
		}
		var got, all []string
		for _, m := range trial.Matches {
			if h := m.Handler; m.Matched {
				got = append(got, form(h.Command, h.Async, h.Once, h.BlockOnFailure, cmp.Or(h.Timeout, time.Minute)))
			}
		}
		for _, h := range want {
			all = append(all, form(h.command, h.async, h.once, h.block, time.Duration(h.timeout)*time.Second))
		}
		slices.Sort(got)
		slices.Sort(all)
		if !slices.Equal(got, all) {
			t.Fatalf("set %d: started %q\nwant %q", set, got, all)
		}
	}
}

func form(command string, async, once, block bool, limit time.Duration) string {
	return fmt.Sprintf("%s async %t once %t block %t within %v", command, async, once, block, limit)
}

// A guard is asked about each way in which Cline may take a call; other hooks get one event.
func TestGuardsAreAskedAboutReadings(t *testing.T) {
	w := newWorld(t)
	hooks := func(more string) {
		w.write("home/.cline/hooks.json", `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[
			{"type":"command","command":"cat >> \"$OUT\"/guard; grep -q '\"rm' \"$OUT\"/guard && echo no >&2 && exit 2; true"}`+more+`]}]}}`)
	}
	hooks(`,{"type":"command","command":"cat >> \"$OUT\"/async","async":true}`)
	call := func() Outcome { return w.run(w.command("r\uFFFDm -rf x")) } // a model that is not known
	if out := call(); !out.Answer.Reply.Cancel {
		t.Errorf("answer %+v, want it denied by the guard of the command without U+FFFD", out.Answer)
	}
	count := func(name string) int {
		b, _ := os.ReadFile(w.path("out/" + name))
		return strings.Count(string(b), `"hook_event_name"`)
	}
	if guard := count("guard"); guard != 2 {
		t.Errorf("the guard was asked %d times", guard)
	}
	if trial, err := w.Select(w.command("r\uFFFDm")); err != nil || len(trial.Matches) != 4 || trial.Matches[3].Matched {
		t.Errorf("%+v, %v: an async hook gets a reading", trial, err)
	}
}

// A call whose reading is unknown is denied if there is a guard, unless the user wants
// otherwise.
func TestUnclearCallIsDenied(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		allow      bool
		want       bool
	}{
		{"guard", hookFile("PreToolUse", "Read", "true"), false, true},
		{"allowed", hookFile("PreToolUse", "Read", "true"), true, false},
		{"guard of another tool", hookFile("PreToolUse", "Bash", "true"), false, false},
		{"no guard", hookFile("PostToolUse", "Read", "true"), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("home/.cline/hooks.json", tt.file)
			if tt.allow {
				w.Settings.OnError = "allow"
			}
			raw := w.event("PreToolUse", "")
			raw.Payload = []byte(`{"hookName":"tool_call","timestamp":"2026-08-01T12:00:00Z","taskId":"conv_1","sessionContext":{"rootSessionId":"r"},
				"tool_call":{"id":"1","name":"read_files","input":{"path":"a","start_line":[3]}}}`)
			if out := w.run(raw); out.Answer.Reply.Cancel != tt.want {
				t.Errorf("answer %+v, want cancel %t", out.Answer.Reply, tt.want)
			}
		})
	}
}
