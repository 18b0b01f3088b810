package pipeline

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// testAgent is an agent that this package's tests alone support. Its payloads
// are single events of a turn.
func testAgent() agents.Agent {
	return agents.Agent{
		Agent:   hook.Agent{Host: "test-agent", Word: "test", Name: "Test Agent", Program: "test-hook"},
		Mapping: otelmap.Traits{Turns: true, MaxInput: 7, Provider: "test-provider"},
		Decode: func(raw hook.Raw) ([]hook.Event, error) {
			var e hook.Event
			err := json.Unmarshal(raw.Payload, &e)
			e.Host, e.Session, e.Time, e.StoredAt, e.Offset = "test-agent", "s1", raw.StoredAt, raw.StoredAt, raw.Offset
			return []hook.Event{e}, err
		},
		Transcript: transcript.Reader{
			Host: "test-agent",
			Read: func(context.Context, *transcript.Files, transcript.Query) (*hook.Transcript, error) {
				return nil, transcript.ErrNotFound
			},
		},
	}
}

// TestAnAgentIsOneEntryInTheTable delivers the events of an agent that only this
// test's table has.
func TestAnAgentIsOneEntryInTheTable(t *testing.T) {
	s := newSetup(t)
	s.Agents = append(s.Agents, testAgent())
	p, err := s.Open(t.Context(), config.ExporterStore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := time.Now().Add(-time.Hour)
	for i, e := range []hook.Event{
		{Kind: hook.KindPrompt, Turn: "t1", Prompt: "a prompt"},
		{Kind: hook.KindToolEnd, Turn: "t1", Tool: &hook.Tool{ID: "c1", Name: "read", Input: "a long input"}},
		{Kind: hook.KindRunComplete, Turn: "t1"},
	} {
		payload, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Deliverer.Spool.Append(&spool.Record{
			Host: "test-agent", Session: "s1", Event: "Event", At: at.Add(time.Duration(i) * time.Second), Payload: payload,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Deliverer.Run(t.Context(), deliver.Pass{Force: true}); err != nil {
		t.Fatal(err)
	}
	list, err := p.Store.List(t.Context(), store.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("got %d traces, %v, want one", len(list), err)
	}
	trace, err := p.Store.Trace(t.Context(), list[0].TraceID)
	if err != nil {
		t.Fatal(err)
	}
	if trace.Host != "test-agent" || trace.Outcome != "completed" || trace.Spans != 2 {
		t.Errorf("got %+v", trace.Summary)
	}
}

// TestAnEndIsUndecidedWhereAHookMayRefuseIt has an agent whose files tell of refusals alone.
func TestAnEndIsUndecidedWhereAHookMayRefuseIt(t *testing.T) {
	for _, refusers := range []bool{true, false} {
		a := testAgent()
		a.Transcript.Read = func(context.Context, *transcript.Files, transcript.Query) (*hook.Transcript, error) {
			return &hook.Transcript{Pending: true, Undecided: true}, nil
		}
		var asked []string
		a.Refusers = func(sys install.System, folder string) bool {
			asked = append(asked, sys.Home, folder)
			return refusers
		}
		tr, err := source(&transcript.Files{Home: "/home/dev"}, a, nil, nil).Transcript(t.Context(), "s1", deliver.Facts{Cwd: "/w"})
		if err != nil || tr.Undecided != refusers || tr.Pending != refusers {
			t.Errorf("%+v, %v; want undecided %v", tr, err, refusers)
		}
		if diff := cmp.Diff([]string{"/home/dev", "/w"}, asked); diff != "" {
			t.Errorf("asked for (-want +got):\n%s", diff)
		}
	}
}

// TestFilesOfFoldersThatAreOff has a session that went into such a folder, and one of which
// hooks recorded events before the folder was switched off.
func TestFilesOfFoldersThatAreOff(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
	asked := 0
	off := func(dir string) bool { asked++; return dir == "/w/private" }
	for _, tt := range []struct {
		moves hook.Moves
		want  []string
	}{
		{hook.Moves{{At: at(0), Cwd: "/w"}, {At: at(2), Cwd: "/w/private"}, {At: at(4), Cwd: "/w"}}, []string{"1", "5"}},
		{nil, []string{"1", "2", "3", "5"}},
	} {
		a := testAgent()
		a.Transcript.Read = func(context.Context, *transcript.Files, transcript.Query) (*hook.Transcript, error) {
			tr := &hook.Transcript{Cwd: "/w/private", Moves: tt.moves}
			for _, second := range []int{1, 2, 3, 5} {
				tr.Requests = append(tr.Requests, hook.Request{Start: at(second), RequestID: strconv.Itoa(second)})
			}
			return tr, nil
		}
		tr, err := source(&transcript.Files{}, a, off, nil).Transcript(t.Context(), "s1", deliver.Facts{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range tr.Requests {
			got = append(got, c.RequestID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.moves, diff)
		}
	}
	if asked > 3 {
		t.Errorf("asked %d times for 2 folders", asked)
	}
}
