package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shelf is a sink that keeps everything, unless it is set to fail.
type shelf struct {
	mu     sync.Mutex
	events []*Event
	fail   func(*Event) error
	leave  func(*Event) bool
}

func (s *shelf) Take(_ context.Context, e *Event) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(e); err != nil {
			return false, err
		}
	}
	if s.leave != nil && s.leave(e) {
		return false, nil
	}
	s.events = append(s.events, e)
	return true, nil
}

func (s *shelf) bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.events {
		all = append(all, string(e.Body))
	}
	slices.Sort(all)
	return all
}

// ask sends one request to the handler and reads its JSON answer.
func ask(t *testing.T, s *Server, method, target, body string, header ...string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost:3043"+target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("answer %q: %v", w.Body, err)
	}
	for name := range w.Header() {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("a web page is let in by %s", name)
		}
	}
	return w.Code, answer
}

const anEvent = `{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"a & b"}`

func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		method, target, body string
		header               []string
		status               int
		says                 string
	}{
		"a Claude Code event":            {"POST", "/claude-hook", anEvent, nil, 200, "Event processed"},
		"a Claude-format Cline event":    {"POST", "/cline-hook", anEvent, nil, 200, "Event processed"},
		"a native Cline event":           {"POST", "/cline-hook", `{"taskId":"1","hookName":"TaskStart"}`, nil, 200, "Event processed"},
		"any content type":               {"POST", "/claude-hook", anEvent, []string{"Content-Type", "text/plain"}, 200, "Event processed"},
		"no session":                     {"POST", "/claude-hook", `{}`, nil, 400, "Missing or invalid session_id"},
		"no JSON":                        {"POST", "/claude-hook", `x`, nil, 400, "not a JSON object"},
		"an empty body":                  {"POST", "/claude-hook", ``, nil, 400, "not a JSON object"},
		"compressed":                     {"POST", "/claude-hook", anEvent, []string{"Content-Encoding", "gzip"}, 415, "gzip"},
		"another path":                   {"POST", "/droid-hook", anEvent, nil, 404, "Not found"},
		"another method":                 {"PUT", "/claude-hook", anEvent, nil, 405, "POST"},
		"a preflight request":            {"OPTIONS", "/claude-hook", "", nil, 405, "POST"},
		"a post to health":               {"POST", "/health", "", nil, 405, "GET"},
		"a page's post":                  {"POST", "/claude-hook", anEvent, []string{"Origin", "http://localhost:3043"}, 403, "web page"},
		"a page without origin":          {"POST", "/claude-hook", anEvent, []string{"Origin", "null"}, 403, "web page"},
		"a rebound name":                 {"GET", "/claude-hook", "", []string{"Host", "evil.example:3043"}, 403, "evil.example"},
		"a name that contains localhost": {"POST", "/claude-hook", anEvent, []string{"Host", "localhost.evil.example"}, 403, "evil"},
		"an address of the network":      {"POST", "/claude-hook", anEvent, []string{"Host", "192.168.1.5:3043"}, 403, "192.168.1.5"},
		"no host":                        {"POST", "/claude-hook", anEvent, []string{"Host", ""}, 403, "localhost"},
		"IPv6":                           {"POST", "/claude-hook", anEvent, []string{"Host", "[::1]:3043"}, 200, ""},
		"IPv6 without port":              {"POST", "/claude-hook", anEvent, []string{"Host", "[::1]"}, 200, ""},
		"IPv4 with another port":         {"POST", "/claude-hook", anEvent, []string{"Host", "127.0.0.1:80"}, 200, ""},
		"capitals":                       {"POST", "/claude-hook", anEvent, []string{"Host", "LocalHost"}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &shelf{}
			status, answer := ask(t, New(Options{Sinks: []Sink{sink}}), tc.method, tc.target, tc.body, tc.header...)
			said, _ := json.Marshal(answer)
			if status != tc.status || !strings.Contains(string(said), tc.says) {
				t.Errorf("status %d and %s, want %d and %q", status, said, tc.status, tc.says)
			}
			if answer["success"] != (tc.status == 200) {
				t.Errorf("success is %v", answer["success"])
			}
			if took := len(sink.events) == 1; took != (tc.status == 200) {
				t.Errorf("%d events taken", len(sink.events))
			}
		})
	}
}

