package infiniumexporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.uber.org/goleak"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
)

func TestComponentStartsAndStops(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f := NewFactory()
	c := testConfig()
	for _, begin := range []bool{false, true} {
		set := exportertest.NewNopSettings(f.Type())
		e, err := f.CreateTraces(t.Context(), set, c)
		if err != nil {
			t.Fatal(err)
		}
		if begin {
			if err := e.Start(t.Context(), componenttest.NewNopHost()); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Errorf("started %v: %v", begin, err)
		}
	}
	if err := componenttest.CheckConfigStruct(f.CreateDefaultConfig()); err != nil {
		t.Error(err)
	}
	if f.Type().String() != "infinium" {
		t.Errorf("type %q", f.Type())
	}
}

func TestCreateFailsForWrongConfiguration(t *testing.T) {
	c := testConfig()
	c.AgentSecret = "short"
	_, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(NewFactory().Type()), c)
	if err == nil || !strings.Contains(err.Error(), "agent_secret") {
		t.Errorf("%v, want one that names agent_secret", err)
	}
	c = testConfig()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.ParkedDirectory = filepath.Join(file, "below")
	w := create(t, c, nil)
	if err := w.Start(t.Context(), componenttest.NewNopHost()); err == nil || !strings.Contains(err.Error(), "parked_directory") {
		t.Errorf("%v, want one that names parked_directory", err)
	}
	w.stop(t)
}

// TestTraceArrivesOverHTTP sends a trace to a server.
func TestTraceArrivesOverHTTP(t *testing.T) {
	srv := infiniumtest.New(t)
	srv.Script(infiniumtest.Status(500, "not now"), infiniumtest.CloseBefore(), infiniumtest.LoginPage(), infiniumtest.Redirect(302, "http://127.0.0.1:1/"))
	c := testConfig()
	c.BaseURL, c.Wait = srv.URL(), 0
	w := start(t, c, nil, nil)
	if err := w.ConsumeTraces(t.Context(), newRequest().root(1, 1).tool(1, 2, 1).Traces); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := srv.Wait(ctx, 5); err != nil {
		t.Fatal(err)
	}
	w.stop(t)
	traces := srv.Traces()
	if len(traces) != 1 || steps(traces[0]) != 1 {
		t.Fatalf("stored %v, want one trace with one step", traces)
	}
	agent := srv.Requests()[0].Header.Get("User-Agent")
	if !strings.HasPrefix(agent, "hookspan/collector-") {
		t.Errorf("User-Agent %q", agent)
	}
}

// TestServiceFailureKeepsTrace runs the queue and the retries on a fake clock. The
// service gives each answer twice and then accepts the trace.
func TestServiceFailureKeepsTrace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func() *http.Response
		least  time.Duration // from the first to the last request
		log    string
	}{
		{"500", func() *http.Response { return says(500, `{"error":"broken"}`) }, 0, "server"},
		{"503 with Retry-After", func() *http.Response { return says(503, "", "Retry-After", "40") }, 80 * time.Second, "server"},
		{"429 with Retry-After", func() *http.Response { return says(429, "", "Retry-After", "90") }, 180 * time.Second, "rate limit"},
		{"429", func() *http.Response { return says(429, "") }, 120 * time.Second, "rate limit"},
		{"302", func() *http.Response { return says(302, "", "Location", "https://example.com") }, 0, "redirect"},
		{"login page", func() *http.Response { return says(200, "<html>sign in</html>", "Content-Type", "text/html") }, 0, "login page"},
		{"401", func() *http.Response { return says(401, "") }, 0, "auth"},
		{"403", func() *http.Response { return says(403, "") }, 0, "auth"},
		{"404", func() *http.Response { return says(404, "") }, 0, "not found"},
		{"407", func() *http.Response { return says(407, "") }, 0, "rejected"},
		{"no answer", hangs, 60 * time.Second, "timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{answer: func(n int, _ map[string]any) *http.Response {
					if n <= 2 {
						return tt.answer()
					}
					return nil
				}}
				w := start(t, testConfig(), s, nil)
				for _, td := range []*request{newRequest().tool(1, 2, 1), newRequest().root(1, 1)} {
					if err := w.ConsumeTraces(context.Background(), td.Traces); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				seen := s.traces()
				if len(seen) != 3 {
					t.Errorf("%d requests, want two that fail and one", len(seen))
				}
				for i, m := range seen {
					if steps(m) != 1 {
						t.Errorf("request %d: %d steps: the trace fell apart", i, steps(m))
					}
				}
				if took := s.at[len(s.at)-1].Sub(s.at[0]); took < tt.least {
					t.Errorf("tried again within %s, asked to wait %s", took, tt.least)
				}
				if n := w.count(t, "otelcol_exporter_infinium_traces", "accepted"); n != 1 {
					t.Errorf("counted %d accepted traces, want 1", n)
				}
				if n := w.count(t, "otelcol_exporter_infinium_waiting_traces", ""); n != 0 {
					t.Errorf("%d traces wait", n)
				}
				trouble := w.logs.FilterMessageSnippet("does not accept traces").All()
				if len(trouble) != 1 || trouble[0].ContextMap()["class"] != tt.log {
					t.Errorf("logged %v, want one warning of class %q", trouble, tt.log)
				}
				if w.logs.FilterMessageSnippet("accepts traces again").Len() != 1 {
					t.Error("the end of the failure is not logged")
				}
				w.stop(t)
			})
		})
	}
}

