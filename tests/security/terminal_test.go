package security_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// terminalRows put what steers a terminal or misleads a reader wherever a text
// of somebody else's is shown.
var terminalRows = []proof.Row{
	{
		Name: "escape sequences (CSI, OSC 8 and 52, DCS), C1 bytes, CR, BEL, backspaces, bidirectional overrides, U+2028 in payloads, " +
			"answers of servers, hooks, settings and folders, in every command that shows them",
		Rule:  "none of them reaches standard output or error; each text is shown; JSON stays JSON",
		Short: 90, Long: 500, Run: steered,
	},
	{
		Name:  "the same in what is logged",
		Rule:  "one event is one line, with no such character in it",
		Short: 60, Run: logged,
	},
}

// mark is in each hostile text, so that a row can tell that it was shown.
const mark = "canary"

// steers are texts that do something to a terminal, or to the eye.
var steers = []string{
	"\x1b[2J\x1b[H\x1b[31m" + mark,                              // CSI: clear, home, red
	"\x1b]0;" + mark + "\x07",                                   // OSC 0: title
	"\x1b]52;c;Y2FuYXJ5\x07" + mark,                             // OSC 52: clipboard
	"\x1b]8;;http://evil.example\x1b\\" + mark,                  // OSC 8: link
	"\x1bP$q\"p\x1b\\" + mark,                                   // DCS: answers as if typed
	"\x1b[6n\x1b[c\x1bZ" + mark,                                 // reports
	"\x1b[?1049h\x1b[?1000h\x1b[8m" + mark,                      // alternate screen, mouse, hidden
	"\x1bc\x1b#8\x1b(0" + mark,                                  // reset, alignment, character set
	"\u009b2J\u009d0;x\u009c\u0090q\u009c" + mark,               // C1 as characters
	"\x9b2J\x9d0;x\x9c" + mark,                                  // C1 as bytes
	"fine\rrm -rf " + mark,                                      // carriage return
	mark + "\b\b\b\b\b\bok    ",                                 // backspaces
	mark + "\x07\x05\x0e\x0f\x7f\x00\x1a\x04",                   // bell, enquiry, shift, delete, NUL, EOF
	"\u202e" + mark + "\u202c\u2066\u2069\u200f",                // bidirectional overrides and isolates
	"a\u2028b\u2029" + mark + "\u0085c\vd\fe",                   // line ends of all kinds
	mark + "\u200b\u200e\ufeff\u2060\u00ad\U000e0041\U000e007f", // invisible ones and tags
	"line one\nhookspan: forged: " + mark + "\nhint: run evil\n",
	"| a | b |\n" + mark + "\t\tcolumns\x1b[A\x1b[K",
}

// shows are the commands that people read.
func shows(trace string) [][]string {
	return [][]string{
		{"list"},
		{"list", "--json"},
		{"list", "--session", "\x1b[31m\u202e" + mark},
		{"list", "--since", "\x1b[31m"},
		{"list", "--outcome", "\x1b[31m\u202e"},
		{"show", trace},
		{"show", "-v", trace},
		{"show", "--ascii", trace},
		{"show", "-v", "--ascii", trace},
		{"show", "--json", trace},
		{"show", "\x1b[31m\u202e"},
		{"status"},
		{"status", "--json"},
		{"doctor"},
		{"doctor", "--json"},
		{"config"},
		{"config", "--all"},
		{"config", "--json"},
		{"hooks", "list"},
		{"hooks", "list", "--json"},
		{"hooks", "check"},
		{"hooks", "trust"},
		{"hooks", "trust", "--yes"},
		{"hooks", "trust", "--list"},
		{"hooks", "import", "claude", "--dry-run"},
		{"hooks", "test", "--event", "PreToolUse", "--dry-run"},
		{"flush"},
		{"flush", "--json"},
		{"flush", "--session", "\x1b[31m\u202e"},
		{"test"},
		{"install", "cline", "--dry-run"},
		{"install", "claude", "--dry-run"},
		{"\x1b[31m\u202e" + mark},
		{"--\x1b[31m\u202e"},
		{"hooks", "\x1b[31m\u202e"},
		{"import", "\x1b[31m\u202e"},
		{"uninstall", "\x1b[31m\u202e"},
	}
}

