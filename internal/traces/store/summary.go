package store

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Summary describes a trace in one line. Empty and zero members mean that the
// spans do not say. Its JSON is stable: members may be added, never renamed or
// given another meaning.
type Summary struct {
	// TraceID is 32 hex digits. In a trace whose id came from outside each session has a task:
	// there a dash and 8 digits for the session follow.
	TraceID string `json:"traceId"`
	// Host is the agent program, such as "cline".
	Host string `json:"host,omitempty"`
	// Session is the agent's identifier of the conversation.
	Session string `json:"session,omitempty"`
	// Title is the first prompt on one line, at most maxTitle runes. Where no texts were
	// captured it is the folder, the branch and the tools, else the root span's name.
	Title string `json:"title,omitempty"`
	// Model is the language model, as the agent spells it.
	Model string `json:"model,omitempty"`
	// Directory is the working directory. Where the workspace has several folders, which
	// Folders are then, it is the one with most calls, of equal ones the first.
	Directory string   `json:"workingDirectory,omitempty"`
	Folders   []string `json:"workspaceFolders,omitempty"`
	// Branch is that of the version control at the end.
	Branch string `json:"branch,omitempty"`
	// Outcome is how the last run ended, one of otelmap's outcomes. It is empty
	// until a root span is stored.
	Outcome string `json:"outcome,omitempty"`
	// Evidence is how much of the runs is known, one of otelmap's values, the worst of
	// them; Missing is what is missing.
	Evidence string `json:"evidence,omitempty"`
	Missing  string `json:"missing,omitempty"`
	// Runs counts the root spans. A task has several only if the id of its trace came
	// from outside.
	Runs int `json:"parts"`
	// Started and Ended are the first start and the last end of any span.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Spans counts the stored spans.
	Spans int `json:"spans"`
	// Tools counts the tool calls, ToolFailures those that failed or never finished,
	// ToolDenials those that were denied or cancelled, as in Totals. ToolsUnknown counts
	// those of unknown outcome, which are neither successes nor failures; only root spans
	// report them.
	Tools        int `json:"tools"`
	ToolFailures int `json:"toolFailures"`
	ToolDenials  int `json:"toolDenials"`
	ToolsUnknown int `json:"toolsUnknown,omitempty"`
	// Waited is how long the agent waited for the user, as far as events report it, and
	// Waiting that it does so now.
	Waited  time.Duration `json:"waitedNs,omitempty"`
	Waiting bool          `json:"waiting,omitempty"`
	// Usage is nil if unknown.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is a sum over the requests to the model.
type Usage = step.Usage

// Cwd is the folder in which the agent was started, by which its files are found.
func (s *Summary) Cwd() string {
	if len(s.Folders) > 0 {
		return s.Folders[0]
	}
	return s.Directory
}

// folders is the column of the Folders.
func (s *Summary) folders() string {
	if len(s.Folders) < 2 {
		return ""
	}
	return rawjson.Encode(s.Folders)
}

// Duration returns the time from Started to Ended. It is never negative.
func (s *Summary) Duration() time.Duration {
	if s.Started.IsZero() {
		return 0
	}
	return max(0, s.Ended.Sub(s.Started))
}

// MarshalJSON adds "durationMs", the duration in whole milliseconds.
func (s Summary) MarshalJSON() ([]byte, error) {
	type plain Summary // without MarshalJSON
	return rawjson.Marshal(struct {
		plain
		DurationMS int64 `json:"durationMs"`
	}{plain(s), s.Duration().Milliseconds()})
}

// MarshalJSON returns the members of the summary and "resourceSpans" in
// OTLP/JSON: an object with that member alone is a request that every OTLP/HTTP
// receiver accepts.
func (t Trace) MarshalJSON() ([]byte, error) {
	summary, err := t.Summary.MarshalJSON()
	if err != nil {
		return nil, err
	}
	doc, err := otlpjson.Encode(t.ResourceSpans)
	if err != nil {
		return nil, err
	}
	return slices.Concat(summary[:len(summary)-1], []byte(","), doc[1:]), nil
}

// summarize makes the summary of a trace, without its id and times, from the
// root spans of its runs by start or, if there are none, its first span. The
// totals count for what the root spans do not report.
func summarize(d *digest, spans []storedSpan) Summary {
	s := Summary{Spans: d.spans, Waited: Waited(d.waits), Waiting: d.open}
	counted := true
	for _, span := range spans {
		one := step.Of(span.Span)
		calls, failures, unknown, ok := one.Calls()
		counted = counted && ok
		if one.Kind() != step.KindRun {
			counted = false
			break
		}
		s.Runs++
		s.Tools += int(calls)
		s.ToolFailures += int(failures)
		s.ToolsUnknown += int(unknown)
		s.Usage = s.Usage.Add(one.Usage())
		s.Outcome = one.Outcome()
		if e, missing := one.Evidence(); worse(e, s.Evidence) {
			s.Evidence, s.Missing = e, missing
		}
		s.Host = cmp.Or(s.Host, one.Host())
		s.Session = cmp.Or(s.Session, one.Session())
		s.Title = cmp.Or(s.Title, oneLine(one.Task(), maxTitle))
		s.Model = cmp.Or(s.Model, one.Model())
		s.Branch = cmp.Or(s.Branch, one.Branch())
		s.Directory = cmp.Or(s.Directory, otelmap.Folder(one.Directory()))
		for _, dir := range one.Folders() {
			if dir = otelmap.Folder(dir); !slices.Contains(s.Folders, dir) {
				s.Folders = append(s.Folders, dir)
			}
		}
	}
	most := 0
	for _, dir := range s.Folders {
		if i, there := d.place(&d.folders, dir, ""); there && len(d.folders[i].calls) > most {
			s.Directory, most = dir, len(d.folders[i].calls)
		}
	}
	if counted {
		// Root spans count denials as failures, and calls of hookspan's own server as others.
		s.ToolFailures = max(0, s.ToolFailures-d.counted.own)
		s.ToolDenials = min(d.counted.denied, s.ToolFailures)
		s.ToolFailures -= s.ToolDenials
	} else {
		s.Tools, s.ToolFailures, s.ToolDenials = d.counted.n, d.counted.failed, d.counted.denied
	}
	if requests := d.usage(); s.Usage == nil {
		s.Usage = requests
	} else if s.Usage.CostUSD == nil && requests != nil {
		s.Usage.CostUSD = requests.CostUSD
	}
	s.Model = cmp.Or(s.Model, d.model)
	first := spans[0]
	s.Session = cmp.Or(s.Session, step.Of(first.Span).Session())
	if s.Title == "" && s.Runs > 0 {
		s.Title = oneLine(d.titleWithoutTexts(&s), maxTitle)
	}
	s.Title = cmp.Or(s.Title, oneLine(first.GetName(), maxTitle))
	s.Host = cmp.Or(s.Host, step.ResourceOf(first.origin.GetResource()).Service())
	return s
}

// titleTools is the largest number of tools in a title.
const titleTools = 3

// titleWithoutTexts names a task of which no texts were captured: by the last part of its
// folder, its branch, and the tools that were called most.
func (d *digest) titleWithoutTexts(s *Summary) string {
	calls := make(map[string]int)
	for _, t := range d.tools {
		calls[t.name] += len(t.calls)
	}
	names := slices.SortedFunc(maps.Keys(calls), func(a, b string) int { return cmp.Or(calls[b]-calls[a], strings.Compare(a, b)) })
	var tools []string
	for _, name := range names[:min(len(names), titleTools)] {
		tools = append(tools, fmt.Sprintf("%d %s", calls[name], name))
	}
	if n := len(names) - titleTools; n > 0 {
		tools = append(tools, fmt.Sprintf("%d more", n))
	}
	folder := s.Directory[strings.LastIndexAny(s.Directory, `/\`)+1:]
	parts := []string{folder, s.Branch, strings.Join(tools, ", ")}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}

// worse reports that evidence x is less than y.
func worse(x, y string) bool {
	order := []string{"", otelmap.EvidenceComplete, otelmap.EvidenceUnknown, otelmap.EvidencePartial}
	return slices.Index(order, x) > slices.Index(order, y)
}

// columns returns the five values of a usage as the tables have them, NULL for unknown.
func columns(u *Usage) []any {
	if u == nil {
		return make([]any, 5)
	}
	return []any{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostUSD}
}

// usageColumns scans the values of columns.
type usageColumns struct {
	input, output, cacheRead, cacheWrite sql.NullInt64
	cost                                 *float64
}

func (c *usageColumns) targets() []any {
	return []any{&c.input, &c.output, &c.cacheRead, &c.cacheWrite, &c.cost}
}

func (c *usageColumns) usage() *Usage {
	if !c.input.Valid && !c.output.Valid && c.cost == nil {
		return nil
	}
	return &Usage{
		Input: c.input.Int64, Output: c.output.Int64,
		CacheRead: c.cacheRead.Int64, CacheWrite: c.cacheWrite.Int64, CostUSD: c.cost,
	}
}

// maxTitle bounds a title, in runes.
const maxTitle = 200

// oneLine replaces each sequence of white space by one space and cuts s to limit
// runes.
func oneLine(s string, limit int) string {
	// The first words of a long text suffice.
	return termtext.Cut(strings.Join(strings.Fields(termtext.HeadBytes(s, 64*limit)), " "), limit)
}
