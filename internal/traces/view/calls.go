package view

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// CallFilter selects calls: those that meet every condition. The zero value selects all.
type CallFilter struct {
	// Tool is a tool, an MCP server or whole parts of a name, as in store.Filter.Model.
	Tool string
	// Command begins the command that a shell tool runs, at any of its words.
	Command string
	// File is a file of the call: a name, a folder, or the end or a middle part of a path.
	File string
	// Subagent is the kind of the subagent that made the call.
	Subagent string
	// Edits selects calls that change files. Failed and Denied are as in store.Filter; with
	// both, either suffices.
	Edits, Failed, Denied bool
	// MinTook and MinCost are the least duration and the least cost in US dollars.
	MinTook time.Duration
	MinCost float64
	// Directory and Resolved are as in store.Filter, for the call's folder.
	Directory, Resolved string
	// First ends Find with the task in which the limit is reached: its sums are of what it read.
	First bool
}

// Selects reports whether the filter selects a call.
func (f CallFilter) Selects(c *store.Call) bool {
	switch ended := c.Counted(); {
	case f.Tool != "" && !store.SameTool(c.Tool, f.Tool) && !strings.EqualFold(c.Server, f.Tool),
		f.Subagent != "" && !strings.EqualFold(c.Subagent, f.Subagent),
		(f.Failed || f.Denied) && !(f.Failed && ended.Failed() || f.Denied && ended == otelmap.EndDenied), f.File != "" && c.Own(),
		!store.Filter{Directory: f.Directory, Resolved: f.Resolved}.In(c.Directory),
		c.Took < f.MinTook, f.MinCost > 0 && (c.CostUSD == nil || *c.CostUSD < f.MinCost):
		return false
	}
	if words := strings.Fields(strings.ToLower(f.Command)); len(words) > 0 {
		if c.Command == "" || !hasWords(strings.Fields(strings.ToLower(preview(c.Arguments))), words) && !hasWords(strings.Fields(c.Command), words) {
			return false
		}
	}
	if f.File == "" && !f.Edits {
		return true
	}
	given := NewArguments(c.Tool, c.Arguments)
	if edits := given.Edits(); f.Edits && len(edits) == 0 {
		return false
	} else if f.File == "" {
		return true
	}
	return slices.ContainsFunc(given.Files(), func(file string) bool { return inPath(file, f.File) })
}

// Each calls visit with the calls of a task that the filter selects, the newest first and
// with who denied them, and adds them to sums, and the task if it has one.
func (f CallFilter) Each(w *store.Work, sums *store.Totals, visit func(*store.Call)) {
	before := sums.Calls
	defer func() { sums.Traces += min(1, sums.Calls-before) }()
	for i := range slices.Backward(w.Calls) {
		if c := &w.Calls[i]; f.Selects(c) {
			Sum(sums, c)
			c.By = Denier(c)
			visit(c)
		}
	}
}

// Find returns the calls of tasks that the filter selects, as many as the tasks' filter has
// at most, and sums over all of them. also, if it is not nil, gets each task.
func (f CallFilter) Find(ctx context.Context, s *store.Store, tasks store.Filter, running []*store.Trace, also func(*store.Work)) (found []store.Call, all store.Totals, err error) {
	found = []store.Call{}
	if f.Failed != f.Denied { // a task with such a call is quickly found
		tasks.Failed, tasks.Denied = f.Failed, f.Denied
	}
	err = s.EachWork(ctx, tasks, running, func(w *store.Work) error {
		if also != nil {
			also(w)
		}
		f.Each(w, &all, func(c *store.Call) {
			if tasks.Limit < 0 || len(found) < tasks.Limit {
				found = append(found, *c)
			}
		})
		if f.First && len(found) == tasks.Limit {
			return store.ErrEnough
		}
		return nil
	})
	if errors.Is(err, store.ErrEnough) {
		err = nil
	}
	return found, all, err
}

// hasWords reports whether a sequence of words is among others, the last one being the
// beginning of one.
func hasWords(among, words []string) bool {
	for i := 0; i+len(words) <= len(among); i++ {
		last := len(words) - 1
		if slices.Equal(among[i:i+last], words[:last]) && strings.HasPrefix(among[i+last], words[last]) {
			return true
		}
	}
	return false
}

