package security_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// The figures of the rows.
const (
	// manyOperations is how many commands one call has, and enoughDescriptors how
	// many descriptors the hooks for them need.
	manyOperations    = 600
	enoughDescriptors = 64
	// hooksPerCore and hooksAtLeast bound how many hooks run at a time.
	hooksPerCore, hooksAtLeast = 4, 8
	// manyEdits is how many blocks one edit has, and givenUp when Cline no longer
	// waits for a hook.
	manyEdits = 2500
	givenUp   = 30 * time.Second
	// fewest and few are the descriptors without which hookspan cannot be started.
	fewest, few = 3, 16
)

// commandLimits are the descriptors that the hooks of many commands have.
var commandLimits = []int{24, 256}

// guardRows keep a user's guard from being asked.
var guardRows = []proof.Row{
	{
		Name: fmt.Sprintf("one call of %d commands, one of which a hook denies, with %d to %d file descriptors",
			manyOperations, slices.Min(commandLimits), slices.Max(commandLimits)),
		Rule: fmt.Sprintf("the call is denied; without that command it runs, from %d descriptors on; at most as many hooks run at a time as %d per core, or %d",
			enoughDescriptors, hooksPerCore, hooksAtLeast),
		Short: 4, Long: 30, Run: manyCommands,
	},
	{
		Name:  fmt.Sprintf("one edit of %d,%03d blocks, equal or different, one of which a hook denies", manyEdits/1000, manyEdits%1000),
		Rule:  fmt.Sprintf("the call is denied before Cline gives up the hook after %g s; in the long run also by slow hooks", givenUp.Seconds()),
		Short: 2, Long: 4, Rest: true, Run: manyBlocks,
	},
	{
		Name:  fmt.Sprintf("a hookspan that is missing, not executable, broken, killed, silent, or answers garbage, a hooks.json that is a link to nowhere, and %d to %d file descriptors", fewest, few),
		Rule:  "a tool call is denied with the reason where a file may hold a hook for it, and continues without such a file, after HOOKSPAN_HOOKS=false and HOOKSPAN_HOOKS_ON_ERROR=allow",
		Short: 60, Run: brokenRunner,
	},
	{
		Name:  "a call in another spelling: a file's name between characters that JavaScript trims, an address as browsers read it, a command behind wrappers and shells",
		Rule:  "a hook for that file, host or command denies it; the same hook lets others pass",
		Short: 16, Run: evasions,
	},
	{
		Name:  "two equal tool calls at once, and the process that asks the hooks for the first killed",
		Rule:  "the hooks run once, or again if their process was killed, and both calls are denied",
		Short: 4, Run: equalCalls,
	},
	{
		Name:  "an environment that switches hooks off, weakens what their failures do, or moves CLINE_DIR, against the env file",
		Rule:  "the call is denied, and the variable is named",
		Short: 5, Run: disarmed,
	},
	{
		Waits: true,
		Name:  "a denial whose reason is 2 MB long, from a command and from an http hook, and one of a hook that has ended while hookspan itself was stopped beyond the hook's time limit",
		Rule:  "the call is denied",
		Short: 6, Run: lateAndLongDenials,
	},
	{
		Waits: true,
		Name:  "an http hook that is answered with nothing, with 101, a byte at a time, or with half a head, beside a hook that denies",
		Rule:  "the call is denied, with the reason of the hook that denies",
		Short: 4, Run: hangingRequests,
	},
}

