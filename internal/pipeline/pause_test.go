package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/spool"
)

// TestRetryAfterHoldsForAllSessions ends six sessions, each with a delivery in another
// process, while the destination asks to wait.
func TestRetryAfterHoldsForAllSessions(t *testing.T) {
	server := otlptest.New(t)
	server.Always(otlptest.Wait(429, "60"))
	s := newSetup(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+server.URL())
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	terms, _ := s.Config.Terms()
	deliverAll := func(p deliver.Pass) (r deliver.Result) {
		t.Helper()
		open, err := s.Open(t.Context(), config.ExporterOTLP)
		if err != nil {
			t.Fatal(err)
		}
		results, err := open.Deliverer.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
		return results[0]
	}
	for n := range 6 {
		sp, err := spool.Open(s.Config.SpoolDir(), spool.Options{})
		if err != nil {
			t.Fatal(err)
		}
		session := fmt.Sprintf("s%d", n)
		for _, event := range []string{"UserPromptSubmit", "Stop"} {
			payload := fmt.Sprintf(`{"session_id":%q,"prompt_id":"p","hook_event_name":%q,"prompt":"x"}`, session, event)
			if err := sp.Append(&spool.Record{Host: hook.HostClaude, Session: session, Event: event, At: now, Settings: terms.String(), Payload: []byte(payload)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := sp.Close(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(5 * time.Second)
		if r := deliverAll(deliver.Pass{Sessions: []spool.Key{spool.SessionKey(hook.HostClaude, session)}}); r.Waiting != 1 {
			t.Errorf("session %d: %+v, want it waiting", n, r)
		}
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests within half a minute, want the one that was told to wait", n)
	}
	server.Reset()
	now = now.Add(2 * time.Minute)
	if r := deliverAll(deliver.Pass{}); r.Runs != 6 {
		t.Errorf("afterwards: %+v, want all delivered", r)
	}
}
