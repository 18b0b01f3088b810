package cline

import (
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// HookRunsEvent is the event name of the record in which hookspan stores the runs of
// the user's hooks in a session's log. Cline has no hook of this name.
//
// The record is one JSON object:
//
//	{"v":1,"session":"17...","about":{"hash":"00c0ffee00c0ffee","event":"PreToolUse","time":"2026-..."},
//	 "runs":[{"event":"PreToolUse","tool":"Bash","matcher":"Bash","command":"./guard.sh","source":"/home/dev/.cline/hooks.json",
//	   "started":"2026-...","duration_ns":12000000,"exit":2,"status":"ok","decision":"deny","reason":"not on main"}],
//	 "answer":{"cancelled":true,"by":"./guard.sh","reason":"not on main"}}
//
// Empty members are left out. A reader keeps a record of another version and ignores
// it.
const HookRunsEvent = "HookRuns"

const hookRunsVersion = 1

// Bounds of a record: the log gets one for each event that hooks ran for.
const (
	// maxHookText bounds each text in bytes.
	maxHookText = 16 << 10
	// maxHookRuns is how many runs are kept whatever they did; of further ones
	// only those that decided something are.
	maxHookRuns = 256
)

// EncodeHookRuns returns the payload of a HookRunsEvent: the user's hooks that ran
// for an event, in the order in which they are configured, and the answer to Cline. about.Hash must be that of the event's payload as it was
// stored. Long texts are cut.
func EncodeHookRuns(about *hook.Event, runs []hook.HookRun, answer hook.HookAnswer) ([]byte, error) {
	kept := make([]rawjson.Ordered, 0, min(len(runs), maxHookRuns))
	for i := range runs {
		r := &runs[i]
		if i >= maxHookRuns && r.Decision == "" {
			continue
		}
		var exit any
		if r.Exit >= 0 {
			exit = r.Exit
		}
		kept = append(kept, present(rawjson.Ordered{
			{Name: "event", Value: bounded(r.Event)},
			{Name: "tool", Value: bounded(r.Tool)},
			{Name: "matcher", Value: bounded(r.Matcher)},
			{Name: "command", Value: bounded(r.Command)},
			{Name: "source", Value: bounded(r.Source)},
			{Name: "started", Value: encodable(r.Started)},
			{Name: "duration_ns", Value: max(0, int64(r.Duration))},
			{Name: "exit", Value: exit},
			{Name: "status", Value: bounded(r.Status)},
			{Name: "decision", Value: bounded(r.Decision)},
			{Name: "reason", Value: bounded(r.Reason)},
		}))
	}
	out, err := rawjson.Marshal(rawjson.Ordered{
		{Name: "v", Value: hookRunsVersion},
		{Name: "session", Value: about.Session},
		{Name: "about", Value: present(rawjson.Ordered{
			{Name: "hash", Value: fmt.Sprintf("%016x", about.Hash)},
			{Name: "event", Value: about.Name},
			{Name: "time", Value: encodable(about.Time)},
		})},
		{Name: "runs", Value: kept},
		{Name: "answer", Value: present(rawjson.Ordered{
			{Name: "cancelled", Value: answer.Cancelled},
			{Name: "soft_denied", Value: answer.SoftDenied},
			{Name: "input_changed", Value: answer.InputChanged},
			{Name: "by", Value: bounded(answer.By)},
			{Name: "reason", Value: bounded(answer.Reason)},
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the hooks that ran for %s: %w", about.Name, err)
	}
	return out, nil
}

// present leaves out empty members.
func present(o rawjson.Ordered) rawjson.Ordered {
	return slices.DeleteFunc(o, func(f rawjson.Field) bool {
		return f.Value == nil || f.Value == "" || f.Value == false || f.Value == time.Time{}
	})
}

// encodable is a time that can be written and read again.
func encodable(t time.Time) time.Time { return rawjson.Plausible(t.UTC().Round(0)) }

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

// hookRunsHead is Head for hookspan's record.
func (p *Payload) hookRunsHead() hook.Head {
	h := hook.Head{Name: HookRunsEvent}
	if p.err != nil {
		return h
	}
	h.Session = p.Text("session")
	if knownHookRuns(p.Object) {
		h.Kind = hook.KindHookRuns
	}
	return h
}

// knownHookRuns reports that the record is one that this version can read.
func knownHookRuns(o rawjson.Object) bool {
	v, ok := rawjson.Int(o.Get("v"))
	_, about := hookHash(o.Members("about"))
	return ok && v == hookRunsVersion && about
}

// hookHash reads which event the record is about.
func hookHash(about rawjson.Object) (uint64, bool) {
	s := about.Text("hash")
	h, err := strconv.ParseUint(s, 16, 64)
	return h, err == nil && len(s) == 16
}

// hookRuns reads hookspan's record. The event has no folder and no trace
// context: those of the event that the record is about count. Its time is that
// event's, too.
func (p *Payload) hookRuns(ev *hook.Event) {
	ev.Session = p.Text("session")
	if !knownHookRuns(p.Object) {
		return
	}
	about := p.Members("about")
	ev.Kind = hook.KindHookRuns
	ev.About, _ = hookHash(about)
	ev.Time = rawjson.Instant(about.Get("time"))
	list, _ := p.Elements("runs")
	for _, raw := range list {
		if run := rawjson.Members(raw); run != nil {
			ev.HookRuns = append(ev.HookRuns, hookRun(run))
		}
	}
	answer := p.Members("answer")
	ev.Answer = &hook.HookAnswer{
		Cancelled: answer.Is("cancelled"), SoftDenied: answer.Is("soft_denied"), InputChanged: answer.Is("input_changed"),
		By: answer.Text("by"), Reason: answer.Text("reason"),
	}
}

func hookRun(o rawjson.Object) hook.HookRun {
	r := hook.HookRun{
		Event: o.Text("event"), Tool: o.Text("tool"), Matcher: o.Text("matcher"),
		Command: o.Text("command"), Source: o.Text("source"),
		Started: rawjson.Instant(o.Get("started")), Exit: hook.NoExit,
		Status: o.Text("status"), Decision: o.Text("decision"), Reason: o.Text("reason"),
	}
	if n, ok := rawjson.Int(o.Get("duration_ns")); ok && n > 0 {
		r.Duration = time.Duration(n)
	}
	if n, ok := rawjson.Int(o.Get("exit")); ok && n >= 0 && n <= maxExit {
		r.Exit = int(n)
	}
	return r
}

// maxExit is the largest exit code that any system has.
const maxExit = 1<<32 - 1
