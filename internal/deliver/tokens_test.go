package deliver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// tokenProgram is a program that counts its runs and prints a text in which N is the
// count.
func tokenProgram(t *testing.T, prints string) (program string, runs func() int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "it is a shell script")
	}
	dir := t.TempDir()
	program = filepath.Join(dir, "token")
	script := "#!/bin/sh\necho x >>" + dir + "/runs\nn=$(wc -l <" + dir + "/runs)\nprintf '" + strings.ReplaceAll(prints, "N", "'\"$((n))\"'") + "'\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, func() int {
		data, _ := os.ReadFile(filepath.Join(dir, "runs"))
		return strings.Count(string(data), "x")
	}
}

// TestTokensAreAskedForAgain has an endpoint that takes one token alone, and clients of
// one process or of several.
func TestTokensAreAskedForAgain(t *testing.T) {
	tests := map[string]struct {
		prints, right  string
		clients, sends int
		runs           int
		fails          string
	}{
		"cached in a process":           {`Authorization: Bearer token-N\n`, "Bearer token-1", 1, 3, 1, ""},
		"each process asks":             {`Authorization: Bearer token-N\n`, "", 3, 1, 3, ""},
		"kept until it ends":            {`{"Authorization":"Bearer token-N","expires_in":3600}`, "Bearer token-1", 3, 2, 1, ""},
		"not kept when it ends at once": {`{"Authorization":"Bearer token-N","expires_in":1}`, "", 3, 1, 3, ""},
		"replaced once after a refusal": {`Authorization: Bearer token-N\n`, "Bearer token-2", 1, 2, 2, ""},
		"refused twice":                 {`Authorization: Bearer token-N\n`, "Bearer token-9", 1, 1, 2, "401 Unauthorized: no **** here (check HOOKSPAN_OTLP_HEADERS_COMMAND)"},
		"refused at each upload":        {`Authorization: Bearer token-N\n`, "Bearer token-9", 1, 5, 2, "401 Unauthorized: no **** here (check HOOKSPAN_OTLP_HEADERS_COMMAND)"},
		"nothing printed":               {``, "", 1, 1, 1, "the output has no header"},
		"no header":                     {`my token\n`, "", 1, 1, 1, "no header: want Name: value"},
		"a line break in JSON":          {`{"A":"b\\nC: d"}`, "", 1, 1, 1, "no header"},
		"a program that fails":          {`A: b\n'; exit 3; echo '`, "", 1, 1, 1, "exit status 3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			program, runs := tokenProgram(t, tt.prints)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); tt.right != "" && got != tt.right {
					w.WriteHeader(http.StatusUnauthorized)
					_, _ = w.Write([]byte("no " + strings.TrimPrefix(got, "Bearer ") + " here"))
				}
			}))
			t.Cleanup(s.Close)
			cache := filepath.Join(t.TempDir(), "otlp-headers.json")
			var failed error
			for range tt.clients {
				c, err := NewOTLP(t.Context(), OTLP{Endpoint: s.URL, HeadersCommand: program, HeadersCache: cache})
				if err != nil {
					t.Fatal(err)
				}
				for range tt.sends {
					if err := c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{Resource: nil, ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "a"}}}}}}); err != nil {
						failed = err
					}
				}
			}
			if (failed != nil) != (tt.fails != "") || failed != nil && !strings.Contains(failed.Error(), tt.fails) || runs() != tt.runs {
				t.Errorf("%d runs, want %d; error %v, want %q", runs(), tt.runs, failed, tt.fails)
			}
			if info, err := os.Stat(cache); err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("the kept token has mode %v", info.Mode())
			}
		})
	}
}

// TestTokenProgramPrintsOnlySoMuch copies as os/exec does.
func TestTokenProgramPrintsOnlySoMuch(t *testing.T) {
	var out bytes.Buffer
	n, err := io.Copy(&limited{out: &out, left: 8}, io.LimitReader(strings.NewReader(strings.Repeat("a", 100)), 100))
	if err == nil || out.Len() > 8 {
		t.Errorf("%d of 100 bytes were copied (%v), want at most 8 and an error", n, err)
	}
}

// TestDeniedRunGoesAgainAfterASuccess has a destination whose key is wrong for a while.
func TestDeniedRunGoesAgainAfterASuccess(t *testing.T) {
	b := newBench(t)
	k := b.append(oneRun(t, "")...)
	b.clock.Advance(time.Minute)
	var answer error = &Error{Err: http.ErrNoCookie, Permanent: true, Denied: true}
	dst := &memory{}
	dst.before = func(context.Context, []*tracepb.ResourceSpans) error { return answer }
	var taken time.Time
	d := b.deliverer(Destination{Name: "otlp", Client: dst, Taken: func() time.Time { return taken }})
	b.run(d, Pass{})
	b.clock.Advance(time.Hour)
	if b.run(d, Pass{}); dst.calls != 1 {
		t.Fatalf("%d calls without a success, want 1", dst.calls)
	}
	// Another session's run was taken, but not yet this one's key.
	taken = b.clock.Now()
	if b.run(d, Pass{}); dst.calls != 2 {
		t.Fatalf("%d calls after a success, want 2", dst.calls)
	}
	if b.run(d, Pass{}); dst.calls != 2 {
		t.Fatalf("%d calls after the same success, want 2", dst.calls)
	}
	b.clock.Advance(time.Hour)
	answer, taken = nil, b.clock.Now()
	b.run(d, Pass{})
	wantIDs(t, "sent again", b.view(k, d.Map).ended(), dst.ids())
	if st := b.state(k, "otlp"); len(st.Parked) != 0 || dst.doubles() != 0 {
		t.Errorf("afterwards %+v, %d doubles", st.Parked, dst.doubles())
	}
}

// TestReadableBody shows what a body says to people.
func TestReadableBody(t *testing.T) {
	status := "\x08\x10\x12\x0cinvalid key!\x1a\x03abc"
	for name, tt := range map[string]struct{ kind, body, want string }{
		"a status":             {"application/x-protobuf", status, "invalid key!"},
		"a status, no type":    {"", status, "invalid key!"},
		"text":                 {"text/plain", "no such key\n", "no such key\n"},
		"text called protobuf": {"application/x-protobuf", "no such key", "no such key"},
		"other bytes":          {"application/octet-stream", "\x00\x01\xff\xfe", ""},
		"nothing":              {"application/x-protobuf", "", ""},
	} {
		if diff := cmp.Diff(tt.want, readable(tt.kind, []byte(tt.body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestErrorsOfConnectionsNameTheSetting has servers behind the wrong scheme, and with a
// certificate that nobody knows.
func TestErrorsOfConnectionsNameTheSetting(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	for name, tt := range map[string]struct{ endpoint, want string }{
		"cleartext to TLS":  {strings.Replace(secure.URL, "https:", "http:", 1), "OTEL_EXPORTER_OTLP_ENDPOINT"},
		"unknown authority": {secure.URL, "set OTEL_EXPORTER_OTLP_CERTIFICATE to the PEM file"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := NewOTLP(t.Context(), OTLP{Endpoint: tt.endpoint})
			if err != nil {
				t.Fatal(err)
			}
			err = c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestDateIsReported reads the clock of an endpoint, also from a failure.
func TestDateIsReported(t *testing.T) {
	for _, status := range []int{200, 503} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-20*time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		var off time.Duration
		c, err := NewOTLP(t.Context(), OTLP{Endpoint: s.URL, Date: func(there, here time.Time) { off = here.Sub(there) }})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{}})
		if off.Round(time.Minute) != 20*time.Minute {
			t.Errorf("%d: the clock is %v off", status, off)
		}
	}
}
