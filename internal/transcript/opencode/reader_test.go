package opencode_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/opencode"
)

var reader = opencode.Agent(hook.AgentOf(hook.HostOpencode))

// recorded is a home folder with the database of a recording, and the session in it.
func recorded(t *testing.T, name string) (f *transcript.Files, session, path string) {
	t.Helper()
	home := t.TempDir()
	path = opencodetest.Write(t, home, filepath.Join("..", "testdata", "opencode", name, "opencode.sql"))
	f = &transcript.Files{Home: home, GOOS: "linux"}
	list, err := f.Sessions(t.Context(), reader)
	if err != nil || len(list) != 1 || list[0].Cwd != "/home/dev/project" || list[0].Path != path || list[0].ModTime.IsZero() {
		t.Fatalf("sessions %+v, %v; want one", list, err)
	}
	return f, list[0].ID, path
}

func read(t *testing.T, f *transcript.Files, q transcript.Query) *hook.Transcript {
	t.Helper()
	tr, err := f.Read(t.Context(), reader, q)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestRead compares the sums of a recording with the model's log.
func TestRead(t *testing.T) {
	type sums struct {
		Calls, Agents, Prompts, Ends, Results int
		Input, Output                         int64
		Cost                                  float64
		Statuses                              [4]int
	}
	for name, want := range map[string]sums{
		"tools-resume": {11, 0, 2, 2, 10, 11570, 607, 0.0258411, [4]int{5, 5}},
		"subagent":     {4, 1, 1, 1, 2, 4140, 214, 0.0091122, [4]int{2}},
		"permission":   {12, 0, 2, 1, 13, 12540, 654, 0.0278442, [4]int{6, 5, 2}},
		"interrupt":    {1, 0, 1, 0, 1, 0, 0, 0, [4]int{}},
		"api-error":    {1, 0, 1, 1, 0, 0, 0, 0, [4]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			f, session, path := recorded(t, name)
			tr := read(t, f, transcript.Query{Session: session, Full: true})
			got := sums{Calls: len(tr.Requests), Agents: len(tr.Agents), Prompts: len(tr.Prompts), Ends: len(tr.Ends), Results: len(tr.ToolResults)}
			for _, c := range tr.Requests {
				if c.Usage != nil {
					got.Input += c.Usage.TotalInput()
					got.Output += c.Usage.Output
					got.Cost += *c.Usage.CostUSD
				}
			}
			for _, r := range tr.ToolResults {
				if int(r.Status) < len(got.Statuses) {
					got.Statuses[r.Status]++
				}
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y float64) bool { return x-y < 1e-9 && y-x < 1e-9 })); diff != "" {
				t.Errorf("sums (-want +got):\n%s", diff)
			}
			if tr.HostVersion != "1.18.33" || tr.Model != "mock-model" || tr.Pending || !cmp.Equal(tr.Sources, []string{path}) {
				t.Errorf("version %q, model %q, pending %v, sources %q", tr.HostVersion, tr.Model, tr.Pending, tr.Sources)
			}
			if again := read(t, f, transcript.Query{Session: session, Full: true}); !cmp.Equal(tr, again) {
				t.Errorf("a second reading (-first +second):\n%s", cmp.Diff(tr, again))
			}
		})
	}
}

// TestReadSince reads only what has changed.
func TestReadSince(t *testing.T) {
	f, session, _ := recorded(t, "tools-resume")
	all := read(t, f, transcript.Query{Session: session, Full: true})
	second := all.Prompts[1].At
	late := read(t, f, transcript.Query{Session: session, Full: true, Since: second})
	if len(late.Requests) != 2 || len(late.ToolResults) != 1 || len(late.Prompts) != 1 || late.Prompts[0].Turn != all.Prompts[1].Turn {
		t.Errorf("since %v: %d calls, %d results, prompts %+v", second, len(late.Requests), len(late.ToolResults), late.Prompts)
	}
	if !cmp.Equal(late.Requests, all.Requests[9:]) {
		t.Errorf("calls (-all +late):\n%s", cmp.Diff(all.Requests[9:], late.Requests))
	}
}

// TestReadWhole finds one call with its place.
func TestReadWhole(t *testing.T) {
	f, session, path := recorded(t, "tools-resume")
	tr := read(t, f, transcript.Query{Session: session, Whole: func(_, name string) bool { return name == "write" }})
	if len(tr.ToolResults) != 1 || tr.ToolResults[0].File != path || tr.ToolResults[0].Row != 4 {
		t.Errorf("results %+v", tr.ToolResults)
	}
}

