package pi

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/pi"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// place is the file of a session in a home folder.
func place(session string) string {
	return ".pi/agent/sessions/--w--/2026-06-10T09-00-00-000Z_" + session + suffix
}

// readText reads a session whose file has the rows, %s of which is a minute later each.
func readText(t testing.TB, full bool, rows ...string) *hook.Transcript {
	t.Helper()
	f := transcripttest.Finder(t)
	var text strings.Builder
	for i, row := range append([]string{`{"type":"session","version":3,"id":"s1","timestamp":"%s","cwd":"/w"}`}, rows...) {
		text.WriteString(strings.ReplaceAll(row, "%s", fmt.Sprintf("2026-06-10T09:%02d:00Z", i)) + "\n")
	}
	transcripttest.Write(t, filepath.Join(f.Home, place("s1")), text.String())
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s1", Full: full})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func message(id, role, more string) string {
	return `{"type":"message","id":"` + id + `","timestamp":"%s","message":{"role":"` + role + `"` + more + `}}`
}

func answer(id, reason, more string) string {
	return message(id, "assistant", `,"content":[{"type":"text","text":"ok"}],"stopReason":"`+reason+`","usage":{"input":1,"output":2,"cost":{"total":0.5}}`+more)
}

// A fork has copies of another session's rows: whatever files are left, each request is one
// session's.
func TestACopyCountsOnce(t *testing.T) {
	for left := 1; left < 8; left++ {
		f := transcripttest.Home(t, "../testdata/pi/forks", ".pi")
		all, err := f.Sessions(t.Context(), Agent)
		if err != nil || len(all) != 3 {
			t.Fatal(all, err)
		}
		want, got := make(map[string]bool), make(map[string]int)
		for i, s := range all {
			text, err := os.ReadFile(s.Path)
			if err != nil {
				t.Fatal(err)
			}
			if left&(1<<i) == 0 {
				if err := os.Remove(s.Path); err != nil {
					t.Fatal(err)
				}
				continue
			}
			for _, part := range strings.Split(string(text), `"responseId":"`)[1:] {
				id, _, _ := strings.Cut(part, `"`)
				want[id] = true
			}
		}
		for i, s := range all {
			if left&(1<<i) == 0 {
				continue
			}
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: s.ID, Full: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range tr.Requests {
				if c.Error == "" {
					got[c.ID]++
				}
			}
			if gone := i > 0 && left&(1<<(i-1)) == 0; gone != (len(tr.CopiedFrom) > 0) {
				t.Errorf("files %b: session %d has copied from %v", left, i, tr.CopiedFrom)
			}
		}
		for id := range want {
			if got[id] != 1 {
				t.Errorf("files %b: request %s is %d times", left, id, got[id])
			}
		}
		if len(got) != len(want) {
			t.Errorf("files %b: requests %v, want %v", left, got, want)
		}
	}
}

// A fork has the model that the session had from which it was forked.
func TestTheModelOfAFork(t *testing.T) {
	f := transcripttest.Finder(t)
	rows := strings.NewReplacer("%s", "2026-06-10T09:00:00Z").Replace(message("u1", "user", `,"content":"go"`) + "\n" + answer("a1", "stop", `,"provider":"p","model":"m"`) + "\n")
	head := `{"type":"session","id":"s1","timestamp":"2026-06-10T09:00:00Z"}` + "\n"
	transcripttest.Write(t, filepath.Join(f.Home, place("s1")), head+rows)
	transcripttest.Write(t, filepath.Join(f.Home, place("s2")), strings.Replace(head, `s1","timestamp":"2026-06-10T09:00`, `s2","parentSession":"/x/`+filepath.Base(place("s1"))+`","timestamp":"2026-06-10T09:01`, 1)+
		rows+`{"type":"compaction","id":"c1","timestamp":"2026-06-10T09:02:00Z","usage":{"input":7,"output":1}}`+"\n")
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s2", Full: true})
	if err != nil || len(tr.Requests) != 1 || tr.Requests[0].Provider != "p" || tr.Requests[0].Model != "m" || tr.Inherited != 1 {
		t.Errorf("%+v, %v; want the compaction by the model of the first session", tr, err)
	}
}

