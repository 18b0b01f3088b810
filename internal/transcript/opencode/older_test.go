package opencode_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Versions without a database have a file for each session, message and part.
func TestSessionsInFiles(t *testing.T) {
	f, stored, db := recorded(t, "tools-resume")
	dir := filepath.Join(filepath.Dir(db), "storage")
	for name, text := range map[string]string{
		"session/p1/ses_1.json":          `{"id":"ses_1","version":"0.15.0","directory":"/home/dev/shop","time":{"created":1000,"updated":9000}}`,
		"session/p1/ses_2.json":          `{"id":"ses_2","parentID":"ses_1","time":{"created":3000,"updated":5000}}`,
		"session/p1/" + stored + ".json": `{"id":"` + stored + `","time":{"created":1000,"updated":9000}}`,
		"message/ses_1/msg_a.json":       `{"id":"msg_a","role":"user","time":{"created":1000}}`,
		"part/msg_a/prt_1.json":          `{"type":"text","text":"count"}`,
		"message/ses_1/msg_b.json":       `{"id":"msg_b","role":"assistant","parentID":"msg_a","modelID":"m","providerID":"p","cost":0.5,"tokens":{"input":7,"output":2},"finish":"stop","time":{"created":2000,"completed":6000}}`,
		"part/msg_b/prt_1.json":          `{"type":"tool","tool":"task","callID":"c1","state":{"status":"completed","input":{"prompt":"look"},"output":"ok","metadata":{"sessionId":"ses_2"},"time":{"start":2500,"end":5500}}}`,
		"part/msg_b/prt_2.json":          `{"type":"tool","tool":"bash","callID":"c2","state":{"status":"pending","input":{}}}`,
		"message/ses_2/msg_c.json":       `{"id":"msg_c","role":"assistant","parentID":"x","tokens":{"input":3,"output":1},"finish":"stop","time":{"created":3000,"completed":4000}}`,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := f.Sessions(t.Context(), reader)
	if err != nil || len(list) != 2 || list[0].ID != "ses_1" || list[0].Cwd != "/home/dev/shop" || list[1].Path != db {
		t.Fatalf("sessions %+v, %v; want the one of the files and the one of the database", list, err)
	}
	tr := read(t, f, transcript.Query{Session: "ses_1", Path: list[0].Path, Full: true})
	type call struct {
		Turn, Agent string
		Input       int64
	}
	var calls []call
	for _, c := range tr.Requests {
		calls = append(calls, call{c.Turn, c.Agent, c.Usage.Input})
	}
	if diff := cmp.Diff([]call{{"msg_a", "", 7}, {"msg_a", "ses_2", 3}}, calls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(tr.Prompts) != 1 || tr.Prompts[0].Text != "count" || len(tr.Agents) != 1 || tr.Agents[0].Task != "look" {
		t.Errorf("prompts %+v, agents %+v", tr.Prompts, tr.Agents)
	}
	if len(tr.ToolResults) != 2 || tr.ToolResults[1].Status != hook.ToolUnknown || tr.ToolResults[1].Asked.IsZero() {
		t.Errorf("calls %+v, want one that has not ended, with a time", tr.ToolResults)
	}

	whole := read(t, f, transcript.Query{Session: "ses_1", Whole: func(id, _ string) bool { return id == "c1" }})
	if len(whole.ToolResults) != 1 || whole.ToolResults[0].Row != 2 || whole.ToolResults[0].File != list[0].Path {
		t.Errorf("whole texts %+v, want that of the second message", whole.ToolResults)
	}

	// A message that is cut off may be being written.
	if err := os.WriteFile(filepath.Join(dir, "message/ses_1/msg_d.json"), []byte(`{"id":"msg_d",`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Sleep = func(context.Context, time.Duration) error { return nil }
	for age, torn := range map[time.Duration]bool{0: true, time.Hour: false} {
		f.Now = func() time.Time { return time.Now().Add(age) }
		tr, err := f.Read(t.Context(), reader, transcript.Query{Session: "ses_1"})
		if tr == nil || len(tr.Requests) != 2 || transcript.Torn(err) != torn || (len(tr.Unread) == 1) == torn {
			t.Errorf("%v after a message was cut off: %+v, %v", age, tr, err)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "session/p1/ses_1.json"), []byte(`[]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(t.Context(), reader, transcript.Query{Session: "ses_1"}); !errors.Is(err, transcript.ErrForm) {
		t.Errorf("a file of another form: error %v, want %v", err, transcript.ErrForm)
	}
}

// A fork has the files of the other session's messages, too, under new ids.
func TestForksInFiles(t *testing.T) {
	f, _, db := recorded(t, "tools-resume")
	for name, text := range map[string]string{
		"session/p1/ses_1.json":    `{"id":"ses_1","time":{"created":1000,"updated":9000}}`,
		"message/ses_1/msg_a.json": `{"id":"msg_a","role":"user","time":{"created":1000}}`,
		"message/ses_1/msg_b.json": `{"id":"msg_b","role":"assistant","parentID":"msg_a","tokens":{"input":7,"output":2},"finish":"stop","time":{"created":2000,"completed":6000}}`,
		"session/p1/ses_f.json":    `{"id":"ses_f","time":{"created":7000,"updated":9000}}`,
		"message/ses_f/msg_c.json": `{"id":"msg_c","role":"user","time":{"created":1000}}`,
		"message/ses_f/msg_d.json": `{"id":"msg_d","role":"assistant","parentID":"msg_c","tokens":{"input":7,"output":2},"finish":"stop","time":{"created":2000,"completed":6000}}`,
		"message/ses_f/msg_e.json": `{"id":"msg_e","role":"assistant","parentID":"msg_c","tokens":{"input":5,"output":2},"finish":"stop","time":{"created":8000,"completed":8500}}`,
	} {
		path := filepath.Join(filepath.Dir(db), "storage", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for session, want := range map[string]string{"ses_1": "msg_b", "ses_f": "msg_e"} {
		tr := read(t, f, transcript.Query{Session: session, Full: true})
		if len(tr.Requests) != 1 || tr.Requests[0].ID != want {
			t.Errorf("%s: requests %+v, want %s alone", session, tr.Requests, want)
		}
	}
}
