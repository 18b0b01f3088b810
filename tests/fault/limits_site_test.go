package fault_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// agent is a program that starts hooks.
type agent struct {
	program, host string
	// answer is what its hook prints.
	answer string
	// began and ended are the events around a run, of which tool calls are part.
	began, ended string
	payload      func(event, session, turn string, n int) []byte
}

var agents = []agent{
	{program: "cline-hook", host: hook.HostCline, answer: lab.Neutral, began: "TaskResume", ended: "TaskComplete", payload: clinePayload},
	{program: "claude-hook", host: hook.HostClaude, began: "UserPromptSubmit", ended: "Stop", payload: claudePayload},
}

func clinePayload(event, session, turn string, n int) []byte {
	if event == "PreToolUse" {
		return preToolUse(session, n)
	}
	return fmt.Appendf(nil, `{"clineVersion":"3.38.0","hookName":%q,"timestamp":"%d","taskId":%q,"workspaceRoots":["/home/dev/project"],"userId":"u",%q:{"taskMetadata":{"taskId":%[3]q,"result":%[5]q}}}`,
		event, 1795175957341+n, session, strings.ToLower(event[:1])+event[1:], turn)
}

func claudePayload(event, session, turn string, n int) []byte {
	b := fmt.Appendf(nil, `{"session_id":%q,"prompt_id":%q,"cwd":"/home/dev/project","hook_event_name":%q`, session, turn, event)
	switch event {
	case "PreToolUse":
		b = fmt.Appendf(b, `,"tool_name":"Read","tool_input":{"file_path":"src/%d.go"},"tool_use_id":"toolu_%d"`, n, n)
	case "UserPromptSubmit":
		b = fmt.Appendf(b, `,"prompt":"read %s"`, turn)
	case "Stop":
		b = append(b, `,"stop_hook_active":false`...)
	}
	return append(b, '}')
}

// site is a machine on which each agent has a session whose tool calls are
// numbered.
type site struct {
	*lab.World
	t *testing.T
	r *proof.Result
	n int
	// session is the id of the sessions that calls are made for.
	session string
	// stored are the numbers that were in the log when it was last looked at.
	stored map[int]int
	// aside counts what was put aside.
	aside int //nolint:unused // Its rows run on Linux alone.
	// marked is the log's size at the last mark.
	marked int64 //nolint:unused // Its rows run on Linux alone.
}

// openTurn is the turn that calls belong to.
const openTurn = "open"

func newSite(t *testing.T, r *proof.Result, settings ...string) *site {
	t.Helper()
	return siteOf(t, r, lab.New(t, settings...))
}

func siteOf(t *testing.T, r *proof.Result, w *lab.World) *site {
	t.Helper()
	s := &site{World: w, t: t, r: r, session: "site", stored: map[int]int{}}
	s.quiet()
	return s
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) spoolDir() string { return filepath.Join(s.State(), "spool") }

// quiet keeps the next hooks from starting a delivery.
func (s *site) quiet() {
	s.t.Helper()
	if err := s.NoSweep(); err != nil {
		s.t.Fatal(err)
	}
}

// call is a hook's call with the next tool call's payload.
func (s *site) call(a *agent) lab.Call {
	s.n++
	return lab.Call{Program: a.program, Args: []string{"PreToolUse"}, Stdin: bytes.NewReader(a.payload("PreToolUse", s.session, openTurn, s.n))}
}

// try makes a call that something is wrong with and holds the hook to its
// answer.
func (s *site) try(what string, a *agent, c lab.Call) {
	s.t.Helper()
	s.r.Trial(1)
	if err := s.Call(c).Neutral(a.answer); err != nil {
		s.r.Break("%s: %s: %v", what, a.program, err)
	}
}

// must makes a call that nothing is wrong with: its event has to be stored.
func (s *site) must(what string, a *agent) {
	s.t.Helper()
	c := s.call(a)
	n := s.n
	if err := s.Call(c).Neutral(a.answer); err != nil {
		s.r.Break("%s: %s: %v", what, a.program, err)
	}
	if s.look(what); s.stored[n] != 1 {
		s.r.Break("%s: %s: the event is stored %d times, want once%s", what, a.program, s.stored[n], s.said())
	}
}

// look reads the logs: earlier records must still be present, and
// nothing twice.
func (s *site) look(what string) {
	s.t.Helper()
	recs, _, err := s.Salvage()
	if err != nil {
		s.r.Break("%s: %v", what, err)
		return
	}
	now := numbers(recs)
	for n := range s.stored {
		if now[n] == 0 {
			s.r.Break("%s: event %d is gone", what, n)
		}
	}
	for n, times := range now {
		if times > 1 {
			s.r.Break("%s: event %d is stored %d times", what, n, times)
		}
	}
	s.stored = now
}

