package deliver

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/outbound"
)

// transport reads a destination's answer for what it means for the spans, before
// the client turns it into a text.
type transport struct {
	// endpoint is the URL as errors show it: without user and query.
	endpoint *url.URL
	// query and user are the parts of the URL that the client leaves out.
	query   string
	user    *url.Userinfo
	secrets *outbound.Secrets
	next    http.RoundTripper
	// static are the headers of the settings, tokens those of a program, nil for none.
	static map[string]string
	tokens *tokens
	date   func(there, here time.Time)
	// signal is traces or metrics.
	signal string
}

// variable is the signal's variable of the endpoint.
func (t *transport) variable() string {
	return "OTEL_EXPORTER_OTLP_" + strings.ToUpper(t.signal) + "_ENDPOINT"
}

// maxBody is the largest body of a request that is held to be sent, in bytes. One span alone
// can be larger than a batch.
const maxBody = 64 << 20

// RoundTrip implements http.RoundTripper. The error is an *Error.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	// The client compresses into a pipe. Some endpoints refuse a body without its length, and
	// a refused token is replaced once, which needs the body again.
	content, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	if len(content) > maxBody {
		return nil, &Error{Err: fmt.Errorf("otlp %s: the request has more than %d MiB", t.endpoint, maxBody>>20), Permanent: true, TooLarge: true}
	}
	with := func(headers map[string]string) *http.Request {
		again := t.complete(req).Clone(req.Context())
		again.ContentLength, again.TransferEncoding = int64(len(content)), nil
		again.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		again.Body, _ = again.GetBody()
		for name, value := range headers {
			again.Header.Set(name, value)
		}
		return again
	}
	if t.tokens == nil {
		return t.send(with(nil))
	}
	var refused map[string]string
	for {
		headers, err := t.tokens.headers(req.Context(), refused)
		if err != nil {
			return nil, err
		}
		own := *t
		all := maps.Clone(t.static)
		if all == nil {
			all = make(map[string]string)
		}
		maps.Copy(all, headers)
		own.secrets = outbound.NewSecrets(&url.URL{User: t.user, RawQuery: t.query}, all)
		resp, err := own.send(with(headers))
		var e *Error
		if !errors.As(err, &e) || !unauthorized(e.status) || !t.tokens.again(refused != nil) {
			return resp, err
		}
		refused = headers
	}
}

// send sends a request that is complete.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, t.noAnswer(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if there, err := http.ParseTime(resp.Header.Get("Date")); err == nil && t.date != nil {
		t.date(there, time.Now())
	}
	if e := t.read(resp, body, err); e != nil {
		e.Err = t.secrets.CleanError(e.Err)
		return nil, e
	}
	resp.Body, resp.ContentLength = http.NoBody, 0
	return resp, nil
}

