package answer

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/record"
)

const toolEvent = `{"clineVersion":"3.89.2","hookName":"PostToolUse","timestamp":"1776506405123","taskId":"17","postToolUse":{"toolName":"read_file","success":true}}`

// call is one hook call of Cline in a separate world.
type call struct {
	*record.Process
	t      *testing.T
	root   string // holds state, config, project
	hooked *Hooks
	stdout bytes.Buffer
}

// newCall is a PostToolUse hook.
func newCall(t *testing.T) *call {
	t.Helper()
	c := &call{t: t, root: t.TempDir(), hooked: &Hooks{File: filepath.Join(".cline", "hooks.json"), Variable: "CLINE_DIR"}}
	for _, dir := range []string{"state/hookspan", "config/hookspan", "project"} {
		must(t, os.MkdirAll(c.path(dir), 0o700))
	}
	now := time.Date(2026, 8, 1, 12, 0, 0, 5, time.UTC)
	c.Process = &record.Process{
		Agent: record.Agent{Facts: hook.AgentOf(hook.HostCline), Peek: cline.Peek, Reply: cline.EncodeReply, Answers: c.hooked.Answers},
		Event: "PostToolUse", Stdin: strings.NewReader(toolEvent), Stdout: &c.stdout,
		Environ: []string{"XDG_STATE_HOME=" + c.path("state"), "XDG_CONFIG_HOME=" + c.path("config"), "PATH=" + os.Getenv("PATH")},
		Home:    c.path("home"), GOOS: runtime.GOOS, Dir: c.path("project"),
		Now:   func() time.Time { return now },
		Spawn: func(...string) error { return nil },
	}
	return c
}

func (c *call) path(name string) string { return filepath.Join(c.root, filepath.FromSlash(name)) }

func (c *call) write(name, text string) {
	c.t.Helper()
	must(c.t, os.WriteFile(c.path(name), []byte(text), 0o600))
}

func (c *call) setenv(name, value string) { c.Environ = append(c.Environ, name+"="+value) }

func (c *call) log() string { return c.text("state/hookspan/hookspan.log") }

// events are the logs of all sessions.
func (c *call) events() (all string) { return c.text("state/hookspan/spool/cline/*/events.json-seq") }

func (c *call) text(pattern string) (all string) {
	files, err := filepath.Glob(c.path(pattern))
	must(c.t, err)
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // The test's own.
		must(c.t, err)
		all += string(data)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
