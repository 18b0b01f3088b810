package cline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

func TestRepliesAreMatchedByPlaceAndTime(t *testing.T) {
	const usage = `{"request":"x","tokensIn":1}`
	req := func(ts int64, index string) string {
		return row(ts, "api_req_started", usage, `,"conversationHistoryIndex":`+index)
	}
	const task = `{"ts":1000,"type":"say","say":"task","text":"go"}`
	two := []string{task, req(2000, "-1"), req(3000, "1")}
	for _, c := range []struct {
		name    string
		rows    []string
		history string
		want    []window
	}{
		{
			"index rule", two, `[{"role":"user","ts":2001},{"role":"assistant","ts":2500,"content":"a"},
			{"role":"user","ts":3001},{"role":"assistant","ts":3500,"content":"b"}]`,
			[]window{{Start: 2000, End: 2500, Text: "a"}, {Start: 3000, End: 3500, Text: "b"}},
		},
		{
			"history cut in front: time decides", two, `[{"role":"assistant","ts":2500,"content":"a"},
			{"role":"user","ts":3001},{"role":"assistant","ts":3500,"content":"b"}]`,
			[]window{{Start: 2000, End: 2500, Text: "a"}, {Start: 3000, End: 3500, Text: "b"}},
		},
		{
			"the place holds the reply of a later request",
			[]string{task, req(2000, "-1"), req(3000, "-1")},
			`[{"role":"user","ts":3001},{"role":"assistant","ts":3500,"content":"b"}]`,
			[]window{{Start: 2000, End: 2000}, {Start: 3000, End: 3500, Text: "b"}},
		},
		{
			"a reply answers once",
			[]string{task, req(2000, "-1"), row(2000, "api_req_started", `{"tokensIn":2}`, `,"conversationHistoryIndex":-1`)},
			`[{"role":"user","ts":2001},{"role":"assistant","ts":2000,"content":"a"}]`,
			[]window{{Start: 2000, End: 2000, Text: "a"}, {Start: 2000, End: 2000}},
		},
		{
			"history without times: place decides, the rows give the end",
			[]string{task, req(2000, "-1"), row(2200, "text", "a", ""), row(2300, "tool", "{}", "")},
			`[{"role":"user"},{"role":"assistant","content":[{"type":"text","text":"a"}]}]`,
			[]window{{Start: 2000, End: 2300, Text: "a"}},
		},
		{
			"the place holds a user message",
			[]string{task, req(2000, "-1"), row(2200, "text", "a", "")},
			`[{"role":"user","ts":2001},{"role":"user","ts":2100}]`,
			[]window{{Start: 2000, End: 2200}},
		},
		{
			"history is odd",
			[]string{task, req(2000, "-1")},
			`[1,null,"x",{"role":5,"content":{}}]`,
			[]window{{Start: 2000, End: 2000}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, windows(readRows(t, c.rows, c.history, "").Requests, 0)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModelComesFromTheReplyWhereTheRowHasNone(t *testing.T) {
	tr := readRows(t, []string{
		`{"ts":1,"type":"say","say":"task","text":"go"}`,
		row(2000, "api_req_started", `{"tokensIn":1}`, `,"conversationHistoryIndex":-1`),
		row(3000, "api_req_started", `{"tokensIn":1}`, `,"modelInfo":{"providerId":"xai","modelId":"row"}`),
	}, `[{"role":"user","ts":2001},{"role":"assistant","ts":2500,"modelInfo":{"providerId":"groq","modelId":"reply"}}]`,
		`{"model_usage":[{"ts":1,"model_id":"metadata","model_provider_id":"cline"}]}`)
	type model struct{ Provider, Model string }
	var got []model
	for _, c := range tr.Requests {
		got = append(got, model{c.Provider, c.Model})
	}
	if diff := cmp.Diff([]model{{"groq", "reply"}, {"xai", "row"}}, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if tr.Model != "metadata" || tr.Requests[0].Kind != hook.RequestSingle {
		t.Errorf("model of the task = %q, want the metadata's", tr.Model)
	}
}

func TestToolXMLIsCutFromReplies(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"no XML", "plain a < b", "plain a < b"},
		{"one call", "Fix it.\n<write_to_file>\n<path>a</path>\n</write_to_file>", "Fix it."},
		{"two calls and text between", "A\n<read_file>\n</read_file>\nB\n<list_files>x</list_files>", "A\n\nB"},
		{"cut off inside", "A\n<execute_command>\n<command>rm", "A"},
		{"nothing else", "<read_file><path>x</path></read_file>", ""},
		{"quoted in a sentence", "Use <read_file> to read", "Use <read_file> to read"},
		{"other XML", "A\n<div>\n</div>", "A\n<div>\n</div>"},
		{"text kept as it was", "  spaced <b>\n", "  spaced <b>\n"},
		{"end of text in a tag", "A\n<read_fi", "A\n<read_fi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := cutToolXML(c.in, nil); got != c.want {
				t.Errorf("cutToolXML(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}
