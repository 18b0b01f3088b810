package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// TestFindings makes each check of what it has to tell apart.
func TestFindings(t *testing.T) {
	inUTC(t)
	var out strings.Builder
	t.Run("delivery", func(t *testing.T) { deliveryFindings(newLab(t, &out)) })
	t.Run("hooks", func(t *testing.T) { hookFindings(t, &out) })
	t.Run("settings", func(t *testing.T) { settingFindings(t, &out) })
	t.Run("own hooks", func(t *testing.T) { ownHookFindings(t, &out) })
	t.Run("others and the log", func(t *testing.T) { otherFindings(t, &out) })
	if !t.Failed() {
		golden.Check(t, "findings.txt", out.String())
	}
}

func deliveryFindings(l *lab) {
	tried, stored := before(2*time.Minute), &store.Stats{Traces: 2, Spans: 9, Newest: before(50 * time.Hour)}
	later := testNow.Add(time.Minute)
	parked := func(p deliver.Parked) []deliver.Parked {
		return []deliver.Parked{{At: before(time.Hour), Error: "older"}, p}
	}
	for _, d := range []Destination{
		{Name: "otlp", Off: switchedOff},
		{Name: "otlp", Fault: "no such certificate"},
		{Name: "otlp", Target: "http://a"},
		{Name: "otlp", Target: "http://a", Tried: tried, Taken: tried},
		{Name: "otlp", Target: "http://a", Tried: tried, Taken: before(3 * 24 * time.Hour), Error: "otlp: 503"},
		{Name: "otlp", Target: "http://a", Tried: tried, Error: "503 from http://a"},
		{Name: "otlp", Target: "http://a", Tried: tried, Error: "503", Failing: 1, NextTry: later, LastError: "503"},
		{Name: "otlp", Target: "http://a", Failing: 2, NextTry: later, LastError: "503", Behind: 3},
		{Name: "otlp", Target: "http://a", Tried: tried, Taken: tried, Failing: 2, NextTry: later, LastError: "503"},
		{Name: "otlp", Target: "http://a", Runs: 2, Spans: 3},
		{Name: "otlp", Target: "http://a", Runs: 1, Spans: 1, Rejected: 1, Behind: 1},
		{Name: "otlp", Target: "http://a", elsewhere: "http://b"},
		{Name: "otlp", Target: "http://a", elsewhere: "http://b", Failing: 1, NextTry: later, LastError: "503"},
		{Name: "otlp", Target: "http://a", Tried: tried, Taken: tried, clock: "an hour ahead"},
		{Name: "otlp", Target: "http://a", Tried: tried, Taken: tried, Parked: parked(deliver.Parked{At: before(time.Minute / 2), Error: "400 Bad Request"})},
		{Name: "otlp", Target: "http://a", Tried: tried, Taken: before(time.Second), Parked: parked(deliver.Parked{At: before(time.Minute), Error: "400"})},
		{Name: "otlp", Target: "http://a", Tried: tried, Taken: before(time.Second), Parked: parked(deliver.Parked{At: before(time.Minute), Error: "401", Denied: true})},
		{Name: "otlp", Target: "http://a", Tried: tried, Error: "401", Parked: parked(deliver.Parked{At: before(time.Minute), Error: "401", Denied: true})[1:]},
		{Name: "otlp", Target: "http://a", elsewhere: "http://b", Parked: parked(deliver.Parked{At: before(time.Hour), Error: "400"})},
		{Name: "store"},
		{Name: "store", Stored: &store.Stats{}},
		{Name: "store", Stored: stored},
		{Name: "store", Stored: &store.Stats{Traces: 1, Spans: 1, Newest: before(time.Hour), Bytes: 1000, Partial: 1}},
		{Name: "store", Stored: &store.Stats{Traces: 3, Spans: 1, Newest: before(time.Second), Bytes: 1 << 10, Partial: 2, Limited: store.Removals{Traces: 1, Last: before(47 * time.Hour)}}},
		{Name: "store", Stored: stored, Runs: 4, Failing: 1, NextTry: later, LastError: "disk is full"},
	} {
		b, err := json.Marshal(d)
		if err != nil {
			l.Fatal(err)
		}
		st := &Status{Destinations: []Destination{d}}
		l.findings(string(b)+" "+d.elsewhere, st, (*exam).delivery)
		l.write("---- " + strings.Join(st.destinationLines(&st.Destinations[0]), "\n     ") + "\n")
		text := st.Text(Look{})
		l.write("---- " + text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:])
	}
	l.findings("no destination", &Status{}, (*exam).delivery)
	for _, managed := range []bool{false, true} {
		st := &Status{
			MachineFile: "/etc/hookspan/hookspan.env", Managed: managed, LastEvent: before(time.Hour), Sessions: 1, SpoolBytes: 1 << 20, HookVersion: "1.2.0", WithoutHooks: []string{"gemini"}, machine: l.Machine,
			Values: []config.Setting{{Name: "A", Source: config.Machine}, {Name: "B", Source: config.File}, {Name: "C", Source: config.Machine}},
		}
		st.addHooks(agentHooks{l.Setup.Agents[0], installed("/hooks", install.StateInstalled)})
		l.write("---- " + st.Text(Look{}))
		l.write("---- " + st.Text(Look{Marks: true, Width: 60}))
	}
}

