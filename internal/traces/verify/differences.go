package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

// Kind is in what the traces of a session and the agent's files differ.
type Kind string

// The kinds.
const (
	// Missing is something that only the files have, Extra what only the traces have, and
	// Double what the traces have more often than the files.
	Missing Kind = "missing"
	Extra   Kind = "extra"
	Double  Kind = "double"

	Name       Kind = "name"
	Agent      Kind = "agent"
	Status     Kind = "status"
	Model      Kind = "model"
	Text       Kind = "text"
	Input      Kind = "input tokens"
	Output     Kind = "output tokens"
	CacheRead  Kind = "cache read tokens"
	CacheWrite Kind = "cache write tokens"
	Cost       Kind = "cost"
	Order      Kind = "order"
	Time       Kind = "time"
	Outcome    Kind = "outcome"
	// Total is a number of calls that does not fit.
	Total Kind = "total"
)

// Difference is a fact in which the traces and the agent's files differ.
type Difference struct {
	// Trace is empty for what the traces lack.
	Trace string `json:"traceId,omitempty"`
	Kind  Kind   `json:"kind"`
	// What is the call, the request, the prompt, the turn or the total that differs.
	What string `json:"what"`
	// InTrace and InFiles are the values, empty where there is none.
	InTrace string `json:"inTrace,omitempty"`
	InFiles string `json:"inFiles,omitempty"`
	// File and IDs are where the files have it.
	File string   `json:"file,omitempty"`
	IDs  []string `json:"ids,omitempty"`
}

// comparison compares the traces of a session with what the files say of it.
type comparison struct {
	*Sums
	files *agentfiles.Session
	lacks agentfiles.Lacks
	host  string
	clean func(string) string
	out   []Difference
	// alike are the ids of what differs in the same way.
	alike map[alike][]string
	// ours are the ids of subagents, inFiles the calls of the files by their ids.
	ours    map[string]bool
	inFiles map[string][]*agentfiles.Call
	// paired are calls that have ended.
	paired []paired
}

// paired is a call of the traces, and what the files say of it.
type paired struct {
	*call
	file *agentfiles.Call
}

// differences names what differs. clean removes secrets, as it did from the traces.
func (s *Sums) differences(host string, files *agentfiles.Session, clean func(string) string) []Difference {
	if clean == nil {
		clean = func(text string) string { return text }
	}
	c := &comparison{
		Sums: s, files: files, host: host, lacks: agentfiles.LacksOf(host), clean: clean, ours: make(map[string]bool), alike: make(map[alike][]string),
		inFiles: make(map[string][]*agentfiles.Call),
	}
	for _, q := range s.calls {
		c.ours[q.agent] = true
	}
	if !files.Unsummed {
		c.compareRequests()
		c.compareTokens()
	}
	c.compareTotal()
	c.compareCalls()
	c.compareOrder()
	c.comparePrompts()
	c.compareTurns()
	return c.out
}

// alike is what differences have in common that are listed together: their kind, their trace, and
// the values in that and in the files.
type alike [4]string

func (c *comparison) add(d Difference) {
	if d.File == "" && len(c.files.Files) > 0 {
		d.File = c.files.Files[0]
	}
	c.out = append(c.out, d)
}

// note adds one thing of many that may differ in the same way, of a run, less than 0 for none.
func (c *comparison) note(kind Kind, run int, inTrace, inFiles, id string) {
	k := alike{string(kind), c.trace(run), inTrace, inFiles}
	c.alike[k] = append(c.alike[k], id)
}

// runAt returns the run under way at a time, less than 0 for none.
func (c *comparison) runAt(at time.Time) int {
	found := -1
	for i, r := range c.runs {
		if !at.Before(r.start) && !at.After(r.end) && (found < 0 || r.start.After(c.runs[found].start)) {
			found = i
		}
	}
	return found
}

// addNoted adds what was noted of calls, requests or prompts.
func (c *comparison) addNoted(what string) {
	for _, k := range slices.SortedFunc(maps.Keys(c.alike), func(x, y alike) int { return slices.Compare(x[:], y[:]) }) {
		ids := c.alike[k]
		slices.Sort(ids)
		d := Difference{Kind: Kind(k[0]), Trace: k[1], InTrace: k[2], InFiles: k[3], What: termtext.Plural(len(ids), what), IDs: ids}
		if len(ids) == 1 {
			d.What = what + " " + ids[0]
		}
		if f := c.files.Requests[ids[0]]; f != nil {
			d.File = f.File
		}
		if all := c.inFiles[ids[0]]; all != nil {
			d.File = all[0].File
			if len(ids) == 1 && all[0].Name != "" {
				d.What = what + " " + all[0].Name + " " + ids[0]
			}
		}
		c.add(d)
	}
	clear(c.alike)
}

