package pipeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// receiver is a server that accepts metrics, or gives the answers that a test sets.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*colmetricspb.ExportMetricsServiceRequest
	headers  []http.Header
	// answer is called with the number of points and reports whether it has answered.
	answer func(w http.ResponseWriter, points int) bool
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		body, err := io.ReadAll(req.Body)
		if err != nil || req.ContentLength != int64(len(body)) || req.URL.Path != "/v1/metrics" {
			t.Errorf("%s has %d bytes, its length is %d, %v", req.URL, len(body), req.ContentLength, err)
		}
		if req.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err == nil {
				body, err = io.ReadAll(z)
			}
			if err != nil {
				t.Error(err)
			}
		}
		message := &colmetricspb.ExportMetricsServiceRequest{}
		if req.Header.Get("Content-Type") == "application/json" {
			err = protojson.Unmarshal(body, message)
		} else {
			err = proto.Unmarshal(body, message)
		}
		if err != nil {
			t.Error(err)
		}
		if r.answer != nil && r.answer(w, len(values(message))) {
			return
		}
		r.requests, r.headers = append(r.requests, message), append(r.headers, req.Header)
	}))
	t.Cleanup(r.Close)
	return r
}

// values are the sums of a request, by the metric and its attributes.
func values(m *colmetricspb.ExportMetricsServiceRequest) map[string]float64 {
	out := make(map[string]float64)
	key := func(rm *metricspb.ResourceMetrics, m *metricspb.Metric, attributes []*commonpb.KeyValue) string {
		text := otlp.Text(rm.GetResource().GetAttributes(), "service.name") + " " + m.GetName()
		for _, kv := range attributes {
			text += " " + kv.GetValue().GetStringValue()
		}
		return text
	}
	for _, rm := range m.GetResourceMetrics() {
		for _, m := range rm.GetScopeMetrics()[0].GetMetrics() {
			for _, p := range m.GetSum().GetDataPoints() {
				out[key(rm, m, p.GetAttributes())] = p.GetAsDouble()
			}
			for _, p := range m.GetHistogram().GetDataPoints() {
				out[key(rm, m, p.GetAttributes())] = float64(p.GetCount())
			}
		}
	}
	return out
}

// sum adds up what all requests say of the calls of one tool.
func (r *receiver) sum(t *testing.T) (total, last float64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.requests {
		for k, v := range values(m) {
			if strings.Contains(k, "agent.calls") && strings.Contains(k, "execute_command") {
				total, last = total+v, v
			}
		}
	}
	return total, last
}

// measured is a setup whose env file asks for metrics.
func measured(t *testing.T, r *receiver, file ...string) *Setup {
	t.Helper()
	s := newSetup(t)
	path := filepath.Join(s.Config.ConfigDir, "hookspan.env")
	text := "HOOKSPAN_METRICS=true\nOTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + r.URL + "/v1/metrics\n" + strings.Join(file, "\n")
	if err := os.MkdirAll(s.Config.ConfigDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Input{
		Environ: []string{"HOME=" + s.Home, "USERPROFILE=" + s.Home}, Home: s.Home, GOOS: s.GOOS,
		ReadFile: func(path string) ([]byte, error) { return regular.Read(path, regular.Options{}) },
	})
	if err != nil || !cfg.MetricsOn() {
		t.Fatalf("metrics on: %t, %v", cfg.MetricsOn(), err)
	}
	s.Config = cfg
	now := time.Now()
	s.Now = func() time.Time { now = now.Add(time.Second); return now }
	return s
}

func storeOne(t *testing.T, p *Pipeline) {
	t.Helper()
	trace, _ := p.TestTrace()
	for span := range otlp.Spans(trace) {
		span.Attributes = slices.DeleteFunc(span.Attributes, func(kv *commonpb.KeyValue) bool { return kv.GetKey() == otelmap.KeyTest })
	}
	if err := p.Store.UploadTraces(t.Context(), trace); err != nil {
		t.Fatal(err)
	}
}

