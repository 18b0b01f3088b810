package claude

import (
	"cmp"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Raw is a payload as it was stored.
type Raw = hook.Raw

// Decode turns a payload into events, at present always one.
//
// Hooks and members it does not know are no error: an unknown hook gives an
// event of KindUnknown. Control characters in strings need not be escaped. A
// payload that is not a JSON object, or nests deeper than 10,000 levels, gives an
// error and an event with the members that precede the fault; without a session
// among them it is one of KindUnknown.
func Decode(r Raw) ([]hook.Event, error) { return itself.decode(r) }

func (c *Protocol) decode(r Raw) ([]hook.Event, error) {
	ev := r.NewEvent(c.Host, r.Event)
	payload := rawjson.Trim(r.Payload)
	if len(payload) == 0 {
		ev.Name = c.name(members{}, ev.Name)
		ev.Kind = c.kind(members{}, ev.Name)
		if hasTool(ev.Kind) {
			ev.Tool = &hook.Tool{Duration: hook.UnknownDuration}
		}
		return []hook.Event{ev}, nil
	}
	o, err := rawjson.OpenRaw(payload)
	p := members{o}
	ev.Cwd = cmp.Or(p.Text("cwd"), ev.Cwd)
	ev.PermissionMode = p.Text("permission_mode")
	ev.Transcript = p.Text("transcript_path")
	if err != nil {
		err = &hook.DecodeError{Agent: hook.AgentOf(c.Host).Name, Event: r.Event, Size: len(r.Payload), Cause: err}
		if p.session() == "" {
			return []hook.Event{ev}, err
		}
	}
	ev.Name = c.name(p, ev.Name)
	ev.Dialect = hook.AgentOf(c.Host).Word
	ev.Session = p.session()
	ev.Turn = p.Text("prompt_id")
	ev.Agent, ev.AgentType = p.Text("agent_id"), p.Text("agent_type")
	if ev.Agent != "" {
		ev.ParentAgent = hook.ParentUnknown
	}
	ev.Kind = c.kind(p, ev.Name)
	p.body(&ev)
	if c.Adapt != nil {
		return c.Adapt(p.Object, ev), err
	}
	return []hook.Event{ev}, err
}

// repeatWithin is how far apart the hooks of one event may be stored. A model that makes
// a call again with the same id and input must have answered meanwhile.
const repeatWithin = time.Second

// members are the members of one payload.
type members struct{ rawjson.Object }

// body reads the members that only this kind of hook has.
func (p members) body(ev *hook.Event) {
	switch ev.Name {
	case userPromptSubmit:
		prompt := p.Text("prompt")
		ev.Prompt = cmp.Or(Typed(prompt), prompt)
		ev.Key = PromptKey(ev.Turn, ev.Prompt)
		if Injected(ev.Prompt) {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: hook.AttrPromptInjected, Value: true})
			ev.Message = Summary(ev.Prompt)
			ev.Background = AgentEnds(ev.Prompt)
		}
	case preToolUse, postToolUse, postToolUseFailure, permissionDenied:
		p.tool(ev)
		if ev.Key = key(ev.Name, ev.Tool.ID); ev.Key != "" {
			// Repeats have the same body.
			ev.Key = key(ev.Key, strconv.FormatUint(ev.Hash, 16))
			ev.KeyWithin = repeatWithin
		}
	case preSkillShellCommand:
		p.tool(ev)
		ev.Key = key(ev.Name, ev.Tool.ID)
		// The id names no call of the transcript.
		ev.Tool.ID, ev.Tool.Status = "", hook.ToolUnknown
	case permissionRequest:
		p.tool(ev)
	case subagentStop:
		p.agentStop(ev)
	case stop:
		// Old versions ran the Stop hooks of a subagent under that name.
		if ev.Agent != "" {
			p.agentStop(ev)
			break
		}
		p.turnStop(ev)
	case stopFailure:
		ev.ErrorType = p.Text("error")
		ev.Message = FailureText(cmp.Or(p.Text("last_assistant_message"), p.Text("error_details")))
	case notification, elicitation:
		ev.Message = p.Text("message")
	case postCompact:
		ev.Message = p.Text("compact_summary")
	case sessionStart:
		ev.Model = p.Text("model")
	}
	ev.Attrs = p.attrs(ev.Name, ev.Attrs)
}

// turnStop reads the end of a turn. If one of the user's hooks made Claude Code
// continue, stop_hook_active is true and the turn may stop more than once, so only
// the first stop has a key.
func (p members) turnStop(ev *hook.Event) {
	ev.Result = p.Text("last_assistant_message")
	if active, said := rawjson.Bool(p.Get("stop_hook_active")); said && !active {
		ev.Key = key(stop, ev.Turn)
	}
	if p.Is("stop_hook_active") {
		ev.Attrs = append(ev.Attrs, hook.Attr{Key: AttrStopHookActive, Value: true})
	}
	p.backgroundTasks(ev)
	if level := p.Members("effort").Text("level"); level != "" {
		ev.Attrs = append(ev.Attrs, hook.Attr{Key: attrEffort, Value: level})
	}
}

// agentStop reads the end of a subagent, which old versions do not name.
func (p members) agentStop(ev *hook.Event) {
	ev.Result = p.Text("last_assistant_message")
	if transcript := p.Text("agent_transcript_path"); transcript != "" && transcript != ev.Transcript {
		ev.Attrs = append(ev.Attrs, hook.Attr{Key: attrAgentTranscript, Value: transcript})
	}
}

// key identifies repeats of an event by its id; empty without an id.
func key(name, id string) string {
	if id == "" {
		return ""
	}
	return name + "/" + id
}

// PromptKey is the Event.Key of a prompt. It includes the text, since several prompts
// can have the id of one turn: what the user types while Claude Code works is added
// to the current turn.
func PromptKey(turn, prompt string) string {
	if turn == "" {
		return ""
	}
	return key(userPromptSubmit, turn) + "/" + strconv.FormatUint(hook.Hash([]byte(prompt)), 16)
}
