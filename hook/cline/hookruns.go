package cline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/internal/wire"
)

// HookRunsEvent is the name under which hookspan's own record of the user's
// hooks stands in a session's log. Cline has no hook of this name.
//
// The record is one JSON object:
//
//	{"v":1,"session":"17...","about":{"hash":"00c0ffee00c0ffee","event":"PreToolUse","time":"2026-..."},
//	 "runs":[{"event":"PreToolUse","tool":"Bash","matcher":"Bash","command":"./guard.sh","source":"/home/dev/.cline/hooks.json",
//	   "started":"2026-...","duration_ns":12000000,"exit":2,"status":"ok","decision":"deny","reason":"not on main"}],
//	 "answer":{"cancelled":true,"by":"./guard.sh","reason":"not on main"}}
//
// Members that would be empty are left out. A reader that meets another version
// keeps the record and makes nothing of it.
const HookRunsEvent = "HookRuns"

const hookRunsVersion = 1

// Bounds of what a record holds: it goes into the log with every event that
// hooks ran for.
const (
	// maxHookText bounds each text in bytes.
	maxHookText = 16 << 10
	// maxHookRuns is how many runs are kept whatever they did; of further ones
	// only those that decided something are.
	maxHookRuns = 256
)

type hookRunsRecord struct {
	Version int         `json:"v"`
	Session string      `json:"session"`
	About   aboutRecord `json:"about"`
	Runs    []runRecord `json:"runs"`
	Answer  answerJSON  `json:"answer"`
}

type aboutRecord struct {
	Hash  string    `json:"hash"`
	Event string    `json:"event,omitempty"`
	Time  time.Time `json:"time,omitzero"`
}