// evasions are calls in a spelling that Cline reads as what a hook is for.
func evasions(t *testing.T, r *proof.Result) {
	needsShell(r)
	deny := func(rule string) object {
		return object{"type": "command", "command": "echo no >&2; exit 2", "if": rule}
	}
	patch := func(name string) object {
		return object{"input": "*** Begin Patch\n*** Delete File: " + name + "\n*** End Patch"}
	}
	for _, tc := range []struct {
		rule, tool string
		denied     []object
		allowed    []object
	}{
		{"Edit(.env)", "apply_patch", []object{patch(".env\ufeff"), patch("\ufeff.env"), patch(".env\u00a0"), patch("a/../.env\u2029\ufeff")}, []object{patch(".env\u0085"), patch("env")}},
		{"Bash(rm *)", "execute_command", commands(
			"timeout -s KILL 5 rm -r x", "time rm x", "nice -n 5 rm x", "stdbuf -oL rm x", "nohup rm x", "command rm x", "builtin rm x", "noglob rm x", "ls | xargs rm",
			"env A=1 rm x", "sudo -u root rm x", "bash -lc 'ls; rm x'", `sudo sh -c "eval 'rm x'"`, "eval rm x", "/usr/bin/env -i rm x", "echo x | bash",
		), commands("ls", "sudo ls rm", "bash -c 'echo rm'", "command -v rm", "timeout 5 ls")},
		{"WebFetch(domain:evil.example)", "web_fetch", addresses(
			"https://evil.example", `https:\\evil.example`, "https:evil.example", "https:///evil.example", "\x01https://evil.example", "ht\ntps://ev\til.example",
			"https://evil%2Eexample", "https://evil\u3002example", "https://\uff45vil.example", "https://e\u00advil.example", "https://a@evil.example.",
		), addresses("https://good.example/evil.example", `https://good.example\@evil.example`, "https://evil.example.good.example")},
	} {
		w := lab.New(t)
		guarding(t, w, deny(tc.rule))
		for i, input := range slices.Concat(tc.denied, tc.allowed) {
			payload := clineEvent(t, fmt.Sprintf("evade-%d", i), "PreToolUse", object{
				"workspaceRoots": []string{w.Work}, "preToolUse": object{"toolName": tc.tool, "parameters": input},
			}).Payload
			if answer, _ := asks(t, r, w, payload); answer.Cancel != (i < len(tc.denied)) {
				r.Break("%s with a hook for %s: %q: denied %t: %s", tc.tool, tc.rule, input, answer.Cancel, answer.ErrorMessage)
			}
		}
	}
}

