package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/infiniumtest"
)

func environment(s *infiniumtest.Server, secret string) func(string) string {
	return func(name string) string {
		return map[string]string{
			"INFINIUM_BASE_URL": s.URL(), "INFINIUM_AGENT_ID": infiniumtest.AgentID, "INFINIUM_AGENT_SECRET": secret,
		}[name]
	}
}

func TestRunArrivesAsOneTrace(t *testing.T) {
	s := infiniumtest.New(t)
	if err := run(t.Context(), environment(s, infiniumtest.AgentSecret)); err != nil {
		t.Fatal(err)
	}
	traces := s.Traces()
	if len(traces) != 1 {
		t.Fatalf("%d traces, want 1", len(traces))
	}
	b, err := json.Marshal(traces[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name":"Run the tests"`, `"output_summary":"Two tests fail."`, `"framework":"my-agent"`, `"my_agent_version":"1.0.0"`,
		`"description":"Tool: run_tests"`, `"error_type":"TestsFailed"`, `"prompt_tokens":1200`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the trace lacks %s:\n%s", want, b)
		}
	}
}

func TestRefusalIsReported(t *testing.T) {
	s := infiniumtest.New(t)
	err := run(t.Context(), environment(s, "another-secret"))
	if err == nil || strings.Contains(err.Error(), "another-secret") || len(s.Traces()) != 0 {
		t.Errorf("a wrong secret: %v, %d traces", err, len(s.Traces()))
	}
	if err := run(t.Context(), func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "INFINIUM_AGENT_ID") {
		t.Errorf("without credentials: %v", err)
	}
}
