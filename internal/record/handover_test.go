package record

import (
	"strings"
	"testing"
)

func TestHandsOver(t *testing.T) {
	for line, want := range map[string]bool{
		"":                              false,
		"PreToolUse":                    false,
		"PreToolUse -x --help":          false,
		"PreToolUse --ports 1":          false,
		"PreToolUse --status":           false,
		"--status":                      true,
		"--port 3043":                   true,
		"--unknown":                     true,
		"-h":                            true,
		"PreToolUse --port 3043":        true,
		"PreToolUse --port=3043":        true,
		"PreToolUse --dir /tmp/events":  true,
		"PreToolUse more --dir=/events": true,
	} {
		if got := handsOver(strings.Fields(line)); got != want {
			t.Errorf("cline-hook %s: %v, want %v", line, got, want)
		}
	}
}