// differ notes a difference of two values that are known.
func (c *comparison) differ(kind Kind, run int, inTrace, inFiles, id string) {
	if inTrace != "" && inFiles != "" && inTrace != inFiles {
		c.note(kind, run, inTrace, inFiles, id)
	}
}

// mainAgent is the name of the agent that is no subagent.
const mainAgent = "the main agent"

// compareAgent compares whose a call or a request is, as far as both sides have the subagent's id.
func (c *comparison) compareAgent(run int, ours, theirs, id string) {
	if (ours == "") == (theirs == "") && (!c.ours[theirs] || ours == "?" || theirs == "?") {
		return
	}
	c.differ(Agent, run, cmp.Or(ours, mainAgent), cmp.Or(theirs, mainAgent), id)
}

// pair returns what has an id of the files, what has none, and the ids that only the files have.
func pair[Q, F any](ours []Q, idOf func(*Q) string, files map[string]F) (byID map[string][]*Q, others []*Q, lost []string) {
	byID = make(map[string][]*Q)
	for i := range ours {
		id := idOf(&ours[i])
		if _, found := files[id]; found {
			byID[id] = append(byID[id], &ours[i])
		} else {
			others = append(others, &ours[i])
		}
	}
	for id := range files {
		if byID[id] == nil {
			lost = append(lost, id)
		}
	}
	slices.Sort(lost)
	return byID, others, lost
}

// compareRequests compares requests by their ids and, those that have none, by their tokens.
func (c *comparison) compareRequests() {
	byID, nameless, lost := pair(c.requests, func(q *request) string { return q.id }, c.files.Requests)
	lost = slices.DeleteFunc(lost, func(id string) bool {
		f := c.files.Requests[id]
		ours := byID[f.Given]
		if len(ours) < 2 {
			return false
		}
		i := max(0, slices.IndexFunc(ours, func(q *request) bool { return same(q.usage, usageOf(f), f.Bare) }))
		c.compareRequest(id, ours[i:i+1], f)
		byID[f.Given] = slices.Delete(ours, i, i+1)
		return true
	})
	for id, ours := range byID {
		c.compareRequest(id, ours, c.files.Requests[id])
	}
	if !c.summed { // else they need not be of one request each
		lost, nameless = c.pairTokens(lost, nameless)
		for _, id := range lost {
			c.note(Missing, c.runAt(c.files.Requests[id].At), "", "there", id)
		}
		for _, q := range nameless {
			what := fmt.Sprintf("of %d and %d tokens", q.usage.Input, q.usage.Output)
			if q.usage == (store.Usage{}) {
				what = "without tokens"
				if q.failed && c.lacks.RemovedFailures {
					continue
				}
			}
			c.note(Extra, q.run, "there", "", cmp.Or(q.id, what))
		}
	}
	c.addNoted("request")
}

func (c *comparison) compareRequest(id string, ours []*request, f *agentfiles.Request) {
	q := ours[0]
	if len(ours) > 1 {
		c.note(Double, q.run, strconv.Itoa(len(ours))+" times", "once", id)
	}
	c.differ(Model, q.run, q.model, f.Model, id)
	c.compareAgent(q.run, q.agent, f.Agent, id)
	text := map[bool]string{true: failed, false: ok}
	c.differ(Status, q.run, text[q.failed], text[f.Failed], id)
	compareCounts(q.usage, usageOf(f), f.Bare, func(kind Kind, ours, theirs string) { c.differ(kind, q.run, ours, theirs, id) })
	if cost := q.usage.CostUSD; f.Cost != nil && *f.Cost > 0 && cost != nil && math.Abs(*f.Cost-*cost) > 1e-9 {
		c.note(Cost, q.run, fmt.Sprintf("$%.9g", *cost), fmt.Sprintf("$%.9g", *f.Cost), id)
	}
}

