package infinium

import (
	"fmt"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

// previewLevels are the lengths previews are shortened to, one after the other,
// before any step is left out. Zero leaves them as they are.
var previewLevels = [...]int{0, 200, 100, 50}

const (
	// summaryRunes bounds the two summaries once previews are shortened.
	summaryRunes = 2_000
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
	var short Trace
	for i, level := range previewLevels {
		short = t.shorten(level)
		head := short
		head.Errors, head.Steps = nil, nil
		room := limit - listOverhead - cost(head)
		if roomAfter(short.Steps, roomAfter(short.Errors, room)) >= 0 {
			break
		}
		if i == len(previewLevels)-1 {
			short.leaveOut(room, limit/4)
		}
	}
	b, err := rawjson.Marshal(short)
	if err != nil {
		return nil, fmt.Errorf("encode trace %s for Infinium: %w", t.TraceID, err)
	}
	if len(b) > limit {
		return nil, fmt.Errorf("encode trace %s for Infinium: %d bytes, at most %d are allowed", t.TraceID, len(b), limit)
	}
	return b, nil
}

// cost is the number of bytes that an entry adds to a list, its comma included.
// What cannot be encoded fits nowhere.
func cost(v any) int {
	b, err := rawjson.Marshal(v)
	if err != nil {
		return MaxBodyBytes
	}
	return len(b) + 1
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
	var used int
	t.Errors, used = keepEnds(t.Errors, min(part, room), func(left int) ErrorDetail {
		return ErrorDetail{ErrorType: ErrorTruncated, Message: leftOut(left, "error"), Recoverable: true}
	})
	t.Steps, _ = keepEnds(t.Steps, room-used, func(left int) Step {
		return Step{Action: ActionTruncated, Description: leftOut(left, "step")}
	})
}

// keepEnds keeps the first entry and as many of the newest as fit the room, and
// puts a marker between them if any are left out. It also returns the bytes used.
func keepEnds[T any](list []T, room int, marker func(left int) T) (kept []T, used int) {
	if len(list) == 0 {
		return nil, 0
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
	head, tail := 0, len(list)
	if fits(list[0]) {
		head = 1
	}
	for tail > 1 && fits(list[tail-1]) {
		tail--
	}
	kept = append(kept, list[:head]...)
	if left := tail - head; left > 0 {
		kept = append(kept, marker(left))
	}
	return append(kept, list[tail:]...), used
}

func leftOut(n int, noun string) string {
	return termtext.Plural(n, noun) + " left out to keep the trace below Infinium's size limit"
}

// shorten returns a copy within the limits of Infinium's form. Its previews are
// shortened unless level is 0. Traces bounds all other texts.
func (t *Trace) shorten(level int) Trace {
	short := *t
	short.Name = cut(clean(t.Name), MaxNameRunes)
	short.Description = cut(clean(t.Description), MaxDescriptionRunes)
	short.Duration = clampDuration(t.Duration)
	if level == 0 {
		return short
	}
	short.InputSummary, short.OutputSummary = cut(t.InputSummary, summaryRunes), cut(t.OutputSummary, summaryRunes)
	short.Errors, short.Steps = make([]ErrorDetail, len(t.Errors)), make([]Step, len(t.Steps))
	for i, e := range t.Errors {
		short.Errors[i] = e.shorten(level)
	}
	for i, s := range t.Steps {
		short.Steps[i] = s.shorten(level)
	}
	return short
}

func (s Step) shorten(level int) Step {
	s.Description = cut(s.Description, max(level, maxWordRunes))
	for _, text := range []*string{&s.InputPreview, &s.OutputPreview, &s.InputSummary, &s.OutputSummary} {
		*text = cut(*text, level)
	}
	if s.Error != nil {
		e := s.Error.shorten(level)
		s.Error = &e
	}
	return s
}

func (e ErrorDetail) shorten(level int) ErrorDetail {
	e.Message = cut(e.Message, level)
	return e
}
