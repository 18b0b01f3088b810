package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

// TestReportKeepsToTheTerminal shows a report to a terminal of 80 columns, and to a
// pipe, which gets whole lines.
func TestReportKeepsToTheTerminal(t *testing.T) {
	title := strings.Repeat("a long task ", 20)
	rep := &Report{Verified: 1, Different: 1, Traces: []Trace{
		{Trace: "0123456789abcdef", Calls: 10, Requests: 9, Title: title},
		{Trace: "1123456789abcdef", Title: title, Unverified: "the session's file is gone: the agent removes it after some weeks, and nothing else has it"},
		{Title: title, Trace: "2123456789abcdef", Differences: []Difference{
			{Kind: Order, What: "call Bash toolu_0123456789", InTrace: "after call Read toolu_1", InFiles: "before call Read toolu_1"},
			{Kind: Missing, What: "request req-1"},
		}},
	}}
	want := `✓ 01234567  a long task a long task a long task a long ta…  10 calls, 9 requests
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

// TestReportText has reports with everything that they may say, and with nothing.
func TestReportText(t *testing.T) {
	ids := func(n int) []string { return strings.Fields("one two three four five six seven")[:n] }
	full := &Report{
		Verified: 3, Different: 2, Unverified: 1, Calls: 1, Requests: 2,
		Traces: []Trace{
			{Trace: "abc", Calls: 1, Requests: 1, Title: "short"},
			{Trace: "0123456789abcdef", Calls: 21, Requests: 10, Title: "a title that is too long for a line of forty columns"},
			{Trace: "1123456789abcdef", Differences: []Difference{
				{Kind: Missing, What: "1 call", InFiles: "there", File: "/a/b.jsonl", IDs: ids(5)},
				{Kind: Extra, What: "2 calls", InTrace: "there", File: "/a/b.jsonl", IDs: ids(6)},
				{Kind: Double, What: "3 calls", InTrace: "twice", InFiles: "once", IDs: ids(7)},
				{Kind: Status, What: "call Read", InTrace: "ok", InFiles: "failed"},
			}},
			{Trace: "2123456789abcdef", Unverified: "the agent's files are gone"},
		},
		Sessions: []Session{{Session: "s1", Differences: []Difference{{Kind: Model, What: "1 request", InTrace: "m1", InFiles: "m2", File: "/a/c.jsonl"}}}},
		Findings: Findings{Untraced: []Session{{Session: "s2", NoTrace: true, Differences: []Difference{{Kind: Missing, What: "2 prompts"}, {Kind: Missing, What: "3 calls"}}}}},
	}
	for i := range maxUnread {
		full.Unread = append(full.Unread, agentfiles.Unread{File: "/a/d.jsonl", Line: i, Reason: "it is no JSON object"})
	}
	more := *full
	more.Unread = append(more.Unread[:maxUnread:maxUnread], full.Unread[:2]...)
	more.Different = 0
	one := &Report{Verified: 1, Different: 1, Traces: full.Traces[:1]}
	same := &Report{Verified: 1, Calls: 1, Requests: 1, Traces: full.Traces[:1]}
	var out strings.Builder
	for _, width := range []int{0, 40, 80} {
		fmt.Fprintf(&out, "== %d columns\n%s", width, full.Text(width))
	}
	for _, r := range []*Report{&more, one, same, {}} {
		fmt.Fprintf(&out, "==\n%s", r.Text(0))
	}
	golden.Check(t, "text.txt", out.String())
}
