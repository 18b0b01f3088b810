package ui

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// tasksIn stores traces of one span, each with a session and an agent.
func tasksIn(t *testing.T, s *store.Store, tasks ...[2]string) {
	t.Helper()
	var spans []*tracepb.Span
	for i, task := range tasks {
		spans = append(spans, &tracepb.Span{
			TraceId: fmt.Appendf(nil, "%016d", i+1), SpanId: fmt.Appendf(nil, "%08d", i+1), Name: "invoke_agent x",
			StartTimeUnixNano: uint64(i+1) * 1e9, EndTimeUnixNano: uint64(i+1)*1e9 + 5e8,
			Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyConversationID, task[0]), otlp.String(otelmap.KeyHost, task[1]),
				otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted), otlp.String(otelmap.KeyWorkingDirectory, "/so\u00adft"),
			},
		})
	}
	if err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}); err != nil {
		t.Fatal(err)
	}
}

func emptyStore(t *testing.T) (*store.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.db")
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, path
}

// ask decodes the answer to a call of the API.
func ask[T any](t *testing.T, addr, path string) (v T) {
	t.Helper()
	status, answer := send(t, addr, strings.Replace(apiCall, "sessions", path, 1)+"\n")
	if err := json.Unmarshal([]byte(answer), &v); err != nil || status != 200 {
		t.Fatalf("%s: %d %s %v", path, status, answer, err)
	}
	return v
}

type sessionAnswer struct {
	Traces []struct{ Summary store.Summary }
	Totals store.Totals
}

type turnAnswer struct {
	Task, Tasks   int
	Before, After string
}

func TestSessionsAreThoseOfTheirWholeID(t *testing.T) {
	s, _ := emptyStore(t)
	tasksIn(t, s, [2]string{"s1", "cline"}, [2]string{"s10", "cline"}, [2]string{"s1", "codex"}, [2]string{"s1", "cline"}, [2]string{"s1x", "cline"})
	addr := listening(t, Options{Store: s, Token: testToken})
	for path, want := range map[string]int{"session/s1?agent=cline": 2, "session/s1?agent=codex": 1, "session/s1": 2, "session/s10": 1} {
		got := ask[sessionAnswer](t, addr, path)
		if len(got.Traces) != want || got.Totals.Traces != want {
			t.Errorf("%s: %d turns, sums of %d, want %d", path, len(got.Traces), got.Totals.Traces, want)
		}
	}
	id := func(n int) string { return fmt.Sprintf("%x", fmt.Sprintf("%016d", n)) }
	for n, want := range map[int]turnAnswer{1: {1, 2, "", id(4)}, 4: {2, 2, id(1), ""}, 3: {1, 1, "", ""}} {
		if got := ask[turnAnswer](t, addr, "traces/"+id(n)); got != want {
			t.Errorf("task %d: %+v, want %+v", n, got, want)
		}
	}
}

func TestTurnsPastAThousandAreCounted(t *testing.T) {
	s, _ := emptyStore(t)
	tasks := make([][2]string, 1203)
	for i := range tasks {
		tasks[i] = [2]string{"long", "cline"}
	}
	tasksIn(t, s, tasks...)
	addr := listening(t, Options{Store: s, Token: testToken})
	for _, n := range []int{1, 150, 1203} {
		if got := ask[turnAnswer](t, addr, fmt.Sprintf("traces/%x", fmt.Sprintf("%016d", n))); got.Task != n || got.Tasks != 1203 {
			t.Errorf("task %d of %d, want %d of 1203", got.Task, got.Tasks, n)
		}
	}
	if got := ask[sessionAnswer](t, addr, "session/long"); len(got.Traces) != maxTurns || got.Totals.Traces != 1203 {
		t.Errorf("%d turns, sums of %d", len(got.Traces), got.Totals.Traces)
	}
}

// TestAnswersAreReadAgainWhenTheStoreChanges counts the reads of the store.
func TestAnswersAreReadAgainWhenTheStoreChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "traces.db")
	old := time.Now().Add(-time.Hour)
	touch := func(at time.Time) {
		t.Helper()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{StoreFiles: []string{file, file + "-wal"}})
	reads := 0
	read := func(key string, share int) {
		t.Helper()
		if _, err := keep(s, key, share, func() (int, error) { reads++; return reads, nil }); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range []struct {
		what  string
		touch time.Time
		key   string
		share int
		want  int
	}{
		{"the first time", old, "a", 0, 1},
		{"again", old, "a", 0, 1},
		{"another question", old, "b", 0, 2},
		{"after a change", old.Add(time.Second), "a", 0, 3},
		{"just after a change, which another one may follow at the same time", time.Now(), "a", 0, 4},
		{"once more", time.Now(), "a", 0, 5},
		{"what is rarely read, the first time", old, "c", 200, 6},
		{"what is rarely read and takes long, after a change", old.Add(time.Minute), "c", 200, 6},
	} {
		touch(step.touch)
		if slow, ok := s.answers.by["c"]; ok {
			slow.took = time.Hour
			s.answers.by["c"] = slow
		}
		read(step.key, step.share)
		if reads != step.want {
			t.Errorf("%d, %s: %d reads, want %d", i, step.what, reads, step.want)
		}
	}
}