func TestSinkGetsOriginalBytes(t *testing.T) {
	sink := &shelf{}
	s := New(Options{Sinks: []Sink{sink}})
	body := `{ "z":1.0, "session_id":"s", "a":"&\u00e9" }`
	if status, answer := ask(t, s, "POST", "/claude-hook", body); status != 200 || answer["provider"] != "claude" {
		t.Fatalf("%d %v", status, answer)
	}
	if d := cmp.Diff([]string{body}, sink.bodies()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestCopyCountsOnce(t *testing.T) {
	tool := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{}}`
	for name, bodies := range map[string][2]string{
		"the same bytes":       {anEvent, anEvent},
		"the same tool's call": {tool, strings.Replace(tool, "{", `{"transcript_path":"/other",`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &shelf{}
			s := New(Options{Recorder: sink, Now: fixed})
			if _, answer := ask(t, s, "POST", "/cline-hook", bodies[0]); answer["repeated"] != nil {
				t.Errorf("first: %v", answer)
			}
			// The copy arrives on the other path.
			status, answer := ask(t, s, "POST", "/claude-hook", bodies[1])
			if status != 200 || answer["repeated"] != true || answer["success"] != true {
				t.Errorf("again: %d %v", status, answer)
			}
			if len(sink.events) != 1 {
				t.Errorf("%d events", len(sink.events))
			}
			want := []Status{
				{Provider: Claude, Status: "ready", Repeated: 1},
				{Provider: Cline, Status: "ready", Processed: 1, Recorded: 1},
			}
			if d := cmp.Diff(want, []Status{s.status(Claude), s.status(Cline)}); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestRepeatedCallsCount posts two equal calls of a session that numbers its calls anew.
func TestRepeatedCallsCount(t *testing.T) {
	const call = `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"call_0","prompt_id":"p1",` +
		`"tool_input":{"command":"make test"},"tool_response":{"stdout":"ok"}}`
	for name, c := range map[string]struct {
		second   string
		after    time.Duration
		repeated any
	}{
		"a copy":                    {call, 2 * time.Second, true},
		"the call of a later reply": {call, 10 * time.Second, nil},
		"of another prompt":         {strings.Replace(call, "p1", "p2", 1), time.Second, nil},
		"with another response":     {strings.Replace(call, "ok", "FAIL", 1), time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := fixed()
			s := New(Options{Recorder: &shelf{}, Now: func() time.Time { return now }})
			ask(t, s, "POST", "/claude-hook", call)
			now = now.Add(c.after)
			if _, answer := ask(t, s, "POST", "/claude-hook", c.second); answer["repeated"] != c.repeated {
				t.Errorf("repeated is %v, want %v", answer["repeated"], c.repeated)
			}
		})
	}
}

func TestFailedEventIsNotAcknowledged(t *testing.T) {
	for name, fail := range map[string]func(*Event) error{
		"an error": func(*Event) error { return errors.New("disk full") },
		"a panic":  func(*Event) error { panic("disk full") },
	} {
		t.Run(name, func(t *testing.T) {
			sink, other := &shelf{fail: fail}, &shelf{}
			var faults []string
			s := New(Options{Recorder: sink, Sinks: []Sink{other}, Fault: func(err error) { faults = append(faults, err.Error()) }})
			if status, answer := ask(t, s, "POST", "/claude-hook", anEvent); status != 500 || answer["success"] != false {
				t.Errorf("%d %v", status, answer)
			}
			if len(faults) != 1 || !strings.Contains(faults[0], "disk full") {
				t.Errorf("faults %q", faults)
			}
			sink.fail = nil
			if status, answer := ask(t, s, "POST", "/claude-hook", anEvent); status != 200 || answer["repeated"] != nil {
				t.Errorf("again: %d %v", status, answer)
			}
			if len(sink.events) != 1 || len(other.events) != 1 {
				t.Errorf("%d and %d events", len(sink.events), len(other.events))
			}
			if got := s.status(Claude); got.Failed != 1 || got.Processed != 1 {
				t.Errorf("status %+v", got)
			}
		})
	}
}

func TestStatusCountsRecordedEvents(t *testing.T) {
	rec := &shelf{leave: func(e *Event) bool { return e.Provider == Cline }}
	s := New(Options{Recorder: rec})
	ask(t, s, "POST", "/claude-hook", anEvent)
	ask(t, s, "POST", "/cline-hook", strings.Replace(anEvent, `"s"`, `"r"`, 1))
	ask(t, s, "POST", "/cline-hook", "x")
	_, claude := ask(t, s, "GET", "/claude-hook", "")
	_, cline := ask(t, s, "GET", "/cline-hook", "")
	_, health := ask(t, s, "GET", "/health", "")
	if claude["status"] != "ready" || claude["provider"] != "claude" || claude["processedEvents"] != 1.0 || claude["recordedEvents"] != 1.0 {
		t.Errorf("claude: %v", claude)
	}
	if cline["processedEvents"] != 1.0 || cline["recordedEvents"] != 0.0 || cline["refusedRequests"] != 1.0 {
		t.Errorf("cline: %v", cline)
	}
	if health["status"] != "ok" || health["recording"] != true || len(health["providers"].([]any)) != 2 {
		t.Errorf("health: %v", health)
	}
}

func TestBodiesUpToTheLimit(t *testing.T) {
	fill := func(n int) string {
		const head, tail = `{"session_id":"s","x":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	const limit = 3 << 20
	for name, tc := range map[string]struct {
		body   io.Reader
		length int64
		status int
	}{
		"of the limit":                     {strings.NewReader(fill(limit)), limit, 200},
		"one byte more":                    {strings.NewReader(fill(limit + 1)), limit + 1, 413},
		"more than said, without a length": {strings.NewReader(fill(limit + 1)), -1, 413},
		"endless":                          {endless{}, -1, 413},
		"said to be huge":                  {endless{}, 1 << 40, 413},
		"breaks off":                       {io.MultiReader(bytes.NewReader([]byte(`{"session_id":`)), broken{}), 100, 400},
		"breaks off late":                  {io.MultiReader(strings.NewReader(fill(2<<20)), broken{}), -1, 400},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{MaxBody: limit})
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/claude-hook", tc.body)
			r.ContentLength = tc.length
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != tc.status {
				t.Errorf("status %d and %s, want %d", w.Code, w.Body, tc.status)
			}
			if len(s.budget.medium)+len(s.budget.large)+len(s.budget.decode) != 0 {
				t.Error("a place for a body was not given back")
			}
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte("x"), len(b))), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
