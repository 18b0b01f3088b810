package otelmap

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// item is an event as the builder keeps it: texts are cleaned and cut on
// arrival, so that memory depends on the previews and not on the payloads. Its
// fields are those of hook.Event.
type item struct {
	*facts
	*remarks
	Kind hook.Kind
	// keyed reports that the event has a Key.
	keyed bool
	// epoch counts the times the clock was set back before this event.
	epoch        int32
	time, stored instant
	Offset       int64
	Hash         uint64
	// Tool is the call that the event is about, nil if it is about none, end what only its
	// end has.
	Tool *toolEvent
	end  *toolResult
	// last is the offset of the event's last copy in the log.
	last int64
}

// facts are what many events of a session have in common. Equal ones are shared.
type facts struct {
	Dialect, Name, Turn, Agent, ParentAgent, AgentType                   string
	HostVersion, Provider, Model, Cwd, User, PermissionMode, TraceParent string
	Resource                                                             string
	// Folders are the event's, with a NUL between.
	Folders string
}

// remarks are what few events have. They are never nil and never change.
type remarks struct {
	Prompt, Result, Message, ErrorType string
	Attrs                              []hook.Attr
	// said reports that a start has a text, whether or not it is captured.
	said bool
	// endKey is the key of an end that may be repeated, where the host has no turns.
	endKey string
}

var noRemarks = &remarks{}

func (r *remarks) equal(s *remarks) bool {
	return r.Prompt == s.Prompt && r.Result == s.Result && r.Message == s.Message && r.ErrorType == s.ErrorType &&
		r.said == s.said && r.endKey == s.endKey && slices.Equal(r.Attrs, s.Attrs)
}

// instant is a time in nanoseconds since 1970, a third of the size of a time.Time.
type instant int64

// never is the instant of the zero time.
const never instant = math.MinInt64

func instantOf(t time.Time) instant {
	if t.IsZero() {
		return never
	}
	return instant(t.UnixNano())
}

// Time is in UTC.
func (i instant) Time() time.Time {
	if i == never {
		return time.Time{}
	}
	return time.Unix(0, int64(i)).UTC()
}

// toolEvent is what the two ends of a tool call have in common, which mostly share it. Its
// fields are those of hook.Tool. It never changes.
type toolEvent struct {
	ID, Name, Input string
	// path is what inputPath returns, whether or not texts are captured.
	path string
	// input is the hash of the whole input, which pairs the two ends after the text itself
	// has been cut.
	input uint64
}

// toolResult is what only the end of a call has. It is not nil with a tool and never changes.
type toolResult struct {
	Status   hook.ToolStatus
	Output   string
	Duration time.Duration
	*toolRemarks
}

// toolRemarks are what few ends of calls have. They are never nil and never change.
type toolRemarks struct {
	Error, Agent   string
	Started, Ended time.Time
}

var noToolRemarks = &toolRemarks{}

// Time returns the host's time, StoredAt when the event was stored.
func (it *item) Time() time.Time     { return it.time.Time() }
func (it *item) StoredAt() time.Time { return it.stored.Time() }

// At returns when the event happened.
func (it *item) At() time.Time { return it.at().Time() }

func (it *item) at() instant {
	if it.time == never {
		return it.stored
	}
	return it.time
}

// injected reports a prompt that the host wrote, not the user.
func (it *item) injected() bool { return it.marked(KeyPromptInjected) }

// blocked reports that the event was an end that one of the user's hooks refused.
func (it *item) blocked() bool { return it.marked(KeyStopBlocked) }

// text returns an attribute of the event, "" if it has none or there is no event.
func (it *item) text(key string) string {
	if it == nil {
		return ""
	}
	return hook.TextOf(it.Attrs, key)
}

func (it *item) marked(key string) bool {
	return slices.Contains(it.Attrs, hook.Attr{Key: key, Value: true})
}

// opens reports that the event only opens a run.
func (it *item) opens() bool { return it.Kind == hook.KindRunStart || it.Kind == hook.KindRunResume }

