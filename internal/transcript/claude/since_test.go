package claude

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// drawTranscript makes the rows of a session as Claude Code writes them: turns
// of answers in several rows, tools whose results come between them, rows
// without a time, junk, and rows of one moment in any order.
func drawTranscript(t *rapid.T) []string {
	var lines []string
	at := 0 // seconds
	step := func(most int) int {
		at += rapid.IntRange(0, most).Draw(t, "step")
		// Out of order, but by less than the slack.
		return at - rapid.IntRange(0, 20).Draw(t, "late")
	}
	noise := func() {
		switch rapid.IntRange(0, 7).Draw(t, "noise") {
		case 0:
			lines = append(lines, crow("attachment", step(1), `"attachment":{"type":"date"}`))
		case 1:
			lines = append(lines, `{"type":"tools-used","tools":[]}`)
		case 2:
			lines = append(lines, "not json", "")
		case 3:
			lines = append(lines, userRow("other", step(1), "reminder", `"isMeta":true`, `"sessionId":"another"`))
		}
	}
	for turn := range rapid.IntRange(1, 6).Draw(t, "turns") {
		p := fmt.Sprint("p", turn)
		step(200)
		lines = append(lines, userRow(p, at, "prompt "+p))
		noise()
		for call := range rapid.IntRange(0, 4).Draw(t, "calls") {
			id := fmt.Sprintf("m%d_%d", turn, call)
			ref := fmt.Sprintf(`"requestRef":"q%s"`, id)
			if rapid.Bool().Draw(t, "noted") {
				lines = append(lines, crow("api-request", step(60), `"id":"q`+id+`"`, `"params":{"model":"m"}`))
			}
			for block := range rapid.IntRange(1, 3).Draw(t, "blocks") {
				uuid := fmt.Sprintf(`"uuid":"%s_%d"`, id, block)
				tool := fmt.Sprintf("t%s_%d", id, block)
				switch rapid.IntRange(0, 3).Draw(t, "block") {
				case 0:
					lines = append(lines, answerRow(id, step(90), "tool:"+tool, "tool_use", ref, uuid), resultRow(p, step(200), tool, "ok", rapid.Bool().Draw(t, "failed")))
				case 1:
					text := answerRow(id, step(30), "text "+tool, "", ref, uuid)
					lines = append(lines, text, text)
				case 2:
					lines = append(lines, answerRow(id, step(30), "text "+tool, "end_turn", ref, uuid))
				case 3:
					lines = append(lines, answerRow(id, step(30), "again", "end_turn", `"isSidechain":true`, `"requestId":"req_side"`))
				}
				noise()
			}
		}
		switch rapid.IntRange(0, 4).Draw(t, "end") {
		case 0:
			lines = append(lines, summaryRow(step(10)))
		case 1:
			lines = append(lines, userRow(p, step(10), "[Request interrupted by user]"))
		case 2:
			lines = append(lines, userRow(p, step(10), "Stop hook feedback:\nno", `"isMeta":true`))
		case 3:
			lines = append(lines, crow("assistant", step(10), `"isApiErrorMessage":true,"error":"overloaded","message":{"id":"e`+p+`","model":"<synthetic>","content":[]}`))
		}
	}
	return lines
}

// What is read since a moment is what reading everything gives, without what
// was over before.
func TestClaudeSinceGivesWhatTheWholeGives(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, claudeSession+suffix)
	rapid.Check(t, func(rt *rapid.T) {
		lines := drawTranscript(rt)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			rt.Fatal(err)
		}
		since := sec(rapid.IntRange(-10, 3000).Draw(rt, "since"))
		r := reader{files: newFinder(t), block: rapid.IntRange(1, 4096).Draw(rt, "block"), maxLine: transcript.MaxLine, maxText: transcript.MaxText}
		read := func(since time.Time) *hook.Transcript {
			tr, err := r.read(t.Context(), path, transcript.Query{Session: claudeSession, Since: since})
			if err != nil {
				rt.Fatal(err)
			}
			return tr
		}
		want := read(time.Time{})
		transcript.DropBefore(want, since)
		want.Inherited, want.Damaged = 0, 0 // of the whole files alone
		got := read(since)
		if len(want.Requests) == 0 { // the last model may stand far back
			got.Model, got.Provider = want.Model, want.Provider
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("since %v (-whole +since):\n%s", since, diff)
		}
	})
}

