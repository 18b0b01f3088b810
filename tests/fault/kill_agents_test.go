package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/spooltest"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// host is an agent as the rows play it. Each of its payloads holds a number, by
// which the event is found again.
type host struct {
	name, program string
	// word is the program's first argument, empty for its own agent.
	word string
	// answer is what its hook prints.
	answer string
	// tool and end are the hooks of a tool call and of the end of a run.
	tool, end string
	payload   func(hook, session string, n int) []byte
}

var hosts = []host{
	{"cline", "cline-hook", "", lab.Neutral, "PreToolUse", "TaskComplete", func(hook, session string, n int) []byte {
		if hook == "PreToolUse" {
			return preToolUse(session, n)
		}
		return fmt.Appendf(nil, `{"clineVersion":"3.38.0","hookName":%q,"timestamp":"%d","taskId":%q,"workspaceRoots":["/home/dev/project"],"userId":"u","taskComplete":{"taskMetadata":{"taskId":%q,"ulid":"01K5","result":"src/%d.go","command":""}}}`,
			hook, 1795175957341+n, session, session, n)
	}},
	{"claude-code", "claude-hook", "", "", "PreToolUse", "Stop", func(hook, session string, n int) []byte {
		if hook == "PreToolUse" {
			return fmt.Appendf(nil, `{"session_id":%q,"prompt_id":"p1","cwd":"/home/dev/project","hook_event_name":%q,"tool_name":"Read","tool_input":{"file_path":"src/%d.go"},"tool_use_id":"toolu_%d"}`,
				session, hook, n, n)
		}
		// A stop that says otherwise counts once for each prompt.
		return fmt.Appendf(nil, `{"session_id":%q,"prompt_id":"p1","cwd":"/home/dev/project","hook_event_name":%q,"stop_hook_active":true,"last_assistant_message":"src/%d.go"}`,
			session, hook, n)
	}},
	{"qwen-code", "claude-hook", "qwen", "{}\n", "PreToolUse", "Stop", func(hook, session string, n int) []byte {
		if hook == "PreToolUse" {
			return fmt.Appendf(nil, `{"session_id":%q,"prompt_id":"p########1","cwd":"/home/dev/project","hook_event_name":%q,"tool_name":"read_file","tool_input":{"file_path":"src/%d.go"},"tool_use_id":"toolu_%d","tool_call_id":"call_%d"}`,
				session, hook, n, n, n)
		}
		return fmt.Appendf(nil, `{"session_id":%q,"prompt_id":"p########1","cwd":"/home/dev/project","hook_event_name":%q,"stop_hook_active":true,"last_assistant_message":"src/%d.go"}`,
			session, hook, n)
	}},
	{"copilot-cli", "claude-hook", "copilot", "", "preToolUse", "agentStop", func(hook, session string, n int) []byte {
		if hook == "preToolUse" {
			return fmt.Appendf(nil, `{"sessionId":%q,"cwd":"/home/dev/project","toolName":"view","toolArgs":{"path":"src/%d.go"}}`, session, n)
		}
		return fmt.Appendf(nil, `{"sessionId":%q,"cwd":"/home/dev/project","stop_hook_active":true,"stopReason":"src/%d.go"}`, session, n)
	}},
	{"gemini-cli", "claude-hook", "gemini", "", "BeforeTool", "AfterAgent", func(hook, session string, n int) []byte {
		if hook == "BeforeTool" {
			return fmt.Appendf(nil, `{"session_id":%q,"transcript_path":"/home/dev/.gemini/tmp/p/chats/session-1-s.jsonl","cwd":"/home/dev/project","hook_event_name":%q,"tool_name":"read_file","tool_input":{"file_path":"src/%d.go"}}`,
				session, hook, n)
		}
		return fmt.Appendf(nil, `{"session_id":%q,"transcript_path":"/home/dev/.gemini/tmp/p/chats/session-1-s.jsonl","cwd":"/home/dev/project","hook_event_name":%q,"stop_hook_active":true,"prompt_response":"src/%d.go"}`,
			session, hook, n)
	}},
	{"codex", "claude-hook", "codex", "", "PreToolUse", "Stop", func(hook, session string, n int) []byte {
		if hook == "PreToolUse" {
			return fmt.Appendf(nil, `{"session_id":%q,"turn_id":"t1","transcript_path":null,"cwd":"/home/dev/project","hook_event_name":%q,"tool_name":"Bash","tool_input":{"command":"cat src/%d.go"},"tool_use_id":"call_%d"}`,
				session, hook, n, n)
		}
		return fmt.Appendf(nil, `{"session_id":%q,"turn_id":"t1","transcript_path":null,"cwd":"/home/dev/project","hook_event_name":%q,"stop_hook_active":true,"last_assistant_message":"src/%d.go"}`,
			session, hook, n)
	}},
	{"kimi-code", "claude-hook", "kimi", "", "PreToolUse", "Stop", func(hook, session string, n int) []byte {
		if hook == "PreToolUse" {
			return fmt.Appendf(nil, `{"session_id":%q,"client_type":"kimi_code_cli","cwd":"/home/dev/project","hook_event_name":%q,"tool_name":"Read","tool_input":{"path":"src/%d.go"},"tool_call_id":"call_%d"}`,
				session, hook, n, n)
		}
		return fmt.Appendf(nil, `{"session_id":%q,"client_type":"kimi_code_cli","cwd":"/home/dev/project","hook_event_name":%q,"stop_hook_active":false,"session_title":"src/%d.go"}`,
			session, hook, n)
	}},
	{"opencode", "claude-hook", "opencode", "", "message.part.updated", "session.idle", func(hook, session string, n int) []byte {
		if hook == "message.part.updated" {
			return fmt.Appendf(nil, `{"session":%q,"type":%q,"cwd":"/home/dev/project","turn":"msg_1","part":{"type":"tool","id":"prt_%d","callID":"call_%d","tool":"read","state":{"status":"running","input":{"filePath":"src/%d.go"}}}}`,
				session, hook, n, n, n)
		}
		return fmt.Appendf(nil, `{"session":%q,"type":%q,"cwd":"/home/dev/project","text":"src/%d.go"}`, session, hook, n)
	}},
}

