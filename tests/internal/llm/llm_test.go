package llm_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookspan/hookspan/tests/internal/llm"
)

// x100 is a text that streams have in pieces.
var x100 = strings.Repeat("x", 100)

func script(form llm.Form) llm.Script {
	call := llm.Call{Name: "ls", Args: map[string]any{"path": "src", "deep": false}}
	return llm.Script{
		Form: form,
		Main: []llm.Turn{{Text: "look", Calls: []llm.Call{call}, In: 10, Out: 20}, {HTTPError: 429, Message: "later", Code: "busy"}, llm.Answer(x100)},
		Sub:  []llm.Turn{llm.Answer("sub")},
	}
}

// ask posts a request and returns the answer's status and body.
func ask(t *testing.T, h http.Handler, path, body string) (status int, answer string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	return rec.Code, rec.Body.String()
}

const (
	lead   = `"tools":[{"name":"ls"},{"name":"task"}]`
	stream = `"stream":true,`
)

// forms are requests of each API: of the lead agent, of the lead agent for a stream, of a
// subagent and, if there is such a thing, one for a title.
var forms = map[llm.API]struct {
	form                         llm.Form
	path, streams                string
	lead, streamed, sub, aside   string
	said, refused, pieces, usage []string
}{
	llm.Messages: {
		form: llm.Form{SubWhen: "the house"}, path: "/v1/messages",
		lead:     `{"model":"m","messages":[{"role":"user","content":"hi"}],` + lead + `}`,
		streamed: `{"model":"m",` + stream + `"messages":[{"role":"user","content":"hi"}],` + lead + `}`,
		sub:      `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"look at the house"}]}],` + lead + `}`,
		aside:    `{"model":"m","messages":[{"role":"user","content":"a title, please"}]}`,
		said:     []string{`"id":"msg_mock_1"`, `"text":"look"`, `{"id":"toolu_mock_1_0","input":{"deep":false,"path":"src"},"name":"ls","type":"tool_use"}`, `"stop_reason":"tool_use"`},
		refused:  []string{`"type":"invalid_request_error"`, `"message":"later"`},
		pieces:   []string{"event: message_start\n", `"text":"look"`, `"partial_json":"{\"deep\":false,\"path\":\"src\"}"`, `"stop_reason":"tool_use"`, "event: message_stop\n"},
		usage:    []string{`"input_tokens":10`, `"cache_read_input_tokens":602`, `"cache_creation_input_tokens":23`, `"output_tokens":20`},
	},
	llm.Chat: {
		form: llm.Form{LeadTool: "task"}, path: "/v1/chat/completions",
		lead:     `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"task"}}]}`,
		streamed: `{"model":"m",` + stream + `"messages":[],"tools":[{"type":"function","function":{"name":"task"}}]}`,
		sub:      `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"ls"}}]}`,
		aside:    `{"model":"m","messages":[]}`,
		said:     []string{`"id":"chatcmpl-1"`, `"content":"look"`, `"function":{"arguments":"{\"deep\":false,\"path\":\"src\"}","name":"ls"},"id":"call_1_0"`, `"finish_reason":"tool_calls"`},
		refused:  []string{`"type":"invalid_request_error"`, `"message":"later"`, `"code":"busy"`},
		pieces:   []string{`"role":"assistant"`, `{"content":"look"}`, `"id":"call_1_0"`, `"finish_reason":"tool_calls"`, "data: [DONE]\n"},
		usage:    []string{`"prompt_tokens":612`, `"cached_tokens":602`, `"completion_tokens":20`, `"total_tokens":632`},
	},
	llm.Responses: {
		form: llm.Form{Toolless: true, SubWhen: "the house", NotSubWhen: "delegate"}, path: "/v1/responses",
		lead: `{"model":"m","input":[{"text":"delegate a look at the house"}]}`, streamed: `{"model":"m","input":[]}`,
		sub:     `{"model":"m","input":[{"text":"look at the house"}]}`,
		said:    []string{`"id":"resp_1"`, `"text":"look"`, `"arguments":"{\"deep\":false,\"path\":\"src\"}","call_id":"call_1_0"`},
		refused: []string{`"type":"invalid_request_error"`, `"message":"later"`},
		pieces:  []string{"event: response.created\n", `"text":"look"`, `"call_id":"call_1_0"`, "event: response.completed\n"},
		usage:   []string{`"input_tokens":612`, `"cached_tokens":602`, `"output_tokens":20`, `"total_tokens":632`},
	},
	llm.Gemini: {
		form: llm.Form{SubTool: "complete_task"}, path: "/v1beta/models/m:generateContent", streams: "/v1beta/models/m:streamGenerateContent",
		lead: `{"tools":[{"functionDeclarations":[{"name":"ls"}]}]}`, streamed: `{"tools":[{"functionDeclarations":[{"name":"ls"}]}]}`,
		sub: `{"tools":[{"functionDeclarations":[{"name":"complete_task"}]}]}`, aside: `{}`,
		said:    []string{`"text":"look"`, `"functionCall":{"args":{"deep":false,"path":"src"},"id":"call_1_0","name":"ls"}`, `"finishReason":"STOP"`},
		refused: []string{`"code":429`, `"message":"later"`},
		pieces:  []string{`"text":"lo"`, `"text":"ok"`, `"id":"call_1_0"`, `"finishReason":"STOP"`},
		usage:   []string{`"promptTokenCount":612`, `"cachedContentTokenCount":602`, `"candidatesTokenCount":13`, `"thoughtsTokenCount":7`, `"totalTokenCount":632`},
	},
}

