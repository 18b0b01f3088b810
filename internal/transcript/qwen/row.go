package qwen

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The types of rows that are read.
const (
	kindUser      = "user"
	kindAssistant = "assistant"
	kindResult    = "tool_result"
	kindSystem    = "system"
)

// row is one line of a session's file: its members, which alias the line, and the ones
// that most rows are asked for.
type row struct {
	rawjson.Object
	kind string
	at   time.Time
}

// Parse implements transcript.Row.
func (r *row) Parse(line []byte) bool {
	*r = row{Object: rawjson.Members(line)}
	r.kind, r.at = r.Text("type"), transcript.ISOTime(r.Text("timestamp"))
	return r.kind != ""
}

// Time implements transcript.Row.
func (r *row) Time() time.Time { return r.at }

// Opens implements transcript.Row.
func (r *row) Opens() bool { return r.kind == kindUser }

// exit is a line about a session whose program has ended.
type exit struct {
	session string
	at      time.Time
}

// Parse implements transcript.Row.
func (e *exit) Parse(line []byte) bool {
	o := rawjson.Members(line)
	*e = exit{o.Text("sessionId"), rawjson.Instant(o.Get("timestamp"))}
	return e.session != "" && !e.at.IsZero()
}

// Time implements transcript.Row.
func (e *exit) Time() time.Time { return e.at }

// Opens implements transcript.Row.
func (e *exit) Opens() bool { return false }

// part is a part of a row's message.
type part struct {
	text string
	// shown is set for an image.
	shown bool
	// id and name belong to a call or its result; input is the call's, response the
	// result's.
	id, name        string
	input, response []byte
}

// parts are those of the row's message that are a text, an image, a call or a result. Thoughts
// are none.
func (r *row) parts() (list []part) {
	all, _ := r.Members("message").Elements("parts")
	for _, raw := range all {
		o := rawjson.Members(raw)
		call, result := o.Members("functionCall"), o.Members("functionResponse")
		switch {
		case o.Is("thought"):
		case call != nil:
			list = append(list, part{id: call.Text("id"), name: call.Text("name"), input: call.Get("args")})
		case result != nil:
			list = append(list, part{id: result.Text("id"), name: result.Text("name"), response: result.Get("response")})
		case o.Text("text") != "":
			list = append(list, part{text: o.Text("text")})
		case o.Get("inlineData", "fileData") != nil:
			list = append(list, part{shown: true})
		}
	}
	return list
}

// textOf joins the texts of parts. Without one it names an image.
func textOf(parts []part) string {
	var texts []string
	shown := ""
	for _, p := range parts {
		if p.text != "" {
			texts = append(texts, p.text)
		}
		if p.shown {
			shown = "[image]"
		}
	}
	return cmp.Or(strings.Join(texts, "\n"), shown)
}

// result is what a tool gave the model.
func (p *part) result() string {
	o := rawjson.Members(p.response)
	if err := o.Text("error"); err != "" {
		return qwen.Shell(strings.TrimPrefix(err, "[Operation Cancelled] Reason: "))
	}
	return qwen.Output(p.name, o.Get("output"))
}

// turnOf returns the turn of a prompt's id, SESSION########N. A request of a subagent
// has SESSION#AGENT#N, which gives its agent.
func turnOf(id string) (turn, agent string) {
	if strings.Contains(id, "########") {
		return id, ""
	}
	if _, rest, ok := strings.Cut(id, "#"); ok {
		if i := strings.LastIndexByte(rest, '#'); i > 0 {
			return "", rest[:i]
		}
	}
	return "", ""
}