func hookFindings(t *testing.T, out *strings.Builder) {
	all := []install.State{install.StateInstalled, install.StateOutdated, install.StateOff, install.StateEdited, install.StateForeign, install.StateMissing}
	for _, c := range []struct {
		name   string
		change func(*lab)
	}{
		{"no hooks", func(l *lab) { l.hooks["cline"] = &install.Report{}; l.hooks["claude"] = &install.Report{} }},
		{"a folder with every state", func(l *lab) { l.hooks["cline"] = installed("/hooks", all...) }},
		{"settings with every state", func(l *lab) { l.hooks["claude"] = installed("/settings.json", all...) }},
		{"all hooks are gone", func(l *lab) {
			l.hooks["claude"] = installed("/settings.json", install.StateMissing, install.StateMissing)
		}},
		{"no hooks, but hook files", func(l *lab) {
			l.hooks["cline"] = installed("/hooks", all...)
			l.hooks["cline"].Sites[0].Present = false
		}},
		{"no hooks in settings", func(l *lab) {
			l.hooks["claude"] = installed("/settings.json", all...)
			l.hooks["claude"].Sites[0].Present = false
		}},
		{"settings without hooks, torn", func(l *lab) {
			l.hooks["claude"] = installed("/settings.json")
			l.hooks["claude"].Sites[0].Present, l.hooks["claude"].Sites[0].Err = false, errors.New("/settings.json: line 3")
		}},
		{"settings with hooks, torn", func(l *lab) {
			l.hooks["claude"] = installed("/settings.json")
			l.hooks["claude"].Sites[0].Err, l.hooks["claude"].Sites[0].Project, l.hooks["claude"].Sites[0].Kind = errors.New("/settings.json: line 3"), "/p", "local"
		}},
		{"an organisation's settings", func(l *lab) {
			l.hooks["claude"] = installed("/settings.json", install.StateOutdated)
			l.hooks["claude"].Sites[0].Kind = install.ScopeManaged
		}},
		{"hooks that are switched off", func(l *lab) {
			l.hooks["claude"], l.hooks["codex"] = installed("/settings.json", install.StateInstalled), installed("/hooks.json", install.StateInstalled)
			l.hooks["claude"].Off, l.hooks["claude"].Warnings = []string{"disableAllHooks"}, []string{"a warning"}
			l.hooks["codex"].Off, l.hooks["codex"].OffHint = []string{"features.hooks"}, "set it"
			l.hooks["cline"] = installed("/hooks", install.StateInstalled)
			l.hooks["cline"].Off, l.hooks["cline"].Warnings = []string{"off in the tab"}, []string{"another"}
		}},
		{"telemetry of the agent", func(l *lab) {
			l.hooks["claude"] = installed("/settings.json", install.StateInstalled)
			l.hooks["claude"].Telemetry, l.hooks["claude"].Endpoint = "/t.json", "/e.json"
		}},
		{"an endpoint in the agent's settings", func(l *lab) {
			l.hooks["claude"] = installed("/settings.json", install.StateInstalled)
			l.hooks["claude"].Endpoint = "/e.json"
		}},
		{"an agent without hooks beside one with", func(l *lab) {
			l.hooks["cline"], l.hooks["claude"], l.hooks["codex"] = installed("/hooks", install.StateInstalled), &install.Report{}, &install.Report{}
		}},
	} {
		l := newLab(t, out)
		c.change(l)
		st := &Status{WithoutHooks: []string{"claude"}}
		l.findings(c.name, st, func(e *exam) { e.hooks(); e.stripped() })
		b, err := json.Marshal(struct {
			Agents   []AgentStatus
			Hooks    []install.Hook
			Settings []SettingsFile
		}{st.Agents, st.Hooks, st.Settings})
		if err != nil {
			t.Fatal(err)
		}
		l.write("---- " + string(b) + "\n")
	}
}

