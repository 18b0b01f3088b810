package hookrun

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookhttp"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

func post(url string) hookfile.Handler {
	return hookfile.Handler{Event: preToolUse, Type: hookfile.TypeHTTP, URL: url, File: "hooks.json", Line: 1}
}

func runOne(ctx context.Context, t *testing.T, r *Runner, h hookfile.Handler, payload string) Run {
	t.Helper()
	res := r.Run(ctx, []hookfile.Handler{h}, []Event{toolCall(payload)})
	if len(res.Runs) != 1 {
		t.Fatalf("%d runs, want one", len(res.Runs))
	}
	return res.Runs[0]
}

func TestRequest(t *testing.T) {
	var got []string
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(data)
		got = []string{r.Method, r.URL.Path, r.Header.Get("Content-Type")}
		for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
			got = append(got, strings.Join(r.Header.Values(name), ";"))
		}
	}))
	defer s.Close()
	h := post(s.URL + "/hook")
	h.Headers = map[string]string{
		"A": "Bearer $TOKEN", "B": "${TOKEN}-${OTHER}", "C": "$OTEL_SECRET$MISSING.", "D": "plain", "E": "$LINES", "F": "$OTEL_ALLOWED",
		"Content-Type": "text/plain",
	}
	h.AllowedEnvVars = []string{"TOKEN", "LINES", "MISSING", "OTEL_ALLOWED"}
	r := &Runner{Post: hookhttp.Client{}.Post, Env: []string{"TOKEN=t", "OTHER=secret", "OTEL_SECRET=secret", "LINES=a\r\nX: b", "OTEL_ALLOWED=named"}}
	run := runOne(t.Context(), t, r, h, `{"a":1}`)
	want := []string{"POST", "/hook", "application/json", "Bearer t", "t-", ".", "plain", "aX: b", "named"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if body != `{"a":1}` || run.Err != "" || run.Output.Failed || run.Verdict.Decision != verdict.NoDecision {
		t.Errorf("body %q, %+v", body, run)
	}
}

func TestResponse(t *testing.T) {
	const deny = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`
	redirected := false
	mux := http.NewServeMux()
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	mux.HandleFunc("/nothing", say(200, ""))
	mux.HandleFunc("/deny", say(200, deny))
	mux.HandleFunc("/deny-and-fail", say(500, deny))
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/target", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/target", func(http.ResponseWriter, *http.Request) { redirected = true })
	mux.HandleFunc("/full", say(200, strings.Repeat(" ", maxOutput-len(deny))+deny))
	mux.HandleFunc("/too-long", say(200, strings.Repeat(" ", maxOutput-len(deny)+1)+deny))
	mux.HandleFunc("/too-long-a-reason", say(200, strings.Replace(deny, "no", strings.Repeat("n", maxOutput), 1)))
	mux.HandleFunc("/too-long-a-text", say(200, strings.Repeat("n", maxOutput+1)))
	mux.HandleFunc("/too-long-and-fail", say(500, strings.Replace(deny, "no", strings.Repeat("n", maxOutput), 1)))
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, deny)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	old := httptest.NewUnstartedServer(mux)
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // It is to be refused.
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	defer old.Close()
	for name, tc := range map[string]struct {
		url, err string
		want     verdict.Decision
	}{
		"empty":              {url: s.URL + "/nothing"},
		"a decision":         {url: s.URL + "/deny", want: verdict.Deny},
		"a failure":          {url: s.URL + "/deny-and-fail", err: "500"},
		"a redirect":         {url: s.URL + "/redirect", err: "307"},
		"as long as may be":  {url: s.URL + "/full", want: verdict.Deny},
		"too long":           {url: s.URL + "/too-long", err: "more than 1048576 bytes", want: verdict.Deny},
		"too long a reason":  {url: s.URL + "/too-long-a-reason", err: "more than 1048576 bytes", want: verdict.Deny},
		"too long a text":    {url: s.URL + "/too-long-a-text", err: "more than 1048576 bytes"},
		"too long a failure": {url: s.URL + "/too-long-and-fail", err: "more than 1048576 bytes"},
		"ends early":         {url: s.URL + "/cut", err: "EOF"},
		"nobody listens":     {url: closed.URL, err: "refused"},
		"no address":         {url: "http://%zz", err: "request to"},
		"an old TLS":         {url: old.URL, err: "protocol version"},
		"no TLS to TLS":      {url: strings.Replace(old.URL, "https", "http", 1), err: "write https://"},
		"a scheme not known": {url: "ftp://localhost", err: "unsupported protocol scheme"},
	} {
		t.Run(name, func(t *testing.T) {
			run := runOne(t.Context(), t, &Runner{Post: hookhttp.Client{}.Post}, post(tc.url), "{}")
			if run.Verdict.Decision != tc.want {
				t.Errorf("decision %q, want %q: %s", run.Verdict.Decision, tc.want, run.Err)
			}
			errs := strings.Join(append(run.Verdict.Errors, run.Err), "\n")
			if !strings.Contains(errs, tc.err) || (tc.err == "") != (strings.TrimSpace(errs) == "") {
				t.Errorf("errors %q, want %q", errs, tc.err)
			}
			if tc.err == "" {
				return
			}
			h := post(tc.url)
			h.BlockOnFailure = true
			if run := runOne(t.Context(), t, &Runner{Post: hookhttp.Client{}.Post}, h, "{}"); run.Verdict.Decision != verdict.Deny {
				t.Errorf("%+v: want it denied where failures block", run.Verdict)
			}
		})
	}
	if redirected {
		t.Error("a redirect was followed")
	}
}

func TestRequestHasTimeLimit(t *testing.T) {
	// A request whose time is over before the server has it is asked of nobody.
	asked := make(chan struct{}, 10)
	// The body is held back in one case, the whole answer in the other.
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer s.Close()
	for _, path := range []string{"/", "/body"} {
		h := post(s.URL + path)
		h.Timeout = 50 * time.Millisecond
		if run := runOne(t.Context(), t, &Runner{Post: hookhttp.Client{}.Post}, h, "{}"); !run.Output.TimedOut {
			t.Errorf("%s: %+v, want it timed out", path, run)
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() { <-asked; stop() }()
		h.Timeout = time.Minute
		if run := runOne(ctx, t, &Runner{Post: hookhttp.Client{}.Post}, h, "{}"); run.Output.TimedOut || !run.Output.Failed {
			t.Errorf("%s: %+v, want it cancelled", path, run)
		}
		stop()
		h.Async, h.Timeout = true, 50*time.Millisecond
		run := runOne(t.Context(), t, &Runner{Post: hookhttp.Client{}.Post}, h, "{}")
		if run.Err != "timed out" || !run.Async || run.Verdict.Decision != verdict.NoDecision {
			t.Errorf("%s: %+v, want an async one noted", path, run)
		}
	}
}

func TestAsyncRequestGivesNoVerdict(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"decision":"block"}`) }))
	h := post(s.URL)
	h.Async = true
	if run := runOne(t.Context(), t, &Runner{Post: hookhttp.Client{}.Post}, h, "{}"); run.Err != "" || run.Verdict.Decision != verdict.NoDecision {
		t.Errorf("%+v", run)
	}
	s.Close()
	if run := runOne(t.Context(), t, &Runner{Post: hookhttp.Client{}.Post}, h, "{}"); !strings.HasPrefix(run.Err, "failed: ") {
		t.Errorf("%+v, want the failure noted", run)
	}
}