// args are the arguments of the agent's hook program, command is how people name it.
func (a *host) args(hook string) []string { return append(strings.Fields(a.word), hook) }
func (a *host) command() string           { return strings.TrimSpace(a.program + " " + a.word) }

// twin reports that the hook is the program of another agent, told by a word alone.
// opencode's is not: one process takes all its events.
func (a *host) twin() bool { return a.word != "" && a.word != "opencode" }

// steps are everyCall's for the errors. The short form takes the odd calls of cline-hook
// and the even ones of claude-hook, whose calls are nearly the same, and every
// thirty-second of opencode's.
func (a *host) steps() (first, step int) {
	switch {
	case proof.Soak():
		return 1, 1
	case a.program == "cline-hook":
		return 1, 2
	case a.word == "":
		return 2, 2
	}
	return 1, 32
}

// killStep is everyCall's for the kills, of which the short form leaves out the private
// ones: it takes every call of the two programs, and every fourth of opencode's.
func (a *host) killStep() int {
	if proof.Soak() || a.word == "" {
		return 1
	}
	return 4
}

// plays are the situations that the agent is put in. In the short form opencode's hook
// leaves out the first, which Claude Code's is put in.
func (a *host) plays() []situation {
	if proof.Soak() {
		return situations
	}
	short := slices.DeleteFunc(slices.Clone(situations), func(s situation) bool { return s.soak })
	if a.word != "" {
		return short[1:]
	}
	return short
}

var numbered = regexp.MustCompile(`src/(\d+)\.go`)

