package deliver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestOTLPEncodings(t *testing.T) {
	for _, c := range []struct {
		name       string
		json, gzip bool
		kind, enc  string
	}{
		{"protobuf", false, false, otlptest.TypeProtobuf, ""},
		{"protobuf, gzip", false, true, otlptest.TypeProtobuf, "gzip"},
		{"json", true, false, otlptest.TypeJSON, ""},
		{"json, gzip", true, true, otlptest.TypeJSON, "gzip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, s := newBench(t), otlptest.New(t)
			k := b.append(recorded(t, "sdk-session", "")...)
			b.clock.Advance(time.Minute)
			d := b.deliverer(otlpDestination(t, "otlp", OTLP{
				Endpoint: s.URL(), JSON: c.json, Gzip: c.gzip, Headers: map[string]string{"x-team": "tools"},
			}))
			b.run(d, Pass{})
			wantIDs(t, "otlp", b.view(k, d.Map).ended(), received(s))
			for _, r := range s.Requests() {
				if r.Err != nil || r.Header.Get("Content-Type") != c.kind || r.Header.Get("Content-Encoding") != c.enc || r.Header.Get("X-Team") != "tools" {
					t.Errorf("request %v (%v), want type %q, encoding %q and the header", r.Header, r.Err, c.kind, c.enc)
				}
			}
		})
	}
}

func TestEncodingsCarryTheSameSpans(t *testing.T) {
	b, x, y := newBench(t), otlptest.New(t), otlptest.New(t)
	b.append(recorded(t, "classic-session", "")...)
	b.clock.Advance(time.Minute)
	// A receiver that gets both copies of a span tells whether they differ.
	b.run(b.deliverer(otlpDestination(t, "json", OTLP{Endpoint: x.URL(), JSON: true})), Pass{})
	b.run(b.deliverer(otlpDestination(t, "gzip", OTLP{Endpoint: x.URL(), Gzip: true})), Pass{})
	b.run(b.deliverer(otlpDestination(t, "plain", OTLP{Endpoint: y.URL()})), Pass{})
	if len(x.Spans()) == 0 || len(x.Spans()) != len(y.Spans()) {
		t.Fatalf("%d and %d spans, want the same number", len(x.Spans()), len(y.Spans()))
	}
	for _, s := range x.Spans() {
		if s.Count != 2 || s.Changed {
			t.Errorf("span %v %q came %d times, differs %t; want twice the same", s.ID, s.Name, s.Count, s.Changed)
		}
	}
}

func TestOTLPRefusesToStart(t *testing.T) {
	junk := filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := map[string]string{"authorization": "Bearer geheim"}
	for _, c := range []struct {
		name string
		o    OTLP
		says string // empty: starts
	}{
		{"no URL", OTLP{Endpoint: "localhost:4318"}, "http://localhost:4318"},
		{"no host", OTLP{Endpoint: "http:///v1/traces"}, "want a URL"},
		{"another scheme", OTLP{Endpoint: "grpc://localhost:4317"}, "want a URL"},
		{"headers in cleartext to another machine", OTLP{Endpoint: "http://otel.example.com/v1/traces", Headers: secret}, "HOOKSPAN_ALLOW_INSECURE"},
		{"headers in cleartext to a name that only looks local", OTLP{Endpoint: "http://localhost.example.com/v1/traces", Headers: secret}, "cleartext"},
		{"headers in cleartext to an address that is not loopback", OTLP{Endpoint: "http://10.0.0.1/v1/traces", Headers: secret}, "cleartext"},
		{"headers in cleartext to another machine, allowed", OTLP{Endpoint: "http://otel.example.com/v1/traces", Headers: secret, AllowInsecure: true}, ""},
		{"cleartext to another machine without headers", OTLP{Endpoint: "http://otel.example.com/v1/traces"}, ""},
		{"a user in cleartext to another machine", OTLP{Endpoint: "http://u:geheim@otel.example.com/v1/traces"}, "cleartext"},
		{"a query in cleartext to another machine", OTLP{Endpoint: "http://otel.example.com/v1/traces?token=geheim"}, "cleartext"},
		{"a user and a query to localhost", OTLP{Endpoint: "http://u:geheim@localhost:4318/v1/traces?token=geheim"}, ""},
		{"another scheme with a password", OTLP{Endpoint: "grpc://u:geheim@otel.example.com?token=geheim"}, "want a URL"},
		{"no URL at all, with a password", OTLP{Endpoint: "u:geheim@otel.example.com"}, "want a URL"},
		{"headers to localhost", OTLP{Endpoint: "http://LocalHost:4318/v1/traces", Headers: secret}, ""},
		{"headers to 127.0.0.2", OTLP{Endpoint: "http://127.0.0.2:4318/v1/traces", Headers: secret}, ""},
		{"headers to ::1", OTLP{Endpoint: "http://[::1]:4318/v1/traces", Headers: secret}, ""},
		{"headers over TLS", OTLP{Endpoint: "https://otel.example.com/v1/traces", Headers: secret}, ""},
		{"missing CA", OTLP{Endpoint: "https://otel.example.com", CA: junk + ".not"}, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{"CA that is none", OTLP{Endpoint: "https://otel.example.com", CA: junk}, "no PEM certificate"},
		{"certificate without key", OTLP{Endpoint: "https://otel.example.com", Cert: junk}, "_CLIENT_KEY"},
		{"user and password in the URL are not shown", OTLP{Endpoint: "http://u:geheim@otel.example.com", Headers: secret}, "cleartext"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewOTLP(t.Context(), c.o)
			switch {
			case c.says == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("error %v, want %q in it", err, c.says)
			case err != nil && strings.Contains(err.Error(), "geheim"):
				t.Errorf("error %v shows a secret", err)
			}
		})
	}
}

