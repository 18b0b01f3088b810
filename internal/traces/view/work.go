package view

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/pattern"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// The keys of sums over what was done in traces. BySubagent sums the work of subagents by
// their kind, ByServer the calls of MCP servers and the requests that read their results, ByDenial denied calls by who denied them,
// ByFailure failed calls by tool and FailureLine, in which numbers do not count, and ByBlock
// requests in windows of five hours. ByRepository, ByBranch and ByPull sum requests by what was
// checked out when they were made: with those of which it is not known they are all.
const (
	BySubagent store.By = "subagent"
	ByServer   store.By = "mcp"
	ByDenial   store.By = "denial"
	ByFailure  store.By = "failure"
	ByBlock    store.By = "block"

	ByRepository store.By = "repository"
	ByBranch     store.By = "branch"
	ByPull       store.By = "pr"
	// BySkill sums requests by the skill that was active, and the calls that loaded it.
	BySkill store.By = "skill"
	// BySide sums up all tasks, for a comparison.
	BySide store.By = "side"
)

// WorkKeys are what Sums can sum by.
var WorkKeys = []store.By{BySubagent, ByServer, ByDenial, ByFailure, ByBlock, ByRepository, ByBranch, ByPull, BySkill}

// OfRequests reports whether the groups of a key are sums over requests alone, whose calls do not count.
func OfRequests(by store.By) bool { return by == ByRepository || by == ByBranch || by == ByPull }

// Limits returns what agents said of the user's plans, by host. If it is nil, it is not known.
type Limits func() map[string][]hook.Limit

// Sums sums up work by one of WorkKeys. By store.ByModel only the denied edits count, BySide
// these, the percentiles and the tasks' costs.
type Sums struct {
	By store.By
	// Calls selects those that count by ByServer, ByDenial and ByFailure.
	Calls CallFilter
	// Pulls are those by which ByPull sums.
	Pulls Pulls
	// Limits are for ByBlock.
	Limits Limits

	groups map[string]*sum
	spent  []spent
}

type sum struct {
	store.Group
	took  []time.Duration
	costs []float64
	added []int64
	trace string
}

// spent is what a request used, or how a call ended if usage is nil.
type spent struct {
	at           time.Time
	trace, host  string
	usage        *store.Usage
	status       otelmap.End
	took, waited time.Duration
}

// Add adds the work of a trace. The newest trace comes first.
func (s *Sums) Add(w *store.Work) {
	for i := range w.Subagents {
		if a := &w.Subagents[i]; s.By == BySubagent {
			g := s.of(a.Name, w, a.Took)
			g.Calls, g.Failures, g.Denials = g.Calls+a.Calls, g.Failures+a.Failures, g.Denials+a.Denials
			g.Usage = g.Usage.Add(a.Usage)
			g.Took += a.Took
		}
	}
	if key := w.Summary.Model; s.By == store.ByModel || s.By == BySide {
		if s.By == BySide {
			key = ""
		}
		g := s.of(key, w, w.Summary.Duration())
		if u := w.Summary.Usage; s.By == BySide && u != nil && u.CostUSD != nil {
			g.costs = append(g.costs, *u.CostUSD)
		}
		for i := range w.Calls {
			if c := &w.Calls[i]; c.Status == otelmap.EndDenied && len(NewArguments(c.Tool, c.Arguments).Edits()) > 0 {
				g.EditsDenied++
			}
		}
	}
	for i := range w.Calls {
		c := &w.Calls[i]
		if key := s.key(c); key != "" {
			g := s.of(key, w, c.Took)
			Sum(&g.Totals, c)
			g.Last = cmp.Or(g.Last, c.Trace)
		}
	}
	if s.By == ByBlock {
		s.spend(w)
	}
	if activeMeans[s.By] != "" {
		s.addActive(w)
	}
	if OfRequests(s.By) {
		for r, u := range requests(w) {
			c := w.Rest
			if r != nil {
				c = r.Checkout
			}
			g := s.at(c, w)
			g.Usage = g.Usage.Add(u)
		}
	}
}