// TestPartsRetriedAtDifferentTimesAreSentAsOne has retries that are further apart
// than the wait for a trace.
func TestPartsRetriedAtDifferentTimesAreSentAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parts = 12
		s := &service{answer: func(n int, _ map[string]any) *http.Response {
			if n == 1 {
				return says(500, "")
			}
			return nil
		}}
		c := testConfig()
		c.Retry.InitialInterval, c.Retry.MaxInterval, c.WaitWithoutRoot = 5*time.Minute, 5*time.Minute, 4*time.Second
		w := start(t, c, s, nil)
		for i := range uint64(parts) {
			td := newRequest().tool(1, i+2, 1)
			if i == 0 {
				td.root(1, 1)
			}
			if err := w.ConsumeTraces(context.Background(), td.Traces); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		seen := s.traces()
		if len(seen) != 2 || steps(seen[len(seen)-1]) != parts {
			t.Errorf("%d requests, the last with %d steps, want 2 with %d", len(seen), steps(seen[len(seen)-1]), parts)
		}
		if n := w.count(t, "otelcol_exporter_infinium_repeated_spans", ""); n == 0 {
			t.Error("no part arrived separately: the test shows nothing")
		}
		w.stop(t)
	})
}

// TestPauseAppliesToAllTraces: after 429 no other trace is tried either.
func TestPauseAppliesToAllTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(n int, _ map[string]any) *http.Response {
			if n == 1 {
				return says(429, "", "Retry-After", "120")
			}
			return nil
		}}
		c := testConfig()
		c.Wait = 0
		w := start(t, c, s, nil)
		first := w.push(context.Background(), newRequest().root(1, 1).Traces)
		second := w.push(context.Background(), newRequest().root(2, 1).Traces)
		for _, err := range []error{first, second} {
			if err == nil || !strings.Contains(err.Error(), "Throttle (2m0s)") || consumererror.IsPermanent(err) {
				t.Errorf("%v, want one that asks for 2 minutes", err)
			}
		}
		if n := len(s.traces()); n != 1 {
			t.Errorf("%d requests during the pause, want 1", n)
		}
		time.Sleep(2 * time.Minute)
		if err := w.push(context.Background(), newRequest().root(2, 1).Traces); err != nil {
			t.Errorf("after the pause: %v", err)
		}
		w.stop(t)
	})
}

// TestNetworkFailureStopsRemainingRuns: a failure of all runs is not tried with each.
func TestNetworkFailureStopsRemainingRuns(t *testing.T) {
	for _, tt := range []struct{ status, requests int }{{401, 1}, {502, 1}, {500, 3}} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			s := &service{answer: func(int, map[string]any) *http.Response { return says(tt.status, "") }}
			c := testConfig()
			c.Wait = 0
			w := start(t, c, s, nil)
			err := w.push(t.Context(), newRequest().root(1, 1).root(1, 2).root(1, 3).Traces)
			if err == nil || !strings.Contains(err.Error(), "3 of 3 spans") || len(s.traces()) != tt.requests {
				t.Errorf("%d requests, want %d; %v", len(s.traces()), tt.requests, err)
			}
			w.stop(t)
		})
	}
}

func TestErrorHoldsSpansNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(_ int, m map[string]any) *http.Response {
			if steps(m) == 2 {
				return says(500, "")
			}
			return nil
		}}
		w := start(t, testConfig(), s, nil)
		err := w.push(context.Background(), newRequest().root(1, 1).tool(1, 2, 1).root(2, 1).tool(2, 2, 1).tool(2, 3, 1).Traces)
		var partial consumererror.Traces
		if !errors.As(err, &partial) {
			t.Fatalf("%v carries no spans", err)
		}
		if n := partial.Data().SpanCount(); n != 3 {
			t.Errorf("%d spans are retried, want the 3 of trace 2", n)
		}
		if !strings.Contains(err.Error(), "3 of 5 spans") {
			t.Errorf("%q does not count", err)
		}
		w.stop(t)
	})
}

func TestRequestsKeepRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		c := testConfig()
		c.RequestsPerSecond = 10
		w := start(t, c, s, nil)
		for i := range uint64(120) {
			if err := w.ConsumeTraces(context.Background(), newRequest().root(i, 1).Traces); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// A burst of 20, then 10 a second.
		if took := s.at[len(s.at)-1].Sub(s.at[0]); len(s.at) != 120 || took != 10*time.Second {
			t.Errorf("%d requests in %s, want 120 in 10 s", len(s.at), took)
		}
		w.stop(t)
	})
}

func TestShutdownAnswersWaitingPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		c := testConfig()
		c.Wait, c.WaitWithoutRoot = time.Minute, time.Hour
		c.Queue.Get().NumConsumers = 3
		w := start(t, c, s, nil)
		for i := range uint64(10) { // more than can wait at once
			if err := w.ConsumeTraces(context.Background(), newRequest().root(i, 1).Traces); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		before := time.Now()
		w.stop(t)
		if took := time.Since(before); took != 0 {
			t.Errorf("shutdown took %s", took)
		}
		if n := len(s.traces()); n != 10 {
			t.Errorf("%d traces sent, want 10", n)
		}
	})
}

// TestShutdownDoesNotWaitForUnresponsiveService has a queue in memory to empty, and
// a service that does not answer.
func TestShutdownDoesNotWaitForUnresponsiveService(t *testing.T) {
	for _, tt := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		most time.Duration
	}{
		{"as long as one request", func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }, 30 * time.Second},
		{"as long as its context", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 3*time.Second)
		}, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{answer: func(int, map[string]any) *http.Response { return hangs() }}
				c := testConfig()
				c.Queue.Get().NumConsumers = 2
				w := start(t, c, s, nil)
				for i := range uint64(50) {
					if err := w.ConsumeTraces(context.Background(), newRequest().root(i, 1).Traces); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				ctx, cancel := tt.ctx()
				defer cancel()
				before := time.Now()
				if err := w.Shutdown(ctx); err != nil {
					t.Error(err)
				}
				if took := time.Since(before); took > tt.most {
					t.Errorf("took %s, want at most %s", took, tt.most)
				}
			})
		})
	}
}

// TestCallerWaitsWithoutQueue: without a queue the sender gets the outcome.
func TestCallerWaitsWithoutQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(n int, _ map[string]any) *http.Response {
			if n == 1 {
				return says(500, "")
			}
			return says(400, "")
		}}
		c := testConfig()
		c.Queue = configoptional.None[exporterhelper.QueueBatchConfig]()
		c.Retry.Enabled = false
		w := start(t, c, s, nil)
		if err := w.ConsumeTraces(context.Background(), newRequest().root(1, 1).Traces); err == nil || consumererror.IsPermanent(err) {
			t.Errorf("after 500: %v, want an error that is retried", err)
		}
		if n := w.gatherer.waiting(); n != 0 {
			t.Errorf("%d traces remembered, though nothing retries", n)
		}
		if err := w.ConsumeTraces(context.Background(), newRequest().root(1, 1).Traces); !consumererror.IsPermanent(err) {
			t.Errorf("after 400: %v, want a permanent error", err)
		}
		w.stop(t)
	})
}

// TestConcurrentPushesToServer is for the race detector.
func TestConcurrentPushesToServer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	srv := infiniumtest.New()
	srv.Script(infiniumtest.Status(500, ""), infiniumtest.CloseBefore(), infiniumtest.Status(502, ""), infiniumtest.CloseHalfway(), infiniumtest.Status(400, ""))
	c := testConfig()
	c.BaseURL, c.Wait, c.WaitWithoutRoot = srv.URL(), time.Millisecond, 50*time.Millisecond
	c.AgentSecret = configopaque.String(infiniumtest.AgentSecret)
	c.ParkedDirectory = t.TempDir()
	w := start(t, c, nil, nil)
	const traces = 40
	var wg sync.WaitGroup
	for i := range uint64(traces) {
		for _, td := range []*request{newRequest().tool(i, 2, 1), newRequest().root(i, 1), newRequest().tool(i, 3, 1)} {
			wg.Go(func() {
				if err := w.ConsumeTraces(context.Background(), td.Traces); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	deadline := time.Now().Add(30 * time.Second)
	for w.count(t, "otelcol_exporter_infinium_waiting_traces", "") > 0 || len(srv.Requests()) < traces {
		if time.Now().After(deadline) {
			t.Fatalf("%d traces still wait", w.gatherer.waiting())
		}
		runtime.Gosched()
	}
	w.stop(t)
	seen := make(map[string]bool)
	for _, m := range srv.Traces() {
		env, _ := m["environment"].(map[string]any)
		tags, _ := env["custom_tags"].(map[string]any)
		seen[fmt.Sprint(tags["hookspan_trace_id"])] = true
	}
	if len(seen) < traces-1 {
		t.Errorf("%d traces arrived, want at least %d: all but the refused one", len(seen), traces-1)
	}
	srv.Close()
}

// TestPauseAppliesToTracesThatWaitForTheRate answers the first of many traces with 429: those
// that wait for requests_per_second are not sent.
func TestPauseAppliesToTracesThatWaitForTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(int, map[string]any) *http.Response { return says(429, "", "Retry-After", "120") }}
		c := testConfig()
		c.Wait, c.RequestsPerSecond = 0, 1
		w := start(t, c, s, nil)
		var pushes sync.WaitGroup
		for i := range uint64(20) {
			pushes.Go(func() { _ = w.push(context.Background(), newRequest().root(i, 1).Traces) })
		}
		pushes.Wait()
		// The burst of two may be under way.
		if n := len(s.traces()); n > 2 {
			t.Errorf("%d requests, want at most 2", n)
		}
		w.stop(t)
	})
}
