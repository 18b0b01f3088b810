package hook

import "time"

// Transcript is what a host's own files add to a session's hook events. Every field
// may be empty: files may be missing, late or in another place.
type Transcript struct {
	// Provider and Model name the model last used, as the host spells them.
	Provider string
	Model    string
	// HostVersion is the agent's version.
	HostVersion string
	// HostApp is the program the agent runs in, such as InVSCode.
	HostApp string
	// Cwd is the session's working directory.
	Cwd string
	// Folders are as in Event: those that the workspace had at any time.
	Folders []string `json:",omitempty"`
	// Checkouts are what was checked out, as far as the files say.
	Checkouts Checkouts `json:",omitempty"`
	// Moves are the working directories of a session that went from one to another, as
	// Moves.Sorted returns them. Cwd is the lead agent's last.
	Moves Moves
	// System are the lead agent's instructions, which come before all prompts.
	System string
	// Session is the session's id, if the files have it.
	Session string
	// Origin is the session that this one was forked from, and OriginTurn the last of
	// its turns that this one has copied. What was copied is not in the transcript.
	Origin     string `json:",omitempty"`
	OriginTurn string `json:",omitempty"`
	// Requests are those made to the model, by start time.
	Requests []Request
	// Prompts are the texts the user submitted, by time.
	Prompts []Prompt
	// ToolResults are the results of tool calls, in the file's order. They count
	// if a hook payload hides the text.
	ToolResults []ToolResult
	// Agents are the subagents in the files, by start time.
	Agents []Subagent
	// Ends are the ends of turns, by time.
	Ends []TurnEnd
	// Compactions are when the lead agent's conversation was shortened.
	Compactions []time.Time `json:",omitempty"`
	// Pending reports that the newest request has no usage yet, or that the files
	// do not have the last turn's end yet, so that a later read may find more.
	Pending bool
	// Undecided reports that the last turn has stopped and may still continue:
	// the user's hooks decide that.
	Undecided bool
	// Limits are what the files say of the user's plan, changes alone.
	Limits []Limit `json:",omitempty"`
	// Inherited counts the requests in the files that another session counts, Damaged the
	// lines of which something could not be read.
	Inherited, Damaged int
	// CopiedBy are the sessions whose files have all rows of this one, too: hooks may have
	// reported them as of these.
	CopiedBy []string
	// CopiedFrom are the sessions of which this one has turns that count here, as their
	// own files are gone: they may have been reported as of these.
	CopiedFrom []string `json:",omitempty"`
	// Sources are the files that were read, Unread the places in them that were not.
	Sources []string
	Unread  []Unread
}

// InVSCode is the Transcript.HostApp of an agent that runs in VS Code.
const InVSCode = "Visual Studio Code"

// Unread is a place in a host's files that could not be read.
type Unread struct {
	// File and Line are the place; Line counts from 1 where the reading began and is zero for
	// more than a line.
	File string
	Line int
	// At is the time of the next row, zero at the end of a file, and where it concerns the
	// whole session.
	At time.Time
	// Whole reports that it concerns the whole session.
	Whole  bool
	Reason string
}

// RequestKind distinguishes a request from a host's sum over requests that it no longer
// lists.
type RequestKind uint8

// The kinds of request.
const (
	// RequestSingle is one request to the model.
	RequestSingle RequestKind = iota
	// RequestsDeleted is the sum of requests removed by restoring a checkpoint.
	RequestsDeleted
	// RequestsOfSubagents is the sum of the requests of subagents that have no
	// records.
	RequestsOfSubagents
	// RequestsUnlisted is what the host says that a session took beyond its requests.
	RequestsUnlisted
)

