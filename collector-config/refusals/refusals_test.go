package refusals

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestCodesThatSayNothingOfTheRequestAreTriedAgain(t *testing.T) {
	f := NewFactory()
	ext, err := f.Create(t.Context(), extensiontest.NewNopSettings(f.Type()), &Config{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	opts, err := ext.(extensionmiddleware.GRPCClient).GetGRPCClientOptions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[codes.Code]codes.Code{
		codes.Unauthenticated: codes.Unavailable, codes.PermissionDenied: codes.Unavailable, codes.Internal: codes.Unavailable,
		codes.InvalidArgument: codes.InvalidArgument, codes.ResourceExhausted: codes.ResourceExhausted, codes.Unavailable: codes.Unavailable,
	} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return status.Error(code, "no") }))
		go func() { _ = server.Serve(l) }()
		cc, err := grpc.NewClient(l.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		if err := cc.Invoke(t.Context(), "/a/b", &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != want {
			t.Errorf("code %v: %v, want %v", code, err, want)
		}
		_ = cc.Close()
		server.Stop()
	}
}

// client sends through the extension, which writes into dir.
func client(t *testing.T, dir string) *http.Client {
	t.Helper()
	f := NewFactory()
	ext, err := f.Create(t.Context(), extensiontest.NewNopSettings(f.Type()), &Config{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := ext.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	wrap, err := ext.(extensionmiddleware.HTTPClient).GetHTTPRoundTripper(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rt, err := wrap(context.Background(), http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: rt}
}

func TestEachStatusIsPassedKeptOrParked(t *testing.T) {
	for status, want := range map[int]struct {
		status int
		files  int
	}{
		101: {503, 0}, 200: {200, 0}, 202: {202, 0}, 429: {429, 0}, 502: {502, 0}, 503: {503, 0}, 504: {504, 0},
		301: {503, 0}, 302: {503, 0}, 303: {503, 0}, 304: {503, 0}, 401: {503, 0}, 403: {503, 0}, 404: {503, 0}, 405: {503, 0}, 407: {503, 0}, 408: {503, 0}, 418: {503, 0}, 500: {503, 0}, 501: {503, 0}, 511: {503, 0}, 307: {503, 0}, 308: {503, 0},
		400: {200, 1}, 413: {200, 1}, 415: {200, 1}, 422: {200, 1},
	} {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "7")
			if r.Method == http.MethodGet {
				return // The page that a redirection leads to.
			}
			if status < 304 && status >= 300 {
				w.Header().Set("Location", "/login")
			}
			w.WriteHeader(status)
			if status != 304 && status >= 200 {
				_, _ = io.WriteString(w, "the reason")
			}
		}))
		dir := filepath.Join(t.TempDir(), "refused")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, backend.URL, strings.NewReader("spans"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Encoding", "gzip")
		resp, err := client(t, dir).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		files, err := filepath.Glob(filepath.Join(dir, "*.otlp.gz"))
		if err != nil || resp.StatusCode != want.status || len(files) != want.files {
			t.Errorf("status %d: answered %d with %d files (%v), want %d with %d", status, resp.StatusCode, len(files), err, want.status, want.files)
		}
		for _, f := range files {
			if b, err := os.ReadFile(f); err != nil || string(b) != "spans" {
				t.Errorf("status %d: %s has %q, %v; want the request", status, f, b, err)
			}
		}
		if kept := resp.Header.Get("Retry-After"); (kept != "") != (resp.StatusCode == status) {
			t.Errorf("status %d: Retry-After %q", status, kept)
		}
		backend.Close()
	}
}

// TestParkedRequestsAreCountedFromZero: an alert on an increase misses a counter that
// begins at one.
func TestParkedRequestsAreCountedFromZero(t *testing.T) {
	tel := componenttest.NewTelemetry()
	f := NewFactory()
	set := extensiontest.NewNopSettings(f.Type())
	set.TelemetrySettings = tel.NewTelemetrySettings()
	ext, err := f.Create(t.Context(), set, &Config{Directory: t.TempDir()})
	if err == nil {
		err = ext.Start(t.Context(), componenttest.NewNopHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := tel.GetMetric("hookspan_refused_requests")
	if err != nil {
		t.Fatal(err)
	}
	points := m.Data.(metricdata.Sum[int64]).DataPoints
	for _, p := range points {
		if p.Value != 0 {
			t.Errorf("%v: %d at the start", p.Attributes, p.Value)
		}
	}
	if len(points) != 4 {
		t.Errorf("%d statuses, want those of 4", len(points))
	}
}

// TestAPageIsNoSuccess has a portal that answers in the backend's place.
func TestAPageIsNoSuccess(t *testing.T) {
	for kind, want := range map[string]int{
		"Text/HTML; charset=utf-8": 503, "application/xhtml+xml": 503, "application/x-protobuf": 200, "text/plain": 200, "": 200,
	} {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
		}))
		resp, err := client(t, t.TempDir()).Post(backend.URL, "application/x-protobuf", strings.NewReader("spans")) //nolint:noctx // A test.
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: answered %d, want %d", kind, resp.StatusCode, want)
		}
		backend.Close()
	}
}

func TestARequestThatCannotBeParkedIsSentAgain(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer backend.Close()
	dir := filepath.Join(t.TempDir(), "refused")
	c := client(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	resp, err := c.Post(backend.URL, "application/x-protobuf", strings.NewReader("spans")) //nolint:noctx // A test.
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("answered %d, want 503, after which the exporter tries again", resp.StatusCode)
	}
}

// TestParkedRequestsAreBounded has a backend that always refuses: the oldest files make room.
func TestParkedRequestsAreBounded(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "0-mine.txt")
	if err := os.WriteFile(other, make([]byte, 3000), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &refusals{dir: dir, limit: 1000, log: zap.NewNop(), now: time.Now, logged: map[int]time.Time{}}
	var err error
	if r.counted, err = noop.NewMeterProvider().Meter("").Int64Counter("x"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		name := filepath.Join(dir, fmt.Sprintf("20260101T0000%02d.000-0.otlp", i))
		r.makeRoom(t.Context(), 300)
		if err := write(name, make([]byte, 300)); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"0-mine.txt", "20260101T000017.000-0.otlp", "20260101T000018.000-0.otlp", "20260101T000019.000-0.otlp"}
	if !slices.Equal(names, want) || err != nil {
		t.Errorf("files %q, %v; want %q", names, err, want)
	}
}
