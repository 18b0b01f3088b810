package drawn

import (
	"encoding/json"
	"slices"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// facts are what the truth is made of.
type facts struct {
	Session *Session
	Log     []llm.Request
	Steps   []rig.StepResult
}

func (f *facts) truth() []Story { return Truth(f.Session, f.Log, f.Steps) }

func (f *facts) clone() *facts {
	data, err := json.Marshal(f)
	out := new(facts)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		panic(err) // They are plain data.
	}
	return out
}

// answered are the indexes of the answered requests in the log.
func (f *facts) answered(keep func(*llm.Request) bool) (out []int) {
	for i := range f.Log {
		if r := &f.Log[i]; r.Part == llm.PartMain && r.Usage != nil && r.Complete && keep(r) {
			out = append(out, i)
		}
	}
	return out
}

// ofSubagent is the change that only sessions with subagents have.
const ofSubagent = "a subagent's call as its caller's"

// planted are changes of the truth, by what they change: each reports whether there is
// something to change.
var planted = map[string]func(*facts) bool{
	"a request left out": func(f *facts) bool {
		return f.last(all, func(i int) { f.Log = slices.Delete(f.Log, i, i+1) })
	},
	"a request twice": func(f *facts) bool {
		return f.last(all, func(i int) { f.Log = slices.Insert(f.Log, i, f.Log[i]) })
	},
	"a request refused": func(f *facts) bool {
		return f.last(all, func(i int) { f.Log[i].Usage = nil })
	},
	"a broken answer counted": func(f *facts) bool {
		for i := range f.Log {
			if r := &f.Log[i]; r.Part == llm.PartMain && r.Usage != nil && !r.Complete {
				r.Complete = true
				return true
			}
		}
		return false
	},
	"input tokens":      func(f *facts) bool { return f.last(all, func(i int) { f.Log[i].Usage.Input++ }) },
	"output tokens":     func(f *facts) bool { return f.last(all, func(i int) { f.Log[i].Usage.Output-- }) },
	"cache tokens":      func(f *facts) bool { return f.last(all, func(i int) { f.Log[i].Usage.CacheRead++ }) },
	"the answer's text": func(f *facts) bool { return f.last(all, func(i int) { f.Log[i].Text += "!" }) },
	"a call left out": func(f *facts) bool {
		return f.last(calling, func(i int) { f.Log[i].Calls = f.Log[i].Calls[1:] })
	},
	"a call's end": func(f *facts) bool {
		return f.last(calling, func(i int) {
			// The calls are the session's, as they are in every copy of an answer.
			c := &f.Session.Part(f.Log[i].Part)[f.Log[i].Turn].Calls[0]
			c.Fails, c.Interrupts, c.Denied = !c.Fails || c.Interrupts, false, false
		})
	},
	ofSubagent: func(f *facts) bool {
		for i := range f.Log {
			if r := &f.Log[i]; r.Part == llm.PartSub && len(r.Calls) > 0 {
				answer := f.Session.Part(llm.PartSub)[r.Turn]
				answer.Sub = false
				r.Part, r.Turn = llm.PartMain, len(f.Session.Part(llm.PartMain))
				f.Session.Answers = append(f.Session.Answers, answer)
				return true
			}
		}
		return false
	},
	"a prompt": func(f *facts) bool { f.Session.Prompts[0] += "!"; return true },
	"a prompt left out": func(f *facts) bool {
		f.Session.Prompts, f.Steps = f.Session.Prompts[1:], f.Steps[1:]
		return true
	},
	"a request under the next prompt": func(f *facts) bool {
		if len(f.answered(all)) == 0 || f.Steps[0].Requests == 0 || len(f.Session.Prompts) < 2 {
			return false
		}
		f.Steps[0].Requests = f.Log[f.answered(all)[0]].N - 1
		return true
	},
	"an interrupt": func(f *facts) bool {
		s := &f.Steps[len(f.Session.Prompts)-1]
		s.Signalled = !s.Signalled
		return true
	},
}

func all(*llm.Request) bool       { return true }
func calling(r *llm.Request) bool { return len(r.Calls) > 0 }

// last changes the last answered request that keep keeps.
func (f *facts) last(keep func(*llm.Request) bool, change func(i int)) bool {
	found := f.answered(keep)
	if len(found) == 0 {
		return false
	}
	change(found[len(found)-1])
	return true
}
