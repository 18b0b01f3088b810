package hookproc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hooks gives the call's host a file of hooks, and in place of the program that
// runs them a function. It returns what that was started with.
func (c *call) hooks(answer string, err error) *[]string {
	c.Host.HooksFile, c.Host.HooksVariable = filepath.Join(".cline", "hooks.json"), "CLINE_DIR"
	var started []string
	c.RunHooks = func(stdin io.Reader, args ...string) ([]byte, error) {
		payload, readErr := io.ReadAll(stdin)
		if readErr != nil {
			c.t.Error(readErr)
		}
		started = append(append(started, args...), string(payload))
		return []byte(answer), err
	}
	return &started
}

func (c *call) hooksFile(dir string) {
	c.t.Helper()
	if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.write(dir+"/hooks.json", "{}")
}

const (
	startEvent  = `{"clineVersion":"3.89.2","hookName":"PreToolUse","timestamp":"1776506405123","taskId":"17","preToolUse":{"toolName":"read_file"}}`
	denied      = `{"cancel":true,"errorMessage":"no"}`
	withContext = `{"cancel":false,"contextModification":"careful","errorMessage":""}`
)

func TestHooksOfTheUsersAreAsked(t *testing.T) {
	sum := sha256.Sum256([]byte(toolEvent))
	about := hex.EncodeToString(sum[:8])
	asked := []string{"run-hooks", "--host", "cline", "--event", "PostToolUse", "--about", about, toolEvent}
	unstored := slices.Concat(asked[:5], asked[7:])
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
		"not at home where CLINE_DIR is another": {
			with:   func(c *call) { c.hooksFile("home/.cline"); c.setenv("CLINE_DIR", c.path("moved")) },
			answer: denied, want: neutral,
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
			asked: asked, want: neutral, log: `answered "panic: x", want JSON`,
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

func TestWhatHooksCouldNotBeAskedAbout(t *testing.T) {
	for name, tc := range map[string]struct {
		event, onError, want string
	}{
		"a tool call goes on":                  {startEvent, "", neutral},
		"a tool call is denied where asked":    {startEvent, "deny", `{"cancel":true,"errorMessage":"hookspan could not run your hooks: gone"}`},
		"a call that has run cannot be denied": {toolEvent, "deny", neutral},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.hooks("", errors.New("gone"))
			c.hooksFile("home/.cline")
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

func TestHooksGetAPayloadWhole(t *testing.T) {
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
	if rec := c.records(); len(rec) != 1 || rec[0].Cut == 0 {
		t.Errorf("stored %d records, want one that is cut", len(rec))
	}
}

func TestAPanicWhileHooksRunIsNoVerdict(t *testing.T) {
	c := newCall(t)
	c.hooks("", nil)
	c.hooksFile("home/.cline")
	c.RunHooks = func(io.Reader, ...string) ([]byte, error) { panic("boom") }
	c.Run()
	if got := c.stdout.String(); got != neutral+"\n" || !strings.Contains(c.log(), "boom") {
		t.Errorf("answer %q, log %q", got, c.log())
	}
}

func TestJoin(t *testing.T) {
	for name, tc := range map[string]struct{ first, second, want string }{
		"one cancels":       {denied, neutral, `{"cancel":true,"errorMessage":"no"}`},
		"the other cancels": {withContext, denied, `{"cancel":true,"contextModification":"careful","errorMessage":"no"}`},
		"both cancel":       {denied, `{"cancel":true,"errorMessage":"nor I"}`, `{"cancel":true,"errorMessage":"no\nnor I"}`},
		"neither says much": {neutral, neutral, neutral},
		"both have context": {withContext, `{"cancel":false,"contextModification":"<b> & c"}`, `{"cancel":false,"contextModification":"careful\n\n<b> & c","errorMessage":""}`},
		"members of theirs": {`{"cancel":false,"review":true}`, `{"cancel":false,"overrideInput":{"a":1}}`, `{"cancel":false,"contextModification":" ","overrideInput":{"a":1},"review":true}`},
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
