// Package diagnose reports what is installed, recorded and delivered on this
// machine, and finds what keeps traces from appearing. Nothing is sent, and
// nothing but the state folder is written to, with one file that is removed
// again.
package diagnose

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/budget"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/install"
	installcline "github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/install/programs"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/spool"
)

// Machine is what is diagnosed: the hookspan of one user.
type Machine struct {
	Setup *pipeline.Setup
	// ConfigErr is the error of config.Load, EnvFile the env file.
	ConfigErr error
	EnvFile   string
	// Dir is the working directory, empty if there is none. ProjectOff reports
	// that its project switches recording off, by ProjectFile.
	Dir         string
	ProjectOff  bool
	ProjectFile string
	// Private is the folder of HOOKSPAN_DISABLED_PROJECTS that Dir is in, empty if it is in none.
	Private string
	// Program returns the path of a hook program. If the program is missing, the
	// error has a method Hint that says what to do.
	Program func(name string) (string, error)
	// Copies are the programs that hooks should start. If the path is empty, they
	// should start Program.
	Copies programs.Folder
	// Past says what an import would find; nil finds nothing.
	Past func(context.Context) []string
	// Ran are the programs that have run hooks.
	Ran []hook.Ran
	// Own are the user's hooks for Cline.
	Own OwnHooks
}

// OwnHooks are the user's Claude-format hooks for Cline.
type OwnHooks struct {
	*userhooks.Setup
	// Sources are the files that count in the working directory.
	Sources userhooks.Sources
	// Problems are those of the latest runs.
	Problems []userhooks.Noted
}

// Status is what is installed, recorded and delivered. Its JSON is stable.
type Status struct {
	Recording string `json:"recording"`
	// Agents are all supported agents. Hooks are the files of those that read hooks from
	// folders, Settings the settings files of the others that exist or were installed
	// into.
	Agents   []AgentStatus  `json:"agents"`
	Hooks    []install.Hook `json:"hooks"`
	Settings []SettingsFile `json:"settings,omitempty"`
	// HooksHealthy reports that an agent has hookspan's hooks, and that those
	// of each agent that has any are as they should be.
	HooksHealthy bool `json:"hooks_healthy"`
	// WithoutHooks are the words of the agents that are on this machine and have none of
	// hookspan's hooks.
	WithoutHooks []string `json:"without_hooks,omitempty"`
	// HookVersion is the version of hookspan that hooks run. It is empty where
	// none is installed, and for hooks that do not start the copies of its programs.
	HookVersion string    `json:"hook_version,omitempty"`
	Sessions    int       `json:"sessions"`
	SpoolBytes  int64     `json:"spool_bytes"`
	LastEvent   time.Time `json:"last_event,omitzero"`
	// Programs are those that have run hooks.
	Programs     []Program     `json:"programs,omitempty"`
	Destinations []Destination `json:"destinations"`
	// Budgets are what is used of them now.
	Budgets []budget.Figure `json:"budgets,omitempty"`
	// OwnHooks are the files with the user's hooks.
	OwnHooks []OwnHooksFile `json:"own_hooks,omitempty"`
	// OwnHooksRun says in which of Cline's programs those of them run that count.
	OwnHooksRun []string `json:"own_hooks_run,omitempty"`
	StateDir    string   `json:"state_dir"`
	EnvFile     string   `json:"env_file"`
	// MachineFile is the machine-wide settings file if it counts, Managed reports that
	// it holds. Values are the settings that are not defaults, with where each came from.
	MachineFile string           `json:"machine_file,omitempty"`
	Managed     bool             `json:"managed,omitempty"`
	Values      []config.Setting `json:"values,omitempty"`

	machine *Machine
	agents  []agentHooks
}

// AgentStatus is the state of one agent's hooks.
type AgentStatus struct {
	Agent string `json:"agent"`
	Name  string `json:"name"`
	// Hooks is none, installed, faulty or off.
	Hooks string `json:"hooks"`
	// Managed reports that hooks are in the settings of an organisation.
	Managed bool `json:"managed,omitempty"`
	// Off says why the agent runs no hooks.
	Off []string `json:"off,omitempty"`
}

