package collector_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// keysOf are the keys of a span and of its events, with those of the latter marked.
func keysOf(s placed) []string {
	keys := map[string]bool{}
	for _, kv := range s.GetAttributes() {
		keys[kv.GetKey()] = true
	}
	for i, e := range s.GetEvents() {
		for _, kv := range e.GetAttributes() {
			keys[fmt.Sprint("event ", i, " ", kv.GetKey())] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// textless leaves out what a gateway cannot tell from texts, too: the servers of MCP calls,
// which may be from a call's input.
var textless = otelmap.Options{Capture: otelmap.CaptureNone, Agent: otelmap.Traits{MCPServer: func(string, string) string { return "-" }}}

// notext.yaml leaves of a span exactly what HOOKSPAN_CAPTURE=none does, and nothing of
// attributes that it does not know.
func TestNoTextPassesTheGateway(t *testing.T) {
	t.Parallel()
	to := newBackend(t)
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml", "notext.yaml"}, map[string]string{"BACKEND_ENDPOINT": to.URL}}, keepAll)
	sent := recordedSpans(t)
	texts := 0
	var plain []*collectorpb.ExportTraceServiceRequest
	for _, r := range sent {
		c := &collectorpb.ExportTraceServiceRequest{}
		for _, rs := range r.GetResourceSpans() {
			m := textless.Narrow(rs)
			for span := range otlp.Spans([]*tracepb.ResourceSpans{m}) {
				for _, e := range span.GetEvents() {
					e.Attributes = slices.DeleteFunc(e.Attributes, func(kv *commonpb.KeyValue) bool { return kv.GetKey() == otelmap.KeyExceptionMessage })
				}
			}
			c.ResourceSpans = append(c.ResourceSpans, m)
		}
		plain = append(plain, c)
		for span := range otlp.Spans(r.GetResourceSpans()) {
			planted := textAttribute("another.program", "a text")
			span.Attributes = append(span.Attributes, planted)
			for _, e := range span.GetEvents() {
				e.Attributes = append(e.Attributes, planted)
			}
			texts += len(span.GetAttributes())
		}
	}
	hand(t, s.listen, sent...)
	want := spansByID(t, plain...)
	got := to.await(t, len(want))
	passed := 0
	for id, w := range want {
		if a, b := keysOf(w), keysOf(got[id]); !slices.Equal(a, b) {
			t.Errorf("span %s %q has\n%q\nwant\n%q", id, w.GetName(), b, a)
			passed++
		}
		if got[id].GetStatus().GetMessage() != "" {
			t.Errorf("span %s has the message %q", id, got[id].GetStatus().GetMessage())
		}
	}
	if texts == 0 || passed > 0 {
		t.Errorf("%d spans with other attributes than without texts; %d attributes were sent", passed, texts)
	}
}

// withKey returns a request's status with an Authorization.
func (s started) postAs(t *testing.T, token string, r *collectorpb.ExportTraceServiceRequest) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.listen+"/v1/traces", bytes.NewReader(body(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // An address of loopback.
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestOnlyCallersWithATokenMaySend(t *testing.T) {
	t.Parallel()
	to := newBackend(t)
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("first-token team one\nsecond-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml", "tokens.yaml"}, map[string]string{"BACKEND_ENDPOINT": to.URL, "TOKENS_FILE": file}}, keepAll)
	for token, want := range map[string]int{"": 401, "wrong": 401, "team": 401, "first-token": 200, "second-token": 200} {
		if got := s.postAs(t, token, numbered(len(token)+1, 1)); got != want {
			t.Errorf("with token %q status %d, want %d", token, got, want)
		}
	}
	to.await(t, 2)
}

// provider signs tokens as an OpenID Connect provider does.
type provider struct {
	key  *rsa.PrivateKey
	keys string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	set, err := json.Marshal(map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes()),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key, filepath.Join(t.TempDir(), "keys.json")}
	if err := os.WriteFile(p.keys, set, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

const issuer = "https://login.example.com"

func (p *provider) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": issuer, "aud": "gateways", "sub": "dev-1", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(all, claims)
	payload, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(`{"alg":"RS256","kid":"1","typ":"JWT"}`)) + "." + b64(payload)
	sum := sha256.Sum256([]byte(text))
	sign, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + b64(sign)
}

// The team of a trace and of the metrics is the caller's, whatever a machine sends.
func TestTheCallersTeamCannotBeForged(t *testing.T) {
	t.Parallel()
	to, p := newBackend(t), newProvider(t)
	s := startShipped(t, shippedConfig{[]string{"gateway.yaml", "oidc.yaml"}, map[string]string{
		"BACKEND_ENDPOINT": to.URL, "OIDC_ISSUER": issuer, "OIDC_AUDIENCE": "gateways", "OIDC_KEYS_FILE": p.keys, "GATEWAY_LABELS": "team.id",
	}}, keepAll)
	forged := func(n int) *collectorpb.ExportTraceServiceRequest {
		r := proto.CloneOf(numbered(n, 1))
		rs := r.GetResourceSpans()[0]
		rs.Resource = proto.CloneOf(recordedSpans(t)[0].GetResourceSpans()[0].GetResource())
		rs.Resource.Attributes = append(rs.Resource.Attributes, textAttribute("team.id", "forged"))
		span := rs.GetScopeSpans()[0].GetSpans()[0]
		span.Attributes = append(span.Attributes, textAttribute("team.id", "forged"))
		return r
	}
	for n, c := range []struct {
		token string
		want  int
	}{
		{"", 401},
		{"no token", 401},
		{p.token(t, map[string]any{"aud": "others"}), 401},
		{p.token(t, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), 401},
		{newProvider(t).token(t, nil), 401},
		{p.token(t, map[string]any{"team": "payments"}), 200},
		{p.token(t, nil), 200},
	} {
		if got := s.postAs(t, c.token, forged(n)); got != c.want {
			t.Errorf("request %d: status %d, want %d", n, got, c.want)
		}
	}
	teams := map[string]bool{}
	for _, span := range to.await(t, 2) {
		team := ""
		for _, kv := range slices.Concat(span.resource, span.GetAttributes()) {
			if kv.GetKey() == "team.id" {
				team += kv.GetValue().GetStringValue()
			}
		}
		teams[team] = true
	}
	if !maps.Equal(teams, map[string]bool{"payments": true, "": true}) {
		t.Errorf("teams of the traces: %v, want payments and none", teams)
	}
	if !until(t.Context(), patience, func() bool {
		seen := map[string]bool{}
		for _, m := range scrape(t, s.metrics) {
			if m.name == "agent_calls_total" {
				seen[m.labels["team_id"]] = true
			}
		}
		return maps.Equal(seen, map[string]bool{"payments": true, "": true})
	}) {
		t.Error("the metrics have other teams than payments and none")
	}
}

// A backend that refuses for a while, for any reason that is not the request's, loses
// nothing; a request that it refuses as it is is in a file that can be sent.
func TestWhatABackendRefusesIsKept(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"agent.yaml", "gateway.yaml"} {
		for _, status := range []int{401, 403, 404, 500, 400, 413} {
			t.Run(fmt.Sprint(base, " ", status), func(t *testing.T) {
				t.Parallel()
				to := newBackend(t)
				g := newGate(t, to, status)
				more := []string{quickRetry}
				if base == "gateway.yaml" {
					more = append(more, keepAll)
				}
				s := startShipped(t, shippedConfig{[]string{base}, map[string]string{"BACKEND_ENDPOINT": g.URL}}, more...)
				hand(t, s.listen, numbered(1, 10))
				said := func() bool {
					return strings.Contains(s.Log(), "The backend refuses") && strings.Contains(s.Log(), fmt.Sprintf(`"status": %d`, status))
				}
				if !until(t.Context(), patience, func() bool { return g.refused.Load() > 0 && said() }) {
					t.Fatalf("the log does not say what is refused:\n%s", complaints(s.Log()))
				}
				if strings.Contains(s.Log(), "Dropping data") {
					t.Errorf("data was dropped:\n%s", complaints(s.Log()))
				}
				g.open()
				if status == 400 || status == 413 {
					files, err := filepath.Glob(filepath.Join(s.dir, "queue", "refused", "*.otlp.gz"))
					if err != nil || len(files) != 1 {
						t.Fatalf("%q in the folder of what was refused (%v), want one file", files, err)
					}
					f, err := os.ReadFile(files[0])
					if err != nil {
						t.Fatal(err)
					}
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to.URL, bytes.NewReader(f))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Content-Encoding", "gzip")
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					_ = resp.Body.Close()
				}
				to.await(t, 1)
			})
		}
	}
}
