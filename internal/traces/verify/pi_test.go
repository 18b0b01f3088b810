package verify

import (
	"fmt"
	"strings"
	"testing"
)

// TestBothReadingsOfPi reads sessions in which two answers have one id, or in which rows come
// before the first prompt of a session, or before the first prompt that is new in a fork.
func TestBothReadingsOfPi(t *testing.T) {
	said := func(id, role, more string) string {
		return `{"type":"message","id":"` + id + `","timestamp":"%s","message":{"role":"` + role + `"` + more + `}}`
	}
	ask := func(id string) string { return said(id, "user", `,"content":"go `+id+`","timestamp":"%s"`) }
	answer := func(id, given string, output int) string {
		return said(id, "assistant", fmt.Sprintf(`,"content":[{"type":"text","text":"ok"}],"stopReason":"stop","responseId":"%s","usage":{"input":1,"output":%d}`, given, output))
	}
	call := func(id string) string {
		return said(id, "assistant", `,"content":[{"type":"toolCall","id":"call_0","name":"bash","arguments":{}}],"stopReason":"toolUse","responseId":"x","usage":{"input":1,"output":9}`) + "\n" +
			said(id+"r", "toolResult", `,"toolCallId":"call_0","toolName":"bash","content":[],"isError":false,"durationMs":1`)
	}
	const (
		compaction = `{"type":"compaction","id":"p1","timestamp":"%s","usage":{"input":3,"output":4}}`
		warm       = `{"type":"usage","id":"w1","timestamp":"%s","kind":"cache_warm","usage":{"input":3,"output":4}}`
	)
	parent := []string{"", ask("u1"), answer("a1", "x", 5)}
	for name, c := range map[string]struct {
		parent, rows []string
		want         found
	}{
		"answers with one id":              {nil, []string{ask("u1"), answer("a1", "x", 5), ask("u2"), answer("a2", "x", 7), answer("a3", "x", 7)}, found{1, 2, 0, 19, nil}},
		"calls and answers with one id":    {nil, []string{ask("u1"), call("a1"), call("a2"), answer("a3", "x", 5)}, found{1, 1, 2, 23, nil}},
		"a compaction before a prompt":     {nil, []string{compaction, ask("u1"), answer("a1", "x", 5)}, found{1, 1, 0, 9, nil}},
		"a cache kept warm":                {nil, []string{warm, ask("u1"), answer("a1", "x", 5)}, found{1, 1, 0, 9, nil}},
		"a fork":                           {parent, []string{ask("u2"), answer("a2", "y", 7)}, found{2, 2, 0, 12, nil}},
		"a compaction of a fork":           {parent, []string{compaction, ask("u2"), answer("a2", "y", 7)}, found{2, 2, 0, 16, nil}},
		"a compaction of a fork, no more":  {parent, []string{compaction}, found{2, 1, 0, 9, nil}},
		"an answer of a fork, no prompt":   {parent, []string{answer("a2", "y", 7)}, found{2, 1, 0, 12, nil}},
		"an answer of a fork with that id": {parent, []string{ask("u2"), answer("a2", "x", 5)}, found{2, 2, 0, 10, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			add := func(from int, rows []string) {
				for i, row := range rows {
					if row != "" {
						text.WriteString(strings.ReplaceAll(row, "%s", fmt.Sprintf("2026-06-10T09:%02d:00Z", from+i)) + "\n")
					}
				}
			}
			const folder, head = ".pi/agent/sessions/--w--/2026_", `{"type":"session","version":3,"id":"s1","timestamp":"%s","cwd":"/w"}`
			add(0, []string{head})
			files := make(map[string]string)
			if c.parent != nil {
				add(0, c.parent)
				files[folder+"s1.jsonl"] = text.String()
				text.Reset()
				add(5, []string{strings.Replace(head, `s1"`, `s2","parentSession":"/x/2026_s1.jsonl"`, 1)})
				add(0, c.parent)
			}
			add(10, c.rows)
			files[folder+map[bool]string{true: "s1", false: "s2"}[c.parent == nil]+".jsonl"] = text.String()
			if got := bothReadings(t, files); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("found %+v, want %+v", got, c.want)
			}
		})
	}
}