// pairTokens pairs requests of equal tokens, and returns the others.
func (c *comparison) pairTokens(lost []string, nameless []*request) ([]string, []*request) {
	type key struct {
		output, read, write int64 // the input of the files may be with or without the cache
		failed              bool
	}
	byTokens := make(map[key][]string)
	for _, id := range lost {
		f := c.files.Requests[id]
		k := key{f.Output, f.CacheRead, f.CacheWrite, f.Failed}
		byTokens[k] = append(byTokens[k], id)
	}
	paired := make(map[string]bool)
	// One without tokens may have failed, but those that did come first.
	place := map[bool]int{false: 1}
	slices.SortStableFunc(nameless, func(x, y *request) int { return place[x.failed] - place[y.failed] })
	nameless = slices.DeleteFunc(nameless, func(q *request) bool {
		u, none := q.usage, q.usage == store.Usage{}
		k := key{u.Output, u.CacheRead, u.CacheWrite, q.failed || none}
		ids := byTokens[k]
		fits := func(id string) bool { return same(u, usageOf(c.files.Requests[id]), c.files.Requests[id].Bare) }
		i := slices.IndexFunc(ids, func(id string) bool { return fits(id) && c.files.Requests[id].Agent == q.agent })
		if i < 0 {
			i = slices.IndexFunc(ids, fits)
		}
		if i >= 0 {
			id := ids[i]
			paired[id], byTokens[k] = true, slices.Delete(ids, i, i+1)
			if !q.sum {
				c.compareAgent(q.run, q.agent, c.files.Requests[id].Agent, id)
			}
			return true
		}
		return none && !q.failed
	})
	return slices.DeleteFunc(lost, func(id string) bool {
		f := c.files.Requests[id]
		return paired[id] || !f.Failed && usageOf(f) == store.Usage{}
	}), nameless
}

func usageOf(f *agentfiles.Request) store.Usage {
	return store.Usage{Input: f.Input, Output: f.Output, CacheRead: f.CacheRead, CacheWrite: f.CacheWrite}
}

// compareTokens compares the sums of the runs with the files, and those of the requests where
// these are not compared by themselves.
func (c *comparison) compareTokens() {
	var all store.Usage
	var bare int64
	for _, f := range c.files.Requests {
		all, bare = sum(all, usageOf(f)), bare+f.Bare
	}
	compare := func(what string, ours store.Usage) {
		compareCounts(ours, all, bare, func(kind Kind, ours, theirs string) {
			c.add(Difference{Kind: kind, What: what, InTrace: ours, InFiles: theirs})
		})
	}
	compare("sum of the session", c.usage)
	if c.summed && same(c.usage, all, bare) {
		compare("sum of the requests", c.listed)
	}
}

// compareCounts adds the numbers of tokens that differ.
func compareCounts(ours, theirs store.Usage, bare int64, add func(kind Kind, ours, theirs string)) {
	if same(ours, theirs, bare) {
		return
	}
	for _, n := range []struct {
		kind         Kind
		ours, theirs int64
	}{
		{Input, ours.Input, theirs.Input},
		{Output, ours.Output, theirs.Output},
		{CacheRead, ours.CacheRead, theirs.CacheRead},
		{CacheWrite, ours.CacheWrite, theirs.CacheWrite},
	} {
		if n.ours != n.theirs {
			add(n.kind, strconv.FormatInt(n.ours, 10), strconv.FormatInt(n.theirs, 10))
		}
	}
}

// compareTotal compares the number of calls that the runs count.
func (c *comparison) compareTotal() {
	spans, n := 0, 0
	for _, q := range c.calls {
		if !q.script {
			spans++
		}
	}
	if !c.uncounted && c.counted != spans {
		for _, f := range c.files.Calls {
			if f.Name != agentfiles.Script {
				n++
			}
		}
		if n != c.counted {
			c.add(Difference{Kind: Total, What: "total of calls", InTrace: strconv.Itoa(c.counted), InFiles: strconv.Itoa(n)})
		}
	}
}

// compareCalls compares calls by their ids and, those without one, by their tools.
func (c *comparison) compareCalls() {
	for _, f := range c.files.Calls {
		c.inFiles[f.ID] = append(c.inFiles[f.ID], f)
	}
	byID, others, lost := pair(c.calls, func(q *call) string { return q.id }, c.inFiles)
	var nameless, strangers []*call
	for _, q := range others {
		switch {
		case c.files.Results[q.id] || q.skill && q.id == "" || strings.HasPrefix(q.id, "exec-") && c.lacks.ScriptCalls:
			// the files lack what made it
		case q.id == "":
			nameless = append(nameless, q)
		default:
			strangers = append(strangers, q)
		}
	}
	for id, ours := range byID {
		c.compareCall(id, ours, c.inFiles[id])
	}
	for _, id := range lost {
		for _, f := range c.inFiles[id] {
			alike := func(q *call) bool { return sameTool(q.name, f.Name) }
			if i := slices.IndexFunc(nameless, alike); i >= 0 {
				nameless = slices.Delete(nameless, i, i+1)
			} else if i := slices.IndexFunc(strangers, alike); i >= 0 && f.Unnamed {
				strangers = slices.Delete(strangers, i, i+1)
			} else {
				c.note(Missing, c.runAt(f.At), "", "there", id)
			}
		}
	}
	for _, q := range strangers {
		c.note(Extra, q.run, "there", "", q.id)
	}
	if n := len(nameless) - len(c.files.Results); n > 0 && !c.lacks.UnnamedCalls && !c.lacks.ScriptCalls {
		for _, q := range nameless[:n] {
			c.note(Extra, q.run, "there", "", q.name)
		}
	}
	c.addNoted("call")
}

