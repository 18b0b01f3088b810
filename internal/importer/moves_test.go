package importer

import (
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TestImportJudgesByRow has sessions that went into a project which switches recording
// off, and out again: what was done there is left out, and nothing else.
func TestImportJudgesByRow(t *testing.T) {
	const id = "11111111-1111-4111-8111-111111111111"
	for name, tt := range map[string]struct {
		dirs string // of the turns: - is the project that is off
		runs int
		left int
	}{
		"nowhere":   {"aa", 2, 0},
		"first":     {"-aa", 2, 1},
		"between":   {"a-b", 2, 1},
		"last":      {"ab-", 2, 1},
		"all":       {"--", 0, 1},
		"alternate": {"a-b-c-", 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newClaudeHome(t)
			for n, dir := range tt.dirs {
				text := strings.ReplaceAll(claudeTurn(id, n), "/home/dev/project", "/home/dev/"+string(dir))
				if dir == '-' {
					text = strings.ReplaceAll(text, `"done"`, `"private"`)
				}
				h.write(id+".jsonl", text)
			}
			var sent strings.Builder
			for range 2 {
				rep := h.run(func(im *Importer) {
					im.Off = func(dir string) bool { return dir == "/home/dev/-" }
					im.Observe = func(_ string, _ Skipped, runs []*tracepb.ResourceSpans) {
						for _, r := range runs {
							sent.WriteString(r.String())
						}
					}
				})
				if rep.Runs != tt.runs || rep.Skipped.SwitchedOff != tt.left {
					t.Errorf("%d runs, %d sessions left out in part or whole, want %d and %d", rep.Runs, rep.Skipped.SwitchedOff, tt.runs, tt.left)
				}
				tt.runs = 0 // the second time
			}
			if text := sent.String(); strings.Contains(text, "private") || strings.Contains(text, "/home/dev/-") {
				t.Errorf("sent of the project that is off: %s", text)
			}
			// Once it records again, the next import has the rest.
			if rep := h.run(nil); rep.Runs != strings.Count(tt.dirs, "-") {
				t.Errorf("%d runs after the switch has gone, want %d", rep.Runs, strings.Count(tt.dirs, "-"))
			}
		})
	}
}
