package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

const refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."

func TestClaudeToolStatus(t *testing.T) {
	const (
		rejected = `"toolUseResult":"User rejected tool use"`
		byUser   = rejected + `,"toolDenialKind":"user-rejected"`
		decided  = `,"permissionDecision":{"decision":"reject","source":"user_reject"}`
		newer    = `,"version":"2.1.329"`
		older    = `,"version":"2.1.240"`
	)
	for _, tt := range []struct {
		name        string
		text        string
		failed      bool
		more        string
		interrupted bool
		mode        string
		want        hook.ToolStatus
	}{
		{"a result", "ok", false, "", false, "", hook.ToolOK},
		{"a result before an interruption", "ok", false, "", true, "", hook.ToolOK},
		{"a failure", "Exit code 1", true, "", false, "", hook.ToolFailed},
		{"a failure before an interruption", "Exit code 137", true, "", true, "", hook.ToolCancelled},
		{"a command that says it was interrupted", "", false, `"toolUseResult":{"stdout":"","interrupted":true}`, false, "", hook.ToolCancelled},
		{"a command that says it was not", "", false, `"toolUseResult":{"stdout":"","interrupted":false}`, false, "", hook.ToolOK},
		{"refused by the user", refused, true, rejected, false, "", hook.ToolDenied},
		{"refused by the user, in words alone", refused, true, "", false, "", hook.ToolDenied},
		{"refused by the user, who then stopped", refused, true, byUser + decided + newer, true, "", hook.ToolDenied},
		{"refused by the user, who said why and stopped", refused, true, byUser + `,"userFeedback":"no"` + newer, true, "", hook.ToolDenied},
		{"refused in an older version, then stopped", refused, true, rejected + older, true, "default", hook.ToolDenied},
		{"stopped while it ran, nobody asked", refused, true, byUser + older, true, "bypassPermissions", hook.ToolCancelled},
		{"stopped while it ran, nobody decided", refused, true, byUser + newer, true, "default", hook.ToolCancelled},
		{"stopped while it ran, as the row says", refused, true, `"toolDenialKind":"interrupted"`, false, "", hook.ToolCancelled},
		{"cancelled, as the row says", refused, true, `"toolDenialKind":"cancelled"`, false, "", hook.ToolCancelled},
		{"denied by a rule", "Permission to use Bash has been denied.", true, `"toolDenialKind":"permission-rule"` + newer, true, "bypassPermissions", hook.ToolDenied},
		{"denied by a rule, in words alone", "Permission to use Bash has been denied.", true, "", false, "", hook.ToolDenied},
		{"denied by a hook, in words alone", "PreToolUse:Bash hook error: no", true, "", false, "", hook.ToolDenied},
		{"denied by a decision alone", "no", true, `"permissionDecision":{"decision":"reject"}`, false, "", hook.ToolDenied},
		{"denied by the auto mode's classifier", "Permission for this action was denied by the Claude Code auto mode classifier. Reason: no", true, "", false, "", hook.ToolDenied},
		{"not granted", "Claude requested permissions to write to x, but you haven't granted it yet.", true, "", false, "", hook.ToolDenied},
		{"of an agent without tools", "No tools needed for suggestion", true, "", false, "", hook.ToolDenied},
		{"of a compaction", "Tool use is not allowed during compaction", true, "", false, "", hook.ToolDenied},
		{"of a kind to come", "no", true, `"toolDenialKind":"some-future-kind"`, false, "", hook.ToolDenied},
		{"an accepted call's failure", "Exit code 1", true, `"permissionDecision":{"decision":"accept"}`, false, "", hook.ToolFailed},
		{"a result that quotes a refusal", refused, false, "", false, "", hook.ToolOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			more := tt.more
			if more == "" {
				more = `"x":1`
			}
			lines := []string{
				userRow("p1", 0, "go", `"permissionMode":"`+tt.mode+`"`),
				answerRow("m1", 1, "tool:t1", "tool_use"),
				resultRow("p1", 5, "t1", tt.text, tt.failed, more),
			}
			if tt.interrupted {
				lines = append(lines, userRow("p1", 6, "[Request interrupted by user for tool use]"))
			}
			if diff := cmp.Diff([]hook.ToolResult{{
				ID: "t1", Turn: "p1", Name: "Bash", Input: `{"command":"ls"}`, Text: tt.text, Status: tt.want,
				Ran: tt.want == hook.ToolCancelled && !strings.Contains(tt.more, "cancelled"), Asked: sec(1), At: sec(5),
			}}, readLines(t, lines...).ToolResults); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

// A call that failed by itself before the user interrupted what came after it.
func TestClaudeFailuresBeforeAnInterruption(t *testing.T) {
	for _, tt := range []struct {
		result, mark string
		at           int
		want         hook.ToolStatus
	}{
		{"Exit code 1", "[Request interrupted by user]", 6, hook.ToolFailed},
		{"Exit code 1", "[Request interrupted by user for tool use]", 6, hook.ToolCancelled},
		{"Exit code 1", "[Request interrupted by user for tool use]", 48, hook.ToolFailed},
		{"<tool_use_error>No such folder.</tool_use_error>", "[Request interrupted by user for tool use]", 6, hook.ToolFailed},
	} {
		tr := readLines(t, userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"), resultRow("p1", 5, "t1", tt.result, true), userRow("p1", tt.at, tt.mark))
		if got := tr.ToolResults[0].Status; got != tt.want {
			t.Errorf("%s %d s later: %v, want %v", tt.mark, tt.at-5, got, tt.want)
		}
	}
}

// What the real program wrote.
func TestClaudeToolStatusRecorded(t *testing.T) {
	for folder, want := range map[string][]hook.ToolStatus{
		"tools-resume": {hook.ToolOK, hook.ToolFailed, hook.ToolOK, hook.ToolFailed, hook.ToolOK},
		"interrupt":    {hook.ToolCancelled},
		"denied-rule":  {hook.ToolDenied, hook.ToolOK},
		"denied-hook":  {hook.ToolDenied, hook.ToolDenied},
		"not-granted":  {hook.ToolDenied},
		"no-such-tool": {hook.ToolFailed, hook.ToolFailed, hook.ToolOK},
		"2.1.240": {
			hook.ToolOK, hook.ToolOK, hook.ToolFailed, hook.ToolOK, hook.ToolOK, hook.ToolOK, hook.ToolDenied, hook.ToolOK, hook.ToolOK,
		},
	} {
		var got []hook.ToolStatus
		for _, r := range readFixture(t, folder, "").ToolResults {
			got = append(got, r.Status)
			if r.Name == "" || r.Input == "" || r.Text == "" || r.Asked.IsZero() || r.At.Before(r.Asked) {
				t.Errorf("%s: result is not whole: %+v", folder, r)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}

func TestClaudeResultText(t *testing.T) {
	for raw, want := range map[string]string{
		`"plain"`:                    "plain",
		`"{\"error\":\"not ours\"}"`: `{"error":"not ours"}`,
		`[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]`: "a\n[image]\nb",
		`[]`: "", `null`: "", ``: "", `{"odd":1}`: `{"odd":1}`, `7`: "7",
	} {
		if got := resultText([]byte(raw)); got != want {
			t.Errorf("text of %s = %q, want %q", raw, got, want)
		}
	}
}

func TestVersionsCompare(t *testing.T) {
	for version, older := range map[string]bool{
		"2.1.328": true, "2.1.329": false, "2.1.330": false, "2.2.0": false, "3.0.0": false, "2.0.999": true, "1.9.9": true,
		"": true, "x": true, "2": true, "2.1": true, "2.1.329-beta": true, "99999999999999999999.1.1": true,
	} {
		if got := olderThan(version, 2, 1, 329); got != older {
			t.Errorf("%q is older than 2.1.329: %v, want %v", version, got, older)
		}
	}
}

// TestClaudeCallsWithoutAResult are read where hooks have not reported them: the agent was
// killed, or the call hangs.
func TestClaudeCallsWithoutAResult(t *testing.T) {
	f := newFinder(t)
	write(t, claudePath(f), strings.Join([]string{
		userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"), resultRow("p1", 2, "t1", "ok", false),
		answerRow("m2", 3, "tool:t2", "tool_use"), userRow("p2", 4, "more"), answerRow("m3", 5, "tool:t3", "tool_use"),
	}, "\n"))
	for _, full := range []bool{true, false} {
		var got []string
		tr := readClaude(t, f, transcript.Query{Session: claudeSession, Full: full})
		for _, r := range tr.ToolResults {
			got = append(got, r.ID+" "+r.Turn)
			if (r.ID == "t1") == r.At.IsZero() {
				t.Errorf("%s has the end %v", r.ID, r.At)
			}
		}
		want := []string{"t1 p1", "t2 p1", "t3 p2"}
		if !full {
			want = want[:1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("full %v (-want +got):\n%s", full, diff)
		}
	}
}

// TestReportOfASubagentIsItsCallsResult has a result whose text for the model has words
// around the report.
func TestReportOfASubagentIsItsCallsResult(t *testing.T) {
	f := newFinder(t)
	write(t, claudePath(f), strings.Join([]string{
		userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"),
		resultRow("p1", 2, "t1", "[Subagent hand-back] The report follows:\n  found", false, `"toolUseResult":{"agentId":"a1","content":[{"type":"text","text":"found"}]}`),
	}, "\n"))
	if got := readClaude(t, f, transcript.Query{Session: claudeSession}).ToolResults[0].Text; got != "found" {
		t.Errorf("the call's result is %q, want the report", got)
	}
}