// TestReadingWritesNothing reads a database that no process uses, one with a log that
// another process has written, and one with a log that has nothing.
func TestReadingWritesNothing(t *testing.T) {
	for name, want := range map[string]int{"no log": 4, "a log": 5, "an empty log": 4} {
		f, session, path := recorded(t, "subagent")
		switch name {
		case "a log": // which alone has the newest request
			opencodetest.Open(t, path, `INSERT INTO message VALUES ('msg_z', '`+session+`', 1795426715000, 1795426715000, '{"role":"assistant","time":{"created":1795426715000}}')`)
		case "an empty log":
			replace(t, path+"-wal", "")
		}
		before := files(t, filepath.Dir(path))
		if (name == "no log") != (len(before) == 1) {
			t.Fatalf("%s: files %v", name, before)
		}
		if tr := read(t, f, transcript.Query{Session: session}); len(tr.Requests) != want {
			t.Errorf("%s: %d calls, want %d", name, len(tr.Requests), want)
		}
		after := files(t, filepath.Dir(path))
		if name == "a log" { // this file holds the locks
			delete(before, "opencode.db-shm")
			delete(after, "opencode.db-shm")
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s: files (-before +after):\n%s", name, diff)
		}
	}
}

// An import reads a session again only if its database was written to. Reading is no writing.
func TestStampOfADatabase(t *testing.T) {
	f, session, path := recorded(t, "subagent")
	stamp := func() string {
		t.Helper()
		all, err := f.Sessions(t.Context(), reader)
		if err != nil || len(all) != 1 {
			t.Fatalf("sessions %v, %v", all, err)
		}
		s, _, ok := reader.Stamp(all[0])
		if !ok {
			t.Fatal("no stamp")
		}
		return s
	}
	first := stamp()
	read(t, f, transcript.Query{Session: session})
	if again := stamp(); again != first {
		t.Error("the stamp changed by reading")
	}
	const message = `INSERT INTO message VALUES ('msg_z%s', '%s', 1795426715000, 1795426715000, '{"role":"assistant","time":{"created":1795426715000}}')`
	opencodetest.Exec(t, path, fmt.Sprintf(message, "1", session))
	second := stamp()
	opencodetest.Open(t, path, fmt.Sprintf(message, "2", session)) // into the log
	if third := stamp(); first == second || second == third {
		t.Errorf("stamps %s, %s, %s: want three", first, second, third)
	}
	if _, _, ok := reader.Stamp(transcript.Session{ID: "ses_1", Path: filepath.Join(t.TempDir(), "ses_1.json")}); ok {
		t.Error("a session in many files has a stamp")
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// TestOddDatabases gives files that are not, or not quite, opencode's.
func TestOddDatabases(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"no database": func(t *testing.T, path string) { replace(t, path, strings.Repeat("no database ", 1000)) },
		"empty":       func(t *testing.T, path string) { replace(t, path, "") },
		"no tables":   func(t *testing.T, path string) { opencodetest.Exec(t, path, "DROP TABLE session") },
		"other column": func(t *testing.T, path string) {
			opencodetest.Exec(t, path, "ALTER TABLE session RENAME COLUMN version TO v")
		},
		"a folder": func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, session, path := recorded(t, "subagent")
			change(t, path)
			tr, err := f.Read(t.Context(), reader, transcript.Query{Session: session})
			if err == nil || tr != nil {
				t.Errorf("read %+v, %v; want an error", tr, err)
			}
			if _, err := f.Sessions(t.Context(), reader); err != nil {
				t.Errorf("list: %v", err)
			}
		})
	}
	t.Run("a row that is too long", func(t *testing.T) {
		f, session, path := recorded(t, "subagent")
		opencodetest.Exec(t, path, `UPDATE message SET data = '{"role":"assistant","x":"' || hex(zeroblob(5000000)) || '"}' WHERE id = (SELECT max(id) FROM message)`)
		tr := read(t, f, transcript.Query{Session: session})
		if len(tr.Requests) != 4 || len(tr.Unread) != 1 || !strings.Contains(tr.Unread[0].Reason, "9 MiB") {
			t.Errorf("%d calls, not read %+v; want the row without what makes it long", len(tr.Requests), tr.Unread)
		}
	})
	t.Run("a part that is too long", func(t *testing.T) {
		f, session, path := recorded(t, "tools-resume")
		before := read(t, f, transcript.Query{Session: session, Full: true}).ToolResults[0]
		opencodetest.Exec(t, path, `UPDATE part SET data = json_set(data, '$.state.output', hex(zeroblob(5000000))) WHERE data ->> 'callID' = '`+before.ID+`'`)
		tr := read(t, f, transcript.Query{Session: session, Full: true})
		after := tr.ToolResults[0]
		if after.ID != before.ID || after.Name != before.Name || after.Input != before.Input || !after.At.Equal(before.At) || len(after.Text) != 1<<16 || len(tr.Unread) != 1 {
			t.Errorf("call %.200v, not read %+v; want the call with the beginning of its output", after, tr.Unread)
		}
	})
	t.Run("no column for agents", func(t *testing.T) {
		f, session, path := recorded(t, "subagent")
		opencodetest.Exec(t, path, `ALTER TABLE session DROP COLUMN agent`)
		if tr := read(t, f, transcript.Query{Session: session}); len(tr.Requests) != 4 || len(tr.Agents) != 1 {
			t.Errorf("%d calls, %d agents; want those of a version before May 2026", len(tr.Requests), len(tr.Agents))
		}
	})
	t.Run("a session that is its own parent", func(t *testing.T) {
		f, session, path := recorded(t, "subagent")
		opencodetest.Exec(t, path, `UPDATE session SET parent_id = id WHERE parent_id IS NOT NULL`)
		if tr := read(t, f, transcript.Query{Session: session}); len(tr.Requests) != 2 {
			t.Errorf("%d calls, want those of the session itself", len(tr.Requests))
		}
	})
	t.Run("another session", func(t *testing.T) {
		f, _, _ := recorded(t, "subagent")
		if _, err := f.Read(t.Context(), reader, transcript.Query{Session: "ses_other"}); !errors.Is(err, transcript.ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
	})
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPending waits for a request's tokens, but not for ever.
func TestPending(t *testing.T) {
	f, session, _ := recorded(t, "interrupt")
	last := read(t, f, transcript.Query{Session: session}).Requests[0].Start
	for after, want := range map[time.Duration]bool{time.Minute: true, time.Hour: false} {
		f.Now = func() time.Time { return last.Add(after) }
		if tr := read(t, f, transcript.Query{Session: session}); tr.Pending != want {
			t.Errorf("pending %v after %v, want %v", tr.Pending, after, want)
		}
	}
}

// TestSubagentsOfCallsWithOneID has a subagent whose session was made two seconds before its call
// ran, a call with the id of that which had ended before, and one of the subagent's.
func TestSubagentsOfCallsWithOneID(t *testing.T) {
	f, session, path := recorded(t, "subagent")
	opencodetest.Exec(t, path, `UPDATE session SET time_created = time_created - 2000 WHERE parent_id IS NOT NULL;
		UPDATE part SET data = json_set(data, '$.callID', 'call_0') WHERE data ->> 'type' = 'tool';
		INSERT INTO part SELECT 'prt_207c57fa4001', message_id, session_id, time_created, time_updated,
			'{"type":"tool","tool":"bash","callID":"call_0","state":{"status":"completed","input":{},"output":"","time":{"start":1795426711000,"end":1795426711100}}}'
			FROM part WHERE data ->> 'tool' = 'task'`)
	started := make(map[string]string)
	for e := range reader.Events("", read(t, f, transcript.Query{Session: session, Full: true})) {
		if e.Kind == hook.KindToolEnd {
			started[e.Tool.Name] = e.Tool.Agent
		}
	}
	want := map[string]string{"bash": "", "task": "ses_df83a804effenWWySxN7f1VZki", "read": ""}
	if diff := cmp.Diff(want, started); diff != "" {
		t.Errorf("the agents that calls started (-want +got):\n%s", diff)
	}
}

// TestCostOfSteps has a request whose message has the cost of a subagent, as Kilo adds it.
func TestCostOfSteps(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   string
	}{
		"no steps":       {`DELETE FROM part WHERE data ->> 'type' = 'step-finish'`, "9"},
		"a step":         {`UPDATE part SET data = json_set(data, '$.cost', 0.5) WHERE data ->> 'type' = 'step-finish'`, "0.5"},
		"a step of none": {`UPDATE part SET data = json_set(data, '$.cost', 0) WHERE data ->> 'type' = 'step-finish'`, "none"},
	} {
		f, session, path := recorded(t, "subagent")
		opencodetest.Exec(t, path, c.change+`; UPDATE message SET data = json_set(data, '$.cost', 9) WHERE data ->> 'role' = 'assistant'`)
		got := "none"
		if cost := read(t, f, transcript.Query{Session: session}).Requests[0].Usage.CostUSD; cost != nil {
			got = fmt.Sprint(*cost)
		}
		if got != c.want {
			t.Errorf("%s: cost %s, want %s", name, got, c.want)
		}
	}
}

