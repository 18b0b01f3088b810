package deliver

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/outbound"
	"github.com/hookspan/hookspan/internal/testkit/otlptest"
)

// partialOf is a partial success as protobuf.
func partialOf(t *testing.T, rejected int64, message string) string {
	t.Helper()
	b, err := proto.Marshal(&coltracepb.ExportTraceServiceResponse{
		PartialSuccess: &coltracepb.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: message},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Backends that answer so are named in docs/backends.md.
func TestAnswersOfSuccess(t *testing.T) {
	const protobuf, jsonType = "application/x-protobuf", "application/json"
	for _, c := range []struct {
		name, kind, body string
		rejected         int64
	}{
		{"no body", protobuf, "", 0},
		{"no body, as JSON", jsonType, "", 0},
		{"no body and no type", "", "", 0},
		{"no body, as a framework's default type", "text/html; charset=utf-8", "", 0},
		{"white space alone", "text/plain", "\n", 0},
		{"an empty object", jsonType, "{}", 0},
		{"an empty object as plain text", "text/plain; charset=utf-8", "{}\n", 0},
		{"an empty object that is called protobuf", protobuf, "{}", 0},
		{"an object without a type", "", `{"ok":1}`, 0},
		{"an object with a message beside the partial success", jsonType, `{"message":"Trace received.","partialSuccess":{"rejectedSpans":0,"errorMessage":""}}`, 0},
		{"members for errors that are empty", jsonType, `{"error":null,"errors":[],"success":true,"status":"ok"}`, 0},
		{"a partial success of another shape", jsonType, `{"partialSuccess":7}`, 0},
		{"a code of success", jsonType, `{"code":0,"msg":"ok"}`, 0},
		{"a status code of success", jsonType, `{"code":200}`, 0},
		{"null", jsonType, "null", 0},
		{"a word", "text/plain", "success", 0},
		{"a word in quotes", jsonType, `"OK"`, 0},
		{"a word that is called protobuf", protobuf, "ok\n", 0},
		{"an empty message", protobuf, "\x0a\x00", 0},
		{"a message with members of the future", protobuf, "\x12\x02hi", 0},
		{"a number in a string, as JSON of protobuf has it", jsonType, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}`, 3},
		{"a plain number, a charset, members of the future", jsonType + "; charset=utf-8", `{"partialSuccess":{"rejectedSpans":3},"x":[1]}`, 3},
		{"spans rejected", protobuf, "\x0a\x06\x08\x03\x12\x02no", 3},
		{"spans rejected, of a length that reads as white space and a brace", protobuf, partialOf(t, 3, strings.Repeat("n", 119)), 3},
		{"spans rejected, without a type", "", "\x0a\x06\x08\x03\x12\x02no", 3},
		{"spans rejected, a message that is called JSON", jsonType, "\x0a\x06\x08\x03\x12\x02no", 3},
		{"an empty message without a type", "application/octet-stream", "\x0a\x00", 0},
		{"a warning that rejects nothing", jsonType, `{"partialSuccess":{"errorMessage":"slow down"}}`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := export(t, answering(t, c.kind, c.body))
			switch {
			case c.rejected == 0 && err != nil:
				t.Errorf("error %v, want success", err)
			case c.rejected != 0 && (err == nil || err.Rejected != c.rejected || err.Retryable()):
				t.Errorf("error %#v, want %d rejected", err, c.rejected)
			}
		})
	}
}

func TestSuccessAnswersThatAreFailures(t *testing.T) {
	const page = "<!DOCTYPE html><html><title>Sign in</title></html>"
	for _, c := range []struct{ name, kind, body, says string }{
		{"a login page", "text/html", page, "web page"},
		{"a login page as plain text", "text/plain", page, "web page"},
		{"a login page that is called protobuf", "application/x-protobuf", page, "web page"},
		{"a login page that is called JSON", "application/json", "\n<HTML>", "web page"},
		{"bytes that are no message", "application/x-protobuf", "\xff\xff\xff\xff garbage", "no answer of an OTLP receiver"},
		{"a message that is cut", "application/x-protobuf", "\x0a\x06\x08", "no answer of an OTLP receiver"},
		{"broken JSON", "application/json", `{"partialSuccess":`, "broken JSON"},
		{"two objects", "application/json", `{}{}`, "broken JSON"},
		{"a list", "application/json", `[1]`, "no answer of an OTLP receiver"},
		{"another protocol's greeting", "", "220 smtp ready", "no answer of an OTLP receiver"},
		{"a text", "text/plain", "It works!", "It works!"},
		{"an image", "image/gif", "GIF89a\x01\x00\x01\x00", "no answer of an OTLP receiver"},
		{"an error in a success", "application/json", `{"error":{"message":"no such project"}}`, "no such project"},
		{"errors in a success", "application/json", `{"errors":["quota"]}`, "quota"},
		{"a success that is none", "application/json", `{"success":false,"reason":"paused"}`, "paused"},
		{"a status that is an error", "application/json", `{"status":"error"}`, "status"},
		{"a failure's message", "application/x-protobuf", "\x08\x10\x12\x02no", "google.rpc.Status"},
		{"a failure's message as JSON", "application/json", `{"code":16,"message":"no","details":[]}`, "code"},
		{"a status code of a failure", "application/json", `{"code":401,"msg":"no"}`, "code"},
		{"a gRPC server's refusal, in a 200 without a body", "application/grpc", "", "gRPC server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := export(t, answering(t, c.kind, c.body))
			if err == nil || !err.Retryable() || err.Answered() || !strings.Contains(text, c.says) {
				t.Errorf("error %q (%#v), want %q and the spans to wait", text, err, c.says)
			}
			if strings.ContainsAny(text, "\n\x00") || !utf8.ValidString(text) {
				t.Errorf("error %q, want one clean line", text)
			}
		})
	}
}

// answering is the address of a server that answers 200 with the body, of which
// kind is the content type.
func answering(t *testing.T, kind, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{kind}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/traces"
}

// export sends one span and returns the exporter's error, if any.
func export(t *testing.T, endpoint string) (string, *Error) {
	t.Helper()
	err := otlpDestination(t, "otlp", OTLP{Endpoint: endpoint}).Client.UploadTraces(t.Context(), message(sample()))
	if err == nil {
		return "", nil
	}
	e := asError(err)
	if e == nil {
		t.Fatalf("error %v is no *Error", err)
	}
	return e.Error(), e
}

func TestErrorsExplainWrongAddress(t *testing.T) {
	plain, secure := otlptest.New(t), httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, c := range []struct{ name, endpoint, says string }{
		{"https to a plain port", strings.Replace(plain.URL(), "http:", "https:", 1), "write http://"},
		{"http to a TLS port", strings.Replace(secure.URL, "https:", "http:", 1), "write https://"},
		{"a gRPC port", grpcServer(t), "set OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"},
	} {
		text, err := export(t, c.endpoint)
		if !strings.Contains(text, c.says) || !strings.Contains(text, "OTEL_EXPORTER_OTLP_ENDPOINT") || err.Permanent {
			t.Errorf("%s: error %q, want %q, and that the trace waits", c.name, text, c.says)
		}
		if strings.Contains(text, "tls:") || strings.Contains(text, "malformed") || strings.Contains(text, `\x00`) {
			t.Errorf("%s: error %q is net/http's", c.name, text)
		}
	}
	u := &url.URL{Scheme: "http", Host: "[::1]:4317", Path: "/v1/traces"}
	if got, want := (&transport{endpoint: u}).grpcHint(u.Scheme), "OTEL_EXPORTER_OTLP_ENDPOINT=http://[::1]:4318"; !strings.HasSuffix(got, want) {
		t.Errorf("advice %q, want %q", got, want)
	}
	u = &url.URL{Scheme: "http", Host: "127.0.0.1:4317"}
	if got := (&transport{endpoint: u}).noAnswer(errOf(t)).Error(); !strings.Contains(got, "that of OTLP over HTTP is mostly 4318") {
		t.Errorf("error %q of port 4317, want the other port named", got)
	}
}

func FuzzTaken(f *testing.F) {
	f.Add("application/json", []byte(`{"partialSuccess":{"rejectedSpans":"3"}}`))
	f.Add("application/x-protobuf", []byte("\x0a\x02\x08\x03"))
	f.Add("", []byte(`"ok"`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if p, err := taken(kind, body); err != nil && p != nil {
			t.Errorf("partial success %v and error %v, want one of them", p, err)
		}
	})
}

// errOf is the error of a connection that was closed instead of an answer.
func errOf(t *testing.T) error {
	t.Helper()
	s := otlptest.New(t)
	s.Always(otlptest.CloseBefore())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = outbound.New(outbound.Options{}).Do(req)
	return err
}

func asError(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}

// grpcServer answers as a gRPC server does a client of HTTP/1.1: with the settings
// of HTTP/2, then with the connection's end.
func grpcServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = c.Write([]byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00\x40\x00"))
		_ = c.Close()
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/traces"
}
