package rig

import (
	"syscall"
	"time"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

// Addresses inside a run's network namespace. Each run has the whole loopback
// to itself, so they can be the same for all.
const (
	// ModelURL is the base URL of the scripted model, with no path.
	ModelURL = "http://127.0.0.1:18080"
	// OTLPURL is the base URL of the OTLP/HTTP receiver.
	OTLPURL = "http://127.0.0.1:14318"
	// InfiniumURL is the base URL of the stand-in for Infinium.
	InfiniumURL = OTLPURL + "/api/v1"
)

// Words that are replaced in step arguments, step environments and all strings
// of the model's script.
const (
	// WordMark is a pipe: a line written to it meets Condition.Mark. A tool
	// command says with it that it is running.
	WordMark = "{{MARK}}"
	// WordWorkspace is the folder the agent works in.
	WordWorkspace = "{{WORKSPACE}}"
	// WordHome is the user's home folder.
	WordHome = "{{HOME}}"
	// WordRecords is the folder of the recorder hook, see Arena.Recorded.
	WordRecords = "{{RECORDS}}"
	// WordSession is the newest session in Arena.Sessions, resolved when the
	// step starts. It is valid in step arguments and in ACP.Session.
	WordSession = "{{SESSION}}"
)

// Run describes one run: a script for the model, and the commands to execute
// one after the other.
type Run struct {
	// Command starts the agent.
	Command []string `json:"command"`
	// Script is what the model answers.
	Script llm.Script `json:"script"`
	// Steps are executed in order; a failing step does not stop the rest.
	Steps []Step `json:"steps"`
}

// Step is one command.
type Step struct {
	// Program is the command to run; empty means Run.Command.
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
	// ACP, if set, talks to the agent as an editor does instead of leaving its
	// standard input empty.
	ACP *ACP `json:"acp,omitempty"`
	// Signal, if set, is sent to the step's process group once. With ACP the editor
	// asks for the prompt's end instead.
	Signal *Signal `json:"signal,omitempty"`
	// Timeout ends the step with SIGKILL. If zero, three minutes.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Asks, if not zero, ends the step in the same way if the agent has not asked the
	// model by then.
	Asks time.Duration `json:"asks,omitempty"`
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
	// Output is met when the command has written this to its standard output; not
	// for a step with ACP.
	Output string `json:"output,omitempty"`
}

// ACP is a conversation over the Agent Client Protocol: the one way to answer
// an agent's questions without a terminal.
type ACP struct {
	// Session, if set, is the session to load; WordSession means the newest
	// one. Without it a new session is started.
	Session string `json:"session,omitempty"`
	// Prompts are submitted one after the other in one session.
	Prompts []string `json:"prompts"`
	// Permissions are the kinds of option chosen for each request for
	// permission in turn ("allow_once", "reject_once", ...); the last one is
	// used for all further requests.
	Permissions []string `json:"permissions"`
	// Rejects, if set, is a text: a request for permission that has it is rejected
	// once, whatever Permissions says.
	Rejects string `json:"rejects,omitempty"`
}

// Result is everything that came out of a run.
type Result struct {
	Arena *Arena `json:"arena"`
	// Steps answer Run.Steps, in order.
	Steps []StepResult `json:"steps"`
	// Requests is the model's log.
	Requests []llm.Request `json:"requests"`
	// Spans, Posts, Messages and Strays are what the receivers got.
	Spans    []sink.Span    `json:"spans"`
	Posts    []sink.Post    `json:"posts"`
	Messages []sink.Message `json:"messages"`
	Strays   []string       `json:"strays"`
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
	Error   string        `json:"error,omitempty"`
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
	// Requests is the length of the model's log when the step ended.
	Requests int `json:"requests"`
}
