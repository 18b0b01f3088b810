package ui

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

const (
	testToken = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	testTrace = "0102030405060708090a0b0c0d0e0f10"
)

// testTime is when the test's trace began.
var testTime = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// testStore returns a store with one trace: a failed command below a run.
func testStore(t *testing.T, command string) (*store.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.db")
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	id := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	root, tool := []byte{1, 1, 1, 1, 1, 1, 1, 1}, []byte{2, 2, 2, 2, 2, 2, 2, 2}
	at := func(d time.Duration) uint64 { return uint64(testTime.Add(d).UnixNano()) }
	spans := []*tracepb.Span{
		{TraceId: id, SpanId: root, Name: "invoke_agent cline", StartTimeUnixNano: at(0), EndTimeUnixNano: at(time.Minute), Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "cline"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted),
			otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "Fix <b>it</b> \u202e now")), otlp.String(otelmap.KeyConversationID, "session-1"),
		}},
		{TraceId: id, SpanId: tool, ParentSpanId: root, Name: "execute_tool bash", StartTimeUnixNano: at(time.Second), EndTimeUnixNano: at(3 * time.Second), Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyToolName, "bash"), otlp.String(otelmap.KeyErrorType, "ToolError"),
			otlp.String(otelmap.KeyToolArguments, fmt.Sprintf(`{"command":%q}`, command)),
		}, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "exit code 1"}},
	}
	err = s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{Resource: &resourcepb.Resource{}, ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

// started serves a store and returns the address, such as "127.0.0.1:1234".
func started(t *testing.T) string {
	t.Helper()
	s, path := testStore(t, "npm test")
	return listening(t, Options{Store: s, Token: testToken, Watch: []string{path, path + "-wal"}, Version: "1.2.3"})
}

// listening starts a server and returns its address.
func listening(t *testing.T, o Options) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := New(o)
	server.allow([]net.Listener{l})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}

// send sends the lines of a request as they are and returns the answer. ADDR is the
// server's address, TOKEN the token.
func send(t *testing.T, addr, request string) (status int, answer string) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	request = strings.NewReplacer("ADDR", addr, "TOKEN", testToken, "\n", "\r\n").Replace(request)
	if _, err := c.Write([]byte(request)); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	b := make([]byte, 1<<20)
	n := 0
	for n < len(b) {
		k, err := res.Body.Read(b[n:])
		if n += k; err != nil {
			break
		}
	}
	return res.StatusCode, string(b[:n])
}

// apiCall is a request that the page makes; each attack differs from it in one thing.
const apiCall = "GET /api/v1/sessions HTTP/1.1\nHost: ADDR\nX-Hookspan-Token: TOKEN\nSec-Fetch-Site: same-origin\nConnection: close\n"

func TestServerAnswersItsPageOnly(t *testing.T) {
	addr := started(t)
	_, port, _ := net.SplitHostPort(addr)
	without := func(part string) string { return strings.Replace(apiCall, part, "", 1) }
	with := func(old, part string) string { return strings.Replace(apiCall, old, part, 1) }
	for _, tt := range []struct {
		name, request string
		want          int
	}{
		{"the page", apiCall, 200},
		{"the name localhost", with("ADDR", "localhost:"+port), 421},
		{"a program without a browser's headers", without("Sec-Fetch-Site: same-origin\n"), 200},
		{"the page's own origin", apiCall + "Origin: http://ADDR\n", 200},

		{"a name that was rebound to this machine", with("ADDR", "rebound.example:"+port), 421},
		{"a rebound name without a port", with("ADDR", "rebound.example"), 421},
		{"this machine at another port", with("ADDR", "127.0.0.1:1"), 421},
		{"this machine without a port", with("ADDR", "127.0.0.1"), 421},
		{"a name that ends in localhost", with("ADDR", "x.localhost:"+port), 421},
		{"a dot after the name", with("ADDR", "localhost.:"+port), 421},
		{"the absolute form with another host", with("GET /", "GET http://rebound.example/"), 421},
		{"no host", "GET /api/v1/sessions HTTP/1.0\nX-Hookspan-Token: TOKEN\n", 421},

		{"a page at another port", apiCall + "Origin: http://127.0.0.1:3000\n", 403},
		{"a sandboxed frame", apiCall + "Origin: null\n", 403},
		{"a second origin", apiCall + "Origin: http://ADDR\nOrigin: http://127.0.0.1:3000\n", 403},
		{"the other scheme", apiCall + "Origin: https://ADDR\n", 403},
		{"a fetch of another port of this machine", with("same-origin", "same-site"), 403},
		{"an image of another site", with("same-origin", "cross-site"), 403},
		{"a fetch of the shell by another port", "GET / HTTP/1.1\nHost: ADDR\nSec-Fetch-Site: same-site\nConnection: close\n", 403},
		{"a script of the page from another port", "GET /assets/x/app.js HTTP/1.1\nHost: ADDR\nSec-Fetch-Site: same-site\nConnection: close\n", 403},
		{"a frame of the opening path", "GET /open HTTP/1.1\nHost: ADDR\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: iframe\nConnection: close\n", 403},
		{"the opening path from the file", "GET /open HTTP/1.1\nHost: ADDR\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\nConnection: close\n", 200},

		{"no token", without("X-Hookspan-Token: TOKEN\n"), 401},
		{"a wrong token", with("TOKEN", strings.Repeat("0", 64)), 401},
		{"the beginning of the token", with("TOKEN", testToken[:63]), 401},
		{"an empty token", with("TOKEN", ""), 401},
		{"two tokens", apiCall + "X-Hookspan-Token: TOKEN\n", 401},
		{"the token as a cookie", with("X-Hookspan-Token: ", "Cookie: token="), 401},
		{"the token in the query", with("/sessions HTTP", "/sessions?token=TOKEN HTTP"), 200}, // The header counts.
		{"the token in the query alone", strings.Replace(without("X-Hookspan-Token: TOKEN\n"), "/sessions HTTP", "/sessions?token=TOKEN HTTP", 1), 401},
		{"events without a token", "GET /api/v1/events HTTP/1.1\nHost: ADDR\nConnection: close\n", 401},

		{"a form", with("GET", "POST") + "Content-Length: 0\n", 405},
		{"a question for permission", with("GET", "OPTIONS"), 405},
		{"a deletion", with("GET", "DELETE"), 405},
		{"a body", apiCall + "Content-Length: 3\n\nabc", 413},
		{"a body of unknown size", apiCall + "Transfer-Encoding: chunked\n\n3\nabc\n0\n", 413},
		{"a large header", apiCall + "X: " + strings.Repeat("a", 64<<10) + "\n", 431},
		{"an unknown path", with("sessions", "secrets"), 404},
		{"a path upwards", "GET /assets/..%2f..%2fserver.go HTTP/1.1\nHost: ADDR\nConnection: close\n", 404},
		{"a WebSocket", "GET /api/v1/events HTTP/1.1\nHost: ADDR\nUpgrade: websocket\nConnection: Upgrade, close\nOrigin: http://127.0.0.1:3000\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n", 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, answer := send(t, addr, tt.request+"\n")
			if status != tt.want {
				t.Fatalf("status %d, want %d: %s", status, tt.want, answer)
			}
			if has := strings.Contains(answer, testTrace); has != (tt.want == 200 && strings.Contains(tt.request, "/api/")) {
				t.Errorf("the answer has the trace: %v\n%s", has, answer)
			}
			if strings.Contains(answer, testToken) {
				t.Errorf("the answer has the token: %s", answer)
			}
		})
	}
}