// Requests that are no message cost money: they are the turn's before them. Of those that no hook
// reports only an import counts them there.
func TestRequestsBetweenTurns(t *testing.T) {
	rows := []string{
		message("u1", "user", `,"content":"go"`), answer("a1", "stop", ""),
		`{"type":"usage","id":"w1","timestamp":"%s","kind":"cache_warm","provider":"p","model":"m2","usage":{"input":0,"output":1,"cacheRead":500,"cost":{"total":0.01}}}`,
		`{"type":"compaction","id":"c1","timestamp":"%s","summary":"x","usage":{"input":7,"output":1,"cost":{"total":0.02}}}`,
		`{"type":"branch_summary","id":"b1","timestamp":"%s","summary":"x","usage":{"input":0,"output":0,"cost":{"total":0}}}`,
		message("u2", "user", `,"content":"go on"`), answer("a2", "stop", ""),
	}
	for _, full := range []bool{true, false} {
		var got []string
		for _, c := range readText(t, full, rows...).Requests {
			got = append(got, fmt.Sprint(c.ID, " ", c.Turn, " ", c.Start.Minute(), " ", c.Model, " ", *c.Usage.CostUSD))
		}
		want := []string{"a1 u1 1  0.5", "c1 u1 2  0.02", "w1  3 m2 0.01", "a2 u2 6  0.5"}
		if full {
			want = []string{"a1 u1 1  0.5", "w1 u1 2 m2 0.01", "c1 u1 2  0.02", "a2 u2 6  0.5"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("full %v: %q, want %q", full, got, want)
		}
	}
}

// Two calls that run side by side have their results written when both have ended, two that
// run one after the other do not.
func TestEndsOfCalls(t *testing.T) {
	const calls = `{"type":"toolCall","id":"c1","name":"a","arguments":{}},{"type":"toolCall","id":"c2","name":"b","arguments":{}}`
	asked := message("a1", "assistant", `,"stopReason":"toolUse","content":[`+calls+`]`)
	result := func(id, took string) string {
		return message("r"+id, "toolResult", `,"toolCallId":"`+id+`","content":[],"isError":false,"durationMs":`+took)
	}
	for took, want := range map[string]int{"90000": 3, "1000": 4} { // asked in minute 2, written in minute 4
		tr := readText(t, true, message("u1", "user", `,"content":"go"`), asked, result("c1", "60000"), result("c2", took))
		if got := tr.ToolResults[1].At.Minute(); got != want || tr.ToolResults[0].At.Minute() != 3 {
			t.Errorf("a call of %s ms ended in minute %d, want %d", took, got, want)
		}
	}
}

// An answer that broke off runs none of its calls, and one that was never sent is no request.
func TestAbortedAnswers(t *testing.T) {
	const call = `{"type":"toolCall","id":"c1","name":"a","arguments":{}}`
	for more, want := range map[string]int{`,"content":[],"durationMs":0`: 0, `,"content":[],"durationMs":9`: 1, `,"content":[` + call + `],"durationMs":0`: 1} {
		tr := readText(t, true, message("u1", "user", `,"content":"go"`), message("a1", "assistant", `,"stopReason":"aborted","errorMessage":"x"`+more))
		if len(tr.Requests) != want || len(tr.ToolResults) != 0 || len(tr.Ends) != 1 || tr.Ends[0].Kind != hook.KindSessionEnd {
			t.Errorf("%s: requests %+v, calls %+v, ends %+v", more, tr.Requests, tr.ToolResults, tr.Ends)
		}
	}
}

// Pi asks the model once more after calls that the user has broken off, and sends nothing,
// however long that takes.
func TestAnAnswerAfterAbortedCalls(t *testing.T) {
	for text, want := range map[string]int{"Command aborted": 1, "Operation aborted": 1, "exit 1": 2} {
		tr := readText(t, true, message("u1", "user", `,"content":"go"`),
			message("a1", "assistant", `,"stopReason":"toolUse","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{}},{"type":"toolCall","id":"c2","name":"bash","arguments":{}}]`),
			message("r1", "toolResult", `,"toolCallId":"c1","isError":true,"content":"`+text+`"`), message("r2", "toolResult", `,"toolCallId":"c2","isError":false,"content":"fine"`),
			message("a2", "assistant", `,"content":[],"stopReason":"aborted","durationMs":3,"usage":{"input":0}`))
		if len(tr.Requests) != want || len(tr.Ends) != 1 {
			t.Errorf("%s: requests %+v, ends %+v, want %d and one", text, tr.Requests, tr.Ends, want)
		}
	}
}

// A prompt that was typed while the agent worked joins its turn. A row of the system's before
// a prompt, which is written later than that was typed, changes nothing.
func TestQueuedPrompts(t *testing.T) {
	said := func(at string) string { return `,"content":"x","timestamp":"2026-06-10T09:` + at + `Z"` }
	tr := readText(t, true,
		message("u1", "user", said("00:59")), answer("a1", "stop", ""), message("u2", "user", said("01:30")), answer("a2", "stop", ""),
		message("y1", "system", ""), message("u3", "user", said("04:30")), answer("a3", "stop", ""))
	var got []string
	for _, p := range tr.Prompts {
		got = append(got, fmt.Sprint(p.Turn, " ", p.Queued))
	}
	if want := []string{"u1 false", "u1 true", "u3 false"}; !slices.Equal(got, want) || len(tr.Ends) != 2 {
		t.Errorf("prompts %q, want %q, and the ends %+v", got, want, tr.Ends)
	}
}

// Rows of which hookspan knows nothing are noted if they may be work.
func TestUnknownRows(t *testing.T) {
	tr := readText(t, true, message("u1", "robot", ""), `{"type":"new","id":"x1","timestamp":"%s","usage":{}}`, `{"type":"label","id":"x2","timestamp":"%s"}`,
		message("a1", "assistant", `,"content":[{"type":"hologram"}],"stopReason":"stop"`))
	var got []string
	for _, u := range tr.Unread {
		got = append(got, u.Reason)
	}
	if want := []string{"1 of the unknown kind message/robot", "1 of the unknown kind new", "1 of the unknown kind parts/hologram"}; !slices.Equal(got, want) {
		t.Errorf("unread %q, want %q", got, want)
	}
}

// Sessions are in Pi's folder, wherever it is, and in a folder or a file that the user has
// named.
func TestPlaces(t *testing.T) {
	f := transcripttest.Finder(t)
	home := f.Home
	f.Getenv = func(name string) string {
		return map[string]string{"PI_CODING_AGENT_DIR": home + "/moved", "PI_CODING_AGENT_SESSION_DIR": home + "/flat"}[name]
	}
	row := func(id string) string {
		return `{"type":"session","id":"` + id + `","timestamp":"2026-06-10T09:00:00Z","cwd":"/w"}` + "\n" +
			strings.ReplaceAll(message("u1", "user", `,"content":"`+id+`"`), "%s", "2026-06-10T09:00:01Z") + "\n"
	}
	transcripttest.Write(t, filepath.Join(home, place("s1")), row("s1"))
	transcripttest.Write(t, home+"/moved/sessions/--w--/2026_s2.jsonl", row("s2"))
	transcripttest.Write(t, home+"/flat/2026_s3.jsonl", row("s3"))
	transcripttest.Write(t, home+"/flat/mine.jsonl", row("s4"))
	transcripttest.Write(t, home+"/flat/2026_s5.jsonl", "torn")
	all, err := f.Sessions(t.Context(), Agent)
	var ids []string
	for _, s := range all {
		ids = append(ids, s.ID)
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: s.ID})
		if err != nil || s.ID != "s5" && (len(tr.Prompts) != 1 || tr.Prompts[0].Text != s.ID || tr.Cwd != "/w" || s.Cwd != "/w" || s.Dialect != pi.Dialect) {
			t.Errorf("session %+v: %+v, %v", s, tr, err)
		}
	}
	if slices.Sort(ids); err != nil || !slices.Equal(ids, []string{"s1", "s2", "s3", "s4", "s5"}) {
		t.Errorf("sessions %q, %v", ids, err)
	}
}