// identity is what the copies of one event have in common: an agent may run a
// global and a project hook with one body, or every file that has the event's
// name.
type identity struct {
	// text is the hash of the names of the event and of the tool, or of the key.
	text uint64
	time int64
	hash uint64
}

// keyIdentity returns the identity of events with the key. It has 128 bits of hash:
// another key must not count as a copy.
func (b *Builder) keyIdentity(key string) identity {
	return identity{text: maphash.String(b.seed, key), hash: maphash.String(b.seed, key+"\x00")}
}

// endKey returns the key of the end of a run whose copies may be stored some time apart: the run may
// be delivered between them.
func endKey(e *hook.Event) string {
	if e.Kind != hook.KindRunComplete || e.KeyWithin == 0 {
		return ""
	}
	return e.Key
}

func (b *Builder) nameIdentity(e *hook.Event, tool string) identity {
	return identity{text: maphash.Comparable(b.seed, [2]string{e.Name, tool}), hash: e.Hash}
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
	case e.Key != "" && b.turns() && e.Kind == hook.KindRunComplete && e.ParentAgent == "":
		// A turn that is woken after its end reports another.
		return b.keyIdentity(e.Key), repeatWithin
	case e.Key != "" && b.turns() && e.Kind == hook.KindPrompt:
		// A command that is given again may have the turn of the first time.
		return b.keyIdentity(e.Key), repeatWithin
	case e.Key != "":
		return b.keyIdentity(e.Key), e.KeyWithin
	case b.turns() && e.Kind == hook.KindPermission:
		// The questions about two equal calls are equal. A copy asks about no other call.
		return identity{}, 0
	case b.turns() && e.Kind == hook.KindRunComplete && e.Time.IsZero() && b.opts.Agent.Unnamed:
		// The end of a subagent may look like that of the lead agent.
		return identity{}, 0
	case b.turns() && e.Kind == hook.KindRunComplete:
		// Several ends that are refused one after another all count.
		return b.nameIdentity(e, ""), repeatedEndWithin
	case b.turns() && e.Kind != hook.KindToolStart && e.Kind != hook.KindToolEnd:
		return b.nameIdentity(e, ""), repeatWithin
	case e.Time.IsZero():
		return identity{}, 0
	}
	tool := ""
	if e.Tool != nil {
		tool = e.Tool.Name
	}
	id = b.nameIdentity(e, tool)
	id.time = e.Time.UnixNano()
	return id, 0
}

// clockStep is how much earlier than the event before it in the log an event must
// have been stored to show that this machine's clock was set back. The host's
// times do not show it: a detached hook may be late by any time, as when the
// machine slept. An event without a host's time gets its time when it is stored, so that
// storedStep is enough.
const (
	clockStep  = time.Minute
	storedStep = 10 * time.Second
)

func (b *Builder) keep(e hook.Event) *item {
	it := b.clean(e)
	step := clockStep
	if e.Time.IsZero() {
		step = storedStep
	}
	switch at := e.StoredAt; {
	case at.After(b.maxStored):
		b.maxStored = at
	case b.maxStored.Sub(at) > step:
		b.epoch++
		b.maxStored = at
	}
	it.epoch = b.epoch
	switch {
	case e.Kind == hook.KindPrompt:
		b.begun = e.Offset
	case e.Kind.Terminal():
		b.stopped = e.Offset
	}
	if e.Background != nil {
		b.background[it] = e.Background
	}
	b.items = append(b.items, it)
	return it
}