// TestCostOfStepsSince has a message that Kilo adds the cost of a subagent to after its step.
func TestCostOfStepsSince(t *testing.T) {
	f, session, path := recorded(t, "subagent")
	opencodetest.Exec(t, path, `UPDATE message SET data = json_set(data, '$.cost', 9), time_updated = time_updated + 3600000 WHERE data ->> 'role' = 'assistant';
		UPDATE part SET data = json_set(data, '$.cost', 0.5) WHERE data ->> 'type' = 'step-finish'`)
	all := read(t, f, transcript.Query{Session: session})
	since := all.Requests[0].Start.Add(time.Hour - time.Minute)
	late := read(t, f, transcript.Query{Session: session, Since: since})
	if len(late.Requests) == 0 {
		t.Fatal("no requests")
	}
	for _, r := range late.Requests {
		if *r.Usage.CostUSD != 0.5 {
			t.Errorf("request %s: cost %v, want that of its step", r.ID, *r.Usage.CostUSD)
		}
	}
}

// TestLinkedDatabase reads a database behind a symbolic link, beside which SQLite keeps no log.
func TestLinkedDatabase(t *testing.T) {
	f, session, path := recorded(t, "subagent")
	target := filepath.Join(t.TempDir(), "moved.db")
	if err := os.Rename(path, target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		skip.Missing(t, "this system makes no symbolic links: %v", err)
	}
	stamp, _, _ := reader.Stamp(transcript.Session{ID: session, Path: path})
	opencodetest.Open(t, path, `INSERT INTO message VALUES ('msg_z', '`+session+`', 1795426715000, 1795426715000, '{"role":"assistant","time":{"created":1795426715000}}')`)
	if tr := read(t, f, transcript.Query{Session: session}); len(tr.Requests) != 5 {
		t.Errorf("%d calls, want 5", len(tr.Requests))
	}
	if again, _, ok := reader.Stamp(transcript.Session{ID: session, Path: path}); !ok || again == stamp {
		t.Error("the stamp did not change")
	}
}

