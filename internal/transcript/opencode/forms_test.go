package opencode_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// tables2 are those of version 2, made from opencode's source.
const tables2 = `
CREATE TABLE session_v2 (id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT, directory TEXT, version TEXT, agent TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
`

// row2 is a message of version 2 that was written at a second.
func row2(session, id, kind string, seq, at int, members string) string {
	const start = 1_780_000_000_000
	return fmt.Sprintf(`INSERT INTO session_message VALUES (%q,%q,%q,%d,%d,%d,'{"time":{"created":%d,"completed":%d}%s}');`,
		id, session, kind, seq, start+at*1000, start+at*1000, start+at*1000, start+at*1000+500, members)
}

func session2(id, parent, from string, at int) string {
	null := func(s string) string {
		if s == "" {
			return "NULL"
		}
		return `'` + s + `'`
	}
	return fmt.Sprintf(`INSERT INTO session_v2 VALUES ('%s',%s,%s,'/w','2.0.10','explore',%d,%d);`, id, null(parent), null(from), 1_780_000_000_000+at*1000, 1_780_000_000_000+at*1000)
}

func answer2(finish, content string) string {
	return `,"agent":"build","model":{"id":"claude-sonnet-4-5","providerID":"anthropic"},"finish":"` + finish + `","cost":0.5,"tokens":{"input":10,"output":2,"reasoning":1,"cache":{"read":3,"write":0}},"content":[` + content + `]`
}

func told(tr *hook.Transcript) (out []string) {
	for _, p := range tr.Prompts {
		out = append(out, fmt.Sprintf("prompt %s %q %v", p.Turn, p.Text, p.Queued))
	}
	for _, c := range tr.Requests {
		out = append(out, fmt.Sprintf("request %s of %s@%s %s %d/%d $%v %q %s", c.ID, c.Turn, c.Agent, c.Model, c.Usage.Input, c.Usage.Output, *c.Usage.CostUSD, c.Text, c.Error))
	}
	for _, r := range tr.ToolResults {
		out = append(out, fmt.Sprintf("call %s@%s %s %s %q %d", r.ID, r.Agent, r.Name, r.Input, r.Text, r.Status))
	}
	for _, a := range tr.Agents {
		out = append(out, fmt.Sprintf("agent %s %s of %s %q %q", a.ID, a.Type, a.CallID, a.Task, a.Result))
	}
	for _, e := range tr.Ends {
		out = append(out, fmt.Sprintf("end %s %s %q", e.Turn, e.Kind, e.Result))
	}
	return append(out, fmt.Sprint(len(tr.Compactions), " compactions"))
}

func open2(t *testing.T, statements string) *transcript.Files {
	t.Helper()
	f := transcripttest.Finder(t)
	path := filepath.Join(f.Home, ".local", "share", "opencode", "opencode.db")
	transcripttest.Write(t, path, "")
	opencodetest.Exec(t, path, statements)
	return f
}

