package ui

import (
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestPullRequestsOfTasks has a task that made a pull request, one that worked on its branch, and
// one on another branch of the same repository.
func TestPullRequestsOfTasks(t *testing.T) {
	const url = "https://git.example/team/shop/pull/7"
	s, _ := emptyStore(t)
	for i, branch := range []string{"fix/login", "fix/login", "other"} {
		k := &task{id: byte(0xa1 + i)}
		root := k.run("claude-code", "s1", "/w", otelmap.OutcomeCompleted, float64(100*i), float64(100*i+50),
			otlp.String(otelmap.KeyRepositoryURL, "https://git.example/team/shop"), otlp.String(otelmap.KeyBranch, branch))
		k.chat(root, "m1", float64(100*i+1), float64(100*i+2), 10, 1, 0.5)
		if i == 0 {
			k.tool(root, "Bash", `{"command":"gh pr create --fill"}`, url, 3, 4)
		}
		k.chat(root, "m1", float64(100*i+5), float64(100*i+6), 10, 1, 0.5)
		if err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: k.spans}}}}); err != nil {
			t.Fatal(err)
		}
	}
	addr := listening(t, Options{Store: s, Token: testToken})
	id := func(i int) string { return strings.Repeat([]string{"a1", "a2", "a3"}[i], 16) }
	for i, want := range []bool{true, true, false} {
		answer := answerTo(t, addr, "traces/"+id(i)+"/cost")
		if !strings.HasPrefix(answer, "200 ") || strings.Contains(answer, `"pullRequests"`) != want || strings.Contains(answer, url) != want {
			t.Errorf("task %d: %s", i, answer)
		}
	}
	for filter, want := range map[string]int{"": 3, "pr=7": 2, "pr=" + url: 2, "pr=8": 0} {
		for _, path := range []string{"sessions?", "calls?"} {
			answer, found := answerTo(t, addr, path+filter), 0
			for i := range 3 {
				if strings.Contains(answer, id(i)) {
					found++
				}
			}
			if path == "calls?" {
				want = min(want, 1) // one has a call
			}
			if !strings.HasPrefix(answer, "200 ") || found != want {
				t.Errorf("%s%s: %d tasks, want %d: %s", path, filter, found, want, answer)
			}
		}
	}
	if answer := answerTo(t, addr, "work"); !strings.Contains(answer, `"key": "`+url+`"`) {
		t.Errorf("the costs have no pull request: %s", answer)
	}
}
