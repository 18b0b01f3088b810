package infinium

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
)

const testSecret = "s3cr3t-value-0001"

func TestNewChecksOptions(t *testing.T) {
	good := Options{AgentID: "agent-1", AgentSecret: testSecret}
	tests := map[string]struct {
		change func(*Options)
		want   string // in the error; empty for none
		url    string
	}{
		"the documented address is the default": {func(*Options) {}, "", "https://platform.i42m.ai/api/v1/agents/agent-1"},
		"a trailing slash is dropped":           {func(o *Options) { o.BaseURL = "https://h.example/api//" }, "", "https://h.example/api/agents/agent-1"},
		"an id stays one path element":          {func(o *Options) { o.AgentID = "../a/b?c#d%" }, "", "https://platform.i42m.ai/api/v1/agents/..%2Fa%2Fb%3Fc%23d%25"},
		"white space around an id is dropped":   {func(o *Options) { o.AgentID = " agent-1\n" }, "", "https://platform.i42m.ai/api/v1/agents/agent-1"},
		"http to this machine":                  {func(o *Options) { o.BaseURL = "http://127.0.0.1:8080" }, "", "http://127.0.0.1:8080/agents/agent-1"},
		"http to localhost":                     {func(o *Options) { o.BaseURL = "http://localhost" }, "", "http://localhost/agents/agent-1"},
		"http to IPv6 loopback":                 {func(o *Options) { o.BaseURL = "http://[::1]:1" }, "", "http://[::1]:1/agents/agent-1"},
		"http elsewhere":                        {func(o *Options) { o.BaseURL = "http://h.example" }, "want https://", ""},
		"http to a name that looks local":       {func(o *Options) { o.BaseURL = "http://localhost.example" }, "want https://", ""},
		"http elsewhere when allowed":           {func(o *Options) { o.BaseURL, o.AllowInsecure = "http://h.example", true }, "", "http://h.example/agents/agent-1"},
		"another scheme":                        {func(o *Options) { o.BaseURL = "ftp://h.example" }, `scheme "ftp"`, ""},
		"no scheme":                             {func(o *Options) { o.BaseURL = "h.example/api" }, "names no host", ""},
		"no URL":                                {func(o *Options) { o.BaseURL = "https://u:" + testSecret + "@[" }, "INFINIUM_BASE_URL is not a URL", ""},
		"credentials in the address":            {func(o *Options) { o.BaseURL = "https://u:" + testSecret + "@h.example" }, "user name or password", ""},
		"a query":                               {func(o *Options) { o.BaseURL = "https://h.example?a=" + testSecret }, "query", ""},
		"no id":                                 {func(o *Options) { o.AgentID = "" }, "INFINIUM_AGENT_ID is not set", ""},
		"a short id":                            {func(o *Options) { o.AgentID = "ab" }, "INFINIUM_AGENT_ID has 2 characters: want at least 3", ""},
		"a line break in an id":                 {func(o *Options) { o.AgentID = "ab\r\nx: y" }, "INFINIUM_AGENT_ID has an unexpected character at position 3", ""},
		"no secret":                             {func(o *Options) { o.AgentSecret = " " }, "INFINIUM_AGENT_SECRET is not set", ""},
		"a short secret":                        {func(o *Options) { o.AgentSecret = "1234567" }, "INFINIUM_AGENT_SECRET has 7 characters: want at least 8", ""},
		"a secret with a letter outside ASCII":  {func(o *Options) { o.AgentSecret = testSecret + "ä" }, "INFINIUM_AGENT_SECRET has an unexpected character", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := good
			tt.change(&o)
			e, err := NewClient(o)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := e.agent.String(); got != tt.url {
					t.Errorf("address %s, want %s", got, tt.url)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), testSecret) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestNothingPrintsSecret(t *testing.T) {
	o := Options{AgentID: "agent-1", AgentSecret: testSecret}
	e, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, v := range []any{o, &o, e, []any{o, e}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, testSecret) || strings.Contains(got, fmt.Sprintf("%x", testSecret)) {
				t.Errorf("%s of %T shows the secret: %s", verb, v, got)
			}
		}
	}
}

func TestNewClientCopiesHTTPClient(t *testing.T) {
	s := infiniumtest.New(t)
	s.Script(infiniumtest.Redirect(307, "/elsewhere"))
	given := &http.Client{Timeout: time.Minute}
	if err := newClient(t, s, func(o *Options) { o.HTTPClient = given }).UploadTraces(t.Context(), runs(1)); err == nil || len(s.Requests()) != 1 {
		t.Errorf("error %v after %d requests, want a redirect that is not followed", err, len(s.Requests()))
	}
	if given.CheckRedirect != nil || given.Transport != nil || given.Timeout != time.Minute {
		t.Errorf("the caller's client was changed: %+v", given)
	}
}
