package view

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// drawnPlace is a worktree of the drawn histories: what is checked out there, and whether that is known.
type drawnPlace struct {
	repository, branch string
	known              bool
}

// drawSessions stores tasks of several sessions, each in a worktree in which branches change during
// a task, with subagents in it and in others. It returns what was spent where, by the truth, and
// how much of it the spans can say.
func drawSessions(t *rapid.T, s *store.Store) (spent map[store.Checkout]int64, all int64) {
	spent = make(map[store.Checkout]int64)
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	price := func() int64 { return int64(rapid.IntRange(0, 999_999).Draw(t, "micro-dollars")) }
	here := func() drawnPlace {
		p := drawnPlace{pick("repository", "https://github.com/o/shop", "https://github.com/o/web", "notes", ""), pick("branch", "main", "fix", "feat/a", ""), true}
		p.known = p.branch != "" && rapid.IntRange(0, 5).Draw(t, "known") > 0
		return p
	}
	for n := range rapid.IntRange(1, 5).Draw(t, "tasks") {
		b := newBuild(fmt.Sprint("drawn ", n))
		parts := rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "parts")
		for part := range parts {
			// The branch at the end is the root's.
			end, sum, from := here(), int64(0), time.Duration(n*10+part)*time.Hour
			root := b.Add(-1, "invoke_agent", from, from+time.Hour, str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyHost, "claude-code"),
				str(otelmap.KeyConversationID, fmt.Sprint("s", n)), str(otelmap.KeyRepositoryURL, end.repository))
			if end.known {
				b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyBranch, end.branch))
			}
			rootSpan := b.Last()
			count := func(p drawnPlace, micros int64) {
				at := store.Checkout{Repository: cmp.Or(p.repository, end.repository), Branch: p.branch}
				if !p.known {
					at.Branch = ""
				}
				spent[at] += micros
				sum, all = sum+micros, all+micros
			}
			parent, moved := root, false
			for i := range rapid.IntRange(0, 5).Draw(t, "requests") {
				p := end
				if rapid.IntRange(0, 2).Draw(t, "elsewhere") == 0 {
					p = here()
				}
				p.repository = cmp.Or(p.repository, end.repository)
				moved = moved || p != end
				if rapid.IntRange(0, 4).Draw(t, "subagent") == 0 {
					call := b.Tool(root, "Agent", "{}", from, from+time.Minute)
					parent = b.Add(call, "invoke_agent Explore", from, from+time.Minute, str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyAgentName, "Explore"))
				}
				micros := price()
				b.Chat(parent, from+time.Duration(i)*time.Minute, from+time.Duration(i+1)*time.Minute, usageAttrs(10, 1, 0, float64(micros)/1e6)...)
				var own []*commonpb.KeyValue
				other := p.repository != end.repository
				if other {
					own = append(own, str(otelmap.KeyRepositoryURL, p.repository))
				}
				switch { // as otelmap has it
				case p.known && (other || !(end.known && p.branch == end.branch)):
					own = append(own, str(otelmap.KeyBranch, p.branch))
				case !p.known && (other || end.known):
					own = append(own, otlp.Bool(otelmap.KeyBranchUnknown, true))
				}
				b.Last().Attributes = append(b.Last().Attributes, own...)
				count(p, micros)
				if !strings.HasPrefix(p.repository, "https") || rapid.IntRange(0, 2).Draw(t, "call") > 0 {
					continue
				}
				// A pull request is made on the branch, or another one is looked at.
				command := pick("command", "gh pr create --fill", "gh pr create --fill", "gh pr view 9 --json url -q .url", "gh pr comment 9 --body x", "gh pr create; gh pr view 9", "echo gh pr create")
				url := p.repository + "/pull/9"
				if command == "gh pr create --fill" && p.branch != "" && p.branch != "main" {
					url = pullAt(p.repository, p.branch)
				}
				at := from + time.Duration(i)*time.Minute + 30*time.Second
				b.Tool(parent, "Bash", rawjson.Encode(map[string]string{"command": command}), at, at+time.Second)
				b.Last().Attributes[4] = str(otelmap.KeyToolResult, url)
			}
			if rest := rapid.IntRange(0, 1).Draw(t, "rest"); rest > 0 || sum > 0 {
				p := end
				if moved {
					p.known = false
					rootSpan.Attributes = append(rootSpan.Attributes, otlp.Bool(otelmap.KeyBranchUnknown, true))
				}
				if micros := price() * int64(rest); parts > 1 {
					spent[store.Checkout{}] += micros // it is not known of which part
					sum, all = sum+micros, all+micros
				} else if micros > 0 {
					count(p, micros)
				}
				rootSpan.Attributes = append(rootSpan.Attributes, num(otelmap.KeyRunInputTokens, 1000), float(otelmap.RunKey(otelmap.KeyCost), float64(sum)/1e6))
			}
		}
		if err := s.UploadTraces(t.Context(), b.Messages()); err != nil {
			t.Fatal(err)
		}
	}
	return spent, all
}

