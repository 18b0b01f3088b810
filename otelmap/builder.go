package otelmap

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// clockStep is how far an event may have been stored before an earlier one in
// the log, by this machine's clock, before it counts as the clock having been
// set back. The host's own timestamps do not tell: a detached hook may be late
// by any time, as when the machine slept.
const clockStep = time.Minute

// repeatWithin is how far two copies of one event may have been stored apart,
// where nothing else tells that they are copies.
const (
	repeatWithin      = 2 * time.Second
	repeatedEndWithin = 200 * time.Millisecond
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

// identity is what the copies of one event have in common: an agent may run a
// global and a project hook with one body, or every file that has the event's
// name.
type identity struct {
	name, tool string
	time       int64
	hash       uint64
}

// Builder collects one session's events and gives its runs.
type Builder struct {
	host, session string
	opts          Options
	carry         Carry
	seed          maphash.Seed

	items []*item
	seen  map[identity]*item
	// keys are the events seen that have a key of their own, near those of a
	// turn's host that have none.
	keys map[string]*item
	near map[identity]*item
	// hooks are the records of the user's hooks, by the hash of the event that
	// they are about, ran what came of them when Runs was last asked.
	hooks map[uint64][]*hook.Event
	ran   map[*item]*hook.Event
	// partial reports that reading began in the middle of the log.
	partial bool
	// maxStored and epoch follow the clock in the order of the log.
	maxStored time.Time
	epoch     int
	// inputs are the newest tool inputs and what became of them: the end of a call
	// brings the input again that its start had.
	inputs [8]struct{ input, arguments string }
	// unknown counts the events that no decoder understood.
	unknown int
	runs    []*Run
	// after is the carry behind the last run and what was heard of the session
	// since, over that its end was heard.
	after Carry
	over  bool
}

// NewBuilder returns a builder for a session that begins where c was taken; the
// zero Carry means the session's beginning.
func NewBuilder(host, session string, o Options, c Carry) *Builder {
	return &Builder{
		host: host, session: session, opts: o.withDefaults(host), carry: c, maxStored: c.Stored,
		seed: maphash.MakeSeed(), seen: make(map[identity]*item), keys: make(map[string]*item), near: make(map[identity]*item),
	}
}

// Add takes the next event of the log. Events must be added in the order of
// their offsets.
func (b *Builder) Add(e hook.Event) {
	switch e.Kind {
	case hook.KindUnknown:
		b.unknown++
		return
	case hook.KindAside:
		return
	case hook.KindHookRuns:
		b.addHooks(e)
		return
	}
	b.runs = nil
	if e.Key != "" {
		if first, dup := b.keys[e.Key]; dup {
			b.again(first, e)
			return
		}
		b.keys[e.Key] = b.keep(e)
		return
	}
	if b.turns() && e.Kind != hook.KindToolStart && e.Kind != hook.KindToolEnd {
		// Nothing tells this event from another but that two hooks store the
		// same one at once.
		id, within := identity{name: e.Name, hash: e.Hash}, repeatWithin
		if e.Kind == hook.KindRunComplete {
			// Of ends that are refused one after another, each counts.
			within = repeatedEndWithin
		}
		if first, dup := b.near[id]; dup && e.StoredAt.Sub(first.StoredAt).Abs() <= within {
			b.again(first, e)
			return
		}
		b.near[id] = b.keep(e)
		return
	}
	if !e.Time.IsZero() {
		id := identity{name: e.Name, time: e.Time.UnixNano(), hash: e.Hash}
		if e.Tool != nil {
			id.tool = e.Tool.Name
		}
		if first, dup := b.seen[id]; dup {
			first.last = max(first.last, e.Offset)
			if e.StoredAt.After(first.StoredAt) {
				first.StoredAt = e.StoredAt
			}
			return
		}
		b.seen[id] = b.keep(e)
		return
	}
	b.keep(e)
}

// again notes that an event has come again: the earliest counts, whichever copy
// came into the log first.
func (b *Builder) again(first *item, e hook.Event) {
	first.last = max(first.last, e.Offset)
	if e.StoredAt.Before(first.StoredAt) {
		earlier := b.clean(e)
		earlier.epoch, earlier.Offset, earlier.last = first.epoch, first.Offset, first.last
		*first = *earlier
	}
}

// Tighten lowers how much of the events to come, and of the host's files, is
// captured. It never raises it: a session whose user wanted less in one place
// gets less in all.
func (b *Builder) Tighten(c Capture) {
	if c.openness() == 0 {
		c = CaptureNone
	}
	if c.Stricter(b.opts.Capture) {
		b.opts.Capture = c
		clear(b.inputs[:])
	}
}

// Unknown returns how many events no decoder understood.
func (b *Builder) Unknown() int { return b.unknown }

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

// clean is the event with its texts cleaned and cut.
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
		return seen.arguments
	}
	out := b.opts.arguments(input)
	if len(input) < longInput {
		seen.input, seen.arguments = input, out
	}
	return out
}

// rank orders events of one instant: what belongs to the run that is open
// comes before its end, and its end before the next run's beginning.
func rank(k hook.Kind) int {
	switch k {
	case hook.KindToolStart:
		return 1
	case hook.KindToolEnd:
		return 2
	case hook.KindCompact, hook.KindNotification:
		return 3
	case hook.KindRunComplete:
		return 4
	case hook.KindRunError:
		return 5
	case hook.KindRunCancel:
		return 6
	case hook.KindSessionEnd:
		return 7
	case hook.KindRunStart, hook.KindRunResume:
		return 8
	default:
		return 9
	}
}

// sorted returns the items in the host's order. Hooks that run detached or in
// parallel reach the log in any order, so the host's clock decides; a clock
// that was set back starts a new epoch, within which it decides again.
func (b *Builder) sorted() []*item {
	s := slices.Clone(b.items)
	slices.SortStableFunc(s, func(x, y *item) int {
		if c := cmp.Compare(x.epoch, y.epoch); c != 0 {
			return c
		}
		if c := x.At().Compare(y.At()); c != 0 {
			return c
		}
		if b.turns() {
			// All times are stored ones, and the log is in that order.
			return cmp.Compare(x.Offset, y.Offset)
		}
		if c := cmp.Compare(rank(x.Kind), rank(y.Kind)); c != 0 {
			return c
		}
		return cmp.Compare(x.Hash, y.Hash)
	})
	return s
}

// turns reports that the agent numbers its turns.
func (b *Builder) turns() bool { return b.opts.Agent.Turns }
