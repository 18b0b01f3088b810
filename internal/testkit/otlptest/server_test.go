package otlptest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// message is a request with the given span ids, all of one trace.
func message(spans ...byte) []byte {
	ss := &tracepb.ScopeSpans{}
	for _, id := range spans {
		ss.Spans = append(ss.Spans, &tracepb.Span{
			TraceId: bytes.Repeat([]byte{0xab}, 16), SpanId: bytes.Repeat([]byte{id}, 8), Name: "n",
		})
	}
	b, _ := proto.Marshal(&coltracepb.ExportTraceServiceRequest{
		ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{ss}}},
	})
	return b
}

// jsonMessage is one span in OTLP/JSON, the same as message(1).
const jsonMessage = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"abababababababababababababababab",` +
	`"spanId":"0101010101010101","name":"n"}]}]}]}`

func post(t *testing.T, s *Server, kind, encoding string, body []byte) (status int, answer []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEveryEncodingGivesTheSameSpan(t *testing.T) {
	s := New(t)
	for _, c := range []struct {
		kind, encoding string
		body           []byte
	}{
		{TypeProtobuf, "", message(1)},
		{TypeProtobuf, "gzip", zipped(t, message(1))},
		{TypeJSON, "", []byte(jsonMessage)},
		{TypeJSON, "gzip", zipped(t, []byte(jsonMessage))},
	} {
		if status, _, err := post(t, s, c.kind, c.encoding, c.body); status != 200 || err != nil {
			t.Errorf("%s %s: status %d, %v", c.kind, c.encoding, status, err)
		}
	}
	spans := s.Spans()
	if len(spans) != 1 || spans[0].Count != 4 || spans[0].Changed || spans[0].Span != "0101010101010101" {
		t.Errorf("spans %+v, want one that came four times unchanged", spans)
	}
	if _, _, err := post(t, s, TypeJSON, "", bytes.Replace([]byte(jsonMessage), []byte(`"n"`), []byte(`"m"`), 1)); err != nil {
		t.Fatal(err)
	}
	if spans = s.Spans(); len(spans) != 1 || !spans[0].Changed || spans[0].Name != "m" {
		t.Errorf("spans %+v, want the last copy, marked as changed", spans)
	}
}

func TestWhatDoesNotDecodeIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, kind, encoding, body string
	}{
		{"junk for protobuf", TypeProtobuf, "", "junk"},
		{"junk for JSON", TypeJSON, "", "junk"},
		{"two JSON texts", TypeJSON, "", "{}{}"},
		{"ids in base64, as other JSON forms have them", TypeJSON, "", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"q6urq6urq6urq6urq6urqw=="}]}]}]}`},
		{"an id that is a number", TypeJSON, "", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":1}]}]}]}`},
		{"not gzip", TypeProtobuf, "gzip", "junk"},
		{"unknown encoding", TypeProtobuf, "br", "junk"},
		{"unknown type", "text/plain", "", "junk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(t)
			status, _, err := post(t, s, c.kind, c.encoding, []byte(c.body))
			if status != 400 || err != nil || len(s.Spans()) != 0 || s.Requests()[0].Err == nil {
				t.Errorf("status %d, %v, %d spans; want 400 and none", status, err, len(s.Spans()))
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer Answer
		status int // 0 means no answer
		broken bool
		taken  int
	}{
		{name: "normal", status: 200, taken: 3},
		{name: "status", answer: Status(503, "no"), status: 503},
		{name: "redirect", answer: Redirect(307, "http://127.0.0.1:1/"), status: 307},
		{name: "login page", answer: LoginPage(), status: 200},
		{name: "partial", answer: Partial(2, "no"), status: 200, taken: 1},
		{name: "partial beyond the request", answer: Partial(20, "no"), status: 200},
		{name: "close before", answer: CloseBefore(), broken: true},
		{name: "close halfway", answer: CloseHalfway(), status: 200, broken: true, taken: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(t)
			s.Script(c.answer)
			status, _, err := post(t, s, TypeProtobuf, "", message(1, 2, 3))
			if status != c.status || (err != nil) != c.broken || len(s.Spans()) != c.taken {
				t.Errorf("status %d, %v, %d spans; want %d, broken %t, %d spans", status, err, len(s.Spans()), c.status, c.broken, c.taken)
			}
			// The script is used up.
			if status, _, err = post(t, s, TypeProtobuf, "", message(1, 2, 3)); status != 200 || err != nil || len(s.Spans()) != 3 {
				t.Errorf("after it: status %d, %v, %d spans", status, err, len(s.Spans()))
			}
		})
	}
}

func TestPartialSuccessIsToldInTheRequestsEncoding(t *testing.T) {
	s := New(t)
	s.Always(Partial(2, "quota"))
	_, b, err := post(t, s, TypeProtobuf, "", message(1, 2, 3))
	var m coltracepb.ExportTraceServiceResponse
	if err != nil || proto.Unmarshal(b, &m) != nil || m.GetPartialSuccess().GetRejectedSpans() != 2 {
		t.Errorf("protobuf answer %q (%v)", b, err)
	}
	_, b, err = post(t, s, TypeJSON, "", []byte(jsonMessage))
	if err != nil || !bytes.Contains(b, []byte(`"rejectedSpans"`)) || !bytes.Contains(b, []byte(`"quota"`)) {
		t.Errorf("JSON answer %q (%v)", b, err)
	}
}

func TestLimits(t *testing.T) {
	s := New(t)
	s.SetMaxSpans(2)
	if status, _, _ := post(t, s, TypeProtobuf, "", message(1, 2, 3)); status != 413 {
		t.Errorf("3 spans of 2: status %d, want 413", status)
	}
	if status, _, _ := post(t, s, TypeProtobuf, "", message(1, 2)); status != 200 {
		t.Errorf("2 spans of 2: status %d, want 200", status)
	}
	s.Reset()
	s.SetMaxBytes(len(message(1)))
	if status, _, _ := post(t, s, TypeProtobuf, "gzip", zipped(t, message(1, 2))); status != 413 {
		t.Errorf("too many bytes: status %d, want 413", status)
	}
	if status, _, _ := post(t, s, TypeProtobuf, "", message(1)); status != 200 {
		t.Errorf("as many bytes as are taken: status %d, want 200", status)
	}
}

func TestAHangingAnswerEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(s *Server, cancel func())
		ok   bool
	}{
		{"by release", func(s *Server, _ func()) { s.Release() }, true},
		{"by the client", func(_ *Server, cancel func()) { cancel() }, false},
		{"by closing the server", func(s *Server, _ func()) { s.Close() }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(t)
			s.Always(Hang())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(), bytes.NewReader(message(1)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", TypeProtobuf)
			done := make(chan error, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					err = errors.Join(err, res.Body.Close())
				}
				done <- err
			}()
			if err := s.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			c.end(s, cancel)
			// A server that is closed may get its answer out first.
			if err := <-done; c.ok && err != nil || c.name == "by the client" && err == nil {
				t.Errorf("error %v", err)
			}
			if len(s.Spans()) != 1 {
				t.Error("the spans were not taken on arrival")
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(t).Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(jsonMessage))
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"links":[{"spanId":"00"}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		req, err := DecodeJSON(b)
		if err != nil {
			return
		}
		for _, s := range Flatten(req) {
			if s.Count != 1 || len(s.bytes) == 0 {
				t.Errorf("span %+v, want one that can be compared", s)
			}
		}
	})
}