func TestScriptIsPlayedInEachForm(t *testing.T) {
	t.Parallel()
	for api, tt := range forms {
		t.Run(string(api), func(t *testing.T) {
			t.Parallel()
			tt.form.API = api
			s := llm.New(script(tt.form))
			third := s.Seen(3)
			has := func(answer string, want ...string) {
				t.Helper()
				for _, w := range want {
					_, after, ok := strings.Cut(answer, w)
					if !ok {
						t.Errorf("%q is not in %s", w, answer)
					}
					if strings.HasPrefix(w, "event") || strings.Contains(w, "text") {
						answer = after // These come in order.
					}
				}
			}
			_, first := ask(t, s, tt.path, tt.lead)
			has(first, tt.said...)
			has(first, tt.usage...)
			if status, body := ask(t, s, tt.path, tt.lead); status != http.StatusTooManyRequests {
				t.Errorf("status %d: %s", status, body)
			} else {
				has(body, tt.refused...)
			}
			select {
			case <-third:
				t.Error("the third request was seen with the second")
			default:
			}
			_, body := ask(t, s, tt.path, tt.sub)
			has(body, "sub")
			<-third
			<-s.Seen(1)
			before := s.Requests()
			for range 2 { // the last one is repeated
				_, body = ask(t, s, tt.path, tt.lead)
				has(body, x100[:50])
			}
			call := script(tt.form).Main[0].Calls[0]
			call.ID = map[llm.API]string{llm.Messages: "toolu_mock_1_0", llm.Gemini: "ls__call_1_0"}[api]
			if call.ID == "" {
				call.ID = "call_1_0"
			}
			want := []llm.Request{
				{N: 1, Part: llm.PartMain, Text: "look", Calls: []llm.Call{call}, Usage: &llm.Usage{Input: 10, CacheRead: 602, Output: 20}},
				{N: 2, Part: llm.PartMain, Turn: 1, Status: http.StatusTooManyRequests},
				{N: 3, Part: llm.PartSub, Text: "sub", Usage: &llm.Usage{Input: 427, CacheRead: 606, Output: 53}},
				{N: 4, Part: llm.PartMain, Turn: 2, Text: x100, Usage: &llm.Usage{Input: 436, CacheRead: 608, Output: 54}},
				{N: 5, Part: llm.PartMain, Turn: 2, Text: x100, Usage: &llm.Usage{Input: 445, CacheRead: 610, Output: 55}},
			}
			for i := range want {
				r := &want[i]
				r.Model, r.Complete = "m", true
				if r.Status == 0 {
					r.Status = http.StatusOK
				}
				if api == llm.Messages && r.Usage != nil {
					r.Usage.CacheWrite = int64(20 + 3*r.N)
				}
			}
			ignore := cmpopts.IgnoreFields(llm.Request{}, "Start", "End", "Heard", "ID", "RequestID", "Finish")
			if diff := cmp.Diff(want, s.Requests(), ignore); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want[:3], before, ignore); diff != "" {
				t.Errorf("a copy of the log was changed (-want +got):\n%s", diff)
			}

			again := llm.New(script(tt.form))
			path := tt.streams
			if path == "" {
				path = tt.path
			}
			_, body = ask(t, again, path, tt.streamed)
			has(body, tt.pieces...)
			has(body, tt.usage...)
			if !again.Requests()[0].Complete {
				t.Error("a stream that was read to its end is not complete")
			}
			if status, body := ask(t, again, tt.path, `{`); status != http.StatusUnprocessableEntity {
				t.Errorf("half a request: %d %s", status, body)
			}
			again.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, http.NoBody))
			if _, body = ask(t, again, tt.path, tt.aside); tt.aside != "" && strings.Contains(body, "look") {
				t.Errorf("a title: %s", body)
			}
			for i, r := range again.Requests()[1:] {
				if i > 0 || r.Part != "" || tt.aside == "" {
					t.Errorf("what takes no turn is logged as %+v", r)
				}
			}
		})
	}
}

