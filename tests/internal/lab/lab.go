// Package lab is a user's machine in a temporary folder, on which tests play
// Hook payloads through the real programs: each payload to a hook process of its
// own, from there through the delivery that the hook itself starts, to receivers
// that live in the test.
//
// It promises that nothing a test starts outlives the test, and that no method
// waits for time to pass. It does not keep programs from the network: what they
// reach is what their settings name, loopback alone.
package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/testkit/spooltest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/built"
)

// Neutral is what cline-hook answers where it has nothing to say.
const Neutral = `{"cancel":false,"contextModification":" ","errorMessage":""}` + "\n"

// Programs is the folder of the binaries, built once for all tests of a package
// by Main.
var Programs string

// Main builds the programs, runs the tests and exits: it is what the TestMain of
// a package does.
func Main(m *testing.M) {
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func build(m *testing.M) (code int, err error) {
	if err := adopt(); err != nil {
		return 0, fmt.Errorf("take the place of init: %w", err)
	}
	if Programs, err = os.MkdirTemp("", "hookspan-lab-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(Programs)) }()
	// Some are started as another user.
	if err := os.Chmod(Programs, 0o755); err != nil { //nolint:gosec // As said.
		return 0, err
	}
	if err := built.Put(context.Background(), Programs, "cmd/hookspan", "cmd/cline-hook", "cmd/claude-hook", "cmd/hook-runner",
		"internal/testkit/launch"); err != nil {
		return 0, err
	}
	// Rows that run beside others wait most of the time, so more of them than
	// there are cores may.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// World is a user's machine: a home folder with settings in it, and every
// destination there is.
type World struct {
	T testing.TB
	// Home is the home folder, Work the folder below it that hooks run in.
	Home, Work string
	OTLP       *otlptest.Server
	Infinium   *infiniumtest.Server
	// Environ is the environment of every program.
	Environ []string
}

// New makes a machine with all four destinations set up by the env file.
// Idle sessions are left alone, so that a recording of another day is not taken
// for a task that was left.
func New(t testing.TB, settings ...string) *World {
	t.Helper()
	if !CanAwait {
		skip.Missing(t, "the deliveries that hooks start in the background can be waited for on Linux alone")
	}
	home := t.TempDir()
	w := &World{T: t, Home: home, Work: filepath.Join(home, "work"), OTLP: otlptest.New(t), Infinium: infiniumtest.New(t)}
	w.Environ = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	w.Write(filepath.Join(".config", "hookspan", "hookspan.env"), strings.Join(append([]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + w.OTLP.URL(),
		"INFINIUM_BASE_URL=" + w.Infinium.URL(),
		"INFINIUM_AGENT_ID=" + infiniumtest.AgentID,
		"INFINIUM_AGENT_SECRET=" + infiniumtest.AgentSecret,
		"HOOKSPAN_FILE_PATH=" + w.File(),
		"HOOKSPAN_IDLE_TIMEOUT=8760h",
	}, settings...), "\n")+"\n")
	if err := os.MkdirAll(w.Work, 0o700); err != nil {
		t.Fatal(err)
	}
	// After this the home folder is removed; no process may still write to it.
	t.Cleanup(func() {
		if err := EndDeliveries(home); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *World) File() string  { return filepath.Join(w.Home, "traces.jsonl") }
func (w *World) State() string { return filepath.Join(w.Home, ".local", "state", "hookspan") }

func (w *World) Write(name, text string) {
	w.T.Helper()
	path := filepath.Join(w.Home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.T.Fatal(err)
	}
}

// Set adds settings to the env file; the last of one name counts.
func (w *World) Set(settings ...string) {
	w.T.Helper()
	name := filepath.Join(".config", "hookspan", "hookspan.env")
	text, err := os.ReadFile(filepath.Join(w.Home, name))
	if err != nil {
		w.T.Fatal(err)
	}
	w.Write(name, string(text)+strings.Join(settings, "\n")+"\n")
}

func (w *World) Program(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.T.Context(), built.Program(Programs, name), args...) //nolint:gosec // The programs are ours.
	cmd.Env, cmd.Dir = w.Environ, w.Work
	return cmd
}

// Hook gives one payload to a hook process, as Cline does, and holds it to its
// promises: a neutral answer, silence on standard error, exit code 0.
func (w *World) Hook(event string, payload []byte, env ...string) {
	w.T.Helper()
	if err := w.TryHook(event, payload, env...); err != nil {
		w.T.Fatal(err)
	}
}

func (w *World) TryHook(event string, payload []byte, env ...string) error {
	cmd := w.Program("cline-hook", event)
	cmd.Env = append(slices.Clone(w.Environ), env...)
	cmd.Stdin = bytes.NewReader(payload)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || out.String() != Neutral || errs.Len() > 0 {
		return fmt.Errorf("cline-hook %s: %w, answered %q, said %q", event, err, out.String(), errs.String())
	}
	return nil
}

// Hookspan runs a command and returns what it printed and its exit code.
func (w *World) Hookspan(args ...string) (stdout, stderr string, code int) {
	w.T.Helper()
	cmd := w.Program("hookspan", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.T.Fatalf("hookspan %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Flush delivers by hand and returns the results by destination.
func (w *World) Flush() map[string]deliver.Result {
	w.T.Helper()
	out, errs, _ := w.Hookspan("flush", "--wait", "--json")
	var list []deliver.Result
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		w.T.Fatalf("hookspan flush: %v, said %q and %q", err, out, errs)
	}
	results := map[string]deliver.Result{}
	for _, r := range list {
		results[r.Destination] = r
	}
	return results
}

// HoldSweeps keeps hooks from starting a look at all sessions for a minute.
func (w *World) HoldSweeps() {
	w.T.Helper()
	dir := filepath.Join(w.State(), "spool")
	stamp := filepath.Join(dir, "sweep.stamp")
	now := time.Now()
	err := os.Chtimes(stamp, now, now)
	if errors.Is(err, os.ErrNotExist) {
		err = errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(stamp, nil, 0o600))
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// Settle waits until the deliveries that the hooks have started are over.
func (w *World) Settle() {
	w.T.Helper()
	if err := AwaitDeliveries(w.Home); err != nil {
		w.T.Fatal(err)
	}
}

// Records are what the hooks have stored of all sessions. Damage in a log ends
// the test.
func (w *World) Records(t testing.TB) []*spool.Record {
	t.Helper()
	return spooltest.Records(t, filepath.Join(w.State(), "spool"))
}

// Stored are the spans of the local store, as any other destination would get
// them.
func (w *World) Stored() []otlptest.Span {
	w.T.Helper()
	ctx := w.T.Context()
	s, err := store.Open(ctx, filepath.Join(w.State(), "traces.db"))
	if err != nil {
		w.T.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	sums, err := s.List(ctx, store.Filter{Limit: -1})
	if err != nil {
		w.T.Fatal(err)
	}
	var all []otlptest.Span
	for _, sum := range sums {
		tr, err := s.Trace(ctx, sum.TraceID)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, span := range otlptest.Flatten(&coltracepb.ExportTraceServiceRequest{ResourceSpans: tr.ResourceSpans}) {
			all = append(all, *span)
		}
	}
	return all
}

// Filed are the spans of the file destination, repeated ones included.
func (w *World) Filed() []otlptest.Span {
	w.T.Helper()
	b, err := os.ReadFile(w.File())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return Decode(w.T, b)
}

// Decode reads OTLP/JSON documents that follow one another.
func Decode(t testing.TB, docs []byte) []otlptest.Span {
	t.Helper()
	var all []otlptest.Span
	for dec := json.NewDecoder(bytes.NewReader(docs)); dec.More(); {
		var doc json.RawMessage
		if err := dec.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		req, err := otlptest.DecodeJSON(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range otlptest.Flatten(req) {
			all = append(all, *s)
		}
	}
	return all
}

// Event is a recorded payload and the hook it came to.
type Event struct {
	Name    string
	Payload []byte
}

// Recording reads the payloads of a recorded session in the order of arrival:
// the files NUMBER-EVENT.json of a folder.
func Recording(t testing.TB, folders ...string) []Event {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Join(folders...), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads of %s: %v", filepath.Join(folders...), err)
	}
	var out []Event
	for _, f := range files {
		b, err := os.ReadFile(f) //nolint:gosec // The test's own data.
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		out = append(out, Event{name, b})
	}
	return out
}

func (w *World) Play(events []Event) {
	w.T.Helper()
	for _, e := range events {
		w.Hook(e.Name, e.Payload)
	}
}
