package view

import (
	"testing"

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
