package cline

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// readTask reads a task of testdata.
func readTask(t *testing.T, folder, id string) *hook.Transcript {
	t.Helper()
	f := newFinder(t)
	copyDir(t, filepath.Join(f.Home, ".cline", "data", "tasks", id), folder)
	tr, err := query(t.Context(), f, DialectClassic, id)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// readRows reads a task made of ui rows and, where given, the other files.
func readRows(t *testing.T, rows []string, history, metadata string) *hook.Transcript {
	t.Helper()
	f := newFinder(t)
	dir := filepath.Join(f.Home, ".cline", "data", "tasks", "1")
	write(t, filepath.Join(dir, uiFile), "["+strings.Join(rows, ",")+"]")
	if history != "" {
		write(t, filepath.Join(dir, historyFile), history)
	}
	if metadata != "" {
		write(t, filepath.Join(dir, metadataFile), metadata)
	}
	tr, err := query(t.Context(), f, DialectClassic, "1")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// row writes one ui row; extra are further members with a leading comma.
func row(ts int64, say, text, extra string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"ts":%d,"type":"say","say":%q,"text":%s%s}`, ts, say, quoted, extra)
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func TestSumsEqualClinesOwn(t *testing.T) {
	var want struct {
		Totals struct {
			In    int64   `json:"totalTokensIn"`
			Out   int64   `json:"totalTokensOut"`
			Write int64   `json:"totalCacheWrites"`
			Read  int64   `json:"totalCacheReads"`
			Cost  float64 `json:"totalCost"`
		} `json:"expectedTotals"`
		Requests int `json:"apiReqStartedCount"`
	}
	readJSON(t, "../testdata/classic/expected_totals.json", &want)
	got := sum(readTask(t, "../../demo/task", classicTask).Requests)
	if math.Abs(got.Cost-want.Totals.Cost) > 1e-12 {
		t.Errorf("cost = %v, want %v", got.Cost, want.Totals.Cost)
	}
	got.Cost = 0
	if diff := cmp.Diff(total{
		Input: want.Totals.In, Output: want.Totals.Out, CacheWrite: want.Totals.Write, CacheRead: want.Totals.Read,
		Requests: want.Requests,
	}, got); diff != "" {
		t.Errorf("sums (-Cline +ours):\n%s", diff)
	}
}

// Cline 2 computed its sum before the last request's usage came.
func TestSumsEqualTheTaskHistoryUpToTheNewestRequest(t *testing.T) {
	var history []struct {
		ID    string  `json:"id"`
		In    int64   `json:"tokensIn"`
		Out   int64   `json:"tokensOut"`
		Write int64   `json:"cacheWrites"`
		Read  int64   `json:"cacheReads"`
		Cost  float64 `json:"totalCost"`
	}
	readJSON(t, "../testdata/cli2/taskHistory.json", &history)
	h := history[0]
	calls := readTask(t, "cli2/"+h.ID, h.ID).Requests
	if len(calls) != 6 {
		t.Fatalf("%d calls, want 6", len(calls))
	}
	want := total{Input: h.In, Output: h.Out, CacheWrite: h.Write, CacheRead: h.Read, Cost: h.Cost, Requests: 5}
	if diff := cmp.Diff(want, sum(calls[:5])); diff != "" {
		t.Errorf("all but the newest request (-Cline +ours):\n%s", diff)
	}
	if diff := cmp.Diff(total{Input: 8100, Output: 321, CacheRead: 1800, Requests: 6}, sum(calls)); diff != "" {
		t.Errorf("all requests (-want +got):\n%s", diff)
	}
}

// window is a call's place in time, in milliseconds after a base.
type window struct {
	Kind       hook.RequestKind
	Start, End int64
	Error      string
	Text       string
}

func windows(calls []hook.Request, base int64) []window {
	var ws []window
	for _, c := range calls {
		w := window{Kind: c.Kind, Start: c.Start.UnixMilli() - base, Error: c.Error, Text: c.Text}
		if !c.End.IsZero() {
			w.End = c.End.UnixMilli() - base
		}
		ws = append(ws, w)
	}
	return ws
}

func TestEachRequestHasItsWindow(t *testing.T) {
	tr := readTask(t, "../../demo/task", classicTask)
	want := []window{
		{Start: 534, End: 841, Text: "I'll start by reading the login module."},
		{Start: 1048, End: 1176, Text: "Let me run the tests to reproduce."},
		{Start: 1670, End: 2050, Text: "The password check is missing; editing."},
		{Start: 2323, End: 2451, Text: "Trying a full rewrite instead."},
		{Start: 3432, End: 3565, Text: "Re-running the tests with a subagent check."},
		{Kind: hook.RequestsOfSubagents, Start: 3569, End: 3569},
		{Start: 4336, End: 4476, Text: "Done."},
		{Start: 4813, End: 4957, Text: "Adding the test."},
		{Start: 5193, End: 5323, Text: "Done."},
		{Kind: hook.RequestsDeleted, Start: 5925, End: 5925},
		{Start: 6012, End: 6152, Error: "user_cancelled", Text: "Let me\n\n[Response interrupted by user]"},
		{Start: 6578, End: 6725, Text: "Docs updated."},
	}
	if diff := cmp.Diff(want, windows(tr.Requests, 1795175957000)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	first := tr.Requests[0]
	cost := 0.052872
	if diff := cmp.Diff(hook.Request{
		ID: "req-1795175957534", Start: time.UnixMilli(1795175957534).UTC(), End: time.UnixMilli(1795175957841).UTC(),
		Provider: "anthropic", Model: "claude-sonnet-4-5-20250929", Text: "I'll start by reading the login module.",
		Usage:       &hook.Usage{Input: 14, Output: 212, CacheWrite: 13240, CostUSD: &cost},
		ToolCallIDs: []string{"toolu_01A"},
	}, first); diff != "" {
		t.Errorf("first call (-want +got):\n%s", diff)
	}
	if tr.Pending {
		t.Error("a finished task is pending")
	}
}

func TestRequestWithoutReplyEndsWithWhatClineShowedNext(t *testing.T) {
	tr := readTask(t, "cli2/"+cli2Task, cli2Task)
	want := []window{
		{Start: 1189, End: 1740, Text: "I'll read the file first."},
		{Start: 1971, End: 2258, Text: "Fix it."},
		{Start: 6356, End: 6679, Text: "List and search."},
		{Start: 6925, End: 7356, Text: "Now run the tests."},
		{Start: 7858, End: 8195, Text: "Run passing tests."},
		// The history never got this reply; the completion was shown at 8980.
		{Start: 8660, End: 8980},
	}
	if diff := cmp.Diff(want, windows(tr.Requests, 1795174833000)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if u := tr.Requests[0].Usage; !u.InputIncludesCache || u.TotalInput() != 1100 {
		t.Errorf("usage %+v: an OpenAI compatible count includes the cache", u)
	}
}

func TestFactsAndPromptsOfATask(t *testing.T) {
	tr := readTask(t, "../../demo/task", classicTask)
	tr.Requests = nil
	for i, s := range tr.Sources {
		tr.Sources[i] = filepath.Base(s)
	}
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	if diff := cmp.Diff(&hook.Transcript{
		Provider: "anthropic", Model: "claude-sonnet-4-5-20250929",
		HostVersion: "4.0.12", HostApp: "Visual Studio Code",
		Prompts: []hook.Prompt{
			{At: at(1795175957341), Text: "Fix the login validation bug"},
			{At: at(1795175961730), Text: "Now add a test for whitespace-only passwords"},
			{At: at(1795175962928), Text: "Also update the docs"},
			{At: at(1795175963508), Text: "continue"},
		},
		Sources: []string{uiFile, historyFile, metadataFile},
	}, tr); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func TestPendingMeansTheNewestRequestMaySayMore(t *testing.T) {
	const task = `{"ts":1000,"type":"say","say":"task","text":"go"}`
	done := row(2000, "api_req_started", `{"request":"a","tokensIn":5,"tokensOut":1}`, "")
	for _, c := range []struct {
		name    string
		rows    []string
		pending bool
		// newestEnd is the newest request's end in ms, 0 for none.
		newestEnd int64
	}{
		{"no request yet", []string{task}, false, 0},
		{"usage there", []string{task, done, row(2500, "text", "hi", "")}, false, 2500},
		{"newest has none", []string{task, done, row(3000, "api_req_started", `{"request":"b"}`, ""), row(3500, "text", "x", "")}, true, 0},
		{"only an older one has none", []string{task, row(1500, "api_req_started", `{"request":"b"}`, ""), row(1600, "text", "x", ""), done}, false, 2000},
		{"cancelled", []string{
			task, row(3000, "api_req_started", `{"request":"b","cancelReason":"user_cancelled"}`, ""),
			row(3200, "hook_status", "{}", ""),
		}, false, 3200},
		{"its text is cut", []string{task, row(3000, "api_req_started", `{"request":"b`, "")}, true, 0},
		{"usage of zero is usage", []string{task, row(3000, "api_req_started", `{"request":"b","tokensIn":0}`, "")}, false, 3000},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := readRows(t, c.rows, "", "")
			if tr.Pending != c.pending {
				t.Errorf("pending = %v, want %v", tr.Pending, c.pending)
			}
			var end int64
			if n := len(tr.Requests); n > 0 && !tr.Requests[n-1].End.IsZero() {
				end = tr.Requests[n-1].End.UnixMilli()
			}
			if end != c.newestEnd {
				t.Errorf("newest request ends at %d, want %d", end, c.newestEnd)
			}
		})
	}
}

