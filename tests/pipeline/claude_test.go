package pipeline_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/tests/internal/lab"
)

const claudePayloads = "../../hook/claude/testdata"

// claudeSession is a recorded session of Claude Code: its payloads and its
// transcripts, by the names of the golden files.
type claudeSession struct{ name, payloads, files string }

var claudeSessions = []claudeSession{
	{"claude-session", "session.ndjson", "claude/2.1.240"},
	{"claude-tools-resume", "e2e/tools-resume", "claude/tools-resume"},
	{"claude-subagent", "e2e/subagent", "claude/subagent"},
	{"claude-background-subagent", "e2e/background-subagent", "claude/background-subagent"},
	{"claude-interrupt", "e2e/interrupt", "claude/interrupt"},
	{"claude-api-error", "e2e/api-error", "claude/api-error"},
}

// step is a hook call, or a row that Claude Code adds to a transcript.
type step struct {
	at      time.Time
	event   string
	payload []byte
	file    string // below the home folder
	row     []byte
}

// steps are what Claude Code did in the session, in its order.
func (s claudeSession) steps(t testing.TB) []step {
	t.Helper()
	out := s.rows(t)
	if strings.HasSuffix(s.payloads, ".ndjson") {
		for _, line := range lines(t, filepath.Join(claudePayloads, s.payloads)) {
			var e struct {
				At      time.Time       `json:"ts"`
				Payload json.RawMessage `json:"payload"`
			}
			decodeJSON(t, line, &e)
			out = append(out, step{at: e.At, event: eventName(t, e.Payload), payload: e.Payload})
		}
	} else {
		files, err := filepath.Glob(filepath.Join(claudePayloads, s.payloads, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no payloads of %s: %v", s.name, err)
		}
		for i, arrival := range lines(t, filepath.Join(claudePayloads, s.payloads, "arrival.txt")) {
			payload, err := os.ReadFile(files[i])
			if err != nil {
				t.Fatal(err)
			}
			ns, _, _ := strings.Cut(string(arrival), " ")
			n, err := strconv.ParseInt(ns, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, step{at: time.Unix(0, n), event: eventName(t, payload), payload: payload})
		}
	}
	slices.SortStableFunc(out, func(x, y step) int { return x.at.Compare(y.at) })
	return out
}

// rows are the transcripts' rows. One without a time follows the one before it.
func (s claudeSession) rows(t testing.TB) []step {
	t.Helper()
	var out []step
	root := filepath.Join(storage, s.files)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" || filepath.Base(path) == "model-requests.jsonl" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		var at time.Time
		for _, line := range lines(t, path) {
			var row struct {
				At time.Time `json:"timestamp"`
			}
			decodeJSON(t, line, &row)
			if !row.At.IsZero() {
				at = row.At
			}
			out = append(out, step{at: at, file: filepath.Join(".claude", name), row: line})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// timestamp is a row's moment, which is when it is written.
var timestamp = regexp.MustCompile(`"timestamp": ?"[^"]*"`)

// playClaude does what Claude Code did, now: what took minutes takes a moment.
// Each event goes to so many hooks at once; alter, if not nil, is what becomes
// of payloads and rows.
func (w *world) playClaude(s claudeSession, copies int, alter func([]byte) []byte) {
	w.T.Helper()
	if alter == nil {
		alter = func(b []byte) []byte { return b }
	}
	w.metaFiles(s)
	for _, st := range s.steps(w.T) {
		if st.row != nil {
			st.row = alter(st.row)
			w.row(st)
			continue
		}
		payload := alter(st.payload)
		done := make(chan error, copies)
		for range copies {
			go func() { done <- w.tryClaudeHook(st.event, payload) }()
		}
		for range copies {
			if err := <-done; err != nil {
				w.T.Fatal(err)
			}
		}
	}
}

// metaFiles copies what Claude Code notes of each subagent.
func (w *world) metaFiles(s claudeSession) {
	w.T.Helper()
	root := filepath.Join(storage, s.files)
	files, err := filepath.Glob(filepath.Join(root, "projects", "*", "*", "subagents", "*.meta.json"))
	if err != nil {
		w.T.Fatal(err)
	}
	for _, f := range files {
		name, err := filepath.Rel(root, f)
		if err != nil {
			w.T.Fatal(err)
		}
		text, err := os.ReadFile(f)
		if err != nil {
			w.T.Fatal(err)
		}
		w.Write(filepath.Join(".claude", name), string(text))
	}
}

func (w *world) row(st step) {
	w.T.Helper()
	path := filepath.Join(w.Home, st.file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.T.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.T.Fatal(err)
	}
	// To the nanosecond, so that a row is after the hook that ended before it.
	now := `"timestamp":"` + time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z") + `"`
	row := timestamp.ReplaceAll(st.row, []byte(now))
	if _, err := f.Write(append(row, '\n')); err != nil {
		w.T.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.T.Fatal(err)
	}
}

// tryClaudeHook gives a payload to a hook process as Claude Code does: silence
// is what it must answer.
func (w *world) tryClaudeHook(event string, payload []byte) error {
	cmd := w.Program("claude-hook", event)
	cmd.Stdin = bytes.NewReader(payload)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || out.Len() > 0 || errs.Len() > 0 {
		return fmt.Errorf("claude-hook %s: %w, answered %q, said %q", event, err, out.String(), errs.String())
	}
	return nil
}

// holdsClaude compares every destination with the golden spans but for times:
// the payloads have none, and these were played in a moment.
func (w *world) holdsClaude(t testing.TB, s claudeSession) {
	t.Helper()
	golden := lab.Decode(t, recorded.JSON(t, s.name))
	want := timeless(golden)
	for name, spans := range map[string][]otlptest.Span{"otlp": w.OTLP.Spans(), "store": w.Stored(), "file": w.Filed()} {
		if diff := gocmp.Diff(want, timeless(spans)); diff != "" {
			t.Errorf("%s differs (-golden +got):\n%s", name, diff)
		}
	}
	traces := map[string]bool{}
	for i := range golden {
		traces[golden[i].Trace] = true
	}
	if got := len(w.infiniumTraces()); got != len(traces) {
		t.Errorf("infinium has %d traces, want %d", got, len(traces))
	}
}

func timeless(spans []otlptest.Span) []row {
	out := rows(spans)
	for i := range out {
		out[i].Start, out[i].End = 0, 0
	}
	return slices.Compact(out)
}

func TestClaudeSessions(t *testing.T) {
	for _, s := range claudeSessions {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.playClaude(s, 1, nil)
			w.Settle()
			w.holdsClaude(t, s)
			w.adds(t, "a second flush", 0)
			w.quiet(t)
		})
	}
}

// TestOneInfiniumTraceForASession has the turns wait for the session's end, at
// Infinium alone.
func TestOneInfiniumTraceForASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "HOOKSPAN_INFINIUM_GRANULARITY=session")
	w.playClaude(claudeSessions[0], 1, nil)
	w.Settle()
	w.adds(t, "a second flush", 0)
	traces := w.infiniumTraces()
	if len(traces) != 1 {
		t.Fatalf("infinium has %d traces, want one", len(traces))
	}
	var got struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Steps       []struct {
			Action string `json:"action"`
		} `json:"steps"`
	}
	decodeJSON(t, []byte(traces[0]), &got)
	if got.Name != "Claude Code session (3 turns)" || got.Description != "Fix the login bug in auth.go and add a regression test" {
		t.Errorf("name %q, description %q", got.Name, got.Description)
	}
	actions := map[string]int{}
	for _, s := range got.Steps {
		actions[s.Action]++
	}
	want := map[string]int{
		"user_prompt": 3, "tool_use:Read": 2, "tool_use:Grep": 2, "tool_use:Bash": 3, "tool_use:Agent": 1, "tool_use:Edit": 1, "subagent:Explore": 1,
	}
	if diff := gocmp.Diff(want, actions); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if roots := len(w.OTLP.Spans()); roots != 23 {
		t.Errorf("otlp has %d spans, want those of the three turns, 23", roots)
	}
}

// TestEveryClaudeEventTwice has hooks in two settings files that start two
// programs. What makes spans counts once; a notification has nothing by which a
// second one would be known.
func TestEveryClaudeEventTwice(t *testing.T) {
	for _, s := range claudeSessions {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.playClaude(s, 2, nil)
			w.Settle()
			w.adds(t, "a second flush", 0)
			ids := map[string]int{}
			for _, sp := range w.OTLP.Spans() {
				ids[sp.Span]++
			}
			golden := lab.Decode(t, recorded.JSON(t, s.name))
			for i := range golden {
				if ids[golden[i].Span] == 0 {
					t.Errorf("span %q is missing", golden[i].Name)
				}
			}
			if len(ids) != len(golden) {
				t.Errorf("%d spans, want %d", len(ids), len(golden))
			}
			w.quiet(t)
		})
	}
}

func eventName(t testing.TB, payload []byte) string {
	t.Helper()
	var e struct {
		Name string `json:"hook_event_name"`
	}
	decodeJSON(t, payload, &e)
	return e.Name
}

func decodeJSON(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// lines are the lines of a file, which may be long.
func lines(t testing.TB, path string) [][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out [][]byte
	for sc := bufio.NewReader(f); ; {
		line, err := sc.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, line)
		}
		if err != nil {
			return out
		}
	}
}
