package codex

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// tierRow is a row with settings.
func tierRow(at time.Time, tier string) string {
	if tier != "" {
		tier = `,"service_tier":"` + tier + `"`
	}
	return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"model":"gpt-5.5"%s}}}`, at.Format(time.RFC3339Nano), tier)
}

// turnRows are those of a turn with one request, which settings may follow.
func turnRows(n int, at time.Time, usage string, middle ...string) []string {
	stamp := at.Format(time.RFC3339Nano)
	rows := []string{
		fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"task_started","turn_id":"turn-%d"}}`, stamp, n),
		fmt.Sprintf(`{"timestamp":%q,"type":"turn_context","payload":{"turn_id":"turn-%d","model":"gpt-5.5"}}`, stamp, n),
	}
	rows = append(rows, middle...)
	for i := range 5 { // so that a reading from a time finds where to begin
		rows = append(rows, fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"reasoning","id":"rs_%d"}}`, stamp, i))
	}
	return append(rows,
		fmt.Sprintf(`{"timestamp":%q,"type":"token_usage_record","payload":{"response_id":"resp_%d","usage":%s}}`, stamp, n, usage),
		fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":{"type":"task_complete","turn_id":"turn-%d"}}`, stamp, n),
	)
}

const (
	tierSession = "01a203a0-228b-7012-bf93-1ab49890d26e"
	tierUsage   = `{"input_tokens":1000,"cached_input_tokens":600,"cache_write_input_tokens":0,"output_tokens":50}`
)

// tierFiles finds a session of some rows.
func tierFiles(t *testing.T, rows []string) *transcript.Files {
	t.Helper()
	f := finder(t, "")
	dir := filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "22")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	head := `{"timestamp":"2026-11-22T12:00:00Z","type":"session_meta","payload":{"id":"` + tierSession + `","cli_version":"0.169.0"}}`
	text := strings.Join(append([]string{head}, rows...), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, prefix+"2026-11-22T12-00-00-"+tierSession+suffix), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTheTierOfARequestHasItsCost has turns under settings that Codex records when they
// change: before a turn, or in it.
func TestTheTierOfARequestHasItsCost(t *testing.T) {
	const price = 0.002 + 0.0003 + 0.0015
	begin := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(n int) time.Time { return begin.Add(time.Duration(n) * 10 * time.Minute) }
	var rows []string
	var want []float64 // by turn, zero for none
	turn := func(cost float64, middle ...string) {
		rows = append(rows, turnRows(len(want), at(len(want)), tierUsage, middle...)...)
		want = append(want, cost)
	}
	turn(price, tierRow(begin, ""))
	turn(price)
	rows = append(rows, tierRow(at(2), "priority"))
	turn(2.5 * price)
	turn(2.5 * price)
	rows = append(rows, tierRow(at(4), "default"))
	turn(price)
	turn(price, `{"timestamp":"2026-11-22T12:50:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"thread_settings_applied \"service_tier\":\"flex\""}]}}`)
	turn(0, tierRow(at(6), "flex"))
	turn(price, tierRow(at(7), "standard"))
	turn(price)

	f := tierFiles(t, rows)
	check := func(tr *hook.Transcript, want []float64) {
		t.Helper()
		if len(tr.Requests) != len(want) {
			t.Fatalf("%d requests, want %d", len(tr.Requests), len(want))
		}
		for i, c := range tr.Requests {
			got := 0.0
			if c.Usage.CostUSD != nil {
				got = *c.Usage.CostUSD
			}
			if math.Abs(got-want[i]) > 1e-12 {
				t.Errorf("request %s of %s costs %v, want %v", c.ID, c.Turn, got, want[i])
			}
		}
	}
	whole, err := f.Read(t.Context(), Agent, transcript.Query{Session: tierSession})
	if err != nil {
		t.Fatal(err)
	}
	check(whole, want)
	for n := 1; n < len(want); n++ {
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: tierSession, Since: at(n)})
		if err != nil {
			t.Fatal(err)
		}
		check(tr, want[n:])
	}
}

