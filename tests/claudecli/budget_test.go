package claudecli_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestReachedBudgetIsToldUntilTheWebhookTakesIt has two answers that cost more than the day's budget. The
// webhook refuses the first two messages and takes the third. No further message is sent.
func TestReachedBudgetIsToldUntilTheWebhookTakesIt(t *testing.T) {
	t.Parallel()
	cache, bin := claudecli.Agent.Programs(t)
	hookspan := scenario.Hookspan(bin)
	first, last := turn("Run.", bash("echo one")), turn("All done.")
	first.In, last.In = 200_000, 100_000
	flush := hookspan("flush", "--wait")
	steps := []rig.Step{claude("run it"), {WaitTraces: 1}, flush, flush, flush, flush, hookspan("status"), hookspan("stats", "--by", "day"), hookspan("tail", "--no-follow"), hookspan("doctor")}
	res := claudecli.Agent.Try(t, cache, llm.Script{Main: []llm.Turn{first, last}}, steps, func(a *rig.Arena) error {
		return a.InstallHookspan(t.Context(), bin, []string{"HOOKSPAN_BUDGET_DAY_USD=1", "HOOKSPAN_BUDGET_WEEK_USD=100", "HOOKSPAN_BUDGET_WEBHOOK=" + rig.OTLPURL + "/webhook/2?key=t0psecret"}, "claude")
	})
	spent := regexp.MustCompile(`\$1\.2\d`).FindString(res.Steps[7].Stdout)
	want := "day " + spent + " of $1.00 (12"
	var ids []string
	for i, m := range res.Messages {
		var f struct{ ID, Budget, Level, Text string }
		if err := json.Unmarshal(m.Body, &f); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, f.ID)
		refused := m.Status == http.StatusServiceUnavailable
		if refused != (i < 2) || f.Budget != "day_usd" || f.Level != "reached" || !strings.Contains(f.Text, want) || f.ID != ids[0] {
			t.Errorf("message %d: %d %s, want %q", i+1, m.Status, m.Body, want)
		}
	}
	if len(ids) != 3 || spent == "" {
		t.Errorf("%d messages, want two that are refused and one that is taken; spent %q\n%s", len(ids), spent, res.Steps[7].Stdout)
	}
	for _, s := range res.Steps[6:] {
		if strings.Contains(s.Stdout+s.Stderr, "t0psecret") {
			t.Errorf("the webhook's address is shown:\n%s%s", s.Stdout, s.Stderr)
		}
	}
	if status, tail := res.Steps[6].Stdout, res.Steps[8].Stdout; !strings.Contains(status, "budgets      "+want) || !strings.Contains(tail, want) || !regexp.MustCompile(`budget +taken .* at `+rig.OTLPURL).MatchString(status) {
		t.Errorf("status and tail have no %q:\n%s\n%s", want, status, tail)
	}
}
