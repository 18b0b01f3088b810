package verify

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/termtext"
)

// TestReportKeepsToTheTerminal shows a report to a terminal of 80 columns, and to a
// pipe, which gets whole lines.
func TestReportKeepsToTheTerminal(t *testing.T) {
	title := strings.Repeat("a long task ", 20)
	rep := &Report{Verified: 1, Different: 1, Traces: []Trace{
		{Result: Result{Trace: "0123456789abcdef", Calls: 10, Requests: 9, NotCompared: 3}, Title: title},
		{Result: Result{Trace: "1123456789abcdef"}, Title: title, Unverified: "the session's file is gone: the agent removes it after some weeks, and nothing else has it"},
		{Title: title, Result: Result{Trace: "2123456789abcdef", Differences: []Difference{
			{Kind: Order, What: "call Bash toolu_0123456789", InTrace: "after call Read toolu_1", InFiles: "before call Read toolu_1"},
			{Kind: Missing, What: "request req-1"},
		}}},
	}}
	want := `✓ 01234567  a long task a long task…  10 calls, 9 requests, 3 calls not compared
? 11234567  a long task a long task a long task a long task a long task a long…
    cannot verify: the session's file is gone: the agent removes it after some
    weeks, and nothing else has it
✗ 21234567  a long task a long task a long task a long task a long task a long…
    call Bash toolu_0123456789: in the trace after call Read toolu_1, in the
    agent's files before call Read toolu_1
    request req-1: the trace lacks it

1 of 3 traces verified: 0 calls, 0 requests; 1 trace with differences
`
	if got := rep.Text(80); got != want {
		t.Errorf("on a terminal:\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(want) {
		if n := termtext.Width(strings.TrimSpace(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if got := rep.Text(0); !strings.Contains(got, title+"\n") || strings.Contains(got, "…") || strings.Count(got, "\n") != 8 {
		t.Errorf("in a pipe:\n%s", got)
	}
}
