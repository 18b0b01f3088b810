package claude

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// PeekIn returns what reads the part of a payload that a hook process needs before it stores it.
// event is the name the hook was started with; it counts if the payload has none.
//
// A run ends with the end of a turn, of the session or of a subagent: the end of a
// subagent in the background can complete a turn.
//
// It never fails. Of a payload that is not a JSON object the members before the fault
// count; without a session among them it returns event as the name and nothing else.
// For an empty payload it returns also the kind of that event. If
// another agent sent the payload, the head names it.
// The sender is found by the environment if the payload does not show it.
func PeekIn(getenv func(string) string) func(payload []byte, event string) hook.Head {
	return itself.PeekIn(getenv)
}

func (c *Protocol) peek(payload []byte, event string, getenv func(string) string) hook.Head {
	h := hook.Head{Name: event}
	payload = rawjson.Trim(payload)
	var p members
	if len(payload) > 0 {
		o, err := rawjson.OpenRaw(payload)
		p = members{o}
		if h.Session = p.session(); err != nil && h.Session == "" {
			return h
		}
		h.Version = p.Text("cursor_version")
		h.Dirs = Roots(o)
		if sender := Sender(o, getenv); sender != c.Host {
			h.Agent = hook.WordOf(sender)
		}
	}
	h.Name = c.name(p, event)
	h.Kind = c.kind(p, h.Name)
	h.RunEnds = h.Kind.Terminal() || c.Ends != nil && c.Ends(p.Object, h.Name)
	return h
}

// Roots returns the folders of Cursor's workspace, which writes those of Windows as /c:/folder.
func Roots(payload rawjson.Object) (folders []string) {
	roots, _ := payload.Elements("workspace_roots")
	for _, root := range roots {
		folder := rawjson.Text(root)
		if len(folder) > 2 && folder[0] == '/' && folder[2] == ':' {
			folder = folder[1:]
		}
		folders = append(folders, folder)
	}
	return folders
}
