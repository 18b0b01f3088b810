package verify

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/otelmap"
)

// TestSecondReadingAgreesOnFormsOfFiles has sessions whose files say one thing several times,
// or in a form of few versions: the second reading finds what the first does.
func TestSecondReadingAgreesOnFormsOfFiles(t *testing.T) {
	const (
		parent = "01a20017-0000-7000-8000-000000000000"
		fork   = "01a20018-0000-7000-8000-000000000000"
		folder = ".codex/sessions/2026/11/10/rollout-2026-11-10T10-00-00-"
	)
	meta := func(at, id, more string) string {
		return fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":%q,"timestamp":%[1]q,"cwd":"/w","cli_version":"0.140.0","source":"cli"%[3]s}}`+"\n", at, id, more)
	}
	turn := func(id, text string, tokens int, at func(int) string) string {
		event := func(n int, payload string) string {
			return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":%s}`+"\n", at(n), payload)
		}
		item := func(n int, payload string) string {
			return strings.Replace(event(n, payload), "event_msg", "response_item", 1)
		}
		usage := fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%[1]d,"total_tokens":%d}`, tokens, 2*tokens)
		return event(0, `{"type":"task_started","turn_id":"`+id+`"}`) +
			strings.Replace(event(0, `{"turn_id":"`+id+`","model":"m"}`), "event_msg", "turn_context", 1) +
			item(1, `{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>be brief</INSTRUCTIONS>"}]}`) +
			item(1, `{"type":"message","role":"user","content":[{"type":"input_text","text":"`+text+`"}]}`) +
			event(1, `{"type":"user_message","message":"`+text+`"}`) +
			item(2, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`) +
			event(2, `{"type":"agent_message","message":"done"}`) +
			event(2, `{"type":"token_count","info":{"total_token_usage":`+usage+`,"last_token_usage":`+strings.ReplaceAll(usage, fmt.Sprint(tokens), "10")+`}}`) +
			event(3, `{"type":"task_complete","turn_id":"`+id+`","last_agent_message":"done"}`)
	}
	on := func(day, minute int) func(int) string {
		return func(second int) string { return fmt.Sprintf("2026-11-%02dT10:%02d:%02d.000Z", day, minute, second) }
	}
	history := turn("t1", "go on", 10, on(10, 1)) + turn("t2", "go on", 20, on(10, 2))
	copied := func(int) string { return "2026-11-12T09:00:00.000Z" }
	claudeTurn := func(n int) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u%d","sessionId":"s1","timestamp":"2026-01-01T00:0%[1]d:00Z","cwd":"/w","promptId":"p%[1]d","message":{"role":"user","content":"go on"}}
{"type":"assistant","uuid":"a%[1]d","parentUuid":"u%[1]d","sessionId":"s1","timestamp":"2026-01-01T00:0%[1]d:01Z","requestId":"r%[1]d","message":{"id":"m%[1]d","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2},"content":[{"type":"tool_use","id":"toolu_00000000%[1]d","name":"Bash","input":{}}]}}
{"type":"user","uuid":"v%[1]d","parentUuid":"a%[1]d","sessionId":"s1","timestamp":"2026-01-01T00:0%[1]d:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_00000000%[1]d","content":"ok"}]}}
{"type":"assistant","uuid":"b%[1]d","parentUuid":"v%[1]d","sessionId":"s1","timestamp":"2026-01-01T00:0%[1]d:03Z","requestId":"q%[1]d","message":{"id":"n%[1]d","role":"assistant","model":"m","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2},"content":[{"type":"text","text":"done"}]}}
`, n)
	}
	flat := `{"id":"` + parent + `","timestamp":"2025-08-26T20:20:25.523Z","instructions":null}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n<cwd>/w</cwd>\n</environment_context>"}]}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}
{"record_type":"state"}
`
	const piFolder = ".pi/agent/sessions/--w--/"
	piHead := func(id string, minute int, parent string) string {
		if parent != "" {
			parent = `,"parentSession":"/gone/1_` + parent + `.jsonl"`
		}
		return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-11-10T10:%02d:00Z","cwd":"/w"%s}`+"\n", id, minute, parent)
	}
	piTurn := func(id string, minute int) string {
		return fmt.Sprintf(`{"type":"message","id":"u%[1]s","timestamp":"2026-11-10T10:%02[2]d:01Z","message":{"role":"user","content":"go on"}}
{"type":"message","id":"%[1]s","timestamp":"2026-11-10T10:%02[2]d:02Z","message":{"role":"assistant","model":"m","stopReason":"toolUse","responseId":"r%[1]s","usage":{"input":1,"output":2,"cacheRead":3,"cost":{"total":0.5}},"content":[{"type":"toolCall","id":"call_000000000%[1]s","name":"bash","arguments":{}}]}}
{"type":"message","id":"t%[1]s","timestamp":"2026-11-10T10:%02[2]d:03Z","message":{"role":"toolResult","toolCallId":"call_000000000%[1]s","content":[],"isError":false}}
{"type":"message","id":"x%[1]s","timestamp":"2026-11-10T10:%02[2]d:04Z","message":{"role":"assistant","model":"m","stopReason":"stop","responseId":"q%[1]s","usage":{"input":1,"output":2},"content":[{"type":"text","text":"done"}]}}
`, id, minute)
	}
	for name, files := range map[string]map[string]string{
		"a fork of Codex, with its parent": {
			folder + parent + ".jsonl": meta(on(10, 0)(0), parent, "") + history,
			folder + fork + ".jsonl": meta(copied(0), fork, `,"forked_from_id":"`+parent+`"`) + meta(copied(0), parent, "") +
				turn("t1", "go on", 10, copied) + turn("t2", "go on", 20, copied) + turn("t3", "go on", 30, on(12, 9)),
		},
		"a fork of Codex, alone": {
			folder + fork + ".jsonl": meta(copied(0), fork, `,"forked_from_id":"`+parent+`"`) + meta(copied(0), parent, "") +
				turn("t1", "go on", 10, copied) + turn("t2", "go on", 20, copied) + turn("t3", "go on", 30, on(12, 9)),
		},
		"a session of Codex in two folders": {
			folder + parent + ".jsonl": meta(on(10, 0)(0), parent, "") + history,
			".codex/archived_sessions/rollout-2026-11-10T10-00-00-" + parent + ".jsonl": meta(on(10, 0)(0), parent, "") + history,
		},
		"a compressed session of Codex": {
			folder + parent + ".jsonl.zst": meta(on(10, 0)(0), parent, "") + history,
		},
		"a call of Codex whose output is lost": {
			folder + parent + ".jsonl": meta(on(10, 0)(0), parent, "") + history + strings.Replace(turn("t3", "go on", 30, on(10, 3)), `{"timestamp":"2026-11-10T10:03:02.000Z","type":"response_item","payload":{"type":"message"`,
				`{"timestamp":"2026-11-10T10:03:01.000Z","type":"response_item","payload":{"type":"function_call","call_id":"call_0000000001","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"}}
{"timestamp":"2026-11-10T10:03:02.000Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"call_0000000001","command":["ls"],"exit_code":0,"status":"completed"}}}
{"timestamp":"2026-11-10T10:03:02.000Z","type":"response_item","payload":{"type":"message"`, 1),
		},
		"flat rows of Codex without an answer": {".codex/sessions/2025/08/26/rollout-2025-08-26T20-20-25-" + parent + ".jsonl": flat},
		"flat rows of Codex with instructions": {
			".codex/sessions/2025/08/26/rollout-2025-08-26T20-20-25-" + parent + ".jsonl": strings.Replace(flat, "<environment_context>", "# AGENTS.md instructions for /w\\n\\n<environment_context>", 1) +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}` + "\n",
		},
		"a session of Claude Code in two folders": {
			".claude/projects/-w/s1.jsonl":     claudeTurn(1) + claudeTurn(2),
			".claude/projects/-moved/s1.jsonl": claudeTurn(1) + claudeTurn(3),
		},
		"rows of Claude Code with the id of the session that was resumed": {
			".claude/projects/-w/s1.jsonl": claudeTurn(1),
			".claude/projects/-w/s2.jsonl": claudeTurn(2),
		},
		"a fork of Pi, with its parent": {
			piFolder + "1_" + parent + ".jsonl": piHead(parent, 0, "") + piTurn("a1", 1) + piTurn("a2", 2),
			piFolder + "2_" + fork + ".jsonl":   piHead(fork, 5, parent) + piTurn("a1", 1) + piTurn("a3", 6),
		},
		"two forks of Pi, alone": {
			piFolder + "2_" + fork + ".jsonl":        piHead(fork, 5, parent) + piTurn("a1", 1) + piTurn("a3", 6),
			piFolder + "3_" + workSession + ".jsonl": piHead(workSession, 7, parent) + piTurn("a1", 1) + piTurn("a2", 2) + piTurn("a4", 8),
		},
		"a step back of Pi, with its summary, and what keeps a cache warm": {
			piFolder + "1_" + parent + ".jsonl": piHead(parent, 0, "") + piTurn("a1", 1) +
				`{"type":"branch_summary","id":"b1","parentId":null,"timestamp":"2026-11-10T10:02:00Z","summary":"x","usage":{"input":10,"output":20,"cacheRead":30,"cacheWrite":40,"cost":{"total":0.5}}}` + "\n" + piTurn("a2", 3) +
				`{"type":"usage","id":"w1","timestamp":"2026-11-10T10:05:00Z","kind":"cache_warm","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cost":{"total":0.25}}}` + "\n",
		},
		"a session of Qwen Code in one JSON": {
			".qwen/tmp/0000000000000000000000000000000000000000000000000000000000000001/chats/session-2025-10-01T10-00-0a000001.json": `{"sessionId":"0a000001-x","startTime":"2025-10-01T10:00:00Z","lastUpdated":"2025-10-01T10:00:03Z","messages":[
{"id":"1","timestamp":"2025-10-01T10:00:01Z","type":"user","content":"go on"},
{"id":"2","timestamp":"2025-10-01T10:00:02Z","type":"qwen","content":"done","model":"coder-model","tokens":{"input":7,"output":2,"cached":3}}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := bothReadings(t, files)
			if got.prompts == 0 || len(got.unread) > 0 {
				t.Errorf("the second reading has %d prompts, not read %v", got.prompts, got.unread)
			}
		})
	}
}

