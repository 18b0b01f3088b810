package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/backlog"
	"github.com/hookspan/hookspan/tests/internal/built"
)

// session is the one whose events are measured.
const session = "1776506405000"

// stamp is when they happened, in milliseconds.
const stamp = "1776506405123"

// contestant is one way of being called.
type contestant struct {
	name    string
	argv    []string
	env     []string
	dir     string
	payload []byte
	// every is how many rounds pass from one turn to the next.
	every int
	// before runs ahead of each turn, outside the measured time.
	before func() error
	// ends marks a call that starts a delivery, which is ended right after.
	ends bool
	// hooks says that the user's hooks run in the call: its cost is shown and
	// not promised.
	hooks bool
	// base is what the ratio is taken to; nil for a base itself.
	base *contestant
	// apart says that the call is shown and its ratio to a program that does
	// nothing is not promised.
	apart bool
	// missing says that the program is not on this machine.
	missing bool

	took []time.Duration
	peak int // KiB, 0 if not measured
}

// field is everybody who takes part, and where.
type field struct {
	// root is a folder for what is measured, programs that of the binaries.
	root        string
	programs    string
	contestants []*contestant
	noop        *contestant
	servers     []*httptest.Server
	home        string
	project     string
	spools      []*spool.Spool
}

func (f *field) program(name string) string { return built.Program(f.programs, name) }

func (f *field) close() error {
	for _, s := range f.servers {
		s.CloseClientConnections()
		s.Close()
	}
	var errs []error
	for _, s := range f.spools {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(f.root))...)
}

// newField has folders and no contestants.
func newField(root, programs string) (*field, error) {
	f := &field{root: root, programs: programs, home: filepath.Join(root, "home"), project: filepath.Join(root, "project")}
	return f, errors.Join(os.Mkdir(f.root, 0o700), os.Mkdir(f.home, 0o700), os.Mkdir(f.project, 0o700))
}

// callHooks adds the contestants of the table of hook calls; the largest session
// has so many events.
func (f *field) callHooks(ctx context.Context, most int) error {
	root := f.root
	shim, err := f.install(ctx)
	if err != nil {
		return err
	}
	up, slow, refusing := f.serve(0), f.serve(3*time.Second), f.refusing()

	event := payload("PostToolUse", `"postToolUse":{"toolName":"read_file","parameters":{"path":"main.go"},"success":true,"executionTimeMs":12,"result":"%s"}`)
	done := payload("TaskComplete", `"taskComplete":{"taskMetadata":{"taskId":"`+session+`","result":"%s"}}`)
	add := func(name string, argv ...string) *contestant {
		c := &contestant{name: name, argv: argv, dir: f.project, payload: event, every: 1, base: f.noop}
		c.env = append(f.environ(f.home), "XDG_STATE_HOME="+filepath.Join(root, "state", fmt.Sprint(len(f.contestants))))
		f.contestants = append(f.contestants, c)
		return c
	}
	hook := f.program("cline-hook")

	f.noop = add("a Go program that does nothing", f.program("noop"))
	for _, other := range []struct {
		name  string
		argv  []string
		every int // More where it is slow.
	}{
		{"`sh -c :`", []string{"sh", "-c", ":"}, 1},
		{"`python3 -c 'import json'`", []string{"python3", "-c", "import json"}, 10},
		{"`node -e 0`", []string{"node", "-e", "0"}, 10},
	} {
		path, err := exec.LookPath(other.argv[0])
		c := add(other.name, append([]string{path}, other.argv[1:]...)...)
		c.every, c.missing = other.every, err != nil
	}
	first := add("cline-hook, first event of a session", hook, "PostToolUse")
	turns := 0
	first.apart = true
	first.before = func() error {
		turns++
		first.payload = bytes.ReplaceAll(event, []byte(session), fmt.Appendf(nil, "%d", 1776506405000+turns))
		return nil
	}
	for _, stored := range []int{1000, most} {
		s := backlog.Session{Dialect: backlog.Classic, Turns: stored / turnEvents, Turn: turnEvents, End: time.Now()}
		c := add(fmt.Sprintf("cline-hook, %s events stored", power(stored)), hook, "PostToolUse")
		c.payload = bytes.ReplaceAll(event, []byte(session), []byte(s.ID()))
		if _, err := s.Write(state(c)); err != nil {
			return err
		}
	}
	add("cline-hook by the installed hook file", shim, "PostToolUse")
	for _, otlp := range []struct{ name, url string }{{"up", up}, {"refusing", refusing}, {"answering after 3 s", slow}} {
		c := add("cline-hook, OTLP endpoint "+otlp.name, hook, "PostToolUse")
		c.env = append(c.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+otlp.url)
	}
	claude := add("claude-hook, a tool's result", f.program("claude-hook"), "PostToolUse")
	claude.payload = claudePayload("PostToolUse", `"tool_name":"Read","tool_input":{"file_path":"/p/main.go"},"tool_use_id":"toolu_01","duration_ms":12,"tool_response":{"type":"text","file":{"content":"%s"}}`)
	if env, err := exec.LookPath("env"); err == nil {
		add("claude-hook by the installed entry", env, "GOMEMLIMIT=", "GODEBUG=", f.program("claude-hook"), "PostToolUse").payload = claude.payload
	}
	if err := f.addHooks(add); err != nil {
		return err
	}
	if canEndStrays {
		for _, otlp := range []struct{ name, url string }{{"", ""}, {", OTLP endpoint up", up}, {", OTLP endpoint answering after 3 s", slow}} {
			c := add("cline-hook, end of a run"+otlp.name, hook, "TaskComplete")
			c.payload, c.ends, c.apart = done, true, true
			if otlp.url != "" {
				c.env = append(c.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+otlp.url)
			}
		}
		c := add("claude-hook, end of a turn", f.program("claude-hook"), "Stop")
		c.ends, c.apart = true, true
		c.payload = claudePayload("Stop", `"stop_hook_active":false,"last_assistant_message":"%s"`)
	} else {
		fmt.Fprintln(os.Stderr, "bench: the end of a run is left out: this system does not report what a hook has started")
	}
	return f.holdSweeps()
}