// clean returns the event with its texts cleaned and cut.
func (b *Builder) clean(e hook.Event) *item {
	it := &item{
		facts: b.sharedFacts(&e), remarks: noRemarks, Kind: e.Kind, keyed: e.Key != "",
		time: instantOf(e.Time), stored: instantOf(e.StoredAt), Offset: e.Offset, last: e.Offset, Hash: e.Hash,
	}
	o := &b.opts
	if e.Tool != nil {
		has := func(a hook.Attr) bool { return a.Key == KeyMCPServer }
		input := e.Tool.Input
		if o.Capture == CaptureNone {
			input = "" // a server's name in it is a text
		}
		if server := o.Agent.MCPServer(e.Tool.Name, input); server != "" && !slices.ContainsFunc(e.Attrs, has) {
			e.Attrs = append(slices.Clip(e.Attrs), hook.Attr{Key: KeyMCPServer, Value: server})
		}
	}
	if o.Capture == CaptureNone {
		e.Attrs = slices.DeleteFunc(slices.Clone(e.Attrs), func(a hook.Attr) bool { return a.Key == KeyCompletionCommand })
	}
	starts, limit := e.Kind == hook.KindRunStart || e.Kind == hook.KindRunResume, o.MaxOutput
	if starts {
		limit = MaxTaskRunes // the message may be the task
	}
	if r := (remarks{
		Prompt: o.text(e.Prompt, MaxTaskRunes), Result: o.text(e.Result, MaxTaskRunes),
		Message: o.text(e.Message, limit), ErrorType: e.ErrorType, Attrs: e.Attrs,
		said: starts && (e.Prompt != "" || e.Message != ""), endKey: endKey(&e),
	}); !r.equal(noRemarks) {
		if b.remarks == nil || !b.remarks.equal(&r) {
			kept := r
			b.remarks = &kept
		}
		it.remarks = b.remarks
	}
	if e.Tool != nil {
		t := e.Tool
		cut := o.text
		if t.Status.Failed() {
			cut = o.failure
		}
		end := toolResult{t.Status, cut(t.Output, o.MaxOutput), t.Duration, noToolRemarks}
		if r := (toolRemarks{cut(t.Error, o.MaxOutput), t.Agent, t.Started, t.Ended}); r != *noToolRemarks {
			kept := r
			end.toolRemarks = &kept
		}
		shared := b.start
		if shared == nil || *shared != end {
			kept := end
			shared = &kept
		}
		if e.Kind == hook.KindToolStart {
			b.start = shared
		}
		it.Tool, it.end = b.toolEvent(t), shared
	}
	return it
}

// manyFacts bounds the facts among which equal ones are looked for: those of a turn are not
// those of the turns long before it.
const manyFacts = 256

// sharedFacts returns the event's facts, those of an earlier event if they are equal.
func (b *Builder) sharedFacts(e *hook.Event) *facts {
	f := facts{
		e.Dialect, e.Name, e.Turn, e.Agent, e.ParentAgent, e.AgentType,
		e.HostVersion, e.Provider, e.Model, e.Cwd, e.User, e.PermissionMode, e.TraceParent, e.Resource,
		strings.Join(e.Folders, "\x00"),
	}
	return b.share(f)
}

func (b *Builder) share(f facts) *facts {
	shared := b.facts[f]
	if shared == nil {
		if len(b.facts) == manyFacts {
			clear(b.facts)
		}
		kept := f // f itself stays off the heap
		shared = &kept
		b.facts[f] = shared
	}
	return shared
}

// name returns the name of a tool, the same string for equal ones.
func (b *Builder) name(tool string) string {
	if shared, ok := b.names[tool]; ok {
		return shared
	}
	b.names[tool] = tool
	return tool
}

// longInput is the size in bytes from which an input is not remembered.
const longInput = 16 << 10

// toolEvent returns what an event says about a call, that of the call's other end if they
// say the same.
func (b *Builder) toolEvent(t *hook.Tool) *toolEvent {
	e := toolEvent{ID: t.ID, Name: b.name(t.Name), input: maphash.String(b.seed, t.Input)}
	newest := &b.inputs[e.input%uint64(len(b.inputs))]
	if with := newest.tool; with != nil && with.input == e.input && newest.input == t.Input {
		e.Input, e.path = with.Input, with.path
	} else {
		e.Input, e.path = b.opts.arguments(t.Input), strings.Clone(inputPath(t.Input)) // a part of a long text
	}
	if newest.tool == nil || *newest.tool != e {
		kept := e // e itself stays off the heap
		newest.tool = &kept
	}
	newest.input = ""
	if len(t.Input) < longInput {
		newest.input = t.Input
	}
	return newest.tool
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
	hook.KindRequestError: -4,
	hook.KindRunCancel:    -3,
	hook.KindSessionEnd:   -2,
	hook.KindRunStart:     -1,
	hook.KindRunResume:    -1,
}
