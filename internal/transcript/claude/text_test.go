package claude

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/transcript"
)

// All texts are cut to one length once there are too many, and none before.
func TestTextsStayWithinTheirBound(t *testing.T) {
	var lines []string
	for i := range 40 {
		p, id := fmt.Sprint("p", i), fmt.Sprint("m", i)
		lines = append(lines, userRow(p, 10*i, strings.Repeat("p", 700)),
			crow("assistant", 10*i+1, `"message":{"id":"`+id+`","model":"m","stop_reason":"tool_use","content":[{"type":"text","text":"`+strings.Repeat("a", 900)+
				`"},{"type":"tool_use","id":"t`+id+`","name":"Write","input":{"content":"`+strings.Repeat("w", 800)+`"}}]}`),
			resultRow(p, 10*i+2, "t"+id, strings.Repeat("r", 1000), false),
			answerRow("n"+id, 10*i+3, strings.Repeat("e", 600), "end_turn"))
	}
	f := newFinder(t)
	write(t, claudePath(f), strings.Join(lines, "\n"))
	whole := readClaude(t, f, transcript.Query{Session: claudeSession})
	const bound = 120_000
	r := reader{files: newFinder(t), block: 4096, maxLine: transcript.MaxLine, maxText: bound}
	cut, err := r.read(t.Context(), claudePath(f), transcript.Query{Session: claudeSession})
	if err != nil {
		t.Fatal(err)
	}
	sum, most := 0, 0
	texts := func(a, b string) {
		sum += len(b)
		most = max(most, len(b))
		if !strings.HasPrefix(a, b) || !utf8.ValidString(b) {
			t.Errorf("%.40q was cut to %.40q", a, b)
		}
	}
	for i := range whole.Requests {
		texts(whole.Requests[i].Text, cut.Requests[i].Text)
		if n := len(whole.Requests[i].Text); n != 900 && n != 600 {
			t.Errorf("a text of %d bytes, want them whole", n)
		}
		whole.Requests[i].Text, cut.Requests[i].Text = "", ""
	}
	for i := range whole.ToolResults {
		texts(whole.ToolResults[i].Text, cut.ToolResults[i].Text)
		sum += len(cut.ToolResults[i].Input)
		if !json.Valid([]byte(cut.ToolResults[i].Input)) {
			t.Errorf("input %q is no JSON", cut.ToolResults[i].Input)
		}
		whole.ToolResults[i].Text, cut.ToolResults[i].Text = "", ""
		whole.ToolResults[i].Input, cut.ToolResults[i].Input = "", ""
	}
	for i := range whole.Prompts {
		texts(whole.Prompts[i].Text, cut.Prompts[i].Text)
		whole.Prompts[i].Text, cut.Prompts[i].Text = "", ""
	}
	if sum > bound || most != 256 {
		t.Errorf("texts have %d bytes, the longest %d; want at most %d, 256", sum, most, bound)
	}
	for i := range whole.Ends {
		texts(whole.Ends[i].Result, cut.Ends[i].Result)
		whole.Ends[i].Result, cut.Ends[i].Result = "", ""
	}
	if diff := cmp.Diff(whole, cut); diff != "" {
		t.Errorf("more than texts was cut (-whole +cut):\n%s", diff)
	}
	if filepath.Base(cut.Sources[0]) != claudeSession+suffix {
		t.Errorf("sources = %v", cut.Sources)
	}
}
