package clinecli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/clinecli/sink"
)

// Addresses inside a run's network namespace. Each run has the whole loopback
// to itself, so they can be the same for all.
const (
	// ModelURL is the base URL of the scripted model.
	ModelURL = "http://127.0.0.1:18080/v1"
	// OTLPURL is the base URL of the OTLP/HTTP receiver.
	OTLPURL = "http://127.0.0.1:14318"
	// InfiniumURL is the base URL of the stand-in for Infinium.
	InfiniumURL = OTLPURL + "/api/v1"
)

// Words that are replaced in step arguments, step environments and the
// arguments of scripted tool calls.
const (
	// WordMark is a pipe: a line written to it meets Condition.Mark. A tool
	// command says with it that it is running.
	WordMark = "{{MARK}}"
	// WordWorkspace is the folder the CLI works in.
	WordWorkspace = "{{WORKSPACE}}"
	// WordHome is the user's home folder.
	WordHome = "{{HOME}}"
	// WordRecords is the folder of the recorder hook, see RecordHooks.
	WordRecords = "{{RECORDS}}"
	// WordSession is the newest session in Cline's own storage, resolved when
	// the step starts. It stands in step arguments and in ACP.Session.
	WordSession = "{{SESSION}}"
)

// Run describes one run: a prepared home, a script for the model, and the
// commands to execute one after the other.
type Run struct {
	CLI CLI `json:"cli"`
	// Script is what the model answers.
	Script []mockllm.Turn `json:"script"`
	// Steps are executed in order; a failing step does not stop the rest.
	Steps []Step `json:"steps"`
	// Env is added to the environment of every step.
	Env map[string]string `json:"env,omitempty"`
	// Setup prepares the arena before the first step: it installs hooks, writes
	// files, adds to Env. It runs in the caller's process.
	Setup func(*Arena) error `json:"-"`
}

