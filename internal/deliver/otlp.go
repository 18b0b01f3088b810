package deliver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/regular"
)

// maxAnswer bounds what is read of a destination's answer.
const maxAnswer = 4 << 20

// OTLP says where and how spans go over OTLP/HTTP.
type OTLP struct {
	// Endpoint is the whole URL, path included.
	Endpoint string
	Headers  map[string]string
	// JSON sends OTLP/JSON in place of protobuf; Gzip compresses.
	JSON bool
	Gzip bool
	// Timeout bounds one request; if zero, 10 s.
	Timeout time.Duration
	// CA, Cert and Key are PEM files; empty means the system's roots and no
	// client certificate.
	CA, Cert, Key string
	// AllowInsecure lets headers, which may be credentials, go over cleartext
	// to another machine.
	AllowInsecure bool
}

// NewOTLP returns an exporter that makes one attempt per call and reports how
// it failed as *Error. It follows no redirect, so that no span and no header
// ever goes to a place that was not asked for.
func NewOTLP(ctx context.Context, o OTLP) (sdktrace.SpanExporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		shown := o.Endpoint
		if strings.ContainsAny(shown, "@?") {
			// Which part of it is a password only a URL could tell.
			shown = "(not shown: it may hold credentials)"
		}
		return nil, fmt.Errorf("otlp endpoint %q: want a URL such as http://localhost:4318", shown)
	}
	bare := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	secrets := len(o.Headers) > 0 || u.User != nil || u.RawQuery != ""
	if u.Scheme == "http" && secrets && !o.AllowInsecure && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("otlp endpoint %s: headers, user and query may hold credentials and would cross the network "+
			"in cleartext: use https, or set HOOKSPAN_ALLOW_INSECURE=true", bare)
	}
	tlsConfig, err := o.tls()
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	client := &http.Client{
		Transport: &answers{
			endpoint: bare.String(), query: u.RawQuery, user: u.User, secrets: scrubber(u, o.Headers),
			next: &http.Transport{
				Proxy: proxy, TLSClientConfig: tlsConfig,
				ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second,
				TLSHandshakeTimeout: o.Timeout,
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       o.Timeout,
	}
	return otlptracehttp.New(ctx, otlpOptions(o, bare, client)...)
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
		// The destination says what is too large for it, and gets less then.
		// The client's own limit would fail the same run for ever.
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

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// proxy is the environment's, and none for this machine. The standard library
// leaves out "localhost" in that spelling alone; another would give a proxy the
// credentials that may go in cleartext because they do not leave the machine.
func proxy(req *http.Request) (*url.URL, error) {
	if loopback(req.URL.Hostname()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}

// answers is the transport that reads a destination's answer for what it means
// to the spans, before the client turns it into a text.
type answers struct {
	// endpoint is the URL as errors show it: without user and query.
	endpoint string
	// query and user are the parts of the URL that the client leaves out.
	query string
	user  *url.Userinfo
	// secrets removes credentials from a text; if nil, there are none.
	secrets *credentials
	next    http.RoundTripper
}

func (t *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(t.whole(req))
	if err != nil {
		return nil, &Error{Err: t.scrubbed(fmt.Errorf("otlp %s: %w", t.endpoint, err))}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close()
	if err != nil {
		return nil, &Error{Err: t.scrubbed(fmt.Errorf("otlp %s: the answer broke off: %w", t.endpoint, err))}
	}
	if e := t.read(resp, body); e != nil {
		e.Err = t.scrubbed(e.Err)
		return nil, e
	}
	resp.Body = io.NopCloser(bytes.NewReader(nil))
	resp.ContentLength = 0
	return resp, nil
}

// whole gives the request the parts of the URL that the client leaves out. A
// transport must not change its argument.
func (t *answers) whole(req *http.Request) *http.Request {
	if t.query == "" && t.user == nil {
		return req
	}
	req = req.Clone(req.Context())
	req.URL.RawQuery = t.query
	if t.user != nil && req.Header.Get("Authorization") == "" {
		password, _ := t.user.Password()
		req.SetBasicAuth(t.user.Username(), password)
	}
	return req
}

// read classifies an answer; nil means that the spans were taken.
func (t *answers) read(resp *http.Response, body []byte) *Error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	code := resp.StatusCode
	// A portal need not say what its page is.
	html := kind == "text/html" || kind == "application/xhtml+xml" ||
		(kind == "" || kind == "text/plain") && strings.HasPrefix(http.DetectContentType(body), "text/html")
	say := func(hint string) error {
		text := fmt.Sprintf("otlp %s: %s", t.endpoint, resp.Status)
		if s := line(t.scrub(string(body))); s != "" && !html {
			text += ": " + s
		}
		if hint != "" {
			text += " (" + hint + ")"
		}
		return errors.New(text)
	}
	switch {
	case code >= 200 && code <= 299:
		if html {
			return &Error{Err: say("a web page answered in place of an OTLP receiver: check the endpoint")}
		}
		return t.partial(kind, body)
	case code >= 300 && code <= 399:
		return &Error{Err: say(fmt.Sprintf("redirects are not followed: if %q is right, set it as the endpoint",
			location(resp)))}
	case code == http.StatusTooManyRequests, code >= 500:
		return &Error{Err: say(""), After: retryAfter(resp.Header.Get("Retry-After")), RunOnly: ofTheRun(code)}
	case code == http.StatusRequestTimeout:
		return &Error{Err: say("")}
	case code == http.StatusRequestEntityTooLarge:
		return &Error{Err: say(""), Permanent: true, TooLarge: true}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return &Error{Err: say("check OTEL_EXPORTER_OTLP_HEADERS"), Permanent: true}
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		return &Error{Err: say("check the endpoint's path: OTEL_EXPORTER_OTLP_ENDPOINT gets /v1/traces appended, " +
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it is"), Permanent: true}
	default:
		return &Error{Err: say(""), Permanent: true}
	}
}

// partial reads a success's body for spans that were rejected. An answer that
// cannot be read is still a success.
func (t *answers) partial(kind string, body []byte) *Error {
	var r coltracepb.ExportTraceServiceResponse
	var err error
	switch kind {
	case "application/x-protobuf":
		err = proto.Unmarshal(body, &r)
	case "application/json":
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, &r)
	default:
		return nil
	}
	p := r.GetPartialSuccess()
	if err != nil || p.GetRejectedSpans() == 0 {
		return nil
	}
	return &Error{
		Err:       fmt.Errorf("%d spans rejected: %s", p.GetRejectedSpans(), line(t.scrub(p.GetErrorMessage()))),
		Permanent: true, Partial: true, Rejected: p.GetRejectedSpans(),
	}
}

func location(resp *http.Response) string {
	u, err := resp.Location()
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.Redacted()
}

// maxRetryAfter bounds what a destination may ask for: a typing error in its
// configuration must not silence it for a year.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header's two forms: seconds, or a date.
func retryAfter(h string) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(h)); err == nil && n > 0 {
		return time.Duration(min(n, int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(h); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}

// line makes one short printable line of what a server said.
func line(text string) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), 400)], "?"))
	return strings.Join(strings.Fields(s), " ")
}