// What is read up to a moment is what the file held by then, and little of the
// file is read for it.
func TestClaudeUntilReadsNoFurther(t *testing.T) {
	f := newFinder(t)
	path := claudePath(f)
	const turns = 4000
	text := turnsOf(turns)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := reader{files: newFinder(t), block: 4096, maxLine: transcript.MaxLine}
	for _, turn := range []int{0, 1, 7, 1000, 1999, turns - 1, turns + 50} {
		until := sec(100*turn + 50)
		file := &countingReader{r: bytes.NewReader([]byte(text))}
		end, err := r.lines(false).End(t.Context(), file, int64(len(text)), until)
		if err != nil {
			t.Fatal(err)
		}
		if end < int64(len(text)) && text[end-1] != '\n' {
			t.Errorf("turn %d: reading ends within a row: %.100q", turn, text[end:])
		}
		if needed := int64(strings.LastIndex(text, fmt.Sprintf(`"promptId":"p%d"`, min(turn, turns-1)))); end < needed || end > needed+transcript.EndSlack+20_000 && end < int64(len(text))-transcript.EndSlack {
			t.Errorf("turn %d: reading ends at %d, the turn at about %d", turn, end, needed)
		}
		if file.n > int64(len(text))/10 {
			t.Errorf("turn %d: %d bytes of %d were read to find it", turn, file.n, len(text))
		}
		since := sec(100*max(0, turn-1) + 1)
		tr := readClaude(t, f, transcript.Query{Session: claudeSession, Path: path, Since: since, Until: until})
		want := readClaude(t, f, transcript.Query{Session: claudeSession, Path: path, Since: since})
		late := func(at time.Time) bool { return at.After(until) }
		want.Requests = slices.DeleteFunc(want.Requests, func(c hook.Request) bool { return late(c.Start) })
		tr.Requests = slices.DeleteFunc(tr.Requests, func(c hook.Request) bool { return late(c.Start) })
		want.Prompts = slices.DeleteFunc(want.Prompts, func(p hook.Prompt) bool { return late(p.At) })
		tr.Prompts = slices.DeleteFunc(tr.Prompts, func(p hook.Prompt) bool { return late(p.At) })
		if diff := cmp.Diff(want.Requests, tr.Requests) + cmp.Diff(want.Prompts, tr.Prompts); diff != "" {
			t.Errorf("turn %d (-whole +until):\n%s", turn, diff)
		}
		if turn > 0 && turn < turns && len(tr.Requests) == 0 {
			t.Errorf("turn %d: no call", turn)
		}
	}
	// Single rows that keep a later time prove nothing.
	odd := strings.Replace(text, summaryRow(100*2000+10), strings.Repeat(summaryRow(100*9000)+"\n", 8-1)+summaryRow(100*2000+10), 1)
	end, err := r.lines(false).End(t.Context(), bytes.NewReader([]byte(odd)), int64(len(odd)), sec(100*3000))
	if err != nil || end < int64(strings.Index(odd, `"promptId":"p3000"`)) {
		t.Errorf("amid odd rows reading ends at %d (%v)", end, err)
	}
}

// countingReader counts what is read.
type countingReader struct {
	r *bytes.Reader
	n int64
}

