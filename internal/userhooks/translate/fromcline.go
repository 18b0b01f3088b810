package translate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// The wire forms of Cline, as in Call.Dialect.
const (
	dialectClassic = "classic"
	dialectNext    = "next"
	dialectSDK     = "sdk"
)

// FromCline translates an event of Cline into Claude's form. An event that Claude
// does not have gives a call without events and no error. An error says that the
// payload is not JSON; the call then has what was read before the fault and no
// events.
func FromCline(raw hook.Raw, ctx Context) (*Call, error) {
	p := cline.Read(raw)
	events, err := p.Events()
	switch {
	case len(events) == 0:
		return &Call{ctx: ctx}, err
	case err != nil:
		return newCall(&events[0], ctx), err
	}
	return FromDecoded(&events[0], p, ctx), nil
}

func newCall(ev *hook.Event, ctx Context) *Call {
	c := &Call{Event: *ev, ctx: ctx}
	if ev.Tool != nil {
		c.Tool, c.ToolID = ev.Tool.Name, ev.Tool.ID
	}
	return c
}

// FromDecoded is [FromCline] for an event that was decoded from p without an error.
func FromDecoded(ev *hook.Event, p *cline.Payload, ctx Context) *Call {
	c, body := newCall(ev, ctx), p.Object
	subagent := ev.ParentAgent != ""
	if subagent && ev.Kind.Terminal() && ev.Kind != hook.KindSessionEnd {
		c.add("SubagentStop", object{{"stop_hook_active", false}}.text("last_assistant_message", ev.Result), generalPurpose)
		return c
	}
	switch ev.Kind {
	case hook.KindToolStart:
		c.takeApart(p.Roots(), p.Members("preToolUse"))
		for _, op := range slices.Concat(c.call.operations, c.others) {
			c.tool("PreToolUse", op, nil, nil)
		}
		n := len(c.call.operations)
		c.Events, c.Readings = c.Events[:n:n], c.Events[n:]
		for i := range c.Readings {
			c.Readings[i].Reading = true
		}
	case hook.KindToolEnd:
		c.takeApart(p.Roots(), p.Members("postToolUse"))
		c.toolEnd(body)
	case hook.KindPrompt:
		if !c.injected() {
			c.add("UserPromptSubmit", object{{"prompt", ev.Prompt}})
		}
	case hook.KindRunStart:
		switch {
		case subagent:
			c.add("SubagentStart", nil, generalPurpose)
		case !ctx.Seen:
			c.started("startup")
		}
	case hook.KindRunResume:
		c.started("resume")
	case hook.KindRunComplete:
		c.add("Stop", object{{"stop_hook_active", false}, {"last_assistant_message", ev.Result}})
	case hook.KindRunCancel, hook.KindSessionEnd:
		c.add("SessionEnd", object{{"reason", "other"}}, "other")
	case hook.KindRunError:
		c.add("StopFailure", object{{"error", "unknown"}}.text("error_details", ev.Message), "unknown")
	case hook.KindCompact:
		if ctx.TranscriptPath == "" {
			c.ctx.TranscriptPath = rawjson.Text(rawjson.Members(body.Get("preCompact")).Get("contextJsonPath"))
		}
		c.add("PreCompact", object{{"trigger", "auto"}, {"custom_instructions", ""}}, "auto")
	case hook.KindNotification:
		kind := notificationType(rawjson.Members(body.Get("notification")))
		c.add("Notification", object{{"message", ev.Message}, {"notification_type", kind}}, kind)
	case hook.KindUnknown, hook.KindSessionStart, hook.KindPermission, hook.KindNote, hook.KindAside:
	}
	return c
}

// injected reports that Cline wrote the prompt: the SDK runs this hook for its own
// texts to the model, those of hooks included. Hooks that judge prompts would judge
// themselves.
func (c *Call) injected() bool {
	if c.Dialect != dialectSDK {
		return false
	}
	_, asked := cline.PromptText(c.Prompt)
	return !asked
}

