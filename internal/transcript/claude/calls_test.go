package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// usageRow is a row of an answer with the given usage.
func usageRow(id, request, usage string, more ...string) string {
	return crow("assistant", 1, append([]string{
		fmt.Sprintf(`"requestId":%q,"message":{"id":%q,"model":"claude-sonnet-5","content":[],"stop_reason":"end_turn","usage":%s}`, request, id, usage),
	}, more...)...)
}

func TestClaudeRowsFoldIntoCalls(t *testing.T) {
	const side = `"isSidechain":true`
	in := func(n int) string { return fmt.Sprintf(`{"input_tokens":%d,"output_tokens":1}`, n) }
	for _, tt := range []struct {
		name string
		rows []string
		want []string // id, request, input/output/read/write
	}{
		{"rows of one response: the largest of each count", []string{
			usageRow("m1", "r1", `{"input_tokens":3,"output_tokens":1}`),
			usageRow("m1", "r1", `{"input_tokens":3,"output_tokens":1,"cache_read_input_tokens":7}`),
			usageRow("m1", "r1", `{"input_tokens":3,"output_tokens":90}`),
			usageRow("m1", "r1", `null`),
		}, []string{"m1 r1 3/90/7/0"}},
		{"two responses", []string{usageRow("m1", "r1", in(1)), usageRow("m2", "r2", in(2))}, []string{"m1 r1 1/1/0/0", "m2 r2 2/1/0/0"}},
		{"a replay on a side chain is the same response", []string{usageRow("m1", "r1", in(1)), usageRow("m1", "r2", in(9), side)}, []string{"m1 r1 1/1/0/0"}},
		{"in either order", []string{usageRow("m1", "r2", in(9), side), usageRow("m1", "r1", in(1))}, []string{"m1 r1 1/1/0/0"}},
		{"under the same request, too", []string{usageRow("m1", "r1", in(9), side), usageRow("m1", "r1", in(1))}, []string{"m1 r1 1/1/0/0"}},
		{"of two requests the larger", []string{usageRow("m1", "r1", in(1)), usageRow("m1", "r2", in(5)), usageRow("m1", "r3", in(2))}, []string{"m1 r2 5/1/0/0"}},
		{"of two equal requests the first", []string{usageRow("m1", "r1", in(1)), usageRow("m1", "r2", in(1))}, []string{"m1 r1 1/1/0/0"}},
		{"rows without a request's id belong to any", []string{
			crow("assistant", 1, `"requestId":null,"message":{"id":"m1","model":"x","usage":{"input_tokens":1}}`), usageRow("m1", "r1", in(4)),
		}, []string{"m1 r1 4/1/0/0"}},
		{"a response without an id has its request's", []string{crow("assistant", 1, `"requestId":"r1","message":{"model":"x","usage":{"input_tokens":1}}`)}, []string{"r1 r1 1/0/0/0"}},
		{"without any id its row's", []string{crow("assistant", 1, `"uuid":"u1","message":{"model":"x","usage":{"input_tokens":1}}`)}, []string{"u1  1/0/0/0"}},
		{"without any id at all its time", []string{crow("assistant", 1, `"message":{"model":"x","usage":{"input_tokens":1}}`)}, []string{fmt.Sprintf("req-%d  1/0/0/0", sec(1).UnixMilli())}},
		{"breakdowns are not added", []string{usageRow("m1", "r1", `{"input_tokens":3,"output_tokens":1,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40},"iterations":[{"input_tokens":3,"output_tokens":1}]}`)}, []string{"m1 r1 3/1/0/100"}},
		{"breakdowns count where the sums are 0", []string{usageRow("m1", "r1", `{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_creation":{"ephemeral_1h_input_tokens":40},"iterations":[{"type":"message","input_tokens":3,"output_tokens":1},{"type":"message","output_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":40}]}`)}, []string{"m1 r1 3/6/7/40"}},
		{"a split alone is the total", []string{usageRow("m1", "r1", `{"cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":12}}`)}, []string{"m1 r1 0/0/0/42"}},
		{"numbers in strings count, negative ones do not", []string{usageRow("m1", "r1", `{"input_tokens":"10","output_tokens":-5,"cache_read_input_tokens":null}`)}, []string{"m1 r1 10/0/0/0"}},
		{"nonsense is not counted", []string{usageRow("m1", "r1", `{"input_tokens":1e300,"output_tokens":"many","cache_read_input_tokens":{}}`)}, []string{"m1 r1 0/0/0/0"}},
		{"no usage is none", []string{usageRow("m1", "r1", `null`)}, []string{"m1 r1 none"}},
		{"neither is an empty one", []string{usageRow("m1", "r1", `{}`)}, []string{"m1 r1 none"}},
		{"or a word", []string{usageRow("m1", "r1", `"lots"`)}, []string{"m1 r1 none"}},
		{"what no model wrote is no call", []string{crow("assistant", 1, `"isApiErrorMessage":false,"message":{"id":"s","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}],"usage":{"input_tokens":0}}`)}, nil},
		{"another session's row is a call if that session has no file", []string{strings.Replace(usageRow("m1", "r1", in(1)), claudeSession, "gone", 1)}, []string{"m1 r1 1/1/0/0"}},
		{"a row that is in no file of its session's is a call", []string{strings.Replace(usageRow("m1", "r1", in(1)), claudeSession, "another", 1)}, []string{"m1 r1 1/1/0/0"}},
		{"another session's row is no call", []string{strings.Replace(usageRow("m0", "r1", in(1)), claudeSession, "another", 1)}, nil},
		{"a fork's copy is no call", []string{usageRow("m1", "r1", in(1), `"requestSessionId":"another"`), usageRow("m2", "r2", in(1), `"requestSessionId":"`+claudeSession+`"`)}, []string{"m2 r2 1/1/0/0"}},
		{"neither is an older fork's", []string{usageRow("m1", "r1", in(1), `"forkedFrom":{"sessionId":"another"}`), usageRow("m2", "r2", in(1), `"forkedFrom":null`)}, []string{"m2 r2 1/1/0/0"}},
		{"a fork's copy is a call if the other session is gone", []string{usageRow("m1", "r1", in(1), `"requestSessionId":"gone"`), usageRow("m2", "r2", in(1), `"forkedFrom":{"sessionId":"gone"}`)}, []string{"m1 r1 1/1/0/0", "m2 r2 1/1/0/0"}},
		{"odd lines are passed over", []string{`{"type":"assistant","message":{"id":"torn","usage":{"input_tok`, "", "not json", "null", "[]", `{}`, `{"type":"future","v":1}`, `{"type":7}`, `{"type":"assistant","message":null}`, usageRow("m1", "r1", in(1))}, []string{"m1 r1 1/1/0/0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			f := newFinder(t)
			write(t, filepath.Join(filepath.Dir(claudePath(f)), "another.jsonl"), strings.Replace(usageRow("m0", "r0", in(1)), claudeSession, "another", 1))
			for _, c := range readLinesWith(t, f, tt.rows...).Requests {
				u := "none"
				if c.Usage != nil {
					u = fmt.Sprintf("%d/%d/%d/%d", c.Usage.Input, c.Usage.Output, c.Usage.CacheRead, c.Usage.CacheWrite)
				}
				got = append(got, c.ID+" "+c.RequestID+" "+u)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// The rows of the program that counts wrong in the most ways.
func TestClaudeEdgeRows(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "claude", "edge", "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFinder(t)
	write(t, claudePath(f), string(data))
	tr := readClaude(t, f, transcript.Query{Session: claudeSession})
	want := total{Input: 4 + 10 + 10 + 1 + 3 + 7, Output: 212 + 20 + 2 + 1 + 3, CacheWrite: 18240 + 42 + 100, Requests: 7}
	got := sum(tr.Requests)
	got.Cost = 0 // its parts are looked at below and elsewhere
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
	for _, c := range tr.Requests {
		if (c.Usage == nil) != (c.ID == "msg_01mTA9vFTDk2D467CAkaUpm9") {
			t.Errorf("call %q has the usage %+v", c.ID, c.Usage)
		}
		if c.Model == "claude-3-5-sonnet-20241022" && *c.Usage.CostUSD != 0.02 {
			t.Errorf("call %q costs %v, its row says 0.02", c.ID, *c.Usage.CostUSD)
		}
	}
	if len(tr.Prompts) != 0 || len(tr.Ends) != 0 {
		t.Errorf("prompts %v, ends %v; want none", tr.Prompts, tr.Ends)
	}
}

func TestClaudeCallIsPutTogether(t *testing.T) {
	tr := readLines(t,
		userRow("p1", 0, "go"),
		crow("api-request", 2, `"id":"q1","params":{"model":"claude-opus-5-5"}`),
		answerRow("msg_bdrk_1", 3, "first", "", `"uuid":"a","requestRef":"q1"`),
		answerRow("msg_bdrk_1", 4, "tool:t1", "", `"uuid":"b","requestRef":"q1"`),
		resultRow("p1", 5, "t1", "done", false),
		answerRow("msg_bdrk_1", 6, "second", "tool_use", `"uuid":"c"`),
		answerRow("msg_bdrk_1", 6, "second", "tool_use", `"uuid":"c"`),
		answerRow("msg_bdrk_1", 7, "tool:t2", "", `"uuid":"d"`),
		resultRow("p1", 9, "t2", "done", false),
		answerRow("msg_vrtx_2", 12, "last", "end_turn", `"uuid":"e","requestRef":"gone"`),
		summaryRow(13),
	)
	if diff := cmp.Diff([]hook.Request{
		{
			ID: "msg_bdrk_1", RequestID: "req_msg_bdrk_1", Turn: "p1", Start: sec(2), End: sec(7), Provider: "bedrock", Model: "claude-opus-5-5", ResponseModel: "claude-opus-5-5",
			FinishReason: "tool_use", Text: "first\nsecond", ToolCallIDs: []string{"t1", "t2"},
		},
		{
			// Without its request, what it answers is the nearest to know.
			ID: "msg_vrtx_2", RequestID: "req_msg_vrtx_2", Turn: "p1", Start: sec(9), End: sec(12), Provider: "vertex", Model: "claude-opus-5-5", ResponseModel: "claude-opus-5-5",
			FinishReason: "end_turn", Text: "last",
		},
	}, withoutUsage(tr.Requests)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if tr.Provider != "vertex" || tr.Pending {
		t.Errorf("provider %q, pending %v", tr.Provider, tr.Pending)
	}
}

func withoutUsage(calls []hook.Request) []hook.Request {
	for i := range calls {
		calls[i].Usage = nil
	}
	return calls
}

func TestClaudeSubagents(t *testing.T) {
	f := newFinder(t)
	base := strings.TrimSuffix(claudePath(f), suffix)
	agentFile := func(id, meta string, lines ...string) {
		path := filepath.Join(base, "subagents", "agent-"+id)
		write(t, path+suffix, strings.Join(lines, "\n")+"\n")
		if meta != "" {
			write(t, path+".meta.json", meta)
		}
	}
	const side = `"isSidechain":true`
	write(t, claudePath(f), strings.Join([]string{
		userRow("p1", 0, "go"),
		answerRow("m1", 1, "tool:t1", "tool_use"),
		answerRow("m1", 1, "tool:t9", "tool_use"),
		resultRow("p1", 20, "t1", "started", false, `"toolUseResult":{"agentId":"a1"}`),
		resultRow("p1", 20, "t9", "started", false, `"toolUseResult":{"agentId":"a9"}`),
		answerRow("m9", 21, "Done.", "end_turn"),
	}, "\n"))
	agentFile("a1", `{"agentType":"Explore","toolUseId":"t1","description":"look","spawnDepth":1}`,
		userRow("p1", 2, "look around", side), answerRow("m2", 3, "tool:t2", "tool_use", side), resultRow("p1", 8, "t2", "ok", false, side),
		answerRow("m4", 9, "Found.", "end_turn", side))
	agentFile("a2", `{"agentType":"Plan","toolUseId":"t2","description":"plan it","spawnDepth":2}`,
		userRow("p1", 4, "plan", side), answerRow("m3", 5, "thinking", "", side), userRow("p1", 6, "[Request interrupted by user]", side))
	agentFile("a3", `{"toolUseId":"t7","description":"described","spawnDepth":2,"finished":true}`,
		answerRow("m5", 6, "half", "max_tokens", side))
	agentFile("a9", "", // its meta is not there
		userRow("p1", 7, "nine", side), answerRow("m6", 8, "Nine.", "end_turn", side, `"attributionAgent":"claude"`))
	agentFile("empty", `{"agentType":"Explore"}`, "")
	tr := readClaude(t, f, transcript.Query{Session: claudeSession})
	if diff := cmp.Diff([]hook.Subagent{
		{ID: "a1", Type: "Explore", CallID: "t1", Turn: "p1", Task: "look around", Result: "Found.", Start: sec(2), End: sec(9)},
		{ID: "a2", Type: "Plan", CallID: "t2", Turn: "p1", Task: "plan", Result: "thinking", Start: sec(4)},
		{ID: "a3", CallID: "t7", Task: "described", Result: "half", Start: sec(6), End: sec(6)},
		{ID: "a9", Type: "claude", CallID: "t9", Turn: "p1", Task: "nine", Result: "Nine.", Start: sec(7), End: sec(8)},
	}, tr.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	var calls []string
	for _, c := range tr.Requests {
		calls = append(calls, c.ID+" "+c.Agent)
	}
	if diff := cmp.Diff([]string{"m1 ", "m2 a1", "m3 a2", "m5 a3", "m6 a9", "m4 a1", "m9 "}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(tr.Prompts) != 1 || len(tr.Ends) != 1 {
		t.Errorf("prompts %v, ends %v; want the lead's alone", tr.Prompts, tr.Ends)
	}

	// Files that were written last before the moment are not opened.
	old := filepath.Join(base, "subagents", "agent-a1"+suffix)
	if err := os.Chtimes(old, sec(9), sec(9)); err != nil {
		t.Fatal(err)
	}
	tr = readClaude(t, f, transcript.Query{Session: claudeSession, Since: sec(9).Add(transcript.LineSlack + time.Second)})
	for _, s := range tr.Sources {
		if s == old {
			t.Errorf("%s was read", s)
		}
	}
	if len(tr.Sources) != 5 {
		t.Errorf("sources = %v, want the lead's and four agents'", tr.Sources)
	}
}

// A subagent that was given the conversation has the lead's answers in its log.
func TestClaudeCopiesInSubagentsAreNotCountedTwice(t *testing.T) {
	f := newFinder(t)
	write(t, claudePath(f), userRow("p1", 0, "go")+"\n"+answerRow("m1", 1, "hello", "end_turn", `"uuid":"a"`))
	write(t, filepath.Join(strings.TrimSuffix(claudePath(f), suffix), "subagents", "agent-a1"+suffix),
		answerRow("m1", 1, "hello", "end_turn", `"uuid":"b","isSidechain":true`)+"\n"+answerRow("m2", 2, "own", "end_turn", `"isSidechain":true`))
	var got []string
	for _, c := range readClaude(t, f, transcript.Query{Session: claudeSession}).Requests {
		got = append(got, c.ID+" "+c.Agent+" "+c.Text)
	}
	if diff := cmp.Diff([]string{"m1  hello", "m2 a1 own"}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestResponsesWithOneRowEachAreIndexedOnce counts what is kept to find responses: only a message
// that has several is indexed by its conversation, too, and only one with several rows has their hashes.
func TestResponsesWithOneRowEachAreIndexedOnce(t *testing.T) {
	var c responses
	at := func(id, request string, side bool) *response {
		call, _ := c.at(id, request, "", side)
		return call
	}
	for i := range 100 {
		call := at(fmt.Sprint("m", i), fmt.Sprint("r", i), false)
		row := transcript.Content{{Type: "text", Text: "x"}}
		if call.seen(row) || !call.seen(row) || call.rows != nil {
			t.Fatalf("response %d: a row is new once, with hashes of rows %v", i, call.rows)
		}
	}
	if len(c.byID) != 100 || len(c.shown) > 0 {
		t.Errorf("%d messages and %d conversations, want 100 and none", len(c.byID), len(c.shown))
	}
	first, again, side := at("m0", "r0", false), at("m0", "again", false), at("m0", "", true)
	if first == again || first == side || again == side || at("m0", "again", false) != again || at("m0", "r0", false) != first || at("m0", "", false) != first {
		t.Error("the responses of one message are mixed up")
	}
	if at("m0", "aside", true) != side || side.RequestID != "aside" || at("m0", "other", true) == side {
		t.Error("a response takes the first request that is named")
	}
	if again.seen(transcript.Content{{Type: "text", Text: "x"}}) || again.seen(transcript.Content{{Type: "text", Text: "y"}}) || !again.seen(transcript.Content{{Type: "text", Text: "y"}}) {
		t.Error("different rows are taken for the same, or the same for different ones")
	}
}
