package infinium

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// previewLevels are the lengths previews are shortened to, one after the other,
// before any step is left out. Zero leaves them as they are.
var previewLevels = [...]int{0, 200, 100, 50}

const (
	// summaryRunes bounds the two summaries once previews are shortened.
	summaryRunes = 2_000
	// typeRunes bounds an error's type.
	typeRunes = 100
	// maxTags bounds the tags; Traces never makes as many.
	maxTags = 64
	// listOverhead covers the keys, brackets and commas around the two lists.
	listOverhead = 64
	// markerBytes covers the entry that says how much was left out.
	markerBytes = 200
)

// Encode returns the JSON body, never more than MaxBodyBytes.
//
// What is too large is cut in this order: previews are shortened to 200, 100
// and 50 characters; then the oldest errors after the first are left out until
// the errors fill a quarter of the body; then the oldest steps after the first.
// An entry in the place of what was left out says how many. Equal traces give
// equal bytes; t is not changed.
func (t *Trace) Encode() ([]byte, error) {
	return t.encode(MaxBodyBytes)
}

func (t *Trace) encode(limit int) ([]byte, error) {
	var e encoder
	for _, level := range previewLevels {
		head := t.head(level)
		size, err := e.size(head)
		if err != nil {
			return nil, err
		}
		size += listOverhead
		for i := 0; i < len(t.Errors) && size <= limit; i++ {
			size += e.cost(t.Errors[i].shorten(level))
		}
		for i := 0; i < len(t.Steps) && size <= limit; i++ {
			size += e.cost(t.Steps[i].shorten(level))
		}
		if size > limit {
			continue
		}
		for i := range t.Steps {
			head.Steps = append(head.Steps, t.Steps[i].shorten(level))
		}
		for i := range t.Errors {
			head.Errors = append(head.Errors, t.Errors[i].shorten(level))
		}
		return e.finish(head, limit)
	}
	return t.encodeParts(&e, limit)
}

// encodeParts leaves errors and steps out. It works from the newest backwards,
// so that its cost follows the limit and not the length of the run.
func (t *Trace) encodeParts(e *encoder, limit int) ([]byte, error) {
	level := previewLevels[len(previewLevels)-1]
	head := t.head(level)
	size, err := e.size(head)
	if err != nil {
		return nil, err
	}
	size += listOverhead

	errorAt := func(i int) ErrorDetail { return t.Errors[i].shorten(level) }
	errs, left, used := keepEnds(e, len(t.Errors), min(limit/4, limit-size), errorAt)
	if left > 0 {
		errs = slices.Insert(errs, min(1, len(errs)), ErrorDetail{
			ErrorType:   ErrorTruncated,
			Message:     leftOut(left, "error"),
			Recoverable: true,
		})
	}
	size += used

	stepAt := func(i int) Step { return t.Steps[i].shorten(level) }
	steps, left, _ := keepEnds(e, len(t.Steps), limit-size, stepAt)
	if left > 0 {
		steps = slices.Insert(steps, min(1, len(steps)), Step{
			Action:      ActionTruncated,
			Description: leftOut(left, "step"),
		})
	}
	head.Steps, head.Errors = steps, errs
	return e.finish(head, limit)
}

// keepEnds keeps the first entry and as many of the newest as fit the budget,
// with the marker's place reserved. It returns them in order, the number of
// entries left out, and the bytes used.
func keepEnds[T any](e *encoder, n, budget int, at func(int) T) (kept []T, left, used int) {
	if n == 0 {
		return nil, 0, 0
	}
	used = markerBytes
	first := at(0)
	if c := e.cost(first); used+c <= budget {
		used += c
		kept = append(kept, first)
	}
	next := n - 1
	var tail []T
	for ; next > 0; next-- {
		v := at(next)
		c := e.cost(v)
		if used+c > budget {
			break
		}
		used += c
		tail = append(tail, v)
	}
	slices.Reverse(tail)
	kept = append(kept, tail...)
	return kept, n - len(kept), used
}

func leftOut(n int, noun string) string {
	return plural(int64(n), noun) + " left out to keep the trace below Infinium's size limit"
}

// head is the trace without its lists, with its limits enforced.
func (t *Trace) head(level int) *Trace {
	h := *t
	h.Steps, h.Errors = nil, nil
	h.Name = cut(clean(h.Name), MaxNameRunes)
	h.Description = cut(clean(h.Description), MaxDescriptionRunes)
	h.Duration = clampDuration(h.Duration)
	if level == 0 {
		return &h
	}
	h.CurrentDatetime = cut(h.CurrentDatetime, typeRunes)
	h.InputSummary = cut(h.InputSummary, summaryRunes)
	h.OutputSummary = cut(h.OutputSummary, summaryRunes)
	if h.LLMUsage != nil {
		u := *h.LLMUsage
		u.Provider, u.Model = cut(u.Provider, maxWordRunes), cut(u.Model, maxWordRunes)
		h.LLMUsage = &u
	}
	h.Environment.Framework = cut(h.Environment.Framework, maxWordRunes)
	keys := slices.Sorted(maps.Keys(h.Environment.CustomTags))
	tags := make(map[string]string, len(keys))
	for _, k := range keys[:min(len(keys), maxTags)] {
		tags[cut(k, typeRunes)] = cut(h.Environment.CustomTags[k], maxTagRunes)
	}
	h.Environment.CustomTags = tags
	return &h
}

func (s Step) shorten(level int) Step {
	if level == 0 {
		return s
	}
	s.Action = cut(s.Action, maxWordRunes+typeRunes)
	s.Description = cut(s.Description, max(level, maxWordRunes))
	s.InputPreview = cut(s.InputPreview, level)
	s.OutputPreview = cut(s.OutputPreview, level)
	s.InputSummary = cut(s.InputSummary, level)
	s.OutputSummary = cut(s.OutputSummary, level)
	if s.Error != nil {
		d := s.Error.shorten(level)
		s.Error = &d
	}
	if m := s.Metadata; m != nil {
		s.Metadata = &Metadata{SubagentID: cut(m.SubagentID, maxWordRunes), AgentType: cut(m.AgentType, maxWordRunes)}
	}
	return s
}

func (d ErrorDetail) shorten(level int) ErrorDetail {
	if level == 0 {
		return d
	}
	d.ErrorType = cut(d.ErrorType, typeRunes)
	d.Message = cut(d.Message, level)
	return d
}

// encoder marshals without escaping <, > and &, which code is full of.
type encoder struct{}

func (e *encoder) marshal(v any) ([]byte, error) {
	b, err := rawjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode trace for Infinium: %w", err)
	}
	return b, nil
}

func (e *encoder) size(v any) (int, error) {
	b, err := e.marshal(v)
	return len(b), err
}

// cost is what an entry adds to a list, its comma included. Steps and errors
// are strings, integers and flags: marshalling them cannot fail.
func (e *encoder) cost(v any) int {
	n, err := e.size(v)
	if err != nil {
		return MaxBodyBytes
	}
	return n + 1
}

func (e *encoder) finish(t *Trace, limit int) ([]byte, error) {
	b, err := e.marshal(t)
	if err != nil {
		return nil, err
	}
	if len(b) > limit {
		return nil, fmt.Errorf("encode trace %s for Infinium: %d bytes, at most %d are allowed", t.TraceID, len(b), limit)
	}
	return bytes.Clone(b), nil
}
