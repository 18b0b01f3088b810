package step

import (
	"cmp"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/otelmap"
)

// texts returns the texts in an attribute's messages, without calls and their results.
func (a attrs) texts(key string) (out []string) {
	value := a.text(key)
	if value == "" {
		return nil
	}
	for _, m := range otelmap.Messages(value) {
		for _, p := range m.Parts {
			if p.Type == otelmap.PartText && p.Content != "" {
				out = append(out, p.Content)
			}
		}
	}
	return out
}

// Task is the first prompt of an agent's span.
func (s Step) Task() string {
	if task := s.attrs().text(otelmap.KeyInputValue); task != "" {
		return task
	}
	for _, text := range s.Given() {
		return text
	}
	return ""
}

// Answer is the text that a request or an agent answered.
func (s Step) Answer() string {
	return cmp.Or(s.attrs().text(otelmap.KeyOutputValue), strings.Join(s.Said(), "\n"))
}

// Given are the texts of an agent's prompts, and of a request those since the one before.
func (s Step) Given() []string { return s.attrs().texts(otelmap.KeyInputMessages) }

// Said are the texts of a request's reply and of an agent's answer.
func (s Step) Said() []string { return s.attrs().texts(otelmap.KeyOutputMessages) }

// Asked are the ids of the calls that a request asked for, "" for one without. It takes a tenth
// of the time of Said.
func (s Step) Asked() []string { return callIDs(s.attrs().text(otelmap.KeyOutputMessages)) }

func callIDs(messages string) (ids []string) {
	if !strings.Contains(messages, otelmap.PartCall) {
		return nil
	}
	whole := rawjson.EachElement([]byte(messages), func(message []byte) {
		rawjson.EachElement(rawjson.Member(message, "parts"), func(part []byte) {
			if rawjson.Unquote(rawjson.Member(part, "type")) == otelmap.PartCall {
				ids = append(ids, rawjson.Unquote(rawjson.Member(part, "id")))
			}
		})
	})
	if !whole {
		return nil
	}
	return ids
}
