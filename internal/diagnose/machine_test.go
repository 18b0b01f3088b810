package diagnose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/programs"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookcheck"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

var testNow = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

// before is a time before testNow.
func before(d time.Duration) time.Time { return testNow.Add(-d) }

// missingProgram is the error for a hook program that is not beside hookspan.
type missingProgram struct{ error }

func (missingProgram) Hint() string { return "make build" }

// lab makes machines in a temporary home folder, and writes to out what doctor and status
// say about them.
type lab struct {
	*testing.T
	home string
	out  *strings.Builder
	// hooks are the states of the agents' hooks, by their words.
	hooks map[string]*install.Report
	*Machine
}

func newLab(t *testing.T, out *strings.Builder, environ ...string) *lab {
	t.Helper()
	l := &lab{T: t, home: t.TempDir(), out: out, hooks: make(map[string]*install.Report)}
	cfg, err := config.Load(config.Input{Environ: append(environ, "HOME="+l.home), Home: l.home, GOOS: "linux"})
	l.Machine = &Machine{
		Setup: &pipeline.Setup{
			Config: cfg, Home: l.home, GOOS: "linux", Version: "1.2.0", Now: func() time.Time { return testNow },
			Getenv: func(string) string { return "" },
		},
		ConfigErr: err, EnvFile: filepath.Join(l.home, "hookspan.env"), Dir: filepath.Join(l.home, "project"),
		Program: func(name string) (string, error) {
			return "", missingProgram{fmt.Errorf("%s is not beside hookspan", name)}
		},
		Own: OwnHooks{Setup: &userhooks.Setup{Home: l.home, GOOS: "linux", Faults: hookcheck.Check, Clean: func(s string) string { return strings.ReplaceAll(s, "secret", "[REDACTED]") }}},
	}
	for _, a := range agents.All() {
		if !slices.Contains([]string{"cline", "claude", "codex", "gemini"}, a.Word) {
			continue // the four cover every kind of hooks
		}
		a.Installer = labInstaller{l: l, word: a.Word}
		l.Setup.Agents = append(l.Setup.Agents, a)
	}
	return l
}

type labInstaller struct {
	install.Installer
	l    *lab
	word string
}

func (i labInstaller) Status(context.Context, install.System, install.Options) (*install.Report, error) {
	if r := i.l.hooks[i.word]; r != nil {
		return r, nil
	}
	return &install.Report{}, nil
}

// installed are hooks in one place, one in each state.
func installed(path string, states ...install.State) *install.Report {
	s := install.Site{Place: install.Place{Path: path, Readers: "read by all"}, Present: true}
	for i, state := range states {
		s.Hooks = append(s.Hooks, install.Hook{Event: string(rune('A' + i)), Path: path + "/" + string(rune('A'+i)), State: state, Faulty: state != install.StateInstalled})
	}
	return &install.Report{Sites: []install.Site{s}}
}

// status and exam are the machine's, without the parts that differ from run to run.
func (l *lab) status() *Status {
	l.Helper()
	st, err := l.Status(l.Context())
	if err != nil {
		fmt.Fprintf(l.out, "status: %v\n", err)
	}
	for i := range st.Values {
		st.Values[i].Doc = ""
	}
	for i := range st.Destinations {
		if d := &st.Destinations[i]; d.Stored != nil && d.Stored.Bytes > 0 {
			d.Stored.Bytes = 5 << 20
			d.Lines = st.destinationLines(d)
		}
	}
	return st
}

var belowHome = regexp.MustCompile(`HOME[/\\][^\s"',;:)]*`)

// write writes findings or a text, with HOME for the home folder.
func (l *lab) write(text string) {
	quoted, _ := json.Marshal(l.home)
	text = strings.ReplaceAll(text, strings.Trim(string(quoted), `"`), "HOME")
	text = strings.ReplaceAll(text, l.home, "HOME")
	l.out.WriteString(belowHome.ReplaceAllStringFunc(text, func(path string) string {
		return filepath.ToSlash(filepath.Clean(path))
	}))
}