func TestServerSendsProtectiveHeaders(t *testing.T) {
	addr := started(t)
	for _, path := range []string{"/", "/t/" + testTrace, "/api/v1/sessions", "/assets/x/app.js", "/none"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		for name, want := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
			"Set-Cookie": "", "Access-Control-Allow-Origin": "",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestAnswersShowHiddenCharacters(t *testing.T) {
	status, answer := send(t, started(t), strings.Replace(apiCall, "sessions", "traces/"+testTrace, 1)+"\n")
	if status != 200 || strings.Contains(answer, "\u202e") || !strings.Contains(answer, "exit code 1") {
		t.Errorf("status %d: %s", status, answer)
	}
	if got := string(visible([]byte("a\u202eb\u200dc\u2066é"))); got != "a⟨U+202E⟩b\u200dc⟨U+2066⟩é" {
		t.Errorf("visible: %q", got)
	}
}

func TestWrongParametersAreNamed(t *testing.T) {
	addr := started(t)
	for request, want := range map[string]string{
		"sessions?limit=x":                     `limit \"x\": want a number`,
		"sessions?limit=0":                     "want a number from 1 to 5000",
		"sessions?min-cost=-1":                 `min-cost \"-1\": want a number of dollars above 0`,
		"sessions?min-cost=NaN":                "above 0",
		"sessions?since=today":                 `since \"today\"`,
		"sessions?text=--":                     "letter or digit",
		"traces/zz":                            "hex digits",
		"traces/" + strings.Repeat("f", 32):    "no such trace",
		"traces/" + testTrace + "/row/9":       "row",
		"traces/" + testTrace + "/find":        "text",
		"traces/" + testTrace + "/lines?from=": "npm test",
		"compare?a=" + testTrace:               "b: want the id",
		"search":                               "text: want",
	} {
		if _, answer := send(t, addr, strings.Replace(apiCall, "sessions", request, 1)+"\n"); !strings.Contains(answer, want) {
			t.Errorf("%s: %s\nwant %s", request, answer, want)
		}
	}
}

func TestEventsReportNewTraces(t *testing.T) {
	s, path := testStore(t, "ls")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := New(Options{Store: s, Token: testToken, Watch: []string{path, path + "-wal"}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(TokenHeader, testToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if e, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				return e
			}
		}
		return ""
	}
	if e := next(); e != "open" {
		t.Fatalf("first event %q", e)
	}
	err = s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
		{TraceId: []byte("another trace id"), SpanId: []byte{3, 3, 3, 3, 3, 3, 3, 3}, Name: "x", StartTimeUnixNano: 1, EndTimeUnixNano: 2},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if e := next(); e != "change" {
		t.Errorf("second event %q", e)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if e := next(); e != "" {
		t.Errorf("event %q after the end", e)
	}
}
