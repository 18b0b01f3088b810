package infinium

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 4, 18, 10, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		value string
		want  time.Duration
		given bool
	}{
		"absent":            {"", 0, false},
		"seconds":           {"7", 7 * time.Second, true},
		"spaces":            {" 7 ", 7 * time.Second, true},
		"zero":              {"0", 0, true},
		"a day at most":     {"9999999", 24 * time.Hour, true},
		"beyond any number": {"99999999999999999999999", 24 * time.Hour, true},
		"a date":            {"Sat, 18 Apr 2026 10:02:00 GMT", 2 * time.Minute, true},
		"a date gone by":    {"Sat, 18 Apr 2026 09:00:00 GMT", 0, true},
		"a distant date":    {"Sat, 18 Apr 2099 09:00:00 GMT", 24 * time.Hour, true},
		"negative":          {"-1", 0, false},
		"a fraction":        {"1.5", 0, false},
		"nonsense":          {"soon", 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, given := retryAfter(tt.value, now)
			if got != tt.want || given != tt.given {
				t.Errorf("got %s, %t; want %s, %t", got, given, tt.want, tt.given)
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
		a := &answer{status: status, body: []byte(body), header: http.Header{
			"Content-Type": {kind}, "Retry-After": {after}, "Location": {after + body},
		}}
		e := a.failure(time.Unix(1_776_500_000, 0), func(s string) string { return s })
		id := receiptID(a.body)
		if !utf8.ValidString(id) || strings.ContainsAny(id, "\n\r\x00") || utf8.RuneCountInString(id) > maxReceiptRunes {
			t.Fatalf("receipt %q", id)
		}
		if e == nil {
			if status < 200 || status > 299 {
				t.Fatalf("status %d is no failure", status)
			}
			return
		}
		if e.after < 0 || e.after > maxRetryAfter || !utf8.ValidString(e.Said) || strings.ContainsAny(e.Error(), "\n\r") {
			t.Fatalf("%+v", e)
		}
	})
}
