package rawjson

import "testing"

func TestEscapeControls(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"b"}`:                       `{"a":"b"}`,
		"{\n\t\"a\": \"b\nc\td\x1b[0m\"}": "{\n\t\"a\": \"b\\u000ac\\u0009d\\u001b[0m\"}",
		"{\"a\\\"\n\":1}":                 "{\"a\\\"\\u000a\":1}",
		"\"a\\\nb\"":                      `"a\\\u000ab"`,
		"\"\x00":                          `"\u0000`,
	} {
		if got := EscapeControls([]byte(text)); string(got) != want {
			t.Errorf("EscapeControls(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Unquote([]byte("\"a\n\\tb\"")); got != "a\n\tb" {
		t.Errorf("Unquote of a raw line break gives %q", got)
	}
}