// requests yields the requests of a task and what each used, and then what the task reports beyond
// them, for which there is no request. A task without either has that, too.
func requests(w *store.Work) iter.Seq2[*store.Request, *store.Usage] {
	return func(yield func(*store.Request, *store.Usage) bool) {
		var sum *store.Usage
		for i := range w.Requests {
			r := &w.Requests[i]
			sum = sum.Add(r.Usage)
			if !yield(r, r.Usage) {
				return
			}
		}
		if rest := w.Summary.Usage.Less(sum); rest != nil || len(w.Requests) == 0 {
			yield(nil, rest)
		}
	}
}

// once returns the sum for a key, in which a task counts once.
func (s *Sums) once(key string, w *store.Work) *sum {
	if g := s.groups[key]; g != nil && g.trace == w.Summary.TraceID {
		return g
	}
	g := s.of(key, w, w.Summary.Duration())
	g.Took += w.Summary.Duration()
	return g
}

// at returns the sum for requests that were made somewhere.
func (s *Sums) at(c store.Checkout, w *store.Work) *sum {
	key := c.Repository
	switch {
	case s.By == ByPull:
		key = s.Pulls[c]
	case s.By != ByBranch:
	case c.Branch == "":
		key = "" // there is one row of what is not known
	default:
		key = c.Repository + "\x00" + c.Branch
	}
	g := s.once(key, w)
	switch {
	case key == "":
	case s.By == ByBranch:
		g.Key, g.Repository = c.Branch, c.Repository
	case s.By == ByPull && !slices.Contains(g.Branches, c.Branch):
		g.Branches = append(g.Branches, c.Branch)
	}
	return g
}

// key is that of a call, "" for one that is in no sum.
func (s *Sums) key(c *store.Call) string {
	switch {
	case !s.Calls.Selects(c):
	case s.By == ByServer:
		return c.Server
	case s.By == ByDenial && c.Counted() == otelmap.EndDenied:
		return Denier(c)
	case s.By == ByFailure && c.Counted().Failed():
		why := cmp.Or(FailureLine(c.Error), termtext.Line(c.ErrorType), c.Status.String())
		if c.Command != "" && (FailureLine(c.Error) == "" || passing().MatchString(why)) {
			why = termtext.Line(c.Command) + " failed" // other commands fail for other reasons
		}
		return termtext.Line(c.Tool) + ": " + numbers().ReplaceAllString(why, "#")
	}
	return ""
}

// numbers are quantities with their units, times, and hexadecimal numbers.
var numbers = pattern.Of(`(?i)\b(?:[0-9]{2}(t[0-9]{2}|([.][0-9]+)?z)|([0-9]+([.,][0-9]+)*([nuµμm]?s|secs?|m|mins?|hr?s?|d|[kmgt]?i?b|k)?)+|0x[0-9a-f]+|[0-9a-f]*[0-9][0-9a-f]*)\b`)

func (s *Sums) of(key string, w *store.Work, took time.Duration) *sum {
	if s.groups == nil {
		s.groups = make(map[string]*sum)
	}
	g := s.groups[key]
	if g == nil {
		g = &sum{Group: store.Group{Key: key}}
		s.groups[key] = g
	}
	if g.trace != w.Summary.TraceID {
		g.trace, g.Traces, g.Runs = w.Summary.TraceID, g.Traces+1, g.Runs+w.Summary.Runs
	}
	g.took = append(g.took, took)
	return g
}

