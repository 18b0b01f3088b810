package infiniumtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const goodTrace = `{"name":"n","description":"d","current_datetime":"2026-04-18T10:00:00.000Z","duration":1.5}`

// client follows no redirects and keeps no connection.
func client(t *testing.T) *http.Client {
	c := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// send returns the status and body of the answer.
func send(ctx context.Context, c *http.Client, method, url, id, secret, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("x-agent-id", id)
	req.Header.Set("x-agent-key", secret)
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

func post(t *testing.T, s *Server, body string) (int, string, error) {
	t.Helper()
	return send(t.Context(), client(t), http.MethodPost, s.URL()+"/agents/"+AgentID+"/trace", AgentID, AgentSecret, body)
}

func TestServerChecksRequests(t *testing.T) {
	long := strings.Repeat("x", 501)
	tests := map[string]struct {
		method, path, id, secret, body string
		status                         int
		says                           string
	}{
		"a trace":             {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, goodTrace, 201, `"traceId":"trace-0001"`},
		"health":              {"GET", "/agents/" + AgentID + "/health", AgentID, AgentSecret, "", 200, `"agentName":"Test Agent"`},
		"wrong id":            {"POST", "/agents/" + AgentID + "/trace", "other", AgentSecret, goodTrace, 401, "credentials"},
		"wrong secret":        {"POST", "/agents/" + AgentID + "/trace", AgentID, "other", goodTrace, 401, "credentials"},
		"no secret":           {"GET", "/agents/" + AgentID + "/health", AgentID, "", "", 401, "credentials"},
		"another agent":       {"POST", "/agents/other/trace", AgentID, AgentSecret, goodTrace, 404, "no such agent"},
		"another path":        {"POST", "/agents/" + AgentID + "/traces", AgentID, AgentSecret, goodTrace, 404, "no such endpoint"},
		"another method":      {"GET", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, "", 405, "use POST"},
		"no JSON":             {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, "{", 400, "no JSON"},
		"a list":              {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, "[]", 400, "no JSON"},
		"no name":             {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, `"n"`, `""`, 1), 422, "name"},
		"a long name":         {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, `"n"`, `"`+long+`"`, 1), 422, "501 characters"},
		"no date":             {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "2026", "x", 1), 422, "current_datetime"},
		"a date too far off":  {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "2026", "0001", 1), 422, "current_datetime"},
		"more than a day":     {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "1.5", "86401", 1), 422, "duration"},
		"steps no list":       {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "1.5", `1,"steps":{}`, 1), 422, "steps: want a list"},
		"a step no object":    {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "1.5", `1,"steps":[1]`, 1), 422, "steps[0]: want an object"},
		"a step of no action": {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "1.5", `1,"steps":[{}]`, 1), 422, "steps[0].action"},
		"a step's bare error": {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "1.5", `1,"steps":[{"action":"a","error":{}}]`, 1), 422, "error_type"},
		"an error of no text": {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "1.5", `1,"errors":[{"error_type":"E"}]`, 1), 422, "message"},
		"usage no object":     {"POST", "/agents/" + AgentID + "/trace", AgentID, AgentSecret, strings.Replace(goodTrace, "1.5", `1,"llm_usage":1`, 1), 422, "llm_usage"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := New(t)
			status, body, err := send(t.Context(), client(t), tt.method, s.URL()+tt.path, tt.id, tt.secret, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if status != tt.status || !strings.Contains(body, tt.says) {
				t.Errorf("answer %d %s, want %d with %q", status, body, tt.status, tt.says)
			}
			got := s.Requests()
			if len(got) != 1 || got[0].Method != tt.method || got[0].Path != "/api/v1"+tt.path || string(got[0].Body) != tt.body || got[0].Status != tt.status {
				t.Errorf("recorded %+v", got)
			}
			if stored := len(s.Traces()) == 1; stored != (tt.status == 201) || stored != got[0].Stored {
				t.Errorf("stored %t after status %d", stored, tt.status)
			}
		})
	}
}

func TestServerFollowsItsScript(t *testing.T) {
	s := New(t)
	s.Script(Status(500, "first"), RateLimited("3"))
	s.Always(Status(503, "down"))
	var got []int
	next := func() {
		status, _, err := post(t, s, goodTrace)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	for range 4 {
		next()
	}
	s.Reset()
	next()
	if d := cmp.Diff([]int{500, 429, 503, 503, 201}, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
	if n := len(s.Traces()); n != 1 {
		t.Errorf("%d traces stored, want 1", n)
	}
}

func TestServerLimitsBodies(t *testing.T) {
	s := New(t)
	s.SetMaxBody(len(goodTrace))
	for body, want := range map[string]int{goodTrace: 201, goodTrace + " ": 413} {
		if status, _, err := post(t, s, body); err != nil || status != want {
			t.Errorf("%d bytes: %d, %v; want %d", len(body), status, err, want)
		}
	}
}

func TestServerBreaksOff(t *testing.T) {
	s := New(t)
	s.Script(CloseBefore(), CloseHalfway())
	if status, _, err := post(t, s, goodTrace); err == nil {
		t.Errorf("answered %d, want a closed connection", status)
	}
	status, body, err := post(t, s, goodTrace)
	if !errors.Is(err, io.ErrUnexpectedEOF) || status != 201 || body == "" {
		t.Errorf("answered %d %q, %v; want half an answer", status, body, err)
	}
	if n := len(s.Traces()); n != 1 {
		t.Errorf("%d traces stored, want that of the half answer alone", n)
	}
}

func TestServerHangs(t *testing.T) {
	type answer struct {
		status int
		err    error
	}
	start := func(t *testing.T, s *Server, ctx context.Context) <-chan answer {
		c, done := client(t), make(chan answer, 1)
		go func() {
			status, _, err := send(ctx, c, http.MethodPost, s.URL()+"/agents/"+AgentID+"/trace", AgentID, AgentSecret, goodTrace)
			done <- answer{status, err}
		}()
		if err := s.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		return done
	}
	t.Run("until released", func(t *testing.T) {
		s := New(t)
		s.Script(Hang())
		done := start(t, s, t.Context())
		s.Release()
		if a := <-done; a.err != nil || a.status != 201 {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("until the client goes", func(t *testing.T) {
		s := New(t)
		s.Script(Hang())
		ctx, cancel := context.WithCancel(t.Context())
		done := start(t, s, ctx)
		cancel()
		if a := <-done; !errors.Is(a.err, context.Canceled) {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("until the server closes", func(t *testing.T) {
		s := New()
		s.Script(Hang())
		done := start(t, s, t.Context())
		s.Close()
		s.Close()
		if a := <-done; a.err == nil {
			t.Errorf("got %+v, want a closed connection", a)
		}
	})
	t.Run("for its delay", func(t *testing.T) {
		s := New(t)
		s.Script(Response{Delay: time.Millisecond})
		if a := <-start(t, s, t.Context()); a.err != nil || a.status != 201 {
			t.Errorf("got %+v", a)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	s := New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestStartNamesTheAddress(t *testing.T) {
	s, err := Start("256.0.0.1:bad")
	if err == nil {
		s.Close()
		t.Fatal("started, want an error")
	}
	if !strings.Contains(err.Error(), "256.0.0.1:bad") {
		t.Errorf("error %v does not name the address", err)
	}
}