// complete gives the request the parts of the URL that the client leaves out. A
// transport must not change its argument.
func (t *transport) complete(req *http.Request) *http.Request {
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

// noAnswer returns the error of a request without an answer.
func (t *transport) noAnswer(err error) *Error {
	hint := ""
	var e *outbound.Error
	switch {
	case !errors.As(err, &e):
	case errors.As(e.Err, new(x509.UnknownAuthorityError)):
		hint = ": set OTEL_EXPORTER_OTLP_CERTIFICATE to the PEM file of the authority that signed the server's certificate, such as your company's"
	case errors.As(e.Err, new(x509.HostnameError)), errors.As(e.Err, new(x509.CertificateInvalidError)):
		hint = ": correct the host in OTEL_EXPORTER_OTLP_ENDPOINT, the server's certificate or this machine's clock"
	case e.Kind == outbound.OnlyHTTP2:
		hint = t.grpcHint("http")
	case e.WrongProtocol():
		hint = "; the endpoint is set by OTEL_EXPORTER_OTLP_ENDPOINT or " + t.variable()
	case e.Unreached && errors.As(e.Err, new(*net.DNSError)):
		hint = ": correct the host in OTEL_EXPORTER_OTLP_ENDPOINT or " + t.variable() + ", or look at the network"
	case e.Unreached:
		hint = ": start the backend, or correct OTEL_EXPORTER_OTLP_ENDPOINT or " + t.variable()
	case e.Kind == outbound.Network && t.endpoint.Scheme == "http" && t.endpoint.Port() != grpcPort:
		hint = ": if the port has TLS, write https:// in OTEL_EXPORTER_OTLP_ENDPOINT"
	case t.endpoint.Port() == grpcPort:
		hint = "; " + grpcPort + " is the port of OTLP over gRPC, that of OTLP over HTTP is mostly " + httpPort
	}
	broke := e != nil && !e.Unreached && (e.Kind == outbound.Timeout || e.Kind == outbound.Network)
	return &Error{Err: fmt.Errorf("otlp %s: %w%s", t.endpoint, err, hint), BrokeOff: broke}
}

// The registered ports of OTLP.
const (
	grpcPort = "4317"
	httpPort = "4318"
)

// grpcHint says what to set if a gRPC server answered.
func (t *transport) grpcHint(scheme string) string {
	return "; hookspan sends OTLP over HTTP, which mostly has port " + httpPort +
		": set OTEL_EXPORTER_OTLP_ENDPOINT=" + scheme + "://" + net.JoinHostPort(t.endpoint.Hostname(), httpPort)
}

// read classifies an answer; broken is the error of reading its body. It returns nil
// if the spans were taken.
func (t *transport) read(resp *http.Response, body []byte, broken error) *Error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	code := resp.StatusCode
	page := outbound.IsPage(resp.Header, body)
	say := func(hint string) error {
		text := fmt.Sprintf("otlp %s: %s", t.endpoint, resp.Status)
		if s := t.quote(readable(kind, body)); s != "" && !page {
			text += ": " + s
		}
		if hint != "" {
			text += " (" + hint + ")"
		}
		return errors.New(text)
	}
	success := code >= 200 && code <= 299
	var e *outbound.Error
	switch {
	case strings.HasPrefix(kind, "application/grpc"):
		return &Error{Err: fmt.Errorf("otlp %s: %s: a gRPC server answered%s", t.endpoint, resp.Status, t.grpcHint(t.endpoint.Scheme))}
	case errors.As(broken, &e) && e.Kind == outbound.TooLong:
		// For a failure the status is enough; a success must be read completely.
		if success {
			return &Error{Err: fmt.Errorf("otlp %s: %s: this is no OTLP receiver's answer: %w: check the endpoint", t.endpoint, resp.Status, broken)}
		}
	case broken != nil:
		return &Error{Err: fmt.Errorf("otlp %s: the answer broke off: %w", t.endpoint, broken), BrokeOff: true}
	}
	if success {
		if page && len(bytes.TrimSpace(body)) > 0 {
			return &Error{Err: say("a web page answered in place of an OTLP receiver: check the endpoint")}
		}
		p, err := taken(kind, body)
		if err != nil {
			return &Error{Err: say(err.Error() + ": check the endpoint")}
		}
		return t.partial(p)
	}
	failed, hint := &Error{Permanent: true}, ""
	switch {
	case code >= 300 && code <= 399:
		failed.Permanent = false
		hint = fmt.Sprintf("redirects are not followed: if %q is right, set it as the endpoint", location(resp))
	case code == http.StatusTooManyRequests, code >= 500:
		failed.Permanent = false
		failed.After, _ = outbound.RetryAfter(resp.Header, time.Now())
		failed.RunOnly = ofTheRun(code)
	case code == http.StatusRequestTimeout:
		failed.Permanent = false
	case code == http.StatusRequestEntityTooLarge, code == http.StatusBadRequest && saysTooLarge(readable(kind, body)):
		failed.TooLarge = true
	case unauthorized(code):
		hint = "check OTEL_EXPORTER_OTLP_HEADERS"
		if t.tokens != nil {
			hint = "check HOOKSPAN_OTLP_HEADERS_COMMAND"
		}
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		hint = "check the endpoint's path: OTEL_EXPORTER_OTLP_ENDPOINT gets /v1/" + t.signal + " appended, " + t.variable() + " is used as it is"
	}
	failed.Denied, failed.status = outbound.OfSender(code), code
	failed.Err = say(hint)
	return failed
}

