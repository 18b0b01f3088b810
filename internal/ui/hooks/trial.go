package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	clinehook "github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// Match says whether a hook is started for the call of a test, and why.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
	Runs bool   `json:"runs"`
	Why  string `json:"why"`
}

// TestResult is what hooks did in a test.
type TestResult struct {
	Runs []TestRun `json:"runs"`
	// Answer is what the agent gets, Effect what it does on that.
	Answer string   `json:"answer,omitempty"`
	Effect string   `json:"effect"`
	Notes  []string `json:"notes,omitempty"`
}

// TestRun is one run of a hook.
type TestRun struct {
	Where   string   `json:"where"`
	Text    string   `json:"text"`
	Ending  string   `json:"ending"`
	Stdout  string   `json:"stdout,omitempty"`
	Stderr  string   `json:"stderr,omitempty"`
	Verdict []string `json:"verdict"`
}

// TestEvents are the events that a test can have, by agent.
var TestEvents = map[string][]string{
	agentCline:  sample.EventNames(),
	agentClaude: {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit", "SessionStart", "Notification", "Stop", "SubagentStop", "PreCompact", "SessionEnd"},
}

// claudeBudget is the time for all hooks of a test as Claude Code would run them; a
// person waits.
const claudeBudget = time.Minute

// prepareTest finds the hooks that a call starts, and starts none.
func (e *Editor) prepareTest(ctx context.Context, c *change, r Request) error {
	switch events := TestEvents[r.Agent]; {
	case events == nil:
		return Refused("agent %q: want %s or %s", r.Agent, agentClaude, agentCline)
	case r.Event == nil || !slices.Contains(events, *r.Event):
		return Refused("event: want one of %s", strings.Join(events, ", "))
	}
	if r.Input != "" {
		var o map[string]json.RawMessage
		if json.Unmarshal([]byte(r.Input), &o) != nil || o == nil {
			return Refused("arguments: want a JSON object, such as {\"command\": \"ls\"}")
		}
	}
	var of *File
	if r.File != "" {
		projects, _, _ := e.Catalog.survey(ctx)
		files := e.Catalog.files(projects)
		i := slices.IndexFunc(files, func(f File) bool { return f.ID == r.File })
		if i < 0 {
			return unknown("there is no such file in the list")
		}
		of = &files[i]
	}
	c.Code = true
	root := e.Catalog.root(of)
	if r.Agent == agentCline {
		return e.clineTest(c, r, root)
	}
	return e.claudeTest(ctx, c, r, root)
}

// clineTest prepares a test as Cline would call.
func (e *Editor) clineTest(c *change, r Request, root string) error {
	catalog := e.Catalog
	q := sample.Request{Event: *r.Event, Tool: r.Tool, Input: r.Input, Result: r.Text, Prompt: r.Text}
	event, err := sample.FindEvent(q.Event)
	if err != nil {
		return refusedField(err)
	}
	isResult := strings.HasPrefix(q.Event, "PostToolUse") || q.Event == "Stop" || q.Event == "SubagentStop"
	q.Given = func(flag string) bool {
		switch flag {
		case "tool":
			return event.Tool() && q.Tool != ""
		case "json":
			return event.Tool() && q.Input != ""
		case "result":
			return isResult && q.Result != ""
		case "prompt":
			return !event.Tool() && !isResult && q.Prompt != ""
		}
		return false
	}
	if !event.Tool() {
		q.Tool, q.Input = "", ""
	} else {
		q.Prompt = ""
	}
	raw := hook.Raw{StoredAt: catalog.Process.Now(), Cwd: root}
	payload, err := q.Payload(root, raw.StoredAt)
	if err == nil {
		raw.Event = payload.Event.HookFile()
		raw.Payload, err = payload.Encode()
	}
	if err != nil {
		return refusedField(err)
	}
	h := catalog.Process.Hooks()
	h.Trace = nil
	t, err := h.Select(raw)
	if err != nil {
		return Refused("%s", err)
	}
	c.Call = []string{}
	for _, ev := range t.Call.Events {
		c.Call = append(c.Call, catalog.callText(ev.Name, ev.Tool, ev.Input))
	}
	c.Matches = catalog.matches(t.Matches)
	c.Notes = t.Sources.Problems()
	c.What = "test " + describeCall(*r.Event, r.Tool) + " as Cline calls in " + root + ": " + starts(c.Matches)
	c.Code = slices.ContainsFunc(c.Matches, func(m Match) bool { return m.Runs })
	c.apply = func(ctx context.Context) (*Done, error) {
		// The code is for what was shown.
		if now, err := h.Select(raw); err != nil || !slices.Equal(catalog.matches(now.Matches), c.Matches) {
			return nil, &Error{Stale, "the hooks have changed since they were shown: none was started", "look at the test again"}
		}
		out, err := h.Try(ctx, raw)
		if err != nil {
			return nil, err
		}
		result := catalog.result(&out.Result)
		result.Answer = catalog.Process.Clean(string(clinehook.EncodeReply(out.Answer.Reply)))
		result.Effect = catalog.Process.Clean(out.Effect())
		for _, text := range out.Problems {
			result.Notes = append(result.Notes, catalog.Process.Clean(text))
		}
		return &Done{Text: "tested " + describeCall(*r.Event, r.Tool), Result: result}, nil
	}
	return nil
}

func describeCall(event, tool string) string {
	if tool != "" {
		return event + " of " + tool
	}
	return event
}

func starts(matches []Match) string {
	var texts []string
	for _, m := range matches {
		if m.Runs {
			texts = append(texts, m.Text)
		}
	}
	if texts == nil {
		return "starts no hook"
	}
	return "starts " + strings.Join(texts, "; ")
}

// callText is an event of a test in one line.
func (c *Catalog) callText(event, tool string, input json.RawMessage) string {
	text := describeCall(event, tool)
	var b bytes.Buffer
	if json.Compact(&b, input) == nil && b.Len() > 0 {
		text += " " + b.String()
	}
	return c.whole(text)
}

func (c *Catalog) matches(list []hookrun.Match) []Match {
	out := []Match{}
	for _, x := range list {
		out = append(out, Match{x.Handler.File, x.Handler.Line, c.whole(shelltext.Text(x.Handler)), x.Matched, c.Process.Clean(x.Why)})
	}
	return out
}

func (c *Catalog) result(r *hookrun.Result) *TestResult {
	out := &TestResult{Runs: []TestRun{}}
	clean := c.Process.Clean
	for i := range r.Runs {
		run := &r.Runs[i]
		t := TestRun{
			Where: where(run.Handler.File, run.Handler.Line), Text: clean(shelltext.Text(run.Handler)), Ending: clean(userhooks.Ending(run)),
			Stdout: clean(run.Output.Stdout), Stderr: clean(run.Output.Stderr),
		}
		for _, line := range userhooks.Verdict(run.Verdict) {
			t.Verdict = append(t.Verdict, clean(line))
		}
		out.Runs = append(out.Runs, t)
	}
	return out
}

// claudeTest prepares a test as Claude Code would call. Of its hooks only commands and
// requests run here, and none that records for hookspan.
func (e *Editor) claudeTest(ctx context.Context, c *change, r Request, root string) error {
	catalog := e.Catalog
	ev, err := claudeEvent(r, root)
	if err != nil {
		return err
	}
	handlers, env, notes := catalog.claudeHandlers(ctx, root)
	c.Notes = notes
	run := &hookrun.Runner{
		Dir: root, ProjectDir: root, Session: testSession, Home: catalog.Process.Home, GOOS: catalog.Process.GOOS, Env: append(slices.Clone(catalog.Process.Environ), env...),
		Budget: claudeBudget, OnError: hookrun.OnErrorAllow, Post: catalog.Process.Post, Conditions: catalog.Process.Conditions, Host: catalog.Process.Host,
	}
	matches := run.Select(handlers, []hookrun.Event{ev})
	c.Call = []string{catalog.callText(ev.Name, ev.Tool, ev.Input)}
	c.Matches = catalog.matches(matches)
	c.What = "test " + describeCall(*r.Event, r.Tool) + " as Claude Code calls in " + root + ": " + starts(c.Matches)
	c.Code = slices.ContainsFunc(c.Matches, func(m Match) bool { return m.Runs })
	c.apply = func(ctx context.Context) (*Done, error) {
		got := run.Run(ctx, handlers, []hookrun.Event{ev})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		result := catalog.result(&got)
		result.Effect = catalog.Process.Clean(claudeEffect(ev.Name, got.Verdicts[0]))
		return &Done{Text: "tested " + c.Call[0], Result: result}, nil
	}
	return nil
}

const testSession = "hookspan-test"

// claudeHandlers are the hooks that Claude Code has in a project and that a test can
// run, with the variables of its settings.
func (c *Catalog) claudeHandlers(ctx context.Context, root string) (handlers []hookfile.Handler, env, notes []string) {
	projects, _, _ := c.survey(ctx)
	for _, f := range c.files(projects) {
		if f.Agent != agentClaude || f.Project != "" && f.Project != root {
			continue
		}
		if err := f.open(false); err != nil {
			notes = append(notes, c.Process.Clean(err.Error()))
			continue
		}
		if len(f.entries) > 0 && f.Off != "" {
			notes = append(notes, f.Path+": "+f.Off)
			continue
		}
		for _, v := range f.parsed.Env {
			env = append(env, v.Name+"="+v.Value)
		}
		for _, e := range f.entries {
			h := e.Handler
			h.File = f.Path
			switch {
			case !e.Runs:
			case f.Scope == claude.ScopePlugin:
				notes = append(notes, where(f.Path, h.Line)+": hooks of plugins run in Claude Code only")
			case h.Type != hookfile.TypeCommand && h.Type != hookfile.TypeHTTP:
				notes = append(notes, where(f.Path, h.Line)+": hooks of type "+h.Type+" run in Claude Code only")
			case claude.Records(h.Command, h.Args):
				// The test would be recorded as a session.
			default:
				handlers = append(handlers, h)
			}
		}
	}
	return handlers, env, notes
}

// claudeSubjects are what matchers are tried against on events without a tool.
var claudeSubjects = map[string]string{
	"SessionStart": "startup", "SessionEnd": "other", "PreCompact": "manual", "Notification": "permission_prompt", "SubagentStop": "general-purpose",
}

// claudeEvent makes the event that Claude Code would give its hooks.
func claudeEvent(r Request, root string) (hookrun.Event, error) {
	ev := hookrun.Event{Name: *r.Event}
	payload := map[string]any{
		"session_id": testSession, "transcript_path": "", "cwd": root, "permission_mode": "default", "hook_event_name": ev.Name,
	}
	switch {
	case slices.Contains(toolEvents, ev.Name):
		if strings.TrimSpace(r.Tool) == "" {
			return ev, Refused("tool: want a tool of Claude Code, such as Bash")
		}
		ev.Tool, ev.Input = strings.TrimSpace(r.Tool), json.RawMessage(r.Input)
		if r.Input == "" {
			ev.Input = json.RawMessage("{}")
		}
		ev.Subjects = []string{ev.Tool}
		payload["tool_name"], payload["tool_input"], payload["tool_use_id"] = ev.Tool, ev.Input, "toolu_hookspan_test"
		switch ev.Name {
		case "PostToolUse":
			payload["tool_response"] = r.Text
		case "PostToolUseFailure":
			payload["error"] = r.Text
		}
	case ev.Name == "UserPromptSubmit":
		payload["prompt"] = r.Text
	default:
		if s := claudeSubjects[ev.Name]; s != "" {
			ev.Subjects = []string{s}
		}
		for key, value := range map[string]map[string]any{
			"SessionStart": {"source": "startup"}, "SessionEnd": {"reason": "other"}, "PreCompact": {"trigger": "manual", "custom_instructions": ""},
			"Notification": {"notification_type": "permission_prompt", "message": r.Text}, "Stop": {"stop_hook_active": false},
			"SubagentStop": {"stop_hook_active": false, "agent_id": "agent-test", "agent_type": "general-purpose"},
		} {
			if key == ev.Name {
				for k, v := range value {
					payload[k] = v
				}
			}
		}
	}
	var err error
	if ev.Payload, err = rawjson.Marshal(payload); err != nil {
		return ev, fmt.Errorf("the event of the test: %w", err)
	}
	return ev, nil
}

// claudeEffect says in one sentence what Claude Code does on a verdict.
func claudeEffect(event string, v verdict.Verdict) string {
	because := ""
	if v.Reason != "" {
		because = ": " + strings.Join(strings.Fields(v.Reason), " ")
	}
	switch {
	case v.Stop:
		return "Claude Code stops: " + v.StopReason
	case v.Decision == verdict.Deny:
		return "Claude Code does not run the tool and tells the model why" + because
	case v.Decision == verdict.Block && event == "UserPromptSubmit":
		return "Claude Code does not take the prompt" + because
	case v.Decision == verdict.Block && (event == "Stop" || event == "SubagentStop"):
		return "Claude Code does not end the turn and tells the model why" + because
	case v.Decision == verdict.Block:
		return "Claude Code tells the model" + because
	case v.Decision == verdict.Ask:
		return "Claude Code asks you before it runs the tool" + because
	case v.Decision == verdict.Defer:
		return "Claude Code puts the call off" + because
	case v.Decision == verdict.Allow:
		return "Claude Code runs the tool without asking, unless a rule of its permissions denies it or asks."
	case len(v.Context) > 0:
		return "Claude Code continues and gives the model what the hooks say."
	}
	return "Claude Code continues as if there were no hook."
}
