package cline

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hookspan/hookspan/internal/transcript"
)

// resultPart is one answer within a tool's result; a tool that takes several
// queries or commands at once gives one for each.
type resultPart struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Query   string          `json:"query"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Success *bool           `json:"success"`
}

// resultText reads the content of a tool_result: its text, and whether it says
// itself that something failed. Cline marks only calls that could not run at
// all with is_error; a command that exits with 1 is success:false in here.
func resultText(raw json.RawMessage) (text string, failed bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return "", false
		}
		// Some tools put one part into the string as JSON.
		if strings.HasPrefix(s, "{") {
			if text, failed, ok := partText([]byte(s)); ok {
				return text, failed
			}
		}
		return s, false
	case '{':
		if text, failed, ok := partText(raw); ok {
			return text, failed
		}
		return transcript.CanonicalJSON(raw), false
	case '[':
		return partsText(raw)
	}
	return string(raw), false
}

// partsText joins a list of parts. Where there are several, each is headed by
// its query, or nobody could tell whose answer it is.
func partsText(raw json.RawMessage) (text string, failed bool) {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw), false
	}
	var texts []string
	for _, p := range parts {
		t, bad, ok := partText(p)
		if !ok {
			t = transcript.CanonicalJSON(p)
		}
		failed = failed || bad
		var head resultPart
		if len(parts) > 1 && transcript.Lenient(json.Unmarshal(p, &head)) == nil && head.Query != "" {
			t = head.Query + "\n" + t
		}
		if t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n"), failed
}

// partText reads one part; ok is false where it has none of the known members,
// so that the caller keeps it as it is.
func partText(raw []byte) (text string, failed, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return "", false, false
	}
	var p resultPart
	if transcript.Lenient(json.Unmarshal(raw, &p)) != nil {
		return "", false, false
	}
	if p.Type == "text" {
		return p.Text, false, true
	}
	if p.Type == "image" {
		return "[image]", false, true
	}
	result, problem := transcript.ScalarText(p.Result), transcript.ScalarText(p.Error)
	if p.Result == nil && p.Error == nil && p.Success == nil {
		return "", false, false
	}
	failed = p.Success != nil && !*p.Success
	switch {
	case problem == "" || strings.Contains(result, problem):
		return result, failed, true
	case result == "":
		return problem, failed, true
	}
	return result + "\n" + problem, failed, true
}
