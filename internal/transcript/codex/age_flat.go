package codex

import (
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// flatRows is the age of rows without payloads, before September 2025. No event repeats
// what the user typed, and the items have no times: a row without one gets the next
// millisecond.
type flatRows struct {
	next  func(*row)
	clock time.Time
	// moved follows the computer's clock, which may be set back.
	moved transcript.Clock
	// placed reports that the folder is known.
	placed bool
}

func (a *flatRows) add(r *row) {
	if r.at.IsZero() && !a.clock.IsZero() {
		r.at = a.clock.Add(time.Millisecond)
	}
	a.clock = r.at
	r.at = a.moved.At(r.at, r.Opens() || r.kind == event && r.what == "user_message")
	flat, p, at := r.flat, r.payload, r.at
	a.next(r)
	if !flat || r.what != "message" {
		return
	}
	parts, _ := p.Elements("content")
	var texts []string
	for _, raw := range parts {
		part := rawjson.Members(raw)
		if text := part.Text("text"); text != "" || part.Text("type") != "input_image" {
			texts = append(texts, text)
			continue
		}
		texts = append(texts, image)
	}
	text := hook.Lines(texts...)
	switch begin := strings.ToLower(text[:min(len(text), 64)]); {
	case strings.HasPrefix(begin, "<environment_context>"):
		if dir := folderIn(text); dir != "" && !a.placed {
			a.placed = true
			a.next(newRow("turn_context", at, "cwd", rawjson.Encode(dir)))
		}
	case strings.HasPrefix(begin, "<user_instructions>"), strings.HasPrefix(begin, "# agents.md instructions for "), p.Text("role") != "user":
	case text != "":
		a.next(said(at, text))
	}
}

// folderIn is the folder that Codex tells the model, "" for none.
func folderIn(text string) (dir string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, name := range [...]string{"<cwd>", "cwd:", "Current working directory:"} {
			if rest, ok := strings.CutPrefix(line, name); ok && dir == "" {
				dir = strings.TrimSpace(strings.TrimSuffix(rest, "</cwd>"))
			}
		}
	}
	return dir
}

// flatten reads a row of that age: an item, or as the first row the session's id and time.
func (r *row) flatten(o rawjson.Object) {
	switch {
	case o.Get("record_type") != nil:
		r.kind, r.payload = "state", o
	case r.kind != "":
		r.kind, r.payload, r.flat = responseItem, o, true
	case o.Text("id") != "" && !r.at.IsZero():
		r.kind, r.payload, r.flat = sessionMeta, o, true
	}
}
