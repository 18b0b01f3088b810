package deliver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/outbound"
)

// maxQuote bounds what an error repeats of an answer, in characters.
const maxQuote = 400

// OTLP configures a client of OTLP/HTTP.
type OTLP struct {
	// Endpoint is the whole URL, path included.
	Endpoint string
	Headers  map[string]string
	// JSON sends OTLP/JSON instead of protobuf; Gzip compresses.
	JSON bool
	Gzip bool
	// Timeout bounds one request; if zero, 10 s.
	Timeout time.Duration
	// CA, Cert and Key are PEM files; empty means the system's roots and no
	// client certificate.
	CA, Cert, Key string
	// HeadersCommand is a program that prints further headers, HeadersCache the file that
	// keeps them until they expire. Both may be empty.
	HeadersCommand, HeadersCache string
	// Date is called with the time by the endpoint's clock at each answer that has it, and
	// the time by this machine's. It may be nil.
	Date func(there, here time.Time)
	// AllowInsecure lets headers, which may be credentials, go over cleartext
	// to another machine.
	AllowInsecure bool
	// AnyUser is that of outbound.Options.
	AnyUser bool
	// Shared has the connections of clients that share them, by what decides on them. If nil, the
	// client has its own.
	Shared *sync.Map
}

// The signals of OTLP that are sent.
const tracesSignal, metricsSignal = "traces", "metrics"

// NewOTLP returns a client that makes one attempt per call and fails with an *Error.
// It follows no redirect, so that spans and headers go only to the endpoint.
func NewOTLP(ctx context.Context, o OTLP) (otlptrace.Client, error) {
	client, bare, err := o.client(tracesSignal)
	if err != nil {
		return nil, err
	}
	c := otlptracehttp.NewClient(otlpOptions(o, bare, client)...)
	return c, c.Start(ctx)
}

// client returns a client for the endpoint, and the URL without what the client adds.
func (o *OTLP) client(signal string) (client *http.Client, bare *url.URL, err error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		shown := o.Endpoint
		if strings.ContainsAny(shown, "@?") {
			// Only in a valid URL is it known which part is a password.
			shown = "(not shown: it may hold credentials)"
		}
		return nil, nil, fmt.Errorf("otlp endpoint %q: want a URL such as http://localhost:4318", shown)
	}
	bare = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	private := len(o.Headers) > 0 || o.HeadersCommand != "" || u.User != nil || u.RawQuery != ""
	if u.Scheme == "http" && private && !o.AllowInsecure && !outbound.Loopback(u.Hostname()) {
		return nil, nil, fmt.Errorf("otlp endpoint %s: headers, user and query may hold credentials and would cross the network "+
			"in cleartext: use https, or set HOOKSPAN_ALLOW_INSECURE=true", bare)
	}
	tlsConfig, err := o.tls()
	if err != nil {
		return nil, nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	secrets := outbound.NewSecrets(u, o.Headers)
	options := outbound.Options{TLS: tlsConfig, Timeout: o.Timeout, Secrets: secrets, AnyUser: o.AnyUser}
	if o.Shared != nil {
		base, _ := o.Shared.LoadOrStore([...]any{u.Scheme, u.Host, o.CA, o.Cert, o.Key, o.AnyUser}, outbound.New(options).Base())
		options.Base, _ = base.(*http.Client)
	}
	t := &transport{
		endpoint: bare, query: u.RawQuery, user: u.User, secrets: secrets, static: o.Headers, date: o.Date, signal: signal,
		next: outbound.New(options).Transport(),
	}
	if o.HeadersCommand != "" {
		t.tokens = &tokens{program: o.HeadersCommand, cache: o.HeadersCache, now: time.Now}
	}
	return &http.Client{Transport: t}, bare, nil
}

func otlpOptions(o OTLP, u *url.URL, client *http.Client) []otlptracehttp.Option {
	opts := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(u.String()),
		otlptracehttp.WithHeaders(o.Headers),
		otlptracehttp.WithTimeout(o.Timeout),
		otlptracehttp.WithHTTPClient(client),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}),
		otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		// The destination reports what is too large, and then gets less. With the
		// client's limit the same run would fail for ever.
		otlptracehttp.WithMaxRequestSize(0),
	}
	if o.Gzip {
		opts = append(opts, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	}
	if o.JSON {
		opts = append(opts, otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON))
	}
	return opts
}

// maxPEM is the largest file of certificates, in bytes.
const maxPEM = 16 << 20

func (o OTLP) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := regular.Read(o.CA, regular.Options{Max: maxPEM})
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s holds no PEM certificate", o.CA)
		}
	}
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
