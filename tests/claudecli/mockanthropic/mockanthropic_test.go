package mockanthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
)

func script() mockanthropic.Script {
	return mockanthropic.Script{
		Main: []mockanthropic.Turn{
			{Text: "look", Tools: []mockanthropic.ToolCall{{Name: "Bash", Input: map[string]any{"command": strings.Repeat("x", 50)}}}},
			{HTTPError: 529, ErrorType: "overloaded_error", Message: "later"},
			{Text: "done"},
		},
		Sub: []mockanthropic.Turn{{Text: "sub"}}, SubWhen: "the house",
	}
}

// post asks the model and returns the answer's status, request id and body.
func post(t *testing.T, srv *httptest.Server, path, body string) (status int, requestID, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Request-Id"), string(data)
}

const tools = `"model":"m","tools":[{"name":"Bash"},{"name":"Read"}]`

func TestScriptIsPlayedAndLogged(t *testing.T) {
	t.Parallel()
	s := mockanthropic.New(script())
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	second := s.Seen(2)
	var texts []string
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"hi"}],` + tools + `}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"look at the house"}]}],` + tools + `}`,
		`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"y"},{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"t1","content":"one","is_error":true},
			{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"two"}]}]}],` + tools + `}`,
		`{"messages":[{"role":"user","content":"a title, please"}],"model":"m"}`,
		`{"messages":[{"role":"user","content":"hi"}],` + tools + `}`,
		`{"messages":[{"role":"user","content":"hi"}],` + tools + `}`,
	} {
		_, requestID, data := post(t, srv, "/v1/messages", body)
		var a struct {
			ID      string
			Content []struct{ Type, Text, ID string }
			Error   struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		got := a.Error.Type + a.Error.Message
		for _, c := range a.Content {
			got += c.Type + ":" + c.Text + c.ID + " "
		}
		texts = append(texts, requestID+" "+strings.TrimSpace(got))
	}
	want := []string{
		"req_mock_1 text:look tool_use:toolu_mock_1_0", "req_mock_2 text:sub", "req_mock_3 overloaded_errorlater",
		"req_mock_4 text:A title", "req_mock_5 text:done", "req_mock_6 text:done",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	select {
	case <-second:
	default:
		t.Error("the second request has not been seen")
	}
	log := s.Requests()
	wantLog := []mockanthropic.Request{
		{
			N: 1, Part: "main", ID: "msg_mock_1", RequestID: "req_mock_1", Text: "look", Finish: "tool_use", Status: 200,
			Calls: []mockanthropic.ToolCall{{ID: "toolu_mock_1_0", Name: "Bash", Input: map[string]any{"command": strings.Repeat("x", 50)}}},
			Usage: &mockanthropic.Usage{Input: 101, CacheWrite: 23, CacheRead: 307, Output: 41}, Heard: []string{"hi"},
		},
		{
			N: 2, Part: "sub", ID: "msg_mock_2", RequestID: "req_mock_2", Text: "sub", Finish: "end_turn", Status: 200,
			Usage: &mockanthropic.Usage{Input: 102, CacheWrite: 26, CacheRead: 314, Output: 42}, Heard: []string{"look at the house"},
		},
		{
			N: 3, Part: "main", Turn: 1, ID: "msg_mock_3", RequestID: "req_mock_3", Status: 529,
			Results: []mockanthropic.ToolResult{{ID: "t1", Text: "one", IsError: true}, {ID: "t2", Text: "two"}},
			Heard:   []string{"one", "two"},
		},
	}
	ignore := cmpopts.IgnoreFields(mockanthropic.Request{}, "Start", "End", "Model", "Tools", "Complete")
	if diff := cmp.Diff(wantLog, log[:3], ignore); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestStreamAddsUpToTheWholeAnswer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(mockanthropic.New(script()))
	t.Cleanup(srv.Close)
	_, _, data := post(t, srv, "/v1/messages?beta=true", `{"stream":true,"messages":[{"role":"user","content":"hi"}],`+tools+`}`)
	var text, input, kinds string
	var out int64
	for event := range strings.SplitSeq(strings.TrimSpace(data), "\n\n") {
		_, line, _ := strings.Cut(event, "\ndata: ")
		var e struct {
			Type  string
			Delta struct {
				Text        string
				PartialJSON string `json:"partial_json"`
			}
			Usage struct {
				Output int64 `json:"output_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, event)
		}
		kinds += e.Type + " "
		text, input, out = text+e.Delta.Text, input+e.Delta.PartialJSON, max(out, e.Usage.Output)
	}
	if text != "look" || input != `{"command":"`+strings.Repeat("x", 50)+`"}` || out != 41 {
		t.Errorf("text %q, input %q, %d output tokens", text, input, out)
	}
	want := "message_start content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop "
	if kinds != want {
		t.Errorf("events %q, want %q", kinds, want)
	}
}

func TestOtherRequestsTakeNoTurn(t *testing.T) {
	t.Parallel()
	s := mockanthropic.New(script())
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	if _, _, data := post(t, srv, "/v1/messages/count_tokens", `{}`); !strings.Contains(data, "input_tokens") {
		t.Errorf("count of tokens: %s", data)
	}
	if status, _, _ := post(t, srv, "/v1/messages", `{`); status != http.StatusUnprocessableEntity {
		t.Errorf("half a request was answered with %d", status)
	}
	if log := s.Requests(); len(log) != 0 {
		t.Errorf("logged %+v", log)
	}
}
