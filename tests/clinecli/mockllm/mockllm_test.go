package mockllm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
)

// post asks the model and returns the answer's body, which the test's end closes.
func post(t *testing.T, ctx context.Context, url, body string) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

const (
	plain    = `{"model":"mock-model","messages":[{"role":"user","content":"hi"}]}`
	native   = `{"model":"mock-model","messages":[],"tools":[{"type":"function","function":{"name":"ls"}}]}`
	streamed = `{"model":"mock-model","stream":true,"messages":[],"tools":[{"type":"function","function":{"name":"ls"}}]}`
)

func script() []mockllm.Turn {
	return []mockllm.Turn{
		{Text: "look", Tools: []mockllm.ToolCall{{Name: "ls", Args: map[string]any{"path": "src", "deep": false}}}, In: 10, Out: 2, Cached: 4},
		{Text: strings.Repeat("x", 100)},
		{HTTPError: 400, Message: "no"},
	}
}

func TestAnswerForms(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body      string
		content   string
		toolCalls int
		finish    string
	}{
		"without tools the call is in the text as XML": {plain, "look\n<ls>\n<deep>false</deep>\n<path>src</path>\n</ls>", 0, "stop"},
		"with tools the call is native":                {native, "look", 1, "tool_calls"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(mockllm.New(script()))
			t.Cleanup(srv.Close)
			var got struct {
				Choices []struct {
					Message struct {
						Content   string            `json:"content"`
						ToolCalls []json.RawMessage `json:"tool_calls"`
					} `json:"message"`
					Finish string `json:"finish_reason"`
				} `json:"choices"`
			}
			if err := json.NewDecoder(post(t, t.Context(), srv.URL, tt.body)).Decode(&got); err != nil {
				t.Fatal(err)
			}
			c := got.Choices[0]
			if diff := cmp.Diff([]any{tt.content, tt.toolCalls, tt.finish}, []any{c.Message.Content, len(c.Message.ToolCalls), c.Finish}); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamCarriesTextCallsAndUsage(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(mockllm.New(script()))
	t.Cleanup(srv.Close)
	var text, finish, id string
	var prompt int64
	done := false
	sc := bufio.NewScanner(post(t, t.Context(), srv.URL, streamed))
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					ToolCalls []struct {
						ID string `json:"id"`
					} `json:"tool_calls"`
				} `json:"delta"`
				Finish string `json:"finish_reason"`
			} `json:"choices"`
			Usage *struct {
				Prompt int64 `json:"prompt_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %s: %v", data, err)
		}
		for _, ch := range c.Choices {
			text += ch.Delta.Content
			finish += ch.Finish
			for _, tc := range ch.Delta.ToolCalls {
				id += tc.ID
			}
		}
		if c.Usage != nil {
			prompt = c.Usage.Prompt
		}
	}
	if diff := cmp.Diff([]any{"look", "tool_calls", mockllm.CallID(1, 0), int64(10), true}, []any{text, finish, id, prompt, done}); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}

func TestLogHoldsEveryRequestInOrder(t *testing.T) {
	t.Parallel()
	m := mockllm.New(script())
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	for range 4 {
		if _, err := io.Copy(io.Discard, post(t, t.Context(), srv.URL, plain)); err != nil {
			t.Fatal(err)
		}
	}
	<-m.Seen(4)
	srv.Close() // waits for the handlers, so that every entry is finished
	want := []mockllm.Request{
		{N: 1, Turn: 0, Calls: script()[0].Tools, Usage: &mockllm.Usage{Prompt: 10, Completion: 2, Cached: 4}, Status: 200, Complete: true},
		{N: 2, Turn: 1, Usage: &mockllm.Usage{Prompt: 1200, Completion: 52}, Status: 200, Complete: true},
		{N: 3, Turn: 2, Status: 400, Complete: true},
		{N: 4, Turn: 2, Status: 400, Complete: true},
	}
	if diff := cmp.Diff(want, m.Requests(), cmpopts.IgnoreFields(mockllm.Request{}, "Part", "Start", "End", "Last")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestClientThatLeavesIsLoggedAsIncomplete(t *testing.T) {
	t.Parallel()
	m := mockllm.New([]mockllm.Turn{{Hang: true}})
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithCancel(t.Context())
	answer := post(t, ctx, srv.URL, plain)
	<-m.Seen(1)
	cancel()
	if _, err := io.Copy(io.Discard, answer); err == nil {
		t.Error("a hung answer ended by itself")
	}
	srv.Close()
	if r := m.Requests()[0]; r.Complete || r.Usage != nil {
		t.Errorf("hung request logged as %+v", r)
	}
}

// leaver is a client that closes its connection as soon as it has read a text.
type leaver struct {
	*httptest.ResponseRecorder
	last  string
	leave context.CancelFunc
}

func (l leaver) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.last) {
		l.leave()
	}
	return l.ResponseRecorder.Write(p)
}

func TestClientThatLeavesWithTheWholeAnswerIsLoggedAsComplete(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, last string
		complete         bool
	}{
		{name: "streamed", body: `{"stream":true,"messages":[]}`, last: `"usage"`, complete: true},
		{name: "whole", body: `{"messages":[]}`, last: `"usage"`, complete: true},
		{name: "before the usage", body: `{"stream":true,"messages":[]}`, last: `"role"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := mockllm.New(nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m.ServeHTTP(leaver{httptest.NewRecorder(), tt.last, cancel}, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(tt.body)))
			if got := m.Requests()[0].Complete; got != tt.complete {
				t.Errorf("complete %v, want %v", got, tt.complete)
			}
		})
	}
}
