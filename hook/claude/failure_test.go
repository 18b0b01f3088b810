package claude

import "testing"

func TestFailureText(t *testing.T) {
	for text, want := range map[string]string{
		"no such file": "no such file",
		"<tool_use_error>File has not been read yet.</tool_use_error>": "File has not been read yet.",
		"<tool_use_error>cut":                      "cut",
		"see <tool_use_error>":                     "see <tool_use_error>",
		"Claude AI usage limit reached|1754935200": "Claude AI usage limit reached, until 2025-08-11 18:00 UTC",
		"usage limit reached|soon":                 "usage limit reached|soon",
		"a|1754935200":                             "a|1754935200",
	} {
		if got := FailureText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
