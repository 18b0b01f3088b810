package view

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestFailuresThatDifferInNumbersAreOne has each group's messages in one line.
func TestFailuresThatDifferInNumbersAreOne(t *testing.T) {
	groups := [][]string{
		{"error: timed out after 120ms", "error: timed out after 1.2s", "error: timed out after 30s", "error: timed out after 1m20s", "error: timed out after 2h3m4.5s", "error: timed out after 450µs", "error: timed out after 5min"},
		{"error: file of 10MB is too large", "error: file of 1,234 is too large", "error: file of 2.5GiB is too large", "error: file of 512kb is too large", "error: file of 99 is too large"},
		{"fatal: status 0xC0000005", "fatal: status 0xc0", "fatal: status 0x1F"},
		{"error: at 2026-01-02T15:04:05Z", "error: at 2026-11-30T01:00:59.123Z"},
		{"error: commit 1f3a9c2", "error: commit 77E01BD"},
		{"error: 50% done", "error: 7% done"},
		{"error: utf8 is wanted"},
		{"error: no such host deadbeef"},
		{"error: 2to3 not found"},
		{"error: 7z not found"},
		{"error: h264 codec"},
		{"error: h265 codec"},
	}
	sums := Sums{By: ByFailure}
	for _, messages := range groups {
		for _, m := range messages {
			sums.Add(&store.Work{Calls: []store.Call{{Tool: "Bash", Status: otelmap.EndFailed, Error: m}}})
		}
	}
	got := make(map[int]int) // groups by their calls
	for _, g := range sums.Groups() {
		got[g.Calls]++
		if len(sums.Groups()) != len(groups) {
			t.Log(g.Key, g.Calls)
		}
	}
	if len(sums.Groups()) != len(groups) || got[7] != 1 || got[5] != 1 || got[3] != 1 || got[2] != 3 {
		t.Errorf("groups by their calls: %v", got)
	}
}

// TestDeniedEdits counts the edits that were denied, by model and on a side, which has the time of the
// tasks without denials too.
func TestDeniedEdits(t *testing.T) {
	const s = time.Second
	st, err := store.Open(t.Context(), filepath.Join(ramdir.New(t), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for i, denied := range [][]string{{"Edit", "Bash"}, {}, {"Edit", "Edit"}} {
		b := newBuild(fmt.Sprint("task", i))
		root := b.Root("Work", otelmap.OutcomeCompleted, []time.Duration{9 * s, 5 * s, 4 * s}[i])
		edit := `{"file_path":"a.go","old_string":"a","new_string":"b"}`
		b.Tool(root, "Edit", edit, 0, s)
		for n, tool := range denied {
			arguments := map[string]string{"Edit": edit, "Bash": `{"command":"make"}`}[tool]
			b.Tool(root, tool, arguments, time.Duration(n+1)*s, time.Duration(n+2)*s)
			b.Fail(otelmap.ErrorToolDenied, "The user rejected it")
		}
		if err := st.UploadTraces(t.Context(), b.Messages()); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := SumBy(t.Context(), st, store.Filter{}, time.UTC, store.ByModel, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, g := range sums.Groups {
		got[g.Key] = g.EditsDenied
	}
	if want := map[string]int{"claude-sonnet-4-5": 3}; !maps.Equal(got, want) {
		t.Errorf("denied edits by model: %v, want %v", got, want)
	}
	side, err := SideOf(t.Context(), st, "all", store.Filter{})
	if err != nil || side.EditsDenied != 3 || side.P50 != 5*s || side.Traces != 3 {
		t.Errorf("a side has %d denied edits of %d tasks, P50 %s, %v; want 3 of 3, 5s", side.EditsDenied, side.Traces, side.P50, err)
	}
}