// holds reports whether the last event that was tried is in the log.
func (s *site) holds(what string) bool {
	s.t.Helper()
	s.look(what)
	return s.stored[s.n] == 1
}

// said is what the log holds, for a message.
func (s *site) said() string {
	b, err := os.ReadFile(s.log())
	if err != nil {
		return fmt.Sprintf("; %v", err)
	}
	return fmt.Sprintf("; the log: %.600s", b[max(0, len(b)-600):])
}

// mark is the offset in the log at which tells begins to read.
func (s *site) mark() { //nolint:unused // Its rows run on Linux alone.
	s.marked = 0
	if info, err := os.Stat(s.log()); err == nil {
		s.marked = info.Size()
	}
}

func (s *site) log() string { return filepath.Join(s.State(), "hookspan.log") }

// tells requires that the log since the last mark, or doctor, mentions what
// is wrong.
func (s *site) tells(what, word string) { //nolint:unused // Its rows run on Linux alone.
	s.t.Helper()
	b, err := os.ReadFile(s.log())
	if err == nil && bytes.Contains(b[min(s.marked, int64(len(b))):], []byte(word)) {
		return
	}
	o := s.Call(lab.Call{Program: "hookspan", Args: []string{"doctor"}})
	if !strings.Contains(o.Out+o.Err, word) {
		s.r.Break("%s: neither the log nor hookspan doctor says %q:\n%s\n%s\n%s", what, word, b, o.Out, o.Err)
	}
}

// finish ends the sessions and holds every destination to exactly the tool
// calls that the log has.
func (s *site) finish(what string) {
	s.t.Helper()
	s.quiet()
	for i := range agents {
		s.must(what+", afterwards", &agents[i])
	}
	s.end()
	s.Settle()
	for name, res := range s.Flush() {
		if res.Waiting+res.Parked > 0 || len(res.Errors) > 0 {
			s.r.Break("%s: %s: %+v", what, name, res)
		}
	}
	s.look(what)
	s.delivered(what)
}

// end ends the sessions' runs.
func (s *site) end() {
	s.t.Helper()
	for i := range agents {
		a := &agents[i]
		c := lab.Call{Program: a.program, Args: []string{a.ended}, Stdin: bytes.NewReader(a.payload(a.ended, s.session, openTurn, s.n))}
		if err := s.Call(c).Neutral(a.answer); err != nil {
			s.r.Break("the end of %s: %s: %v", s.session, a.program, err)
		}
	}
}

// arrived are the tool calls that a destination has.
func (s *site) arrived(destination string) map[int]bool {
	s.t.Helper()
	var spans []otlptest.Span
	switch destination {
	case "otlp":
		spans = s.OTLP.Spans()
	case "store":
		spans = s.Stored()
	case "file":
		spans = s.filed()
	}
	got := make(map[int]bool)
	for i := range spans {
		if n, ok := spanNumber(&spans[i]); ok {
			got[n] = true
		}
	}
	return got
}

// delivered compares the destinations with the log.
func (s *site) delivered(what string) {
	s.t.Helper()
	want := slices.Sorted(maps.Keys(s.stored))
	for _, name := range []string{"otlp", "store", "file"} {
		got := s.arrived(name)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
			s.r.Break("%s: tool calls at %s (-stored +delivered):\n%s", what, name, diff)
		}
	}
}

// filed are the spans of the file's whole lines. Of a line that was written in
// part the next delivery writes another.
func (s *site) filed() (all []otlptest.Span) {
	s.t.Helper()
	b, err := os.ReadFile(s.File())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if json.Valid(line) {
			all = append(all, lab.Decode(s.t, line)...)
		}
	}
	return all
}

func spanNumber(span *otlptest.Span) (int, bool) {
	if span.Parent == "" {
		return 0, false
	}
	for _, attr := range span.Proto.GetAttributes() {
		if n, ok := numberIn([]byte(attr.GetValue().GetStringValue())); ok {
			return n, true
		}
	}
	return 0, false
}

func numberIn(b []byte) (int, bool) {
	m := numbered.FindSubmatch(b)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(m[1]))
	return n, err == nil
}

// numbers counts the tool calls in records.
func numbers(recs []*spool.Record) map[int]int {
	seen := make(map[int]int)
	for _, rec := range recs {
		if !json.Valid(rec.Payload) {
			continue
		}
		if n, ok := numberIn(rec.Payload); ok {
			seen[n]++
		}
	}
	return seen
}
