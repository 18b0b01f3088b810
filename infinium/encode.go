package infinium

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
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
	// markerBytes covers the entry with the number of entries left out.
	markerBytes = 200
)

// Encode returns the JSON body, never more than MaxBodyBytes.
//
// If it is too large, it is cut in this order: previews are shortened to 200, 100
// and 50 characters; then the oldest errors after the first are left out until
// the errors fill a quarter of the body; then the oldest steps after the first.
// An entry in their place gives their number. Equal traces give equal bytes; t is
// not changed.
func (t *Trace) Encode() ([]byte, error) {
	return t.encode(MaxBodyBytes)
}

func (t *Trace) encode(limit int) ([]byte, error) {
	for i := 0; ; i++ {
		short := t.head(previewLevels[i])
		b, err := marshal(short)
		if err != nil {
			return nil, err
		}
		room := limit - len(b) - listOverhead
		short.Errors, short.Steps = shortenAll(t.Errors, previewLevels[i]), shortenAll(t.Steps, previewLevels[i])
		if roomAfter(short.Steps, roomAfter(short.Errors, room)) < 0 {
			if i < len(previewLevels)-1 {
				continue
			}
			short.leaveOut(room, limit/4)
		}
		b, err = marshal(short)
		if err == nil && len(b) > limit {
			return nil, fmt.Errorf("encode trace %s for Infinium: %d bytes, at most %d are allowed", t.TraceID, len(b), limit)
		}
		return b, err
	}
}

// roomAfter is what a list leaves of the room, negative if it does not fit.
func roomAfter[T any](list []T, room int) int {
	for i := 0; i < len(list) && room >= 0; i++ {
		room -= cost(list[i])
	}
	return room
}

// leaveOut removes errors and steps until they fit the room, of which errors get
// at most the part.
func (t *Trace) leaveOut(room, part int) {
	errs, left, used := keepEnds(t.Errors, min(part, room))
	if left > 0 {
		errs = slices.Insert(errs, min(1, len(errs)), ErrorDetail{ErrorType: ErrorTruncated, Message: leftOut(left, "error"), Recoverable: true})
	}
	steps, left, _ := keepEnds(t.Steps, room-used)
	if left > 0 {
		steps = slices.Insert(steps, min(1, len(steps)), Step{Action: ActionTruncated, Description: leftOut(left, "step")})
	}
	t.Errors, t.Steps = errs, steps
}

// keepEnds keeps the first entry and as many of the newest as fit the room, which
// includes the place of the marker. It returns them in order, the number of
// entries left out, and the bytes used.
func keepEnds[T any](list []T, room int) (kept []T, left, used int) {
	if len(list) == 0 {
		return nil, 0, 0
	}
	used = markerBytes
	fits := func(entry T) bool {
		c := cost(entry)
		if used+c > room {
			return false
		}
		used += c
		return true
	}
	if fits(list[0]) {
		kept = append(kept, list[0])
	}
	first := len(list)
	for first > 1 && fits(list[first-1]) {
		first--
	}
	kept = append(kept, list[first:]...)
	return kept, len(list) - len(kept), used
}

func leftOut(n int, noun string) string {
	return termtext.Plural(n, noun) + " left out to keep the trace below Infinium's size limit"
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

// shortenAll returns a copy of a list with its texts shortened, unless level is 0.
func shortenAll[T interface{ shorten(level int) T }](list []T, level int) []T {
	if level == 0 {
		return list
	}
	out := make([]T, len(list))
	for i := range list {
		out[i] = list[i].shorten(level)
	}
	return out
}

func (s Step) shorten(level int) Step { //nolint:unused // Called through a type parameter.
	s.Action = cut(s.Action, maxWordRunes+typeRunes)
	s.Description = cut(s.Description, max(level, maxWordRunes))
	for _, text := range []*string{&s.InputPreview, &s.OutputPreview, &s.InputSummary, &s.OutputSummary} {
		*text = cut(*text, level)
	}
	if s.Error != nil {
		d := s.Error.shorten(level)
		s.Error = &d
	}
	if m := s.Metadata; m != nil {
		s.Metadata = &Metadata{SubagentID: cut(m.SubagentID, maxWordRunes), AgentType: cut(m.AgentType, maxWordRunes)}
	}
	return s
}

func (d ErrorDetail) shorten(level int) ErrorDetail { //nolint:unused // Called through a type parameter.
	d.ErrorType = cut(d.ErrorType, typeRunes)
	d.Message = cut(d.Message, level)
	return d
}

func marshal(v any) ([]byte, error) {
	b, err := rawjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode trace for Infinium: %w", err)
	}
	return b, nil
}

// cost is the number of bytes that an entry adds to a list, its comma included.
// Steps and errors are strings, integers and flags: encoding them cannot fail.
func cost(v any) int {
	b, err := marshal(v)
	if err != nil {
		return MaxBodyBytes
	}
	return len(b) + 1
}
