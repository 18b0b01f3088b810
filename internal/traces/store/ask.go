package store

import (
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Totals are sums over traces.
type Totals struct {
	// Traces counts the tasks, Runs their parts.
	Traces int `json:"tasks"`
	Runs   int `json:"-"`
	// Calls counts the tool calls, Failures those that failed or never finished,
	// Denials those that were denied or cancelled.
	Calls    int `json:"toolCalls"`
	Failures int `json:"toolFailures"`
	Denials  int `json:"toolDenials"`
	// OfCalls counts all calls of a tool or command in sums over those alone that failed or were
	// denied.
	OfCalls int `json:"ofToolCalls,omitempty"`
	// Took is the sum of the traces' durations.
	Took time.Duration `json:"tookNs"`
	// Waited is how long agents waited for the user, as far as events report it; zero if
	// none does.
	Waited time.Duration `json:"waitedNs,omitempty"`
	// Usage is nil if unknown.
	Usage *Usage `json:"usage,omitempty"`
	// OfModel is the part of Usage that is of the model that a filter wants: the tasks may have
	// used others, too. It is nil if no model is wanted.
	OfModel *Usage `json:"ofModelUsage,omitempty"`
	// Unpriced are the models, sorted, of which the cost of some requests is
	// unknown. Their tokens are in Usage, and no cost.
	Unpriced []string `json:"unpricedModels,omitempty"`
}

// Add adds a trace.
func (t *Totals) Add(s *Summary) {
	t.Traces++
	t.Runs += s.Runs
	t.Calls += s.Tools
	t.Failures += s.ToolFailures
	t.Denials += s.ToolDenials
	t.Took += s.Duration()
	t.Waited += s.Waited
	t.Usage = t.Usage.Add(s.Usage)
}

// By is what Group sums by.
type By string

// OfCalls reports whether the groups are sums over calls or hook runs, which have no
// usage.
func (by By) OfCalls() bool { return by == ByTool || by == ByCommand || by == ByHook }

// The keys of groups. Days, weeks and months are those of the traces' start.
const (
	ByDay By = "day" // 2026-01-31
	// ByWeek has the Monday of the week.
	ByWeek  By = "week"  // 2026-01-26
	ByMonth By = "month" // 2026-01
	// ByModel counts a trace for its Summary's model, and tokens and cost for the
	// model of each request.
	ByModel   By = "model"
	ByProject By = "project"
	ByAgent   By = "agent"
	BySession By = "session"
	// ByTool and ByCommand count calls. A command is what CommandOf returns, empty for
	// calls that run none.
	ByTool    By = "tool"
	ByCommand By = "command"
	// ByHook counts runs of the user's hooks by their command.
	ByHook By = "hook"
)

// Keys are what Group can sum by.
var Keys = []By{ByDay, ByWeek, ByMonth, ByModel, ByProject, ByAgent, ByTool, ByCommand, ByHook, BySession}

func names(keys []By) string {
	var out []string
	for _, k := range keys {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

// Group is the sum over what has one key.
//
// By tool and by command, Traces and Runs count the traces with such a call. Calls,
// Failures, Denials, Took and the percentiles are about the calls, and there is no Usage.
// If the filter has a Tool, a Text, Failed or Denied, a call must meet these conditions
// itself. By hook the same is about runs of hooks: Failures could not start, failed or
// reached their time limit, Denials denied or blocked. By all other keys the percentiles
// are about the durations of the traces.
//
// Calls, Failures and Denials add up over all groups to those of Totals, except by hook and
// with a filter as above. By keys that are not about calls, so do all other members.
type Group struct {
	// Key is empty if the spans do not say.
	Key string `json:"key"`
	// Title is that of the session's first selected trace, by session.
	Title string `json:"title,omitempty"`
	Totals
	P50 time.Duration `json:"p50Ns"`
	P95 time.Duration `json:"p95Ns"`
	// MedianUSD is the median of the tasks' costs and DearestUSD the largest, as far as they
	// are known; by model they are the model's part of each task's. By calls they are nil.
	MedianUSD  *float64 `json:"medianCostUsd,omitempty"`
	DearestUSD *float64 `json:"dearestCostUsd,omitempty"`
	// Last is the newest trace with a failure or denial, in sums over these. Until is the end
	// of a period that is no day, week or month. EditsDenied counts the denied calls that
	// change files, in sums by model.
	Last        string    `json:"lastTraceId,omitempty"`
	Until       time.Time `json:"until,omitzero"`
	EditsDenied int       `json:"editsDenied,omitempty"`
	// Branches are those of a project or of a pull request, sorted. Repository is that of a branch.
	Branches   []string `json:"branches,omitempty"`
	Repository string   `json:"repository,omitempty"`
	// AddedTokens is by how much a load of a skill or of a server's tools, or a subagent's start,
	// made the agent's next request larger, a mean.
	AddedTokens *int64 `json:"addedTokens,omitempty"`
	// UsedPercent is how much of the window of the user's plan was used at the end of a block, as
	// the agent said. It is nil where none did, or where several agents worked.
	UsedPercent *float64 `json:"usedPercent,omitempty"`
}

// SetCosts sets the median and the largest of costs. It changes their order.
func (g *Group) SetCosts(usd []float64) {
	if n := len(usd); n > 0 {
		g.MedianUSD, g.DearestUSD = new((smallest(usd, (n-1)/2)+smallest(usd, n/2))/2), new(slices.Max(usd))
	}
}

// Hit is a span that has the text of a search.
type Hit struct {
	// Trace is the task's id, as in Summary. Span is 16 hex digits.
	Trace string `json:"traceId"`
	Span  string `json:"spanId"`
	Name  string `json:"name"`
	// Tool is empty if the span is no tool call.
	Tool    string      `json:"tool,omitempty"`
	Kind    step.Kind   `json:"-"`
	Status  otelmap.End `json:"-"`
	Started time.Time   `json:"started,omitzero"`
	// Snippet is the part of the text where the first word is, on one line.
	Snippet string `json:"snippet"`
}

// HookRun is a call of one of the user's hooks.
type HookRun struct {
	// Trace is the task's id, as in Summary. Span is 16 hex digits: the tool call or the run.
	Trace string `json:"traceId"`
	Span  string `json:"spanId"`
	// Session, Host and Directory are the trace's.
	Session   string `json:"session,omitempty"`
	Host      string `json:"host,omitempty"`
	Directory string `json:"workingDirectory,omitempty"`
	// Event and Tool are what the hook ran for.
	Event string `json:"event,omitempty"`
	Tool  string `json:"tool,omitempty"`
	// Command is a preview, Source the file that has it.
	Command string `json:"command,omitempty"`
	Source  string `json:"source,omitempty"`
	// Status is "ok", "error", "timeout", "not_started" or "async".
	Status string `json:"status,omitempty"`
	// Decision is empty if the hook made none.
	Decision string        `json:"decision,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Started  time.Time     `json:"started,omitzero"`
	Took     time.Duration `json:"tookNs"`
}

// Failed reports whether the hook could not start, failed or reached its time limit.
func (h *HookRun) Failed() bool {
	return otelmap.HookEnd(h.Status, "") == otelmap.EndFailed
}

// Denied reports whether the hook denied or blocked what it ran for.
func (h *HookRun) Denied() bool { return h.End() == otelmap.EndDenied }

// End is how the hook run counts.
func (h *HookRun) End() otelmap.End { return otelmap.HookEnd(h.Status, h.Decision) }

// hookRunOf reads the event of a hook run.
func hookRunOf(e step.Event) HookRun {
	h := e.Hook()
	return HookRun{
		Event: h.Event, Tool: h.Tool, Command: h.Command, Source: h.Source, Status: h.Status, Decision: h.Decision, Reason: h.Reason,
		Started: h.Started, Took: min(h.Took, maxTook),
	}
}
