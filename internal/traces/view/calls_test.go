package view

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

func TestCallFilterSelects(t *testing.T) {
	edit := store.Call{Tool: "Edit", Arguments: `{"file_path":"/home/dev/shop/auth/login.go","old_string":"a","new_string":"b"}`, Took: time.Second, CostUSD: new(0.2), Status: otelmap.EndOK}
	shell := store.Call{Tool: "Bash", Command: "npm test", Arguments: `{"command":"cd web && npm test -- --run"}`, Status: otelmap.EndFailed}
	query := store.Call{Tool: "mcp__postgres__query", Server: "postgres", Arguments: `{"sql":"select 1"}`, Status: otelmap.EndDenied}
	for name, c := range map[string]struct {
		f    CallFilter
		want [3]bool // edit, shell, query
	}{
		"nothing":            {CallFilter{}, [3]bool{true, true, true}},
		"a tool":             {CallFilter{Tool: "edit"}, [3]bool{true, false, false}},
		"a server":           {CallFilter{Tool: "postgres"}, [3]bool{false, false, true}},
		"a part of a tool":   {CallFilter{Tool: "mcp__postgres"}, [3]bool{false, false, true}},
		"no part of a word":  {CallFilter{Tool: "post"}, [3]bool{false, false, false}},
		"a command":          {CallFilter{Command: "npm test"}, [3]bool{false, true, false}},
		"a command's start":  {CallFilter{Command: "npm te"}, [3]bool{false, true, false}},
		"another command":    {CallFilter{Command: "test npm"}, [3]bool{false, false, false}},
		"a folder":           {CallFilter{File: "auth/"}, [3]bool{true, false, false}},
		"a file":             {CallFilter{File: "login.go"}, [3]bool{true, false, false}},
		"a path":             {CallFilter{File: "shop/auth/login.go"}, [3]bool{true, false, false}},
		"a pattern":          {CallFilter{File: "*.go"}, [3]bool{true, false, false}},
		"a file as a folder": {CallFilter{File: "login.go/"}, [3]bool{false, false, false}},
		"a part of a name":   {CallFilter{File: "ogin.go"}, [3]bool{false, false, false}},
		"edits":              {CallFilter{Edits: true}, [3]bool{true, false, false}},
		"failed":             {CallFilter{Failed: true}, [3]bool{false, true, false}},
		"denied":             {CallFilter{Denied: true}, [3]bool{false, false, true}},
		"failed or denied":   {CallFilter{Failed: true, Denied: true}, [3]bool{false, true, true}},
		"slow":               {CallFilter{MinTook: time.Second}, [3]bool{true, false, false}},
		"dear":               {CallFilter{MinCost: 0.2}, [3]bool{true, false, false}},
		"dearer":             {CallFilter{MinCost: 0.21}, [3]bool{false, false, false}},
		"a blank command":    {CallFilter{Command: " "}, [3]bool{true, true, true}},
	} {
		if got := [3]bool{c.f.Selects(&edit), c.f.Selects(&shell), c.f.Selects(&query)}; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestEachFileOfACallIsFound has the forms in which tools are given several files.
func TestEachFileOfACallIsFound(t *testing.T) {
	for _, c := range []struct{ tool, arguments string }{
		{"read_files", `{"files":[{"path":"lib/b.go"},{"path":"src/a.go","start_line":2}]}`},
		{"read_files", `{"files":["lib/b.go","src/a.go"]}`},
		{"read_files", `{"files":"src/a.go"}`},
		{"read_files", `{"file_paths":["src/a.go"]}`},
		{"read_files", `"src/a.go"`},
		{"read_files", `"src\\a.go"`},
		{"read_files", `src/a.go`},
		{"read_files", `["src/a.go"]`},
		{"read_many_files", `{"paths":["lib/b.go","src/a.go"]}`},
		{"read_many_files", `{"include":["lib/**/*.ts","src/a.go"]}`},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: src/z.go\n*** Move to: src/a.go\n@@\n-b\n+c\n*** End Patch"}`},
		{"mcp__files__read_multiple_files", `{"paths":["src/a.go"]}`},
		{"mcp__files__move_file", `{"source":"lib/b.go","destination":"src/a.go"}`},
		{"edit_notebook", `{"notebook_path":"src/a.go","new_source":"x"}`},
	} {
		call := store.Call{Tool: c.tool, Arguments: c.arguments}
		for file, want := range map[string]bool{"src/a.go": true, "a.go": true, "src/": true, "c.go": false} {
			if got := (CallFilter{File: file}).Selects(&call); got != want {
				t.Errorf("%s of %s %s: %v, want %v", file, c.tool, c.arguments, got, want)
			}
		}
	}
	if other := (store.Call{Tool: "grep", Arguments: `{"include":"src/a.go","pattern":"x"}`}); (CallFilter{File: "a.go"}).Selects(&other) {
		t.Error("a search has a file's pattern and no file")
	}
}

// TestFilesWithBracketsAreFound has the names that web frameworks give to routes.
func TestFilesWithBracketsAreFound(t *testing.T) {
	c := store.Call{Tool: "Read", Arguments: `{"file_path":"/shop/app/[id]/page.tsx"}`}
	for file, want := range map[string]bool{"app/[id]/page.tsx": true, "[id]/": true, "[op]age.tsx": true, "[x]age.tsx": false, "[i]/": false} {
		if got := (CallFilter{File: file}).Selects(&c); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

// TestBlocksAreThoseOfCcusage has the borders of the rule: a request five hours after the
// window's beginning is still in it, as is one five hours after the request before.
func TestBlocksAreThoseOfCcusage(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	work := func(id string, at ...time.Duration) *store.Work {
		w := &store.Work{Summary: store.Summary{TraceID: id, Runs: 1, Usage: &store.Usage{Input: int64(len(at))}}}
		for _, d := range at {
			w.Requests = append(w.Requests, store.Request{Started: day.Add(d), Usage: &store.Usage{Input: 1}})
		}
		return w
	}
	const h, m = time.Hour, time.Minute
	s := Sums{By: ByBlock}
	s.Add(work("b", 14*h+1*m, 22*h))
	s.Add(work("a", 9*h+30*m, 14*h))
	var got []string
	for _, g := range s.Groups() {
		got = append(got, g.Key[11:16], g.Until.Format("15:04"), Tokens(g.Usage.Input))
	}
	want := []string{"09:00", "14:00", "2", "14:00", "19:00", "1", "22:00", "03:00", "1"}
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got, want)
			break
		}
	}
}

// TestCallsAreInTheBlockOfTheirTime has calls before a window's first request, after the
// windows have ended, and of a task whose requests are not known.
func TestCallsAreInTheBlockOfTheirTime(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	call := func(trace string, at time.Duration) store.Call {
		return store.Call{Trace: trace, Started: day.Add(at), Status: otelmap.EndFailed}
	}
	s := Sums{By: ByBlock}
	s.Add(&store.Work{Summary: store.Summary{TraceID: "b"}, Calls: []store.Call{
		call("b", 8*time.Hour), call("b", 10*time.Hour), call("b", 17*time.Hour), call("b", 72*time.Hour),
	}})
	s.Add(&store.Work{
		Summary:  store.Summary{TraceID: "a", Usage: &store.Usage{Input: 2}},
		Requests: []store.Request{{Started: day.Add(9*time.Hour + time.Minute), Usage: &store.Usage{Input: 1}}, {Started: day.Add(20 * time.Hour), Usage: &store.Usage{Input: 1}}},
		Calls:    []store.Call{call("a", 9*time.Hour), call("a", 21*time.Hour)},
	})
	var got []int
	for _, g := range s.Groups() {
		got = append(got, g.Calls, g.Failures, g.Traces)
	}
	if want := []int{2, 2, 2, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("calls, failures and tasks: %v, want %v", got, want)
	}
}

// TestCostsWithoutACacheHaveNoMiss has an agent that reports nothing about a cache.
func TestCostsWithoutACacheHaveNoMiss(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	w := &store.Work{Summary: store.Summary{Started: at, Usage: &store.Usage{Input: 20_200}}}
	for i := range 2 {
		w.Requests = append(w.Requests, store.Request{Started: at.Add(time.Duration(i) * time.Second), Usage: &store.Usage{Input: 10_000 + int64(i)*200}})
	}
	if c := CostsOf(w, nil); len(c.Items) != 1 || strings.Contains(c.Sentence, "cache") {
		t.Errorf("%+v", c)
	}
}

func TestCostsFindTheMissAndTheOutput(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	u := func(in, cached, out int64, usd float64) *store.Usage {
		return &store.Usage{Input: in, CacheRead: cached, Output: out, CostUSD: new(usd)}
	}
	w := &store.Work{
		Summary: store.Summary{Started: at, Usage: u(72_000, 20_000, 300, 1)},
		Requests: []store.Request{
			{Span: "r1", Started: at.Add(time.Second), Usage: u(10_000, 0, 100, 0.1)},
			{Span: "r2", Started: at.Add(3 * time.Second), Usage: u(31_000, 10_000, 100, 0.3)},
			{Span: "r3", Started: at.Add(5 * time.Second), Usage: u(31_000, 10_000, 100, 0.5)},
		},
		Calls: []store.Call{{Span: "c1", Tool: "Bash", Arguments: `{"command":"cat big"}`, Started: at.Add(2 * time.Second)}},
	}
	c := CostsOf(w, nil)
	kinds := ""
	for _, i := range c.Items {
		kinds += i.Kind + " " + i.Span + " " + Tokens(i.Tokens) + "; "
	}
	if want := "requests  72.3k; other  0; cache miss r3 21.0k; output c1 20.9k; "; kinds != want {
		t.Errorf("%q, want %q", kinds, want)
	}
	if want := "$1.00: 90 % for 3 requests of the agent; 1 request missed the cache ($0.5000); the largest output added 20.9k tokens."; c.Sentence != want {
		t.Errorf("%q, want %q", c.Sentence, want)
	}
}

// TestBeforeSaysHowSessionsBegan has sessions with and without a cache and a session before.
func TestBeforeSaysHowSessionsBegan(t *testing.T) {
	o := func(input, cached int64, previous *store.Opening) *store.Opening {
		o := &store.Opening{Input: input, Previous: previous}
		if cached >= 0 {
			o.Cached = &cached
		}
		return o
	}
	const said = "Before you typed: the session's first request had "
	for want, o := range map[string]*store.Opening{
		"":                    nil,
		said + "7.0k tokens.": o(7_000, -1, nil),
		said + "14.0k tokens, 75 % of them cached; 4.0k more than in the project's session before (10.0k tokens, 0 % of them cached).": o(14_000, 10_500, o(10_000, 0, nil)),
		said + "7.0k tokens; 3.0k less than in the project's session before (10.0k tokens).":                                           o(7_000, -1, o(10_000, -1, nil)),
		said + "7.0k tokens; in the project's session before 7.0k tokens, 50 % of them cached.":                                        o(7_000, -1, o(7_000, 3_500, nil)),
	} {
		if got := CostsOf(&store.Work{}, o).Before; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPathsAreShortenedInTheTasksFolderOnly(t *testing.T) {
	for text, want := range map[string]string{
		"/src/a.go":                          "a.go",
		"cat /src/a.go '/src/b.go' x=/src/c": "cat a.go 'b.go' x=c",
		"/home/src/a.go ../src/b.go":         "/home/src/a.go ../src/b.go",
		"é/src/a /srcs/b /src":               "é/src/a /srcs/b /src",
		"/src/src/a":                         "src/a",
	} {
		if got := Relative(text, "/src/"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Relative("/src/a", "/"); got != "/src/a" {
		t.Errorf("in the root %q", got)
	}
}

// TestTheFirstCallsNeedFewTasks counts the tasks that are read of a hundred, each with five
// calls of which two failed.
func TestTheFirstCallsNeedFewTasks(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for n := range 100 {
		b := newBuild(fmt.Sprint(n))
		root := b.Root("task", otelmap.OutcomeCompleted, time.Minute)
		for i := range 5 {
			if b.Tool(root, "Bash", `{"command":"ls"}`, time.Second, 2*time.Second); i%2 > 0 {
				b.Fail(otelmap.ErrorTool, "no")
			}
		}
		if err := s.UploadTraces(t.Context(), b.Messages()); err != nil {
			t.Fatal(err)
		}
	}
	for f, want := range map[CallFilter]int{{First: true}: 2, {First: true, Failed: true}: 5, {}: 100} {
		tasks := 0
		found, all, err := f.Find(t.Context(), s, store.Filter{Limit: 10}, nil, func(*store.Work) { tasks++ })
		if err != nil || len(found) != 10 || tasks != want || !f.First && all.Calls != 500 {
			t.Errorf("%+v: %d calls of %d tasks, want 10 of %d; %d in all, %v", f, len(found), tasks, want, all.Calls, err)
		}
	}
}

// TestDeniedCallsOfARunningTaskAreNoted has a task that is not stored.
func TestDeniedCallsOfARunningTaskAreNoted(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	b := newBuild("runs")
	b.Tool(b.Root("task", otelmap.OutcomeRunning, time.Minute), "Bash", `{"command":"git push"}`, time.Second, 2*time.Second)
	b.Fail(otelmap.ErrorToolDenied, "not today")
	running := store.NewTrace(b.Messages())
	f := store.Filter{Denied: true}
	page, err := s.Page(t.Context(), f, running)
	if err != nil || len(page.Running) != 1 {
		t.Fatal(page, err)
	}
	notes, err := NotesOf(t.Context(), s, f, &page, []*store.Trace{running})
	if of := notes[running.TraceID]; err != nil || len(of) != 1 || of[0].Text != "git push  (denied by you: not today)" {
		t.Errorf("%+v, %v", notes, err)
	}
}

// TestCallsOfAWorkspaceAreThoseOfTheFolder has a task in two folders, of which each has a call.
func TestCallsOfAWorkspaceAreThoseOfTheFolder(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	b := newBuild("workspace")
	root := b.Root("task", otelmap.OutcomeCompleted, time.Minute, otlp.Strings(otelmap.KeyFolders, []string{"/home/dev/shop-api", "/home/dev/web"}))
	for i, folder := range []string{"", "/home/dev/web", "/home/dev/shop-api"} {
		at := time.Duration(i+1) * time.Second
		b.Tool(root, "Edit", `{}`, at, at+time.Second)
		b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyFolder, folder))
	}
	if err := s.UploadTraces(t.Context(), b.Messages()); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{"": 3, "/home/dev": 3, "/home/dev/shop-api": 2, "/home/dev/web": 1} {
		f := store.Filter{Directory: dir}
		found, all, err := CallFilter{Directory: dir}.Find(t.Context(), s, f, nil, nil)
		if page, perr := s.Page(t.Context(), f); perr != nil || page.Totals.Traces != 1 {
			t.Errorf("%q: %d tasks, %v", dir, page.Totals.Traces, perr)
		}
		if err == nil && (all.Calls != want || all.Traces != 1) {
			t.Errorf("%q: %d calls of %d tasks, want %d of 1: %v", dir, all.Calls, all.Traces, want, found)
		}
	}
}
