package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestReportOnATerminalIsDrawn also asks for a format there, which is kept.
func TestReportOnATerminalIsDrawn(t *testing.T) {
	for args, markdown := range map[string]bool{"report": false, "report --format md": true} {
		a, _, _ := newTestApp(t, "list")
		outer, inner := terminalPair(t)
		var stderr bytes.Buffer
		c := newApp(strings.Fields(args), strings.NewReader(""), inner, &stderr, append(a.environ, "PAGER="))
		c.home, c.goos = a.home, a.goos
		if code := run(context.Background(), c); code != 0 {
			t.Fatalf("exit code %d, %q", code, &stderr)
		}
		b := make([]byte, 4<<10)
		n, err := outer.Read(b)
		if shown := string(b[:n]); err != nil && !os.IsTimeout(err) || strings.Contains(shown, "# Coding agents") != markdown || !strings.Contains(shown, "Coding agents, ") {
			t.Errorf("%s: %q, %v", args, shown, err)
		}
	}
}
