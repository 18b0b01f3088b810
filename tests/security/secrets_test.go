package security_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/plantedkeys"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// nothingOut is the rule of the rows that plant keys.
const nothingOut = "no eight characters in a row of a key's secret part come out"

// secretRows plant keys where an agent may meet them. A trial is a key in a place.
var secretRows = []proof.Row{
	{
		Name:  "a key of each form in every text of every payload and transcript, mapped for every destination",
		Rule:  nothingOut,
		Short: 80_000, Long: 3_000_000, Run: keysInEveryText,
	},
	{
		Name:  "a key on either side of every preview limit, so that the cut falls behind each of its bytes",
		Rule:  nothingOut,
		Short: 800, Long: 50_000, Run: keysAtLimits,
	},
}

// places put a key into what holds keys in an agent's texts.
var places = []struct {
	name string
	put  func(key string) string
}{
	{"plain text", func(k string) string { return "I will use " + k + " for this." }},
	{"a shell command", func(k string) string { return "cd /srv && export X='" + k + "' && make deploy 2>&1 | tail -5" }},
	{"a URL", func(k string) string { return "curl -s 'https://api.example.org/v1/items?page=2&k=" + k + "&z=1'" }},
	{"JSON", func(k string) string { return string(asJSON(map[string]string{"config": k, "z": "1"})) }},
	{"JSON in JSON", func(k string) string {
		return "x " + string(asJSON(map[string]string{"body": string(asJSON(map[string]string{"config": k}))}))
	}},
	{"a file with line numbers", func(k string) string { return "  1\t# settings\n  2\t" + k + "\n  3\tPORT=8080\n" }},
	{"a diff", func(k string) string { return "@@ -1,2 +1,2 @@\n-" + k + "\n+# removed\n" }},
	{"an error's text", func(k string) string {
		return "Error: request failed: 401 Unauthorized: invalid key (" + k + ")\n    at send (/app/index.js:12:5)"
	}},
	{"a terminal's colours", func(k string) string { return "\x1b[32m" + k + "\x1b[0m" }},
}

// keysInEveryText plants round after round, so that each text meets each key.
func keysInEveryText(t *testing.T, r *proof.Result) {
	clean, all := redact.New(nil), plantedkeys.Keys()
	finder := plantedkeys.NewFinder(all)
	found := 0
	used, fields := map[int]bool{}, map[string]int{}
	captures := []otelmap.Capture{otelmap.CaptureFull, otelmap.CapturePreview, otelmap.CaptureFull, otelmap.CaptureNone}
	trials := 0
	for round := 0; trials < r.N || len(used) < len(all); round++ {
		for i, rec := range recordings {
			n := round*11 + i*13
			p := plantedkeys.Planter{Fields: fields, Names: round%2 == 1, All: round%4 == 2, Next: func(string) string {
				n++
				trials++
				used[n%len(all)] = true
				return places[(n/len(all)+round+n)%len(places)].put(all[n%len(all)].Text())
			}}
			in := rec.events(t)
			for j := range in {
				in[j].Payload = p.Document(in[j].Payload)
			}
			spans := mapped(clean, captures[round%len(captures)], rec.host(), decodeAll(rec.host(), in), func(session string) *hook.Transcript {
				if p.All {
					return nil
				}
				return rec.transcript(t, session, p.Document)
			})
			text := sent(t, spans)
			found += strings.Count(text, "[REDACTED:")
			if k, around := finder.Find(text); k >= 0 {
				r.Break("round %d, %s: key %d came out: %q", round, rec.payloads, k, around)
			}
		}
	}
	r.Trial(trials)
	if found < trials/20 {
		t.Errorf("only %d of %d keys were met in what went out: the search looks in the wrong place", found, trials)
	}
	r.Note("%d forms of keys, %d members", len(all), len(fields))
}

// keysAtLimits has each text of two tasks hold a key at the place where it is
// cut. The text before has no secrets, and shows that the cut is where it is.
func keysAtLimits(t *testing.T, r *proof.Result) {
	clean, all := redact.New(nil), plantedkeys.Keys()
	limits := []int{30, 50, 64, 100, 200, 300, 500, 1000, 2000, otelmap.MaxTaskRunes}
	// cuts are the texts that a key at this place made shorter.
	cuts := 0
	trial := func(k plantedkeys.Key, limit, at int) {
		text := filler(limit-at) + k.Text() + " and " + filler(700)
		for _, task := range []shortTask{classicTask, claudeTask} {
			events := decodeAll(task.host, task.events(text))
			got := sent(t, mapped(clean, otelmap.CapturePreview, task.host, events, noTranscript))
			if l := k.Leak(got); l != "" {
				i := strings.Index(got, l)
				r.Break("limit %d, %d bytes of key %q: %q", limit, at, k.Before, got[max(0, i-90):min(len(got), i+60)])
			}
			cuts += strings.Count(got, "…")
		}
		r.Trial(1)
	}
	var total int
	for _, k := range all {
		total += (len(k.Text()) + 1) * len(limits)
	}
	// With a step that shares no factor with it, each run takes others evenly.
	step := max(1, total/r.N)
	n, done := 0, 0
	for _, k := range all {
		for _, limit := range limits {
			for at := 0; at <= len(k.Text()); at++ {
				if n++; n%step == 0 {
					trial(k, limit, min(at, limit))
					done++
				}
			}
		}
	}
	if cuts < done {
		t.Errorf("%d texts were cut in %d trials: the limits are not where they were", cuts, done)
	}
	r.Note("%d limits, %d keys", len(limits), len(all))
}

