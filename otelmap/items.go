package otelmap

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// item is an event as the builder keeps it: texts are cleaned and cut on
// arrival, so that memory depends on the previews and not on the payloads.
type item struct {
	hook.Event
	// last is the offset of the event's last copy in the log.
	last int64
	// epoch counts the times the clock was set back before this event.
	epoch int
	// input is the hash of the whole tool input, which pairs the two ends of a
	// call after the text itself has been cut.
	input uint64
}

// injected reports a prompt that the host wrote, not the user.
func (it *item) injected() bool { return it.marked(KeyPromptInjected) }

// blocked reports that the event was an end that one of the user's hooks refused.
func (it *item) blocked() bool { return it.marked(KeyStopBlocked) }

func (it *item) marked(key string) bool {
	return slices.Contains(it.Attrs, hook.Attr{Key: key, Value: true})
}

// opens reports that the event only opens a run.
func (it *item) opens() bool { return it.Kind == hook.KindRunStart || it.Kind == hook.KindRunResume }

// identity is what the copies of one event have in common: an agent may run a
// global and a project hook with one body, or every file that has the event's
// name.
type identity struct {
	key        string
	name, tool string
	time       int64
	hash       uint64
}

// How far apart two copies of one event may have been stored if nothing but the
// event itself shows that they are copies.
const (
	repeatWithin      = 2 * time.Second
	repeatedEndWithin = 200 * time.Millisecond
)

// identify returns an event's identity, zero if it has no copies. If within is
// not zero, copies are stored no further apart than that.
func (b *Builder) identify(e *hook.Event) (id identity, within time.Duration) {
	switch {
	case e.Key != "":
		return identity{key: e.Key}, 0
	case b.turns() && e.Kind == hook.KindRunComplete:
		// Several ends that are refused one after another all count.
		return identity{name: e.Name, hash: e.Hash}, repeatedEndWithin
	case b.turns() && e.Kind != hook.KindToolStart && e.Kind != hook.KindToolEnd:
		return identity{name: e.Name, hash: e.Hash}, repeatWithin
	case e.Time.IsZero():
		return identity{}, 0
	}
	id = identity{name: e.Name, time: e.Time.UnixNano(), hash: e.Hash}
	if e.Tool != nil {
		id.tool = e.Tool.Name
	}
	return id, 0
}

// clockStep is how much earlier than the event before it in the log an event must
// have been stored to show that this machine's clock was set back. The host's
// times do not show it: a detached hook may be late by any time, as when the
// machine slept.
const clockStep = time.Minute

func (b *Builder) keep(e hook.Event) *item {
	it := b.clean(e)
	switch at := e.StoredAt; {
	case at.After(b.maxStored):
		b.maxStored = at
	case b.maxStored.Sub(at) > clockStep:
		b.epoch++
		b.maxStored = at
	}
	it.epoch = b.epoch
	b.items = append(b.items, it)
	return it
}

// clean returns the event with its texts cleaned and cut.
func (b *Builder) clean(e hook.Event) *item {
	it := &item{Event: e, last: e.Offset}
	o := &b.opts
	it.Prompt = o.text(e.Prompt, MaxTaskRunes)
	it.Result = o.text(e.Result, MaxTaskRunes)
	it.Message = o.text(e.Message, o.MaxOutput)
	if e.Tool != nil {
		t := *e.Tool
		it.input = maphash.String(b.seed, t.Input)
		t.Input = b.arguments(t.Input, it.input)
		t.Output = o.text(t.Output, o.MaxOutput)
		t.Error = o.text(t.Error, o.MaxOutput)
		it.Tool = &t
	}
	return it
}

// longInput is the size in bytes from which an input is not remembered.
const longInput = 16 << 10

// arguments is Options.arguments with a memory.
func (b *Builder) arguments(input string, hash uint64) string {
	seen := &b.inputs[hash%uint64(len(b.inputs))]
	if seen.input == input {
		return seen.preview
	}
	out := b.opts.arguments(input)
	if len(input) < longInput {
		seen.input, seen.preview = input, out
	}
	return out
}

// ranks orders events of one instant: what belongs to the run that is open
// comes before its end, and its end before the next run's beginning. All other
// events come last.
var ranks = map[hook.Kind]int{
	hook.KindToolStart:    -8,
	hook.KindToolEnd:      -7,
	hook.KindCompact:      -6,
	hook.KindNotification: -6,
	hook.KindRunComplete:  -5,
	hook.KindRunError:     -4,
	hook.KindRunCancel:    -3,
	hook.KindSessionEnd:   -2,
	hook.KindRunStart:     -1,
	hook.KindRunResume:    -1,
}