// TestATierOutOfReachHasNoCost reads the last turns of a file whose settings are further
// away than may be read.
func TestATierOutOfReachHasNoCost(t *testing.T) {
	begin := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	rows := turnRows(0, begin, tierUsage, tierRow(begin, ""))
	for range 20 {
		rows = append(rows, fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"reasoning","text":%q}}`, begin.Format(time.RFC3339Nano), strings.Repeat("x", 50_000)))
	}
	rows = append(rows, turnRows(1, begin.Add(10*time.Minute), tierUsage)...)
	last := begin.Add(20 * time.Minute)
	f := tierFiles(t, append(rows, turnRows(2, last, tierUsage)...))
	for limit, want := range map[int64]bool{600_000: false, 6_000_000: true} {
		f.MaxBytes = limit
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: tierSession, Since: last})
		if err != nil || len(tr.Requests) != 1 || (tr.Requests[0].Usage.CostUSD != nil) != want {
			t.Errorf("up to %d bytes: requests %+v, %v; want a cost: %v", limit, tr.Requests, err, want)
		}
	}
}

// TestSettingsAreSearchedOnlySoFar reads the last turn of a file with a bound on how far
// before it the settings are searched.
func TestSettingsAreSearchedOnlySoFar(t *testing.T) {
	begin := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	rows := turnRows(0, begin, tierUsage, tierRow(begin, ""))
	for range 20 {
		rows = append(rows, fmt.Sprintf(`{"timestamp":%q,"type":"response_item","payload":{"type":"reasoning","text":%q}}`, begin.Format(time.RFC3339Nano), strings.Repeat("x", 50_000)))
	}
	rows = append(rows, turnRows(1, begin.Add(10*time.Minute), tierUsage)...)
	last := begin.Add(20 * time.Minute)
	f := tierFiles(t, append(rows, turnRows(2, last, tierUsage)...))
	list, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %v, error %v", list, err)
	}
	f.MaxBytes = 64 << 20
	for within, tier := range map[int]string{500_000: unknownTier, 2_000_000: ""} {
		l := newLog(transcript.MaxText)
		l.costs, l.settingsWithin = true, within
		if err := l.readFile(t.Context(), f, list[0].Path, transcript.Query{Session: tierSession, Since: last}); err != nil || l.tier != tier {
			t.Errorf("within %d bytes: tier %q, %v; want %q", within, l.tier, err, tier)
		}
	}
}

// TestCostsOfRecordedSessions sums what the requests cost by the list, by hand: in
// gpt-5.5 409, 400 and so on tokens of input that are not cached at $5, the cached ones
// at $0.50, output at $30.
func TestCostsOfRecordedSessions(t *testing.T) {
	for name, want := range map[string]float64{
		"direct":          ((8360-4836)*5 + 4836*0.5 + 436*30) / 1e6,
		"direct-0.140":    ((8360-4836)*1.25 + 4836*0.125 + 436*10) / 1e6, // gpt-5.1-codex
		"codemode-resume": ((8240-4824)*10 + 4824*1 + 424*50) / 1e6,       // gpt-6-astra
		"subagent-v1":     ((6210-3621)*1.25 + 3621*0.125 + 321*10) / 1e6,
		"subagent-v2":     ((5150-3015)*10 + 3015*1 + 265*50) / 1e6,
	} {
		_, _, tr := newest(t, name)
		sum := 0.0
		for _, c := range tr.Requests {
			if c.Usage.CostUSD == nil {
				t.Errorf("%s: request %s has no cost", name, c.ID)
				continue
			}
			sum += *c.Usage.CostUSD
		}
		if math.Abs(sum-want) > 1e-12 {
			t.Errorf("%s costs %v, want %v", name, sum, want)
		}
	}
}
