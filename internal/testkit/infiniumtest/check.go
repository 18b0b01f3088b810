package infiniumtest

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Limits the service documents. MaxBodyBytes is its own limit of 1 MB, above
// the 950,000 bytes its senders keep to.
const (
	MaxBodyBytes       = 1_000_000
	maxName            = 500
	maxDescription     = 10_000
	maxDurationSeconds = 86_400
)

// problem names what is wrong with a trace; empty when it is well-formed.
func problem(t map[string]any) string {
	for _, f := range []struct {
		name string
		most int
	}{{"name", maxName}, {"description", maxDescription}} {
		s, ok := t[f.name].(string)
		switch n := utf8.RuneCountInString(s); {
		case !ok || s == "":
			return f.name + ": a text is required"
		case n > f.most:
			return fmt.Sprintf("%s: %d characters, at most %d", f.name, n, f.most)
		}
	}
	s, _ := t["current_datetime"].(string)
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || at.Year() < 1900 || at.Year() > 2100 {
		return fmt.Sprintf("current_datetime: %q is no ISO 8601 time of the years 1900 to 2100", s)
	}
	d, ok := t["duration"].(float64)
	if !ok || d < 0 || d > maxDurationSeconds {
		return fmt.Sprintf("duration: %v, want seconds within 0 and %d", t["duration"], maxDurationSeconds)
	}
	for _, list := range []string{"steps", "errors"} {
		if p := problemOfList(t, list); p != "" {
			return p
		}
	}
	for _, object := range []string{"llm_usage", "environment"} {
		if v, present := t[object]; present {
			if _, ok := v.(map[string]any); !ok {
				return object + ": want an object"
			}
		}
	}
	return ""
}

func problemOfList(t map[string]any, name string) string {
	v, present := t[name]
	if !present {
		return ""
	}
	list, ok := v.([]any)
	if !ok {
		return name + ": want a list"
	}
	for i, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s[%d]: want an object", name, i)
		}
		fail := m
		if name == "steps" {
			if a, _ := m["action"].(string); a == "" {
				return fmt.Sprintf("steps[%d].action: a text is required", i)
			}
			if fail, ok = m["error"].(map[string]any); !ok {
				continue
			}
		}
		if kind, _ := fail["error_type"].(string); kind == "" {
			return fmt.Sprintf("%s[%d]: error_type: a text is required", name, i)
		}
		if _, ok := fail["message"].(string); !ok {
			return fmt.Sprintf("%s[%d]: message: a text is required", name, i)
		}
	}
	return ""
}

func errorBody(message string) string {
	b, err := json.Marshal(map[string]string{"error": message})
	if err != nil {
		return `{"error":"?"}`
	}
	return string(b)
}
