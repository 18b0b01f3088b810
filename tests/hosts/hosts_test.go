// Package hosts tests which program a hook's event is recorded of, or named as that of.
package hosts

import (
	"bufio"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/record/claudehook"
	"github.com/hookspan/hookspan/spool"
)

// line is an event of a program, see testdata/README.md.
type line struct {
	Program, Through, Source, Arg, Raw string
	Expect                             struct {
		Host, Event string
		Or          []string
	}
	Env     map[string]string
	Payload json.RawMessage
}

// inClaudesWords are the names that Claude Code has for other programs' events.
var inClaudesWords = map[string]string{
	"BeforeAgent": "UserPromptSubmit", "AfterAgent": "Stop", "BeforeTool": "PreToolUse", "AfterTool": "PostToolUse", "PreCompress": "PreCompact",
	"TaskCancel": "SessionEnd", "TaskComplete": "Stop", "TaskResume": "SessionStart", "TaskStart": "SessionStart",
	"agent_start": "SessionStart", "agent_end": "Stop", "agent_error": "TaskError", "prompt_submit": "UserPromptSubmit", "tool_call": "PreToolUse", "tool_result": "PostToolUse",
	"agentStop": "Stop", "userPromptSubmitted": "UserPromptSubmit", "beforeSubmitPrompt": "UserPromptSubmit",
	"user_prompt_submit": "UserPromptSubmit", "pre_tool_use": "PreToolUse", "post_tool_use": "PostToolUse", "session_start": "SessionStart",
}

// TestEveryEventIsItsPrograms gives the hook programs what others write to them. Each event
// is stored under its program's name, or counted by its name; a name that fits two programs is
// that of the pair.
func TestEveryEventIsItsPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d programs, want 10: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			lines := bufio.NewScanner(f)
			lines.Buffer(nil, 1<<20)
			for n := 1; lines.Scan(); n++ {
				var l line
				if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
					t.Fatal(err)
				}
				host, event := l.recorded(t)
				event = claude.Capital(cmp.Or(inClaudesWords[event], event))
				if !slices.Contains(append(l.Expect.Or, l.Expect.Host), host) || event != l.Expect.Event {
					t.Errorf("%s:%d: %s of %s, want %s of %s or %v\n%s", file, n, event, host, l.Expect.Event, l.Expect.Host, l.Expect.Or, cmp.Or(string(l.Payload), l.Raw))
				}
			}
			if err := lines.Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// recorded runs the hook that got the event, and returns what is kept of it.
func (l *line) recorded(t *testing.T) (host, event string) {
	t.Helper()
	state := t.TempDir()
	environ := []string{"HOME=" + state, "XDG_STATE_HOME=" + state}
	for name, value := range l.Env {
		environ = append(environ, name+"="+value)
	}
	p := record.Process{
		Agent: l.hooked(), Event: l.Arg, Stdin: strings.NewReader(cmp.Or(string(l.Payload), l.Raw)), Stdout: &strings.Builder{}, Environ: environ, Home: state,
		GOOS: "linux", Dir: state, Now: time.Now, Spawn: func(...string) error { return nil },
	}
	p.Run()
	sp, err := spool.Open(filepath.Join(state, "hookspan", "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil || len(keys) > 1 {
		t.Fatalf("%v: %v", keys, err)
	}
	ran := record.Programs(filepath.Join(state, "hookspan"))
	if len(ran) != 1 {
		t.Fatalf("%d programs noted of %s", len(ran), l.Payload)
	}
	if len(keys) == 0 {
		for name, n := range ran[0].Notes[hook.RanLeft] {
			if event = name; n != 1 || len(ran[0].Notes[hook.RanLeft]) != 1 {
				t.Errorf("counted %v", ran[0].Notes[hook.RanLeft])
			}
		}
		return hostOf(ran[0].Agent), event
	}
	s, err := sp.Session(keys[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if !r.Next() || r.Record().Raw {
		t.Fatalf("no record that is JSON of %s", l.Payload)
	}
	agent, _ := agents.All().WithGuests().Named(keys[0].Host)
	events, err := agent.Events(r.Record())
	if err != nil || len(ran[0].Notes[hook.RanLeft]) != 0 || hostOf(ran[0].Agent) != keys[0].Host {
		t.Errorf("%v, noted %+v", err, ran[0])
	}
	if (events[0].Kind == hook.KindUnknown) != (len(ran[0].Notes[hook.RanUnknown]) == 1) {
		t.Errorf("%s is %v, noted as unknown %v", events[0].Name, events[0].Kind, slices.Collect(maps.Keys(ran[0].Notes[hook.RanUnknown])))
	}
	return keys[0].Host, events[0].Name
}

// hooked is the agent whose hook got the event.
func (l *line) hooked() record.Agent {
	list := claudehook.Agents(func(name string) string { return l.Env[name] })
	want := map[string]string{"claude": hook.HostClaude, "copilot": hook.HostCopilot}[l.Through]
	if want == "" {
		want = l.Expect.Host
	}
	if want == hook.HostCline {
		return record.Agent{Facts: hook.AgentOf(hook.HostCline), Peek: cline.Peek}
	}
	i := slices.IndexFunc(list, func(a record.Agent) bool { return a.Facts.Host == want })
	return list[max(i, 0)] // Cursor has no hooks of ours but Claude Code's
}

// hostOf is the name of a program that was noted.
func hostOf(word string) string {
	switch agent, ok := agents.All().WithGuests().Named(word); {
	case ok:
		return agent.Host
	case word == hook.CopilotOrVSCode:
		return "Copilot or VS Code"
	}
	return word
}
