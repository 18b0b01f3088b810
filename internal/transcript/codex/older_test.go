package codex

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

const oldSession = "019b0000-0000-7000-8000-000000000001"

// oldMeta is the first row of the session.
const oldMeta = `0|session_meta|{"id":"` + oldSession + `","timestamp":"2025-11-06T10:00:00Z","cwd":"/w","cli_version":"0.55.0"}`

// rowsOf makes rows of "SECONDS|TYPE|PAYLOAD".
func rowsOf(rows ...string) string {
	var b strings.Builder
	for _, r := range rows {
		part := strings.SplitN(r, "|", 3)
		var seconds float64
		_, _ = fmt.Sscan(part[0], &seconds)
		at := time.Date(2025, 11, 6, 10, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
		fmt.Fprintf(&b, "{\"timestamp\":%q,\"type\":%q,\"payload\":%s}\n", at.Format(time.RFC3339Nano), part[1], part[2])
	}
	return b.String()
}

// place writes a session's file, NAME below .codex, and returns where to find it.
func place(t *testing.T, f *transcript.Files, name, text string) {
	t.Helper()
	path := filepath.Join(f.Home, ".codex", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func nameOf(id string) string {
	return "sessions/2025/11/06/rollout-2025-11-06T10-00-00-" + id + ".jsonl"
}

// readSession reads a session as an import does.
func readSession(t *testing.T, f *transcript.Files, id string) *hook.Transcript {
	t.Helper()
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: id, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func readRows(t *testing.T, rows ...string) *hook.Transcript {
	t.Helper()
	f := finder(t, "")
	place(t, f, nameOf(oldSession), rowsOf(rows...))
	return readSession(t, f, oldSession)
}

// told is what a transcript says, with turns by number.
func told(tr *hook.Transcript) (out []string) {
	turns := map[string]int{"": 0}
	for _, p := range tr.Prompts {
		turns[p.Turn] = len(turns)
		out = append(out, fmt.Sprintf("%d prompt %s", turns[p.Turn], p.Text))
	}
	for _, c := range tr.Requests {
		var in int64
		if c.Usage != nil {
			in = c.Usage.Input
		}
		out = append(out, fmt.Sprintf("%d request %d %q %v", turns[c.Turn], in, c.Text, c.ToolCallIDs))
	}
	for _, r := range tr.ToolResults {
		out = append(out, fmt.Sprintf("%d call %s %s %d %q", turns[r.Turn], r.Name, r.Input, r.Status, r.Text))
	}
	for _, e := range tr.Ends {
		out = append(out, fmt.Sprintf("%d %v %q", turns[e.Turn], e.Kind, e.Result))
	}
	return out
}

func typed(at, text string) string {
	return at + `|event_msg|{"type":"user_message","message":"` + text + `"}`
}

func answer(at, text string) string {
	return at + `|response_item|{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}`
}

func counted(at string, in, total int) string {
	return fmt.Sprintf(`%s|event_msg|{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d},"last_token_usage":{"input_tokens":%d,"output_tokens":1}}}`, at, total, in)
}

func called(at, id, name, arguments string) string {
	return fmt.Sprintf(`%s|response_item|{"type":"function_call","name":%q,"arguments":%q,"call_id":%q}`, at, name, arguments, id)
}

func output(at, id, text string) string {
	return fmt.Sprintf(`%s|response_item|{"type":"function_call_output","call_id":%q,"output":%q}`, at, id, text)
}

// TestOlderVersions has the forms of files before 0.99, without the ends of turns.
func TestOlderVersions(t *testing.T) {
	for name, tt := range map[string]struct{ rows, want []string }{
		"a turn for each prompt, ended by its last answer": {
			[]string{typed("1", "go"), answer("2", "one"), counted("2", 10, 10), typed("3", "yes"), answer("4", "two"), counted("4", 10, 20), typed("5", "yes"), answer("6", "three"), counted("6", 10, 30)},
			[]string{
				"1 prompt go", "2 prompt yes", "3 prompt yes", `1 request 10 "one" []`, `2 request 10 "two" []`, `3 request 10 "three" []`,
				`1 run_complete "one"`, `2 run_complete "two"`, `3 run_complete "three"`,
			},
		},
		"only the user interrupts": {
			[]string{
				typed("1", "go"), answer("2", "I look."), called("3", "a", "shell_command", `{"command":"ls"}`), output("4", "a", "aborted by user after 1.0s"), counted("4", 10, 10),
				`4.1|event_msg|{"type":"turn_aborted","reason":"interrupted"}`, typed("5", "thanks"), answer("6", "bye"), counted("6", 10, 20),
			},
			[]string{
				"1 prompt go", "2 prompt thanks", `1 request 10 "I look." [a]`, `2 request 10 "bye" []`, `1 call Bash {"command":"ls"} 3 "aborted by user after 1.0s"`,
				`1 session_end ""`, `2 run_complete "bye"`,
			},
		},
		"a turn that ends in a call has no answer": {
			[]string{typed("1", "go"), answer("2", "I look."), called("3", "a", "shell", `{"command":["ls","-a b"]}`), output("4", "a", "x"), counted("4", 10, 10)},
			[]string{"1 prompt go", `1 request 10 "I look." [a]`, `1 call Bash {"command":"ls '-a b'"} 0 "x"`},
		},
		"what a server returned": {
			[]string{typed("1", "go"), called("2", "a", "mcp__docs__find", `{}`), output("3", "a", `[{"text":"one\ntwo","type":"text"}]`), called("4", "b", "cat", `{}`), output("5", "b", `[{"text":1}]`)},
			[]string{"1 prompt go", `1 call mcp__docs__find {} 0 "one\ntwo"`, `1 call cat {} 0 "[{\"text\":1}]"`},
		},
		"tokens before the answer, a command that takes longer": {
			[]string{
				typed("1", "go"), counted("5", 10, 10), called("5", "a", "shell", `{"command":["/bin/zsh","-lc","make test"]}`),
				output("5", "a", `{"output":"2 failed\n","metadata":{"exit_code":2,"duration_seconds":0.5}}`), called("5", "b", "shell", `{"command":["bash","-lc","sleep 9"]}`),
				output("14", "b", `{"output":"","metadata":{"exit_code":0,"duration_seconds":9}}`),
				counted("16", 20, 30), `16|response_item|{"type":"reasoning"}`, answer("16", "done"), typed("20", "again"), counted("25", 30, 60), answer("25", "yes"),
			},
			[]string{
				"1 prompt go", "2 prompt again", `1 request 10 "" [a b]`, `1 request 20 "done" []`, `2 request 30 "yes" []`,
				`1 call Bash {"command":"make test"} 1 "2 failed"`, `1 call Bash {"command":"sleep 9"} 0 ""`, `1 run_complete "done"`, `2 run_complete "yes"`,
			},
		},
		"tokens after the results of the answer's calls": {
			[]string{
				typed("1", "go"), called("2", "a", "shell_command", `{"command":"ls"}`), output("3", "a", "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nx"), counted("3", 10, 10),
				answer("5", "one"), counted("5", 20, 30), typed("6", "on"), called("7", "b", "shell_command", `{"command":"ls"}`), output("8", "b", "Exit code: 1\nOutput:\n"),
				counted("8", 30, 60), answer("9", "two"), counted("9", 40, 100),
			},
			[]string{
				"1 prompt go", "2 prompt on", `1 request 10 "" [a]`, `1 request 20 "one" []`, `2 request 30 "" [b]`, `2 request 40 "two" []`,
				`1 call Bash {"command":"ls"} 0 "x"`, `2 call Bash {"command":"ls"} 1 ""`, `1 run_complete "one"`, `2 run_complete "two"`,
			},
		},
		"tokens after the answer, of a compaction too": {
			[]string{typed("1", "go"), answer("2", "one"), counted("2", 10, 10), counted("3", 90, 100), typed("4", "on"), answer("5", "two"), counted("5", 20, 120)},
			[]string{
				"1 prompt go", "2 prompt on", `1 request 10 "one" []`, `1 request 90 "" []`, `2 request 20 "two" []`, `1 run_complete "one"`, `2 run_complete "two"`,
			},
		},
		"a count that another version repeats": {
			[]string{typed("1", "go"), answer("2", "one"), counted("2", 10, 10), typed("3", "on"), strings.Replace(counted("4", 10, 10), `":10},`, `":10,"cache_write_input_tokens":0},`, 1), answer("5", "two"), counted("5", 20, 30)},
			[]string{"1 prompt go", "2 prompt on", `1 request 10 "one" []`, `2 request 20 "two" []`, `1 run_complete "one"`, `2 run_complete "two"`},
		},
		"two requests of one time": {
			[]string{typed("1", "go"), counted("5", 10, 10), answer("5", "a"), typed("5", "on"), counted("5", 20, 30), answer("5", "b")},
			[]string{"1 prompt go", "2 prompt on", `1 request 10 "a" []`, `2 request 20 "b" []`, `1 run_complete "a"`, `2 run_complete "b"`},
		},
		"a process that was stopped after the last answer": {
			[]string{
				`1|event_msg|{"type":"task_started","turn_id":"t1"}`, typed("1", "go"), `2|response_item|{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"hm"}]}`,
				`3|response_item|{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"done"}]}`, counted("4", 10, 10),
			},
			[]string{"1 prompt go", `1 request 10 "hm\ndone" []`, `1 run_complete "done"`},
		},
		"a search, a compaction, an image": {
			[]string{
				`1|event_msg|{"type":"task_started","turn_id":"t1"}`, `1|event_msg|{"type":"user_message","message":"","images":["data:"]}`,
				`2|response_item|{"type":"web_search_call","status":"completed","action":{"type":"search","query":"new"}}`, answer("3", "9"), counted("3", 10, 10),
				`4|event_msg|{"type":"task_complete","turn_id":"t1","last_agent_message":"9"}`, `5|event_msg|{"type":"task_started","turn_id":"t2"}`, `80|compacted|{}`,
				`81|event_msg|{"type":"task_complete","turn_id":"t2"}`,
			},
			[]string{
				"1 prompt [image]", "2 prompt /compact", `1 request 10 "9" [search-1762423202000]`, `1 call web_search {"query":"new","type":"search"} 0 ""`,
				`1 run_complete "9"`, `2 run_complete ""`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := readRows(t, append([]string{oldMeta}, tt.rows...)...)
			if diff := cmp.Diff(tt.want, told(tr)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			ids := map[string]bool{}
			for _, c := range tr.Requests {
				if ids[c.ID] || c.Start.After(c.End) {
					t.Errorf("request %+v", c)
				}
				ids[c.ID] = true
			}
		})
	}
}

// TestCallsWithoutAResult has two calls of a program that was killed.
func TestCallsWithoutAResult(t *testing.T) {
	rows := []string{
		oldMeta, typed("1", "go"), called("2", "b", "exec_command", `{"cmd":"make"}`), called("2", "a", "shell_command", `{"command":"ls"}`),
		called("2", "c", "view_image", `{"path":"x"}`), output("3", "c", "seen"), `2|response_item|{"type":"custom_tool_call","name":"exec","input":"x","call_id":"d"}`,
	}
	want := []string{
		"1 prompt go", `1 call view_image {"path":"x"} 0 "seen"`, `1 call Bash {"command":"ls"} 4 ""`, `1 call Bash {"command":"make"} 4 ""`,
		`1 call exec {"command":"x"} 4 ""`,
	}
	if diff := cmp.Diff(want, told(readRows(t, rows...))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f := finder(t, "")
	place(t, f, nameOf(oldSession), rowsOf(rows...))
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: oldSession})
	if err != nil || len(tr.ToolResults) != 1 {
		t.Errorf("a delivery, whose hooks report calls, reads %+v, %v", tr.ToolResults, err)
	}
}

// TestDamagedLines has the whole rows of lines that a killed writer, a power cut and other
// programs left.
func TestDamagedLines(t *testing.T) {
	rows := strings.SplitAfter(rowsOf(oldMeta, typed("1", "go"), answer("2", "one"), counted("2", 10, 10)), "\n")
	for name, text := range map[string]string{
		"byte order mark":      "\ufeff" + strings.Join(rows, ""),
		"CRLF":                 strings.ReplaceAll(strings.Join(rows, ""), "\n", "\r\n"),
		"NUL":                  rows[0] + "\x00\x00\x00" + rows[1] + rows[2] + "\x00\x00\n" + rows[3],
		"torn row before each": rows[0] + rows[3][:40] + rows[1] + rows[2][:90] + rows[2] + rows[1][:20] + rows[3],
		"raw line breaks":      rows[0] + rows[1] + strings.Replace(rows[2], `"type":"output_text"`, "\"x\":\"a\nb\",\"type\":\"output_text\"", 1) + rows[3],
	} {
		f := finder(t, "")
		place(t, f, nameOf(oldSession), text)
		want := []string{"1 prompt go", `1 request 10 "one" []`, `1 run_complete "one"`}
		if tr := readSession(t, f, oldSession); tr.HostVersion != "0.55.0" {
			t.Errorf("%s: version %q", name, tr.HostVersion)
		} else if diff := cmp.Diff(want, told(tr)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEditor: the program that the agent runs in is named.
func TestEditor(t *testing.T) {
	for originator, want := range map[string]string{"codex_vscode": hook.InVSCode, "codex_exec": ""} {
		tr := readRows(t, strings.Replace(oldMeta, `"cli_version"`, `"originator":"`+originator+`","cli_version"`, 1))
		if tr.HostApp != want {
			t.Errorf("%s: in %q, want %q", originator, tr.HostApp, want)
		}
	}
}
