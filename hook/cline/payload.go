package cline

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Payload is a payload whose members are read once, for all its methods.
type Payload struct {
	// Object holds the payload's members; after an error those before the fault.
	rawjson.Object
	raw hook.Raw
	// sent is the hook's name in the payload.
	sent  string
	empty bool
	err   error
	// callsOnly is what DecodeCalls says.
	callsOnly bool
}

// Read reads a payload. It never fails: [Payload.Events] returns the error.
func Read(raw hook.Raw) *Payload {
	p := &Payload{raw: raw}
	text := rawjson.Trim(raw.Payload)
	if p.empty = len(text) == 0 && raw.Event != HookRunsEvent; !p.empty {
		p.Object, p.err = rawjson.Open(text)
		p.sent = p.Text("hookName")
	}
	return p
}

// Peek is [Payload.Head] of a payload. event is the name the hook was started with;
// it counts if the payload has none.
func Peek(payload []byte, event string) hook.Head {
	return Read(hook.Raw{Payload: payload, Event: event}).Head()
}

// AnyExit reports that Cline takes the answer to an event whatever the hook's exit code is,
// as its SDK does (hook-file-hooks.ts). The other cores take none at another code than 0, and
// show the hook as failed (HookProcess.ts).
func AnyExit(payload []byte, event string) bool {
	return Read(hook.Raw{Payload: payload, Event: event}).sdk()
}

// sdkPatience is how long Cline's SDK waits for a hook. The other cores wait as
// long as Head.Patience says by default.
const sdkPatience = 120 * time.Second

// Head returns the part of the payload that a hook process needs before it stores
// it.
//
// For a payload that is not a JSON object that is the name the hook was started with
// and its kind, but never that a run ends. A hook gets an empty payload if its host
// dies while it starts; then the name alone decides that, too.
func (p *Payload) Head() hook.Head {
	if p.raw.Event == HookRunsEvent {
		return p.hookRunsHead()
	}
	h := hook.Head{Name: documentedName(p.raw.Event)}
	if p.sdk() {
		h.Patience = sdkPatience
	}
	if p.err == nil {
		h.Name, h.Session, h.Dirs = p.name(), p.session(), p.Roots()
	}
	h.Kind = kindOf(h.Name, p.turn())
	h.RunEnds = p.err == nil && h.Kind.Terminal() && p.Text("parent_agent_id") == ""
	return h
}

// Roots are the folders the session works in, the main one first.
func (p *Payload) Roots() []string {
	list, _ := p.Elements("workspaceRoots")
	var dirs []string
	for _, root := range list {
		if dir := rawjson.Text(rawjson.Present(root)); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if dirs != nil {
		return dirs
	}
	if dir := p.Members("workspaceInfo").Text("rootPath"); dir != "" {
		return []string{dir}
	}
	return nil
}

// name is the hook's documented name: the payload's, else the one the hook was
// started with.
func (p *Payload) name() string {
	return documentedName(cmp.Or(p.sent, p.raw.Event))
}

// sdk reports whether the payload has a shape that only the SDK dialect has.
func (p *Payload) sdk() bool {
	return p.Get("sessionContext", "agent_id") != nil || strings.Contains(p.sent, "_") && strings.ToLower(p.sent) == p.sent
}

// dialect finds the wire form by shape alone: one installed version of the extension
// contains two of them.
func (p *Payload) dialect() string {
	model := p.Get("model")
	switch {
	case p.sdk():
		return dialectSDK
	case strings.HasPrefix(p.Text("taskId"), "conv_"),
		unknown(rawjson.Member(model, "provider")) && unknown(rawjson.Member(model, "slug")):
		return dialectNext
	}
	return dialectClassic
}

// session is the id that all events of a session have. In the SDK dialect the task
// is only one agent's conversation.
func (p *Payload) session() string {
	return cmp.Or(p.Members("sessionContext").Text("rootSessionId"), p.Text("taskId"))
}

// turn is the SDK's report of a turn. It counts only in a valid payload.
func (p *Payload) turn() rawjson.Object {
	if p.err != nil {
		return nil
	}
	return p.Members("turn")
}