// environ is the environment of a contestant with that home folder, but for its
// state folder.
func (f *field) environ(home string) []string {
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "XDG_CONFIG_HOME=" + filepath.Join(f.root, "config")}
	for _, name := range []string{"PATH", "SYSTEMROOT", "TMPDIR", "TEMP"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// install lets hookspan install its hook files and returns the one for
// PostToolUse.
func (f *field) install(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, f.program("hookspan"), "install", "cline") //nolint:gosec // Built just now.
	cmd.Env = append(f.environ(f.home), "XDG_STATE_HOME="+filepath.Join(f.root, "state"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("hookspan install cline: %w\n%s", err, out)
	}
	shim := filepath.Join(f.home, "Documents", "Cline", "Hooks", "PostToolUse")
	if _, err := os.Stat(shim); err != nil {
		return "", fmt.Errorf("the hook file that hookspan installed: %w", err)
	}
	return shim, nil
}

// serve is an OTLP endpoint that takes everything after a while.
func (f *field) serve(after time.Duration) string {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}))
	f.servers = append(f.servers, s)
	return s.URL
}

// refusing is the address of a port that was free a moment ago.
func (f *field) refusing() string {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Closed at once.
	if err != nil {
		return "http://127.0.0.1:9"
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

// state is a contestant's spool.
func state(c *contestant) string {
	for _, kv := range c.env {
		if dir, ok := strings.CutPrefix(kv, "XDG_STATE_HOME="); ok {
			return filepath.Join(dir, "hookspan", "spool")
		}
	}
	return ""
}

// holdSweeps claims the minute's sweep in every spool, so that no call starts
// one: that is a delivery like the one at the end of a run, which is measured
// by itself.
func (f *field) holdSweeps() error {
	if f.spools == nil {
		for _, c := range f.contestants {
			sp, err := spool.Open(state(c), spool.Options{})
			if err != nil {
				return err
			}
			f.spools = append(f.spools, sp)
		}
	}
	for _, sp := range f.spools {
		// A claim in ten seconds' time counts from there.
		sp.ClaimSweep(time.Now().Add(10*time.Second), 5*time.Second)
	}
	return nil
}

// payload is an event of 4 KB in the shape of classic Cline.
func payload(name, body string) []byte {
	return filled(`{"clineVersion":"3.89.2","hookName":"`+name+`","timestamp":"`+stamp+`","taskId":"`+session+
		`","workspaceRoots":["/home/dev/project"],"userId":"u","model":{"provider":"anthropic","slug":"claude"},`, body)
}

// claudePayload is an event of 4 KB as Claude Code sends it.
func claudePayload(name, body string) []byte {
	return filled(`{"session_id":"7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17","prompt_id":"19ba522e-0cb4-59e1-ac09-dbd7dc62e300",`+
		`"transcript_path":"/p/7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17.jsonl","cwd":"/p","permission_mode":"default","hook_event_name":"`+name+`",`, body)
}

// filled puts a text into the body that makes the payload 4 KB long.
func filled(head, body string) []byte {
	line := `	fmt.Println(\"a line of a file\")\n`
	line = strings.ReplaceAll(line, "\t", `\t`)
	fill := strings.Repeat(line, (4096-len(head)-len(body))/len(line))
	return []byte(head + strings.Replace(body, "%s", fill, 1) + "}")
}

// memory takes each contestant's peak memory: the highest of a few calls.
func (f *field) memory(ctx context.Context) error {
	for _, c := range f.contestants {
		if strings.Contains(c.name, "at once") || strings.Contains(c.name, "cold") || c.missing {
			continue
		}
		for range 5 {
			if c.before != nil {
				if err := c.before(); err != nil {
					return err
				}
			}
			peak, _, err := f.launch(ctx, c, strings.NewReader(string(c.payload)))
			if errors.Is(err, errNotHere) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.peak = max(c.peak, peak)
		}
	}
	return nil
}
