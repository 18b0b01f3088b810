package hooks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What hooks print must not control the terminal.
func TestTextIsCutAndSafe(t *testing.T) {
	var stdout strings.Builder
	p := TrialText{Text: Text{&stdout, func(s string) string { return s }}}
	p.part("  out  ", "a\x1b[2J\r\n"+strings.Repeat("é", shownRunes+1)+"\n{\"a\": 1,\t\"b\": 2}\n\n")
	want := "  out  a�[2J�\n       " + strings.Repeat("é", shownRunes) + "... (201 characters)\n       {\"a\":1,\"b\":2}\n"
	if diff := cmp.Diff(want, stdout.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	stdout.Reset()
	p.Debug = true
	p.part("", strings.Repeat("x\n", shownLines+1))
	if got := strings.Count(stdout.String(), "x\n"); got != shownLines+1 {
		t.Errorf("%d lines with --debug, want all", got)
	}
}
