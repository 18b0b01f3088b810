package security_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// injectRows put code where a value belongs.
var injectRows = []proof.Row{
	{
		Name:  "env-file and environment values with substitutions, line ends, NUL, quotes and a megabyte, in every variable",
		Rule:  "nothing is expanded or run; a wrong value is named or does nothing; hooks answer and continue",
		Short: 150, Run: injectedValues,
	},
	{
		Name:  "headers and resource attributes with line ends and control characters, plain and percent-encoded",
		Rule:  "no header but the configured ones arrives, none has a control character; else nothing is sent",
		Short: 30, Run: injectedHeaders,
	},
	{
		Name:  "programs and home folders with quotes, blanks, $(), backticks, ; and newlines in their paths: installed hooks of both agents, run by a shell",
		Rule:  "nothing in the path is run; each hook works, or installing refuses the path",
		Short: 60, Run: injectedPaths,
	},
}

// variables are all that have a value of their own.
var variables = []string{
	"HOOKSPAN_EXPORTERS", "HOOKSPAN_FILE_PATH", "HOOKSPAN_TRACEPARENT", "HOOKSPAN_CAPTURE", "CONNECTOR_MAX_INPUT_PREVIEW", "HOOKSPAN_IDLE_TIMEOUT",
	"HOOKSPAN_REDACT", "HOOKSPAN_REDACT_FILE", "HOOKSPAN_MAX_EVENT_BYTES", "HOOKSPAN_SPOOL_SYNC", "HOOKSPAN_SPOOL_MAX_BYTES", "HOOKSPAN_RETENTION", "HOOKSPAN_STORE_MAX_BYTES", "HOOKSPAN_MCP",
	"HOOKSPAN_CONFIG_FILE", "HOOKSPAN_HOOKS", "HOOKSPAN_HOOKS_ON_ERROR", "HOOKSPAN_ALLOW_INSECURE", "INFINIUM_AGENT_ID", "INFINIUM_AGENT_SECRET",
	"INFINIUM_BASE_URL", "HOOKSPAN_INFINIUM_GRANULARITY", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TIMEOUT",
	"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_SERVICE_NAME",
	"OTEL_RESOURCE_ATTRIBUTES", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLINE_DIR", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "HOOKSPAN_CHAIN",
	"PRINCIPLE_HOOK_PORTS", "PRINCIPLE_HOOK_DIR", "TZ", "LANG", "PWD", "TMPDIR", "TERM", "NO_COLOR", "DBUS_SESSION_BUS_ADDRESS", "SQLITE_TMPDIR",
}

func injectedValues(t *testing.T, r *proof.Result) {
	w, canary, _ := guarded(t)
	ran := filepath.Join(canary, "ran")
	values := []string{
		"$(touch " + ran + ")", "`touch " + ran + "`", "; touch " + ran + " #", "| touch " + ran, "x\nHOOKSPAN_CAPTURE=full\ntouch " + ran, "\r\nx",
		"${IFS}touch${IFS}" + ran, "() { :; }; touch " + ran, "'", "\"", "\\", "=", "==", "%", "%zz", "$HOME", "~root", "-", "--help", "\x1b[2J", "\xff\xfe",
		"../../../../../../canary/x", "file:" + ran + "?mode=rwc&vfs=x", ran + "?x=y#z", "@" + ran, strings.Repeat("A", 100_000), "http://[", "http://x y/", "jndi:ldap://127.0.0.1/",
	}
	env := w.Environ
	envFile := filepath.Join(w.Home, ".config", "hookspan", "hookspan.env")
	plain, err := os.ReadFile(envFile)
	if err != nil {
		t.Fatal(err)
	}
	call := clineEvent(t, "injected", "PreToolUse", object{"preToolUse": object{"toolName": "x", "parameters": object{}}})
	check := func(what string) {
		for _, path := range []string{ran, filepath.Join(w.Work, "ran")} {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				r.Break("%s: something ran, or wrote, at %s", what, path)
				_ = os.RemoveAll(path)
			}
		}
		r.Trial(1)
	}
	for i, value := range values {
		for j, name := range variables {
			if !proof.Soak() && (i+j)%7 != 0 {
				continue
			}
			what := fmt.Sprintf("%s=%.40q", name, value)
			if err := w.TryHook("PreToolUse", call.Payload, name+"="+value); err != nil && name != "HOOKSPAN_CHAIN" {
				r.Break("%s in the environment: %v", what, err)
			}
			check(what)
			if j%5 == i%5 && (proof.Soak() || i%3 == 0) {
				w.Environ = append(slices.Clone(env), name+"="+value)
				w.Hookspan("status")
				w.Environ = env
				check(what + " for hookspan status")
			}
			// As it stands, in each kind of quotes, and on several lines.
			for _, form := range []string{"%s=%s\n", "%s=\"%s\"\n", "%s='%s'\n", "export %s = %s # x\n", "%s=$'%s'\n"} {
				if !proof.Soak() && form != "%s=%s\n" {
					continue
				}
				w.Write(".config/hookspan/hookspan.env", string(plain)+fmt.Sprintf(form, name, value))
				if err := w.TryHook("PreToolUse", call.Payload); err != nil {
					r.Break("%s in the env file: %v", what, err)
				}
				check(what + " in the env file")
			}
			w.Write(".config/hookspan/hookspan.env", string(plain))
		}
	}
	endSweeps(t, w)
	if _, err := os.Lstat(filepath.Join(canary, "x")); err != nil {
		r.Break("the canary is gone: %v", err)
	}
}

