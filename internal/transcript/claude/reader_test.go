package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// claudeSession is the session of transcripts made by tests.
const claudeSession = "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17"

// claudeDay is the day of transcripts made by tests.
var claudeDay = time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)

// sec is a moment of that day.
func sec(n int) time.Time { return claudeDay.Add(time.Duration(n) * time.Second) }

// crow makes a line: a type, when, and further members as JSON.
func crow(kind string, at int, members ...string) string {
	head := fmt.Sprintf(`"type":%q,"timestamp":%q,"sessionId":%q`, kind, sec(at).Format(time.RFC3339Nano), claudeSession)
	return "{" + strings.Join(append([]string{head}, members...), ",") + "}"
}

func userRow(turn string, at int, text string, more ...string) string {
	return crow("user", at, append([]string{
		fmt.Sprintf(`"promptId":%q,"message":{"role":"user","content":%s}`, turn, quoteJSON(text)),
	}, more...)...)
}

func resultRow(turn string, at int, id, text string, failed bool, more ...string) string {
	return crow("user", at, append([]string{
		fmt.Sprintf(`"promptId":%q,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s,"is_error":%t}]}`,
			turn, id, quoteJSON(text), failed),
	}, more...)...)
}

// answerRow is one block of an answer: a text, or with "tool:<id>" a call.
func answerRow(id string, at int, block, stop string, more ...string) string {
	content := fmt.Sprintf(`{"type":"text","text":%s}`, quoteJSON(block))
	if tool, ok := strings.CutPrefix(block, "tool:"); ok {
		content = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"ls"}}`, tool)
	}
	reason := "null"
	if stop != "" {
		reason = `"` + stop + `"`
	}
	return crow("assistant", at, append([]string{fmt.Sprintf(
		`"requestId":"req_%s","message":{"id":%q,"model":"claude-opus-5-5","content":[%s],"stop_reason":%s,"usage":{"input_tokens":10,"output_tokens":5}}`,
		id, id, content, reason)}, more...)...)
}

func summaryRow(at int) string { return crow("system", at, `"subtype":"stop_hook_summary"`) }

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// claudePath is where a test's transcript lies.
func claudePath(f *transcript.Files) string {
	return filepath.Join(f.Home, ".claude", "projects", "-home-dev-project", claudeSession+suffix)
}

// readRows reads a transcript of the given lines.
func readLines(t *testing.T, lines ...string) *hook.Transcript {
	t.Helper()
	return readLinesWith(t, newFinder(t), lines...)
}

func readLinesWith(t *testing.T, f *transcript.Files, lines ...string) *hook.Transcript {
	t.Helper()
	write(t, claudePath(f), strings.Join(lines, "\n")+"\n")
	return readClaude(t, f, transcript.Query{Session: claudeSession})
}

func readClaude(t *testing.T, f *transcript.Files, q transcript.Query) *hook.Transcript {
	t.Helper()
	tr, err := f.Read(t.Context(), Agent, q)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// readFixture reads the only session of a folder of testdata/claude, or the
// one whose id begins with prefix.
func readFixture(t *testing.T, folder, prefix string) *hook.Transcript {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "claude", folder, "projects", "*", prefix+"*.jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s has the transcripts %v, %v", folder, paths, err)
	}
	f := newFinder(t)
	if err := os.CopyFS(filepath.Join(f.Home, ".claude"), os.DirFS(filepath.Join("..", "testdata", "claude", folder))); err != nil {
		t.Fatal(err)
	}
	return readClaude(t, f, transcript.Query{Session: strings.TrimSuffix(filepath.Base(paths[0]), suffix)})
}

// recorded are the sessions of the real program with one model's answers
// beside them.
var recorded = []string{"tools-resume", "subagent", "background-subagent", "interrupt"}

// Each request that the model answered is a call with its counts, once, and
// nothing else is.
func TestClaudeCallsAreWhatTheModelAnswered(t *testing.T) {
	type call struct {
		ID, Model, Text          string
		In, Out, Read, Write     int64
		Tools, AnsweredWithTools int
	}
	for _, folder := range recorded {
		t.Run(folder, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "testdata", "claude", folder, "model-requests.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			want := make(map[string]call)
			for line := range strings.Lines(string(data)) {
				var r struct {
					ID    string `json:"id"`
					Model string `json:"model"`
					Usage struct {
						In    int64 `json:"input_tokens"`
						Out   int64 `json:"output_tokens"`
						Read  int64 `json:"cache_read_input_tokens"`
						Write int64 `json:"cache_creation_input_tokens"`
					} `json:"usage"`
					Turn struct {
						Text  string            `json:"text"`
						Tools []json.RawMessage `json:"tools"`
					} `json:"turn"`
				}
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				u := r.Usage
				want[r.ID] = call{r.ID, r.Model, r.Turn.Text, u.In, u.Out, u.Read, u.Write, len(r.Turn.Tools), len(r.Turn.Tools)}
			}
			tr := readFixture(t, folder, "")
			answered := make(map[string]bool)
			for _, r := range tr.ToolResults {
				answered[r.ID] = true
			}
			got := make(map[string]call)
			for _, c := range tr.Requests {
				u := c.Usage
				if u == nil {
					t.Fatalf("call %q has no usage", c.ID)
				}
				n := 0
				for _, id := range c.ToolCallIDs {
					if answered[id] {
						n++
					}
				}
				got[c.ID] = call{c.ID, c.Model, c.Text, u.Input, u.Output, u.CacheRead, u.CacheWrite, len(c.ToolCallIDs), n}
				if c.Turn == "" || c.Start.IsZero() || c.End.Before(c.Start) || c.FinishReason == "" || c.Provider != "anthropic" || !strings.HasPrefix(c.RequestID, "req_") {
					t.Errorf("call is not whole: %+v", c)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(tr.Requests) != len(want) {
				t.Errorf("%d calls (-model +ours):\n%s", len(tr.Requests), diff)
			}
		})
	}
}

// Claude Code's own sum stands in its files.
func TestClaudeCostEqualsItsOwn(t *testing.T) {
	for _, folder := range append(recorded, "api-error", "stop-blocked", "denied-rule", "no-such-tool") {
		t.Run(folder, func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join("..", "testdata", "claude", folder, "projects", "*", "*.jsonl"))
			if err != nil || len(paths) != 1 {
				t.Fatal(paths, err)
			}
			data, err := os.ReadFile(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			type models map[string]struct {
				In, Out, Read, Write int64
				Cost                 float64
			}
			type state struct {
				Total  float64 `json:"totalCostUSD"`
				Models map[string]struct {
					In    int64   `json:"inputTokens"`
					Out   int64   `json:"outputTokens"`
					Read  int64   `json:"cacheReadInputTokens"`
					Write int64   `json:"cacheCreationInputTokens"`
					Cost  float64 `json:"costUSD"`
				} `json:"modelUsage"`
			}
			var own *state
			for line := range strings.Lines(string(data)) {
				if strings.Contains(line, `"cost-state"`) {
					own = &state{}
					if err := json.Unmarshal([]byte(line), own); err != nil {
						t.Fatal(err)
					}
				}
			}
			if own == nil {
				t.Fatal("no row holds the sum")
			}
			var total float64
			want, got := models{}, models{}
			for name, m := range own.Models {
				want[name] = struct {
					In, Out, Read, Write int64
					Cost                 float64
				}{m.In, m.Out, m.Read, m.Write, m.Cost}
			}
			tr := readFixture(t, folder, "")
			for _, c := range tr.Requests {
				if c.Usage == nil {
					continue
				}
				total += *c.Usage.CostUSD
				m := got[c.Model]
				m.In += c.Usage.Input
				m.Out += c.Usage.Output
				m.Read += c.Usage.CacheRead
				m.Write += c.Usage.CacheWrite
				m.Cost += *c.Usage.CostUSD
				got[c.Model] = m
			}
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
			if diff := cmp.Diff(want, got, near); diff != "" || math.Abs(total-own.Total) > 1e-9 {
				t.Errorf("sums, %v in all, want %v (-Claude +ours):\n%s", total, own.Total, diff)
			}
		})
	}
}

func TestClaudeSumsOfAWholeSession(t *testing.T) {
	var want struct{ Main, Subagent map[string]map[string]any }
	readJSON(t, filepath.Join("..", "testdata", "claude", "2.1.240", "usage.json"), &want)
	type sums struct {
		Calls, In, Write, Read, Out, All int64
		Cost                             string
	}
	wanted := make(map[string]sums)
	for agent, models := range map[string]map[string]map[string]any{"": want.Main, "a3f9c1d27be04a815": want.Subagent} {
		for model, m := range models {
			n := func(key string) int64 { return int64(m[key].(float64)) }
			wanted[agent+" "+model] = sums{
				n("responses"), n("input_tokens"), n("cache_creation_input_tokens"), n("cache_read_input_tokens"),
				n("output_tokens"), n("gen_ai.usage.input_tokens"), fmt.Sprintf("%.6f", m["cost_usd"]),
			}
		}
	}
	got := make(map[string]sums)
	costs := make(map[string]float64)
	for _, c := range readFixture(t, "2.1.240", "").Requests {
		if c.Usage == nil {
			continue
		}
		key := c.Agent + " " + c.Model
		s := got[key]
		s.Calls++
		s.In += c.Usage.Input
		s.Write += c.Usage.CacheWrite
		s.Read += c.Usage.CacheRead
		s.Out += c.Usage.Output
		s.All += c.Usage.TotalInput()
		costs[key] += *c.Usage.CostUSD
		s.Cost = fmt.Sprintf("%.6f", costs[key])
		got[key] = s
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}

func TestClaudeFailedRequestsAreCalls(t *testing.T) {
	tr := readFixture(t, "api-error", "")
	start := time.Date(2026, 11, 20, 12, 54, 39, 844e6, time.UTC)
	const turn = "f07910d7-9009-4090-b0ca-3caad8ee5dce"
	if diff := cmp.Diff([]hook.Request{{
		ID: "c6ad74d5-535f-4926-9ad4-f0498b4ab709", Turn: turn, Start: start, End: start.Add(111 * time.Millisecond),
		Provider: "anthropic", Model: "claude-opus-5-5", Error: "invalid_request_error", Message: "API Error: 400 mock error",
	}}, tr.Requests); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]hook.TurnEnd{{
		Turn: turn, At: start.Add(111 * time.Millisecond), Kind: hook.KindRunError,
		Message: "API Error: 400 mock error", ErrorType: "unknown",
	}}, tr.Ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if tr.Pending {
		t.Error("a turn that failed is pending")
	}
}

func TestClaudeSessionAsAWhole(t *testing.T) {
	tr := readFixture(t, "background-subagent", "")
	at := func(ms int) time.Time { return time.Date(2026, 11, 20, 12, 54, 38, ms*1e6, time.UTC) }
	const (
		first = "22593cc4-9293-4319-a735-b4ab567aeee7"
		then  = "3e086ccd-48e3-4295-accc-63f8544e5e69"
		agent = "a65db812f4b83f23a"
	)
	if diff := cmp.Diff([]hook.Subagent{{
		ID: agent, Type: "general-purpose", CallID: "toolu_mwoze3xx_1_0", Turn: first,
		Task: "look around the house", Result: "Sub done.", Start: at(713), End: at(876),
	}}, tr.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]hook.TurnEnd{
		{Turn: first, At: at(813), Kind: hook.KindRunComplete, Result: "Delegated and done."},
		{Turn: then, At: at(968), Kind: hook.KindRunComplete, Result: "Delegated and done."},
	}, tr.Ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	type result struct {
		ID, Agent, Turn, Name, Input string
		Status                       hook.ToolStatus
		Asked, At                    time.Time
	}
	var results []result
	for _, r := range tr.ToolResults {
		results = append(results, result{r.ID, r.Agent, r.Turn, r.Name, r.Input, r.Status, r.Asked, r.At})
	}
	if diff := cmp.Diff([]result{
		{
			"toolu_mwoze3xx_1_0", "", first, "Agent",
			`{"description":"Look around","prompt":"look around the house","run_in_background":true,"subagent_type":"general-purpose"}`,
			hook.ToolOK, at(689), at(748),
		},
		{"toolu_mwoze3xx_2_1", agent, first, "Read", `{"file_path":"/nope"}`, hook.ToolFailed, at(763), at(840)},
		{"toolu_mwoze3xx_2_0", agent, first, "Bash", `{"command":"echo sub","description":"sub"}`, hook.ToolOK, at(757), at(854)},
	}, results); diff != "" {
		t.Errorf("tool results (-want +got):\n%s", diff)
	}
	if len(tr.Prompts) != 2 || tr.Prompts[0].Injected || !tr.Prompts[1].Injected || tr.Prompts[1].Turn != then ||
		!strings.HasPrefix(tr.Prompts[1].Text, "<task-notification>") {
		t.Errorf("prompts = %+v, want the user's and the news of the agent", tr.Prompts)
	}
	var calls []string
	for _, c := range tr.Requests {
		calls = append(calls, fmt.Sprint(c.ID, " ", c.Agent, " ", c.Turn == first, " ", c.Start.Sub(at(0)), " ", c.End.Sub(at(0))))
	}
	if diff := cmp.Diff([]string{
		"msg_mwoze3xx_1  true 681ms 689ms",
		"msg_mwoze3xx_2 " + agent + " true 754ms 763ms",
		"msg_mwoze3xx_3  true 812ms 813ms",
		"msg_mwoze3xx_4 " + agent + " true 874ms 876ms",
		"msg_mwoze3xx_5  false 964ms 968ms",
	}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for i, s := range tr.Sources {
		tr.Sources[i] = filepath.Base(s)
	}
	tr.Agents, tr.Checkouts, tr.Ends, tr.ToolResults, tr.Prompts, tr.Requests = nil, nil, nil, nil, nil, nil // goldens have the checkouts
	if diff := cmp.Diff(&hook.Transcript{
		Provider: "anthropic", Model: "claude-opus-5-5", HostVersion: "2.1.329", Cwd: "/home/dev/project",
		Session: "764ec3b4-c2f4-4826-ac4c-af76d495ab41",
		Sources: []string{"764ec3b4-c2f4-4826-ac4c-af76d495ab41.jsonl", "agent-" + agent + ".jsonl"},
	}, tr); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
}

func TestClaudeTranscriptIsFound(t *testing.T) {
	prompt := func(text string) string { return userRow("p1", 0, text) + "\n" }
	name := claudeSession + suffix
	for _, tt := range []struct {
		name  string
		files map[string]string // below the home directory, by text of the prompt
		dir   string            // of transcript_path, below home
		base  string
		want  string // empty: not found
	}{
		{"by the hook's path", map[string]string{"elsewhere/" + name: "path"}, "elsewhere", name, "path"},
		{"by the hook's path, and what other projects have of it", map[string]string{"elsewhere/" + name: "path", ".claude/projects/p/" + name: "searched"}, "elsewhere", name, "searched path"},
		{"by search where the path is gone", map[string]string{".claude/projects/p/" + name: "searched"}, "elsewhere", name, "searched"},
		{"by search where the path is another's", map[string]string{"x/other.jsonl": "other", ".claude/projects/p/" + name: "searched"}, "x", "other.jsonl", "searched"},
		{"by search where the path is a folder", map[string]string{"y/" + name + "/f": "other", ".claude/projects/p/" + name: "searched"}, "y", name, "searched"},
		{"without a path", map[string]string{".claude/projects/p/" + name: "searched"}, "", "", "searched"},
		{"in the older folder", map[string]string{".config/claude/projects/p/" + name: "old"}, "", "", "old"},
		{"in the folder that the environment names", map[string]string{"conf/projects/p/" + name: "env"}, "", "", "env"},
		{"nowhere", map[string]string{".claude/projects/p/other.jsonl": "other"}, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFinder(t)
			f.Getenv = func(name string) string {
				if name == "CLAUDE_CONFIG_DIR" {
					return filepath.Join(f.Home, "conf")
				}
				return ""
			}
			for file, text := range tt.files {
				write(t, filepath.Join(f.Home, filepath.FromSlash(file)), prompt(text))
			}
			q := transcript.Query{Session: claudeSession}
			if tt.dir != "" {
				q.Path = filepath.Join(f.Home, tt.dir, tt.base)
			}
			tr, err := f.Read(t.Context(), Agent, q)
			if tt.want == "" {
				if !errors.Is(err, transcript.ErrNotFound) || tr != nil || !strings.Contains(err.Error(), filepath.Join(f.Home, ".claude")) {
					t.Errorf("got %v, %v; want transcript.ErrNotFound that says where", tr, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, p := range tr.Prompts {
				texts = append(texts, p.Text)
			}
			if strings.Join(texts, " ") != tt.want {
				t.Errorf("prompts = %v, want %q", tr.Prompts, tt.want)
			}
		})
	}
}

func TestClaudeRefusesHostileIDs(t *testing.T) {
	f := newFinder(t)
	write(t, filepath.Join(f.Home, ".claude", "projects", "evil.jsonl"), "{}\n")
	for _, id := range []string{"", ".", "..", "../evil", "a/b", `a\b`, "a\x00b", "a.b"} {
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: id, Path: filepath.Join(f.Home, id+suffix)})
		if err == nil || errors.Is(err, transcript.ErrNotFound) || !strings.Contains(err.Error(), "refused") || tr != nil {
			t.Errorf("Claude(%q) = %v, %v; want the id refused", id, tr, err)
		}
	}
}

func TestClaudeStopsWithTheContext(t *testing.T) {
	f := newFinder(t)
	write(t, claudePath(f), userRow("p1", 0, "go")+"\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, q := range []transcript.Query{{Session: claudeSession}, {Session: claudeSession, Path: claudePath(f)}, {Session: claudeSession, Path: claudePath(f), Since: sec(1)}} {
		if _, err := f.Read(ctx, Agent, q); !errors.Is(err, context.Canceled) {
			t.Errorf("Claude(%+v) = %v, want context.Canceled", q, err)
		}
	}
	if _, err := f.Sessions(ctx, Agent); !errors.Is(err, context.Canceled) {
		t.Errorf("ClaudeSessions = %v, want context.Canceled", err)
	}
}

func TestClaudeSessionsAreListedNewestLast(t *testing.T) {
	f := newFinder(t)
	base := filepath.Join(f.Home, ".claude", "projects")
	for i, file := range []string{
		"p/s2.jsonl", "q/s1.jsonl", "p/agent-a1.jsonl", "p/notes.txt", "p/s2/subagents/agent-a2.jsonl", "p/bad id.jsonl", "q/s3.jsonl", "p/s3.jsonl",
	} {
		path := filepath.Join(base, filepath.FromSlash(file))
		write(t, path, "{}\n")
		if err := os.Chtimes(path, sec(i), sec(i)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Sessions(t.Context(), Agent)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].ModTime = got[i].ModTime.UTC()
	}
	beside := []string{filepath.Join(base, "p", "agent-a1.jsonl")}
	if diff := cmp.Diff([]transcript.Session{
		{ID: "s2", Dialect: Dialect, Path: filepath.Join(base, "p", "s2.jsonl"), Others: beside, ModTime: sec(0)},
		{ID: "s1", Dialect: Dialect, Path: filepath.Join(base, "q", "s1.jsonl"), ModTime: sec(1)},
		{ID: "s3", Dialect: Dialect, Path: filepath.Join(base, "p", "s3.jsonl"), Others: append(beside, filepath.Join(base, "q", "s3.jsonl")), ModTime: sec(7)},
	}, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

// A row glued behind a torn one, rows with raw control characters, a byte order mark and
// blocks of NUL cost nothing but what is torn.
func TestDamagedLinesCostOnlyThemselves(t *testing.T) {
	whole := []string{userRow("p1", 0, "one"), answerRow("m1", 1, "first", "end_turn"), userRow("p2", 5, "two"), answerRow("m2", 6, "second", "end_turn")}
	tr := readLines(t, "\ufeff"+whole[0]+"\r", whole[1][:len(whole[1])/2]+whole[1], "\x00\x00"+whole[2], strings.Replace(whole[3], "second", "sec\n\x1bond", 1))
	if len(tr.Requests) != 2 || len(tr.Prompts) != 2 || len(tr.Ends) != 2 || tr.Requests[1].Text != "sec\n\x1bond" {
		t.Errorf("read %+v", tr)
	}
}

// TestEditor: the program that the agent runs in is named.
func TestEditor(t *testing.T) {
	for entrypoint, want := range map[string]string{"claude-vscode": hook.InVSCode, "cli": ""} {
		tr := readLines(t, `{"type":"user","uuid":"u","sessionId":"s1","entrypoint":"`+entrypoint+`","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"go"}}`)
		if tr.HostApp != want {
			t.Errorf("%s: in %q, want %q", entrypoint, tr.HostApp, want)
		}
	}
}