// The clock is set back within a turn: it stays one.
func TestAClockSetBack(t *testing.T) {
	call := func(id string) string {
		return message(id+"%n", "assistant", `,"timestamp":"%s","stopReason":"toolUse","content":[{"type":"toolCall","id":"c`+id+`%n","name":"bash","arguments":{}}]`)
	}
	result := func(id string) string {
		return message("r"+id+"%n", "toolResult", `,"timestamp":"%s","toolCallId":"c`+id+`%n","content":[],"isError":false`)
	}
	transcripttest.Jumps(t, Agent, pi.Dialect, "s1", place("s1"), `{"type":"session","id":"s1","timestamp":"%s","cwd":"/w"}`, []string{
		message("u%n", "user", `,"timestamp":"%s","content":"go"`), call("a"), result("a"), call("b"), result("b"), answer("d%n", "stop", `,"timestamp":"%s"`),
	}, 2500)
}

// FuzzRead reads any text as the rows of a session and of one that was forked from it.
func FuzzRead(f *testing.F) {
	transcripttest.Add(f, "../testdata/pi/*/agent/sessions/*/*.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		files := &transcript.Files{Home: t.TempDir(), GOOS: "linux", Now: func() time.Time { return time.Date(2026, 11, 30, 5, 25, 0, 0, time.UTC) }}
		transcripttest.Write(t, filepath.Join(files.Home, place("s1")), string(text))
		transcripttest.Write(t, filepath.Join(files.Home, place("s2")), `{"type":"session","id":"s2","timestamp":"2026-11-30T05:24:26Z","parentSession":"/x/_s0.jsonl"}`+"\n"+string(text))
		for _, q := range []transcript.Query{{Session: "s1"}, {Session: "s2", Full: true}, {Session: "s2", Since: time.Date(2026, 11, 30, 5, 24, 20, 0, time.UTC)}} {
			tr, err := files.Read(t.Context(), Agent, q)
			if tr == nil {
				if q.Session == "s2" {
					t.Fatal(err)
				}
				continue // the rows may name another session
			}
			transcripttest.CheckCalls(t, tr)
			for e := range Agent.Events("", tr) {
				if e.StoredAt.IsZero() {
					t.Errorf("event without a time: %+v", e)
				}
			}
		}
	})
}

