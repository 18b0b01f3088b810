package infinium

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/outbound"
)

func TestReceiptID(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"documented member":   {`{"traceId":"t-1"}`, "t-1"},
		"snake case":          {`{"trace_id":"t-1"}`, "t-1"},
		"nested":              {`{"data":{"traceId":"t-1"}}`, "t-1"},
		"older service":       {`{"status":"success","data":{"task_id":"task-123","created_at":"x"}}`, "task-123"},
		"outer before nested": {`{"traceId":"a","data":{"traceId":"b"}}`, "a"},
		"a number":            {`{"traceId":123456789012345678}`, "123456789012345678"},
		"null":                {`{"traceId":null}`, ""},
		"an object":           {`{"traceId":{"a":1},"trace_id":"t"}`, "t"},
		"data is a text":      {`{"data":"ok"}`, ""},
		"empty":               {``, ""},
		"no JSON":             {`created`, ""},
		"a list":              {`["t-1"]`, ""},
		"torn":                {`{"traceId":"t-1"`, ""},
		"control characters":  {`{"traceId":"t\n\u001b1"}`, "t 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := receiptID([]byte(tt.body)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/json", `{"traceId":"x"}`, "1")
	f.Add(429, "text/plain", `{"error":{"message":"slow"}}`, "Sat, 18 Apr 2026 10:02:00 GMT")
	f.Add(500, "text/html", "\xef\xbb\xbf <HTML>", "-1")
	f.Add(307, "", "secret-test-0001", "99999999999999999999")
	f.Fuzz(func(t *testing.T, status int, kind, body, after string) {
		a := &outbound.Answer{Status: status, Body: []byte(body), Header: http.Header{
			"Content-Type": {kind}, "Retry-After": {after}, "Location": {after + body},
		}}
		e := refused(a, time.Unix(1_776_500_000, 0), nil)
		id := receiptID(a.Body)
		if !utf8.ValidString(id) || strings.ContainsAny(id, "\n\r\x00") || utf8.RuneCountInString(id) > maxSaidRunes {
			t.Fatalf("receipt %q", id)
		}
		if e == nil {
			if status < 200 || status > 299 {
				t.Fatalf("status %d is no failure", status)
			}
			return
		}
		if e.after < 0 || e.after > outbound.MaxRetryAfter || !utf8.ValidString(e.Said) || strings.ContainsAny(e.Error(), "\n\r") {
			t.Fatalf("%+v", e)
		}
	})
}