func TestErrorsShowNoCredentials(t *testing.T) {
	s := otlptest.New(t)
	s.Always(otlptest.Status(503, "try later"))
	url := strings.Replace(s.URL(), "http://", "http://user:geheim@", 1)
	d := otlpDestination(t, "otlp", OTLP{Endpoint: url, Headers: map[string]string{"authorization": "geheim"}})
	err := d.Client.UploadTraces(t.Context(), message(sample()))
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v, want one without the password", err)
	}
	s.Close()
	if err = d.Client.UploadTraces(t.Context(), message(sample())); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v, want one without the password", err)
	}
}

func TestAnswersAreReadUpToALimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer otlptest.Answer
		retry  bool
	}{
		{name: "a success that goes on and on", retry: true, answer: otlptest.Answer{
			ContentType: "application/json", Body: strings.Repeat(" ", 5<<20), Refuse: true,
		}},
		{name: "a failure that goes on and on", retry: true, answer: otlptest.Status(500, strings.Repeat("x", 5<<20))},
		{name: "a refusal full of control characters", answer: otlptest.Status(400, "a\x1b[31m\r\nb\x00\xffc\x7f"+strings.Repeat("é", 1000))},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := otlptest.New(t)
			s.Always(c.answer)
			err := otlpDestination(t, "otlp", OTLP{Endpoint: s.URL()}).Client.UploadTraces(t.Context(), message(sample()))
			if retry := Retryable(err); err == nil || retry != c.retry {
				t.Fatalf("error %v, retried %t, want %t", err, retry, c.retry)
			}
			if text := err.Error(); len(text) > 1000 || strings.ContainsAny(text, "\x1b\r\n\x00\x7f") {
				t.Errorf("error of %d bytes: %q, want one short clean line", len(text), text[:min(len(text), 1000)])
			}
		})
	}
}

func TestRequestAboveClientLimitIsSplit(t *testing.T) {
	if testing.Short() {
		skip.Elsewhere(t, "moves 70 MB")
	}
	s := otlptest.New(t)
	s.SetMaxBytes(60 << 20)
	big := sample()
	big.Name = strings.Repeat("n", 35<<20)
	other := sample()
	other.Name, other.SpanId = big.Name, []byte{9, 7: 0}
	d := newBench(t).deliverer()
	_, refused, err := d.export(t.Context(), &Destination{
		Name: "otlp", Client: otlpDestination(t, "otlp", OTLP{Endpoint: s.URL(), Timeout: 5 * time.Minute}).Client,
	}, batches(message(big, other), 0), true, nil)
	if err != nil || refused.spans != 0 {
		t.Fatalf("refused %d, error %v, want both spans taken", refused.spans, err)
	}
	if n := len(s.Spans()); n != 2 {
		t.Errorf("%d spans were taken, want 2", n)
	}
}

func TestPartialSuccessKeepsCountersValid(t *testing.T) {
	for _, rejected := range []int64{-5, -1 << 63, 1<<63 - 1} {
		e := newFaultEnv(t, false)
		e.faulty.Always(otlptest.Partial(rejected, "?"))
		e.run(e.d, Pass{})
		st := e.state(e.key, "otlp")
		if st.Spans < 0 || st.Rejected < 0 || st.Spans > int64(e.spans) || st.Rejected > int64(e.spans) {
			t.Errorf("%d rejected: state %s", rejected, mustJSON(st))
		}
		if st.Runs+int64(len(st.Parked)) != int64(e.runs) {
			t.Errorf("%d rejected: %d runs and %d parked, want %d in all", rejected, st.Runs, len(st.Parked), e.runs)
		}
	}
}

