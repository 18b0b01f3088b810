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
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/otlptest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// agent is a program that starts hooks.
type agent struct {
	program, host string
	// answer is what its hook prints.
	answer string
	// tool is the payload of the tool call of a number, end that of a run's end.
	tool func(session string, n int) []byte
	end  func(session string) []byte
	// ended is the event's name of that.
	ended string
}

var agents = []agent{{
	program: "cline-hook", host: cline.Host, answer: lab.Neutral, tool: preToolUse, ended: "TaskComplete",
	end: func(session string) []byte {
		return fmt.Appendf(nil, `{"clineVersion":"3.38.0","hookName":"TaskComplete","timestamp":"1795175999999","taskId":%q,"workspaceRoots":["/home/dev/project"],"userId":"u","taskComplete":{"taskMetadata":{"taskId":%[1]q,"result":"done"}}}`, session)
	},
}, {
	program: "claude-hook", host: claude.Host, ended: "Stop",
	tool: func(session string, n int) []byte {
		return fmt.Appendf(nil, `{"session_id":%q,"prompt_id":"p","cwd":"/home/dev/project","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"src/%d.go"},"tool_use_id":"toolu_%d"}`, session, n, n)
	},
	end: func(session string) []byte {
		return fmt.Appendf(nil, `{"session_id":%q,"prompt_id":"p","cwd":"/home/dev/project","hook_event_name":"Stop","stop_hook_active":false}`, session)
	},
}}

// site is a machine on which each agent has a session whose tool calls are
// numbered.
type site struct {
	*lab.World
	t *testing.T
	r *proof.Result
	n int
	// stored are the numbers that were in the log when it was last looked at.
	stored map[int]int
}

const siteSession = "site"

func newSite(t *testing.T, r *proof.Result, settings ...string) *site {
	t.Helper()
	return siteOf(t, r, lab.New(t, settings...))
}

func siteOf(t *testing.T, r *proof.Result, w *lab.World) *site {
	t.Helper()
	s := &site{World: w, t: t, r: r, stored: map[int]int{}}
	s.quiet()
	return s
}

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
	return lab.Call{Program: a.program, Args: []string{"PreToolUse"}, Stdin: bytes.NewReader(a.tool(siteSession, s.n))}
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

// look reads the logs: what was there before has to be there still, and
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
	b, err := os.ReadFile(filepath.Join(s.State(), "hookspan.log"))
	if err != nil {
		return fmt.Sprintf("; %v", err)
	}
	return fmt.Sprintf("; the log: %.600s", b[max(0, len(b)-600):])
}

// tells holds the log or the doctor to a word about what is wrong.
func (s *site) tells(what, word string) {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.State(), "hookspan.log"))
	if err == nil && bytes.Contains(b, []byte(word)) {
		return
	}
	o := s.Call(lab.Call{Program: "hookspan", Args: []string{"doctor"}})
	if !bytes.Contains([]byte(o.Out+o.Err), []byte(word)) {
		s.r.Break("%s: neither the log nor hookspan doctor says %q:\n%s\n%s\n%s", what, word, b, o.Out, o.Err)
	}
}

// finish ends the sessions and holds every destination to exactly the tool
// calls that the log has.
func (s *site) finish(what string) {
	s.t.Helper()
	s.quiet()
	for i := range agents {
		a := &agents[i]
		s.must(what+", afterwards", a)
		c := lab.Call{Program: a.program, Args: []string{a.ended}, Stdin: bytes.NewReader(a.end(siteSession))}
		if err := s.Call(c).Neutral(a.answer); err != nil {
			s.r.Break("%s, the end: %s: %v", what, a.program, err)
		}
	}
	s.Settle()
	for name, res := range s.Flush() {
		if res.Waiting+res.Parked > 0 || len(res.Errors) > 0 {
			s.r.Break("%s: %s: %+v", what, name, res)
		}
	}
	s.look(what)
	s.delivered(what)
}

// delivered compares the destinations with the log.
func (s *site) delivered(what string) {
	s.t.Helper()
	want := slices.Sorted(maps.Keys(s.stored))
	for name, spans := range map[string][]otlptest.Span{"otlp": s.OTLP.Spans(), "store": s.Stored(), "file": s.filed()} {
		got := make(map[int]bool)
		for i := range spans {
			if n, ok := spanNumber(&spans[i]); ok {
				got[n] = true
			}
		}
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

var numbered = regexp.MustCompile(`src/(\d+)\.go`)

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