// Groups returns the sums by their keys.
func (s *Sums) Groups() []store.Group {
	if s.By == ByBlock {
		return s.blocks()
	}
	var out []store.Group
	for _, key := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[key]
		slices.Sort(g.took)
		at := func(p int) time.Duration { return g.took[(len(g.took)*p+99)/100-1] }
		g.P50, g.P95 = at(50), at(95)
		g.SetCosts(g.costs)
		if n := int64(len(g.added)); n > 0 {
			sum := int64(0)
			for _, tokens := range g.added {
				sum += tokens
			}
			g.AddedTokens = new(sum / n)
		}
		out = append(out, g.Group)
	}
	return out
}

// spend adds the requests, and what the trace reports beyond them, at its start.
func (s *Sums) spend(w *store.Work) {
	var sum *store.Usage
	for _, r := range w.Requests {
		if r.Usage != nil {
			s.spent = append(s.spent, spent{at: r.Started, trace: w.Summary.TraceID, host: w.Summary.Host, usage: r.Usage})
			sum = sum.Add(r.Usage)
		}
	}
	if rest := w.Summary.Usage.Less(sum); rest != nil {
		s.spent = append(s.spent, spent{at: w.Summary.Started, trace: w.Summary.TraceID, host: w.Summary.Host, usage: rest})
	}
	for i := range w.Calls {
		c := &w.Calls[i]
		s.spent = append(s.spent, spent{at: c.Started, trace: w.Summary.TraceID, status: c.Counted(), took: c.Took, waited: c.Waited})
	}
}

// BlockTime is how long a window of a subscription's limits is.
const BlockTime = 5 * time.Hour

// blocks returns the windows. One begins with the full hour before a request, if the window
// before has ended by then or five hours had no request, which is how ccusage counts them.
// A call is in the window of its start.
func (s *Sums) blocks() (out []store.Group) {
	slices.SortStableFunc(s.spent, func(x, y spent) int { return x.at.Compare(y.at) })
	var begins []time.Time
	var last time.Time
	type pair struct {
		window int
		trace  string
	}
	counted := make(map[pair]bool)
	var hosts []map[string]bool
	in := func(window int, trace string) *store.Group {
		g, key := &out[window], pair{window, trace}
		if !counted[key] {
			counted[key] = true
			g.Traces, g.Runs = g.Traces+1, g.Runs+1
		}
		return g
	}
	for i := range s.spent {
		one, n := &s.spent[i], len(begins)-1
		if one.usage == nil {
			continue
		}
		if n < 0 || one.at.Sub(begins[n]) > BlockTime || one.at.Sub(last) > BlockTime {
			n++
			begins = append(begins, one.at.UTC().Truncate(time.Hour))
			out = append(out, store.Group{Key: begins[n].Format(time.RFC3339), Until: begins[n].Add(BlockTime)})
			hosts = append(hosts, make(map[string]bool))
		}
		g := in(n, one.trace)
		hosts[n][one.host] = true
		last, g.Usage = one.at, g.Usage.Add(one.usage)
	}
	s.setUsed(out, hosts)
	for i := range s.spent {
		one := &s.spent[i]
		n := sort.Search(len(begins), func(n int) bool { return begins[n].After(one.at) }) - 1
		if one.usage == nil && n >= 0 && one.at.Before(out[n].Until) {
			Sum(&in(n, one.trace).Totals, &store.Call{Status: one.status, Took: one.took, Waited: one.waited})
		}
	}
	return out
}

// setUsed sets how much of the plan was used at the end of the windows in which one agent worked, if
// it said so: agents have different plans.
func (s *Sums) setUsed(blocks []store.Group, hosts []map[string]bool) {
	if s.Limits == nil {
		return
	}
	limits := s.Limits()
	for n := range blocks {
		var newest hook.Limit
		b := &blocks[n]
		for host := range hosts[n] {
			for _, l := range limits[host] {
				if l.Lasts(BlockTime) && !l.At.Before(b.Until.Add(-BlockTime)) && l.At.Before(b.Until) && l.Newer(newest) {
					newest = l
				}
			}
		}
		if len(hosts[n]) == 1 && !newest.At.IsZero() {
			b.UsedPercent = &newest.Used
		}
	}
}