func (c *countingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// turnsOf makes a transcript of n turns, 100 seconds apart, about 2 KiB each.
func turnsOf(n int) string {
	var b strings.Builder
	pad := strings.Repeat("x", 1<<10)
	for i := range n {
		p, m := fmt.Sprint("p", i), fmt.Sprint("m", i)
		for _, line := range []string{
			userRow(p, 100*i, "prompt"), answerRow(m, 100*i+1, "tool:t"+m, "tool_use"), resultRow(p, 100*i+5, "t"+m, pad, false),
			answerRow("n"+m, 100*i+9, "done", "end_turn"), summaryRow(100*i + 10),
		} {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func TestClaudeSinceReadsWhatIsNew(t *testing.T) {
	r := reader{files: newFinder(t), block: 4096, maxLine: transcript.MaxLine}
	text := turnsOf(2000)
	start := func(t *testing.T, text string, since time.Time) (int64, int64) {
		t.Helper()
		file := &countingReader{r: bytes.NewReader([]byte(text))}
		at, err := r.lines(false).Start(t.Context(), file, int64(len(text)), since)
		if err != nil {
			t.Fatal(err)
		}
		return at, file.n
	}
	for _, tt := range []struct {
		name  string
		since int
		text  string
		// want is the turn that reading begins at, read the most bytes.
		want string
		read int
	}{
		// A turn before the proof of some rows, which lies a turn before the
		// slack.
		{"the last turn", 1999 * 100, text, `"promptId":"p1997"`, 20_000},
		{"nothing new", 3000 * 100, text, `"promptId":"p1998"`, 20_000},
		{"the middle", 1000 * 100, text, `"promptId":"p998"`, len(text)/2 + 30_000},
		{"everything", 0, text, `"promptId":"p0"`, len(text)},
		{"single old rows amid the new ones", 1000 * 100, strings.Replace(text, summaryRow(1500*100+10), strings.Repeat(summaryRow(3)+"\n", 8-1)+summaryRow(1500*100+10), 1), `"promptId":"p998"`, len(text)/2 + 40_000},
		{"rows without a time", 1000 * 100, strings.Replace(text, summaryRow(1500*100+10), strings.Repeat(`{"type":"mode"}`+"\n", 1000)+"not json", 1), `"promptId":"p998"`, len(text)/2 + 60_000},
		{"a turn that began far back", 1000 * 100, userRow("p", 0, "go") + "\n" + strings.Repeat(resultRow("p", 1, "t", strings.Repeat("y", 900), false)+"\n", 8000) + answerRow("m", 1000*100, "done", ""), `"tool_use_id":"t"`, (4 << 20) + 100_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, read := start(t, tt.text, sec(tt.since))
			line, _, _ := strings.Cut(tt.text[at:], "\n")
			if !strings.Contains(line, tt.want) {
				t.Errorf("reading begins at %.200q, want %s", line, tt.want)
			}
			if read > int64(tt.read) {
				t.Errorf("%d bytes were read to find it, want at most %d of %d", read, tt.read, len(tt.text))
			}
		})
	}
	if at, read := start(t, text, time.Time{}); at != 0 || read != 0 {
		t.Errorf("without a moment reading begins at %d after %d bytes", at, read)
	}
}

// A subagent's beginning is known though its file is read from further on.
func TestClaudeSinceKeepsASubagentsBeginning(t *testing.T) {
	f := newFinder(t)
	write(t, claudePath(f), userRow("p1", 0, "go"))
	var lines []string
	const side = `"isSidechain":true`
	lines = append(lines, userRow("p1", 1, "the task", side))
	for i := range 60 {
		lines = append(lines, answerRow(fmt.Sprint("m", i), 10*i+2, "tool:t", "tool_use", side), resultRow("p1", 10*i+3, "t", strings.Repeat("z", 128<<10), false, side))
	}
	lines = append(lines, answerRow("last", 700, "found", "end_turn", side))
	write(t, filepath.Join(strings.TrimSuffix(claudePath(f), suffix), "subagents", "agent-a1"+suffix), strings.Join(lines, "\n"))
	tr := readClaude(t, f, transcript.Query{Session: claudeSession, Since: sec(650)})
	if diff := cmp.Diff([]hook.Subagent{{
		ID: "a1", Turn: "p1", Task: "the task", Result: "found", Start: sec(1), End: sec(700),
	}}, tr.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if len(tr.Requests) != 1 || tr.Requests[0].Turn != "p1" {
		t.Errorf("calls = %+v, want the last of the turn", tr.Requests)
	}
	tr = readClaude(t, f, transcript.Query{Session: claudeSession, Since: sec(701)})
	if len(tr.Agents) != 0 || len(tr.Requests) != 0 {
		t.Errorf("agents %v and calls %v were over before", tr.Agents, tr.Requests)
	}
}

func FuzzClaude(f *testing.F) {
	addFiles(f, "../testdata/claude/*/projects/*/*.jsonl")
	addFiles(f, "../testdata/claude/edge/rows.jsonl")
	f.Add([]byte(turnsOf(2)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader{files: newFinder(t), maxLine: 1 << 20}
		read := func(agent string) *hook.Transcript {
			b := newBuild(claudeSession, 4096)
			log := &fileLog{b: b, agent: agent}
			if err := r.rows(t.Context(), bytes.NewReader(data), func(row *row) bool {
				log.add(row)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			b.ends.flush()
			tr := &hook.Transcript{Requests: b.calls.resolve(), Prompts: b.prompts, ToolResults: b.results, Ends: b.ends.found}
			sortByTime(tr)
			return tr
		}
		for _, agent := range []string{"", "a1"} {
			tr := read(agent)
			checkCalls(t, tr)
			seen := make(map[string]bool)
			for _, c := range tr.Requests {
				if seen[c.ID] {
					t.Errorf("two calls have the id %q", c.ID)
				}
				seen[c.ID] = true
			}
			for _, e := range tr.Ends {
				if !e.Kind.Terminal() && e.Kind != hook.KindRunResume {
					t.Errorf("end %+v is of no kind of end", e)
				}
			}
			if diff := cmp.Diff(tr, read(agent)); diff != "" {
				t.Errorf("a second reading differs:\n%s", diff)
			}
		}
		for _, since := range []time.Time{sec(0), sec(100)} {
			small := reader{files: newFinder(t), block: 16, maxLine: 1 << 20}
			large := reader{files: newFinder(t), block: 1 << 16, maxLine: 1 << 20}
			a, errA := small.lines(false).Start(t.Context(), bytes.NewReader(data), int64(len(data)), since)
			b, errB := large.lines(false).Start(t.Context(), bytes.NewReader(data), int64(len(data)), since)
			if a != b || errA != nil || errB != nil {
				t.Errorf("reading begins at %d or %d by the block: %v, %v", a, b, errA, errB)
			}
		}
	})
}
