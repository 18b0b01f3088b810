package outbound

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 4, 18, 10, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		value string
		want  time.Duration
		given bool
	}{
		"absent":             {"", 0, false},
		"seconds":            {"7", 7 * time.Second, true},
		"spaces":             {" 7 ", 7 * time.Second, true},
		"zero":               {"0", 0, true},
		"a day at most":      {"9999999", 24 * time.Hour, true},
		"beyond any number":  {"99999999999999999999999", 24 * time.Hour, true},
		"a date":             {"Sat, 18 Apr 2026 10:02:00 GMT", 2 * time.Minute, true},
		"a date in the past": {"Sat, 18 Apr 2026 09:00:00 GMT", 0, true},
		"a distant date":     {"Sat, 18 Apr 2099 09:00:00 GMT", 24 * time.Hour, true},
		"negative":           {"-1", 0, false},
		"a fraction":         {"1.5", 0, false},
		"nonsense":           {"soon", 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, given := RetryAfter(http.Header{"Retry-After": {tt.value}}, now)
			if got != tt.want || given != tt.given {
				t.Errorf("got %s, %t; want %s, %t", got, given, tt.want, tt.given)
			}
		})
	}
}

func TestIsPage(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, body string
		want       bool
	}{
		"by its type":                    {"text/html; charset=utf-8", "", true},
		"by its type, XHTML":             {"application/xhtml+xml", "x", true},
		"by its beginning":               {"application/json", "\ufeff <!DOCTYPE HTML>", true},
		"without a type":                 {"", "<!-- x --><head>", true},
		"as plain text":                  {"text/plain", "<body>", true},
		"JSON":                           {"application/json", `{"html":"<html>"}`, false},
		"nothing":                        {"", "", false},
		"a text that only looks like it": {"text/plain", "html", false},
	} {
		if got := IsPage(http.Header{"Content-Type": {tc.kind}}, []byte(tc.body)); got != tc.want {
			t.Errorf("%s: page %t, want %t", name, got, tc.want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		text string
		most int
		want string
	}{
		{"", 5, ""},
		{" a\r\n\tb\x00\x1b[31mc\u0085\u2028d ", 50, "a b [31mc d"},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcde…"},
		{"äöüäöüä", 6, "äöüäö…"},
		{"abcd efg", 6, "abcd…"},
		{"a\xffb", 9, "a\ufffdb"},
	} {
		if got := Line(tc.text, tc.most); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
	long := Line(strings.Repeat("é\xff\n", 1<<20), 400)
	if !utf8.ValidString(long) || utf8.RuneCountInString(long) > 400 {
		t.Errorf("%d characters: %q", utf8.RuneCountInString(long), long)
	}
}
