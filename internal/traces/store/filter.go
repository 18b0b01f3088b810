package store

import (
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/otelmap"
)

// Filter selects traces: those that meet every condition. The zero Filter selects
// the newest twenty.
type Filter struct {
	// Limit is the largest number of results. If zero, DefaultLimit; if negative,
	// all. Count, Totals, Group and Delete ignore it.
	Limit int
	// Sort is what Page orders by, the largest first and of the same the newest: one of Orders,
	// or "" for the newest first.
	Sort string
	// Session and Trace are prefixes of the identifiers. If empty, any.
	Session, Trace string
	// Whole reports that Session is the whole identifier, "" that of tasks without one.
	Whole bool
	// Host is the agent, as in Summary. If empty, any.
	Host string
	// Model is a model of the trace or of any of its requests, or whole parts of
	// its name between "-", "/", ":", "@" and ".": "opus" or "claude-sonnet-4". Case does
	// not count. "=opus" is the whole name. If empty, any.
	Model string
	// Tool is a tool that the trace has a call of, or whole parts of its name, as of
	// Model, between "_", too: "mcp__postgres". If empty, any.
	Tool string
	// Branch is the branch at the trace's end. If empty, any.
	Branch string
	// Commit is the beginning of the id of a commit that a call of the trace made. If empty, any.
	Commit string
	// Among are the ids of traces as a JSON array. If empty, any.
	Among string
	// Outcome is how the trace ended, one of otelmap's outcomes. If empty, any.
	Outcome string
	// Directory is a working directory, which includes the folders below it. If
	// empty, any. Resolved is another path of it, without symbolic links, if it has one:
	// agents report either.
	Directory, Resolved string
	// Also are folders that count as Directory does, such as the repository's other worktrees.
	Also []string
	// Failed selects traces with a call that failed or never finished, or a run
	// that failed or was abandoned. Denied selects those with a call that was
	// denied or cancelled. HookRuns applies both to the hook runs instead.
	Failed, Denied bool
	// MinCost selects traces that cost at least so many US dollars, as far as prices are
	// known. If zero, any.
	MinCost float64
	// Since is the earliest start, Until is after the latest, Ended the earliest end. If zero, any.
	Since, Until, Ended time.Time
	// Text selects traces with a span whose texts have all words: the task, the
	// prompts, the answers, the tools' arguments and results, the error messages. A
	// word of at least four letters may be the beginning of one; words in double quotes are a
	// phrase. Case, accents and
	// punctuation do not count. A text without a letter or digit, or of more
	// than 64 words, is an ErrText.
	Text string
}

// Orders are the values of Filter.Sort: the cost, how long a task took, and how many of its
// calls failed.
var Orders = []string{"cost", "time", "failures"}

// order is the part of a query that sorts the traces.
func (f Filter) order() string {
	by := map[string]string{"cost": `cost DESC, `, "time": `CASE WHEN started > 0 THEN max(0, ended - started) END DESC, `, "failures": `tool_failures DESC, `}[f.Sort]
	return ` ORDER BY ` + by + `started DESC, trace_id DESC`
}

// sameModel reports whether a model's name is want, or has want as whole parts. After "=" want
// is the whole name, in its case: sums tell "Bash" from another agent's "bash".
func sameModel(model, want string) bool { return hasParts(model, want, "-/:@.") }

// SameTool reports whether a tool's name is want, or has want as whole parts.
func SameTool(tool, want string) bool { return hasParts(tool, want, "-/:@._") }

func hasParts(model, want, between string) bool {
	if whole, ok := strings.CutPrefix(want, "="); ok {
		return model == whole
	}
	model, want = strings.ToLower(model), strings.ToLower(want)
	for at := 0; at < len(model); at++ {
		i := strings.Index(model[at:], want)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(want)
		if (at == 0 || strings.IndexByte(between, model[at-1]) >= 0) && (end == len(model) || strings.IndexByte(between, model[end]) >= 0) {
			return true
		}
	}
	return false
}

// keepCalls leaves in a digest the calls and hook runs that the filter selects by their
// tool and end. Of hook runs the tool is not known.
func (f Filter) keepCalls(d *digest) {
	if f.Tool != "" {
		d.tools = slices.DeleteFunc(d.tools, func(c callsDigest) bool { return !SameTool(c.name, f.Tool) })
	}
	if !f.Failed && !f.Denied {
		return
	}
	for _, l := range []*[]callsDigest{&d.tools, &d.hooks} {
		*l = slices.DeleteFunc(*l, func(c callsDigest) bool {
			return !slices.ContainsFunc(c.calls, f.keeps)
		})
		for i := range *l {
			(*l)[i].calls = slices.DeleteFunc((*l)[i].calls, func(c call) bool { return !f.keeps(c) })
		}
	}
}

// keeps reports whether a call ended as the filter wants.
func (f Filter) keeps(c call) bool {
	return f.Failed && c.end().Failed() || f.Denied && c.end() == otelmap.EndDenied
}

// In reports whether a folder is the filter's Directory or below it.
func (f Filter) In(folder string) bool {
	return f.Directory == "" || slices.ContainsFunc(f.directories(), func(dir string) bool { return otelmap.Below(folder, dir) })
}

// directories are the folders of which a trace must have one, nil if any is right.
func (f Filter) directories() []string {
	return slices.DeleteFunc(append([]string{f.Directory, f.Resolved}, f.Also...), func(dir string) bool { return dir == "" })
}

// limited returns the limit, negative for none.
func (f Filter) limited() int {
	if f.Limit == 0 {
		return DefaultLimit
	}
	return f.Limit
}