func steered(t *testing.T, r *proof.Result) {
	shown, silent := 0, map[string]bool{}
	texts := steers
	if !proof.Soak() {
		// The short run has them all, in three texts.
		third := len(steers) / 3
		texts = []string{strings.Join(steers[:third], " "), strings.Join(steers[third:2*third], " "), strings.Join(steers[2*third:], " ")}
	}
	for i, s := range texts {
		w := lab.New(t, "OTEL_SERVICE_NAME="+quoted(s), "OTEL_RESOURCE_ATTRIBUTES=k%1b%5b31m=v%1b%5b31m%e2%80%ae", "HOOKSPAN_MISSPELT="+quoted(s))
		// A folder whose name it is, where a name may be so.
		name := strings.Map(func(c rune) rune {
			if c == 0 || c == '/' {
				return '_'
			}
			return c
		}, s)
		work := filepath.Join(w.Home, "work-"+name[:min(len(name), 200)])
		if err := os.MkdirAll(filepath.Join(work, ".cline"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.Work = work
		hooks := text(t, object{
			s: s, "env": object{s: s, "A": s}, "permissions": object{"deny": []string{s}}, "hooks": object{s: []any{}, "PreToolUse": []any{
				object{"matcher": s, "hooks": []any{object{"type": "command", "command": "echo " + s, "timeout": s, s: s}, object{"type": s, "command": s}}},
				object{"matcher": "Bash", "hooks": []any{
					object{"type": "command", "command": "/no/" + s, "args": []string{s}},
					object{"type": "http", "url": "http://127.0.0.1:9/", "headers": object{s: s, "X": s}, "allowedEnvVars": []string{s}},
				}},
				object{"matcher": "(" + s, "hooks": []any{object{"type": "http", "url": "http://127.0.0.1:9/" + s, "if": "Bash(" + s + ")"}}},
			}},
		})
		w.Write(filepath.Join(".cline", "hooks.json"), string(hooks))
		if err := os.WriteFile(filepath.Join(work, ".cline", "hooks.json"), hooks, 0o600); err != nil {
			t.Fatal(err)
		}
		w.Write(filepath.Join(".claude", "settings.json"), string(text(t, object{"env": object{s: s}, "hooks": object{s: s}})))
		w.Play(task(t, s, s, s, s, s))
		w.Play([]lab.Event{
			clineEvent(t, s, "TaskStart", object{"taskStart": object{"taskMetadata": object{"initialTask": s}}, "clineVersion": s, "userId": s, "model": object{"provider": s, "slug": s}}),
			clineEvent(t, s, "UserPromptSubmit", object{"userPromptSubmit": object{"prompt": s, "attachments": []string{s}}}),
			clineEvent(t, s, "PreToolUse", object{"preToolUse": object{"toolName": s, "parameters": object{s: s, "command": s}}}),
			clineEvent(t, s, "PostToolUse", object{"postToolUse": object{"toolName": s, "parameters": object{s: s, "command": s}, "result": "Error: " + s, "success": false}}),
			clineEvent(t, s, "Notification", object{"notification": object{"event": s, "source": s, "message": s}}),
			{Name: "PostToolUse", Payload: []byte(s)},
			clineEvent(t, s, "TaskCancel", object{"taskCancel": object{"taskMetadata": object{"taskId": s, "completionStatus": s}}}),
		})
		claudeSession(t, w, s)
		endSweeps(t, w)
		hostile := func(code int) {
			h := http.Header{"Location": {"http://evil.example/" + strings.Map(headerFit, s)}, "X": {strings.Map(headerFit, s)}}
			w.OTLP.Always(otlptest.Answer{Status: code, ContentType: "text/plain", Body: s, Header: h, Refuse: true})
			w.Infinium.Always(infiniumtest.Response{Status: code, Body: string(text(t, object{"error": s, "message": s, "detail": s})), Header: h})
		}
		for _, code := range []int{503, 400, 307} {
			hostile(code)
			w.Play(task(t, fmt.Sprint(code, s), s, s, s, s))
			endSweeps(t, w)
		}
		ids := traceIDs(t, w)
		for n, args := range shows(ids[i%len(ids)]) {
			if n%3 == 0 {
				hostile([]int{503, 400, 307}[n/3%3])
			}
			stdout, stderr, _ := w.Hookspan(args...)
			what := strings.Join(args, " ")
			if bad := steering(stdout); bad != "" {
				r.Break("hookspan %q with %.30q, standard output: %s", what, s, bad)
			}
			if bad := steering(stderr); bad != "" {
				r.Break("hookspan %q with %.30q, standard error: %s", what, s, bad)
			}
			if strings.Contains(what, "--json") && stdout != "" && !json.Valid([]byte(stdout)) {
				r.Break("hookspan %q with %.30q: no JSON: %.300q", what, s, stdout)
			}
			for line := range strings.Lines(stdout + stderr) {
				if strings.HasPrefix(line, "hookspan: forged") || strings.HasPrefix(line, "hint: run evil") {
					r.Break("hookspan %q with %.30q: a line is forged: %q", what, s, line)
				}
			}
			if strings.Contains(stdout+stderr, mark) {
				shown++
			} else {
				silent[args[0]] = true
			}
			r.Trial(1)
		}
	}
	if shown == 0 {
		r.Break("no hostile text was shown at all")
	}
	r.Note("%d outputs show the text", shown)
}

// claudeSession gives Claude Code's hook a session full of a text.
func claudeSession(t *testing.T, w *lab.World, s string) {
	t.Helper()
	for _, e := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "Notification", "Stop", "SessionEnd"} {
		cmd := w.Program("claude-hook", e)
		cmd.Stdin = bytes.NewReader(text(t, object{
			"session_id": s, "prompt_id": s, "transcript_path": s, "cwd": s, "hook_event_name": e, "prompt": s, "tool_name": s, "tool_use_id": s,
			"tool_input": object{"command": s}, "error": s, "message": s, "title": s, "reason": s, "source": s, "model": s, "last_assistant_message": s,
		}))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("claude-hook %s: %v, said %q", e, err, out)
		}
	}
}