// inPath reports whether a path has the parts of another at any place: "auth/" is in
// "src/auth/login.go" and so is "login.go".
func inPath(file, part string) bool {
	slashed := func(s string) string { return strings.ReplaceAll(s, `\`, "/") }
	file, part = "/"+strings.TrimLeft(slashed(file), "/"), slashed(part)
	if ok, err := path.Match(part, path.Base(file)); ok && err == nil {
		return true
	}
	folder := strings.HasSuffix(part, "/")
	part = "/" + strings.Trim(part, "/")
	return folder && strings.Contains(file, part+"/") || !folder && strings.Contains(file+"/", part+"/")
}

// pathNames are the parameters that are a file or several, as texts or as objects.
var pathNames = slices.Concat(otelmap.PathNames, []string{"file_paths", "filePaths", "include", "source", "destination"})

// Files are the files that a call names: those that it edits, where it moves them, and its
// parameters that are paths.
func (a *Arguments) Files() (out []string) {
	add := func(file string) {
		if file != "" && !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	for _, e := range a.Edits() {
		add(e.Path)
		add(e.To)
	}
	var named func(value []byte, depth int)
	named = func(value []byte, depth int) {
		values, _ := rawjson.Elements(value)
		members := rawjson.Members(value)
		for _, name := range pathNames {
			if v := members.Lookup(name); name != "include" || !rawjson.IsString(v) { // a text is a pattern
				values = append(values, v)
			}
		}
		for _, v := range values {
			if rawjson.IsString(v) {
				add(rawjson.Unquote(v))
			} else if depth < 2 && len(v) > 0 {
				named(v, depth+1)
			}
		}
	}
	switch reads := a.tool == "read_files"; {
	case reads && a.value == nil:
		add(cmp.Or(rawjson.Unquote([]byte(a.Text)), strings.Trim(a.Text, `"`)))
	case reads || a.members != nil:
		named(a.value, 0)
	}
	return out
}

// Relative names the files in a folder as from there.
func Relative(text, folder string) string {
	if folder = strings.TrimRight(folder, "/"); folder == "" {
		return text
	}
	var out strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, folder+"/")
		_, _ = out.WriteString(before)
		if !found {
			return out.String()
		}
		// The same names may be within another path.
		if last, _ := utf8.DecodeLastRuneInString(text[:len(text)-len(rest)+len(before)]); last != utf8.RuneError && (last == '/' || last == '.' || last == '~' || unicode.IsLetter(last) || unicode.IsNumber(last)) {
			_, _ = out.WriteString(folder + "/")
		}
		rest = after
	}
}

// Given is what a call was given, on one line, with paths as from its folder.
func Given(c *store.Call) string {
	return Relative(NewArguments(c.Tool, c.Arguments).Line(), c.Directory)
}

// Sum adds a call to sums.
func Sum(all *store.Totals, c *store.Call) {
	all.Calls++
	all.Took += c.Took
	all.Waited += c.Waited
	switch ended := c.Counted(); {
	case ended.Failed():
		all.Failures++
	case ended == otelmap.EndDenied:
		all.Denials++
	}
}

// minTool is the width to which the tools in a list of calls are cut.
const minTool = 12