// number is the one that a payload of any agent holds.
func number(t testing.TB, payload []byte) int {
	t.Helper()
	m := numbered.FindSubmatch(payload)
	if m == nil {
		t.Fatalf("a stored payload without a number: %.200q", payload)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// traced is the agent's hook program for trace.Run.
func (a *host) traced(w *lab.World, hook, session string, n int) trace.Program {
	return trace.Program{
		Path: filepath.Join(lab.Programs, a.program), Args: a.args(hook), Env: w.Environ, Dir: w.Work,
		Stdin: a.payload(hook, session, n),
	}
}

// hook starts the agent's hook program undisturbed and holds it to its promises.
func (a *host) hook(w *lab.World, hook, session string, n int) error {
	cmd := w.Program(a.program, a.args(hook)...)
	cmd.Stdin = bytes.NewReader(a.payload(hook, session, n))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || out.String() != a.answer || errs.Len() > 0 {
		return fmt.Errorf("%s %s: %w, answered %q, said %q", a.program, hook, err, out.String(), errs.String())
	}
	return nil
}

// acknowledged says whether a hook that may have been killed has answered. What
// it printed must be the whole answer or nothing.
func (a *host) acknowledged(end *trace.Ending) (bool, error) {
	out := string(end.Stdout)
	if len(end.Stderr) > 0 || out != "" && out != a.answer {
		return false, fmt.Errorf("answered %q, said %q", out, end.Stderr)
	}
	if a.answer == "" {
		return end.Code == 0, nil
	}
	return out == a.answer, nil
}

// ledger is what became of the events that were sent.
type ledger struct {
	next  int
	acked map[int]bool
}

// number is that of the next event, which counts as not answered for.
func (l *ledger) number() int {
	if l.acked == nil {
		l.acked = make(map[int]bool)
	}
	l.next++
	l.acked[l.next] = false
	return l.next
}

// check holds what is stored against what was answered for. It returns how often
// each event is stored.
func (l *ledger) check(t testing.TB, r *proof.Result, records []*spool.Record) (seen map[int]int) {
	t.Helper()
	seen = make(map[int]int)
	for _, rec := range records {
		if !unread(rec) {
			seen[number(t, rec.Payload)]++
		}
	}
	for n, acked := range l.acked {
		if seen[n] > 1 || acked && seen[n] == 0 {
			r.Break("event %d, answered for: %t, is stored %d times", n, acked, seen[n])
		}
	}
	return seen
}

// unread recognises a hook's note that it was started but could not read its standard
// input.
func unread(rec *spool.Record) bool { return rec.Raw && len(rec.Payload) == 0 }

// stored reads the whole spool: its records, and how many stretches of damage
// and torn ends lie between them.
func stored(t testing.TB, w *lab.World) (records []*spool.Record, damage int) {
	t.Helper()
	records, damage, err := w.Salvage()
	if err != nil {
		t.Fatal(err)
	}
	return records, damage
}

// endRuns ends every run that is open, as a hook would, but without the delivery
// that a hook would start.
func endRuns(t testing.TB, w *lab.World, l *ledger) {
	t.Helper()
	dir := filepath.Join(w.State(), "spool")
	logs, err := spooltest.Logs(dir)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	for _, log := range logs {
		i := slices.IndexFunc(hosts, func(a host) bool { return a.name == log.Key.Host })
		records := slices.DeleteFunc(log.Records, unread)
		// Hooks that run at the same time are stored in any order: the last record
		// is an end, and what began before or after it stands before.
		if len(records) == 0 || records[len(records)-1].Event == hosts[i].end && last(t, records) {
			continue
		}
		ending := *records[len(records)-1]
		n := l.number()
		for _, rec := range records {
			if rec.At.After(ending.At) {
				ending.At = rec.At
			}
		}
		ending.Event, ending.Payload = hosts[i].end, hosts[i].payload(hosts[i].end, ending.Session, n)
		if err := sp.Append(&ending); err != nil {
			t.Fatal(err)
		}
		l.acked[n] = true
	}
}

// last reports that the last of the records is the last by every clock.
func last(t testing.TB, records []*spool.Record) bool {
	t.Helper()
	end := records[len(records)-1]
	for _, rec := range records[:len(records)-1] {
		if rec.At.After(end.At) || number(t, rec.Payload) > number(t, end.Payload) {
			return false
		}
	}
	return true
}

// holdSweeps keeps hooks from starting a look at all sessions for a minute.
func holdSweeps(_ testing.TB, w *lab.World) { w.HoldSweeps() }

// documented are the files that may lie in the state folder: see spool/FORMAT.md
// and the page on files in docs.
var documented = regexp.MustCompile(`^(` + strings.Join([]string{
	`hookspan\.log(\.1)?`, `answers-[a-z]+\.json`, `metrics\.(lock|later)`, `clock\.json`, `limits\.jsonl`, `budgets(/sent\.json)?`, `programs(/[a-z-]+\.[a-z-]+)?`, `traces\.db(-wal|-shm|-journal)?`, `spool`, `spool/sweep\.stamp`, `spool/(` + hostNames() + `)`,
	`spool/[a-z-]+/[0-9a-f]{32}`,
	`spool/[a-z-]+/[0-9a-f]{32}/(events\.json-seq|[a-z]+\.lock|delivery-[a-z]+\.json|checkouts\.json|runs-[a-z]+\.jsonl|quarantine)`,
	`spool/[a-z-]+/[0-9a-f]{32}/quarantine/[0-9a-f]{16}-[0-9a-f]{8}\.bin`,
}, "|") + `)$`)

// hostNames is a pattern of the names of all that is recorded.
func hostNames() string {
	var names []string
	for _, a := range append(hook.Agents(), hook.Guests()...) {
		names = append(names, a.Host)
	}
	return strings.Join(names, "|")
}

// strays are the files below the state folder that nothing refers to. inMaking
// counts those that a dead process may leave behind, by the format.
func strays(t testing.TB, w *lab.World) (names []string, inMaking int) {
	t.Helper()
	err := filepath.WalkDir(w.State(), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(w.State(), path)
		name = filepath.ToSlash(name)
		switch {
		case name == "." || documented.MatchString(name):
		case strings.HasPrefix(filepath.Base(name), ".") && strings.HasSuffix(name, ".tmp"):
			inMaking++
		default:
			names = append(names, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return names, inMaking
}

// deliverAll ends all runs, delivers, and checks that each destination has a
// span of each stored tool call.
func deliverAll(t testing.TB, r *proof.Result, w *lab.World, l *ledger) {
	t.Helper()
	endRuns(t, w, l)
	for name, res := range w.Flush() {
		if len(res.Errors) > 0 || res.Waiting > 0 || res.Parked > 0 {
			r.Break("delivery to %s: %+v", name, res)
		}
	}
	records, _ := stored(t, w)
	calls := 0
	for _, rec := range records {
		i := slices.IndexFunc(hosts, func(a host) bool { return a.name == rec.Host })
		if rec.Event == hosts[i].tool && !unread(rec) {
			calls++
		}
	}
	for name, spans := range map[string][]otlptest.Span{"otlp": w.OTLP.Spans(), "store": w.Stored(), "file": w.Filed()} {
		got := make(map[otlptest.ID]int)
		for _, s := range spans {
			if strings.HasPrefix(s.Name, "execute_tool ") {
				got[s.ID]++
			}
		}
		if len(got) != calls {
			r.Break("%s has spans of %d tool calls, %d are stored", name, len(got), calls)
		}
	}
	l.check(t, r, records)
	if names, _ := strays(t, w); len(names) > 0 {
		r.Break("files that nobody speaks of: %s", cmp.Diff([]string(nil), names))
	}
}