// unauthorized reports that a status refuses the credential.
func unauthorized(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// saysTooLarge recognizes what receivers say of a request that is too large, such as the
// Collector's "http: request body too large", with 400.
func saysTooLarge(text string) bool {
	text = strings.ToLower(text[:min(len(text), 16*maxQuote)])
	return slices.ContainsFunc([]string{"too large", "too big", "larger than max", "exceeds the maximum", "exceeds maximum", "exceeds the limit", "size limit"},
		func(words string) bool { return strings.Contains(text, words) })
}

// readable returns what a body says to people. Protobuf is a google.rpc.Status, the
// message of failures, of which the second field is a text.
func readable(kind string, body []byte) string {
	binary := !utf8.Valid(body) || bytes.ContainsFunc(body, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) })
	if !binary && kind != "application/x-protobuf" && kind != "application/protobuf" {
		return string(body)
	}
	for rest := body; len(rest) > 0; {
		field, wire, n := protowire.ConsumeTag(rest)
		if n < 0 {
			break
		}
		rest = rest[n:]
		if text, n := protowire.ConsumeBytes(rest); field == 2 && wire == protowire.BytesType && n >= 0 {
			return string(text)
		}
		n = protowire.ConsumeFieldValue(field, wire, rest)
		if n < 0 {
			break
		}
		rest = rest[n:]
	}
	if binary {
		return ""
	}
	return string(body)
}

// ofTheRun reports whether a status may be caused by what was sent, as with a
// handler that fails on one trace. With 502 and 504 a gateway reports that the
// server behind it did not answer, and 503 is an overloaded server.
func ofTheRun(status int) bool {
	return status == 500 || status == 501 || status >= 505 && status <= 599
}

// successWords are the bodies, without quotes and in lower case, with which some
// backends acknowledge spans instead of an OTLP message.
var successWords = []string{"ok", "success", "accepted", "null", "true"}

// taken reads the body of a success: the response message, as protobuf or JSON
// whatever its type says, or another form that known backends send. It fails if no
// receiver of traces sends such a body. The partial success may be nil.
func taken(kind string, body []byte) (*coltracepb.ExportTracePartialSuccess, error) {
	text := bytes.TrimSpace(body)
	var r coltracepb.ExportTraceServiceResponse
	protobuf := kind == "application/x-protobuf" || kind == "application/protobuf"
	switch {
	case len(body) == 0:
		return nil, nil // as most receivers answer
	// Without the type it must have known members alone, since many texts decode.
	case proto.Unmarshal(body, &r) == nil && (protobuf || r.PartialSuccess != nil && len(r.ProtoReflect().GetUnknown()) == 0):
		// A google.rpc.Status, the message of failures, has a number where the
		// response has its partial success.
		if field, _, _ := protowire.ConsumeTag(r.ProtoReflect().GetUnknown()); field == 1 {
			return nil, errors.New("the body reports an error, a google.rpc.Status")
		}
	case len(text) == 0, slices.Contains(successWords, strings.ToLower(strings.Trim(string(text[:min(len(text), 12)]), `"`))):
		return nil, nil
	case text[0] == '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, errors.New("the body is broken JSON")
		}
		for name, value := range members {
			if reportsError(name, string(value)) {
				return nil, fmt.Errorf("the body reports an error, %q", name)
			}
		}
		// The answers differ in this name alone. Another object is a success too.
		text = bytes.ReplaceAll(text, []byte(`"rejectedDataPoints"`), []byte(`"rejectedSpans"`))
		if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, &r) != nil {
			return nil, nil
		}
	default:
		return nil, errors.New("the body is no answer of an OTLP receiver")
	}
	return r.GetPartialSuccess(), nil
}

// reportsError reports whether a member of a 200's body says that the service failed.
func reportsError(name, value string) bool {
	switch strings.ToLower(name) {
	case "error", "errors":
		return !slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, value)
	case "success", "ok":
		return value == "false"
	case "code":
		n, err := strconv.Atoi(value)
		return err == nil && n > 0 && n/100 != 2
	case "status":
		return strings.EqualFold(value, `"error"`)
	}
	return false
}

// partial is the error of spans that were rejected.
func (t *transport) partial(p *coltracepb.ExportTracePartialSuccess) *Error {
	if p.GetRejectedSpans() == 0 {
		return nil
	}
	what := "spans"
	if t.signal == metricsSignal {
		what = "data points"
	}
	return &Error{
		Err:       fmt.Errorf("%d %s rejected: %s", p.GetRejectedSpans(), what, t.quote(p.GetErrorMessage())),
		Permanent: true, Rejected: p.GetRejectedSpans(),
	}
}

// quote returns what a server said as one short line.
func (t *transport) quote(text string) string {
	// Credentials first: a cut one would not be found.
	return outbound.Line(t.secrets.Clean(text[:min(len(text), 16*maxQuote)]), maxQuote)
}

func location(resp *http.Response) string {
	u, err := resp.Location()
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.Redacted()
}