// TestVersion2 reads a session of each kind of message.
func TestVersion2(t *testing.T) {
	f := open2(t, tables2+session2("ses_1", "", "", 0)+session2("ses_2", "ses_1", "", 3)+
		row2("ses_1", "u1", "user", 1, 1, `,"text":"go"`)+
		row2("ses_1", "a1", "assistant", 2, 2, answer2("tool-calls", `{"type":"text","text":"I ask."},{"type":"tool","id":"c1","name":"subagent","state":{"status":"completed","input":{"prompt":"look"},"content":[{"type":"text","text":"found"}],"metadata":{"sessionID":"ses_2"}},"time":{"created":1780000002000,"ran":1780000002100,"completed":1780000006000}},{"type":"tool","id":"c2","name":"bash","state":{"status":"error","input":{"command":"x"},"error":{"type":"unknown","message":"no such file"}},"time":{"created":1780000002000,"ran":1780000002100,"completed":1780000002200}}`))+
		row2("ses_1", "u2", "user", 3, 5, `,"text":"not that"`)+
		row2("ses_1", "y1", "synthetic", 4, 6, `,"text":"<subagent/>"`)+
		row2("ses_1", "k1", "compaction", 5, 7, `,"status":"completed","reason":"auto","summary":"s","recent":"r","cost":0.5,"tokens":{"input":7,"output":1}`)+
		row2("ses_1", "a2", "assistant", 6, 8, answer2("stop", `{"type":"text","text":"Done."}`))+
		row2("ses_1", "i1", "idle", 7, 9, `,"outcome":"succeeded"`)+
		row2("ses_1", "u3", "user", 8, 10, `,"text":"more"`)+
		row2("ses_1", "a3", "assistant", 9, 11, answer2("tool-calls", ``))+
		row2("ses_1", "i2", "idle", 10, 12, `,"outcome":"interrupted"`)+
		row2("ses_2", "v1", "user", 1, 3, `,"text":"look"`)+row2("ses_2", "b1", "assistant", 2, 4, answer2("stop", `{"type":"text","text":"found"}`)))
	want := []string{
		`prompt u1 "go" false`, `prompt u1 "not that" true`, `prompt u3 "more" false`,
		`request a1 of u1@ claude-sonnet-4-5 10/3 $0.5 "I ask." `, `request b1 of u1@ses_2 claude-sonnet-4-5 10/3 $0.5 "found" `, `request k1_summary of u1@  7/1 $0.5 "" `,
		`request a2 of u1@ claude-sonnet-4-5 10/3 $0.5 "Done." `, `request a3 of u3@ claude-sonnet-4-5 10/3 $0.5 "" `,
		`call c1@ subagent {"prompt":"look"} "found" 0`, `call c2@ bash {"command":"x"} "no such file" 1`,
		`agent ses_2 explore of c1 "look" "found"`, `end u1 run_complete "Done."`, `end u3 run_cancel ""`, "1 compactions",
	}
	if diff := cmp.Diff(want, told(read(t, f, transcript.Query{Session: "ses_1", Full: true}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all, err := f.Sessions(t.Context(), reader); err != nil || len(all) != 1 || all[0].ID != "ses_1" {
		t.Errorf("sessions %+v, %v", all, err)
	}
}

// TestVersion2TakesOver an older session: what both versions have counts once. A fork counts
// what it has added.
func TestVersion2TakesOver(t *testing.T) {
	turn := func(session, n string, seq, at int) string {
		return row2(session, "u"+n, "user", seq, at, `,"text":"task `+n+`"`) + row2(session, "a"+n, "assistant", seq+1, at+1, answer2("stop", ``))
	}
	f := open2(t, tables2+`
CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
INSERT INTO session VALUES ('ses_1', NULL, '/w', '1.18.31', 1780000000000, 1780000000000), ('ses_0', NULL, '/w', '1.18.31', 1780000000000, 1780000000000);
INSERT INTO message VALUES ('u1', 'ses_1', 1780000001000, 1780000001000, '{"role":"user","time":{"created":1780000001000}}'),
	('a1', 'ses_1', 1780000002000, 1780000002000, '{"role":"assistant","parentID":"u1","modelID":"claude-sonnet-4-5","cost":0.5,"finish":"stop","tokens":{"input":10,"output":3},"time":{"created":1780000002000,"completed":1780000002500}}');
INSERT INTO part VALUES ('p1', 'u1', 'ses_1', 1780000001000, 1780000001000, '{"type":"text","text":"task 1"}');
`+session2("ses_1", "", "", 0)+session2("ses_f", "", "ses_1", 50)+turn("ses_1", "1", 1, 1)+turn("ses_1", "2", 3, 10)+
		row2("ses_f", "x_1", "user", 1, 1, `,"text":"task 1"`)+row2("ses_f", "x_2", "assistant", 2, 2, answer2("stop", ``))+turn("ses_f", "3", 3, 60))
	for session, want := range map[string][]string{
		"ses_1": {`prompt u1 "task 1" false`, `prompt u2 "task 2" false`, `request a1 of u1@ claude-sonnet-4-5 10/3 $0.5 "" `, `request a2 of u2@ claude-sonnet-4-5 10/3 $0.5 "" `, `end u1 run_complete ""`, `end u2 run_complete ""`, "0 compactions"},
		"ses_f": {`prompt u3 "task 3" false`, `request a3 of u3@ claude-sonnet-4-5 10/3 $0.5 "" `, `end u3 run_complete ""`, "0 compactions"},
		"ses_0": {"0 compactions"},
	} {
		if diff := cmp.Diff(want, told(read(t, f, transcript.Query{Session: session, Full: true}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", session, diff)
		}
	}
	if all, err := f.Sessions(t.Context(), reader); err != nil || len(all) != 3 {
		t.Errorf("sessions %+v, %v; want each once", all, err)
	}
}
