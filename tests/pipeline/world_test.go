// Package pipeline_test plays recorded sessions through the real programs: each
// payload to a cline-hook process of its own, from there through the delivery
// that the hook itself starts, to receivers that live in the test.
package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/infinium/infiniumtest"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlptest"
	"github.com/hookspan/hookspan/internal/store"
)

const (
	payloads = "../../hook/cline/testdata"
	storage  = "../../internal/llmusage/testdata"
	neutral  = `{"cancel":false,"contextModification":" ","errorMessage":""}` + "\n"
)

// programs is the folder of the binaries, built once for all tests.
var programs string

func TestMain(m *testing.M) {
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
	if programs, err = os.MkdirTemp("", "hookspan-pipeline-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", programs+string(os.PathSeparator), //nolint:gosec // The programs are ours.
		"github.com/hookspan/hookspan/cmd/hookspan", "github.com/hookspan/hookspan/cmd/cline-hook", "github.com/hookspan/hookspan/cmd/claude-hook")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// world is a user's machine: a home folder with settings in it, and every
// destination there is.
type world struct {
	t        *testing.T
	home     string
	work     string
	otlp     *otlptest.Server
	infinium *infiniumtest.Server
	environ  []string
}

// newWorld makes a machine with all four destinations set up by the env file.
// Idle sessions are left alone, so that a recording of another day is not taken
// for a task that nobody goes on with.
func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	if !canAwait {
		t.Skip("the deliveries that hooks start in the background can be waited for on Linux alone")
	}
	home := t.TempDir()
	w := &world{t: t, home: home, work: filepath.Join(home, "work"), otlp: otlptest.New(t), infinium: infiniumtest.New(t)}
	w.environ = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	w.write(filepath.Join(".config", "hookspan", "hookspan.env"), strings.Join(append([]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + w.otlp.URL(),
		"INFINIUM_BASE_URL=" + w.infinium.URL(),
		"INFINIUM_AGENT_ID=" + infiniumtest.AgentID,
		"INFINIUM_AGENT_SECRET=" + infiniumtest.AgentSecret,
		"HOOKSPAN_FILE_PATH=" + w.file(),
		"HOOKSPAN_IDLE_TIMEOUT=8760h",
	}, settings...), "\n")+"\n")
	if err := os.MkdirAll(w.work, 0o700); err != nil {
		t.Fatal(err)
	}
	// After this the home folder is removed; nobody may still write to it.
	t.Cleanup(func() {
		if err := endDeliveries(home); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) file() string  { return filepath.Join(w.home, "traces.jsonl") }
func (w *world) state() string { return filepath.Join(w.home, ".local", "state", "hookspan") }

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) program(name string, args ...string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(programs, name), args...) //nolint:gosec // The programs are ours.
	cmd.Env, cmd.Dir = w.environ, w.work
	return cmd
}

// hook gives one payload to a hook process, as Cline does, and holds it to its
// promises: a neutral answer, silence on standard error, exit code 0.
func (w *world) hook(event string, payload []byte, env ...string) {
	w.t.Helper()
	if err := w.tryHook(event, payload, env...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tryHook(event string, payload []byte, env ...string) error {
	cmd := w.program("cline-hook", event)
	cmd.Env = append(slices.Clone(w.environ), env...)
	cmd.Stdin = bytes.NewReader(payload)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || out.String() != neutral || errs.Len() > 0 {
		return fmt.Errorf("cline-hook %s: %w, answered %q, said %q", event, err, out.String(), errs.String())
	}
	return nil
}

// hookspan runs a command and returns what it printed and its exit code.
func (w *world) hookspan(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := w.program("hookspan", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("hookspan %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// flush delivers by hand and returns the results by destination.
func (w *world) flush() map[string]deliver.Result {
	w.t.Helper()
	out, errs, _ := w.hookspan("flush", "--wait", "--json")
	var list []deliver.Result
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		w.t.Fatalf("hookspan flush: %v, said %q and %q", err, out, errs)
	}
	results := map[string]deliver.Result{}
	for _, r := range list {
		results[r.Destination] = r
	}
	return results
}

// settle waits until the deliveries that the hooks have started are over.
func (w *world) settle() {
	w.t.Helper()
	if err := awaitDeliveries(w.home); err != nil {
		w.t.Fatal(err)
	}
}

// stored are the spans of the local store, as any other destination would get
// them.
func (w *world) stored() []otlptest.Span {
	w.t.Helper()
	ctx := w.t.Context()
	s, err := store.Open(ctx, filepath.Join(w.state(), "traces.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	sums, err := s.List(ctx, store.Filter{Limit: -1})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []otlptest.Span
	for _, sum := range sums {
		tr, err := s.Trace(ctx, sum.TraceID)
		if err != nil {
			w.t.Fatal(err)
		}
		doc, err := deliver.EncodeJSON(ctx, tr.Spans.Snapshots())
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, decode(w.t, doc)...)
	}
	return all
}

// filed are the spans of the file destination, repeated ones included.
func (w *world) filed() []otlptest.Span {
	w.t.Helper()
	b, err := os.ReadFile(w.file())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return decode(w.t, b)
}

// decode reads OTLP/JSON documents that follow one another.
func decode(t *testing.T, docs []byte) []otlptest.Span {
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

// event is a recorded payload.
type event struct {
	name    string
	payload []byte
}

// recording reads the payloads of a recorded session in the order of arrival.
func recording(t *testing.T, dir string) []event {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(payloads, dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads of %s: %v", dir, err)
	}
	var out []event
	for _, f := range files {
		b, err := os.ReadFile(f) //nolint:gosec // The test's own data.
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		out = append(out, event{name, b})
	}
	return out
}

func (w *world) play(events []event) {
	w.t.Helper()
	for _, e := range events {
		w.hook(e.name, e.payload)
	}
}