// deliverOne stores a task as a delivery does, and delivers.
func deliverOne(t *testing.T, s *Setup, p *Pipeline) {
	t.Helper()
	storeOne(t, p)
	if _, err := p.Flush(t.Context(), deliver.Pass{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil { // Answers are recorded then.
		t.Fatal(err)
	}
}

func openMeasured(t *testing.T, s *Setup) *Pipeline {
	t.Helper()
	p, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMetricsAreTotalsOrWhatWasAdded(t *testing.T) {
	for name, tt := range map[string]struct {
		file  string
		delta bool
	}{
		"cumulative, protobuf": {},
		"cumulative, gzip":     {file: "OTEL_EXPORTER_OTLP_COMPRESSION=gzip\nOTEL_EXPORTER_OTLP_METRICS_HEADERS=key=m"},
		"delta, JSON":          {"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta\nOTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json", true},
		"delta, gzip":          {"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=lowmemory\nOTEL_EXPORTER_OTLP_METRICS_COMPRESSION=gzip", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			s := measured(t, r, tt.file, "OTEL_RESOURCE_ATTRIBUTES=team.id=core")
			for n := range 3 {
				deliverOne(t, s, openMeasured(t, s))
				total, last := r.sum(t)
				if tt.delta && total != float64(n+1) || !tt.delta && last != float64(n+1) {
					t.Errorf("after %d tasks: %v in all, %v last", n+1, total, last)
				}
			}
			// Nothing new: nothing is sent.
			p := openMeasured(t, s)
			if _, err := p.Flush(t.Context(), deliver.Pass{Force: true}); err != nil {
				t.Error(err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if len(r.requests) != 3 {
				t.Errorf("%d requests, want 3", len(r.requests))
			}
			var ids []string
			for _, m := range r.requests {
				a := m.GetResourceMetrics()[0].GetResource().GetAttributes()
				ids = append(ids, otlp.Text(a, "service.instance.id"))
				if otlp.Text(a, "team.id") != "core" {
					t.Errorf("resource %v", a)
				}
			}
			if ids = slices.Compact(ids); len(ids) != 1 || len(ids[0]) != 36 {
				t.Errorf("instances %q, want one", ids)
			}
			if strings.Contains(tt.file, "key=m") && r.headers[0].Get("key") != "m" {
				t.Errorf("headers %v", r.headers[0])
			}
		})
	}
}

func TestMetricsSurviveWhatAnEndpointAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(w http.ResponseWriter, points int) bool
		// failed is what status shows of the first delivery, "" if it was taken.
		failed string
		// twice is how often the first task is counted by a receiver of deltas.
		once float64
	}{
		"503": {func(w http.ResponseWriter, _ int) bool { w.WriteHeader(503); return true }, "503", 2},
		"400": {func(w http.ResponseWriter, _ int) bool { w.WriteHeader(400); return true }, "400", 2},
		"429 asks to wait": {func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
			return true
		}, "429", 2},
		"a redirect": {func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(307)
			return true
		}, "redirects are not followed", 2},
		"a page": {func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Log in</html>")
			return true
		}, "web page", 2},
		"the answer is lost": {func(w http.ResponseWriter, _ int) bool {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = c.Close()
			}
			return true
		}, "EOF", 2},
		"413 for more than five": {func(w http.ResponseWriter, points int) bool {
			if points > 5 {
				w.WriteHeader(413)
			}
			return points > 5
		}, "", 2},
		"partial success": {func(w http.ResponseWriter, _ int) bool {
			b, _ := proto.Marshal(&colmetricspb.ExportMetricsServiceResponse{PartialSuccess: &colmetricspb.ExportMetricsPartialSuccess{RejectedDataPoints: 3, ErrorMessage: "old"}})
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(b)
			return true // None of it counts here.
		}, "", 1},
		"partial success in JSON": {func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"old"}}`)
			return true
		}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			s := measured(t, r, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta")
			var log []string
			s.Log = func(line string) { log = append(log, line) }
			r.answer = tt.answer
			deliverOne(t, s, openMeasured(t, s))
			last, _ := s.LastAnswer(config.DestinationMetrics)
			if last == nil || (last.Error == "") != (tt.failed == "") || !strings.Contains(last.Error, tt.failed) || strings.Contains(last.Error, "TRACES") {
				t.Fatalf("answer %+v, want %q", last, tt.failed)
			}
			if strings.HasPrefix(name, "429") {
				p := openMeasured(t, s)
				if left, _, _ := p.sendMetrics(t.Context(), deliver.Pass{}); !left || len(r.requests) > 0 {
					t.Errorf("%d requests during the pause", len(r.requests))
				}
				_ = p.Close()
			}
			if strings.HasPrefix(name, "partial") && !strings.Contains(strings.Join(log, "\n"), "3 data points rejected: old") {
				t.Errorf("log %q", log)
			}
			r.answer = nil
			deliverOne(t, s, openMeasured(t, s))
			if total, _ := r.sum(t); total != tt.once {
				t.Errorf("%v calls, want %v", total, tt.once)
			}
		})
	}
}

func TestASuccessAfterAnotherIsInTheStoreAlone(t *testing.T) {
	r := newReceiver(t)
	s := measured(t, r)
	s.Log = func(string) {}
	now, clock := time.Duration(0), s.Now
	s.Now = func() time.Time { return clock().Add(now) }
	noted := func() deliver.Answer {
		t.Helper()
		now += time.Hour
		deliverOne(t, s, openMeasured(t, s))
		last, _ := s.LastAnswer(config.DestinationMetrics)
		if last == nil {
			t.Fatal("no answer")
		}
		return *last
	}
	first := noted()
	if again := noted(); again != first || first.Error != "" {
		t.Errorf("%+v after %+v", again, first)
	}
	r.answer = func(w http.ResponseWriter, _ int) bool { w.WriteHeader(503); return true }
	for range 2 {
		// Sweeps wait as long as it has failed, which is not since the first success.
		if failed := noted(); failed.Error == "" || failed.Taken.Before(first.Taken.Add(time.Hour)) || failed.Taken.After(first.Taken.Add(2*time.Hour)) {
			t.Errorf("%+v an hour and more after the success that followed %v", failed, first.Taken)
		}
	}
	r.answer = nil
	if taken := noted(); taken.Error != "" || taken.Taken.Before(first.Taken.Add(4*time.Hour)) {
		t.Errorf("%+v after failures", taken)
	}
	p := openMeasured(t, s)
	for _, answer := range []func(w http.ResponseWriter, points int) bool{func(w http.ResponseWriter, _ int) bool { w.WriteHeader(503); return true }, nil} {
		storeOne(t, p)
		r.answer = answer
		p.sendMetrics(t.Context(), deliver.Pass{Force: true})
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if last, _ := s.LastAnswer(config.DestinationMetrics); last.Error != "" {
		t.Errorf("%+v after a success of the same process", last)
	}
}

func TestDeliveriesSendMetricsOneAfterTheOther(t *testing.T) {
	r := newReceiver(t)
	s := measured(t, r)
	var mu sync.Mutex
	clock := s.Now
	s.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock()
	}
	s.Log = func(string) {}
	var wg sync.WaitGroup
	for range 6 {
		p := openMeasured(t, s)
		wg.Go(func() { deliverOne(t, s, p) })
	}
	wg.Wait()
	highest := 0.0
	var newest uint64
	for _, m := range r.requests {
		for k, v := range values(m) {
			if strings.Contains(k, "agent.calls") && strings.Contains(k, "execute_command") {
				if v < highest {
					t.Errorf("the total falls from %v to %v", highest, v)
				}
				highest = v
			}
		}
		p := m.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics()[0].GetSum().GetDataPoints()[0]
		if p.GetTimeUnixNano() <= newest {
			t.Errorf("reported of %d after %d", p.GetTimeUnixNano(), newest)
		}
		newest = p.GetTimeUnixNano()
	}
	if highest != 6 {
		t.Errorf("%v calls, want 6", highest)
	}
}

func TestAServerThatHangsKeepsNoOtherProcessWaiting(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			r := newReceiver(t)
			s := measured(t, r, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+temporality)
			asked, release := make(chan bool), make(chan bool)
			var first sync.Once
			r.answer = func(http.ResponseWriter, int) bool {
				first.Do(func() { close(asked); <-release })
				return false
			}
			var mu sync.Mutex
			clock := s.Now
			s.Now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return clock()
			}
			p := openMeasured(t, s)
			var delivery sync.WaitGroup
			delivery.Go(func() { deliverOne(t, s, p) })
			<-asked
			once, cancel := context.WithCancel(t.Context())
			cancel()
			install, err := filelock.Folder(once, s.Config.StateDir)
			if err != nil {
				t.Errorf("the lock of install: %v", err)
			} else if err := install.Close(); err != nil {
				t.Error(err)
			}
			deliverOne(t, s, openMeasured(t, s)) // It would wait for ever.
			close(release)
			delivery.Wait()
			total, last := r.sum(t)
			if len(r.requests) != 2 || last != map[string]float64{"cumulative": 2, "delta": 1}[temporality] || temporality == "delta" && total != 2 {
				t.Errorf("%d requests, %v in all, %v last", len(r.requests), total, last)
			}
		})
	}
}

// sweepOne stores a task and delivers as a hook that ends a run does.
func sweepOne(t *testing.T, s *Setup) {
	t.Helper()
	p := openMeasured(t, s)
	storeOne(t, p)
	if err := p.Sweep(t.Context(), []spool.Key{{Host: "cline", Name: strings.Repeat("0", 32)}}); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestMetricsAreSentOnceAnInterval(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		r := newReceiver(t)
		s := measured(t, r, "OTEL_METRIC_EXPORT_INTERVAL=60000\nOTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+temporality)
		if err := os.MkdirAll(s.Config.SpoolDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		s.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
		var slept []time.Duration
		s.Sleep = func(_ context.Context, d time.Duration) error {
			if slept = append(slept, d); len(slept) == 1 {
				sweepOne(t, s) // Another process leaves it to this one.
			}
			now = now.Add(d)
			return nil
		}
		sweepOne(t, s)
		if len(r.requests) != 1 || len(slept) > 0 {
			t.Fatalf("%d requests, slept %v", len(r.requests), slept)
		}
		now = now.Add(20 * time.Second)
		sweepOne(t, s)
		total, last := r.sum(t)
		if want := map[string]float64{"cumulative": 3, "delta": 2}[temporality]; last != want || temporality == "delta" && total != 3 {
			t.Errorf("%s: %v in all, %v last", temporality, total, last)
		}
		if len(r.requests) != 2 || len(slept) != 1 || slept[0] < 39*time.Second || slept[0] > 40*time.Second {
			t.Errorf("%d requests, slept %v, want about 40s", len(r.requests), slept)
		}
		deliverOne(t, s, openMeasured(t, s)) // By hand it is sent at once.
		if len(r.requests) != 3 {
			t.Errorf("%d requests, want 3", len(r.requests))
		}
	}
}

func TestMetricsOffSendAndCountNothing(t *testing.T) {
	r := newReceiver(t)
	s := newSetup(t, "HOOKSPAN_METRICS=true", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+r.URL+"/v1/metrics")
	p := openMeasured(t, s)
	deliverOne(t, s, p)
	p = openMeasured(t, s)
	defer func() { _ = p.Close() }()
	if got, err := p.Store.Sums(t.Context(), ""); err != nil || len(got.Points) > 0 || len(r.requests) > 0 {
		t.Errorf("%d series, %d requests, %v", len(got.Points), len(r.requests), err)
	}
}

func TestTryMetricsSendsATest(t *testing.T) {
	r := newReceiver(t)
	s := measured(t, r)
	p := openMeasured(t, s)
	defer func() { _ = p.Close() }()
	if got := p.TryMetrics(t.Context()); !got.OK || got.Target != r.URL+"/v1/metrics" || len(r.requests) != 1 {
		t.Errorf("got %+v", got)
	}
	r.answer = func(w http.ResponseWriter, _ int) bool { w.WriteHeader(404); return true }
	if got := p.TryMetrics(t.Context()); got.OK || !strings.Contains(got.Answer, "/v1/metrics appended") {
		t.Errorf("got %+v", got)
	}
	if got := fmt.Sprint(p.TryMetrics(t.Context())); strings.Contains(got, "TRACES") {
		t.Errorf("got %s", got)
	}
}

// TestAClockSetBackKeepsTheInterval has tasks that end while the clock is behind the newest report.
func TestAClockSetBackKeepsTheInterval(t *testing.T) {
	r := newReceiver(t)
	s := measured(t, r, "OTEL_METRIC_EXPORT_INTERVAL=60000")
	if err := os.MkdirAll(s.Config.SpoolDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
	s.Sleep = func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
	sweepOne(t, s)
	now = now.Add(-time.Hour)
	sweepOne(t, s)
	back := now
	sweepOne(t, s)
	if len(r.requests) != 3 || now.Sub(back) < 50*time.Second {
		t.Errorf("%d requests, the last after %v, want it after the interval", len(r.requests), now.Sub(back))
	}
}

// TestWhatIsSentLaterIsTriedAgain has an endpoint that is busy when the interval has passed.
func TestWhatIsSentLaterIsTriedAgain(t *testing.T) {
	for fails, want := range map[int]float64{1: 2, 1000: 1} {
		r := newReceiver(t)
		s := measured(t, r, "OTEL_METRIC_EXPORT_INTERVAL=60000")
		if err := os.MkdirAll(s.Config.SpoolDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		s.Log = func(string) {}
		now := time.Now()
		s.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
		s.Sleep = func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
		sweepOne(t, s)
		begun := now
		r.answer = func(w http.ResponseWriter, _ int) bool {
			if fails--; fails >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return fails >= 0
		}
		sweepOne(t, s)
		if _, last := r.sum(t); last != want || now.Sub(begun) > 2*time.Minute {
			t.Errorf("%v calls after %v, want %v", last, now.Sub(begun), want)
		}
	}
}

// TestTwoProcessesSendOneReportAnInterval has a process that finds the interval elapsed, and another that
// sends before it does, at each of its looks at the clock.
func TestTwoProcessesSendOneReportAnInterval(t *testing.T) {
	for look := range 3 {
		r := newReceiver(t)
		s := measured(t, r, "OTEL_METRIC_EXPORT_INTERVAL=60000")
		now := time.Now()
		s.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
		p, other := openMeasured(t, s), openMeasured(t, s)
		storeOne(t, p)
		p.sendMetrics(t.Context(), deliver.Pass{})
		storeOne(t, p)
		now = now.Add(time.Hour)
		looks := 0
		p.Deliverer.Now = func() time.Time {
			if looks++; looks == look+1 {
				other.sendMetrics(t.Context(), deliver.Pass{})
				storeOne(t, other)
			}
			return s.Now()
		}
		if _, due, _ := p.sendMetrics(t.Context(), deliver.Pass{}); looks > look && (len(r.requests) != 2 || due < 50*time.Second) {
			t.Errorf("look %d: %d requests, the next in %v, want 2, the next in a minute", look, len(r.requests), due)
		}
		if err := errors.Join(p.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestAFlushLeavesNothingToSendLater has hookspan flush report while another process waits for the interval.
func TestAFlushLeavesNothingToSendLater(t *testing.T) {
	r := newReceiver(t)
	s := measured(t, r)
	if err := os.MkdirAll(s.Config.SpoolDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
	slept := 0
	s.Sleep = func(_ context.Context, d time.Duration) error {
		slept++
		now = now.Add(d / 2)
		deliverOne(t, s, openMeasured(t, s))
		now = now.Add(d / 2)
		return nil
	}
	sweepOne(t, s)
	sweepOne(t, s)
	if _, last := r.sum(t); len(r.requests) != 2 || last != 3 || slept != 1 {
		t.Errorf("%d requests, %v calls, slept %d times; want the report of the flush alone", len(r.requests), last, slept)
	}
}