// filler is n bytes of ordinary text that ends with a blank.
func filler(n int) string {
	const words = "the quick brown fox jumps over the lazy dog while it rains "
	if n <= 0 {
		return ""
	}
	return strings.Repeat(words, n/len(words)+1)[:n-1] + " "
}

// asJSON writes a value as the hosts do.
func asJSON(v any) []byte {
	return []byte(rawjson.Encode(v))
}

// shortTask is a session that holds one text in every place that can hold one.
type shortTask struct {
	host   string
	events func(text string) []lab.Event
}

var classicTask = shortTask{"cline", func(text string) []lab.Event {
	return []lab.Event{
		clineOf("TaskStart", 1, map[string]any{"taskStart": map[string]any{"taskMetadata": map[string]any{"taskId": "17", "ulid": "01", "initialTask": text}}}),
		clineOf("UserPromptSubmit", 2, map[string]any{"userPromptSubmit": map[string]any{"prompt": text, "attachments": []string{}}}),
		clineOf("PreToolUse", 3, map[string]any{"preToolUse": map[string]any{"toolName": "execute_command", "parameters": map[string]any{"command": text, "requires_approval": "true"}}}),
		clineOf("PostToolUse", 4, map[string]any{"postToolUse": map[string]any{
			"toolName": "execute_command", "parameters": map[string]any{"command": text, "requires_approval": "true"},
			"result": text, "success": true, "executionTimeMs": 3,
		}}),
		clineOf("PostToolUse", 5, map[string]any{"postToolUse": map[string]any{
			"toolName": "read_file", "parameters": map[string]any{"path": "a"},
			"result": "The tool execution failed with the following error:\n<error>\n" + text + "\n</error>", "success": true, "executionTimeMs": 3,
		}}),
		clineOf("Notification", 6, map[string]any{"notification": map[string]any{"event": "x", "source": "y", "message": text, "waitingForUserInput": false}}),
		clineOf("TaskComplete", 7, map[string]any{"taskComplete": map[string]any{"taskMetadata": map[string]any{"taskId": "17", "ulid": "01", "result": text, "command": text}}}),
	}
}}

var claudeTask = shortTask{"claude-code", func(text string) []lab.Event {
	return []lab.Event{
		claudeEvent("UserPromptSubmit", map[string]any{"prompt": text}),
		claudeEvent("PreToolUse", map[string]any{"tool_name": "Bash", "tool_use_id": "t1", "tool_input": map[string]any{"command": text, "description": text}}),
		claudeEvent("PostToolUse", map[string]any{"tool_name": "Bash", "tool_use_id": "t1", "tool_input": map[string]any{"command": text, "description": text}, "tool_response": map[string]any{"stdout": text, "stderr": text}}),
		claudeEvent("PreToolUse", map[string]any{"tool_name": "Agent", "tool_use_id": "t2", "tool_input": map[string]any{"prompt": text, "subagent_type": "Explore"}}),
		claudeEvent("PostToolUseFailure", map[string]any{"tool_name": "Agent", "tool_use_id": "t2", "tool_input": map[string]any{"prompt": text, "subagent_type": "Explore"}, "error": text}),
		claudeEvent("Notification", map[string]any{"message": text, "notification_type": "idle_prompt"}),
		claudeEvent("Stop", map[string]any{"stop_hook_active": false, "last_assistant_message": text}),
	}
}}

func clineOf(name string, n int, body map[string]any) lab.Event {
	body["hookName"], body["taskId"], body["clineVersion"] = name, "17", "4.0.12"
	body["timestamp"] = fmt.Sprint(1795175957341 + n*1000)
	body["workspaceRoots"], body["userId"] = []string{"/home/dev/project"}, "u"
	return lab.Event{Name: name, Payload: asJSON(body)}
}

func claudeEvent(name string, body map[string]any) lab.Event {
	body["hook_event_name"], body["session_id"], body["prompt_id"] = name, "s-1", "p-1"
	body["cwd"], body["transcript_path"], body["permission_mode"] = "/home/dev/project", "/none.jsonl", "default"
	return lab.Event{Name: name, Payload: asJSON(body)}
}
