package hooks

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

// Runs sums up the runs of a hook in the last day.
type Runs struct {
	Count  int           `json:"count"`
	Failed int           `json:"failed,omitempty"`
	Denied int           `json:"denied,omitempty"`
	P50    time.Duration `json:"p50Ns,omitempty"`
	P95    time.Duration `json:"p95Ns,omitempty"`
	// Last is the latest one.
	Last *store.HookRun `json:"last,omitempty"`
}

// The runs that are looked at, and in traces of how long ago. A trace can be older than
// its latest run.
const (
	maxRuns    = 10_000
	tracesOf   = 7 * 24 * time.Hour
	shownRuns  = 100
	day        = 24 * time.Hour
	cutMark    = "…"
	percentile = 95
)

// runsByHook are the runs of the last day, the newest first, by event and file. The
// file is empty for runs whose file is not known.
type runsByHook map[[2]string][]store.HookRun

// lately are the runs of the last day. Where they take long to read they are kept for a
// while, so that a page that is asked for at each new trace costs a tenth of a core.
type lately struct {
	mu     sync.Mutex
	until  time.Time
	recent []store.HookRun
	by     runsByHook
}

const keptFor = 10 // times as long as the reading took

// lastDay reads the runs of the last day.
func (c *Catalog) lastDay(ctx context.Context) (recent []store.HookRun, by runsByHook, err error) {
	kept := &c.lately
	kept.mu.Lock()
	defer kept.mu.Unlock()
	now := c.Process.Now()
	if now.Before(kept.until) {
		return kept.recent, kept.by, nil
	}
	runs, err := c.Store.HookRuns(ctx, store.Filter{Since: now.Add(-tracesOf), Limit: maxRuns})
	if err != nil {
		return nil, nil, err
	}
	if runs, err = c.withRunning(ctx, runs); err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(runs, func(r store.HookRun) bool { return r.Started.Before(now.Add(-day)) }); i >= 0 {
		runs = runs[:i]
	}
	kept.recent, kept.by = slices.Clone(runs[:min(len(runs), shownRuns)]), make(runsByHook)
	for _, r := range runs {
		key := [2]string{r.Event, r.Source}
		kept.by[key] = append(kept.by[key], r)
	}
	after := c.Process.Now()
	kept.until = after.Add(keptFor * after.Sub(now))
	return kept.recent, kept.by, nil
}

// withRunning adds the runs in tasks that still run, the newest of all first.
func (c *Catalog) withRunning(ctx context.Context, runs []store.HookRun) ([]store.HookRun, error) {
	if c.Running == nil {
		return runs, nil
	}
	tasks, err := c.Running(ctx)
	for _, t := range tasks {
		if !slices.ContainsFunc(runs, func(r store.HookRun) bool { return r.Trace == t.TraceID }) {
			runs = append(runs, store.HookRunsOf(t)...)
		}
	}
	slices.SortStableFunc(runs, func(x, y store.HookRun) int { return y.Started.Compare(x.Started) })
	return runs, err
}

// Recent returns the latest runs of the last day.
func (c *Catalog) Recent(ctx context.Context) ([]store.HookRun, error) {
	recent, _, err := c.lastDay(ctx)
	return recent, err
}

// of sums up the runs of a hook. The store has the beginning of its command, without
// secrets.
func (r runsByHook) of(f *File, h hookfile.Handler, clean func(string) string) (out Runs) {
	title := shelltext.Text(h)
	if h.Type == hookfile.TypeCommand && len(h.Args) > 0 {
		title = h.Command + " " + strings.Join(h.Args, " ")
	}
	title = clean(title)
	var took []time.Duration
	for _, run := range slices.Concat(r[[2]string{h.Event, f.Path}], r[[2]string{h.Event, ""}]) {
		begin, cut := strings.CutSuffix(run.Command, cutMark)
		if run.Host != f.Agent || begin == "" || !(run.Command == title || cut && strings.HasPrefix(title, begin)) {
			continue
		}
		if out.Count++; out.Last == nil || run.Started.After(out.Last.Started) {
			out.Last = &run
		}
		if run.Failed() {
			out.Failed++
		}
		if run.Denied() {
			out.Denied++
		}
		if run.Status == "ok" || run.Status == "error" || run.Status == "timeout" {
			took = append(took, run.Took)
		}
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		out.P50, out.P95 = took[(n-1)/2], took[(n*percentile+99)/100-1]
	}
	return out
}