// Request is one request to a language model, or a host's sum of several.
type Request struct {
	Kind RequestKind
	// ID identifies the request in every read of the files: a message id, else "req-"
	// and the start in milliseconds.
	ID string
	// RequestID is the provider's id of the request.
	RequestID string
	// Turn is the turn the request was made for, as in Event.
	Turn string
	// Agent is the subagent that made the request; empty for the lead agent.
	Agent string
	// Start and End are the request's times. End is zero while it runs.
	Start time.Time
	End   time.Time
	// Provider and Model as the host spells them.
	Provider string
	Model    string
	// ResponseModel is the model that answered, if the host's files name it.
	ResponseModel string
	// FinishReason is why the model stopped, as the host spells it
	// ("end_turn", "tool_use", "max_tokens", ...).
	FinishReason string
	// Usage is nil if the host has not reported any.
	Usage *Usage
	// Error is the host's code for a request that broke off ("user_cancelled",
	// "streaming_failed", ...), Message its explanation.
	Error   string
	Message string
	// Text is the reply's text, Reasoning what the model thought before it.
	Text      string
	Reasoning string
	// ToolCallIDs are the tool calls the reply asked for.
	ToolCallIDs []string
}

// Usage is the token count of a request, as the host reports it, and its cost.
type Usage struct {
	// Input is the host's input count. Some providers include the cache counts,
	// see InputIncludesCache.
	Input  int64
	Output int64
	// Reasoning is the part of Output that the model thought, 0 if it is not known.
	Reasoning  int64
	CacheRead  int64
	CacheWrite int64
	// CacheWriteHour is the part of CacheWrite that the cache keeps for an hour, 0 if it is not known.
	CacheWriteHour int64 `json:",omitempty"`
	// InputIncludesCache reports that Input includes CacheRead and CacheWrite.
	InputIncludesCache bool
	// InputUnknown reports that the host has the count of the output alone.
	InputUnknown bool `json:",omitempty"`
	// CostUSD is what the host reports, or what the tokens cost by the vendor's list
	// of prices. It is nil if neither is known.
	CostUSD *float64
}

// TotalInput is the input count including cache reads and writes, which is
// what gen_ai.usage.input_tokens means.
func (u *Usage) TotalInput() int64 {
	if u.InputIncludesCache {
		return u.Input
	}
	return u.Input + u.CacheRead + u.CacheWrite
}

// Prompt is a text the user submitted.
type Prompt struct {
	At   time.Time
	Text string
	// Turn is the turn it opened, as in Event.
	Turn string
	// Injected reports that the host wrote it, not the user.
	Injected bool
	// Queued reports that it was typed while the agent worked, which got it within the
	// turn.
	Queued bool `json:",omitempty"`
}

// Subagent is a subagent of a session.
type Subagent struct {
	ID   string
	Type string
	// CallID is the tool call that started it.
	CallID string
	// Turn is the turn it was started in.
	Turn string
	// Task is what it was asked to do, Result its last text. Failure is why it failed,
	// empty if it did not.
	Task    string
	Result  string
	Failure string
	// Start and End are its times. End is zero while it works.
	Start time.Time
	End   time.Time
}

// Ending is the event of the agent's end, by the name of the hook that reports it.
func (a *Subagent) Ending(name string) Event {
	if a.Failure != "" {
		return Event{Kind: KindRunError, Name: name, Message: a.Failure}
	}
	return Event{Kind: KindRunComplete, Name: name, Result: a.Result}
}

// TurnEnd is how a turn ended, or continued.
type TurnEnd struct {
	Turn string
	At   time.Time
	// Kind is KindRunComplete or KindRunError; KindSessionEnd for a turn that the
	// user interrupted; KindRunResume if one of the user's hooks made the host
	// continue, so that the turn has not ended.
	Kind Kind
	// Result is the final text, Message and ErrorType are as in Event.
	Result    string
	Message   string
	ErrorType string
}

// ToolResult is a tool's result, from the host's files.
type ToolResult struct {
	// ID is the tool call id.
	ID string
	// Agent is the subagent that made the call; empty for the lead agent.
	Agent string
	// Turn is the turn the call was made in, as in Event.
	Turn string
	// Name and Input are as in Tool.
	Name  string
	Input string
	// Text is the result, Status how the call ended.
	Text   string
	Status ToolStatus
	// Ran reports that the files show that a call which was cancelled had begun to run.
	Ran bool `json:",omitempty"`
	// Asked is when the model asked for the call, At when the result came.
	Asked time.Time
	At    time.Time
	// File and Row are the place in the host's files: the path and the number, from
	// 1, of the line or of the message. They are set only in a reading of whole
	// texts; see the package transcript.
	File string `json:",omitempty"`
	Row  int    `json:",omitempty"`
}