// Calls writes one line for each call and, if the view has a width, a last line with the
// sums over all that were asked for.
func Calls(w io.Writer, calls []store.Call, all store.Totals, o Options) error {
	if len(calls) == 0 {
		return nil
	}
	t := &table{style: newStyle(o)}
	add := columnsOf(t, calls)
	some := func(has func(*store.Call) bool) bool {
		return o.Width <= 0 || slices.ContainsFunc(calls, func(c store.Call) bool { return has(&c) })
	}
	took := func(d time.Duration) (string, string) {
		if d == 0 {
			return "-", sgrDim
		}
		return duration(d), ""
	}
	add(&column{name: "TASK"}, func(c *store.Call) (string, string) { return store.ShortID(c.Trace), sgrBold })
	add(&column{name: "CALL", order: 3}, func(c *store.Call) (string, string) { return termtext.CutWidth(c.Span, shortID, ""), sgrDim })
	add(&column{name: "STARTED", order: 4}, func(c *store.Call) (string, string) { return t.age(c.Started), sgrDim })
	add(&column{name: "TOOK", right: true, order: 6}, func(c *store.Call) (string, string) { return took(c.Took) })
	if some(func(c *store.Call) bool { return c.Waited > 0 }) {
		add(&column{name: "WAITED", right: true, order: 5}, func(c *store.Call) (string, string) { return took(c.Waited) })
	}
	if some(func(c *store.Call) bool { return c.CostUSD != nil }) {
		cents := slices.ContainsFunc(calls, func(c store.Call) bool { return inCents(&store.Usage{CostUSD: c.CostUSD}) })
		add(&column{name: "COST", right: true, order: 7}, func(c *store.Call) (string, string) { return cost(&store.Usage{CostUSD: c.CostUSD}, cents) })
	}
	if some(func(c *store.Call) bool { return lastPart(c.Directory) != lastPart(calls[0].Directory) }) {
		add(&column{name: "PROJECT", order: 1}, func(c *store.Call) (string, string) { return t.cut(cmp.Or(lastPart(c.Directory), "-"), 20), sgrDim })
	}
	if some(func(c *store.Call) bool { return c.Subagent != "" }) {
		add(&column{name: "SUBAGENT", order: 2}, func(c *store.Call) (string, string) { return t.cut(cmp.Or(termtext.Line(c.Subagent), "-"), 16), sgrDim })
	}
	add(&column{name: "TOOL", least: minTool}, func(c *store.Call) (string, string) {
		return t.symbol(c.Status) + " " + t.cut(termtext.Line(c.Tool), 24), colors[c.Status]
	})
	add(&column{name: "WHAT", least: minTitle}, func(c *store.Call) (string, string) {
		return cmp.Or(t.join(Given(c), Reason(c)), "-"), ""
	})
	b := bufio.NewWriter(w)
	t.draw(b)
	if o.Width > 0 {
		_, _ = b.WriteString("\n" + t.paint(sgrDim, t.fitting(callSums(len(calls), all))) + "\n")
	}
	return b.Flush()
}

// callSums describes sums over calls, of which some are shown.
func callSums(shown int, all store.Totals) []string {
	parts := callCounts(all)
	if shown < all.Calls {
		parts[0] = fmt.Sprintf("%d of %s", shown, parts[0])
	}
	if all.Traces > 1 {
		parts[0] += fmt.Sprintf(" in %d tasks", all.Traces)
	}
	if parts = append(parts, duration(all.Took)); all.Waited > 0 {
		parts = append(parts, "waited "+duration(all.Waited))
	}
	return parts
}

// CallsCSV writes calls as RFC 4180 has it, with a line of names.
func CallsCSV(to io.Writer, calls []store.Call) error {
	w := csv.NewWriter(to)
	_ = w.Write([]string{
		"trace", "call", "session", "agent", "project", "started", "took_ms", "waited_ms", "cost_usd",
		"tool", "mcp_server", "subagent", "command", "status", "denied_by", "what", "files", "error",
	})
	for i := range calls {
		c := &calls[i]
		given := NewArguments(c.Tool, c.Arguments)
		started, took, waited := "", "", ""
		if c.Waited > 0 {
			waited = ms(c.Waited)
		}
		if !c.Started.IsZero() {
			started = c.Started.Format(time.RFC3339Nano)
		}
		if c.Took > 0 {
			took = ms(c.Took)
		}
		line := []string{
			c.Trace, c.Span, c.Session, c.Host, c.Directory, started, took, waited, usd(c.CostUSD),
			c.Tool, c.Server, c.Subagent, c.Command, c.Status.String(), c.By, given.Line(), strings.Join(given.Files(), " "), c.Error,
		}
		for i := range line {
			line[i] = cell(line[i])
		}
		_ = w.Write(line)
	}
	w.Flush()
	return w.Error()
}

// WriteEdits writes the changes that calls make, each below a line that names it.
func WriteEdits(w io.Writer, calls []store.Call, o Options) error {
	st, b := newStyle(o), bufio.NewWriter(w)
	for i := range calls {
		c := &calls[i]
		head := []string{store.ShortID(c.Trace), termtext.CutWidth(c.Span, shortID, ""), st.age(c.Started), lastPart(c.Directory), termtext.Line(c.Tool)}
		_, _ = b.WriteString(map[bool]string{true: "\n"}[i > 0] + st.mark(c.Status) + " " + st.paint(sgrDim, st.cut(st.join(head...), st.room()-2)) + "\n")
		for _, e := range NewArguments(c.Tool, c.Arguments).Edits() {
			_, _ = b.WriteString("  " + st.paint(sgrBold, st.cut(termtext.Line(e.Path), st.room()-2)) + "\n")
			for _, l := range e.Lines {
				_, _ = b.WriteString("  " + st.paint(signColor(l), st.cut(l, st.room()-2)) + "\n")
			}
		}
	}
	return b.Flush()
}