// Step is one command.
type Step struct {
	// Program is the command to run; empty means the CLI of the run.
	Program []string `json:"program,omitempty"`
	// WaitTraces, if not zero, makes the step run no command but end once that
	// many traces have come to the OTLP receiver in the run.
	WaitTraces int `json:"wait_traces,omitempty"`
	// Args are added to the program.
	Args []string `json:"args"`
	// Env is added to the environment of this step.
	Env map[string]string `json:"env,omitempty"`
	// Stdin is the standard input; empty means none.
	Stdin string `json:"stdin,omitempty"`
	// ACP, if set, talks to the CLI as an editor does instead of leaving its
	// standard input empty.
	ACP *ACP `json:"acp,omitempty"`
	// Signal, if set, is sent to the step's process group once.
	Signal *Signal `json:"signal,omitempty"`
	// Timeout ends the step with SIGKILL. If zero, one minute.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Signal is a signal and the condition that releases it.
type Signal struct {
	Number syscall.Signal `json:"number"`
	When   Condition      `json:"when"`
}

// Condition is met by the first of its non-zero members.
type Condition struct {
	// Request is met when the model has been asked that many times in the run.
	Request int `json:"request,omitempty"`
	// Mark is met when a line was written to WordMark.
	Mark bool `json:"mark,omitempty"`
}

// ACP is a conversation over the Agent Client Protocol: the one way to answer
// Cline's questions without a terminal.
type ACP struct {
	// Session, if set, is the session to load; WordSession stands for the newest
	// one. Without it a new session is started.
	Session string `json:"session,omitempty"`
	// Prompts are submitted one after the other in one session.
	Prompts []string `json:"prompts"`
	// Permissions are the kinds of option chosen for each request for
	// permission in turn ("allow_once", "reject_once", ...); the last one is
	// used for all further requests.
	Permissions []string `json:"permissions"`
}

// Arena is the prepared place of one run.
type Arena struct {
	CLI CLI `json:"cli"`
	// Dir holds everything; Home, Workspace and Records lie in it.
	Dir       string `json:"dir"`
	Home      string `json:"home"`
	Workspace string `json:"workspace"`
	// Records is where the recorder hook puts the payloads, see RecordHooks.
	Records string `json:"records"`
	// Env is the whole environment of the steps.
	Env map[string]string `json:"env"`
}

// Environ returns the arena's environment in the form of os.Environ.
func (a *Arena) Environ() []string {
	out := make([]string, 0, len(a.Env))
	for k, v := range a.Env {
		out = append(out, k+"="+v)
	}
	return out
}

// ConfigDir is where hookspan.env is looked for.
func (a *Arena) ConfigDir() string { return filepath.Join(a.Home, ".config", "hookspan") }

func (a *Arena) mark() string { return filepath.Join(a.Dir, "mark") }

// words returns the replacer for the words that are known before a step runs.
func (a *Arena) words() *strings.Replacer {
	return strings.NewReplacer(WordMark, a.mark(), WordWorkspace, a.Workspace, WordHome, a.Home, WordRecords, a.Records)
}

// newArena makes the folders of a run below dir.
func newArena(dir string, cli CLI) (*Arena, error) {
	a := &Arena{
		CLI: cli, Dir: dir, Home: filepath.Join(dir, "home"), Workspace: filepath.Join(dir, "ws"), Records: filepath.Join(dir, "rec"),
	}
	tmp := filepath.Join(dir, "tmp")
	for _, d := range []string{filepath.Join(a.Home, ".config"), filepath.Join(a.Home, ".cline", "data"), filepath.Join(a.Workspace, "src"), a.Records, tmp} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("prepare the run's folders: %w", err)
		}
	}
	for path, text := range map[string]string{
		// Without this file xdg-user-dir answers with the home folder itself, and
		// classic Cline looks for hooks in ~/Cline/Hooks.
		filepath.Join(a.Home, ".config", "user-dirs.dirs"):          "XDG_DOCUMENTS_DIR=\"$HOME/Documents\"\n",
		filepath.Join(a.Home, ".cline", "data", "globalState.json"): `{"telemetrySetting":"disabled"}`,
		filepath.Join(a.Workspace, "src", "login.js"):               "module.exports = (u, p) => true\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("prepare the run's files: %w", err)
		}
	}
	a.Env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": a.Home, "TMPDIR": tmp, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "tester",
		"XDG_CONFIG_HOME":          filepath.Join(a.Home, ".config"),
		"XDG_STATE_HOME":           filepath.Join(a.Home, ".local", "state"),
		"XDG_DATA_HOME":            filepath.Join(a.Home, ".local", "share"),
		"XDG_CACHE_HOME":           filepath.Join(a.Home, ".cache"),
		"CLINE_TELEMETRY_DISABLED": "1", "DO_NOT_TRACK": "1",
		// Without it CLI 3 leaves a daemon behind.
		"CLINE_SESSION_BACKEND_MODE": "local",
	}
	return a, nil
}

// Result is everything that came out of a run.
type Result struct {
	Arena *Arena `json:"arena"`
	// Steps answer Run.Steps, in order.
	Steps []StepResult `json:"steps"`
	// Requests is the model's log.
	Requests []mockllm.Request `json:"requests"`
	// Spans, Posts and Strays are what the receivers got.
	Spans  []sink.Span `json:"spans"`
	Posts  []sink.Post `json:"posts"`
	Strays []string    `json:"strays"`
	// Killed lists processes that outlived the last step by more than
	// lingerLimit and were killed, as "pid command line".
	Killed []string `json:"killed"`
}

// StepResult is how a step ended.
type StepResult struct {
	// ExitCode is -1 when a signal ended the process; Signal names it then.
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	// TimedOut reports that Step.Timeout passed; Signalled that Step.Signal was
	// sent.
	TimedOut  bool   `json:"timed_out,omitempty"`
	Signalled bool   `json:"signalled,omitempty"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	// Error says why the step could not be run or, for ACP, what went wrong in
	// the conversation.
	Error string        `json:"error,omitempty"`
	Took  time.Duration `json:"took"`
	// Requests is the length of the model's log when the step ended.
	Requests int `json:"requests"`
}
