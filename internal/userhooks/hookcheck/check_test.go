package hookcheck

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// check returns the findings about one hook; a mistake is marked by "!".
func check(t *testing.T, p hookfile.Place, event, matcher string, hook map[string]any) []string {
	t.Helper()
	if hook["type"] == nil {
		hook["type"] = "command"
	}
	text, err := json.Marshal(map[string]any{"hooks": map[string]any{event: []any{map[string]any{"matcher": matcher, "hooks": []any{hook}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return checkText(t, p, string(text))
}

func checkText(t *testing.T, p hookfile.Place, text string) []string {
	t.Helper()
	f, err := hookfile.Parse("/f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.Tools = translate.ToolNames()
	var out []string
	for _, found := range Check(f, p) {
		mark := ""
		if found.Mistake {
			mark = "!"
		}
		out = append(out, fmt.Sprintf("%s%d %s", mark, found.Line, found.Text))
	}
	return out
}

// wants compares the beginnings of the findings; "$" at the end means the whole line.
func wants(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("said are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		return
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("said is\n%s\nwant\n%s", got[i], want[i])
		}
	}
}

func TestCheckReportsMatchersThatNeverFit(t *testing.T) {
	const never = ` fits no Cline tool, so the hook never runs: `
	for _, tt := range []struct {
		event, matcher string
		want           []string
	}{
		{"PreToolUse", "Bash", nil},
		{"PreToolUse", "execute_command|run_commands", nil},
		{"PreToolUse", "Write|Edit|MultiEdit|NotebookEdit", nil},
		{"PreToolUse", "mcp__github__get_issue", nil},
		{"PreToolUse", "github__get_issue", nil},
		{"PreToolUse", "mcp__github__.*", nil},
		{"PreToolUse", "^(?!Read$).*", nil},
		{"PreToolUse", "Bash(Output)?", nil},
		{"PreToolUse", "(Edit|Write)", nil},
		{"PreToolUse", "Edit|Write(?!r)", nil},
		{"PreToolUse", "team_spawn", nil},
		{"PostToolUse", "NotebookEdit", []string{`1 PostToolUse: matcher "NotebookEdit"` + never}},
		{"PreToolUse", "Notebook.*", []string{`1 PreToolUse: matcher "Notebook.*"` + never}},
		{"PreToolUse", "bash", []string{`!1 PreToolUse: matcher "bash" fits no tool, so the hook never runs: upper and lower case count: write "Bash"`}},
		{"PreToolUse", "Write | bash", []string{`!1 PreToolUse: matcher "bash" fits no tool: upper and lower case count: write "Bash"`}},
		{"PreToolUse", "^bash$", []string{`!1 PreToolUse: matcher "^bash$"` + never + "upper and lower case count"}},
		{"PreToolUse", "Bash(git:*)", []string{`!1 PreToolUse: matcher "Bash(git:*)" holds a permission rule, which fits no tool as a matcher: write "matcher": "Bash", and the rule as "if"`}},
		{"PreToolUse", "Edit|Bash(rm *)", []string{`!1 PreToolUse: matcher "Edit|Bash(rm *)" holds a permission rule`}},
		{"PreToolUse", "mcp__github", []string{`!1 PreToolUse: matcher "mcp__github" fits no tool, so the hook never runs: write "mcp__github__.*" for all tools of the server`}},
		{"PreToolUse", "Bash|mcp__github", []string{`!1 PreToolUse: matcher "mcp__github" fits no tool: write "mcp__github__.*"`}},
		{"PreToolUse", "attempt_completion", []string{`1 PreToolUse: matcher "attempt_completion" fits no call that reaches hooks, so the hook never runs: use the event Stop`}},
		{"PreToolUse", `tool == "Bash" && tool_input.command matches "git push"`, []string{`!1 PreToolUse: matcher "tool == \"Bash\" && tool_input.command matches \"git push\"" is a condition, and a matcher is the tool's name`}},
		{"PreToolUse", `tool == "Edit" || tool == "Write"`, []string{`!1 PreToolUse: matcher "tool == \"Edit\" || tool == \"Write\"" is a condition, and a matcher is the tool's name or an expression for it, so the hook runs for other tools, too: `}},
		{"PreToolUse", "(", []string{`!1 PreToolUse: matcher "(" is no JavaScript regular expression`}},
		{"SessionStart", "startup|resume", nil},
		{"SessionStart", "^start", nil},
		{"SessionStart", "compact", []string{`1 SessionStart: matcher "compact": on Cline SessionStart has "startup" or "resume" and nothing else, so the hook never runs: `}},
		{"SessionStart", "startup|clear|compact", []string{`1 SessionStart: matcher "startup|clear|compact": on Cline SessionStart has "startup" or "resume" and nothing else, so the hook never runs for "clear" or "compact"`}},
		{"PreCompact", "manual", []string{`1 PreCompact: matcher "manual": on Cline PreCompact has "auto" and nothing else`}},
		{"SessionEnd", "logout", []string{`1 SessionEnd: matcher "logout": on Cline SessionEnd has "other"`}},
		{"Notification", "auth_.*", []string{`1 Notification: matcher "auth_.*": on Cline Notification has "permission_prompt" or "idle_prompt"`}},
		{"Stop", "", nil},
	} {
		t.Run(tt.event+" "+tt.matcher, func(t *testing.T) {
			wants(t, check(t, hookfile.Place{}, tt.event, tt.matcher, map[string]any{"command": "true"}), tt.want...)
		})
	}
}

func TestCheckReportsTimeoutsInMilliseconds(t *testing.T) {
	for seconds, mistake := range map[float64]bool{5: false, 600: false, 1800: false, 3600: false, 5000: true, 60000: true, 120000: true} {
		got := check(t, hookfile.Place{}, "Stop", "", map[string]any{"command": "true", "timeout": seconds})
		if mistake != (len(got) == 1) {
			t.Errorf("timeout %v: %q", seconds, got)
		}
		if seconds == 60000 {
			wants(t, got, "!1 Stop: timeout 60000 is 16h40m0s, since it is in seconds: write 60")
		}
	}
}

func TestCheckReportsBashInPOSIXLines(t *testing.T) {
	for line, want := range map[string]string{
		`[ "$x" = 1 ] && exit 2`:             "",
		`[[ $x == y ]] && exit 2`:            "[[ ]]",
		`jq . <<< "$x"`:                      "<<<",
		`diff <(ls a) b`:                     "<( )",
		`a=(1 2); true`:                      "an array",
		`source "$X/env"`:                    "source",
		`true &> /dev/null`:                  "&>",
		`true &>> /dev/null`:                 "&>>",
		`true |& cat`:                        "|&",
		`echo "${x//a/b}"`:                   "${name/...}",
		`set -euo pipefail; true`:            "set -o pipefail",
		`[ "$x" == y ]`:                      "== in [ ]",
		`((x++))`:                            "(( ))",
		`function f { true; }; f`:            "function",
		`echo "[[ is quoted" '<<<'`:          "",
		`bash -c '[[ -f x ]] && exit 2'`:     "",
		`echo "${x%%.*}" "${x:-y}" $((1+2))`: "",
	} {
		hook := map[string]any{"command": line}
		got := check(t, hookfile.Place{Shell: "dash"}, "Stop", "", hook)
		if want == "" {
			wants(t, got)
		} else {
			wants(t, got, "!1 Stop: "+want)
		}
		if len(got) > 0 && !strings.HasSuffix(got[0], `add "shell": "bash" to the hook`) {
			t.Errorf("%s: %s", line, got[0])
		}
		for _, p := range []hookfile.Place{{Shell: "bash"}, {GOOS: "windows"}} {
			wants(t, check(t, p, "Stop", "", hook))
		}
		hook["shell"] = "bash"
		wants(t, check(t, hookfile.Place{Shell: "dash"}, "Stop", "", hook))
	}
	// Lines that cannot be parsed, or are too long, have no findings.
	for _, line := range []string{`echo "`, "echo " + strings.Repeat("$(", 5000), strings.Repeat("x", 128<<10+1)} {
		wants(t, check(t, hookfile.Place{}, "Stop", "", map[string]any{"command": line}))
	}
}

func TestCheckReportsMissingPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Elsewhere(t, "the paths are those of other systems")
	}
	home, project := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(home, "run.sh"): 0o700, filepath.Join(home, "plain.sh"): 0o600, filepath.Join(project, "own.sh"): 0o700,
		filepath.Join(home, "jq"): 0o700,
	} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	const missing = ": there is no such program, and a hook that cannot be started decides nothing: "
	for _, tt := range []struct {
		name, command string
		args          []string
		project       bool
		want          string
	}{
		{"on the path", "jq .", nil, false, ""},
		{"not on the path", "jqq .", nil, false, `!1 Stop: program "jqq" is not on PATH`},
		{"not on the path in a pipe", "cat <x | jqq .", nil, false, `!1 Stop: program "cat" is not on PATH`},
		{"built in", "test -f x && exit 2; read x", nil, false, ""},
		{"a program that may be missing", "jqq . || true; command -v y && y", nil, false, ""},
		{"a home's", "~/run.sh --now", nil, false, ""},
		{"a home's by its variable", `"$HOME/run.sh" x`, nil, false, ""},
		{"a home's that is missing", `"$HOME"/gone.sh x`, nil, false, "!1 Stop: " + home + "/gone.sh" + missing},
		{"missing", "/no/such.sh x", nil, false, "!1 Stop: /no/such.sh" + missing},
		{"missing as the second", "true; /no/such.sh x", nil, false, "!1 Stop: /no/such.sh" + missing},
		{"missing behind another's success", "true && /no/such.sh x", nil, false, ""},
		{"missing in another folder", "cd /x; ./such.sh", nil, false, ""},
		{"not executable", home + "/plain.sh", nil, false, "!1 Stop: " + home + "/plain.sh is not executable, and a hook that cannot be started decides nothing: chmod +x "},
		{"a script need not be executable", "sh " + home + "/plain.sh", nil, false, ""},
		{"a missing script", "sh -x " + home + "/gone.sh", nil, false, "!1 Stop: " + home + "/gone.sh" + missing},
		{"a missing script behind a runner", "uv run " + home + "/gone.py", nil, false, "!1 Stop: " + home + "/gone.py" + missing},
		{"no script", "sh -c './gone.sh'", nil, false, ""},
		{"a folder", home, nil, false, "!1 Stop: " + home + " is a folder"},
		{"relative, for all projects", "./own.sh", nil, false, "1 Stop: ./own.sh is looked for in the folder where Cline works: for a hook of all your projects write the whole path"},
		{"relative, for a project", "./own.sh", nil, true, ""},
		{"relative and missing", "bin/x", nil, true, "!1 Stop: " + project + "/bin/x" + missing},
		{"a project's own", `"$CLAUDE_PROJECT_DIR"/own.sh`, nil, true, ""},
		{"a project's own that is missing", `"${CLAUDE_PROJECT_DIR}/gone.sh"`, nil, true, "!1 Stop: " + project + "/gone.sh" + missing},
		{"a project's in the user's file", `"$CLAUDE_PROJECT_DIR"/own.sh`, nil, false, "1 Stop: $CLAUDE_PROJECT_DIR/own.sh is looked for in every project, and the hook fails where it is missing: move the hook"},
		{"behind a variable", "A=/x/y ./own.sh", nil, true, ""},
		{"a variable that is not known", "$X/own.sh; $(which x)/y; *.sh", nil, true, ""},
		{"another's home", "~nobody/x.sh", nil, false, ""},
		{"without a shell", "${CLAUDE_PROJECT_DIR}/gone", []string{"x"}, true, "!1 Stop: " + project + "/gone" + missing},
		{"without a shell, in the home", "~/run.sh", []string{}, true, "!1 Stop: " + project + "/~/run.sh" + missing},
		{"another PATH", "PATH=/x:$PATH; jqq", nil, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := hookfile.Place{Home: home, GOOS: "linux", Path: home, Shell: "bash"}
			if tt.project {
				p.Project = project
			}
			hook := map[string]any{"command": tt.command}
			if tt.args != nil {
				hook["args"] = tt.args
			}
			if tt.name == "a script need not be executable" || strings.HasPrefix(tt.name, "a missing script") || tt.name == "no script" {
				p.Path = "" // where sh is does not matter
			}
			got := check(t, p, "Stop", "", hook)
			if tt.want == "" {
				wants(t, got)
				return
			}
			if len(got) == 0 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A finding about several hooks of a file is reported once.
func TestCheckReportsPluginVariablesOncePerFile(t *testing.T) {
	file := func(env string, commands ...string) string {
		var hooks []string
		for _, c := range commands {
			quoted, _ := json.Marshal(c)
			hooks = append(hooks, `{"type":"command","command":`+string(quoted)+`}`)
		}
		return `{` + env + `"hooks":{"Stop":[{"hooks":[` + strings.Join(hooks, ",\n") + `]}]}}`
	}
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprintf("echo %d ${CLAUDE_PLUGIN_ROOT}/x", i))
	}
	wants(t, checkText(t, hookfile.Place{}, file("", many...)),
		`1 Stop: $CLAUDE_PLUGIN_ROOT is set for plugins of Claude Code only and empty here: set it under "env" in hooks.json, or write the path itself (and 32 more of the hooks)`)
	wants(t, checkText(t, hookfile.Place{}, file("", "echo $CLAUDE_PLUGIN_ROOT $CLAUDE_PLUGIN_ROOT")),
		`1 Stop: $CLAUDE_PLUGIN_ROOT is set for plugins`)
	wants(t, checkText(t, hookfile.Place{}, file(`"env":{"CLAUDE_PLUGIN_ROOT":"/p"},`, many...)))
	wants(t, checkText(t, hookfile.Place{Env: []hookfile.Variable{{Name: "CLAUDE_PLUGIN_ROOT", Value: "/p"}}}, file("", many...)))
	wants(t, checkText(t, hookfile.Place{}, file("", `echo "${CLAUDE_PLUGIN_ROOT:-$HOME}"`, `CLAUDE_PLUGIN_ROOT=/p; echo $CLAUDE_PLUGIN_ROOT`, `echo '$CLAUDE_PLUGIN_ROOT'`, "true # $CLAUDE_PLUGIN_ROOT")))
	wants(t, check(t, hookfile.Place{}, "Stop", "", map[string]any{"command": "echo", "args": []string{"${CLAUDE_PLUGIN_ROOT}/x"}}),
		`1 Stop: $CLAUDE_PLUGIN_ROOT is for plugins of Claude Code, and without a shell nothing replaces it`)
}

func TestCheckReportsMissingProgramOncePerFile(t *testing.T) {
	hook := `{"type":"command","command":"uvv run x"},`
	wants(t, checkText(t, hookfile.Place{Path: "/nowhere", Shell: "bash"}, `{"hooks":{"Stop":[{"hooks":[`+strings.TrimSuffix(strings.Repeat(hook, 3), ",")+`]}]}}`),
		`!1 Stop: program "uvv" is not on PATH, and a hook that cannot be started decides nothing: install it, or write its whole path (and 2 more of the hooks)`)
}

func TestCheckCutsLongMatcher(t *testing.T) {
	got := check(t, hookfile.Place{}, "PreToolUse", "tool == "+strings.Repeat("x", 500), map[string]any{"command": "true"})
	if len(got) != 1 || len(got[0]) > 350 || !strings.Contains(got[0], "…") {
		t.Errorf("%q", got)
	}
}

func TestCheckReportsIgnoredSettings(t *testing.T) {
	wants(t, checkText(t, hookfile.Place{}, `{"permissions":{"allow":["x"],`+"\n"+`"deny":["Bash(rm *)","Read(.env)"]},"hooks":{}}`),
		`2 permissions.deny is not applied on Cline (2 of its rules): write a PreToolUse hook for each`)
	wants(t, checkText(t, hookfile.Place{}, `{"permissions":{"deny":[]},"hooks":{}}`))
	for _, command := range []string{`echo "export A=1" >> "$CLAUDE_ENV_FILE"`, `echo A=1 | tee -a "$CLAUDE_ENV_FILE"`} {
		wants(t, check(t, hookfile.Place{}, "SessionStart", "", map[string]any{"command": command}),
			`1 SessionStart: writes to CLAUDE_ENV_FILE, which nothing reads on Cline: set the variables under "env"`)
	}
	wants(t, check(t, hookfile.Place{}, "SessionStart", "", map[string]any{"command": `test -n "$CLAUDE_ENV_FILE"; cat <"$CLAUDE_ENV_FILE"`}))
}

// The problems of parsing are among the findings, in file order.
func TestCheckKeepsFileOrder(t *testing.T) {
	got := checkText(t, hookfile.Place{}, "{\"hooks\":{\"PreToolUse\":[\n{\"matcher\":\"bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]},\n{\"hooks\":[{\"type\":\"prompt\"}]},\n{\"matcher\":\"(\",\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}]}}")
	var lines []string
	for _, s := range got {
		lines = append(lines, strings.TrimPrefix(s, "!")[:1])
	}
	if diff := cmp.Diff([]string{"2", "3", "4"}, lines); diff != "" {
		t.Errorf("%s\n%s", diff, strings.Join(got, "\n"))
	}
}

// TestCheckOfClaudeCodesHooks: what Cline lacks is no finding there.
func TestCheckOfClaudeCodesHooks(t *testing.T) {
	f, err := hookfile.ParseClaude("settings.json", []byte(`{"permissions":{"deny":["Bash"]},"hooks":{
  "PreToolUse":[{"matcher":"NotebookEdit","hooks":[{"type":"command","command":"true"}]},
    {"matcher":"bash|Edit","hooks":[{"type":"command","command":"true"}]},
    {"matcher":"^bash$","hooks":[{"type":"command","command":"true"}]},
    {"matcher":"^nothing$","hooks":[{"type":"command","command":"true"}]},
    {"matcher":"mcp__github","hooks":[{"type":"command","command":"true"}]},
    {"matcher":"Bash(rm *)","hooks":[{"type":"command","command":"true"}]}],
  "SessionStart":[{"matcher":"clear","hooks":[{"type":"command","command":"echo x >>$CLAUDE_ENV_FILE"}]}],
  "Stop":[{"hooks":[{"type":"command","command":"${CLAUDE_PLUGIN_ROOT}/x","timeout":60000}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range Check(f, hookfile.Place{Claude: true, GOOS: "linux", Tools: []string{"Bash", "Edit"}, Shell: "bash"}) {
		got = append(got, fmt.Sprintf("%d %s", p.Line, p.Text))
	}
	want := []string{
		`3 PreToolUse: matcher "bash" fits no tool: upper and lower case count: write "Bash"`,
		`4 PreToolUse: matcher "^bash$" fits no tool, so the hook never runs: upper and lower case count, as in "Bash"`,
		`6 PreToolUse: matcher "mcp__github" fits no tool: write "mcp__github__.*" for all tools of the server`,
		`7 PreToolUse: matcher "Bash(rm *)" holds a permission rule, which fits no tool as a matcher: write "matcher": "Bash", and the rule as "if" of the hook`,
		`9 Stop: timeout 60000 is 16h40m0s, since it is in seconds: write 60`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