// pullAt is the pull request of a branch in the drawn histories.
func pullAt(repository, branch string) string {
	return fmt.Sprintf("%s/pull/%d", repository, 100+len(branch))
}

// TestRequestsAreSummedByWhatWasCheckedOut holds the sums against the truth of drawn histories: no
// dollar is under the name of another branch or repository, and groups equal the total.
func TestRequestsAreSummedByWhatWasCheckedOut(t *testing.T) {
	recognized := 0
	defer func() {
		if recognized == 0 {
			t.Error("no pull request was recognized")
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		s, err := store.Open(t.Context(), filepath.Join(ramdir.New(t), "traces.db"))
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		spent, all := drawSessions(rt, s)
		for _, by := range []store.By{ByBranch, ByRepository, ByPull} {
			sums, err := SumBy(t.Context(), s, store.Filter{}, time.UTC, by, nil)
			if err != nil {
				rt.Fatal(err)
			}
			want, got := make(map[store.Checkout]int64), make(map[store.Checkout]int64)
			for c, micros := range spent {
				if by == ByRepository {
					c.Branch = ""
				} else if c.Branch == "" {
					c.Repository = ""
				}
				want[c] += micros
			}
			for _, g := range sums.Groups {
				c := store.Checkout{Repository: g.Repository, Branch: g.Key}
				if by == ByRepository {
					c = store.Checkout{Repository: g.Key}
				}
				if _, twice := got[c]; twice {
					rt.Errorf("by %s: %v is there twice", by, c)
				}
				got[c] = micros(g.Usage)
				if by == ByPull && g.Key != "" {
					recognized++
				}
			}
			if by == ByPull { // one that is not recognized is not known
				want = make(map[store.Checkout]int64)
				for c, micros := range spent {
					pull := store.Checkout{Branch: pullAt(c.Repository, c.Branch)}
					if _, known := got[pull]; !known || c.Branch == "" || c.Branch == "main" {
						pull = store.Checkout{}
					}
					want[pull] += micros
				}
			}
			maps.DeleteFunc(want, func(_ store.Checkout, n int64) bool { return n == 0 })
			maps.DeleteFunc(got, func(_ store.Checkout, n int64) bool { return n == 0 })
			if !maps.Equal(want, got) {
				rt.Errorf("by %s: spent %v, shown %v", by, want, got)
			}
			if total := micros(sums.Line.Usage); total != all || total != sumMicros(got) {
				rt.Errorf("by %s: the groups are %d micro-dollars, the total is %d of %d", by, sumMicros(got), total, all)
			}
		}
	})
}

func micros(u *store.Usage) int64 { return int64(math.Round(u.Cost() * 1e6)) }

func sumMicros(of map[store.Checkout]int64) (sum int64) {
	for n := range maps.Values(of) {
		sum += n
	}
	return sum
}