func TestRowsOfOddKinds(t *testing.T) {
	usage := `{"request":"x","tokensIn":10,"tokensOut":2,"cacheReads":4,"cost":0.5}`
	tr := readRows(t, []string{
		// The first row never counts, whatever it says.
		row(1, "api_req_started", usage, ""),
		row(2, "deleted_api_reqs", `{"tokensIn":1}`, ""),
		row(2, "deleted_api_reqs", `not JSON`, ""),
		row(2, "deleted_api_reqs", `{"tokensIn":2}`, ""),
		`17`, `null`, `"text"`, `{"ts":"x","type":7,"say":[]}`,
		row(10, "api_req_started", usage, `,"conversationHistoryIndex":"odd","modelInfo":7`),
		row(10, "api_req_started", strings.Replace(usage, "10", "11", 1), `,"conversationHistoryIndex":1e300`),
		row(20, "api_req_started", `{"request":"x","tokensIn":-5,"tokensOut":1e300,"streamingFailedMessage":"cut off"}`, ""),
		row(30, "error_retry", "", ""), row(25, "text", "", ""), row(40, "error", "", ""), row(35, "hook_status", "", ""),
		`{"ts":50,"type":"ask","ask":"followup","text":"?"}`,
	}, "", `{"model_usage":[{"ts":5,"model_id":"a","model_provider_id":"litellm"},
		{"ts":15,"model_id":"b","model_provider_id":"openai"},{"ts":99,"model_id":"c","model_provider_id":"anthropic"}],
		"environment_history":[{"ts":2,"host_name":"B","cline_version":"2"},{"ts":1,"host_name":"A","cline_version":"1"}]}`)
	type call struct {
		ID, Model, Error, Message string
		Input                     int64
		Includes                  bool
		End                       int64
	}
	var got []call
	for _, c := range tr.Requests {
		got = append(got, call{c.ID, c.Provider + "/" + c.Model, c.Error, c.Message, c.Usage.Input, c.Usage.InputIncludesCache, c.End.UnixMilli()})
	}
	if diff := cmp.Diff([]call{
		{"deleted-2", "litellm/a", "", "", 1, true, 2},
		{"deleted-2-2", "litellm/a", "", "", 2, true, 2},
		{"req-10", "litellm/a", "", "", 10, true, 10},
		{"req-10-2", "litellm/a", "", "", 11, true, 10},
		{"req-20", "openai/b", "streaming_failed", "cut off", 0, true, 35},
	}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if tr.Model != "c" || tr.HostApp != "B" || tr.HostVersion != "2" {
		t.Errorf("model %q, app %q, version %q; want the newest of each", tr.Model, tr.HostApp, tr.HostVersion)
	}
}
