package hooks_test

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookhttp"
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
)

// parse reads one of the files with hooks, in which nothing may be wrong.
func parse(t *testing.T, name string) *hookfile.File {
	t.Helper()
	f, err := hookfile.Parse(name, []byte(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Problems {
		t.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, p.Text)
	}
	for _, h := range f.Handlers {
		if _, err := hookmatch.Compile(h.Event, h.Matcher); err != nil {
			t.Errorf("%s:%d: %v", name, h.Line, err)
		}
	}
	return f
}

// use is where a hook is put.
type use struct{ Event, Matcher string }

// header reads what the comment at the head of a script says it is for.
func header(t *testing.T, name string) (uses []use, install string) {
	t.Helper()
	for line := range strings.Lines(read(t, name)) {
		text, comment := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "# ")
		if !comment && !strings.HasPrefix(line, "#") {
			break
		}
		if v, ok := strings.CutPrefix(text, "Event: "); ok {
			uses = append(uses, use{Event: v})
		}
		if v, ok := strings.CutPrefix(text, "Matcher: "); ok && len(uses) > 0 {
			uses[len(uses)-1].Matcher = v
		}
		if v, ok := strings.CutPrefix(text, "Install: "); ok {
			install = v
		}
	}
	return uses, install
}

func scripts(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.sh")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("there are no examples")
	}
	return names
}

// TestHooksFileHasEachScriptWhereItBelongs holds hooks.json against the comments
// that say where a script is to be used.
func TestHooksFileHasEachScriptWhereItBelongs(t *testing.T) {
	t.Parallel()
	got := map[string][]use{}
	for _, h := range parse(t, "hooks.json").Handlers {
		line, ok := strings.CutPrefix(h.Command, `"$HOME"/agent-hooks/`)
		if !ok {
			t.Errorf("line %d: %s does not lie in the folder of all others", h.Line, h.Command)
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		got[name] = append(got[name], use{h.Event, h.Matcher})
	}
	want := map[string][]use{}
	for _, name := range scripts(t) {
		want[name], _ = header(t, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("uses by the comments, and in hooks.json (-want +got):\n%s", diff)
	}
}

func TestScriptsSayHowToInstallThem(t *testing.T) {
	t.Parallel()
	for _, name := range scripts(t) {
		uses, install := header(t, name)
		args, ok := strings.CutPrefix(install, "hookspan hooks add --event ")
		if !ok || !strings.Contains(args, " -- ~/agent-hooks/"+name) {
			t.Errorf("%s: the comment says %q, want how hookspan hooks add takes it", name, install)
			continue
		}
		event, _, _ := strings.Cut(args, " ")
		i := slices.IndexFunc(uses, func(u use) bool { return u.Event == event })
		if i < 0 {
			t.Errorf("%s: is installed on %s, which is none of its events %v", name, event, uses)
			continue
		}
		if m := uses[i].Matcher; m != "" && !strings.Contains(args, "--matcher "+m+" ") && !strings.Contains(args, "--matcher '"+m+"' ") {
			t.Errorf("%s: is installed without its matcher %q", name, m)
		}
	}
}

func TestScriptsCanBeStarted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "files have no such mode there")
	}
	for _, name := range append(scripts(t), "jsonget") {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o111 != 0o111 {
			t.Errorf("%s has mode %v, want it executable", name, info.Mode())
		}
		if !strings.HasPrefix(read(t, name), "#!/bin/sh\n") {
			t.Errorf("%s does not begin with #!/bin/sh", name)
		}
	}
}

