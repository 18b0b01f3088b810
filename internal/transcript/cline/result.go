package cline

import (
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// resultText reads the content of a tool_result: its text, and whether it says
// that something failed. Cline marks only calls that could not run at all with
// is_error; a command that exits with 1 is success:false in here.
func resultText(raw []byte) (text string, failed bool) {
	parts, list := rawjson.Elements(raw)
	if !list {
		text = transcript.ScalarText(raw)
		// Some tools put one part into the string as JSON.
		if rawjson.Check([]byte(text)) == nil {
			if part, failed, ok := partText([]byte(text)); ok {
				return part, failed
			}
		}
		return text, false
	}
	var texts []string
	for _, p := range parts {
		t, bad, ok := partText(p)
		if !ok {
			t = rawjson.Canonical(p)
		}
		failed = failed || bad
		// Of several parts, each is headed by its query.
		if query := rawjson.Unquote(rawjson.Member(p, "query")); len(parts) > 1 && query != "" {
			t = query + "\n" + t
		}
		if t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n"), failed
}

// partText reads one part of a tool's result; a tool that takes several queries
// or commands at once gives one for each. ok is false if the part has none of
// the known members, so that the caller keeps it as it is.
func partText(raw []byte) (text string, failed, ok bool) {
	p := rawjson.Members(raw)
	switch rawjson.Unquote(p.Get("type")) {
	case "text":
		return rawjson.Unquote(p.Get("text")), false, true
	case "image":
		return "[image]", false, true
	}
	success := p.Get("success")
	result, problem := transcript.ScalarText(p.Get("result")), transcript.ScalarText(p.Get("error"))
	if success == nil && p.Get("result", "error") == nil {
		return "", false, false
	}
	fine, known := rawjson.Bool(success)
	failed = known && !fine
	switch {
	case problem == "" || strings.Contains(result, problem):
		return result, failed, true
	case result == "":
		return problem, failed, true
	}
	return result + "\n" + problem, failed, true
}