type runRecord struct {
	Event    string    `json:"event,omitempty"`
	Tool     string    `json:"tool,omitempty"`
	Matcher  string    `json:"matcher,omitempty"`
	Command  string    `json:"command,omitempty"`
	Source   string    `json:"source,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Duration int64     `json:"duration_ns"`
	Exit     *int      `json:"exit,omitempty"`
	Status   string    `json:"status,omitempty"`
	Decision string    `json:"decision,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

type answerJSON struct {
	Cancelled    bool   `json:"cancelled,omitempty"`
	SoftDenied   bool   `json:"soft_denied,omitempty"`
	InputChanged bool   `json:"input_changed,omitempty"`
	By           string `json:"by,omitempty"`
	Reason       string `json:"reason,omitempty"`
}

// EncodeHookRuns returns the payload of a HookRunsEvent: which hooks of the
// user's ran for an event, in the order in which they are configured, and what
// Cline was told. about.Hash must be that of the event's payload as it was
// stored. Long texts are cut.
func EncodeHookRuns(about *hook.Event, runs []hook.HookRun, answer hook.HookAnswer) ([]byte, error) {
	rec := hookRunsRecord{
		Version: hookRunsVersion, Session: about.Session,
		About: aboutRecord{Hash: fmt.Sprintf("%016x", about.Hash), Event: about.Name, Time: encodable(about.Time)},
		Runs:  make([]runRecord, 0, min(len(runs), maxHookRuns)),
		Answer: answerJSON{
			Cancelled: answer.Cancelled, SoftDenied: answer.SoftDenied, InputChanged: answer.InputChanged,
			By: bounded(answer.By), Reason: bounded(answer.Reason),
		},
	}
	for i := range runs {
		r := &runs[i]
		if i >= maxHookRuns && r.Decision == "" {
			continue
		}
		out := runRecord{
			Event: bounded(r.Event), Tool: bounded(r.Tool), Matcher: bounded(r.Matcher),
			Command: bounded(r.Command), Source: bounded(r.Source),
			Started: encodable(r.Started), Duration: max(0, int64(r.Duration)),
			Status: bounded(r.Status), Decision: bounded(r.Decision), Reason: bounded(r.Reason),
		}
		if r.Exit >= 0 {
			out.Exit = &r.Exit
		}
		rec.Runs = append(rec.Runs, out)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rec); err != nil {
		return nil, fmt.Errorf("encode the hooks that ran for %s: %w", about.Name, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// encodable is a moment that can be written and read again.
func encodable(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return wire.Plausible(t.UTC().Round(0))
}

// bounded cuts a text to maxHookText bytes, the mark included.
func bounded(s string) string {
	const mark = "…"
	if len(s) <= maxHookText {
		return s
	}
	n := maxHookText - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// peekHookRuns is Peek for a record of hookspan's own.
func peekHookRuns(payload []byte) hook.Head {
	o, err := wire.Open(wire.Trim(payload))
	if err != nil {
		return hook.Head{Name: HookRunsEvent}
	}
	head := hook.Head{Name: HookRunsEvent, Session: wire.Text(o.Get("session"))}
	if knownHookRuns(o) {
		head.Kind = hook.KindHookRuns
	}
	return head
}

// knownHookRuns reports that the record is one that this version can read.
func knownHookRuns(o wire.Object) bool {
	v, ok := wire.Int(o.Get("v"))
	_, about := hookHash(wire.Members(o.Get("about")))
	return ok && v == hookRunsVersion && about
}

// hookHash reads which event the record is about.
func hookHash(about wire.Object) (uint64, bool) {
	s := wire.Text(about.Get("hash"))
	h, err := strconv.ParseUint(s, 16, 64)
	return h, err == nil && len(s) == 16
}

// decodeHookRuns is Decode for a record of hookspan's own. The event has no
// folder and no trace context: those of the event that it is about count. Its
// time is that event's, too.
func decodeHookRuns(r Raw) ([]hook.Event, error) {
	ev := hook.Event{Host: Host, StoredAt: r.StoredAt, Offset: r.Offset, Hash: wire.Hash(r.Payload), Name: HookRunsEvent}
	o, err := wire.Open(wire.Trim(r.Payload))
	if err != nil {
		return []hook.Event{ev}, &wire.DecodeError{Agent: "hookspan", Event: r.Event, Size: len(r.Payload), Cause: err}
	}
	ev.Session = wire.Text(o.Get("session"))
	if !knownHookRuns(o) {
		return []hook.Event{ev}, nil
	}
	about := wire.Members(o.Get("about"))
	ev.Kind = hook.KindHookRuns
	ev.About, _ = hookHash(about)
	ev.Time = wire.Instant(about.Get("time"))
	list, _ := wire.Elements(o.Get("runs"))
	for _, raw := range list {
		if run := wire.Members(raw); run != nil {
			ev.HookRuns = append(ev.HookRuns, hookRun(run))
		}
	}
	answer := wire.Members(o.Get("answer"))
	ev.Answer = &hook.HookAnswer{By: wire.Text(answer.Get("by")), Reason: wire.Text(answer.Get("reason"))}
	ev.Answer.Cancelled, _ = wire.Bool(answer.Get("cancelled"))
	ev.Answer.SoftDenied, _ = wire.Bool(answer.Get("soft_denied"))
	ev.Answer.InputChanged, _ = wire.Bool(answer.Get("input_changed"))
	return []hook.Event{ev}, nil
}

func hookRun(o wire.Object) hook.HookRun {
	r := hook.HookRun{
		Event: wire.Text(o.Get("event")), Tool: wire.Text(o.Get("tool")), Matcher: wire.Text(o.Get("matcher")),
		Command: wire.Text(o.Get("command")), Source: wire.Text(o.Get("source")),
		Started: wire.Instant(o.Get("started")), Exit: hook.NoExit,
		Status: wire.Text(o.Get("status")), Decision: wire.Text(o.Get("decision")), Reason: wire.Text(o.Get("reason")),
	}
	if n, ok := wire.Int(o.Get("duration_ns")); ok && n > 0 {
		r.Duration = time.Duration(n)
	}
	if n, ok := wire.Int(o.Get("exit")); ok && n >= 0 && n <= maxExit {
		r.Exit = int(n)
	}
	return r
}

// maxExit is the largest exit code that any system has.
const maxExit = 1<<32 - 1
