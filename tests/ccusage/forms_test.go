package ccusage

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// made are sessions made for the tests of the reader.
const made = "../../internal/transcript/claude/testdata/made"

// testFormsThatBothReadAlike has what Claude Code's files of several versions have beside
// the plain rows: agents of workflows in folders below the session's; histories that a
// resumed session, a fork, or a file with the rows of three sessions copies; rows that
// are there twice; a subagent's rows in the session's file, plainly or as progress; an
// advisor with its own model; compactions; rows of no model; one id in two projects.
func (p *programs) testFormsThatBothReadAlike(t *testing.T) {
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, ".claude"), os.DirFS(filepath.Join(made, "alike"))); err != nil {
		t.Fatal(err)
	}
	theirs := p.theirSums(t, home)
	days := make(map[string]bool)
	for key := range theirs {
		days[key[:len("2026-11-10")]] = true
	}
	if len(theirs) != 7 {
		t.Fatalf("ccusage found %d sums, want 7: the sessions are wrong", len(theirs))
	}
	compare(t, theirs, p.ourSums(t, home, slices.Sorted(maps.Keys(days))))
}

// testFormsThatDiffer has those that ccusage 20.0.24 reads otherwise, with the reason.
func (p *programs) testFormsThatDiffer(t *testing.T) {
	const day = "2026-11-10 "
	for name, tt := range map[string]struct{ theirs, ours map[string]usage }{
		// It takes a line for one row: the row behind a torn one is lost.
		"torn-then-glued": {
			map[string]usage{day + "claude-opus-4-6": {688, 620, 46, 42, 0.0017575}},
			map[string]usage{day + "claude-opus-4-6": {1014, 930, 51, 63, 0.00252375}},
		},
		// It refuses texts with half of a surrogate pair.
		"lone-surrogates": {nil, map[string]usage{day + "claude-opus-4-6": {676, 610, 45, 41, 0.00171625}}},
		// It refuses counts that are null or fractions. Neither program has a price.
		"proxy-rows": {nil, map[string]usage{day + "deepseek-v4-flash": {41644, 33792, 0, 762, 0}, day + "kimi-k2": {100, 0, 0, 10, 0}}},
		// It has the fast mode as another model. The sums are the same.
		"fast-mode": {
			map[string]usage{day + "claude-opus-4-6": {13000, 10000, 2000, 1000, 0.0475}, day + "claude-opus-4-6-fast": {13000, 10000, 2000, 1000, 0.285}},
			map[string]usage{day + "claude-opus-4-6": {26000, 20000, 4000, 2000, 0.3325}},
		},
		// It leaves out what the five searches cost.
		"web-search": {
			map[string]usage{day + "claude-sonnet-4-6": {1000, 0, 0, 1000, 0.018}},
			map[string]usage{day + "claude-sonnet-4-6": {1000, 0, 0, 1000, 0.068}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.CopyFS(filepath.Join(home, ".claude"), os.DirFS(filepath.Join(made, name))); err != nil {
				t.Fatal(err)
			}
			compare(t, tt.theirs, p.theirSums(t, home))
			compare(t, tt.ours, p.ourSums(t, home, []string{"2026-11-10"}))
		})
	}
}
