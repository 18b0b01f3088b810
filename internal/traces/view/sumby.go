package view

import (
	"context"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Summed are sums by a key.
type Summed struct {
	// Totals are those of the tasks; where the groups are of calls by tool or command, their
	// calls are those of the groups. Line are the totals for the last line of a table.
	Totals, Line store.Totals
	// Groups are the largest first, unless the keys are times.
	Groups []store.Group
}

// SumBy sums up the tasks that a filter selects, by one of store.Keys or WorkKeys.
func SumBy(ctx context.Context, s *store.Store, f store.Filter, zone *time.Location, by store.By, limits Limits) (out Summed, err error) {
	work := slices.Contains(WorkKeys, by)
	keys := []store.By{by}
	if work {
		keys = nil
	}
	all, grouped, err := s.Groups(ctx, f, zone, keys...)
	if err != nil {
		return out, err
	}
	out.Totals, out.Groups = all, grouped[by]
	if work || by == store.ByModel {
		sums, err := sumWork(ctx, s, f, by)
		sums.Limits = limits
		if err != nil {
			return out, err
		}
		if work {
			out.Groups = sums.Groups()
		}
		for i := range out.Groups {
			if g := sums.groups[out.Groups[i].Key]; g != nil {
				out.Groups[i].EditsDenied = g.EditsDenied
			}
		}
	}
	if by == store.ByTool || by == store.ByCommand { // the tasks have other calls, too
		if f.Failed || f.Denied {
			f.Failed, f.Denied = false, false
			every, err := s.Group(ctx, f, by, nil)
			if err != nil {
				return out, err
			}
			all := make(map[string]int, len(every))
			for _, g := range every {
				all[g.Key] = g.Calls
			}
			for i := range out.Groups {
				out.Groups[i].OfCalls = all[out.Groups[i].Key]
			}
		}
		of := SumOf(out.Groups)
		out.Totals.Calls, out.Totals.Failures, out.Totals.Denials, out.Totals.OfCalls = of.Calls, of.Failures, of.Denials, of.OfCalls
	}
	if by == store.ByCommand {
		out.Groups = slices.DeleteFunc(out.Groups, func(g store.Group) bool { return g.Key == "" }) // calls that run none
	}
	LargestFirst(by, out.Groups)
	if out.Line = out.Totals; work && !OfRequests(by) && by != BySkill || by == store.ByHook || by == store.ByCommand {
		out.Line = SumOf(out.Groups)
	}
	return out, nil
}

// sumWork sums up the work, where the sums are of certain calls of those alone.
func sumWork(ctx context.Context, s *store.Store, f store.Filter, by store.By) (*Sums, error) {
	sums := &Sums{By: by, Calls: CallFilter{Tool: f.Tool, Failed: f.Failed, Denied: f.Denied}}
	add := func(w *store.Work) error { sums.Add(w); return nil }
	if by == store.ByModel || by == BySide { // only a task with denied calls has denied edits
		return sums, s.EachCall(ctx, f, func(t *store.Summary) bool {
			if t.ToolDenials == 0 {
				sums.Add(&store.Work{Summary: *t})
			}
			return t.ToolDenials == 0
		}, add)
	}
	if !OfRequests(by) {
		return sums, s.EachWork(ctx, f, nil, add)
	}
	if by == ByPull {
		pulls, err := PullsOf(ctx, s)
		if err != nil {
			return sums, err
		}
		sums.Pulls = pulls
	}
	return sums, s.EachRequest(ctx, f, add)
}

// TasksOf returns the tasks with a request for a pull request, which is named as for Pulls.Named, as
// a Filter's Among. It is "" if no such pull request is known.
func TasksOf(ctx context.Context, s *store.Store, pull string) (string, error) {
	pulls, err := PullsOf(ctx, s)
	if err != nil {
		return "", err
	}
	branches := pulls.Named(pull)
	if len(branches) == 0 {
		return "", nil
	}
	var tasks []string
	err = s.EachRequest(ctx, store.Filter{}, func(w *store.Work) error {
		if slices.ContainsFunc(w.Requests, func(r store.Request) bool { return slices.Contains(branches, r.Checkout) }) {
			tasks = append(tasks, w.Summary.TraceID)
		}
		return nil
	})
	return rawjson.Encode(tasks), err
}

// SideOf sums up the tasks that a filter selects as a side of a comparison.
func SideOf(ctx context.Context, s *store.Store, name string, f store.Filter) (side store.Group, err error) {
	if side.Totals, _, err = s.Groups(ctx, f, nil); err != nil {
		return side, err
	}
	sums, err := sumWork(ctx, s, f, BySide)
	for _, g := range sums.Groups() {
		side.P50, side.P95, side.EditsDenied, side.MedianUSD, side.DearestUSD = g.P50, g.P95, g.EditsDenied, g.MedianUSD, g.DearestUSD
	}
	side.Key = name
	return side, err
}

// ReportOf reports on the tasks that a filter selects, until now unless it ends before. clean is a
// Reporter's.
func ReportOf(ctx context.Context, s *store.Store, f store.Filter, now time.Time, clean func(string) string) (Report, error) {
	zone := now.Location()
	all, groups, err := s.Groups(ctx, f, zone, store.ByProject, store.ByModel)
	if err != nil {
		return Report{}, err
	}
	r := Reporter{Clean: clean}
	if err := s.EachWork(ctx, f, nil, func(w *store.Work) error { r.Add(w); return nil }); err != nil {
		return Report{}, err
	}
	if !f.Until.IsZero() && f.Until.Before(now) {
		now = f.Until.Add(-time.Nanosecond)
	}
	return r.Report("Coding agents, "+PeriodOf(f.Since, now, zone), all, groups, Options{Location: zone}), nil
}

// OverviewKeys are the keys of an overview's sections.
var OverviewKeys = []store.By{store.ByDay, store.ByProject, store.ByModel, store.ByTool}

// First returns the first groups, the newest if their keys are times.
func First(by store.By, groups []store.Group, n int) []store.Group {
	if n = min(n, len(groups)); IsTime(by) {
		return groups[len(groups)-n:]
	}
	return groups[:n]
}
