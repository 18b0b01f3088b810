package hookmatch

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/userhooks/hookhttp"
	"github.com/hookspan/hookspan/internal/userhooks/plain"
)

var testScope = plain.Scope{Dir: "/ws", Project: "/ws", Home: "/home/me", GOOS: "linux", Host: hookhttp.Host}

// TestRulesAgreeWithClaudeCode compares with recordings of the real program. If that could
// not decide and ran every hook, a decision here is no difference.
func TestRulesAgreeWithClaudeCode(t *testing.T) {
	var f struct {
		Rules [][]string
		Calls []struct {
			Tool  string
			Input json.RawMessage
			Ran   []string
			Open  bool
			Set   int
		}
	}
	data, err := os.ReadFile("testdata/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	// Where more hooks run here, and why.
	more := map[string]string{
		"timeout ": "wrapper", "time": "wrapper", "nice ": "wrapper", "nohup ": "wrapper", "stdbuf ": "wrapper", "xargs timeout": "wrapper", "coproc": "wrapper",
		// The documentation has command; the rest is read through so that guards start.
		"command ": "wrapper", "env ": "wrapper", "sudo ": "wrapper", "exec ": "wrapper", "setsid ": "wrapper", "bash -c": "wrapper", "eval ": "wrapper",
		"xargs -": "wrapper", "echo a | xargs -": "wrapper", "trap ": "wrapper",
		"echo 'unterminated": "no Bash", "git status ;;": "no Bash", "{": "no Bash", "!": "no Bash", "if": "no Bash", "for x in 1; do": "no Bash", "while": "no Bash",
		"g?t": "a file decides what runs", "g*": "a file decides what runs",
		`echo "x $(`: "the argument is not known", "echo \"a\nb\"": "white space is alike",
	}
	compared := 0
	for _, c := range f.Calls {
		if c.Open {
			continue
		}
		var input struct{ Command string }
		if err := json.Unmarshal(c.Input, &input); err != nil {
			t.Fatal(err)
		}
		tolerated := false
		for prefix := range more {
			tolerated = tolerated || c.Tool == "Bash" && strings.HasPrefix(input.Command, prefix)
		}
		for _, text := range f.Rules[c.Set] {
			compared++
			ok, why := false, ""
			if r, err := ParseRule(text); err == nil {
				ok, why = r.Match(testScope, plain.Call{Tool: c.Tool, Input: c.Input})
			}
			if want := slices.Contains(c.Ran, text); ok != want && (want || !tolerated) && !widened(c.Tool, text) {
				t.Errorf("%s on %s %s: %t (%s), Claude Code says %t", text, c.Tool, c.Input, ok, why, want)
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d comparisons", compared)
	}
}

// widened are the rules of the permissions' documentation that "if" of
// that version never matches.
func widened(tool, rule string) bool {
	return strings.Contains(rule, "(") && (tool == "Write" || tool == "WebFetch" || tool == "Agent")
}

func TestRules(t *testing.T) {
	for name, tc := range map[string]struct {
		rule, tool, input string
		want              bool
	}{
		"a tool":                         {"Bash", "Bash", `{}`, true},
		"another tool":                   {"Bash", "Edit", `{}`, false},
		"an edit rule takes Write":       {"Edit(src/**)", "Write", `{"file_path":"/ws/src/a.go"}`, true},
		"an edit rule takes MultiEdit":   {"Edit(*.go)", "MultiEdit", `{"file_path":"/ws/src/a.go"}`, true},
		"an edit rule takes notebooks":   {"Edit(*.ipynb)", "NotebookEdit", `{"notebook_path":"/ws/a.ipynb"}`, true},
		"a bare edit rule does not":      {"Edit", "Write", `{"file_path":"/ws/src/a.go"}`, false},
		"a write rule takes Write alone": {"Write(*.go)", "Edit", `{"file_path":"/ws/a.go"}`, false},
		"a write rule takes paths":       {"Write(*.go)", "Write", `{"file_path":"/ws/a.go"}`, true},
		"a read rule takes Grep":         {"Read(src/**)", "Grep", `{"pattern":"x","path":"/ws/src/deep"}`, true},
		"a search of the whole project":  {"Read(src/**)", "Grep", `{"pattern":"x"}`, false},
		"a read rule takes no edit":      {"Read(src/**)", "Edit", `{"file_path":"/ws/src/a.go"}`, false},
		"home":                           {"Read(~/.ssh/**)", "Read", `{"file_path":"/home/me/.ssh/id"}`, true},
		"home, spelt short":              {"Read(~/.ssh/**)", "Read", `{"file_path":"~/.ssh/id"}`, true},
		"absolute":                       {"Read(//etc/**)", "Read", `{"file_path":"/etc/passwd"}`, true},
		"one slash is the project":       {"Read(/etc/**)", "Read", `{"file_path":"/etc/passwd"}`, false},
		"a way around":                   {"Read(//etc/**)", "Read", `{"file_path":"/ws/../etc/passwd"}`, true},
		"a relative path":                {"Edit(src/*.go)", "Edit", `{"file_path":"src/a.go"}`, true},
		"a class":                        {"Edit([!a]*.go)", "Edit", `{"file_path":"/ws/b.go"}`, true},
		"not of the class":               {"Edit([!a]*.go)", "Edit", `{"file_path":"/ws/a.go"}`, false},
		"an escaped star":                {`Edit(\*.go)`, "Edit", `{"file_path":"/ws/a.go"}`, false},
		"umlauts":                        {`Edit(übung/*)`, "Edit", `{"file_path":"/ws/übung/x"}`, true},
		"domain":                         {"WebFetch(domain:example.com)", "WebFetch", `{"url":"https://Example.com./x"}`, true},
		"another domain":                 {"WebFetch(domain:example.com)", "WebFetch", `{"url":"https://example.com.evil.org"}`, false},
		"a subdomain":                    {"WebFetch(domain:*.example.com)", "WebFetch", `{"url":"https://a.b.example.com:8443/"}`, true},
		"no subdomain":                   {"WebFetch(domain:*.example.com)", "WebFetch", `{"url":"https://example.com/"}`, false},
		"a star between dots":            {"WebFetch(domain:example.*)", "WebFetch", `{"url":"https://example.evil.com/"}`, false},
		"any domain":                     {"WebFetch(domain:*)", "WebFetch", `{"url":"x"}`, true},
		"a user in the address":          {"WebFetch(domain:example.com)", "WebFetch", `{"url":"https://evil.org@example.com/"}`, true},
		"an address without a scheme":    {"WebFetch(domain:example.com)", "WebFetch", `{"url":"example.com/x"}`, true},
		"no address at all":              {"WebFetch(domain:example.com)", "WebFetch", `{"url":"http://%zz"}`, true},
		"white space and a backslash":    {"WebFetch(domain:example.com)", "WebFetch", `{"url":"\u0001 https:\\\\exam\tple.com\\x"}`, true},
		"a name with other letters":      {"WebFetch(domain:münchen.example)", "WebFetch", `{"url":"https://xn--mnchen-3ya.example/"}`, true},
		"a number for a host":            {"WebFetch(domain:127.0.0.1)", "WebFetch", `{"url":"http://2130706433/"}`, true},
		"a subdomain in wide letters":    {"WebFetch(domain:*.example.com)", "WebFetch", `{"url":"https://a。ｅxample。com/"}`, true},
		"a server":                       {"mcp__memory", "mcp__memory__add", `{}`, true},
		"a server's name is whole":       {"mcp__mem", "mcp__memory__add", `{}`, false},
		"a server with a star":           {"mcp__memory__*", "mcp__memory__add", `{}`, true},
		"some tools of a server":         {"mcp__github__get_*", "mcp__github__put_x", `{}`, false},
		"a tool of a server":             {"mcp__memory__add", "mcp__memory__add", `{}`, true},
		"an agent":                       {"Agent(Explore)", "Agent", `{"subagent_type":"Explore"}`, true},
		"another agent":                  {"Agent(Explore)", "Agent", `{"subagent_type":"Plan"}`, false},
		"an agent by its old name":       {"Task(Explore)", "Agent", `{"subagent_type":"Explore"}`, true},
		"an agent's model":               {"Agent(model:op*)", "Agent", `{"subagent_type":"x","model":"opus"}`, true},
		"a parameter":                    {"AskUserQuestion(multi : true)", "AskUserQuestion", `{"multi":true}`, true},
		"a parameter that is missing":    {"AskUserQuestion(multi:*)", "AskUserQuestion", `{}`, false},
		"a parameter that is a list":     {"AskUserQuestion(multi:*)", "AskUserQuestion", `{"multi":[]}`, false},
		"a skill":                        {"Skill(deploy *)", "Skill", `{"skill":"deploy","args":"now"}`, true},
		"another skill":                  {"Skill(deploy)", "Skill", `{"skill":"test"}`, false},
		"unreadable input":               {"Bash(rm *)", "Bash", `[`, true},
		"PowerShell":                     {"PowerShell(get-childitem *)", "PowerShell", `{"command":"Get-ChildItem  C:; dir"}`, true},
		"other PowerShell":               {"PowerShell(rm *)", "PowerShell", `{"command":"dir | sort"}`, false},
		"PowerShell that decides late":   {"PowerShell(rm *)", "PowerShell", `{"command":"& $x"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := ParseRule(tc.rule)
			if err != nil {
				t.Fatal(err)
			}
			got, why := r.Match(testScope, plain.Call{Tool: tc.tool, Input: json.RawMessage(tc.input)})
			if got != tc.want || why == "" {
				t.Errorf("%s on %s %s: %t, %q", tc.rule, tc.tool, tc.input, got, why)
			}
		})
	}
}

// A rule may name a tool of an MCP server as either Cline calls it.
func TestRuleFitsAnotherNameOfAnMCPTool(t *testing.T) {
	c := plain.Call{
		Tool: "mcp__My_Server__do_it_ecbcd495", Input: json.RawMessage("{}"),
		Subjects: []string{"mcp__My_Server__do_it_ecbcd495", "mcp__My_Server__do_it", "use_mcp_tool"},
	}
	for text, want := range map[string]bool{
		"mcp__My_Server__do_it": true, "mcp__My_Server__do_it_ecbcd495": true, "mcp__My_Server": true, "mcp__other__do_it": false,
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, why := r.Match(testScope, c); got != want {
			t.Errorf("%s: %t, %s", text, got, why)
		}
	}
}

// Without a parser for addresses a rule on hosts starts the hook.
func TestHostRuleFitsWhereHostsCannotBeRead(t *testing.T) {
	r, err := ParseRule("WebFetch(domain:example.com)")
	if ok, why := r.Match(plain.Scope{}, plain.Call{Tool: "WebFetch", Input: json.RawMessage(`{"url":"https://other.example"}`)}); !ok || err != nil || !plain.OnHost("WebFetch(domain:evil.example)") {
		t.Errorf("%t, %s, %v", ok, why, err)
	}
}

func TestRulePathsOnWindows(t *testing.T) {
	s := plain.Scope{Dir: `C:\ws`, Project: `C:\ws`, Home: `C:\Users\me`, GOOS: "windows"}
	for pattern, want := range map[string]map[string]bool{
		"src/**":     {`C:\ws\src\a.go`: true, `c:/WS/SRC/a.go`: true, `D:\ws\src\a.go`: false, `src\a.go`: true},
		"//c/**/*.k": {`C:\x\y.k`: true, `D:\x\y.k`: false},
		"~/.ssh/*":   {`C:\Users\me\.ssh\id`: true, `C:\Users\you\.ssh\id`: false},
		"/a":         {`C:\ws\a`: true, `C:\a`: false},
		"*.go":       {`D:\x\a.go`: true},
	} {
		for file, ok := range want {
			if got := fitsPath(s, pattern, file); got != ok {
				t.Errorf("%s on %s: %t, want %t", pattern, file, got, ok)
			}
		}
	}
}

func TestParseRuleAndCompileReportErrors(t *testing.T) {
	for text, want := range map[string]string{
		"Bash": "", "Bash(git *)": "", "Bash()": "", "mcp__a__*": "", "Edit(src/**)": "", "WebFetch(domain:a.b)": "", "Read([ab].c)": "",
		"Bash(git *":            "want one rule",
		"Bash(git *)x":          "want one rule",
		"Bash (git *)":          "want one rule",
		"(x)":                   "want one rule",
		"*":                     "want one rule",
		"Edit|Write":            "one rule",
		"Edit(a)|Write(b)":      "one rule",
		"Edit, Write":           "one rule",
		"Edit(!a)":              "never fits",
		"Edit(a[)":              "not closed",
		"Edit([b-a])":           "upside down",
		`Edit(a\)`:              "backslash",
		"WebFetch(https://a.b)": "domain:host",
	} {
		_, err := ParseRule(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, m := range []string{"", "Edit|Write", "^(?!x)"} {
		if _, err := Compile("PreToolUse", m); err != nil {
			t.Errorf("%q: %v", m, err)
		}
	}
	if _, err := Compile("PreToolUse", "(?i)bash"); err == nil || !strings.Contains(err.Error(), "(?i") {
		t.Errorf("(?i)bash: %v, want it named", err)
	}
}

func TestReadShell(t *testing.T) {
	for line, want := range map[string]shellCommands{
		"": {}, "# only": {},
		"a && b|c;d&\ne":                {texts: []string{"a", "b", "c", "d", "e"}},
		"X=1 Y=$(in) a":                 {texts: []string{"a", "in"}},
		"f() { a; }; f":                 {texts: []string{"a", "f"}},
		"(a; { b; }) | c":               {texts: []string{"a", "b", "c"}},
		"if a; then b; else c; fi":      {texts: []string{"a", "b", "c"}},
		"case x in y) a;; esac":         {texts: []string{"a"}},
		`a "b c" 'd  e' \$f`:            {texts: []string{"a b c d e $f"}},
		"a $x":                          {texts: []string{"a $"}, expands: true},
		`a "$x" b`:                      {texts: []string{"a $ b"}, expands: true},
		"a $(b `c`)":                    {texts: []string{"a $", "b $", "c"}, expands: true},
		"a <(b)":                        {texts: []string{"a $", "b"}, expands: true},
		"a {b,c}":                       {texts: []string{"a $"}, expands: true},
		"a $'b'":                        {texts: []string{"a $"}, expands: true},
		"a $((1+$(b)))":                 {texts: []string{"a 0", "b"}},
		"timeout -k 1 -s KILL 5 a":      {texts: []string{"timeout -k 1 -s KILL 5 a", "a"}},
		"nice -n 5 nohup a":             {texts: []string{"nice -n 5 nohup a", "nohup a", "a"}},
		"xargs -n1 a":                   {texts: []string{"xargs -n1 a", "a"}},
		"xargs -0 -P 4 -d x a b":        {texts: []string{"xargs -0 -P 4 -d x a b", "a b"}},
		"xargs -I{} a -- {} b":          {texts: []string{"xargs -I{} a -- {} b", "a -- $ b"}},
		"xargs --replace=X a X":         {texts: []string{"xargs --replace=X a X", "a $"}},
		"xargs -0":                      {texts: []string{"xargs -0"}},
		"env - A=1 a":                   {texts: []string{"env - A=1 a", "a"}},
		"trap 'a; b' EXIT; trap - INT":  {texts: []string{"trap a; b EXIT", "a", "b", "trap - INT"}},
		"trap '' INT; trap -p; trap a":  {texts: []string{"trap INT", "trap -p", "trap a"}},
		"bash x.sh; sh -x - y":          {texts: []string{"bash x.sh", "sh -x - y"}},
		"source venv/bin/activate; . a": {texts: []string{"source venv/bin/activate", ". a"}},
		"command -p a":                  {texts: []string{"command -p a", "a"}},
		"command -v a":                  {texts: []string{"command -v a"}},
		"builtin a; noglob b":           {texts: []string{"builtin a", "a", "noglob b", "b"}},
		"/usr/bin/time -f x a":          {texts: []string{"/usr/bin/time -f x a", "a"}},
		"env -i -u X A=1 B=2 a":         {texts: []string{"env -i -u X A=1 B=2 a", "a"}},
		"env":                           {texts: []string{"env"}},
		"sudo -nu root -- A=1 a":        {texts: []string{"sudo -nu root -- A=1 a", "a"}},
		"sudo --user root -uroot -E a":  {texts: []string{"sudo --user root -uroot -E a", "a"}},
		"sudo --user=root timeout 5 a":  {texts: []string{"sudo --user=root timeout 5 a", "timeout 5 a", "a"}},
		"doas a; setsid b; exec -a x c": {texts: []string{"doas a", "a", "setsid b", "b", "exec -a x c", "c"}},
		"bash -c 'a; b' c":              {texts: []string{"bash -c a; b c", "a", "b"}},
		"bash -o pipefail -lc 'a'":      {texts: []string{"bash -o pipefail -lc a", "a"}},
		"/bin/sh +e -c a":               {texts: []string{"/bin/sh +e -c a", "a"}},
		"bash x.sh -c a":                {texts: []string{"bash x.sh -c a"}},
		`sudo bash -c "eval 'a b'"`:     {texts: []string{"sudo bash -c eval 'a b'", "bash -c eval 'a b'", "eval a b", "a b"}},
		"eval a 'b; c'":                 {texts: []string{"eval a b; c", "a b", "c"}},
		"bash -c 'a $1'":                {texts: []string{"bash -c a $1", "a $"}, expands: true},
		"nohup -- a":                    {texts: []string{"nohup -- a", "a"}},
		"time a":                        {texts: []string{"time a", "a"}},
		"export A=$x B":                 {texts: []string{"export A=$x B"}, expands: true},
		"export A=$(b)":                 {texts: []string{"export A=$(b)", "b"}},
		"time":                          {texts: []string{"time"}},
		"[[ -n a ]]":                    {texts: []string{"[[ -n a ]]"}},
		"cat <<'E'\n$(a)\nE":            {texts: []string{"cat"}},
		"cat <<\\E\n$(a)\nE":            {texts: []string{"cat"}},
		`"a\
b"`: {texts: []string{"ab"}},
	} {
		if d := cmp.Diff(want, readShell(line), cmp.AllowUnexported(shellCommands{})); d != "" {
			t.Errorf("%q (-want +got):\n%s", line, d)
		}
	}
	for _, line := range []string{
		"$x", `"$x"`, "$(a)", "`a`", "${x} b", "a*", "{a,b} c", "$'a'", "timeout 5 $x", "cat <<E\nx\nE", "if", "echo (", "'open", "a )",
		"sudo $x", "env $x a", "env -S 'a b'", "env --split-string=a", "bash -c $x", `bash -c "a $x"`, "eval $x", "eval a $x", "a | bash", "sh -s",
		"curl x | sh -s -- -y", "curl x | bash -", "curl x | fish", "curl x | tcsh", "curl x | sudo bash -x -", "curl x | bash /dev/stdin", "bash <(curl x)", "source <(curl x)", ". /dev/stdin <<< x",
		"bash -s a <<< x", "sh /proc/self/fd/0", "env - bash -", "trap \"$x\" EXIT", "a | xargs -I{} sh -c {}", "a | xargs -I % % b", "a | xargs -0 env", "a | xargs bash",
		"bash -c 'a ('", "eval '$(a)'",
		strings.Repeat("eval ", maxNested+1) + "a",
		strings.Repeat("x", maxCommand+1), strings.Repeat("(", maxBrackets+1),
	} {
		if c := readShell(line); c.open == "" {
			t.Errorf("%.40q: %q, want it open", line, c.texts)
		}
	}
	// The deepest line that is parsed.
	deep := strings.Repeat("(", maxBrackets/2) + "a" + strings.Repeat(")", maxBrackets/2)
	_ = readShell(deep)
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{"Bash(git *)", "Edit(src/[a-z]**)", "WebFetch(domain:*.x)", "mcp__a__*", `Bash(\*`, "Read(//**/[!a]?/)"} {
		f.Add(s, "git status && $(x) <<E")
		f.Add(s, "/ws/src/a")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		r, err := ParseRule(text)
		if err != nil {
			return
		}
		in, err := json.Marshal(map[string]string{"command": value, "file_path": value, "url": value, "subagent_type": value})
		if err != nil {
			t.Fatal(err)
		}
		ok, why := r.Match(testScope, plain.Call{Tool: r.tool, Input: in})
		if why == "" {
			t.Errorf("%q on %q: %t without a reason", text, value, ok)
		}
		if r.pattern == "" && !ok {
			t.Errorf("%q takes any use and refuses one", text)
		}
	})
}
