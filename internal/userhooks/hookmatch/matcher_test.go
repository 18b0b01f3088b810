package hookmatch

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestMatcher(t *testing.T) {
	var table []struct {
		Event, Matcher, Value, Why string
		Match                      *bool
	}
	data, err := os.ReadFile("testdata/matchers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	if len(table) == 0 {
		t.Fatal("the table is empty")
	}
	for _, tc := range table {
		m, err := Compile(tc.Event, tc.Matcher)
		if tc.Match == nil {
			if err == nil {
				t.Errorf("%s %q: no error, want one: %s", tc.Event, tc.Matcher, tc.Why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", tc.Event, tc.Matcher, err)
			continue
		}
		if _, ok, err := m.Match([]string{tc.Value}); err != nil || ok != *tc.Match {
			t.Errorf("%s %q on %q: %t, %v; want %t: %s", tc.Event, tc.Matcher, tc.Value, ok, err, *tc.Match, tc.Why)
		}
	}
}

func TestMatcherTriesAllSubjects(t *testing.T) {
	for name, tc := range map[string]struct {
		event, matcher string
		subjects       []string
		want           string
		ok             bool
	}{
		"the first":                          {"PreToolUse", "Bash", []string{"Bash", "execute_command"}, "Bash", true},
		"the host's own name":                {"PreToolUse", "execute_command", []string{"Bash", "execute_command"}, "execute_command", true},
		"an expression on the second":        {"PreToolUse", "^exec", []string{"Bash", "execute_command"}, "execute_command", true},
		"a name that is excluded":            {"PreToolUse", "^(?!Read$).*", []string{"Read", "read_file"}, "Read", false},
		"the host's own name excluded":       {"PreToolUse", "^(?!read_file$).*", []string{"Read", "read_file"}, "read_file", false},
		"another name excluded":              {"PreToolUse", "^(?!Read$).*", []string{"Bash", "execute_command"}, "Bash", true},
		"an exclusion inside of a name":      {"PreToolUse", "^Bash(?!Output)", []string{"Bash", "execute_command"}, "Bash", true},
		"an exclusion behind a name":         {"PreToolUse", "_command(?<!run_command)$", []string{"Bash", "execute_command"}, "execute_command", true},
		"no exclusion in a class or escaped": {"PreToolUse", `[(?!]x|\(\?!|^exec`, []string{"Bash", "execute_command"}, "execute_command", true},
		"groups and classes in an exclusion": {"PreToolUse", `^(?!(?:Re|[)](a)d)ad$).*`, []string{"Read", "read_file"}, "Read", false},
		"none":                               {"PreToolUse", "Edit|Write", []string{"Bash", "execute_command"}, "", false},
		"no subject":                         {"PreToolUse", "Bash", nil, "", false},
		"everything without a subject":       {"PreToolUse", "", nil, "", true},
		"only separators name nothing":       {"PreToolUse", " , | ", []string{"", " "}, "", false},
		"ignored where there is none":        {"UserPromptSubmit", "([", nil, "", true},
		"a server's name with a space":       {"PreToolUse", "Bash | mcp__My Server__do_it", []string{"mcp__My_Server__do_it"}, "mcp__My_Server__do_it", true},
		"such a name in an expression":       {"PreToolUse", `mcp__@my/server\.v2__.*`, []string{"mcp___my_server_v2__x"}, "mcp___my_server_v2__x", true},
		"such a name excluded":               {"PreToolUse", "^(?!mcp__My Server__).*", []string{"mcp__My_Server__do_it"}, "mcp__My_Server__do_it", false},
		"a hyphen is plain":                  {"SubagentStop", "code-reviewer", []string{"code-reviewer"}, "code-reviewer", true},
		"a hyphen is not for one event":      {"StopFailure", "a-b", []string{"xa-b"}, "xa-b", true},
		"a file's name":                      {"FileChanged", ".env|x", []string{"aenv"}, "aenv", true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Compile(tc.event, tc.matcher)
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := m.Match(tc.subjects)
			if err != nil || got != tc.want || ok != tc.ok {
				t.Errorf("%q, %t, %v; want %q, %t", got, ok, err, tc.want, tc.ok)
			}
		})
	}
}

// TestMatcherAcceptsNewerSyntax has syntax that Claude Code's engine accepts, as
// recorded, and that older engines reject.
func TestMatcherAcceptsNewerSyntax(t *testing.T) {
	for matcher, want := range map[string]bool{"(?i:bash)": true, "(?-i:Bash)": true, "(?-i:bash)": false, "(?s-i:Ba.h)": true} {
		m, err := Compile("PreToolUse", matcher)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, ok, err := m.Match([]string{"Bash"}); ok != want || err != nil {
			t.Errorf("%s: %t, %v; want %t", matcher, ok, err, want)
		}
	}
}

// TestMatcherHasTimeLimit has an expression that needs years.
func TestMatcherHasTimeLimit(t *testing.T) {
	m, err := Compile("PreToolUse", `^(\w+\s?)*$`)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := m.Match([]string{strings.Repeat("a", 200) + "!"}); err == nil || ok {
		t.Errorf("%t, %v; want an error", ok, err)
	}
}

// TestMatcherAgreesWithJavaScript compares with a real engine, if one is installed. Left
// out are what only newer engines take, (?i:x) and one name in two alternatives,
// and a character of two units inside brackets, which the library does not split.
func TestMatcherAgreesWithJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if errors.Is(err, exec.ErrNotFound) {
		skip.Missing(t, "node is not installed, so there is no JavaScript to compare with")
	}
	subjects := []string{
		"Bash", "BashOutput", "bash", "NotebookEdit", "Edit", "Write", "mcp__a__b", "mcp__memory__create_entities",
		"p{L}", "é", "É", "u0041", "A", "١", "5", "\n", "a\nb", "", "a b", "a\u00a0b", "\u2028", "😀", "ﬁ", "K", "ſ", "aa", "abab", "{", "a{",
		"a{,3}", "]", "-", "/", "k<n>", "\\", "$", "^", "aXb", "x1", "_", "\x01", "\t", "cA", "\ue000", "i", "İ",
	}
	patterns := []string{
		`(?<=mcp__a__)b`, `(?<!Note)bookEdit`, `(?=Bash)B`, `^(?!Bash$).*`, `(?<name>a)\k<name>`, `(a)\1`, `\k<n>`, `(?<n>a)|\k<n>`,
		`^\d$`, `^\w$`, `^\s$`, `\bEdit`, `\BEdit`, `^\p{L}$`, `\p{L}`, `\P{L}`, `^\pL$`, `\u0041`, `\u{41}`, `\x41`, `\cA`, `\c`, `\e`, `\0`, `\01`, `\8`,
		`[^]`, `[]`, `^[^]$`, `^.$`, `(?i)bash`, `(?s).`, `(?#c)a`, `(?>a)`, `a++`, `a{`, `a{,3}`, `a{2}`, `a{2,1}`, `x{1001}`, `{`, `}`, `]`,
		`([`, `(`, `)`, `*a`, `+`, `?`, `a**`, `[b-a]`, `[\d-x]`, `[a-\d]`, `\/`, `\-`, `\_`, `a|`, `|a`, `^$`, `$`, `a$`, `^a`, `(?:)`, `(?=a)*`, `(?<=a)*`, `\A`, `\z`, `\Z`, `\Q`, `\G`,
		`\ud83d\ude00`, `^..$`, `[^a]`, `\n`, `[\n]`, `[\b]`, `.*\.env`, `mcp__.*`, `mcp__(?!a__).*`, `Edit.*|Write`, `^(Edit|Write)$`, `^my-plugin:x$`, `(?P<n>a)`, `(?'n'a)`, `(?<1>a)`, `(?<n>a)(?<n>b)`,
		`[[:alpha:]]`, `[a-z&&[^b]]`, `[\w-]`, `\w+-?`, `\h`, `\R`, `\X`, `\K`, `(a)|b\1`, `(?:a|ab)(?:c|bcd)*`, `(z)((a+)?(b+)?(c))*`, `\$`, `[$]`, `^[\s\S]+$`, `.`, `\.`,
	}
	const script = `
		const {patterns, subjects} = JSON.parse(require("fs").readFileSync(0, "utf8"));
		console.log(JSON.stringify(patterns.map(p => { try { const re = new RegExp(p); return subjects.filter(s => re.test(s)) } catch { return null } })))`
	in, err := json.Marshal(map[string]any{"patterns": patterns, "subjects": subjects})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", script)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var want [][]string
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for i, p := range patterns {
		// A name of a list never becomes an expression.
		m, err := Compile("PreToolUse", p)
		if m.Names != nil || m.All {
			continue
		}
		if err != nil {
			if want[i] != nil {
				t.Errorf("%s: %v; JavaScript takes it", p, err)
			}
			continue
		}
		if want[i] == nil {
			t.Errorf("%s: compiles; JavaScript refuses it", p)
			continue
		}
		got := []string{}
		for _, s := range subjects {
			if _, ok, err := m.Match([]string{s}); err != nil {
				t.Errorf("%s on %q: %v", p, s, err)
			} else if ok {
				got = append(got, s)
			}
		}
		if d := cmp.Diff(want[i], got); d != "" {
			t.Errorf("%s (-JavaScript +here):\n%s", p, d)
		}
	}
}

func FuzzMatcher(f *testing.F) {
	for _, s := range []string{"", "*", "Bash", "Edit|Write", "^(?!x).*", "([", `\u{1F600}`, "(?<n>a)\\k<n>", "a{1,9999999}"} {
		f.Add(s, "Bash")
	}
	f.Fuzz(func(t *testing.T, matcher, subject string) {
		if len(matcher) > 200 || len(subject) > 200 {
			return // Longer ones only take longer.
		}
		m, err := Compile("PreToolUse", matcher)
		if err != nil {
			return
		}
		if _, ok, err := m.Match([]string{subject}); ok && err != nil {
			t.Errorf("matcher %q on %q both fits and fails", matcher, subject)
		}
	})
}
