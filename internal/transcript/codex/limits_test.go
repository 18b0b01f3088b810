package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// TestLimitsOfThePlan reads what Codex 0.171 wrote against a mock model that sends the headers of a
// plan. In other.jsonl they are also of a single model, and no row says more than that.
func TestLimitsOfThePlan(t *testing.T) {
	at := time.Date(2026, 11, 29, 15, 23, 57, 0, time.UTC)
	resets := time.Date(2026, 11, 29, 17, 24, 0, 0, time.UTC)
	for name, want := range map[string][]hook.Limit{
		"codex": {
			{At: at, Window: 5 * time.Hour, Used: 21.5, Resets: resets},
			{At: at, Window: 7 * 24 * time.Hour, Used: 8, Resets: time.Date(2026, 12, 3, 15, 24, 0, 0, time.UTC)},
			{At: at, Window: 5 * time.Hour, Used: 23, Resets: resets},
		},
		"other": nil,
	} {
		const session = "01a227e7-df5f-76d2-878c-dbb3b61c3228"
		text, err := os.ReadFile(filepath.Join("testdata", "limits", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		path := filepath.Join(home, ".codex", "sessions", "2026", "11", "29", "rollout-2026-11-29T15-23-57-"+session+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		files := &transcript.Files{Home: home}
		got, err := files.Read(t.Context(), Agent, transcript.Query{Session: session})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.Limits); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestHostileLimitsAreNone(t *testing.T) {
	for name, limits := range map[string]string{
		"absent":            `null`,
		"a text":            `"primary"`,
		"an empty one":      `{}`,
		"a list":            `{"primary":[50]}`,
		"null":              `{"primary":null,"secondary":null}`,
		"without a share":   `{"primary":{"window_minutes":300,"resets_at":1795973039}}`,
		"no number":         `{"primary":{"used_percent":"NaN","window_minutes":300,"resets_at":1795973039}}`,
		"a negative share":  `{"primary":{"used_percent":-5,"window_minutes":300,"resets_at":1795973039}}`,
		"a huge share":      `{"primary":{"used_percent":1e300,"window_minutes":300,"resets_at":1795973039}}`,
		"a huge window":     `{"primary":{"used_percent":5,"window_minutes":1e300,"resets_at":1795973039}}`,
		"a negative window": `{"primary":{"used_percent":5,"window_minutes":-300,"resets_at":1795973039}}`,
		"no window":         `{"primary":{"used_percent":5,"resets_at":1795973039}}`,
		"no end":            `{"primary":{"used_percent":5,"window_minutes":300}}`,
		"an end that was":   `{"primary":{"used_percent":5,"window_minutes":300,"resets_at":1795965000}}`,
		"a huge end":        `{"primary":{"used_percent":5,"window_minutes":300,"resets_at":1e300}}`,
		"of a model":        `{"limit_id":"codex_other","primary":{"used_percent":5,"window_minutes":300,"resets_at":1795973039}}`,
	} {
		l := newLog(transcript.MaxText)
		var r row
		if !r.Parse([]byte(fmt.Sprintf(`{"timestamp":"2026-11-29T15:23:57.337Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":%s}}`, limits))) {
			t.Fatalf("%s: no row", name)
		}
		l.add(&r)
		if len(l.limits) > 0 {
			t.Errorf("%s: %+v", name, l.limits)
		}
	}
}