// TestForwardHTTP sends an event as the file says, to a server of the test's.
func TestForwardHTTP(t *testing.T) {
	t.Parallel()
	type request struct{ Auth, Type, Body string }
	var got []request
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, request{r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)})
	}))
	defer srv.Close()
	handlers := parse(t, "forward-http.json").Handlers
	for i := range handlers {
		path, ok := strings.CutPrefix(handlers[i].URL, "http://127.0.0.1:8080")
		if !ok {
			t.Fatalf("line %d: the address %q is not on this machine", handlers[i].Line, handlers[i].URL)
		}
		handlers[i].URL = srv.URL + path
	}
	payload := tool(t, "PostToolUse", "Bash", map[string]any{"command": "a && b <c>"})
	r := hookrun.Runner{Post: hookhttp.Client{}.Post, Env: []string{"AGENT_EVENTS_TOKEN=t0k"}}
	res := r.Run(t.Context(), handlers, []hookrun.Event{{Name: "PostToolUse", Subjects: []string{"Bash"}, Tool: "Bash", Payload: payload}})
	for _, run := range res.Runs {
		if run.Err != "" || len(run.Verdict.Errors) > 0 {
			t.Errorf("%s %v", run.Err, run.Verdict.Errors)
		}
	}
	want := []request{{"Bearer t0k", "application/json", string(payload)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestExamplesOnCline runs hooks.json for calls as Cline reports them.
func TestExamplesOnCline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	syscall.ForkLock.RLock() // as in write
	err := os.CopyFS(filepath.Join(w.home, "agent-hooks"), onlyScripts{os.DirFS(".")})
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.home, ".cline/hooks.json"), read(t, "hooks.json"), 0o600)
	write(t, w.project+"/a.sh", "echo $x", 0o600)
	w.program(t, "shellcheck", `echo "double quote $1"; exit 1`)
	w.program(t, "notify-send", "exit 0")
	w.program(t, "osascript", "exit 0")
	h := &userhooks.Hooks{
		Setup:   userhooks.Setup{Home: w.home, GOOS: runtime.GOOS, Trust: hookfile.Trust{Path: filepath.Join(w.home, "trusted")}},
		Environ: w.env, Now: time.Now,
	}
	classic := func(name, member string, body map[string]any) map[string]any {
		return map[string]any{
			"clineVersion": "3.89.2", "hookName": name, "timestamp": "1763600001234", "taskId": "1763600000000",
			"workspaceRoots": []string{w.project}, member: body,
		}
	}
	before := func(tool string, params map[string]any) map[string]any {
		return classic("PreToolUse", "preToolUse", map[string]any{"toolName": tool, "parameters": params})
	}
	sdk := func(tool string, input map[string]any) map[string]any {
		return map[string]any{
			"clineVersion": "", "hookName": "tool_call", "timestamp": "2026-11-20T10:00:00.000Z", "taskId": "conv_1763600000000_abcdefg",
			"sessionContext": map[string]any{"rootSessionId": "1763600000000_abcde"}, "workspaceRoots": []string{w.project},
			"agent_id": "agent_1", "iteration": 1, "tool_call": map[string]any{"id": "call_1", "name": tool, "input": input},
		}
	}
	tests := map[string]struct {
		payload map[string]any
		cancel  bool
		says    string
	}{
		"a dangerous command":         {before("execute_command", map[string]any{"command": "rm -rf ~"}), true, "goes through all of ~"},
		"a harmless command":          {before("execute_command", map[string]any{"command": "ls"}), false, ""},
		"one dangerous of several":    {sdk("run_commands", map[string]any{"commands": []string{"ls", "git push -f"}}), true, "history of the remote"},
		"an env file":                 {before("write_to_file", map[string]any{"path": ".env", "content": "A=1"}), true, "is protected"},
		"a file outside":              {before("write_to_file", map[string]any{"path": "../x", "content": "1"}), true, "outside the project"},
		"a file inside":               {before("replace_in_file", map[string]any{"path": "a.sh", "diff": "------- SEARCH\na\n=======\nb\n+++++++ REPLACE"}), false, ""},
		"a patch that reaches out":    {sdk("apply_patch", map[string]any{"input": "*** Begin Patch\n*** Add File: ok.txt\n+x\n*** Add File: ../../x\n+x\n*** End Patch"}), true, "outside the project"},
		"a patch that moves out":      {sdk("apply_patch", map[string]any{"input": "*** Begin Patch\n*** Update File: a.sh\n*** Move to: /etc/x\n@@\n-a\n+b\n*** End Patch"}), true, "outside the project"},
		"a prompt with a key":         {classic("UserPromptSubmit", "userPromptSubmit", map[string]any{"prompt": "AKIA" + strings.Repeat("A", 16)}), true, "AWS"},
		"context for a prompt":        {classic("UserPromptSubmit", "userPromptSubmit", map[string]any{"prompt": "go on"}), false, "Today is "},
		"what the linter finds":       {classic("PostToolUse", "postToolUse", map[string]any{"toolName": "write_to_file", "parameters": map[string]any{"path": "a.sh", "content": "x"}, "result": "ok", "success": true}), false, "double quote"},
		"a tool that nobody looks at": {before("use_mcp_tool", map[string]any{"server_name": "s", "tool_name": "t", "arguments": "{}"}), false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			payload, err := json.Marshal(tt.payload)
			if err != nil {
				t.Fatal(err)
			}
			out := h.Run(context.Background(), hook.Raw{Payload: payload, StoredAt: time.Now(), Cwd: w.project})
			r := out.Answer.Reply
			if said := r.ErrorMessage + r.Context; r.Cancel != tt.cancel || !strings.Contains(said, tt.says) {
				t.Errorf("cancel %t and %q, want %t and %q\n%s", r.Cancel, said, tt.cancel, tt.says, strings.Join(out.Problems, "\n"))
			}
			for _, p := range out.Problems {
				t.Errorf("problem: %s", p)
			}
		})
	}
}

// onlyScripts leaves the tests out of the folder.
type onlyScripts struct{ fs.FS }

func (o onlyScripts) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(o.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".go") }), err
}
