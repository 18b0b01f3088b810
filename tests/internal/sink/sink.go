// Package sink is what traces are sent to in tests: an OTLP/HTTP receiver and a
// stand-in for Infinium, both keeping everything they are given.
//
// Nothing is judged here and nothing is thrown away: a span that comes twice is
// kept twice, in the order of arrival. It shares no code with internal/testkit/otlptest:
// what the agents are held to is not read by what the packages are tested with.
package sink

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxBody bounds one request; no test sends more.
const maxBody = 64 << 20

// Post is one body the Infinium stand-in was given.
type Post struct {
	// Agent is the agent id in the path.
	Agent string `json:"agent"`
	// HeaderAgent and HeaderKey are the headers x-agent-id and x-agent-key.
	HeaderAgent string          `json:"header_agent"`
	HeaderKey   string          `json:"header_key"`
	At          time.Time       `json:"at"`
	Body        json.RawMessage `json:"body"`
}

// Message is one body that the webhook was given, and the status that it answered.
type Message struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// Sink keeps what it receives. It is an http.Handler, safe for concurrent use.
//
// It answers POST /v1/traces (protobuf and JSON, gzip or not), POST
// /api/v1/agents/{id}/trace and POST /webhook/{n}, whose first n messages it refuses;
// everything else is 404 and listed in Strays.
type Sink struct {
	mu     sync.Mutex
	grown  chan struct{} // closed and replaced when spans arrive
	spans  []Span
	posts  []Post
	hooked []Message
	strays []string
}

// Spans returns the spans received so far, in the order of arrival.
func (s *Sink) Spans() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Span(nil), s.spans...)
}

// WaitRoots returns once at least n different root spans have arrived, or with
// ctx's error.
func (s *Sink) WaitRoots(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		roots := make(map[string]bool)
		for i := range s.spans {
			if s.spans[i].Root() {
				roots[s.spans[i].TraceID+s.spans[i].SpanID] = true
			}
		}
		if s.grown == nil {
			s.grown = make(chan struct{})
		}
		grown := s.grown
		s.mu.Unlock()
		if len(roots) >= n {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d traces, %d have come: %w", n, len(roots), ctx.Err())
		}
	}
}

// Posts returns the Infinium bodies received so far.
func (s *Sink) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Post(nil), s.posts...)
}

// Messages returns what the webhook was given so far.
func (s *Sink) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.hooked...)
}

// Strays lists the requests that were none of the above, as "METHOD path: why".
func (s *Sink) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.strays...)
}

var infiniumPath = regexp.MustCompile(`^/api/v1/agents/([^/]+)/trace$`)

var webhookPath = regexp.MustCompile(`^/webhook/([0-9])$`)

// ServeHTTP receives.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		s.stray(w, r, http.StatusBadRequest, err)
		return
	}
	switch m := infiniumPath.FindStringSubmatch(r.URL.Path); {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/traces":
		s.otlp(w, r, body)
	case r.Method == http.MethodPost && m != nil:
		s.infinium(w, r, m[1], body)
	case r.Method == http.MethodPost && webhookPath.MatchString(r.URL.Path):
		s.webhook(w, webhookPath.FindStringSubmatch(r.URL.Path)[1], body)
	default:
		s.stray(w, r, http.StatusNotFound, fmt.Errorf("no such address"))
	}
}

func (s *Sink) otlp(w http.ResponseWriter, r *http.Request, body []byte) {
	var req collectorpb.ExportTraceServiceRequest
	asJSON := r.Header.Get("Content-Type") == "application/json"
	var err error
	if asJSON {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, &req)
	} else {
		err = proto.Unmarshal(body, &req)
	}
	if err != nil {
		s.stray(w, r, http.StatusBadRequest, fmt.Errorf("decode OTLP request of %d bytes: %w", len(body), err))
		return
	}
	id := hex.EncodeToString
	if asJSON {
		id = jsonID
	}
	spans := flatten(&req, id)
	s.mu.Lock()
	s.spans = append(s.spans, spans...)
	if s.grown != nil {
		close(s.grown)
		s.grown = nil
	}
	s.mu.Unlock()
	if asJSON {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
		return
	}
	// An empty protobuf message is an ExportTraceServiceResponse without a
	// partial success.
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK)
}

// Decode reads the spans of one OTLP/JSON document.
func Decode(doc []byte) ([]Span, error) {
	var req collectorpb.ExportTraceServiceRequest
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(doc, &req); err != nil {
		return nil, fmt.Errorf("decode an OTLP/JSON document of %d bytes: %w", len(doc), err)
	}
	return flatten(&req, jsonID), nil
}

func (s *Sink) infinium(w http.ResponseWriter, r *http.Request, agent string, body []byte) {
	if !json.Valid(body) {
		s.stray(w, r, http.StatusBadRequest, fmt.Errorf("body of %d bytes is not JSON", len(body)))
		return
	}
	p := Post{
		Agent: agent, HeaderAgent: r.Header.Get("X-Agent-Id"), HeaderKey: r.Header.Get("X-Agent-Key"),
		At: time.Now(), Body: body,
	}
	s.mu.Lock()
	s.posts = append(s.posts, p)
	n := len(s.posts)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"success":true,"traceId":"trace-%d"}`, n)
}

func (s *Sink) webhook(w http.ResponseWriter, refused string, body []byte) {
	s.mu.Lock()
	status := http.StatusNoContent
	if len(s.hooked) < int(refused[0]-'0') {
		status = http.StatusServiceUnavailable
	}
	s.hooked = append(s.hooked, Message{status, body})
	s.mu.Unlock()
	w.WriteHeader(status)
}

func (s *Sink) stray(w http.ResponseWriter, r *http.Request, status int, why error) {
	s.mu.Lock()
	s.strays = append(s.strays, fmt.Sprintf("%s %s: %v", r.Method, r.URL.Path, why))
	s.mu.Unlock()
	http.Error(w, why.Error(), status)
}

func readBody(r *http.Request) ([]byte, error) {
	var src io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		zr, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read gzip body: %w", err)
		}
		src = zr
	}
	body, err := io.ReadAll(io.LimitReader(src, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("body is over %d bytes", maxBody)
	}
	return body, nil
}