func injectedHeaders(t *testing.T, r *proof.Result) {
	w := lab.New(t)
	w.Write(".config/hookspan/hookspan.env", "HOOKSPAN_IDLE_TIMEOUT=8760h\n")
	w.Play(task(t, "headers", "prompt", "read_file", "a", "b"))
	endSweeps(t, w)
	base := w.Environ
	known := map[string]bool{
		"Accept-Encoding": true, "Content-Length": true, "Content-Type": true, "User-Agent": true, "Api-Key": true, "Accept": true, "X-Agent-Id": true, "X-Agent-Key": true,
		"X": true, "Connection": true,
	}
	sent := 0
	for _, value := range []string{
		"api-key=a\r\nX-Evil: b", "api-key=a%0d%0aX-Evil:%20b", "api-key=a%0aX-Evil: b", "api-key=a%0dX-Evil: b", "api-key=a%00b", "api-key%0d%0aX-Evil=b", "X-Evil:=b", "api key=b",
		"api-key=a%0d%0a%0d%0aPOST /evil HTTP/1.1%0d%0a", "api-key=\u010d\u010aX-Evil: b", "api-key=%c4%8d%c4%8aX-Evil: b", "api-key=a%e5%98%8a%e5%98%8dX-Evil: b",
		"api-key=%7f", "api-key=%1b[2J", "api-key=a;x=y", "api-key=a,X=b", "=b", "%00=b", "api-key", "Host=evil.example", "Content-Length=0", "Transfer-Encoding=chunked",
		"Connection=x-agent-key", "api-key=\"a\r\n b\"", "content-type=text/html", "api-key=ok",
	} {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
			w.Environ = append(slices.Clone(base), "HOOKSPAN_EXPORTERS=otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+w.OTLP.URL(), name+"="+value)
			before := len(w.OTLP.Requests())
			w.OTLP.Script(later)
			w.Hookspan("flush", "--other-settings")
			for _, req := range w.OTLP.Requests()[before:] {
				sent++
				for k, vs := range req.Header {
					if !known[k] || strings.ContainsFunc(k+strings.Join(vs, ""), func(c rune) bool { return c < ' ' || c == 0x7f }) {
						r.Break("%s=%q: header %q: %q arrived", name, value, k, vs)
					}
				}
				if req.Method != "POST" || req.Path != "/v1/traces" {
					r.Break("%s=%q: %s %s arrived", name, value, req.Method, req.Path)
				}
			}
			r.Trial(1)
		}
	}
	if sent == 0 {
		r.Break("no request arrived at all")
	}
	for _, value := range []string{"a%0d%0aX-Evil:b=c", "k=v%0d%0aX: y", "k=%00", "k=%1b]52;c;x%07", "k=\u2028", "k\r\nX: y=z", "service.name=%0d%0aX-Evil: y"} {
		w.Environ = append(slices.Clone(base), "HOOKSPAN_EXPORTERS=otlp,infinium", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+w.OTLP.URL(), "OTEL_RESOURCE_ATTRIBUTES="+value,
			"INFINIUM_BASE_URL="+w.Infinium.URL(), "INFINIUM_AGENT_ID="+infiniumtest.AgentID, "INFINIUM_AGENT_SECRET="+infiniumtest.AgentSecret)
		w.OTLP.Script(later)
		w.Infinium.Script(infiniumtest.Status(503, "later"))
		a, b := len(w.OTLP.Requests()), len(w.Infinium.Requests())
		w.Hookspan("flush", "--other-settings")
		for _, req := range w.OTLP.Requests()[a:] {
			if req.Header.Get("X-Evil") != "" || req.Err != nil {
				r.Break("OTEL_RESOURCE_ATTRIBUTES=%q: %v, %v", value, req.Header, req.Err)
			}
		}
		for _, req := range w.Infinium.Requests()[b:] {
			if req.Header.Get("X-Evil") != "" || req.JSON == nil {
				r.Break("OTEL_RESOURCE_ATTRIBUTES=%q: to Infinium %v", value, req.Header)
			}
		}
		r.Trial(2)
	}
	r.Note("%d requests arrived", sent)
}