// SettingsFile counts the hooks in one settings file.
type SettingsFile struct {
	Agent     string `json:"agent"`
	Scope     string `json:"scope"`
	Path      string `json:"path"`
	Installed int    `json:"installed"`
	Outdated  int    `json:"outdated"`
	Edited    int    `json:"edited"`
	Missing   int    `json:"missing"`
	// Error says why the file cannot be read as settings.
	Error string `json:"error,omitempty"`
}

// OwnHooksFile is one file with the user's hooks.
type OwnHooksFile struct {
	Path    string `json:"path"`
	Hooks   int    `json:"hooks"`
	Trusted bool   `json:"trusted"`
	// Error says why the file cannot be read.
	Error string `json:"error,omitempty"`
}

// Destination is the state of delivery to one destination, over all sessions in
// the spool.
type Destination struct {
	Name string `json:"name"`
	// Level and Lines are what status says of it.
	Level Level    `json:"level,omitempty"`
	Lines []string `json:"lines,omitempty"`
	// Off says why the destination gets nothing, Fault why it cannot be set up.
	Off   string `json:"off,omitempty"`
	Fault string `json:"fault,omitempty"`
	// Target is its address. Tried and Taken are the times of the last try there and
	// of the last successful one, Error is the error of the last try.
	Target string    `json:"target,omitempty"`
	Tried  time.Time `json:"tried,omitzero"`
	Taken  time.Time `json:"taken,omitzero"`
	Error  string    `json:"error,omitempty"`
	// Denials is how often in a row the sender was refused, for its credential, account or
	// address.
	Denials int `json:"denials,omitempty"`
	// Stored counts what is in the local store, imported traces included.
	Stored *store.Stats `json:"stored,omitempty"`
	// Owed counts the imported traces that wait for it in the local store.
	Owed int `json:"owed,omitempty"`
	// Series counts those of metrics, and Shrunk how often a trace said less than it had, of which
	// more stays counted.
	Series int   `json:"series,omitempty"`
	Shrunk int64 `json:"shrunk,omitempty"`
	// Runs and Spans were delivered, out of the sessions still in the spool.
	Runs     int64 `json:"tasks"`
	Spans    int64 `json:"spans"`
	Rejected int64 `json:"rejected"`
	// Behind counts the sessions with events that are not delivered, such as
	// tasks under way; Failing those whose last try failed.
	Behind    int              `json:"behind"`
	Failing   int              `json:"failing"`
	Parked    []deliver.Parked `json:"parked,omitempty"`
	NextTry   time.Time        `json:"next_try,omitzero"`
	LastError string           `json:"last_error,omitempty"`
	// clock says that this machine's clock is off, by the last answer.
	clock string
	// elsewhere is the address that was tried last, if it is not Target.
	elsewhere string
}

// agentHooks is the state of one agent's hooks.
type agentHooks struct {
	Agent  agents.Agent
	Report *install.Report
}

// switchedOff is Destination.Off of an otlp destination that the user does not want.
const switchedOff = "OTEL_TRACES_EXPORTER is none"

// Status.Recording when events are stored, and during a pause.
const recordingOn, recordingPaused = "on", "paused"

// Paused reports that the user paused recording.
func Paused(cfg *config.Config) bool {
	_, err := os.Lstat(cfg.PausePath())
	return err == nil
}

// System returns what installers must know of the machine.
func (m *Machine) System() install.System {
	return install.System{GOOS: m.Setup.GOOS, Home: m.Setup.Home, Getenv: m.Setup.Getenv, StateDir: m.Setup.Config.StateDir}
}

// HookStatus reports the state of an agent's hooks.
func (m *Machine) HookStatus(ctx context.Context, a agents.Agent) (*install.Report, error) {
	return m.hookStatus(ctx, a, false)
}

// hookStatus is HookStatus, with ask also by what the agent's program says.
func (m *Machine) hookStatus(ctx context.Context, a agents.Agent, ask bool) (*install.Report, error) {
	binary, err := m.Program(a.Program)
	if err != nil && hint(err) == "" {
		return nil, err
	}
	if err == nil && m.Copies.Path != "" {
		binary = m.Copies.Program(a.Program)
	}
	r, err := a.Installer.Status(ctx, m.System(), install.Options{Binary: binary, Dir: m.Dir, Ask: ask})
	if err == nil {
		start(ctx, r)
	}
	return r, err
}

