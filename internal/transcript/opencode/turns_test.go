package opencode_test

import (
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// compacted is a home folder with a session that was compacted in its first turn.
func compacted(t *testing.T) (f *transcript.Files, session, path string) {
	t.Helper()
	home := t.TempDir()
	path = opencodetest.Write(t, home, filepath.Join("..", "..", "..", "tests", "golden", "testdata", "recordings", "opencode-compaction", "home", "opencode.sql"))
	f = &transcript.Files{Home: home, GOOS: "linux"}
	list, err := f.Sessions(t.Context(), reader)
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %+v, %v; want one", list, err)
	}
	return f, list[0].ID, path
}

// A turn that is read from its middle has the id of the prompt that is not read.
func TestTurnThatIsReadFromItsMiddle(t *testing.T) {
	f, session, _ := compacted(t)
	whole := read(t, f, transcript.Query{Session: session, Full: true})
	if len(whole.Prompts) != 2 || len(whole.Ends) != 2 || len(whole.Requests) != 5 {
		t.Fatalf("%d prompts, %d ends, %d requests; want 2, 2, 5", len(whole.Prompts), len(whole.Ends), len(whole.Requests))
	}
	turn := whole.Prompts[0].Turn
	turns := func(calls []hook.Request) (out []bool) {
		for _, c := range calls {
			out = append(out, c.Turn == turn)
		}
		return out
	}
	for i, want := range []bool{true, true, true, true, false} {
		if got := turns(whole.Requests)[i]; got != want {
			t.Errorf("request %d is of the first turn: %v, want %v", i, got, want)
		}
	}
	// From behind the compaction: the prompt, and the compaction, are older.
	for n := 2; n < 4; n++ {
		part := read(t, f, transcript.Query{Session: session, Full: true, Since: whole.Requests[n].Start.Add(-1)})
		found := false
		for _, c := range part.Requests {
			if c.ID == whole.Requests[n].ID {
				found = true
				if c.Turn != turn {
					t.Errorf("request %d, read from there, is of turn %s, want %s", n, c.Turn, turn)
				}
			}
		}
		if !found {
			t.Errorf("request %d was not read", n)
		}
	}
}

// Messages in the user's name begin a turn only if something in them is the person's.
func TestMessagesThatContinueATurn(t *testing.T) {
	const text, compaction = `{"type":"text","text":"x"}`, `{"type":"compaction","auto":true}`
	for name, c := range map[string]struct {
		parts []string
		own   bool
		title string
	}{
		"a prompt":                            {[]string{text}, true, "x"},
		"a picture alone":                     {[]string{`{"type":"file","mime":"image/png"}`}, true, "[image/png]"},
		"a file alone":                        {[]string{`{"type":"file","mime":"text/plain","filename":"a.md"}`}, true, "[a.md]"},
		"a task for a subagent":               {[]string{`{"type":"subtask","prompt":"p"}`}, true, "p"},
		"a command that starts a subagent":    {[]string{`{"type":"subtask","prompt":"p","command":"review"}`}, true, "/review"},
		"a prompt with what opencode adds":    {[]string{`{"type":"text","text":"read","synthetic":true}`, text}, true, "x"},
		"a compaction":                        {[]string{compaction}, false, ""},
		"a compaction that the user asks for": {[]string{`{"type":"compaction","auto":false}`}, true, "/compact"},
		"what continues after it":             {[]string{`{"type":"text","text":"Continue","synthetic":true}`}, false, ""},
		"the user's own command":              {[]string{`{"type":"text","text":"The following tool was executed by the user","synthetic":true}`}, false, ""},
		"an ignored text":                     {[]string{`{"type":"text","text":"x","ignored":true}`}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, session, path := compacted(t)
			first := read(t, f, transcript.Query{Session: session}).Prompts[1].Turn // the newest turn
			statements := `INSERT INTO message(id,session_id,time_created,time_updated,data) VALUES
				('msg_z1','` + session + `',1895629000000,1895629000000,'{"role":"user","time":{"created":1895629000000}}'),
				('msg_z2','` + session + `',1895629000001,1895629000001,'{"role":"assistant","parentID":"msg_z1","finish":"stop","tokens":{"input":5,"output":1},"time":{"created":1895629000001,"completed":1895629000002}}');`
			for i, p := range c.parts {
				statements += `INSERT INTO part(id,message_id,session_id,time_created,time_updated,data) VALUES('prt_z` + string(rune('0'+i)) + `','msg_z1','` + session + `',1895629000000,1895629000000,'` + p + `');`
			}
			opencodetest.Exec(t, path, statements)
			tr := read(t, f, transcript.Query{Session: session})
			last := tr.Requests[len(tr.Requests)-1]
			if want := map[bool]string{true: "msg_z1", false: first}[c.own]; last.Turn != want {
				t.Errorf("the answer is of turn %s, want %s", last.Turn, want)
			}
			title := ""
			if p := tr.Prompts[len(tr.Prompts)-1]; p.Turn == "msg_z1" {
				title = p.Text
			}
			if title != c.title {
				t.Errorf("the prompt is %q, want %q", title, c.title)
			}
		})
	}
}

// A session may begin with a message in the user's name.
func TestTheFirstTurnHasWords(t *testing.T) {
	f, session, path := compacted(t)
	opencodetest.Exec(t, path, `UPDATE part SET data = json_set(data, '$.synthetic', json('true')) WHERE session_id = '`+session+`' AND data ->> 'type' = 'text'
		AND message_id = (SELECT min(id) FROM message WHERE session_id = '`+session+`')`)
	if p := read(t, f, transcript.Query{Session: session}).Prompts[0]; !p.Injected || p.Text == "" {
		t.Errorf("prompt %+v, want the words of opencode, marked as such", p)
	}
}