func TestTLS(t *testing.T) {
	pki := newPKI(t)
	for _, c := range []struct {
		name string
		o    OTLP
		auth tls.ClientAuthType
		max  uint16
		says string // empty: delivered
	}{
		{name: "the system's roots do not know the CA", says: "certificate"},
		{name: "own CA", o: OTLP{CA: pki.caFile}},
		{name: "a client certificate is asked for and missing", o: OTLP{CA: pki.caFile}, auth: tls.RequireAndVerifyClientCert, says: "certificate"},
		{
			name: "own CA and client certificate", o: OTLP{CA: pki.caFile, Cert: pki.clientFile, Key: pki.keyFile},
			auth: tls.RequireAndVerifyClientCert,
		},
		{name: "below TLS 1.2", o: OTLP{CA: pki.caFile}, max: tls.VersionTLS11, says: "version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := otlptest.Start(otlptest.Options{TLS: &tls.Config{
				Certificates: []tls.Certificate{pki.server}, ClientCAs: pki.pool, ClientAuth: c.auth,
				MinVersion: tls.VersionTLS10, MaxVersion: c.max, //nolint:gosec // The old version is what is tested.
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			c.o.Endpoint = s.URL()
			err = otlpDestination(t, "otlp", c.o).Client.UploadTraces(t.Context(), message(sample()))
			if c.says == "" {
				if err != nil || len(s.Spans()) != 1 {
					t.Errorf("error %v, %d spans taken, want 1", err, len(s.Spans()))
				}
				return
			}
			retry := Retryable(err)
			if err == nil || !strings.Contains(err.Error(), c.says) || !retry {
				t.Errorf("error %v, retried %t; want %q, retried once it is mended", err, retry, c.says)
			}
			if len(s.Requests()) != 0 {
				t.Error("a request went out")
			}
		})
	}
}

// pki is a certificate authority with a server and a client.
type pki struct {
	server                      tls.Certificate
	pool                        *x509.CertPool
	caFile, clientFile, keyFile string
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial := int64(0)
	issue := func(name string, parent *x509.Certificate) (*x509.Certificate, []byte) {
		serial++
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: parent == nil,
		}
		if parent == nil {
			parent = c
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return parsed, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	ca, caPEM := issue("test CA", nil)
	_, serverPEM := issue("server", ca)
	_, clientPEM := issue("client", ca)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	p := &pki{pool: x509.NewCertPool()}
	p.pool.AddCert(ca)
	if p.server, err = tls.X509KeyPair(serverPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{"ca.pem": caPEM, "client.pem": clientPEM, "client.key": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.caFile, p.clientFile, p.keyFile = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	return p
}

func TestFileDestinationIgnoresNetworkSettings(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", newPKI(t).caFile)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	e, err := NewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.UploadTraces(t.Context(), message(sample())); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path) //nolint:gosec // A file of the test.
	if err != nil || !bytes.HasPrefix(b, []byte(`{"resourceSpans"`)) {
		t.Errorf("file holds %q (%v), want a line of OTLP/JSON", b, err)
	}
}

func TestCompleteURLIsSent(t *testing.T) {
	const path = "/v1/traces"
	for _, c := range []struct {
		name, user, query string
		headers           map[string]string
		auth              string
	}{
		{name: "a query", query: "?api_token=q1w2&x=a%2Fb"},
		{name: "user and password", user: "user:p%40w@", auth: "Basic dXNlcjpwQHc="},
		{name: "a user alone", user: "token@", auth: "Basic dG9rZW46"},
		{
			name: "the header goes before the user", user: "user:pw@", query: "?a=b",
			headers: map[string]string{"authorization": "Bearer x"}, auth: "Bearer x",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var uri, auth string
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				uri, auth = r.RequestURI, r.Header.Get("Authorization")
			}))
			defer s.Close()
			url := strings.Replace(s.URL, "http://", "http://"+c.user, 1) + path + c.query
			d := otlpDestination(t, "otlp", OTLP{Endpoint: url, Headers: c.headers})
			if err := d.Client.UploadTraces(t.Context(), message(sample())); err != nil {
				t.Fatal(err)
			}
			if uri != path+c.query || auth != c.auth {
				t.Errorf("asked for %q with %q, want %q with %q", uri, auth, path+c.query, c.auth)
			}
		})
	}
}

// TestRequestsHaveALength counts what a strict endpoint refuses, compressed and not, and after
// a refused token.
func TestRequestsHaveALength(t *testing.T) {
	program, _ := tokenProgram(t, `{"Authorization":"Bearer N"}`)
	for _, o := range []OTLP{{}, {Gzip: true}, {JSON: true}, {JSON: true, Gzip: true}, {Gzip: true, HeadersCommand: program}} {
		var bodies [][]byte
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, body)
			switch {
			case r.ContentLength != int64(len(body)) || len(r.TransferEncoding) > 0:
				w.WriteHeader(http.StatusBadRequest)
			case o.HeadersCommand != "" && len(bodies) == 1:
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		o.Endpoint = server.URL
		err := otlpDestination(t, "otlp", o).Client.UploadTraces(t.Context(), message(sample()))
		if err != nil {
			t.Errorf("%+v: %v", o, err)
		}
		if n := len(bodies); o.HeadersCommand != "" && (n != 2 || !bytes.Equal(bodies[0], bodies[1])) {
			t.Errorf("%d bodies, want two that are equal", n)
		}
		server.Close()
	}
}
