package copilot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// vscode reads a transcript of VS Code's with the rows, whose time is added.
func vscode(t *testing.T, rows ...string) *hook.Transcript {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s1.jsonl")
	text := `{"type":"session.start","data":{"copilotVersion":"0.60","vscodeVersion":"1.140.0","context":{"cwd":"/w"}},"timestamp":"2026-11-20T10:48:28Z"}` + "\n"
	for i, row := range rows {
		text += strings.TrimSuffix(row, "}") + `,"timestamp":"2026-11-20T10:48:3` + string(rune('0'+i)) + `Z"}` + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := (&transcript.Files{Home: t.TempDir(), Getenv: func(string) string { return "" }}).Read(t.Context(), VSCode, transcript.Query{Session: "s1", Path: path, Full: true})
	if err != nil || tr.Pending || tr.HostVersion != "1.140.0" || tr.Cwd != "/w" {
		t.Fatalf("%+v, %v", tr, err)
	}
	return tr
}

// The tokens of a request are in the row before or behind its answer.
func TestVSCodeRequests(t *testing.T) {
	const (
		prompt = `{"type":"user.message","data":{"content":"go"}}`
		asks   = `{"type":"assistant.message","data":{"messageId":"m1","content":"","toolRequests":[{"toolCallId":"c1","name":"read_file","arguments":"{\"filePath\":\"a\"}"}]}}`
		done   = `{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":false,"result":{"content":"no"}}}`
		says   = `{"type":"assistant.message","data":{"messageId":"m2","content":"done","toolRequests":[]}}`
		first  = `{"type":"assistant.usage","data":{"model":"x","inputTokens":10,"outputTokens":1,"cacheReadTokens":4,"cacheCreationInputTokens":2}}`
		second = `{"type":"assistant.usage","data":{"model":"y","inputTokens":20,"outputTokens":2}}`
	)
	for name, rows := range map[string][]string{
		"before": {prompt, first, asks, done, second, says}, "behind": {prompt, asks, first, done, says, second}, "both": {prompt, first, asks, done, says, second},
	} {
		tr := vscode(t, rows...)
		if len(tr.Requests) != 2 || len(tr.ToolResults) != 1 || len(tr.Ends) != 1 || len(tr.Unread) != 0 {
			t.Fatalf("%s: %+v", name, tr)
		}
		one, two, call := tr.Requests[0], tr.Requests[1], tr.ToolResults[0]
		if one.Model != "x" || *one.Usage != (hook.Usage{Input: 10, Output: 1, CacheRead: 4, CacheWrite: 2, InputIncludesCache: true}) || len(one.ToolCallIDs) != 1 {
			t.Errorf("%s: first %+v %+v", name, one, one.Usage)
		}
		if two.Model != "y" || two.Usage.Input != 20 || two.Text != "done" || len(two.ToolCallIDs) != 0 {
			t.Errorf("%s: second %+v %+v", name, two, two.Usage)
		}
		if call.Input != `{"filePath":"a"}` || call.Status != hook.ToolFailed || call.Text != "no" || tr.Ends[0].Result != "done" {
			t.Errorf("%s: call %+v, end %+v", name, call, tr.Ends[0])
		}
	}
	tr := vscode(t, prompt, asks, done, says)
	if len(tr.Requests) != 2 || tr.Requests[0].Usage != nil || len(tr.Unread) != 1 || !strings.Contains(tr.Unread[0].Reason, "tokens of 2 requests") {
		t.Errorf("without tokens: %+v, unread %v", tr.Requests, tr.Unread)
	}
}

func TestVSCodeTranscriptIsGone(t *testing.T) {
	files := &transcript.Files{Home: t.TempDir(), Getenv: func(string) string { return "" }}
	_, err := files.Read(t.Context(), VSCode, transcript.Query{Session: "s1", Path: filepath.Join(t.TempDir(), "s1.jsonl")})
	if !errors.Is(err, transcript.ErrNotFound) {
		t.Error(err)
	}
}