// equalCalls are two equal events at a time, of which one process may be killed.
func equalCalls(t *testing.T, r *proof.Result) {
	needsShell(r)
	for i, killed := range []bool{false, true} {
		w := lab.New(t)
		log := filepath.Join(w.Home, "log")
		// The first hook waits for the file, so that the second process has begun by then.
		guarding(t, w, command(`cat >/dev/null; echo $PPID >>'`+log+`'; while ! test -e "$HOME/go"; do sleep 0.02; done; echo no >&2; exit 2`))
		payload := clineEvent(t, fmt.Sprintf("twins-%d", i), "PreToolUse", object{"preToolUse": object{"toolName": "execute_command", "parameters": object{"command": "ls"}}}).Payload
		var both sync.WaitGroup
		var answers [2]told
		for n := range answers {
			both.Go(func() { answers[n], _ = asks(t, r, w, payload) })
		}
		first := strings.TrimSpace(string(awaitLines(t, log, 1)))
		want := 1
		if killed {
			want = 2
			pid, err := strconv.Atoi(first)
			if err == nil {
				var p *os.Process
				if p, err = os.FindProcess(pid); err == nil {
					err = p.Kill()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			awaitLines(t, log, 2)
		}
		w.Write("go", "")
		both.Wait()
		if ran := awaitLines(t, log, want); bytes.Count(ran, []byte("\n")) != want || !answers[0].Cancel || !answers[1].Cancel {
			r.Break("the first process killed %t: %d runs, answers %+v; want %d runs and both denied", killed, bytes.Count(ran, []byte("\n")), answers, want)
		}
	}
}

// disarmed are environments that would switch a guard off.
func disarmed(t *testing.T, r *proof.Result) {
	needsShell(r)
	const named = "HOOKSPAN_CONFIG_FILE"
	for _, tc := range []struct{ own, environ, says string }{
		{"HOOKSPAN_HOOKS=true", "HOOKSPAN_HOOKS=false", "HOOKSPAN_HOOKS"},
		{"HOOKSPAN_HOOKS=true", named, "HOOKSPAN_HOOKS"},
		{"HOOKSPAN_HOOKS_STRICT_EXIT=true", "HOOKSPAN_HOOKS_STRICT_EXIT=false", "HOOKSPAN_HOOKS_STRICT_EXIT"},
		{"HOOKSPAN_HOOKS_ON_ERROR=deny", "HOOKSPAN_HOOKS_ON_ERROR=allow", "HOOKSPAN_HOOKS_ON_ERROR"},
		{"", "CLINE_DIR", ""},
	} {
		w := lab.New(t, tc.own)
		hook := "echo no >&2; exit 2"
		if strings.Contains(tc.own, "EXIT") || strings.Contains(tc.own, "ERROR") {
			hook = "echo no >&2; exit 1"
		}
		guarding(t, w, command(hook))
		setting := tc.environ
		switch setting {
		case "CLINE_DIR":
			w.Write("moved/hooks.json", `{"disableAllHooks":true,"hooks":{}}`)
			setting += "=" + filepath.Join(w.Home, "moved")
		case named:
			w.Write("other.env", "HOOKSPAN_HOOKS=false\n")
			setting += "=" + filepath.Join(w.Home, "other.env")
		}
		w.Environ = append(w.Environ, setting)
		payload := clineEvent(t, "disarmed", "PreToolUse", object{"preToolUse": object{"toolName": "execute_command", "parameters": object{"command": "ls"}}}).Payload
		if answer, _ := asks(t, r, w, payload); !answer.Cancel {
			r.Break("env file %q, environment %q: not denied", tc.own, setting)
		}
		if out, errs, _ := w.Hookspan("config"); !strings.Contains(out+errs, tc.says) {
			r.Break("env file %q, environment %q: config does not name %s", tc.own, setting, tc.says)
		}
	}
}

func commands(all ...string) []object {
	var out []object
	for _, line := range all {
		out = append(out, object{"command": line, "requires_approval": "false"})
	}
	return out
}

// awaitLines waits until a file has that many lines.
func awaitLines(t *testing.T, path string, n int) []byte {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && bytes.Count(b, []byte("\n")) >= n {
			return b
		} else if time.Now().After(end) {
			t.Fatalf("%s: %q, %v: want %d lines", path, b, err, n)
		}
	}
}

func addresses(all ...string) []object {
	var out []object
	for _, a := range all {
		out = append(out, object{"url": a, "prompt": "x"})
	}
	return out
}

// guarding gives a world's user a hook for tool calls, and the payload's answer.
func guarding(t *testing.T, w *lab.World, hooks ...object) {
	t.Helper()
	w.Write(".cline/hooks.json", string(text(t, object{"hooks": object{"PreToolUse": []any{object{"hooks": hooks}}}})))
}

func command(line string) object { return object{"type": "command", "command": line} }

// told is a hook process's answer to Cline.
type told struct {
	Cancel       bool
	ErrorMessage string
}

// asks gives a tool call to cline-hook under limits.
func asks(t *testing.T, r *proof.Result, w *lab.World, payload []byte, launch ...string) (told, time.Duration) {
	t.Helper()
	o := w.Call(lab.Call{Args: []string{"PreToolUse"}, Stdin: bytes.NewReader(payload), Launch: launch})
	r.Trial(1)
	var answer told
	if err := json.Unmarshal([]byte(o.Out), &answer); err != nil || o.Code != 0 || o.Err != "" {
		r.Break("%v: %s, answered %.300q, said %.300q", launch, o.State, o.Out, o.Err)
	}
	return answer, o.CPU
}

func needsShell(r *proof.Result) {
	if runtime.GOOS == "windows" {
		r.Skip("these hooks are shell scripts for /bin/sh")
	}
}

func manyCommands(t *testing.T, r *proof.Result) {
	needsShell(r)
	const n = manyOperations
	w := lab.New(t)
	log := filepath.Join(w.Home, "log")
	guarding(t, w, command(`echo + >> '`+log+`'; case $(cat) in *"rm -rf"*) echo no >&2; echo - >> '`+log+`'; exit 2;; esac; echo - >> '`+log+`'`))
	call := func(id string, denied int) []byte {
		commands := make([]string, n)
		for i := range commands {
			if commands[i] = fmt.Sprintf("echo %d", i); i == denied {
				commands[i] = "rm -rf /"
			}
		}
		return text(t, object{
			"clineVersion": "", "hookName": "tool_call", "timestamp": "2026-11-22T12:00:00.000Z", "taskId": "conv_1", "agent_id": "a",
			"workspaceRoots": []string{w.Work}, "sessionContext": object{"rootSessionId": "many"},
			"tool_call": object{"id": id, "name": "run_commands", "input": object{"commands": commands}},
		})
	}
	limits, places := commandLimits, []int{n - 1}
	if proof.Soak() {
		limits, places = append([]int{32, enoughDescriptors, 200}, limits...), []int{0, 1, n / 2, n - 2, n - 1}
	}
	most := 0
	for _, limit := range limits {
		launch := fmt.Sprintf("nofile=%d", limit)
		for _, denied := range places {
			answer, _ := asks(t, r, w, call(fmt.Sprintf("%d-%d", limit, denied), denied), launch)
			if !answer.Cancel {
				r.Break("%d descriptors, the denied command at %d of %d: the call is not denied", limit, denied, n)
			}
			most = max(most, peak(t, log))
		}
		answer, _ := asks(t, r, w, call(fmt.Sprintf("%d-none", limit), -1), launch)
		if answer.Cancel && limit >= enoughDescriptors {
			r.Break("%d descriptors, no denied command: denied: %s", limit, answer.ErrorMessage)
		}
		most = max(most, peak(t, log))
	}
	if limit := max(hooksAtLeast, hooksPerCore*runtime.GOMAXPROCS(0)); most > limit {
		r.Break("%d hooks ran at a time, want at most %d", most, limit)
	}
	r.Note("at most %d hooks at a time", most)
}

// peak is how many hooks ran at a time by their log, which it takes away.
func peak(t *testing.T, log string) int {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	_ = os.Remove(log)
	running, most := 0, 0
	for line := range strings.Lines(string(b)) {
		if line == "+\n" {
			running++
		} else {
			running--
		}
		most = max(most, running)
	}
	return most
}

func manyBlocks(t *testing.T, r *proof.Result) {
	needsShell(r)
	const n = manyEdits
	w := lab.New(t)
	hooks := map[string]string{"": `case $(cat) in *SECRET*) echo no >&2; exit 2;; esac`}
	if proof.Soak() {
		hooks["slow "] = `p=$(cat); sleep 0.2; case $p in *SECRET*) echo no >&2; exit 2;; esac`
	}
	for what, hook := range hooks {
		guarding(t, w, command(hook))
		for _, equal := range []bool{true, false} {
			var diff strings.Builder
			for i := range n {
				if equal {
					i = 0
				}
				fmt.Fprintf(&diff, "------- SEARCH\nold %d\n=======\nnew %d\n+++++++ REPLACE\n", i, i)
			}
			diff.WriteString("------- SEARCH\nx\n=======\nSECRET\n+++++++ REPLACE\n")
			payload := clineEvent(t, fmt.Sprintf("blocks-%s%t", what, equal), "PreToolUse", object{"preToolUse": object{
				"toolName": "replace_in_file", "parameters": object{"path": "a.ts", "diff": diff.String()},
			}}).Payload
			began := time.Now()
			// Processor time, of which a busy machine takes no more and a hook that sleeps none.
			answer, took := asks(t, r, w, payload)
			if what != "" {
				took = time.Since(began)
			}
			if !answer.Cancel || took > givenUp {
				r.Break("%shook, equal blocks %t: %+v after %v, want it denied within %v", what, equal, answer, took, givenUp)
			}
			r.Note("%shook, equal blocks %t: %.1f s", what, equal, took.Seconds())
		}
	}
}

func brokenRunner(t *testing.T, r *proof.Result) {
	needsShell(r)
	guard := string(text(t, object{"hooks": object{"PreToolUse": []any{object{"hooks": []any{command("echo no >&2; exit 2")}}}}}))
	files := map[string]struct {
		hooks, setting string
		denied         bool
	}{
		"a guard":                  {guard, "", true},
		"a guard, allow":           {guard, "HOOKSPAN_HOOKS_ON_ERROR=allow", false},
		"a guard, hooks off":       {guard, "HOOKSPAN_HOOKS=false", false},
		"a file without guards":    {`{"hooks":{"PostToolUse":[]}}`, "", false},
		"a file that is no JSON":   {`{"hooks":{"PreToolUse"`, "", true},
		"escapes, no guard":        {`{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"echo \u00e9"}]}]}}`, "", false},
		"the name, no guard":       {`{"description":"no PreToolUse","hooks":{"PreToolUse":[]}}`, "", false},
		"a long file, no guard":    {`{"description":"` + strings.Repeat("x", 200_000) + `","hooks":{"PostToolUse":[]}}`, "", false},
		"a guard in a long file":   {`{"description":"` + strings.Repeat("x", 200_000) + `",` + guard[1:], "", true},
		"a guard, switched off":    {`{"disableAllHooks":true,` + guard[1:], "", false},
		"a guard, no switch":       {`{"DisableAllHooks":true,` + guard[1:], "", true},
		"a guard with escapes":     {strings.Replace(guard, "PreToolUse", `\u0050reToolUs\u0065`, 1), "", true},
		"no file":                  {"", "", false},
		"no file, deny on failure": {"", "HOOKSPAN_HOOKS_ON_ERROR=deny", false},
	}
	runners := map[string]string{
		"missing": "", "not executable": "x", "exit code 1": "exit 1", "exit code 2": "exit 2", "killed": "kill -9 $$", "silent": "exit 0",
		"no JSON": "echo panic: x", "null": "echo null", "an array": "echo '[]'", "two objects": `echo '{}{}'`,
	}
	call := func(id string) []byte {
		return clineEvent(t, id, "PreToolUse", object{"preToolUse": object{"toolName": "execute_command", "parameters": object{"command": "ls"}}}).Payload
	}
	for name, body := range runners {
		for what, tc := range files {
			w := lab.New(t)
			dir := filepath.Join(w.Home, "bin")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Link(filepath.Join(lab.Programs, "cline-hook"), filepath.Join(dir, "cline-hook"))); err != nil {
				t.Fatal(err)
			}
			if body != "" {
				w.Write("bin/hookspan", "#!/bin/sh\ncat >/dev/null\n"+body+"\n")
				if name != "not executable" {
					if err := os.Chmod(filepath.Join(dir, "hookspan"), 0o700); err != nil { //nolint:gosec // A program.
						t.Fatal(err)
					}
				}
			}
			if tc.hooks != "" {
				w.Write(".cline/hooks.json", tc.hooks)
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "cline-hook"), "PreToolUse")
			cmd.Env, cmd.Dir, cmd.Stdin = append(w.Environ, tc.setting), w.Work, bytes.NewReader(call("broken"))
			out, err := cmd.Output()
			var answer told
			if err := errors.Join(err, json.Unmarshal(out, &answer)); err != nil || answer.Cancel != tc.denied {
				r.Break("hookspan %s, %s: answered %q (%v), want denied %t", name, what, out, err, tc.denied)
			}
			if answer.Cancel && !strings.Contains(answer.ErrorMessage, "could not run your hooks") {
				r.Break("hookspan %s, %s: reason %q", name, what, answer.ErrorMessage)
			}
			r.Trial(1)
		}
	}
	w := lab.New(t)
	if err := errors.Join(os.MkdirAll(filepath.Join(w.Home, ".cline"), 0o700), os.Symlink(filepath.Join(w.Home, "nowhere"), filepath.Join(w.Home, ".cline/hooks.json"))); err != nil {
		t.Fatal(err)
	}
	if answer, _ := asks(t, r, w, call("dangling")); !answer.Cancel || !strings.Contains(answer.ErrorMessage, "leads nowhere") {
		r.Break("a hooks.json that is a link to nowhere: %+v, want it denied", answer)
	}
	if out, _, _ := w.Hookspan("doctor"); !strings.Contains(out, "leads nowhere") {
		r.Break("doctor does not say that hooks.json leads nowhere: %s", out)
	}
	if log, err := os.ReadFile(filepath.Join(w.State(), "hookspan.log")); err != nil || !strings.Contains(string(log), "leads nowhere") {
		r.Break("the log does not say that hooks.json leads nowhere: %v, %s", err, log)
	}
	for limit := fewest; limit <= few; limit++ {
		w := lab.New(t)
		launch := fmt.Sprintf("nofile=%d", limit)
		if answer, _ := asks(t, r, w, call("free"), launch); answer.Cancel {
			r.Break("%d descriptors, no file: denied: %s", limit, answer.ErrorMessage)
		}
		w.Write(".cline/hooks.json", guard)
		if answer, _ := asks(t, r, w, call("few"), launch); !answer.Cancel {
			r.Break("%d descriptors, a guard: not denied", limit)
		}
	}
}