func settingFindings(t *testing.T, out *strings.Builder) {
	for _, environ := range [][]string{
		{},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://a", "HOOKSPAN_EXPORTERS=store"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a", "HOOKSPAN_EXPORTERS=otlp"},
		{"OTEL_TRACES_EXPORTER=none"},
		{"OTEL_TRACES_EXPORTER=None", "OTEL_EXPORTER_OTLP_ENDPOINT=http://a"},
		{"OTEL_TRACES_EXPORTER=otlp"},
		{"OTEL_BSP_SCHEDULE_DELAY=5", "OTEL_TRACES_SAMPLER=always_on"},
		{"HOOKSPAN_BUDGET_DAY_USD=5", "OTEL_BSP_SCHEDULE_DELAY=5"},
		{"HOOKSPAN_DISABLED=true"},
	} {
		l := newLab(t, out, environ...)
		l.hooks["cline"], l.hooks["claude"] = installed("/hooks", install.StateInstalled), installed("/settings.json", install.StateInstalled)
		l.findings(strings.Join(environ, " "), &Status{}, func(e *exam) { e.stripped(); e.standard() })
		l.hooks["cline"] = nil
		l.findings("without Cline", &Status{}, (*exam).standard)
	}
	for _, environ := range []string{"HOOKSPAN_DISABLED=false", "HOOKSPAN_DISABLED=true"} {
		for _, project := range []bool{false, true} {
			l := newLab(t, out, environ)
			l.ProjectOff = project
			l.findings(fmt.Sprintf("recording, %s, off in the project: %t", environ, project), &Status{Recording: l.status().Recording}, (*exam).recording)
		}
	}
	l := newLab(t, out)
	l.findings("recording is paused", &Status{Recording: recordingPaused}, (*exam).recording)
}