// TestNamedDatabase reads the one that the environment names: a relative path is one below the
// folder of the agent's data.
func TestNamedDatabase(t *testing.T) {
	for _, named := range []string{"mine.db", "../other/mine.db", "below/mine.db"} {
		f, session, path := recorded(t, "subagent")
		moved := filepath.Join(filepath.Dir(path), named)
		if err := errors.Join(os.MkdirAll(filepath.Dir(moved), 0o700), os.Rename(path, moved)); err != nil {
			t.Fatal(err)
		}
		vars := map[string]string{"OPENCODE_DB": named, "XDG_DATA_HOME": t.TempDir()} // which the agent has not used
		f.Getenv = func(key string) string { return vars[key] }
		list, err := f.Sessions(t.Context(), reader)
		if err != nil || len(list) != 1 || list[0].Path != moved {
			t.Errorf("%s: sessions %+v, %v; want one", named, list, err)
		}
		if tr := read(t, f, transcript.Query{Session: session}); len(tr.Requests) != 4 {
			t.Errorf("%s: %d calls, want 4", named, len(tr.Requests))
		}
	}
}

// TestSubagentBeginsBeforeItsRequests has a call whose start was written again while it ran, as
// opencode does when a call reports its progress.
func TestSubagentBeginsBeforeItsRequests(t *testing.T) {
	f, session, path := recorded(t, "subagent")
	opencodetest.Exec(t, path, `UPDATE part SET data = json_set(data, '$.state.time.start', data -> '$.state.time.end') WHERE data ->> 'tool' = 'task'`)
	tr := read(t, f, transcript.Query{Session: session})
	for _, r := range tr.Requests {
		if r.Agent != "" && r.Start.Before(tr.Agents[0].Start) {
			t.Errorf("a request at %v, the subagent begins at %v", r.Start, tr.Agents[0].Start)
		}
	}
}

// TestRequestEndsBeforeItsCalls reads Kilo's steps, whose times include the calls of the step.
func TestRequestEndsBeforeItsCalls(t *testing.T) {
	home := t.TempDir()
	opencodetest.Write(t, home, filepath.Join("..", "testdata", "kilo", "subagent", "kilo.sql"))
	f, kilo := &transcript.Files{Home: home, GOOS: "linux"}, opencode.Agent(hook.AgentOf(hook.HostKilo))
	list, err := f.Sessions(t.Context(), kilo)
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	tr, err := f.Read(t.Context(), kilo, transcript.Query{Session: list[0].ID, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(map[string]time.Time)
	for _, r := range tr.ToolResults {
		ended[r.ID] = r.At
	}
	for _, r := range tr.Requests {
		if n := len(r.ToolCallIDs); n > 0 && r.End.After(ended[r.ToolCallIDs[n-1]]) {
			t.Errorf("request %s ends at %v, its last call at %v", r.ID, r.End, ended[r.ToolCallIDs[n-1]])
		}
	}
}
