package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// looks are how texts look in a pipe, on a terminal without colours and with them.
var looks = map[string]Look{"pipe": {}, "plain": {Marks: true}, "color": {Marks: true, Color: true}, "narrow": {Marks: true, Width: 80}}

// keepsTo fails if a line is wider than a terminal.
func keepsTo(t *testing.T, l Look, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := termtext.Width(strings.TrimRight(line, "\n")); l.Width > 0 && n > l.Width {
			t.Errorf("%d columns of %d: %q", n, l.Width, line)
		}
	}
}

func TestDoctorText(t *testing.T) {
	for name, l := range looks {
		text := Text([]Finding{
			{OK, "every setting is valid", ""},
			{Problem, "otlp: tried just now: 401 Unauthorized\x1b[31m", "fix the cause, then run 'hookspan test'"},
			{Problem, "no agent has hookspan's hooks", "hookspan install"},
			{Note, "no event has been stored yet", "use your agent once"},
			{OK, "store: 2 traces, 9 spans on this machine, imported ones included; the newest began 1 hour ago", ""},
		}, l) + "\n" + Text([]Finding{{OK, "every setting is valid", ""}}, l) + "\n" + Text([]Finding{{Note, "otlp is not tried yet", ""}}, l)
		keepsTo(t, l, text)
		golden.Check(t, "doctor-"+name+".txt", text)
	}
}

func TestStatusText(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	now := time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)
	machine := &Machine{Setup: &pipeline.Setup{
		Config: &config.Config{StateDir: t.TempDir(), Hooks: true, StoreMaxBytes: 2 << 30}, Now: func() time.Time { return now },
	}}
	hooks := func(states ...install.State) (out []install.Hook) {
		for i, s := range states {
			out = append(out, install.Hook{Event: string(rune('A' + i)), Path: "/hooks/Event" + string(rune('A'+i)), State: s, Faulty: s != install.StateInstalled})
		}
		return out
	}
	report := func(states ...install.State) *install.Report {
		return &install.Report{Sites: []install.Site{{Place: install.Place{Path: "/hooks", Readers: "read by all"}, Present: true, Hooks: hooks(states...)}}}
	}
	right := &Status{
		Recording: recordingOn, StateDir: "/state", EnvFile: "/settings.env", machine: machine,
		agents: []agentHooks{
			{agents.Agent{Agent: hook.Agent{Name: "Cline"}}, report(install.StateInstalled, install.StateInstalled)},
			{agents.Agent{Agent: hook.Agent{Name: "Other"}}, &install.Report{
				Sites:    []install.Site{{Place: install.Place{Path: "/hooks", Readers: "read by all"}, Present: true, Hooks: hooks(install.StateInstalled)}},
				Warnings: []string{"hooks are switched off in Other's settings (disableAllHooks in /home/dev/.other/settings.json): nothing is recorded"},
			}},
			{agents.Agent{Agent: hook.Agent{Name: "Absent"}}, &install.Report{Warnings: []string{"of no concern"}}},
		},
		Destinations: []Destination{{Name: "store", Stored: &store.Stats{Traces: 2, Spans: 9, Newest: now.Add(-time.Hour), Bytes: 300 << 20}}},
	}
	wrong := *right
	wrong.Recording = recordingPaused
	wrong.agents = []agentHooks{{agents.Agent{Agent: hook.Agent{Name: "Cline"}}, report(install.StateInstalled, install.StateOutdated)}}
	wrong.Destinations = append(right.Destinations, Destination{
		Name: "otlp", Target: "http://localhost:4318", Tried: now, Error: "otlp: 503 Service Unavailable", Failing: 1, NextTry: now, LastError: "503",
		Parked: []deliver.Parked{{At: now, Error: "400 Bad Request\x1b[2J"}},
	}, Destination{Name: "infinium", Fault: "no secret of agent x"})
	none := *right
	none.agents = nil
	limited := *right.Destinations[0].Stored
	limited.Limited = store.Removals{Traces: 50, Last: now.Add(-3 * 24 * time.Hour)}
	none.Destinations = []Destination{{Name: "store", Stored: &limited}}
	for name, l := range looks {
		text := right.Text(l) + "\n---\n" + wrong.Text(l) + "\n---\n" + none.Text(l)
		keepsTo(t, l, text)
		golden.Check(t, "status-"+name+".txt", text)
	}
}

// TestOldLogLinesAreLeftOut has lines whose fault has ended.
func TestOldLogLinesAreLeftOut(t *testing.T) {
	now := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	st := &Status{LastEvent: now.Add(-time.Minute)}
	for _, tt := range []struct {
		before time.Duration
		who    string
		text   string
		want   bool
	}{
		{time.Minute / 2, "cline-hook", "not stored: the disk is full", false},
		{30 * time.Minute, "cline-hook", "not stored: the disk is full", false},
		{2 * time.Hour, "cline-hook", "not stored: the disk is full", true},
		{2 * time.Hour, "hookspan", "housekeeping: permission denied", false},
		{time.Minute, "hookspan", "configuration: HOOKSPAN_CAPTURE", true},
		{time.Minute, "hookspan", "session abc: event at 12: decode", true},
		{time.Minute, "hookspan", "session abc: 2 damaged places, first at 3: torn", true},
		{time.Minute, "hookspan", "session abc: quarantine: permission denied", false},
	} {
		if got := st.covered(now, now.Add(-tt.before), tt.who, tt.text); got != tt.want {
			t.Errorf("%s: %q %v ago: left out %v, want %v", tt.who, tt.text, tt.before, got, tt.want)
		}
	}
}
