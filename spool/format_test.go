package spool

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFormatExample reads the example in FORMAT.md, and writes it again.
func TestFormatExample(t *testing.T) {
	doc, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```\n␞")
	example, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("FORMAT.md has no block that begins with ␞")
	}
	log := strings.ReplaceAll("␞"+example, "␞", "\x1e")
	want := []Record{
		{
			Host: "cline", Event: "PreToolUse", Session: "1795175957341", At: time.Unix(1795175963, 203_000_001).UTC(),
			Cwd: "/home/dev/project", PPID: 4711, Payload: []byte(`{"taskId": "1795175957341"}`),
		},
		{Host: "cline", Session: "\xff\x00", Cut: 2 << 20, Payload: []byte("not JSON"), Raw: true},
	}
	if d := cmp.Diff(string(frame(t, want...)), log); d != "" {
		t.Errorf("the example is not what is written (-written +example):\n%s", d)
	}
	got := readAll(t, []byte(log))
	if d := cmp.Diff(want, got.records, same); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if len(got.damage) > 0 || got.unknown > 0 || got.tail.Length > 0 {
		t.Errorf("the example is not sound: %+v", got)
	}
}