// all writes what the doctor and the status say, as text and as JSON.
func (l *lab) all(name string) {
	l.Helper()
	l.write("==== " + name + "\n" + Text(l.Examine(l.Context()), Look{}))
	st := l.status()
	b, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		l.Fatal(err)
	}
	l.write("---- status\n" + st.Text(Look{}) + "---- JSON\n" + string(b) + "\n")
}

// findings writes what one check finds.
func (l *lab) findings(name string, st *Status, check func(*exam)) {
	l.Helper()
	if st.machine = l.Machine; st.Recording == "" {
		st.Recording = recordingOn
	}
	for _, a := range l.Setup.Agents {
		if r := l.hooks[a.Word]; r != nil {
			st.addHooks(agentHooks{a, r})
		}
	}
	e := &exam{Machine: l.Machine, st: st}
	check(e)
	l.write("==== " + name + "\n")
	for _, f := range e.found {
		l.write(fmt.Sprintf("%-8s %s\n", f.Level, f.Text))
		if f.Hint != "" {
			l.write("         hint: " + f.Hint + "\n")
		}
	}
}

func inUTC(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
}

// event stores an event of a session.
func (l *lab) event(sp *spool.Spool, host, session, name, payload string) {
	l.Helper()
	if err := sp.Append(&spool.Record{Host: host, Session: session, At: before(time.Hour), Event: name, Payload: []byte(payload), Raw: !json.Valid([]byte(payload))}); err != nil {
		l.Fatal(err)
	}
}

// file writes a file below the home folder.
func (l *lab) file(text string, path ...string) {
	l.Helper()
	name := filepath.Join(append([]string{l.home}, path...)...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		l.Fatal(err)
	}
}

// TestMachines diagnoses whole machines: one on which nothing was done yet, one that works,
// and some on which much does not.
func TestMachines(t *testing.T) {
	inUTC(t)
	self, err := os.Executable() // like a hook program, it ends well after --help
	if err != nil {
		t.Fatal(err)
	}
	runs := func(string) (string, error) { return self, nil }
	var out strings.Builder
	newLab(t, &out).all("nothing was done")

	workingMachine(t, &out, runs)
	brokenMachine(t, &out, runs)
	unreadableMachine(t, &out)
	golden.Check(t, "machines.txt", out.String())
}

// workingMachine is one that works, before and after recording is paused.
func workingMachine(t *testing.T, out *strings.Builder, runs func(string) (string, error)) {
	l := newLab(t, out, "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "HOOKSPAN_EXPORTERS=store,otlp,infinium", "INFINIUM_AGENT_ID=a1", "INFINIUM_AGENT_SECRET=key1")
	l.Program = runs
	l.hooks["cline"] = installed("/hooks", install.StateInstalled, install.StateInstalled)
	l.hooks["codex"] = installed("/codex.json", install.StateInstalled)
	state := l.Setup.Config.StateDir
	l.Copies = programs.Folder{Path: filepath.Join(l.home, "programs"), GOOS: "linux"}
	l.file(`{"version":"1.2.0"}`, "programs", "programs.json")
	sp, err := spool.Open(l.Setup.Config.SpoolDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.event(sp, hook.HostCline, "s1", "TaskStart", `{"clineVersion":"4.0.12","hookName":"TaskStart","taskId":"s1","taskStart":{"taskMetadata":{"taskId":"s1","ulid":"u","initialTask":"go on"}}}`)
	l.deliver(sp, hook.HostCline, "s1", "otlp", func(s *deliver.State) { s.Runs, s.Spans, s.Rejected = 2, 7, 1 })
	l.times(sp)
	st, err := store.Open(t.Context(), l.Setup.Config.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	st.Now = l.Setup.Now
	root := &tracepb.Span{TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), StartTimeUnixNano: otlp.UnixNano(before(time.Hour)), EndTimeUnixNano: otlp.UnixNano(before(time.Minute)), Attributes: []*commonpb.KeyValue{
		otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, hook.HostCline), otlp.String(otelmap.KeyEvidence, otelmap.EvidencePartial),
	}}
	if err := errors.Join(st.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{root}}}}}), st.Close(), sp.Close()); err != nil {
		t.Fatal(err)
	}
	l.file(fmt.Sprintf(`{"v":1,"answers":[{"target":"http://localhost:4318/v1/traces","tried":%q,"taken":%[1]q}]}`, before(time.Minute).Format(time.RFC3339)), strings.TrimPrefix(state, l.home), "answers-otlp.json")
	l.all("it works")
	l.file(`{"version":"1.1.0"}`, "programs", "programs.json")
	l.file("", strings.TrimPrefix(l.Setup.Config.PausePath(), l.home))
	l.all("it is paused, and its programs are older")
}