// found is what two readings of the same files have, and in what they differ.
type found struct {
	sessions, prompts, calls int
	output                   int64
	unread                   []agentfiles.Unread
}

// bothReadings reads files, by their paths below a home, and fails where the readings differ.
func bothReadings(t *testing.T, files map[string]string) (got found) {
	t.Helper()
	home := t.TempDir()
	for path, text := range files {
		path = filepath.Join(home, filepath.FromSlash(path))
		if strings.HasSuffix(path, ".zst") {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			text = string(w.EncodeAll([]byte(text), nil))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return bothReadingsOf(t, home)
}

// bothReadingsOf holds what the reader finds in a home folder against the second reading.
func bothReadingsOf(t *testing.T, home string) (got found) {
	t.Helper()
	all := read(t, home)
	if len(all) == 0 {
		t.Fatal("no session was read")
	}
	sums := make(map[string]*Sums)
	for _, r := range all {
		sums[r.id] = new(Sums)
		sums[r.id].Add(r.spans...)
		got.prompts, got.calls, got.output = got.prompts+len(sums[r.id].prompts), got.calls+len(sums[r.id].calls), got.output+sums[r.id].usage.Output
		if len(r.spans) > 0 {
			got.sessions++
		}
	}
	again, err := agentfiles.Read(t.Context(), all[0].host, agentfiles.Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	check := Check{Host: all[0].host, Files: again, Sums: sums, Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	differ, err := check.Sessions(t.Context(), slices.Sorted(maps.Keys(sums)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range differ {
		t.Errorf("session %s: %v", s.Session, s.Differences)
	}
	got.unread = again.Unread
	return got
}

// TestSecondReadingNamesCompressedFilesThatItCannotRead has files that are torn, or unpack
// to far more than their size.
func TestSecondReadingNamesCompressedFilesThatItCannotRead(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := w.EncodeAll(make([]byte, 64<<20), nil)
	home := t.TempDir()
	dir := filepath.Join(home, ".codex", "sessions")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	names := func(name string) string { return filepath.Join(dir, "rollout-"+name+".jsonl.zst") }
	for name, text := range map[string][]byte{"bomb": bomb, "torn": bomb[:len(bomb)/2], "plain": []byte("{}")} {
		if err := os.WriteFile(names(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := agentfiles.Read(t.Context(), "codex", agentfiles.Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, u := range files.Unread {
		named[u.File] = named[u.File] || u.Line == 0
	}
	if !maps.Equal(named, map[string]bool{names("bomb"): true, names("torn"): true, names("plain"): true}) {
		t.Errorf("not read: %v, want three files", files.Unread)
	}
}

// TestSecondReadingNamesACallTooMany has a trace with a call that the files lack: a fault,
// but where an agent's hooks report calls that its files do not have.
func TestSecondReadingNamesACallTooMany(t *testing.T) {
	tool := func(id string) *tracepb.Span {
		return &tracepb.Span{Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolCallID, id)}}
	}
	for _, a := range hook.Agents() {
		host := a.Host
		for id, want := range map[string]bool{"": host != "codex" && host != "gemini-cli" && host != "cline", "c2": true, "exec-2": host != "codex"} {
			sums := new(Sums)
			sums.Add(&tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{tool("c1"), tool(id)}}}})
			files := &agentfiles.Reading{Sessions: map[string]*agentfiles.Session{
				"s": {Calls: []*agentfiles.Call{{Fact: agentfiles.Fact{ID: "c1"}}}},
			}}
			sums.uncounted = true
			differ, err := (&Check{Host: host, Files: files, Sums: map[string]*Sums{"s": sums}}).Sessions(t.Context(), []string{"s"})
			if err != nil {
				t.Fatal(err)
			}
			if (len(differ) > 0) != want {
				t.Errorf("%s, a call %q too many: %v", host, id, differ)
			}
		}
	}
}

// TestSecondReadingLacksWhatOnlyHooksReport: the text of a skill makes a call that is in no
// file.
func TestSecondReadingLacksWhatOnlyHooksReport(t *testing.T) {
	call := func(more ...*commonpb.KeyValue) *tracepb.Span {
		return &tracepb.Span{Attributes: append(more, otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool))}
	}
	for name, c := range map[string]struct {
		host  string
		spans []*tracepb.Span
		want  int
	}{
		"a call of a skill's text":    {"claude-code", []*tracepb.Span{call(otlp.String("hookspan.command.invoked_by", "user"))}, 0},
		"a call that nobody explains": {"claude-code", []*tracepb.Span{call()}, 1},
	} {
		sums := new(Sums)
		both := call(otlp.String(otelmap.KeyToolCallID, "c1"))
		sums.Add(&tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: append(c.spans, both)}}})
		files := &agentfiles.Reading{Sessions: map[string]*agentfiles.Session{
			"s": {Calls: []*agentfiles.Call{{Fact: agentfiles.Fact{ID: "c1"}}}},
		}}
		sums.uncounted = true
		differ, err := (&Check{Host: c.host, Files: files, Sums: map[string]*Sums{"s": sums}}).Sessions(t.Context(), []string{"s"})
		if err != nil {
			t.Fatal(err)
		}
		if len(differ) != c.want {
			t.Errorf("%s: %v, want %d differences", name, differ, c.want)
		}
	}
}
