package main

import (
	"encoding/json"
	"testing"
)

func TestScreens(t *testing.T) {
	const hostile = "a\x1b[31m\u009b\u202eb\u2028c\nd\te\u200c\u200d\U000e0041\U0001f600\xff"
	if got, want := printable(hostile), "a?[31m??b?c?d?e\u200c\u200d?\U0001f600\uFFFD"; got != want {
		t.Errorf("printable %q, want %q", got, want)
	}
	if got, want := screened(hostile), "a?[31m??b?c\nd\te\u200c\u200d?\U0001f600\uFFFD"; got != want {
		t.Errorf("screened %q, want %q", got, want)
	}
}

func TestScreenedJSONSaysTheSame(t *testing.T) {
	const hostile = "a\x1b[31m\u009b\u202eb\u2028c\nd\te\u200c\u200d\U000e0041\U0001f600\x7f"
	text, err := json.MarshalIndent(map[string]string{hostile: hostile}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	out := screenedJSON(text)
	for _, r := range string(out) {
		if steers(r) && r != '\n' {
			t.Errorf("%U is left in %q", r, out)
		}
	}
	var back map[string]string
	if err := json.Unmarshal(out, &back); err != nil || back[hostile] != hostile {
		t.Errorf("read back %q, %v", back, err)
	}
}
