package answer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/record"
)

// hooks gives the call, in place of the program that runs hooks, a function. It
// returns what that was started with.
func (c *call) hooks(answer string, err error) *[]string {
	var started []string
	c.hooked.Run = func(_ context.Context, stdin io.Reader, program string, args ...string) ([]byte, error) {
		payload, readErr := io.ReadAll(stdin)
		if readErr != nil {
			c.t.Error(readErr)
		}
		started = append(append(append(started, program), args...), string(payload))
		return []byte(answer), err
	}
	return &started
}

func (c *call) hooksFile(dir string) {
	c.t.Helper()
	if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.write(dir+"/hooks.json", guardFile)
}

const (
	guardFile   = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"guard"}]}]}}`
	startEvent  = `{"clineVersion":"3.89.2","hookName":"PreToolUse","timestamp":"1776506405123","taskId":"17","preToolUse":{"toolName":"read_file"}}`
	denied      = `{"cancel":true,"errorMessage":"no"}`
	withContext = `{"cancel":false,"contextModification":"careful","errorMessage":""}`
)

func TestUserHooksDecide(t *testing.T) {
	sum := sha256.Sum256([]byte(toolEvent))
	about := hex.EncodeToString(sum[:8])
	asked := []string{"hookspan", "run-hooks", "--host", "cline", "--event", "PostToolUse", "--began", "1785585600000", "--about", about, toolEvent}
	unstored := slices.Concat(asked[:8], asked[10:])
	for name, tc := range map[string]struct {
		with   func(c *call)
		answer string
		err    error
		asked  []string
		want   string
		log    string
	}{
		"no file":        {with: func(*call) {}, answer: denied, want: neutral},
		"the user's own": {with: func(c *call) { c.hooksFile("home/.cline") }, answer: denied + "\n", asked: asked, want: denied},
		"in CLINE_DIR": {
			with:   func(c *call) { c.hooksFile("moved"); c.setenv("CLINE_DIR", c.path("moved")) },
			answer: denied, asked: asked, want: denied,
		},
		"at home where CLINE_DIR is another": {
			with:   func(c *call) { c.hooksFile("home/.cline"); c.setenv("CLINE_DIR", c.path("moved")) },
			answer: denied, asked: asked, want: denied,
		},
		"of the folder it runs in": {with: func(c *call) { c.hooksFile("project/.cline") }, answer: denied, asked: asked, want: denied},
		"of a folder the payload names": {
			with: func(c *call) {
				c.hooksFile("other/.cline")
				c.Stdin = strings.NewReader(`{"hookName":"PostToolUse","taskId":"1","workspaceRoots":["` + filepath.ToSlash(c.path("other")) + `"]}`)
			},
			answer: denied, want: denied,
		},
		"of a relative folder": {
			with: func(c *call) {
				c.hooksFile("project/.cline")
				c.Dir = c.path("home")
				c.Stdin = strings.NewReader(`{"hookName":"PostToolUse","taskId":"1","workspaceRoots":["../project"]}`)
			},
			answer: denied, want: neutral,
		},
		"switched off": {
			with:   func(c *call) { c.hooksFile("home/.cline"); c.setenv("HOOKSPAN_HOOKS", "false") },
			answer: denied, want: neutral,
		},
		"switched off, of a folder the payload names": {
			with: func(c *call) {
				c.hooksFile("other/.cline")
				c.setenv("HOOKSPAN_HOOKS", "false")
				c.Stdin = strings.NewReader(`{"hookName":"PostToolUse","taskId":"1","workspaceRoots":["` + filepath.ToSlash(c.path("other")) + `"]}`)
			},
			answer: denied, want: neutral,
		},
		"also where nothing is recorded": {
			with:   func(c *call) { c.hooksFile("home/.cline"); c.setenv("HOOKSPAN_DISABLED", "true") },
			answer: denied, asked: unstored, want: denied,
		},
		"that cannot be run": {
			with: func(c *call) { c.hooksFile("home/.cline") }, err: errors.New("exit status 1"),
			asked: asked, want: neutral, log: "your hooks were not run: exit status 1",
		},
		"that answer no JSON": {
			with: func(c *call) { c.hooksFile("home/.cline") }, answer: "panic: x",
			asked: asked, want: neutral, log: `answered "panic: x", want a JSON object`,
		},
		"that answer another kind of JSON": {
			with: func(c *call) { c.hooksFile("home/.cline") }, answer: "null",
			asked: asked, want: neutral, log: `answered "null", want a JSON object`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			started := c.hooks(tc.answer, tc.err)
			tc.with(c)
			c.Run()
			if got := c.stdout.String(); got != tc.want+"\n" {
				t.Errorf("answer %q, want %q", got, tc.want)
			}
			if tc.asked != nil && !slices.Equal(*started, tc.asked) {
				t.Errorf("started with %q, want %q", *started, tc.asked)
			}
			if log := c.log(); !strings.Contains(log, tc.log) || tc.log == "" && log != "" {
				t.Errorf("log %q, want %q in it", log, tc.log)
			}
		})
	}
}

// TestHooksAreAboutTheEventAsItIsStored has a machine whose log keeps no texts: the hash is
// that of the payload there, by which the record of the hooks finds the event.
func TestHooksAreAboutTheEventAsItIsStored(t *testing.T) {
	c := newCall(t)
	c.hooksFile("home/.cline")
	c.write("machine.env", "HOOKSPAN_MANAGED=true\nHOOKSPAN_CAPTURE=none\n")
	c.MachineFile = c.path("machine.env")
	c.Stdin = strings.NewReader(`{"hookName":"PostToolUse","taskId":"17","postToolUse":{"toolName":"read_file","result":"a text"}}`)
	started := c.hooks(withContext, nil)
	c.Run()
	sum := sha256.Sum256([]byte(`{"hookName":"PostToolUse","taskId":"17","postToolUse":{"toolName":"read_file","result":"-"}}`))
	if at := slices.Index(*started, "--about"); at < 0 || (*started)[at+1] != hex.EncodeToString(sum[:8]) {
		t.Errorf("started with %q, want --about %x", *started, sum[:8])
	}
}

func TestFailedUserHooksDenyAsConfigured(t *testing.T) {
	const promptEvent = `{"clineVersion":"3.89.2","hookName":"UserPromptSubmit","timestamp":"1776506405123","taskId":"17","userPromptSubmit":{"prompt":"x"}}`
	denial := func(why string) string {
		return `{"cancel":true,"errorMessage":"hookspan could not run your hooks, so this is denied: ` + why +
			`. See hookspan doctor; HOOKSPAN_HOOKS_ON_ERROR=allow allows calls without hooks"}`
	}
	trust := func(c *call) {
		sum := sha256.Sum256([]byte(guardFile))
		c.write("config/hookspan/trusted-hooks.json", `{"files":[{"sha256":"`+hex.EncodeToString(sum[:])+`"}]}`)
	}
	guard := func(before string) string { return before + guardFile[1:] }
	for name, tc := range map[string]struct {
		event, onError string
		file, project  string
		answer         string
		err            error
		with           func(c *call)
		want           string
	}{
		"a tool call is denied":                             {event: startEvent, file: guardFile, err: errors.New("gone"), want: denial("gone")},
		"a tool call is allowed where that is wanted":       {event: startEvent, file: guardFile, onError: "allow", err: errors.New("gone"), want: neutral},
		"a call that has run cannot be denied":              {event: toolEvent, file: guardFile, onError: "deny", err: errors.New("gone"), want: neutral},
		"a prompt is allowed":                               {event: promptEvent, file: guardFile, err: errors.New("gone"), want: neutral},
		"a prompt is denied where that is wanted":           {event: promptEvent, file: guardFile, onError: "deny", err: errors.New("gone"), want: denial("gone")},
		"an answer that is none":                            {event: startEvent, file: guardFile, answer: "[]", want: denial(`answered \"[]\", want a JSON object`)},
		"no answer":                                         {event: startEvent, file: guardFile, want: denial(`answered \"\", want a JSON object`)},
		"a file without hooks for tool calls":               {event: startEvent, file: `{"hooks":{"PostToolUse":[]}}`, err: errors.New("gone"), want: neutral},
		"such a file where every failure denies":            {event: startEvent, file: `{"hooks":{"PostToolUse":[]}}`, onError: "deny", err: errors.New("gone"), want: denial("gone")},
		"a file that may spell the event with escapes":      {event: startEvent, file: strings.Replace(guardFile, "PreToolUse", `\u0050reToolUse`, 1), err: errors.New("gone"), want: denial("gone")},
		"a project's file where no project is trusted":      {event: startEvent, project: guardFile, err: errors.New("gone"), want: neutral},
		"a project's file where projects are trusted":       {event: startEvent, project: guardFile, with: trust, err: errors.New("gone"), want: denial("gone")},
		"an event named twice":                              {event: startEvent, file: `{"hooks":{"PreToolUse":[{}],"PreToolUse":[]}}`, err: errors.New("gone"), want: denial("gone")},
		"a project's other file where projects are trusted": {event: startEvent, project: guardFile + " ", with: trust, err: errors.New("gone"), want: neutral},
		"escapes in a file without such hooks":              {event: startEvent, file: `{"hooks":{"PostToolUse":[]},"x":"\u00e9 PreToolUse"}`, err: errors.New("gone"), want: neutral},
		"a file in which all hooks are switched off":        {event: startEvent, file: guard(`{"disableAllHooks":true,`), err: errors.New("gone"), want: neutral},
		"a long file with a guard":                          {event: startEvent, file: guard(`{"x":"` + strings.Repeat("x", 100_000) + `",`), err: errors.New("gone"), want: denial("gone")},
		"a project without hooks where they are trusted":    {event: startEvent, project: `{}`, with: trust, err: errors.New("gone"), want: neutral},
		"no file at all":                                    {event: startEvent, err: errors.New("gone"), want: neutral},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.hooks(tc.answer, tc.err)
			for dir, text := range map[string]string{"home/.cline": tc.file, "project/.cline": tc.project} {
				if text != "" {
					c.hooksFile(dir)
					c.write(dir+"/hooks.json", text)
				}
			}
			if tc.with != nil {
				tc.with(c)
			}
			c.Stdin = strings.NewReader(tc.event)
			if tc.onError != "" {
				c.setenv("HOOKSPAN_HOOKS_ON_ERROR", tc.onError)
			}
			c.Run()
			if got := c.stdout.String(); got != tc.want+"\n" {
				t.Errorf("answer %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUserHooksAreKilledAtTheTimeLimit(t *testing.T) {
	c := newCall(t)
	c.hooks("", nil)
	c.hooksFile("home/.cline")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	c.hooked.Run = func(context.Context, io.Reader, string, ...string) ([]byte, error) {
		<-release
		return nil, nil
	}
	c.Agent.Peek = func(payload []byte, event string) hook.Head {
		head := cline.Peek(payload, event)
		head.Patience = margin + 10*time.Millisecond
		return head
	}
	c.Stdin = strings.NewReader(startEvent)
	c.Run()
	if got := c.stdout.String(); !strings.Contains(got, `"cancel":true`) || !strings.Contains(got, errOverdue.Error()) {
		t.Errorf("answer %q, want it denied because of the time", got)
	}
}

func TestToolCallWithTornPayloadIsDenied(t *testing.T) {
	c := newCall(t)
	started := c.hooks(neutral, nil)
	c.hooksFile("home/.cline")
	c.Event = "PreToolUse"
	c.Stdin = io.MultiReader(strings.NewReader(startEvent[:60]), iotest.ErrReader(errors.New("reset")))
	c.Run()
	if got := c.stdout.String(); !strings.Contains(got, `"cancel":true`) || !strings.Contains(got, "broke off after 60 bytes: reset") {
		t.Errorf("answer %q, want it denied with the reason", got)
	}
	if len(*started) > 0 {
		t.Errorf("hooks were run for a part of the payload: %q", *started)
	}
}

func TestReplyWithoutFileDescriptors(t *testing.T) {
	for name, tc := range map[string]struct {
		event  string
		with   func(c *call)
		denied bool
	}{
		"a tool call":                     {"PreToolUse", func(c *call) { c.hooksFile("home/.cline") }, true},
		"the end of one":                  {"PostToolUse", func(c *call) { c.hooksFile("home/.cline") }, false},
		"no event's name":                 {"", func(c *call) { c.hooksFile("home/.cline") }, false},
		"no file":                         {"PreToolUse", func(*call) {}, false},
		"a project's file":                {"PreToolUse", func(c *call) { c.hooksFile("project/.cline") }, false},
		"hooks switched off":              {"PreToolUse", func(c *call) { c.hooksFile("home/.cline"); c.setenv("HOOKSPAN_HOOKS", "false") }, false},
		"calls that are to go on":         {"PreToolUse", func(c *call) { c.hooksFile("home/.cline"); c.setenv("HOOKSPAN_HOOKS_ON_ERROR", "allow") }, false},
		"a project's file, trusting some": {"PreToolUse", func(c *call) { c.hooksFile("project/.cline"); c.write("config/hookspan/trusted-hooks.json", "{}") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.hooks("", nil)
			c.Event = tc.event
			tc.with(c)
			cfg, err := config.Load(config.Input{Environ: c.Environ, Home: c.Home, GOOS: c.GOOS})
			must(t, err)
			got := c.Agent.Answers(&record.Call{Process: c.Process, Config: cfg, Head: cline.Peek(nil, tc.event)}).Unasked(errors.New("no"))
			if denied := strings.Contains(string(got), `"cancel":true`); denied != tc.denied {
				t.Errorf("answer %q, want denied %t", got, tc.denied)
			}
		})
	}
}

func TestUserHooksGetLargePayloadsWhole(t *testing.T) {
	c := newCall(t)
	started := c.hooks(neutral, nil)
	c.hooksFile("home/.cline")
	c.setenv("HOOKSPAN_MAX_EVENT_BYTES", "4KiB")
	large := strings.Replace(toolEvent, `"success"`, `"result":"`+strings.Repeat("x", 1<<20)+`","success"`, 1)
	c.Stdin = strings.NewReader(large)
	c.Run()
	if got := (*started)[len(*started)-1]; got != large {
		t.Errorf("hooks got %d bytes, want %d", len(got), len(large))
	}
	if log := c.events(); strings.Count(log, `"cut":`) != 1 {
		t.Errorf("stored %.200s, want one record that is cut", log)
	}
}

func TestPanicInUserHooksIsNoVerdict(t *testing.T) {
	c := newCall(t)
	c.hooks("", nil)
	c.hooksFile("home/.cline")
	c.hooked.Run = func(context.Context, io.Reader, string, ...string) ([]byte, error) { panic("boom") }
	c.Run()
	if got := c.stdout.String(); got != neutral+"\n" || !strings.Contains(c.log(), "boom") {
		t.Errorf("answer %q, log %q", got, c.log())
	}
}

func TestJoin(t *testing.T) {
	for name, tc := range map[string]struct{ first, second, want string }{
		"one cancels":           {denied, neutral, `{"cancel":true,"errorMessage":"no"}`},
		"the other cancels":     {withContext, denied, `{"cancel":true,"contextModification":"careful","errorMessage":"no"}`},
		"both cancel":           {denied, `{"cancel":true,"errorMessage":"nor I"}`, `{"cancel":true,"errorMessage":"no\nnor I"}`},
		"neither says much":     {neutral, neutral, neutral},
		"both have context":     {withContext, `{"cancel":false,"contextModification":"<b> & c"}`, `{"cancel":false,"contextModification":"careful\n\n<b> & c","errorMessage":""}`},
		"members of the second": {`{"cancel":false,"review":true}`, `{"cancel":false,"overrideInput":{"a":1}}`, `{"cancel":false,"contextModification":" ","overrideInput":{"a":1},"review":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := join([]byte(tc.first), []byte(tc.second))
			if err != nil || !bytes.Equal(got, []byte(tc.want)) {
				t.Errorf("got %s, %v\nwant %s", got, err, tc.want)
			}
		})
	}
	if _, err := join([]byte(neutral), []byte("[]")); err == nil {
		t.Error("an array is taken for an answer")
	}
}
