package transcript

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Kinds counts what a session's files have of kinds that their reader does not know.
type Kinds map[string]*kind

type kind struct {
	file  string
	at    time.Time
	count int
}

// Meet counts a row, an item or an event of an unknown kind, if its members or those of the
// objects in it show that it may be work.
func (k *Kinds) Meet(file, name string, at time.Time, o rawjson.Object) {
	if name == "" || !mayBeWork(o) {
		return
	}
	if *k == nil {
		*k = make(Kinds)
	}
	if (*k)[name] == nil {
		(*k)[name] = &kind{file: file, at: at}
	}
	(*k)[name].count++
}

// MeetParts is Meet for the parts of a message whose kinds are not among the known ones.
func (k *Kinds) MeetParts(file, known string, c Content, at time.Time, message rawjson.Object) {
	for i := range c {
		if kind := c[i].Type; kind != "" && !strings.Contains(known, " "+kind+" ") {
			k.Meet(file, "parts/"+kind, at, message)
		}
	}
}

// work are the members that show that a row may be work.
var work = []string{
	"usage", "tokens", "role", "call_id", "callId", "tool_call_id", "toolCallId", "tool_use_id", "toolUseID", "exit_code", "arguments",
}

func mayBeWork(o rawjson.Object) bool {
	if o.Get(work...) != nil {
		return true
	}
	return slices.ContainsFunc([]string{"message", "data", "payload", "item", "uiEvent", "systemPayload"}, func(name string) bool {
		return o.Members(name).Get(work...) != nil
	})
}

// Unread are the kinds by their names.
func (k Kinds) Unread() (out []hook.Unread) {
	for _, name := range slices.Sorted(maps.Keys(k)) {
		out = append(out, hook.Unread{File: k[name].file, At: k[name].at, Reason: fmt.Sprintf("%d of the unknown kind %s", k[name].count, name)})
	}
	return out
}