// started adds the beginning of a session.
func (c *Call) started(source string) {
	c.add("SessionStart", object{{"source", source}}.text("model", c.Model), source)
}

// notificationType distinguishes a question about a call from other waiting.
func notificationType(body rawjson.Object) string {
	if rawjson.Text(body.Get("event")) != "user_attention" {
		return "idle_prompt"
	}
	switch rawjson.Text(body.Get("source")) {
	case "tool", "command", "browser_action_launch", "use_mcp_server", "use_subagents":
		return "permission_prompt"
	}
	return "idle_prompt"
}

// takeApart reads the tool call of that body of the payload.
func (c *Call) takeApart(roots []string, body rawjson.Object) {
	t := c.Event.Tool
	if t == nil || t.Name == "" {
		return
	}
	p := place{cwd: c.Cwd, roots: roots, windows: c.ctx.GOOS == "windows"}
	input, _ := rawjson.Parse([]byte(t.Input))
	c.read(p, input, body.Members("parameters"))
}

// toolUseID is the id of an operation of the call. It is the same at both ends of
// the call, which carry the same input.
func (c *Call) toolUseID(op operation) string {
	id := c.ToolID
	if id == "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{c.Session, c.Tool, c.Event.Tool.Input}, "\x00")))
		id = "toolu_" + hex.EncodeToString(sum[:12])
	}
	if op.index > 0 {
		id += "#" + strconv.Itoa(op.index)
	}
	return id
}

// tool adds the event of an operation. response and more are the members before and
// after the call's id.
func (c *Call) tool(name string, op operation, response, more object) {
	fields := append(object{{"tool_name", op.tool}, {"tool_input", op.input}}, response...)
	fields = append(fields.with("tool_use_id", c.toolUseID(op)), more...)
	subjects := append([]string{op.tool}, op.aliases...)
	if c.Tool != op.tool {
		subjects = append(subjects, c.Tool)
	}
	if twin := cmp.Or(op.twin, twinOf(c.Tool, op.tool)); twin != "" {
		subjects = append(subjects, twin)
	}
	c.add(name, fields, subjects...)
	e := &c.Events[len(c.Events)-1]
	e.Tool, e.Input, e.operation = op.tool, op.input.encode(), op.index
}

// add adds an event, with the members that all events have, in Claude's order.
func (c *Call) add(name string, fields object, subjects ...string) {
	payload := object{
		{"session_id", c.Session},
		{"transcript_path", c.ctx.TranscriptPath},
		{"cwd", c.Cwd},
		{"permission_mode", "default"},
	}
	if c.ParentAgent != "" {
		payload = append(payload, field{"agent_id", c.Agent}, field{"agent_type", generalPurpose})
	}
	payload = append(payload, field{"hook_event_name", name})
	c.Events = append(c.Events, Event{Name: name, Subjects: subjects, Payload: append(payload, fields...).encode()})
}

// toolEnd adds the events of a call that has ended.
func (c *Call) toolEnd(body rawjson.Object) {
	c.results = c.outcomes(body)
	t := c.Event.Tool
	if t == nil || t.Status == hook.ToolDenied || softDenied(c.call) {
		// Claude reports no end of a call that never began.
		return
	}
	for i, op := range c.ended() {
		took := object{}.timed("duration_ms", t.Duration, time.Millisecond)
		if r := c.results[i]; r.failed {
			why := object{{"error", r.message(op.tool)}, {"is_interrupt", t.Status == hook.ToolCancelled}}
			c.tool("PostToolUseFailure", op, nil, append(why, took...))
		} else {
			c.tool("PostToolUse", op, object{{"tool_response", r.response(op, t.Duration)}}, took)
		}
	}
}

// ended returns the operations whose ends are reported: all, or one for each file.
func (c *Call) ended() []operation {
	all := c.call.operations
	if !c.call.perFile {
		return all
	}
	var out []operation
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].tool == all[i].tool && all[j].input.str("file_path") == all[i].input.str("file_path") {
			j++
		}
		out = append(out, oneFile(all[i:j]))
		i = j
	}
	return out
}

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
