package deliver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/outbound"
)

// answers is the transport that reads a destination's answer for what it means
// to the spans, before the client turns it into a text.
type answers struct {
	// endpoint is the URL as errors show it: without user and query.
	endpoint *url.URL
	// query and user are the parts of the URL that the client leaves out.
	query   string
	user    *url.Userinfo
	secrets *outbound.Secrets
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The error is an *Error.
func (t *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(t.whole(req))
	if err != nil {
		return nil, t.broken(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if e := t.read(resp, body, err); e != nil {
		e.Err = t.secrets.CleanError(e.Err)
		return nil, e
	}
	resp.Body, resp.ContentLength = http.NoBody, 0
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

// broken is the error of a request without an answer.
func (t *answers) broken(err error) *Error {
	hint := ""
	var e *outbound.Error
	switch {
	case !errors.As(err, &e):
	case e.Kind == outbound.WantsHTTP2:
		hint = t.grpc("http")
	case e.WrongProtocol():
		hint = "; the endpoint is set by OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	case e.Unreached && errors.As(e.Err, new(*net.DNSError)):
		hint = ": correct the host in OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or look at the network"
	case e.Unreached:
		hint = ": start the backend, or correct OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	case t.endpoint.Port() == grpcPort:
		hint = "; " + grpcPort + " is the port of OTLP over gRPC, that of OTLP over HTTP is mostly " + httpPort
	}
	return &Error{Err: fmt.Errorf("otlp %s: %w%s", t.endpoint, err, hint)}
}

// The registered ports of OTLP.
const (
	grpcPort = "4317"
	httpPort = "4318"
)

// grpc says what to set where a gRPC server answered.
func (t *answers) grpc(scheme string) string {
	return "; hookspan sends OTLP over HTTP, which mostly has port " + httpPort +
		": set OTEL_EXPORTER_OTLP_ENDPOINT=" + scheme + "://" + net.JoinHostPort(t.endpoint.Hostname(), httpPort)
}

// read classifies an answer; broken is the error of reading its body. It returns nil
// where the spans were taken.
func (t *answers) read(resp *http.Response, body []byte, broken error) *Error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	code := resp.StatusCode
	page := outbound.IsPage(resp.Header, body)
	say := func(hint string) error {
		text := fmt.Sprintf("otlp %s: %s", t.endpoint, resp.Status)
		if s := t.said(string(body)); s != "" && !page {
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
		return &Error{Err: fmt.Errorf("otlp %s: %s: a gRPC server answered%s", t.endpoint, resp.Status, t.grpc(t.endpoint.Scheme))}
	case errors.As(broken, &e) && e.Kind == outbound.TooLong:
		// For a failure the status is enough; a success must be read whole.
		if success {
			return &Error{Err: fmt.Errorf("otlp %s: %s: this is no OTLP receiver's answer: %w: check the endpoint", t.endpoint, resp.Status, broken)}
		}
	case broken != nil:
		return &Error{Err: fmt.Errorf("otlp %s: the answer broke off: %w", t.endpoint, broken)}
	}
	switch {
	case success && page && len(bytes.TrimSpace(body)) > 0:
		return &Error{Err: say("a web page answered in place of an OTLP receiver: check the endpoint")}
	case success:
		p, err := taken(kind, body)
		if err != nil {
			return &Error{Err: say(err.Error() + ": check the endpoint")}
		}
		return t.partial(p)
	case code >= 300 && code <= 399:
		return &Error{Err: say(fmt.Sprintf("redirects are not followed: if %q is right, set it as the endpoint",
			location(resp)))}
	case code == http.StatusTooManyRequests, code >= 500:
		after, _ := outbound.RetryAfter(resp.Header, time.Now())
		return &Error{Err: say(""), After: after, RunOnly: ofTheRun(code)}
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

// ofTheRun reports a status that may come of what was sent, such as a handler
// that breaks on one trace. 502 and 504 are a gateway's word that it had no
// answer from behind it, 503 says of itself that it is overloaded.
func ofTheRun(status int) bool {
	return status == 500 || status == 501 || status >= 505 && status <= 599
}

// words are the bodies, without quotes and in lower case, with which backends say
// that they took the spans though they send no OTLP message.
var words = []string{"ok", "success", "accepted", "null", "true"}

// taken reads a success's body: the response message, as protobuf or JSON whatever
// its type says, or one of the forms that backends are known to send in its place.
// The error says that no receiver of traces sends such a body. The partial success
// is nil where there is none.
func taken(kind string, body []byte) (*coltracepb.ExportTracePartialSuccess, error) {
	text := bytes.TrimSpace(body)
	var r coltracepb.ExportTraceServiceResponse
	protobuf := kind == "application/x-protobuf" || kind == "application/protobuf"
	switch {
	// Without the type, only a message of known members is one: much decodes.
	case proto.Unmarshal(body, &r) == nil && (protobuf || r.PartialSuccess != nil && len(r.ProtoReflect().GetUnknown()) == 0):
		// A google.rpc.Status, the message of failures, has a number where the
		// response has its partial success.
		if field, _, _ := protowire.ConsumeTag(r.ProtoReflect().GetUnknown()); field == 1 {
			return nil, errors.New("the body reports an error, a google.rpc.Status")
		}
	case len(text) == 0, slices.Contains(words, strings.ToLower(strings.Trim(string(text[:min(len(text), 12)]), `"`))):
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
		// What cannot be read beyond that is a success all the same.
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
func (t *answers) partial(p *coltracepb.ExportTracePartialSuccess) *Error {
	if p.GetRejectedSpans() == 0 {
		return nil
	}
	return &Error{
		Err:       fmt.Errorf("%d spans rejected: %s", p.GetRejectedSpans(), t.said(p.GetErrorMessage())),
		Permanent: true, Rejected: p.GetRejectedSpans(),
	}
}

// said is one short line of what the server said.
func (t *answers) said(text string) string {
	// Credentials first: a cut one would not be found.
	return outbound.Line(t.secrets.Clean(text[:min(len(text), 16*maxSaid)]), maxSaid)
}

func location(resp *http.Response) string {
	u, err := resp.Location()
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.Redacted()
}