func ownHookFindings(t *testing.T, out *strings.Builder) {
	hooks := func(text string) *hookfile.File {
		f, err := hookfile.Parse("/h/hooks.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const guard = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}`
	trusted := func(text string) userhooks.Sources {
		return userhooks.Sources{{Path: "/h/hooks.json", Trusted: true, File: hooks(text)}}
	}
	plain := trusted(strings.Replace(guard, "PreToolUse", "PostToolUse", 1))
	for _, c := range []struct {
		name    string
		sources userhooks.Sources
		reach   *install.Report
		off     bool
	}{
		{name: "none"},
		{name: "a file that cannot be read", sources: userhooks.Sources{{Path: "/h/hooks.json", Err: errors.New("/h/hooks.json: no JSON")}}},
		{name: "a file that is not trusted", sources: userhooks.Sources{{Path: "/p/hooks.json", Project: true, File: hooks(guard)}}},
		{name: "hooks are switched off in the file", sources: trusted(`{"disableAllHooks":true,"hooks":{}}`)},
		{name: "an event that Cline does not have", sources: trusted(strings.Replace(guard, "PreToolUse", "Setup", 1))},
		{name: "an event that nothing has", sources: trusted(strings.Replace(guard, "PreToolUse", "PreToolUsed", 1))},
		{name: "a guard without a hook file", sources: trusted(guard), reach: &install.Report{}},
		{name: "a hook without a hook file", sources: plain, reach: &install.Report{}},
		{name: "a hook with one", sources: plain, reach: reach("x", "PostToolUse", install.StateInstalled)},
		{name: "a guard with one", sources: trusted(guard), reach: reach("x", "PreToolUse", install.StateInstalled)},
		{name: "a guard with one of another event", sources: trusted(guard), reach: reach("x", "PostToolUse", install.StateInstalled)},
		{name: "a guard beside a file of another program", sources: trusted(guard), reach: reach("x", "PreToolUse", install.StateForeign, install.StateInstalled)},
		{name: "switched off by the setting", sources: plain, reach: reach("x", "PostToolUse", install.StateInstalled), off: true},
		{name: "two files", sources: append(trusted(guard), userhooks.Source{Path: "/p/hooks.json", Project: true, File: hooks(guard)}), reach: reach("x", "PreToolUse", install.StateInstalled)},
	} {
		var environ []string
		if c.off {
			environ = append(environ, "HOOKSPAN_HOOKS=false")
		}
		l := newLab(t, out, environ...)
		l.hooks["cline"] = c.reach
		l.Own.Sources = c.sources
		l.findings(c.name, &Status{}, (*exam).ownHooks)
		files := slices.Clone(l.status().OwnHooks)
		l.write("---- " + (&Status{OwnHooks: files, machine: l.Machine}).ownHooksText() + "\n")
	}
	l := newLab(t, out)
	l.Own.Sources = plain
	for i := range 8 {
		l.Own.Problems = append(l.Own.Problems, userhooks.Noted{Last: before(time.Duration(26-4*i) * time.Hour), Count: i % 3, Text: fmt.Sprintf("hook %d printed secret", i)})
	}
	l.findings("problems of the last day", &Status{}, (*exam).ownHooks)
	l.Own.Problems[0].Last = before(24 * time.Hour)
	l.Own.Problems = l.Own.Problems[:2]
	l.findings("one of exactly a day ago", &Status{}, (*exam).ownHooks)
}

// reach are hook files of Cline for one event in a place of a kind.
func reach(kind, event string, states ...install.State) *install.Report {
	r := installed("/hooks", states...)
	r.Sites[0].Kind = kind
	for i := range r.Sites[0].Hooks {
		r.Sites[0].Hooks[i].Event = event
		if i > 0 {
			r.Sites[0].Hooks[i].Event = "Other"
		}
	}
	return r
}

func otherFindings(t *testing.T, out *strings.Builder) {
	l := newLab(t, out)
	l.hooks["claude"] = installed("/settings.json", install.StateInstalled)
	day := 24 * time.Hour
	ran := func(agent string, first, last time.Duration, notes map[string]map[string]int) hook.Ran {
		return hook.Ran{
			Program: "claude-hook", Agent: agent, Last: before(last), Notes: notes,
			Latest: map[string]string{"first": before(first).Format(time.RFC3339), "version": map[string]string{"cursor": "3.18.25"}[agent]},
		}
	}
	ofClaude := map[string]int{"claude": 1}
	l.Ran = []hook.Ran{
		ran("claude", 9*day, time.Hour, map[string]map[string]int{"unknown": {"NewHook": 2, "Another": 1}}),
		ran("codex", 9*day, time.Hour, map[string]map[string]int{"for": ofClaude, "left": {"Stop": 1, "PreToolUse": 2}}),
		ran("copilot-or-vscode", time.Hour, time.Hour, map[string]map[string]int{"for": ofClaude, "left": {"SessionStart": 1}}),
		ran("cursor", 9*day, time.Hour, map[string]map[string]int{"for": ofClaude, "unknown": {"afterFileEdit": 1}}),
		ran("droid", 30*day, 30*day, map[string]map[string]int{"for": ofClaude, "left": {"Stop": 1}}),
		ran("old", 31*day, 30*day+1, map[string]map[string]int{"for": ofClaude, "left": {"Stop": 1}}),
		ran("vscode", 9*day, time.Hour, map[string]map[string]int{"for": {"claude": 1, "copilot": 1}, "nowhere": {"Stop": 2}}),
	}
	programs := func(e *exam) {
		e.st.addPrograms(t.Context(), l.Machine)
		e.programs(t.Context())
	}
	l.findings("programs that ran hooks", &Status{}, programs)
	l.Ran, l.Setup.GOOS = nil, "windows"
	l.file("", ".vscode", "argv.json")
	l.findings("VS Code on Windows", &Status{}, programs)
	l.Setup.GOOS = "linux"
	line := func(age time.Duration, text string) string {
		return before(age).Format(time.RFC3339) + " " + text + "\n"
	}
	l.file(line(25*time.Hour, "hookspan: too old")+line(24*time.Hour, "hookspan: a day old")+
		line(3*time.Hour, "hookspan: session 0123456789ab: quarantine 12")+line(2*time.Hour, "hookspan: session fedcba987654: quarantine 13")+
		line(2*time.Hour, "cline-hook: not stored, long ago")+line(30*time.Minute, "cline-hook: not stored")+
		line(time.Hour, "hookspan: otlp: 503 at a try that is known")+line(time.Minute, "hookspan: otlp: 503 at a later one")+
		line(time.Hour, "hookspan: file: waits")+line(time.Hour, "hookspan: infinium: no secret")+line(time.Hour, "hookspan: gone: off")+
		line(time.Hour, "hookspan: hooks: a step")+line(time.Hour, "hookspan: hooks: run 1 is not in the trace")+line(time.Hour, "hookspan: hooks: no TRACEPARENT")+
		line(time.Hour, "claude-hook: codex runs it: it is not recorded (said once)")+line(time.Hour, "no colon")+"no time hookspan: text\n",
		strings.TrimPrefix(l.Setup.Config.LogPath(), l.home))
	st := func() *Status {
		return &Status{LastEvent: before(time.Minute), Destinations: []Destination{
			{Name: "otlp", Tried: before(time.Hour + time.Second)}, {Name: "file", Failing: 1}, {Name: "infinium", Fault: "x"}, {Name: "gone", Off: "x"},
		}}
	}
	l.findings("the log", st(), (*exam).log)
	early := st()
	early.LastEvent, early.Destinations[0].Tried = time.Time{}, before(time.Hour+time.Second+1)
	l.findings("the log, when no event was stored since", early, (*exam).log)
	for _, d := range []time.Duration{0, time.Minute - 1, time.Minute, time.Hour - 1, time.Hour, 48*time.Hour - 1, 48 * time.Hour} {
		l.write(fmt.Sprintf("%v: %s\n", d, ago(testNow, before(d))))
	}
	for _, n := range []int64{0, 1023, 1024, 1<<20 - 1, 1 << 20, 1 << 30, 3 << 29} {
		l.write(fmt.Sprintf("%d: %s\n", n, bytesText(n)))
	}
}