func TestLogHasWhatTheAgentSaid(t *testing.T) {
	t.Parallel()
	failed, worked := true, false
	for api, tt := range map[llm.API]struct {
		said string
		want []llm.Result
	}{
		llm.Messages: {
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0","content":"one","is_error":true},
			{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"two"}]},{"type":"text","text":"go on"}]}`,
			[]llm.Result{{Text: "one", Failed: &failed}, {Text: "two", Failed: &worked}},
		},
		llm.Chat: {`{"role":"tool","tool_call_id":"call_0","content":"one"},{"role":"tool","tool_call_id":"call_1__qwen_dup_8","content":[{"type":"text","text":"two"}]},
			{"role":"user","content":"go on"}`, []llm.Result{{Text: "one"}, {Text: "two"}}},
	} {
		s := llm.New(llm.Script{Form: llm.Form{API: api}, Main: []llm.Turn{{Calls: []llm.Call{{Name: "a"}, {Name: "b"}}, Anew: true}}})
		path := forms[api].path
		ask(t, s, path, forms[api].lead)
		ask(t, s, path, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"y"},`+tt.said+`],"tools":[{"name":"ls"}]}`)
		log := s.Requests()
		if diff := cmp.Diff([]string{"one", "two", "go on"}, log[1].Heard); diff != "" {
			t.Errorf("%s: heard (-want +got):\n%s", api, diff)
		}
		for i, want := range tt.want {
			if diff := cmp.Diff(&want, log[0].Calls[i].Result); diff != "" || log[1].Calls[i].Result != nil {
				t.Errorf("%s: result %d (-want +got):\n%s\nand that of a later call with its id: %v", api, i, diff, log[1].Calls[i].Result)
			}
		}
	}
}

func TestCallsAreTextWhereNoToolsAreOffered(t *testing.T) {
	t.Parallel()
	s := llm.New(script(llm.Form{API: llm.Chat, Toolless: true}))
	_, body := ask(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]}`)
	if want := `"content":"look\n\u003cls\u003e\n\u003cdeep\u003efalse\u003c/deep\u003e\n\u003cpath\u003esrc\u003c/path\u003e\n\u003c/ls\u003e"`; !strings.Contains(body, want) {
		t.Errorf("%s lacks %s", body, want)
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

func TestAnswerIsCompleteWithItsUsage(t *testing.T) {
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
			s := llm.New(llm.Script{Form: llm.Form{API: llm.Chat}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.ServeHTTP(leaver{httptest.NewRecorder(), tt.last, cancel}, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(tt.body)))
			if got := s.Requests()[0].Complete; got != tt.complete {
				t.Errorf("complete %v, want %v", got, tt.complete)
			}
		})
	}
}

// TestBrokenAnswerIsNotComplete has a connection that ends in the midst of an answer.
func TestBrokenAnswerIsNotComplete(t *testing.T) {
	t.Parallel()
	for api, tt := range forms {
		tt.form.API = api
		s := llm.New(llm.Script{Form: tt.form, Main: []llm.Turn{{Text: "half", Breaks: true}}})
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		resp, err := http.Post(srv.URL+tt.path, "application/json", strings.NewReader(tt.lead)) //nolint:noctx // A test of its own server.
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		srv.Close()
		if r := s.Requests()[0]; err == nil || r.Complete || r.Usage == nil {
			t.Errorf("%s: %v, logged as %+v", api, err, r)
		}
	}
}

func TestRequestsAtOnceAreNumbered(t *testing.T) {
	t.Parallel()
	s := llm.New(script(llm.Form{API: llm.Responses, Toolless: true}))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			ask(t, s, "/v1/responses", `{}`)
			<-s.Seen(10)
		})
	}
	wg.Wait()
	for i, r := range s.Requests() {
		if r.N != i+1 {
			t.Fatalf("entry %d has number %d", i, r.N)
		}
	}
}
