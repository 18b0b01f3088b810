package translate

import (
	"encoding/json"
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// Context has the facts that are not in a payload.
type Context struct {
	// GOOS is the operating system's name.
	GOOS string
	// TranscriptPath is the file that hooks get as transcript_path.
	TranscriptPath string
	// Seen reports that the session's start was reported before. Most of Cline
	// reports a start at every turn; hooks get only the first.
	Seen bool
	// Exists reports whether there is a file at a path. If nil, it is not known.
	Exists func(path string) bool
	// Spellings are other files that Cline's SDK may read for a path. If nil, there are none.
	Spellings func(path string) []string
}

// Event is one event in Claude's form.
type Event struct {
	// Name is Claude's name of the event.
	Name string
	// Subjects are what matchers are tried against: Claude's name first, then its
	// aliases, Cline's name, and the tool's name in Cline's other dialects, so that
	// a guard for one works in all. Empty if the event has no matcher.
	Subjects []string
	// Tool and Input are Claude's tool name and tool_input.
	Tool  string
	Input json.RawMessage
	// Payload is the JSON object a hook gets on its standard input.
	Payload []byte
	// Reading reports one of a call's Readings.
	Reading bool

	operation int // the index of its operation in the call
}

// Call is one Cline event in Claude's form.
type Call struct {
	// The event as Cline has it. Its Cwd is the first workspace root, else the
	// folder the hook ran in.
	hook.Event
	// Tool and ToolID are Cline's name of the tool and the id of the call.
	Tool, ToolID string
	// Events are the event in Claude's form; empty if Claude has no such
	// event.
	Events []Event
	// Readings are what Cline may do in place of Events, where more than the payload
	// decides. Guards are asked about them, and nothing else gets them. Unclear is why not
	// even they can be given; mostly empty.
	Readings []Event
	Unclear  string

	ctx     Context
	others  []operation // those of Readings
	call    toolCall    // the tool call taken apart
	results []outcome   // one for each of Events, at the end of a call
}

// Asked are the events that guards are asked about.
func (c *Call) Asked() []Event { return slices.Concat(c.Events, c.Readings) }

// Options say how to answer where Cline cannot do what Claude can.
type Options struct {
	// SoftDeny answers a denied call of the SDK dialect with an input that
	// prints the reason and fails, so that the task continues.
	SoftDeny bool
	// AskDenies treats ask and defer as deny; else Cline's own approval decides.
	AskDenies bool
}

// Answer is what hooks decided, in Cline's form.
type Answer struct {
	Reply hook.Reply
	// Soft reports that the reply denies a call by an input that fails.
	Soft bool
	// Pending are texts for the model that this event cannot carry; they belong
	// to the session's next event that can.
	Pending []string
	// Notes say, one line each, what hooks asked for that Cline cannot do.
	Notes []string
}