// BenchmarkTurns reads a session of turns with a call each.
func BenchmarkTurns(b *testing.B) {
	transcripttest.Growth(b, Agent, 1000, func(b *testing.B, f *transcript.Files, n int) {
		b.Helper()
		var rows strings.Builder
		for i := range n {
			for _, row := range []string{
				message("u%d", "user", `,"content":"go"`), message("a%d", "assistant", `,"stopReason":"toolUse","content":[{"type":"toolCall","id":"c%d","name":"bash","arguments":{}}]`),
				message("r%d", "toolResult", `,"toolCallId":"c%d","content":[]`), answer("b%d", "stop", ""),
			} {
				rows.WriteString(strings.NewReplacer("%d", fmt.Sprint(i), "%s", "2026-06-10T09:00:00Z").Replace(row) + "\n")
			}
		}
		transcripttest.Write(b, filepath.Join(f.Home, place("s1")), rows.String())
	})
}

// A killed process leaves a call without a result; the next one numbers its calls anew.
func TestACallThatWasLeft(t *testing.T) {
	asks := func(id string) string {
		return message(id, "assistant", `,"stopReason":"toolUse","content":[{"type":"toolCall","id":"call_0","name":"`+id+`","arguments":{}}]`)
	}
	tr := readText(t, true, message("u1", "user", `,"content":"go"`), asks("a1"), message("u2", "user", `,"content":"go on"`), asks("a2"),
		message("r2", "toolResult", `,"toolCallId":"call_0","content":[],"isError":false`), answer("a3", "stop", ""))
	var got []string
	for _, r := range tr.ToolResults {
		got = append(got, fmt.Sprint(r.Turn, " ", r.Name, " ", r.Status))
	}
	if want := []string{fmt.Sprint("u1 a1 ", hook.ToolUnknown), fmt.Sprint("u2 a2 ", hook.ToolOK)}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}
