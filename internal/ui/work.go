package ui

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/findings"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// workShare is how long sums over all calls are kept, in times of what adding them up took.
const workShare = 20

// workKeys are the sums of the view of the costs that need all calls and requests. By model
// they have the denied edits.
var workKeys = []store.By{view.BySubagent, view.ByServer, view.ByBlock, store.ByModel, view.ByRepository, view.ByBranch, view.ByPull, view.BySkill}

// work returns sums over what was done in tasks, by workKeys.
func (s *Server) work(r *http.Request, f store.Filter) (any, error) {
	key := "work?" + r.URL.RawQuery
	v, err := keep(s, key, workShare, func() (map[store.By][]grouped, error) {
		sums := newSums(view.CallFilter{Tool: f.Tool, Failed: f.Failed, Denied: f.Denied}, workKeys...)
		pulls, err := view.PullsOf(r.Context(), s.opts.Store)
		if err != nil {
			return nil, err
		}
		for i := range sums {
			sums[i].Limits, sums[i].Pulls = s.opts.Limits, pulls
		}
		err = s.opts.Store.EachWork(r.Context(), f, nil, func(w *store.Work) error { sums.add(w); return nil })
		return sums.groups(), err
	})
	return s.dated(v, err, workShare, key)
}

// sums are several ways of summing up the same work.
type sums []view.Sums

func newSums(calls view.CallFilter, keys ...store.By) sums {
	out := make(sums, len(keys))
	for i, by := range keys {
		out[i] = view.Sums{By: by, Calls: calls}
	}
	return out
}

func (s sums) add(w *store.Work) {
	for i := range s {
		s[i].Add(w)
	}
}

func (s sums) groups() map[store.By][]grouped {
	out := make(map[store.By][]grouped)
	for i := range s {
		out[s[i].By] = groupsOf(s[i].Groups())
	}
	return out
}

// sides sums up two sets of tasks, each by the parameters of a filter.
func (s *Server) sides(r *http.Request) (any, error) {
	var out [2]store.Group
	var keys [2]string
	for i, name := range []string{"a", "b"} {
		side := r.URL.Query().Get(name)
		q, err := url.ParseQuery(side)
		if err != nil {
			return nil, wrong("%s %q: want filters such as model=opus", name, side)
		}
		f, err := s.filter(r.Context(), q)
		if err != nil {
			return nil, err
		}
		keys[i] = "side?" + side
		out[i], err = keep(s, keys[i], workShare, func() (store.Group, error) {
			return view.SideOf(r.Context(), s.opts.Store, side, f)
		})
		if err != nil {
			return nil, err
		}
	}
	return s.dated(out, nil, workShare, keys[:]...)
}

// callRow is a call in the list of all tasks' calls.
type callRow struct {
	store.Call
	What   string      `json:"what"`
	Reason string      `json:"reason,omitempty"`
	Edits  []view.Edit `json:"edits,omitempty"`
	// Cut reports that only the beginning of the edits is stored.
	Cut bool `json:"cut,omitempty"`
}

// callFilterOf returns the filter for calls in a query, whose parameters have the names of
// the options of hookspan calls, and the filter for their tasks.
func (s *Server) callFilterOf(ctx context.Context, q url.Values) (c view.CallFilter, f store.Filter, err error) {
	f, err = s.filter(ctx, q)
	c = view.CallFilter{Tool: f.Tool, Command: q.Get("command"), File: q.Get("file"), Edits: q.Has("edits"), Failed: f.Failed, Denied: f.Denied, Directory: f.Directory, Resolved: f.Resolved, First: q.Has("first")}
	f.Tool, f.Failed, f.Denied = "", false, false // They are of the calls.
	if err == nil {
		c.MinCost, err = dollars(q, "dearer")
	}
	if _, bad := path.Match(c.File, ""); bad != nil && err == nil {
		err = wrong("file %q: want a [ to have its ]", c.File)
	}
	if v := q.Get("slower"); v != "" && err == nil {
		seconds, bad := strconv.ParseFloat(v, 64)
		if bad != nil || !(seconds > 0 && seconds < 1e9) {
			return c, f, wrong("slower %q: want a number of seconds above 0", v)
		}
		c.MinTook = time.Duration(seconds * float64(time.Second))
	}
	return c, f, err
}

// toolCalls lists the calls of tools over all tasks, the newest task first, with sums of those
// that failed and were denied. With edits, each has what it changes. With first there are no
// sums, so that not all of the calls are read.
func (s *Server) toolCalls(r *http.Request) (any, error) {
	c, f, err := s.callFilterOf(r.Context(), r.URL.Query())
	if err != nil {
		return nil, err
	}
	type answer struct {
		Calls  []callRow              `json:"calls"`
		Totals *store.Totals          `json:"totals,omitempty"`
		Groups map[store.By][]grouped `json:"groups,omitempty"`
	}
	return keep(s, "calls?"+r.URL.RawQuery+s.stamp(), 0, func() (answer, error) {
		sums := newSums(c, view.ByFailure, view.ByDenial)
		found, all, err := c.Find(r.Context(), s.opts.Store, f, s.running(r.Context()), sums.add)
		out := answer{Calls: make([]callRow, len(found))}
		if !c.First {
			out.Totals, out.Groups = &all, sums.groups()
		}
		for i := range found {
			out.Calls[i] = rowOfCall(found[i], c.Edits)
		}
		return out, err
	})
}

func rowOfCall(c store.Call, edits bool) callRow {
	given := view.NewArguments(c.Tool, c.Arguments)
	out := callRow{Call: c, What: termtext.Cut(view.Relative(given.Line(), c.Directory), 300), Reason: termtext.Cut(view.Relative(view.Reason(&c), c.Directory), 300)}
	if edits {
		out.Edits, out.Cut = given.Edits(), given.Cut()
	}
	out.Arguments, out.Error = "", ""
	return out
}

// cost returns where a task's money went, and for which pull requests. What running tasks do is not in the store, so what
// is kept is of one state of the watched files.
func (s *Server) cost(r *http.Request, l *loaded) (any, error) {
	return keep(s, "cost "+l.TraceID+s.stamp(), 0, func() (out view.Costs, err error) {
		pulls, err := view.PullsOf(r.Context(), s.opts.Store)
		if err != nil {
			return out, err
		}
		work := &store.Work{}
		err = s.opts.Store.EachWork(r.Context(), store.Filter{Trace: l.TraceID}, s.running(r.Context()), func(w *store.Work) error {
			work = w
			return nil
		})
		if err != nil {
			return out, err
		}
		opening, err := s.opts.Store.Opening(r.Context(), work)
		out = view.CostsOf(work, opening)
		if err != nil {
			return out, err
		}
		out.PullRequests = pulls.Of(work)
		found, err := findings.Read(r.Context(), s.opts.Store, store.Filter{Trace: l.TraceID})
		out.Findings = found.Findings
		return out, err
	})
}

// waiting lists the tasks that wait for the user.
func (s *Server) waiting(r *http.Request) (any, error) {
	out := []string{}
	for _, t := range s.running(r.Context()) {
		if t.Waiting {
			out = append(out, t.TraceID)
		}
	}
	return out, nil
}