// brokenMachine is one on which much does not work.
func brokenMachine(t *testing.T, out *strings.Builder, runs func(string) (string, error)) {
	l := newLab(t, out, "HOOKSPAN_CAPTURE=some", "HOOKSPAN_EXPORTERS=store,otlp", "OTEL_TRACES_EXPORTER=none")
	l.ProjectOff = true
	l.Program = runs
	l.file("(", ".config", "hookspan", "redact.rules")
	l.hooks["cline"] = installed("/hooks", install.StateInstalled, install.StateOutdated, install.StateMissing, install.StateForeign)
	l.hooks["claude"] = installed("/settings.json", install.StateInstalled, install.StateEdited)
	l.hooks["claude"].Off = []string{"hooks are switched off in /settings.json"}
	l.Copies = programs.Folder{Path: filepath.Join(l.home, "programs"), GOOS: "linux"}
	l.file(`{}`, "programs", "programs.json")
	l.file("", ".gemini", "settings.json")
	sp, err := spool.Open(l.Setup.Config.SpoolDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.event(sp, hook.HostCline, "s1", "TaskStart", `no JSON`)
	l.event(sp, hook.HostCline, "s1", "", `no JSON either, and long enough to be cut where it would fill the line`)
	l.event(sp, hook.HostCline, "s2", "Other", `{"hookName":"Other"}`)
	l.event(sp, "stranger", "s3", "Start", `{}`)
	l.deliver(sp, hook.HostCline, "s1", "store", func(s *deliver.State) {
		s.Offset = 0
		s.Attempts, s.NextTry, s.LastError = 3, testNow.Add(time.Hour), "database is locked"
	})
	l.deliver(sp, hook.HostCline, "s2", "store", func(s *deliver.State) {
		s.Attempts, s.NextTry, s.LastError = 1, testNow.Add(time.Minute), "disk is full"
		s.Parked = []deliver.Parked{{At: before(time.Hour), Error: "400"}, {At: before(time.Minute), Elsewhere: true}}
	})
	l.deliver(sp, "stranger", "s3", "store", func(s *deliver.State) {
		s.Parked = []deliver.Parked{{At: before(time.Hour), Error: "later", NextTry: testNow.Add(2 * time.Hour)}, {At: before(time.Hour), Error: "sooner", NextTry: testNow.Add(30 * time.Second)}}
	})
	l.times(sp)
	if err := sp.Close(); err != nil {
		t.Fatal(err)
	}
	l.all("much does not work")
}

// unreadableMachine is one whose hook programs, records, store and log of events are damaged.
func unreadableMachine(t *testing.T, out *strings.Builder) {
	l := newLab(t, out)
	l.Copies = programs.Folder{Path: filepath.Join(l.home, "programs"), GOOS: "linux"}
	l.file("{", "programs", "programs.json")
	l.file(strings.Repeat("no database ", 100), strings.TrimPrefix(l.Setup.Config.StorePath(), l.home))
	sp, err := spool.Open(l.Setup.Config.SpoolDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.event(sp, hook.HostCline, "s1", "TaskStart", `{}`)
	l.deliver(sp, hook.HostCline, "s1", "store", func(*deliver.State) {})
	s, err := sp.Session(spool.SessionKey(hook.HostCline, "s1"))
	if err != nil {
		t.Fatal(err)
	}
	l.times(sp)
	l.all("the store and the record of the programs are damaged")
	if err := errors.Join(s.WriteFile("delivery-store.json", []byte("{")), s.Close(), sp.Close()); err != nil {
		t.Fatal(err)
	}
	l.write("==== the state of a delivery is damaged\n" + Text(l.Examine(t.Context()), Look{}))
	l.Program = func(name string) (string, error) { return "", errors.New(name + " cannot be looked for") }
	l.write("==== the programs cannot be looked for\n" + Text(l.Examine(t.Context()), Look{}))
}

// deliver writes the state of a session's delivery to a destination, at its end unless the
// change says otherwise.
func (l *lab) deliver(sp *spool.Spool, host, session, destination string, change func(*deliver.State)) {
	l.Helper()
	s, err := sp.Session(spool.SessionKey(host, session))
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	state, err := deliver.ReadState(s, destination)
	if err == nil {
		state.Offset, err = s.Size()
	}
	change(state)
	b, jsonErr := json.Marshal(state)
	if err := errors.Join(err, jsonErr, s.WriteFile("delivery-"+destination+".json", b)); err != nil {
		l.Fatal(err)
	}
}

// times sets the times of all files of the spool.
func (l *lab) times(sp *spool.Spool) {
	l.Helper()
	err := filepath.Walk(l.Setup.Config.SpoolDir(), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		return os.Chtimes(path, before(time.Hour), before(time.Hour))
	})
	if err != nil {
		l.Fatal(err)
	}
}

// TestTheLastRejectionIsTheLatest has one in a session whose key is the first, and one in
// the last session.
func TestTheLastRejectionIsTheLatest(t *testing.T) {
	l := newLab(t, &strings.Builder{}, "HOOKSPAN_EXPORTERS=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318")
	sp, err := spool.Open(l.Setup.Config.SpoolDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sessions := []string{"a", "b", "c"}
	slices.SortFunc(sessions, func(x, y string) int {
		return strings.Compare(fmt.Sprint(spool.SessionKey(hook.HostCline, x)), fmt.Sprint(spool.SessionKey(hook.HostCline, y)))
	})
	for i, session := range sessions {
		l.event(sp, hook.HostCline, session, "TaskStart", `{}`)
		l.deliver(sp, hook.HostCline, session, "otlp", func(s *deliver.State) {
			s.Parked = []deliver.Parked{{At: before(time.Duration(i+1) * time.Hour), Error: fmt.Sprintf("40%d", i)}}
			s.Attempts, s.NextTry, s.LastError = 1, testNow.Add(time.Duration(i+1)*time.Minute), fmt.Sprintf("50%d", i)
		})
	}
	if err := sp.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := l.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := &st.Destinations[0]
	if lines := strings.Join(d.Lines, "\n"); !strings.Contains(lines, "rejected 1 hour ago: 400") || !strings.Contains(lines, "failing: 500") || d.Level != Problem {
		t.Errorf("%s: %s", d.Level, lines)
	}
	if text := Text(l.Examine(t.Context()), Look{}); !strings.Contains(text, "3 traces rejected, kept here, the last 1 hour ago: 400") {
		t.Error(text)
	}
	d.Failing = 0
	if level := d.level(); level != Problem {
		t.Errorf("a destination that has rejected traces is %s", level)
	}
}

// TestDoctorCutsBetweenLetters has payloads whose cut is at each byte of a letter.
func TestDoctorCutsBetweenLetters(t *testing.T) {
	for n := range 4 {
		l := newLab(t, &strings.Builder{})
		sp, err := spool.Open(l.Setup.Config.SpoolDir(), spool.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l.event(sp, hook.HostCline, "s1", "TaskStart", strings.Repeat("x", n)+strings.Repeat("語", 40))
		if err := sp.Close(); err != nil {
			t.Fatal(err)
		}
		if text := Text(l.Examine(t.Context()), Look{}); !strings.Contains(text, "語") || strings.Contains(text, "\ufffd") {
			t.Error(text)
		}
	}
}
