package gemini

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The types of rows that are read, and the kind of a subagent's file.
const (
	kindUser     = "user"
	kindModel    = "gemini"
	kindQwen     = "qwen" // the model in Qwen Code's files
	kindInfo     = "info"
	kindSubagent = "subagent"
)

// head is what the beginning of a file says.
type head struct {
	session, kind string
	started       time.Time
	// project is the SHA-256 of the path of the project's folder, in hex.
	project string
	// folders are those of the workspace, a JSON array.
	folders []byte
}

// Parse implements transcript.Row for the first row. A file that was resumed has more of them.
func (h *head) Parse(line []byte) bool {
	o := rawjson.Members(line)
	*h = head{o.Text("sessionId"), o.Text("kind"), transcript.ISOTime(o.Text("startTime")), o.Text("projectHash"), bytes.Clone(o.Get("directories"))}
	return h.session != ""
}

// Time implements transcript.Row.
func (h *head) Time() time.Time { return h.started }

// Opens implements transcript.Row.
func (h *head) Opens() bool { return false }

// member adds a member of a file in the older form.
func (h *head) member(name string, value []byte) {
	switch text := rawjson.Text(value); name {
	case "sessionId":
		h.session = text
	case "kind":
		h.kind = text
	case "startTime":
		h.started = transcript.ISOTime(text)
	case "projectHash":
		h.project = text
	case "directories":
		h.folders = bytes.Clone(value)
	}
}

// row is one line of a session's file: its members, which alias the line, and the ones
// that most rows are asked for.
type row struct {
	rawjson.Object
	id, kind string
	at       time.Time
}

// Parse implements transcript.Row. Of the changes of the session,
// which repeat rows, only that of its folders is one.
func (r *row) Parse(line []byte) bool {
	*r = row{Object: rawjson.Members(line)}
	return r.known()
}

// Time implements transcript.Row.
func (r *row) Time() time.Time { return r.at }

// Opens implements transcript.Row.
func (r *row) Opens() bool {
	text, _ := r.text()
	_, meanwhile := steered(text)
	return !meanwhile && r.prompt()
}

// known sets the members that most rows are asked for and reports whether it is a row.
func (r *row) known() bool {
	r.id, r.kind, r.at = r.Text("id"), r.Text("type"), transcript.ISOTime(r.Text("timestamp"))
	return r.id != "" && r.kind != "" || bytes.Contains(r.Get("$set"), []byte(`"directories"`)) && r.Members("$set").Get("directories") != nil
}

// text joins the texts of the row's content; reply reports that it has what tools
// returned.
func (r *row) text() (text string, reply bool) {
	content := r.Get("content")
	if rawjson.IsString(content) {
		return rawjson.Unquote(content), false
	}
	parts, _ := rawjson.Elements(content)
	var texts []string
	shown := "" // an image without a text
	for _, raw := range parts {
		o := rawjson.Members(raw)
		reply = reply || o.Get("functionResponse") != nil
		if s := o.Text("text"); s != "" {
			texts = append(texts, s)
		}
		if o.Get("inlineData", "fileData") != nil {
			shown = "[image]"
		}
	}
	return cmp.Or(strings.Join(texts, "\n"), shown), reply
}

// kinds are the rows of the Gemini CLI.
const kinds = " user gemini qwen error info warning about stats "

// loopDetected begins what the Gemini CLI tells a model that repeats itself.
const loopDetected = "System: Potential loop detected."

// tasks begin what the subagents are told that had files like the session's, finish is the
// tool by which a subagent ends.
var tasks = [...]string{"Your task is to do a deep investigation of the codebase", "Your task is to answer the following question about Gemini CLI"}

const finish = "complete_task"

// steering begins what the user typed while the model worked.
const steering = "User steering update:"

// steered returns what the user typed while the model worked; ok is false for another text.
func steered(text string) (typed string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), steering)
	if !ok {
		return "", false
	}
	if _, inner, found := strings.Cut(rest, "<user_input>"); found {
		rest, _, _ = strings.Cut(inner, "</user_input>")
	}
	return strings.TrimSpace(rest), true
}

// prompt reports a row with what the user, or for a subagent its agent, asked for.
func (r *row) prompt() bool {
	if r.kind != kindUser {
		return false
	}
	text, reply := r.text()
	if _, ok := steered(text); ok {
		return true
	}
	return !reply && !strings.HasPrefix(text, "<session_context>") && !strings.HasPrefix(text, loopDetected)
}

// cancelled reports what the Gemini CLI shows when the user interrupts a turn.
func (r *row) cancelled() bool {
	text, _ := r.text()
	return r.kind == kindInfo && text == "Request cancelled."
}