// TestTwoTasksKeepTheirVersions asks for two tasks by turns, as two tabs do, and for more
// rows than are kept.
func TestTwoTasksKeepTheirVersions(t *testing.T) {
	s, _ := emptyStore(t)
	tasksIn(t, s, make([][2]string, 12)...)
	server := New(Options{Store: s, Token: testToken})
	get := func(n int) *loaded {
		t.Helper()
		l, err := server.traces.get(context.Background(), server, fmt.Sprintf("%x", fmt.Sprintf("%016d", n)))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one, two := get(1), get(2)
	if get(1) != one || get(2) != two {
		t.Error("two tasks evict each other")
	}
	for n := range 12 {
		get(n + 1)
	}
	if again := get(1); again == one || again.version != one.version {
		t.Errorf("after others the task is kept: %v, and has version %d, before %d", again == one, again.version, one.version)
	}
}

func TestValuesOfFiltersAreSentBackAsTheyAre(t *testing.T) {
	s, _ := emptyStore(t)
	tasksIn(t, s, [2]string{"s\u202e1", "cline"})
	addr := listening(t, Options{Store: s, Token: testToken})
	facets := ask[map[string][]struct{ Value, Shown string }](t, addr, "facets")
	if got := facets["project"]; len(got) != 1 || got[0].Value != "/so\u00adft" || got[0].Shown != "/so⟨U+00AD⟩ft" {
		t.Errorf("%+v", got)
	}
	list := ask[struct {
		Traces []struct {
			Summary          store.Summary
			Project, Session string
		}
	}](t, addr, "sessions")
	if got := list.Traces[0]; got.Project != "/so\u00adft" || got.Session != "s\u202e1" || got.Summary.Session != "s⟨U+202E⟩1" {
		t.Errorf("%+v", got)
	}
}

// TestFilesAreThoseOfThisStart compares the digests in the shell with the files, and two starts.
func TestFilesAreThoseOfThisStart(t *testing.T) {
	a, b := New(Options{}), New(Options{})
	found := regexp.MustCompile(`"(/assets/[0-9a-f]{32}/([a-z]+\.[a-z]+))" integrity="sha384-([^"]+)"`).FindAllSubmatch(a.files["index.html"], -1)
	if len(found) != 3 {
		t.Fatalf("%d files in %s", len(found), a.files["index.html"])
	}
	for _, m := range found {
		sum := sha512.Sum384(a.files[string(m[1])])
		if base64.StdEncoding.EncodeToString(sum[:]) != string(m[3]) {
			t.Errorf("%s has another digest", m[2])
		}
		if b.files[string(m[1])] != nil {
			t.Errorf("another start has %s, too", m[1])
		}
	}
	if first, second := NewHost(), NewHost(); first == second {
		t.Error("two starts have one name")
	}
}

// TestATableLeadsToItsOwnCalls follows each line of the tools to the calls: two agents have tools
// whose names differ in case only.
func TestATableLeadsToItsOwnCalls(t *testing.T) {
	s, _ := emptyStore(t)
	k := &task{id: 7}
	run := k.run("x", "s", "/x", otelmap.OutcomeCompleted, 0, 9)
	for _, name := range []string{"Bash", "bash", "bash", "=bash", "a&b#c"} {
		k.tool(run, name, "{}", "", 1, 2)
	}
	if err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: k.spans}}}}); err != nil {
		t.Fatal(err)
	}
	addr := listening(t, Options{Store: s, Token: testToken})
	sums := ask[struct {
		Groups map[string][]struct {
			Value     string
			ToolCalls int
		}
	}](t, addr, "usage").Groups["tool"]
	if len(sums) != 4 {
		t.Fatalf("%+v", sums)
	}
	for _, sum := range sums {
		if got := ask[sessionAnswer](t, addr, "calls?tool="+url.QueryEscape("="+sum.Value)); got.Totals.Calls != sum.ToolCalls {
			t.Errorf("%s: %d calls, want %d", sum.Value, got.Totals.Calls, sum.ToolCalls)
		}
	}
}

// TestAnEmptyStoreSaysWhatAnImportFinds asks before and after the first task.
func TestAnEmptyStoreSaysWhatAnImportFinds(t *testing.T) {
	s, _ := emptyStore(t)
	looked := 0
	addr := listening(t, Options{
		Store: s, Token: testToken, Hooked: func(context.Context) []string { return []string{} },
		Past: func(context.Context) []string {
			looked++
			return []string{"Claude Code: 41 sessions", "Codex: 11 sessions"}
		},
	})
	type about struct{ Past, Hooked []string }
	if got := ask[about](t, addr, "about"); len(got.Past) != 2 || got.Hooked == nil {
		t.Errorf("an empty store: %+v", got)
	}
	tasksIn(t, s, [2]string{"a", "s1"})
	if got := ask[about](t, addr, "about"); got.Past != nil || got.Hooked == nil || looked != 1 {
		t.Errorf("with a task: %+v, looked %d times", got, looked)
	}
}

// TestTaskNamesAllFoldersOfItsWorkspace has two folders: the page links to each.
func TestTaskNamesAllFoldersOfItsWorkspace(t *testing.T) {
	for _, c := range []struct {
		folders []string
		want    string
	}{
		{nil, `{"project":"/w/lib"}`},
		{[]string{"/w/app", "/w/lib", "/w/so\u00adft"}, `{"project":"/w/lib","otherProjects":["/w/app","/w/so\u00adft"]}`},
	} {
		got, err := json.Marshal(namesOf(&store.Summary{Directory: "/w/lib", Folders: c.folders}))
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %s, %v, want %s", c.folders, got, err, c.want)
		}
	}
}