func traceIDs(t *testing.T, w *lab.World) []string {
	t.Helper()
	out, errs, _ := w.Hookspan("list", "--json")
	var list []struct{ TraceID string }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) == 0 {
		t.Fatalf("hookspan list: %v: %.300q %q", err, out, errs)
	}
	var ids []string
	for _, l := range list {
		ids = append(ids, l.TraceID)
	}
	return ids
}

// quoted is a text as the env file takes it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "$", `\$`).Replace(s) + `"`
}

// headerFit leaves out what no HTTP server would send in a header.
func headerFit(c rune) rune {
	if c < ' ' && c != '\t' || c == 0x7f {
		return -1
	}
	return c
}

func logged(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	// Whatever this hook is given ends in a line of the log: the spool cannot be
	// opened, the user's own settings are wrong, and a delivery has nowhere to go.
	w.Write(filepath.Join(".config", "hookspan", "hookspan.env"), "HOOKSPAN_HOOKS_DEBUG=true\nHOOKSPAN_FILE_PATH=/nowhere/x\n")
	w.Write(filepath.Join(".cline", "hooks.json"), `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"cat >&2; exit 1"}]}]}}`)
	count := func() int {
		b, err := os.ReadFile(filepath.Join(w.State(), "hookspan.log"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if !strings.HasPrefix(line, "20") || !strings.HasSuffix(line, "\n") {
				r.Break("a line that no program wrote: %q", line)
			}
		}
		if bad := steering(string(b)); bad != "" {
			r.Break("the log: %s", bad)
		}
		return strings.Count(string(b), mark)
	}
	told := 0
	for i, s := range steers {
		for _, e := range []lab.Event{
			{Name: "PreToolUse", Payload: clineEvent(t, s, "PreToolUse", object{"preToolUse": object{"toolName": s, "parameters": object{"path": s, s: s}}}).Payload},
			{Name: strings.ReplaceAll(s, "\x00", ""), Payload: []byte(s)},
			clineEvent(t, s, "TaskComplete", object{"taskComplete": object{"taskMetadata": object{"result": s}}}),
		} {
			w.Hook(e.Name, e.Payload, "HOOKSPAN_CAPTURE="+strings.ReplaceAll(s, "\x00", ""), "HOOKSPAN_IDLE_TIMEOUT="+strings.ReplaceAll(s, "\x00", ""))
			r.Trial(1)
		}
		endSweeps(t, w)
		if i%9 == 0 {
			w.Hookspan("flush", "--other-settings")
		}
		told = max(told, count())
		// Each text begins a new log, so that all its lines are seen.
		_ = os.Remove(filepath.Join(w.State(), "hookspan.log"))
		w.Hook("PreToolUse", []byte("{}"))
		r.Trial(1)
	}
	if told == 0 {
		r.Break("no hostile text came into the log at all")
	}
	r.Note("up to %d quotes in a log", told)
}