// start starts each program that installed hooks start. A hook whose program does not start
// is outdated. Hooks in other states may name any program.
func start(ctx context.Context, r *install.Report) {
	failed := make(map[string]error)
	for i := range r.Sites {
		for j := range r.Sites[i].Hooks {
			h := &r.Sites[i].Hooks[j]
			if h.State != install.StateInstalled || !filepath.IsAbs(h.Program) {
				continue
			}
			err, known := failed[h.Program]
			if !known {
				err = install.Start(ctx, h.Program)
				failed[h.Program] = err
			}
			if err != nil {
				h.State, h.Reason, h.Faulty = install.StateOutdated, err.Error(), true
			}
		}
	}
}

// hint returns what an error says to do, or nothing.
func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// Status gathers the status.
func (m *Machine) Status(ctx context.Context) (*Status, error) { return m.status(ctx, false) }

func (m *Machine) status(ctx context.Context, ask bool) (*Status, error) {
	st := &Status{StateDir: m.Setup.Config.StateDir, EnvFile: m.EnvFile, Recording: recordingOn, machine: m}
	st.MachineFile, st.Managed = m.Setup.Config.MachineFile, m.Setup.Config.Managed
	st.Values = slices.DeleteFunc(m.Setup.Config.Settings(), func(s config.Setting) bool { return s.Source == config.Default })
	st.HookVersion, _ = m.Copies.Version() // The doctor reports a damaged record.
	switch {
	case m.Setup.Config.Off():
		st.Recording = "off (HOOKSPAN_DISABLED or OTEL_SDK_DISABLED)"
	case Paused(m.Setup.Config):
		st.Recording = recordingPaused
	case m.Private != "":
		st.Recording = "off in this folder (HOOKSPAN_DISABLED_PROJECTS has " + m.Private + ")"
	case m.ProjectOff:
		st.Recording = "off in this project (HOOKSPAN_DISABLED in " + cmp.Or(m.ProjectFile, filepath.Join(m.Dir, ".hookspan.env")) + ")"
	}
	files := m.Setup.Files()
	for _, a := range m.Setup.Agents {
		r, err := m.hookStatus(ctx, a, ask)
		if err != nil {
			return nil, err
		}
		st.addHooks(agentHooks{a, r})
		if !r.Present() {
			if where, _ := a.FoundIn(ctx, files); where != "" {
				st.WithoutHooks = append(st.WithoutHooks, a.Word)
			}
		}
	}
	st.addPrograms(ctx, m)
	present := st.installed()
	st.HooksHealthy = len(present) > 0 && !slices.ContainsFunc(present, func(h agentHooks) bool { return !h.Report.Healthy() })
	for _, s := range m.Own.Sources {
		o := OwnHooksFile{Path: s.Path, Trusted: s.Trusted, Error: errorText(s.Err)}
		if s.File != nil {
			o.Hooks = len(s.File.Handlers)
		}
		st.OwnHooks = append(st.OwnHooks, o)
	}
	for _, h := range st.agents {
		if h.Agent.Host == hook.HostCline {
			st.OwnHooksRun = installcline.HostsOf(h.Report, m.Dir).Summary(hookfile.EventsOf(m.Own.Sources.Handlers()))
		}
	}
	for _, name := range m.Setup.Destinations() {
		st.Destinations = append(st.Destinations, m.destination(ctx, name))
	}
	if m.Setup.Config.MetricsOn() {
		st.Destinations = append(st.Destinations, m.destination(ctx, config.DestinationMetrics))
	}
	if last, _ := m.Setup.LastAnswer(config.DestinationBudget); last != nil {
		st.Destinations = append(st.Destinations, m.destination(ctx, config.DestinationBudget))
	}
	st.Budgets, _ = m.Setup.Budgets(ctx) // The doctor says why a store cannot be read.
	m.inStore(ctx, func(s *store.Store) error { return st.addInStore(ctx, s, m.Setup.MetricsPlace()) })
	for _, name := range []string{config.ExporterOTLP, config.ExporterInfinium} {
		if p := m.Setup.Config.Refused(name); p != nil {
			st.Destinations = append(st.Destinations, Destination{Name: name, Off: p.Variable + ": " + p.Reason})
		}
	}
	if m.Setup.Config.OTLPOff() {
		st.Destinations = append(st.Destinations, Destination{Name: config.ExporterOTLP, Off: switchedOff})
	}
	err := m.sessions(func(sp *spool.Spool, k spool.Key) error { return st.addSession(sp, k) })
	for i := range st.Destinations {
		d := &st.Destinations[i]
		slices.SortStableFunc(d.Parked, func(x, y deliver.Parked) int { return x.At.Compare(y.At) })
		d.Level, d.Lines = d.level(), st.destinationLines(d)
	}
	return st, err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (st *Status) addHooks(h agentHooks) {
	st.agents = append(st.agents, h)
	about := AgentStatus{Agent: h.Agent.Word, Name: h.Agent.Name, Hooks: "faulty"}
	switch {
	case !h.Report.Present():
		about.Hooks = "none"
	case len(h.Report.Off) > 0:
		about.Hooks, about.Off = "off", h.Report.Off
	case h.Report.Healthy():
		about.Hooks = "installed"
	}
	about.Managed = slices.ContainsFunc(h.Report.Sites, func(s install.Site) bool { return s.Kind == install.ScopeManaged })
	st.Agents = append(st.Agents, about)
	for _, s := range h.Report.Sites {
		if h.Agent.Settings {
			st.Settings = append(st.Settings, SettingsFile{
				Agent: h.Agent.Word, Scope: s.Kind, Path: s.Path, Installed: s.Count(install.StateInstalled), Outdated: s.Count(install.StateOutdated),
				Edited: s.Count(install.StateEdited), Missing: s.Count(install.StateMissing), Error: errorText(s.Err),
			})
			continue
		}
		for _, x := range s.Hooks {
			if x.State != install.StateMissing || h.Report.Present() {
				st.Hooks = append(st.Hooks, x)
			}
		}
	}
}

// installed returns the agents that have hookspan's hooks.
func (st *Status) installed() []agentHooks {
	return slices.DeleteFunc(slices.Clone(st.agents), func(h agentHooks) bool { return !h.Report.Present() })
}

// destination describes a destination, without the sessions in the spool.
func (m *Machine) destination(ctx context.Context, name string) Destination {
	d := Destination{Name: name, Target: m.Setup.Target(name)}
	if name == config.ExporterStore {
		d.Stored = m.storeStats(ctx)
		return d
	}
	if err := m.Setup.Fault(ctx, name); err != nil && name != config.DestinationBudget {
		d.Fault = termtext.Message(err)
		return d
	}
	last, other := m.Setup.LastAnswer(name)
	d.elsewhere = other
	if last != nil {
		d.Tried, d.Taken, d.Error, d.Denials = last.Tried, last.Taken, last.Error, last.Denials
		d.clock = pipeline.ClockText(last.Clock)
	}
	return d
}

// storeStats counts what is in the local store. It returns nil if the store
// cannot be read; doctor says why.
func (m *Machine) storeStats(ctx context.Context) *store.Stats {
	if missing(m.Setup.Config.StorePath()) {
		return &store.Stats{}
	}
	var got store.Stats
	if !m.inStore(ctx, func(s *store.Store) (err error) { got, err = s.Stats(ctx); return err }) {
		return nil
	}
	return &got
}

// inStore calls f with the local store, and reports whether it could be opened and f did
// not fail.
func (m *Machine) inStore(ctx context.Context, f func(*store.Store) error) bool {
	if missing(m.Setup.Config.StorePath()) {
		return false
	}
	s, done, err := m.Setup.LocalStore(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = done() }()
	return f(s) == nil
}

// addInStore counts what imports have left over, and what metrics have counted, which are reported to a place.
func (st *Status) addInStore(ctx context.Context, s *store.Store, place string) error {
	owed, err := s.Owed(ctx, "")
	for i := range st.Destinations {
		if d := &st.Destinations[i]; d.Name == config.DestinationMetrics && err == nil {
			var counted store.Sums
			counted, err = s.Sums(ctx, place)
			d.Series, d.Shrunk = len(counted.Points), counted.Shrunk
			if d.Error == "" && counted.Reported.After(d.Taken) {
				d.Tried, d.Taken = counted.Reported, counted.Reported
			}
		}
	}
	for _, o := range owed {
		for i := range st.Destinations {
			if st.Destinations[i].Name == o.Destination {
				st.Destinations[i].Owed++
			}
		}
	}
	return err
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
