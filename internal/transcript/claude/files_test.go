package claude

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/transcript"
)

// turnRows are a prompt and its answer under a session's id, as Claude Code 1.0 wrote
// them, and n seconds after the beginning.
func turnRows(session string, n int, more ...string) string {
	rows := userRow("", n, fmt.Sprint("do ", n), append(more, fmt.Sprintf(`"uuid":"u%d"`, n))...) + "\n" +
		answerRow(fmt.Sprint("m", n), n+1, fmt.Sprint("did ", n), "end_turn", append(more, fmt.Sprintf(`"uuid":"a%d"`, n))...) + "\n"
	return strings.ReplaceAll(rows, claudeSession, session)
}

// told reads all sessions of a home folder and lists the answers, prompts and results of
// each, with the agents that they are of.
func told(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	f := newFinder(t)
	for name, text := range files {
		write(t, filepath.Join(f.Home, ".claude", "projects", filepath.FromSlash(name)), text)
	}
	all := make(map[string]string)
	for _, f := range []*transcript.Files{f, f.Remember()} {
		sessions, err := f.Sessions(t.Context(), Agent)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			tr := readClaude(t, f, transcript.Query{Session: s.ID, Path: s.Path, Full: true})
			var parts []string
			for _, c := range tr.Requests {
				parts = append(parts, strings.TrimSuffix(c.ID+"@"+c.Agent, "@"))
			}
			for _, p := range tr.Prompts {
				parts = append(parts, p.Text)
			}
			for _, r := range tr.ToolResults {
				parts = append(parts, strings.TrimSuffix(r.ID+"@"+r.Agent, "@"))
			}
			slices.Sort(parts)
			got := strings.Join(parts, " ")
			if before, known := all[s.ID]; known && before != got {
				t.Errorf("session %s: %q, and with what is remembered %q", s.ID, before, got)
			}
			all[s.ID] = got
		}
	}
	return all
}