func injectedPaths(t *testing.T, r *proof.Result) {
	if runtime.GOOS == "windows" {
		r.Skip("the shells of this row are POSIX ones")
	}
	installed, refused := 0, 0
	for _, name := range []string{
		"plain", "with blank", "quote's", `double"quote`, "$(touch RAN)", "`touch RAN`", "${HOME}", "$HOME", "a;touch RAN;b", "a|touch RAN", "a&touch RAN&", "a>RAN", "a\\b", "a\\", "'; touch RAN; '",
		`"; touch RAN; "`, "*", "?", "[a]", "~", "#hash", "!bang", "%s%n", "-dash", "{a,b}", "\u202erevo", "\xff\xfe", "tab\there", "new\nline", "\x1b[2J", "=equals", "a=b", "é", "'\"$`\\",
	} {
		// Programs below such a folder, and a home folder so called.
		w := lab.New(t)
		programs := filepath.Join(w.Home, "bin-"+name)
		home := filepath.Join(w.Home, "home-"+name)
		if err := errors.Join(os.MkdirAll(programs, 0o700), os.MkdirAll(filepath.Join(home, "work"), 0o700)); err != nil {
			r.Note("%q cannot be a folder here", name)
			continue
		}
		for _, p := range []string{"hookspan", "cline-hook", "claude-hook"} {
			if err := os.Link(filepath.Join(lab.Programs, p), filepath.Join(programs, p)); err != nil {
				t.Fatal(err)
			}
		}
		w.Environ = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		work := filepath.Join(home, "work")
		start := func(path string, stdin []byte, args ...string) (string, error) {
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Env, cmd.Dir, cmd.Stdin = w.Environ, work, strings.NewReader(string(stdin))
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		for _, agent := range []string{"cline", "claude"} {
			out, err := start(filepath.Join(programs, "hookspan"), nil, "install", agent)
			if bad := steering(out); bad != "" && !strings.Contains(bad, "U+0009") {
				r.Break("install %s with %q: %s", agent, name, bad)
			}
			if err != nil {
				refused++
				if !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == '\uFFFD' }) {
					r.Break("install %s with %q: %v, said %q", agent, name, err, out)
				}
				r.Trial(1)
				continue
			}
			installed++
			for _, hook := range installedHooks(t, home, agent) {
				payload := clineEvent(t, "path", "PreToolUse", object{"preToolUse": object{"toolName": "x", "parameters": object{}}}).Payload
				want := lab.Neutral
				if agent == "claude" {
					payload, want = []byte(`{"session_id":"path","hook_event_name":"PreToolUse"}`), ""
				}
				if out, err := start(hook[0], payload, hook[1:]...); err != nil || out != want {
					r.Break("hook of %s with %q: %q: %v, answered %q", agent, name, hook, err, out)
				}
				r.Trial(1)
			}
			// What each has installed stores.
			files, err := filepath.Glob(filepath.Join(escapeGlob(home), ".local", "state", "hookspan", "spool", "c*", "*", "events.json-seq"))
			if err != nil || len(files) == 0 {
				r.Break("hooks of %s with %q store nothing (%v)", agent, name, err)
			}
		}
		if err := lab.EndDeliveries(home); err != nil {
			t.Fatal(err)
		}
		_ = filepath.WalkDir(w.Home, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), "RAN") {
				r.Break("%q: something ran: %s", name, path)
			}
			return nil
		})
	}
	r.Note("%d installed, %d refused", installed, refused)
}

// escapeGlob quotes what filepath.Glob would take for a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// installedHooks are the command lines by which an agent starts what was
// installed, each as a program and its arguments: hook files by themselves, and
// Claude Code's entries by a shell or, with args, without.
func installedHooks(t *testing.T, home, agent string) (out [][]string) {
	t.Helper()
	if agent == "cline" {
		for _, dir := range []string{filepath.Join(home, ".cline", "hooks"), filepath.Join(home, "Documents", "Cline", "Hooks")} {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if e.Type().IsRegular() {
					out = append(out, []string{filepath.Join(dir, e.Name())})
				}
			}
		}
		return out[:min(len(out), 3)]
	}
	b, err := os.ReadFile(filepath.Join(home, ".claude", "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Args    []string
			}
		}
	}
	if err := json.Unmarshal(b, &settings); err != nil {
		t.Fatal(err)
	}
	for _, groups := range settings.Hooks {
		for _, g := range groups {
			for _, h := range g.Hooks {
				if h.Args != nil {
					out = append(out, append([]string{h.Command}, h.Args...))
				} else {
					out = append(out, []string{"/bin/sh", "-c", h.Command})
				}
			}
		}
	}
	return out[:min(len(out), 2)]
}

// later refuses a request so that its trace is there for the next one.
var later = otlptest.Status(503, "later")
