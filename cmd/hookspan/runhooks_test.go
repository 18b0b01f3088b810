//go:build !windows

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/record/answer"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// machine is a home folder in which Cline works and a hook of the user's tells
// what it was given.
type machine struct {
	t       *testing.T
	home    string
	environ []string
	now     time.Time
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, home: t.TempDir()}
	m.environ = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "TOLD=" + filepath.Join(m.home, "told"), "TRACEPARENT=of-another"}
	hooks := make(map[string]any)
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "Notification", "Stop", "SubagentStart", "SubagentStop", "StopFailure", "SessionEnd"} {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": `cat >/dev/null; printf '%s\n' "$TRACEPARENT" >>"$TOLD"`,
		}}}}
	}
	text, err := json.Marshal(map[string]any{"hooks": hooks})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(m.home, ".cline"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.home, ".cline", "hooks.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

// hookspan runs the program on this machine.
func (m *machine) hookspan(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	a := newApp(args, stdin, &stdout, &stderr, m.environ)
	a.home, a.goos = m.home, "linux"
	a.now = func() time.Time { return m.now }
	a.sleep = func(context.Context, time.Duration) error { return nil }
	if code := run(ctx, a); code != 0 {
		return nil, fmt.Errorf("%s: exit code %d, %s", args, code, &stderr)
	}
	return stdout.Bytes(), nil
}

// play has Cline report an event and returns what the user's hooks were told.
func (m *machine) play(event string, payload []byte) []string {
	m.t.Helper()
	m.now = m.now.Add(time.Second)
	if events, err := cline.Decode(cline.Raw{Payload: payload, Event: event}); err == nil && !events[0].Time.IsZero() {
		m.now = events[0].Time.Add(50 * time.Millisecond)
	}
	var said bytes.Buffer
	hooks := answer.Hooks{
		File: filepath.Join(".cline", "hooks.json"),
		Run: func(ctx context.Context, stdin io.Reader, _ string, args ...string) ([]byte, error) {
			return m.hookspan(ctx, stdin, args...)
		},
	}
	p := &record.Process{
		Agent: record.Agent{Facts: hook.AgentOf(hook.HostCline), Peek: cline.Peek, Reply: cline.EncodeReply, Answers: hooks.Answers},
		Event: event, Stdin: bytes.NewReader(payload), Stdout: &said, Environ: m.environ, Home: m.home, GOOS: "linux", Dir: m.home,
		Now:   func() time.Time { return m.now },
		Spawn: func(...string) error { return nil },
	}
	p.Run()
	if !strings.HasPrefix(said.String(), `{"cancel":false`) {
		m.t.Fatalf("%s: answered %q", event, &said)
	}
	told := filepath.Join(m.home, "told")
	text, err := os.ReadFile(told) //nolint:gosec // The test's own file.
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	_ = os.Remove(told)
	return strings.Fields(string(text))
}

// delivered is, for each span there is in the end, its name and how many runs of
// the user's hooks ran on it.
func (m *machine) delivered() (names map[string]string, hooks map[string]int) {
	m.t.Helper()
	m.now = m.now.Add(time.Hour)
	if _, err := m.hookspan(m.t.Context(), strings.NewReader(""), "flush", "--wait"); err != nil {
		m.t.Fatal(err)
	}
	cfg, err := config.Load(config.Input{Environ: m.environ, Home: m.home, GOOS: "linux", ReadFile: record.ReadSettings})
	if err != nil {
		m.t.Fatal(err)
	}
	st, err := store.Open(m.t.Context(), cfg.StorePath())
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	traces, err := st.List(m.t.Context(), store.Filter{})
	if err != nil {
		m.t.Fatal(err)
	}
	names, hooks = make(map[string]string), make(map[string]int)
	for _, sum := range traces {
		tr, err := st.Trace(m.t.Context(), sum.TraceID)
		if err != nil {
			m.t.Fatal(err)
		}
		for s := range otlp.Spans(tr.ResourceSpans) {
			id := "00-" + otlp.TraceID(s) + "-" + otlp.SpanID(s) + "-01"
			names[id] = s.Name
			for _, e := range s.Events {
				if e.Name == otelmap.EventHook {
					hooks[id]++
				}
			}
		}
	}
	return names, hooks
}

// TestHooksAreToldTheSpanOfTheirEvent plays recorded sessions the way Cline
// reports them. What each hook finds in TRACEPARENT is the span that is delivered
// later, and that span has its run.
func TestHooksAreToldTheSpanOfTheirEvent(t *testing.T) {
	for _, session := range []string{"../../../internal/demo/session", "next-session", "sdk-session", "e2e-cli3/tools", "e2e-cli3/subagent"} {
		for _, outer := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
			t.Run(session+outer, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t)
				if outer != "" {
					m.environ = append(m.environ, "HOOKSPAN_TRACEPARENT="+outer)
				}
				files, err := filepath.Glob(filepath.Join("..", "..", "hook", "cline", "testdata", filepath.FromSlash(session), "*.json"))
				if err != nil || len(files) == 0 {
					t.Fatalf("no payloads: %v", err)
				}
				type told struct{ event, span, parent string }
				var all []told
				want := make(map[string]int)
				for _, f := range files {
					payload, err := os.ReadFile(f) //nolint:gosec // The test's own data.
					if err != nil {
						t.Fatal(err)
					}
					_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
					events, err := cline.Decode(cline.Raw{Payload: payload, Event: event})
					if err != nil {
						t.Fatal(err)
					}
					span := "invoke_agent cline"
					if tool := events[0].Tool; tool != nil {
						span = "execute_tool " + tool.Name
					}
					for _, parent := range m.play(event, payload) {
						all = append(all, told{filepath.Base(f), span, parent})
						want[parent]++
					}
				}
				names, got := m.delivered()
				for _, h := range all {
					if names[h.parent] != h.span {
						t.Errorf("%s: TRACEPARENT %s is the span %q, want %q", h.event, h.parent, names[h.parent], h.span)
					}
				}
				if len(all) < len(files)/2 {
					t.Errorf("%d hooks ran for %d events", len(all), len(files))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("runs of hooks by span (-told +delivered):\n%s", diff)
				}
			})
		}
	}
}