func lateAndLongDenials(t *testing.T, r *proof.Result) {
	needsShell(r)
	const deny = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`
	long := strings.Replace(deny, "no", strings.Repeat("n", 2_000_000), 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(long))
	}))
	defer s.Close()
	// The hook stops the program that runs it, and has that go on by itself after
	// twice the hook's time limit.
	const stops = `p=$PPID; kill -STOP $p; (sleep 2; kill -CONT $p) >/dev/null 2>&1 & `
	w := lab.New(t)
	w.Write("long.json", long)
	for name, hook := range map[string]object{
		"a long answer of a command":    command(`cat "$HOME/long.json"`),
		"a long answer of a server":     {"type": "http", "url": s.URL},
		"an answer before the limit":    {"type": "command", "timeout": 1, "command": stops + "echo '" + deny + "'"},
		"an exit code before the limit": {"type": "command", "timeout": 1, "command": stops + "echo no >&2; exit 2"},
	} {
		for i := range 3 {
			guarding(t, w, hook)
			payload := clineEvent(t, fmt.Sprintf("late %s %d", name, i), "PreToolUse", object{"preToolUse": object{"toolName": "execute_command", "parameters": object{"command": "ls"}}}).Payload
			if got, _ := asks(t, r, w, payload); !got.Cancel {
				r.Break("%s: %+v, want it denied", name, got)
			}
		}
	}
}

func hangingRequests(t *testing.T, r *proof.Result) {
	needsShell(r)
	for name, answer := range map[string]string{
		"nothing": "", "101": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "half a head": "HTTP/1.1 200 OK\r\nX: ",
		"a body that drips": "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
	} {
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				// The hook's own end closes it.
				_, _ = c.Write([]byte(answer))
				go drip(c, strings.HasSuffix(answer, "0\r\n\r\n"))
			}
		}()
		w := lab.New(t)
		guarding(t, w,
			object{"type": "http", "url": "http://" + l.Addr().String() + "/", "timeout": 1},
			command("echo no >&2; exit 2"))
		payload := clineEvent(t, "hanging", "PreToolUse", object{"preToolUse": object{"toolName": "execute_command", "parameters": object{"command": "ls"}}}).Payload
		// One that hangs with the server is given up by asks.
		if got, _ := asks(t, r, w, payload); !got.Cancel || got.ErrorMessage != "no" {
			r.Break("answered with %s: %+v, want the denial of the other hook", name, got)
		}
		_ = l.Close()
		<-done
	}
}

// drip holds a connection until the other side closes it, and sends a byte now
// and then if it is told to.
func drip(c net.Conn, drips bool) {
	defer c.Close() //nolint:errcheck // The connection is not needed any more.
	buf := make([]byte, 4096)
	for {
		if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			return
		}
		_, err := c.Read(buf)
		var timeout net.Error
		if err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
			return
		}
		if drips {
			if _, err := c.Write([]byte(" ")); err != nil {
				return
			}
		}
	}
}