// compareCall compares the calls with an id: each of the files with the one of the traces that is
// most like it, of these the first.
func (c *comparison) compareCall(id string, ours []*call, files []*agentfiles.Call) {
	if len(ours) != len(files) {
		kind := map[bool]Kind{true: Double, false: Missing}[len(ours) > len(files)]
		c.note(kind, ours[0].run, strconv.Itoa(len(ours))+" times", strconv.Itoa(len(files))+" times", id)
	}
	slices.SortStableFunc(ours, func(x, y *call) int { return x.start.Compare(y.start) })
	slices.SortFunc(files, func(x, y *agentfiles.Call) int { return x.At.Compare(y.At) })
	for _, f := range files[:min(len(files), len(ours))] {
		unlike := func(q *call) (n int) {
			for i, is := range []bool{outside(q, f), !sameTool(q.name, f.Name), (q.agent == "") != (f.Agent == "") || c.ours[f.Agent] && q.agent != f.Agent} {
				if is {
					n += 1 << i
				}
			}
			return n
		}
		q := slices.MinFunc(ours, func(x, y *call) int { return unlike(x) - unlike(y) })
		ours = slices.DeleteFunc(ours, func(other *call) bool { return other == q })
		if !sameTool(q.name, f.Name) {
			c.note(Name, q.run, q.name, f.Name, id)
		}
		c.compareAgent(q.run, q.agent, f.Agent, id)
		c.compareStatus(q, f)
		if outside(q, f) {
			c.differ(Time, q.run, at(q.start), at(f.At), q.id)
		}
		if f.Done.After(f.At) && q.status != unfinished {
			c.paired = append(c.paired, paired{q, f})
		}
	}
}

// outside reports a call that began at another time than between its row and its result.
func outside(q *call, f *agentfiles.Call) bool {
	return f.Done.After(f.At) && (q.start.Before(f.At.Add(-early)) || q.start.After(f.Done.Add(early)))
}

// sameTool compares names of tools. Hooks may put the name of a group before one.
func sameTool(ours, theirs string) bool {
	return ours == "" || strings.HasSuffix(ours, theirs)
}

// compareStatus compares how a call ended with what its result says.
func (c *comparison) compareStatus(q *call, f *agentfiles.Call) {
	theirs := ""
	switch {
	case f.Hidden && (q.status == unfinished || q.status == cancelled):
	case !f.Answered && q.status == ok:
		theirs = unfinished
	case f.Answered && q.status == unfinished:
		theirs = "ended"
	case !f.Answered || q.status == "":
	case f.Status == agentfiles.OK && q.status != ok:
		theirs = ok
	case f.Status == agentfiles.Failed && q.status != failed, f.Status == agentfiles.Bad && q.status == ok:
		theirs = failed
	case f.Status == agentfiles.Denied && (q.status == ok || q.status == failed):
		theirs = denied
	}
	c.differ(Status, q.run, q.status, theirs, q.id)
}

// compareOrder finds calls that are the other way round: in the files one had ended before the
// other was asked for, in the traces the other had.
func (c *comparison) compareOrder() {
	all, byDone := c.paired, slices.Clone(c.paired)
	slices.SortStableFunc(byDone, func(x, y paired) int { return x.file.Done.Compare(y.file.Done) })
	slices.SortStableFunc(all, func(x, y paired) int { return x.file.At.Compare(y.file.At) })
	var latest *paired
	done := 0
	for i := range all {
		q := &all[i]
		for ; done < len(byDone) && byDone[done].file.Done.Before(q.file.At); done++ {
			if latest == nil || byDone[done].start.After(latest.start) {
				latest = &byDone[done]
			}
		}
		if latest != nil && q.end.Before(latest.start) {
			c.add(Difference{
				Trace: c.trace(q.run), Kind: Order, What: "call " + q.id, InTrace: "before call " + latest.id, InFiles: "after it", File: q.file.File,
				IDs: []string{q.id, latest.id},
			})
		}
	}
}
