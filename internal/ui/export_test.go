package ui

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/traces/export"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// TestExportIsRedactedAndNoPage asks for each form of a trace with a secret.
func TestExportIsRedactedAndNoPage(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	s, _ := testStore(t, "git push https://x:"+secret+"@example.org")
	on := func() (*redact.Redactor, error) { return redact.New(nil), nil }
	addr := listening(t, Options{Store: s, Token: testToken, Redactor: on})
	get := func(addr, query string) (int, string) {
		return send(t, addr, strings.Replace(apiCall, "sessions", "traces/"+query, 1)+"\n")
	}
	for _, f := range export.Formats {
		status, answer := get(addr, testTrace+"/export?format="+string(f))
		if status != 200 || strings.Contains(answer, secret) || !strings.Contains(answer, "git push") {
			t.Errorf("%s: %d %.500s", f, status, answer)
		}
		status, answer = send(t, addr, strings.NewReplacer("sessions", "traces/"+testTrace+"/export?format="+string(f), "TOKEN", strings.Repeat("0", 64)).Replace(apiCall)+"\n")
		if status != 401 || strings.Contains(answer, "git push") {
			t.Errorf("%s without the token: %d %.500s", f, status, answer)
		}
	}
	for query, want := range map[string]int{testTrace + "/export": 400, testTrace + "/export?format=pdf": 400, strings.Repeat("0", 32) + "/export?format=md": 404} {
		if status, answer := get(addr, query); status != want {
			t.Errorf("%s: %d %s, want %d", query, status, answer, want)
		}
	}
	broken := func() (*redact.Redactor, error) { return nil, errors.New("redaction rules: line 3") }
	for name, o := range map[string]Options{"without a redactor": {}, "with broken rules": {Redactor: broken}} {
		o.Store, o.Token = s, testToken
		if status, answer := get(listening(t, o), testTrace+"/export?format=md"); status == 200 || strings.Contains(answer, "git push") {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

// TestSearchThatIsNotReadySaysSo has the page ask again, and names no file of this machine.
func TestSearchThatIsNotReadySaysSo(t *testing.T) {
	r := refusalOf(fmt.Errorf("trace store %q: list traces: %w: 9 traces are left", "/home/ada/traces.db", store.ErrIndexing))
	if r.code != http.StatusServiceUnavailable || strings.Contains(r.text+r.hint, "/home") || r.hint == "" {
		t.Errorf("%+v", r)
	}
}
