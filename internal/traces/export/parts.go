package export

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// headOf describes a trace with its time and zone: a reader may be elsewhere.
func headOf(s *store.Summary, zone *time.Location) view.Header {
	return view.HeaderOf(s, zone, "2006-01-02 15:04:05 MST")
}

// totalOf adds summaries up.
func totalOf(all []store.Summary) []string {
	var sum store.Summary
	var took time.Duration
	unpriced := 0
	for i := range all {
		s := &all[i]
		took += s.Duration()
		sum.Tools += s.Tools
		sum.ToolFailures += s.ToolFailures
		sum.ToolDenials += s.ToolDenials
		sum.ToolsUnknown += s.ToolsUnknown
		if s.Usage == nil {
			continue
		}
		if sum.Usage == nil {
			sum.Usage = new(store.Usage)
		}
		u := sum.Usage
		u.Input += s.Usage.Input
		u.Output += s.Usage.Output
		u.CacheRead += s.Usage.CacheRead
		u.CacheWrite += s.Usage.CacheWrite
		switch {
		case s.Usage.CostUSD == nil:
			unpriced++
		case u.CostUSD == nil:
			u.CostUSD = new(*s.Usage.CostUSD)
		default:
			*u.CostUSD += *s.Usage.CostUSD
		}
	}
	out := append([]string{termtext.Plural(len(all), "trace"), view.Duration(took)}, view.Counts(&sum)...)
	if unpriced > 0 {
		out = append(out, termtext.Plural(unpriced, "trace")+" without a price")
	}
	return out
}

// withoutText returns the parts but those whose text is shown elsewhere.
func withoutText(parts []view.Part, text string) []view.Part {
	return slices.DeleteFunc(parts, func(p view.Part) bool { return p.Text == text })
}

// Holds says what exported traces have in them.
func Holds(traces []store.Summary) string {
	folders := make(map[string]bool)
	for i := range traces {
		for _, dir := range append(slices.Clone(traces[i].Folders), traces[i].Directory) {
			if dir != "" {
				folders[dir] = true
			}
		}
	}
	from := ""
	if len(folders) > 0 {
		from = " from " + termtext.Plural(len(folders), "folder")
	}
	return termtext.Plural(len(traces), "trace") + from + ": prompts, answers, commands and other tool arguments, paths, and the\n" +
		"beginnings of outputs and file contents. Secrets that hookspan recognizes are\nremoved; read it before you share it."
}