func TestARowCountsForOneSession(t *testing.T) {
	one, two, three, four := func(s string) string { return turnRows(s, 10) }, func(s string) string { return turnRows(s, 20) }, func(s string) string { return turnRows(s, 30) }, func(s string) string { return turnRows(s, 40) }
	const summary = `{"type":"summary","summary":"x","leafUuid":"a10"}` + "\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  map[string]string
	}{
		{
			"a resumed session copies the history under its own id",
			map[string]string{"p/b.jsonl": summary + one("b") + two("b") + three("b"), "p/a.jsonl": one("a") + two("a")},
			map[string]string{"a": "do 10 do 20 m10 m20", "b": "do 30 m30"},
		},
		{
			"and the copy is resumed",
			map[string]string{"p/x.jsonl": one("x"), "p/b.jsonl": one("b") + two("b") + three("b"), "p/c.jsonl": one("c") + two("c")},
			map[string]string{"x": "do 10 m10", "b": "do 30 m30", "c": "do 20 m20"},
		},
		{
			"the copy counts if the other is gone, once",
			map[string]string{"p/c.jsonl": one("c") + two("c"), "p/b.jsonl": one("b") + two("b") + three("b")},
			map[string]string{"c": "do 10 do 20 m10 m20", "b": "do 30 m30"},
		},
		{
			"both went on: the one whose own rows are older",
			map[string]string{"p/a.jsonl": one("a") + three("a"), "p/b.jsonl": one("b") + two("b")},
			map[string]string{"b": "do 10 do 20 m10 m20", "a": "do 30 m30"},
		},
		{
			"a copy alone",
			map[string]string{"p/b.jsonl": one("b"), "p/a.jsonl": one("a")},
			map[string]string{"a": "do 10 m10", "b": ""},
		},
		{
			"a copy with the other's id, whatever its name",
			map[string]string{"p/b.jsonl": one("b") + two("b"), "p/a.jsonl": one("b") + two("b"), "p/c.jsonl": one("b") + two("b")},
			map[string]string{"a": "", "b": "do 10 do 20 m10 m20", "c": ""},
		},
		{
			"and one of the beginning",
			map[string]string{"p/b.jsonl": one("b") + two("b"), "p/a.jsonl": one("b"), "p/c.jsonl": one("b")},
			map[string]string{"a": "", "b": "do 10 do 20 m10 m20", "c": ""},
		},
		{
			"a copy with the id of a session whose file is gone counts once",
			map[string]string{"p/a.jsonl": one("x") + two("x"), "p/c.jsonl": one("x") + two("x")},
			map[string]string{"a": "do 10 do 20 m10 m20", "c": ""},
		},
		{
			"rows of another id that only this file has",
			map[string]string{"p/a.jsonl": one("a"), "p/b.jsonl": two("a")},
			map[string]string{"a": "do 10 m10", "b": "do 20 m20"},
		},
		{
			"rows of other ids that their files have",
			map[string]string{"p/a.jsonl": one("a"), "p/b.jsonl": one("a") + two("b"), "p/c.jsonl": one("a") + two("b") + three("c")},
			map[string]string{"a": "do 10 m10", "b": "do 20 m20", "c": "do 30 m30"},
		},
		{
			"rows of another id whose file is gone count once",
			map[string]string{"p/b.jsonl": one("a") + two("b"), "p/c.jsonl": one("a") + two("b") + three("c")},
			map[string]string{"b": "do 10 do 20 m10 m20", "c": "do 30 m30"},
		},
		{
			"a copy with new ids that left out the first answer",
			map[string]string{"p/b.jsonl": strings.Split(one("b"), "\n")[0] + "\n" + strings.ReplaceAll(two("b"), `"uuid":"`, `"uuid":"c`) + four("b"), "p/a.jsonl": one("a") + two("a") + three("a")},
			map[string]string{"a": "do 10 do 20 do 30 m10 m20 m30", "b": "do 40 m40"},
		},
		{
			"two sessions that began at once with the same prompt",
			map[string]string{"p/b.jsonl": strings.ReplaceAll(one("b"), "m10", "n10") + two("b"), "p/a.jsonl": one("a") + three("a")},
			map[string]string{"a": "do 10 do 30 m10 m30", "b": "do 10 do 20 m20 n10"},
		},
		{
			"one id in two projects",
			map[string]string{"p/a.jsonl": one("a") + two("a"), "q/a.jsonl": one("a") + three("a") + four("a")},
			map[string]string{"a": "do 10 do 20 do 30 do 40 m10 m20 m30 m40"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, told(t, tt.files)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestACopyThatBeginsAtACompaction has nothing of the beginning in common with the session.
func TestACopyThatBeginsAtACompaction(t *testing.T) {
	boundary := crow("system", 15, `"subtype":"compact_boundary"`) + "\n"
	f := newFinder(t)
	own := turnRows("b", 50)
	write(t, filepath.Join(f.Home, ".claude/projects/p/a.jsonl"), turnRows("a", 10)+boundary+turnRows("a", 20)+turnRows("a", 30))
	write(t, filepath.Join(f.Home, ".claude/projects/p/b.jsonl"), strings.Split(own, "\n")[0]+"\n"+boundary+turnRows("b", 20)+strings.Split(own, "\n")[1]+"\n")
	tr := readClaude(t, f.Remember(), transcript.Query{Session: "b", Path: filepath.Join(f.Home, ".claude/projects/p/b.jsonl")})
	if len(tr.Requests) != 1 || tr.Requests[0].ID != "m50" || len(tr.Prompts) != 1 || tr.Prompts[0].Text != "do 50" {
		t.Errorf("calls %+v, prompts %+v, want those of the session's own rows", tr.Requests, tr.Prompts)
	}
}

func TestFilesOfSubagents(t *testing.T) {
	lead := turnRows("a", 10)
	call := func(agent string, n int) string {
		rows := userRow("p", n, "look", `"isSidechain":true`, fmt.Sprintf(`"agentId":%q`, agent)) + "\n" +
			answerRow(fmt.Sprint("m", n), n+1, fmt.Sprint("tool:t", n), "tool_use", `"isSidechain":true`, fmt.Sprintf(`"agentId":%q`, agent)) + "\n" +
			resultRow("p", n+2, fmt.Sprint("t", n), "ok", false, `"isSidechain":true`, fmt.Sprintf(`"agentId":%q`, agent)) + "\n"
		return strings.ReplaceAll(rows, claudeSession, "a")
	}
	part := func(rows string, from, to int) string {
		return strings.Join(strings.SplitAfter(rows, "\n")[from:to], "")
	}
	asLead := func(rows string) string { return strings.ReplaceAll(rows, `"isSidechain":true`, `"x":1`) }
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  map[string]string
	}{
		{
			"of workflows, in folders below",
			map[string]string{"p/a.jsonl": lead, "p/a/subagents/agent-x.jsonl": call("x", 20), "p/a/subagents/workflows/run/agent-y.jsonl": call("y", 30), "p/a/subagents/workflows/run/journal.jsonl": call("z", 40)},
			map[string]string{"a": "do 10 m10 m20@x m30@y t20@x t30@y"},
		},
		{
			"beside the session, of two sessions",
			map[string]string{"p/a.jsonl": lead, "p/b.jsonl": turnRows("b", 50), "p/agent-x.jsonl": call("x", 20), "p/agent-y.jsonl": strings.ReplaceAll(call("y", 60), `"a"`, `"b"`)},
			map[string]string{"a": "do 10 m10 m20@x t20@x", "b": "do 50 m50 m60@y t60@y"},
		},
		{
			"beside a session whose file has another name",
			map[string]string{"p/z.jsonl": lead, "p/agent-x.jsonl": call("x", 20)},
			map[string]string{"z": "do 10 m10 m20@x t20@x"},
		},
		{
			"in two projects",
			map[string]string{"p/a.jsonl": lead, "q/a.jsonl": lead, "p/a/subagents/agent-x.jsonl": call("x", 20), "q/a/subagents/agent-x.jsonl": call("x", 20) + call("x", 30)},
			map[string]string{"a": "do 10 m10 m20@x m30@x t20@x t30@x"},
		},
		{
			"below another project",
			map[string]string{"p/a.jsonl": lead, "q/a/subagents/agent-x.jsonl": call("x", 20)},
			map[string]string{"a": "do 10 m10 m20@x t20@x"},
		},
		{
			"of a session whose own file is gone",
			map[string]string{"p/a/subagents/agent-x.jsonl": call("x", 20), "p/a/subagents/agent-y.jsonl": call("y", 30)},
			map[string]string{"a": "m20@x m30@y t20@x t30@y"},
		},
		{
			"of agents that copy the conversation",
			map[string]string{"p/a.jsonl": asLead(call("", 10)), "p/a/subagents/agent-acompact-1.jsonl": call("acompact-1", 10) + call("acompact-1", 30)},
			map[string]string{"a": "look m10 m30@acompact-1 t10 t30@acompact-1"},
		},
		{ // it compacts the conversation before the result is written there
			"of an agent that alone has a result of the conversation",
			map[string]string{"p/a.jsonl": asLead(part(call("", 10), 0, 2)), "p/a/subagents/agent-acompact-1.jsonl": part(call("acompact-1", 10), 2, 3) + call("acompact-1", 30)},
			map[string]string{"a": "look m10 m30@acompact-1 t10 t30@acompact-1"},
		},
		{
			"of agents that copy another agent's",
			map[string]string{"p/a.jsonl": lead, "p/a/subagents/agent-x.jsonl": call("x", 20), "p/a/subagents/agent-aside_question-1.jsonl": call("aside_question-1", 20) + call("aside_question-1", 30)},
			map[string]string{"a": "do 10 m10 m20@x m30@aside_question-1 t20@x t30@aside_question-1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, told(t, tt.files)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A session that went to another project has there what it did there.
func TestAMovedSessionSaysWhereItWas(t *testing.T) {
	f := newFinder(t)
	for dir, n := range map[string]int{"p": 10, "q": 20} {
		rows := turnRows(claudeSession, n, fmt.Sprintf(`"cwd":"/home/dev/%s"`, dir))
		write(t, filepath.Join(f.Home, ".claude", "projects", dir, claudeSession+suffix), rows)
	}
	tr := readClaude(t, f, transcript.Query{Session: claudeSession, Full: true})
	var got []string
	for e := range Agent.Events(Dialect, tr) {
		if e.Prompt != "" {
			got = append(got, e.Prompt+" in "+e.Cwd)
		}
	}
	if want := "do 10 in /home/dev/p, do 20 in /home/dev/q"; strings.Join(got, ", ") != want {
		t.Errorf("prompts %q, want %q", got, want)
	}
}

// Until some version of 1.0 the rows of subagents were in the session's own file, those of
// several at work at once between each other.
func TestSubagentsInTheSessionsFile(t *testing.T) {
	side := func(row, uuid, parent string) string {
		return strings.TrimSuffix(row, "}") + fmt.Sprintf(`,"isSidechain":true,"uuid":%q,"parentUuid":%s}`, uuid, parent)
	}
	task := func(id, prompt string) string {
		return crow("assistant", 1, fmt.Sprintf(`"message":{"id":"m1","model":"x","content":[{"type":"tool_use","id":%q,"name":"Task","input":{"prompt":%q,"subagent_type":"coder"}}],"stop_reason":"tool_use"}`, id, prompt))
	}
	tr := readLines(t,
		userRow("", 0, "go"), task("ta", "same"), task("tb", "same"), task("tc", "other"),
		side(userRow("", 2, "same"), "a1", "null"), side(userRow("", 2, "other"), "c1", "null"), side(userRow("", 2, "same"), "b1", "null"),
		side(answerRow("ma", 3, "tool:xa", "tool_use"), "a2", `"a1"`), side(answerRow("mb", 3, "tool:xb", "tool_use"), "b2", `"b1"`),
		side(resultRow("", 4, "xb", "ok", false), "b3", `"b2"`), side(resultRow("", 4, "xa", "ok", false), "a3", `"a2"`),
		side(answerRow("md", 5, "well", ""), "a4", `"a3"`),
		resultRow("", 6, "ta", "well", false), answerRow("m2", 7, "done", "end_turn"),
	)
	var got []string
	for _, a := range tr.Agents {
		got = append(got, fmt.Sprint(a.ID, " ", a.Type, " ", a.CallID, " ", a.Task, " ", a.Result, " ", !a.End.IsZero()))
	}
	for _, r := range tr.ToolResults {
		got = append(got, r.ID+"@"+r.Agent)
	}
	for _, c := range tr.Requests {
		got = append(got, c.ID+"@"+c.Agent)
	}
	want := []string{"a1 coder ta same well true", "c1 coder tc other  false", "b1 coder tb same  false", "xb@b1", "xa@a1", "ta@", "m1@", "ma@a1", "mb@b1", "md@a1", "m2@"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The rows of subagents at work at once follow one another in the session's own file, each
// with its own times.
func TestTimesOfSubagentsInTheSessionsFile(t *testing.T) {
	side := func(row, uuid, parent string) string {
		return strings.TrimSuffix(row, "}") + fmt.Sprintf(`,"isSidechain":true,"uuid":%q,"parentUuid":%s}`, uuid, parent)
	}
	var got, want []time.Time
	lines := []string{userRow("", 0, "go"), answerRow("m1", 1, "tool:t1", ""), answerRow("m1", 2, "tool:t2", "tool_use")}
	for _, a := range []string{"1", "2"} {
		lines = append(lines, side(userRow("", 2, "look "+a), "u"+a, "null"), side(answerRow("n"+a, 10, "tool:x"+a, "tool_use"), "v"+a, `"u`+a+`"`),
			side(resultRow("", 50, "x"+a, "ok", false), "w"+a, `"v`+a+`"`), resultRow("", 60, "t"+a, "ok", false))
		want = append(want, sec(10), sec(50))
	}
	f := newFinder(t)
	write(t, claudePath(f), strings.Join(append(lines, answerRow("m2", 70, "done", "end_turn")), "\n")+"\n")
	for _, r := range readClaude(t, f, transcript.Query{Session: claudeSession, Full: true}).ToolResults {
		if r.Agent != "" {
			got = append(got, r.Asked, r.At)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// What a session has copied is counted, so that its import can say so.
func TestASessionSaysWhatItInherited(t *testing.T) {
	f := newFinder(t)
	for name, rows := range map[string]string{"a": turnRows("a", 10) + turnRows("a", 20), "b": turnRows("b", 10) + turnRows("b", 20) + turnRows("b", 30) + `{"torn`} {
		write(t, filepath.Join(f.Home, ".claude", "projects", "p", name+suffix), rows)
	}
	for name, want := range map[string][2]int{"a": {0, 0}, "b": {2, 1}} {
		if tr := readClaude(t, f, transcript.Query{Session: name}); tr.Inherited != want[0] || tr.Damaged != want[1] {
			t.Errorf("session %s inherited %d requests and has %d damaged lines, want %v", name, tr.Inherited, tr.Damaged, want)
		}
	}
}

// TestFoldersAddedLater has the row that Claude Code writes when the user adds a folder with /add-dir:
// it has all folders again, and what has changed.
func TestFoldersAddedLater(t *testing.T) {
	environment := func(at int, more, changes string) string {
		return crow("attachment", at, `"attachment":{"type":"environment","snapshot":{"workingDirectory":"/w/app","additionalWorkingDirectories":[`+more+`]}`+changes+`}`)
	}
	tr := readLines(t, environment(0, "", ""), userRow("p1", 1, "go"), answerRow("m1", 2, "done", "end_turn"),
		environment(3, `"/w/lib"`, `,"changes":[{"field":"additionalWorkingDirectories","added":["/w/lib"],"removed":[]}]`),
		userRow("p2", 4, "and there"), answerRow("m2", 5, "done", "end_turn"))
	if want := []string{"/w/app", "/w/lib"}; !slices.Equal(tr.Folders, want) {
		t.Errorf("folders %v, want %v", tr.Folders, want)
	}
}

// A delivery reads the file from the last turn on, and has all folders that were named before.
func TestFoldersBeforeTheTurnThatIsRead(t *testing.T) {
	environment := func(at int, more string) string {
		return crow("attachment", at, `"attachment":{"type":"environment","snapshot":{"workingDirectory":"/w/app","additionalWorkingDirectories":[`+more+`]}}`)
	}
	long := func(turn string, at int) []string {
		rows := []string{userRow(turn, at, "go")}
		for i := range 12 {
			rows = append(rows, answerRow(fmt.Sprint(turn, i), at+1+i, "well", ""))
		}
		return append(rows, answerRow(turn+"end", at+13, "done", "end_turn"))
	}
	for name, rows := range map[string][]string{
		"from the start":  append([]string{environment(0, `"/w/lib"`)}, long("p1", 1)...),
		"by /add-dir":     slices.Concat([]string{environment(0, ``)}, long("p1", 1), []string{environment(15, `"/w/lib"`)}, long("p2", 16)),
		"of a side chain": append([]string{strings.Replace(environment(0, `"/w/other"`), "{", `{"isSidechain":true,`, 1), environment(1, `"/w/lib"`)}, long("p1", 2)...),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFinder(t)
			readLinesWith(t, f, slices.Concat(rows, long("q1", 4000), long("q2", 8000))...)
			tr := readClaude(t, f, transcript.Query{Session: claudeSession, Since: sec(8000)})
			if n := len(tr.Prompts); n != 1 {
				t.Fatalf("%d prompts, want that of the last turn", n)
			}
			if want := []string{"/w/app", "/w/lib"}; !slices.Equal(tr.Folders, want) {
				t.Errorf("folders %v, want %v", tr.Folders, want)
			}
		})
	}
}
