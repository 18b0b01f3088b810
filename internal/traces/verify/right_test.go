package verify

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// TestRightTracesHaveNoDifference has files of Codex whose rows look as if something were missing.
func TestRightTracesHaveNoDifference(t *testing.T) {
	const (
		main, other = "01a20017-0000-7000-8000-000000000000", "01a20018-0000-7000-8000-000000000000"
		day1, day2  = "2026-11-10T10:00:00.000Z", "2026-11-10T10:05:00.000Z"
		day3        = "2026-11-10T10:10:00.000Z"
	)
	event := func(at, payload string) string {
		return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":%s}`+"\n", at, payload)
	}
	review := event(day2, `{"type":"entered_review_mode","target":{"type":"uncommittedChanges"},"user_facing_hint":"current changes"}`) +
		event(day2, `{"type":"exited_review_mode","review_output":{"findings":[]}}`)
	rolled := event(day2, `{"type":"thread_rolled_back","num_turns":1}`)
	older := func(prompt string, total int, at string) string { // without events of turns
		rows := strings.SplitAfter(strings.ReplaceAll(codexTurn("t", total, at), "go on", prompt), "\n")
		return strings.Replace(rows[1], `"turn_id":"t",`, "", 1) + strings.Join(rows[2:5], "")
	}
	for name, c := range map[string]struct {
		files    map[string]string
		sessions int
		output   int64
	}{
		"a review in the thread": {map[string]string{main: codexMeta(day1, main, "") + codexTurn("t1", 10, day1) + review + codexTurn("t2", 20, day3)}, 1, 20},
		"a review in its own thread, of a parent": {map[string]string{
			main:  codexMeta(day1, main, "") + codexTurn("t1", 10, day1) + review,
			other: strings.Replace(codexMeta(day2, other, `,"session_id":"`+main+`"`), `"source":"cli"`, `"source":{"subagent":"review"}`, 1) + codexTurn("t2", 10, day2),
		}, 1, 20},
		"a review in its own thread, of none": {map[string]string{
			main:  codexMeta(day1, main, "") + codexTurn("t1", 10, day1) + review,
			other: strings.Replace(codexMeta(day2, other, ""), `"source":"cli"`, `"source":{"subagent":"review"}`, 1) + codexTurn("t2", 10, day2),
		}, 2, 20},
		"a review whose parent's file is gone": {map[string]string{
			other: strings.Replace(codexMeta(day2, other, `,"session_id":"`+main+`"`), `"source":"cli"`, `"source":{"subagent":"review"}`, 1) + codexTurn("t2", 10, day2),
		}, 1, 10},
		"a count that a rollback takes back": {map[string]string{
			main: codexMeta(day1, main, "") + codexTurn("t1", 10, day1) + codexTurn("t2", 20, day2) + rolled + codexTurn("t3", 15, day3),
		}, 1, 30},
		"a count that a rollback takes back, without ids of turns": {map[string]string{
			main: codexMeta(day1, main, "") + older("one", 10, day1) + older("two", 20, day2) + rolled + older("three", 10, day3),
		}, 1, 30},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for id, text := range c.files {
				transcripttest.Write(t, home+"/.codex/sessions/2026/11/10/rollout-2026-11-10T10-00-00-"+id+".jsonl", text)
			}
			all := read(t, home)
			other, err := store.Open(t.Context(), home+"/traces.db")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close() }()
			output := int64(0)
			for _, r := range all {
				r.other = other
				for _, d := range r.differences(t, r.spans) {
					t.Errorf("session %s: %s", r.id, d)
				}
				for s := range otlp.Spans(r.spans) {
					n, _ := otlp.Integer(s.Attributes, otelmap.KeyOutputTokens)
					output += n
				}
			}
			if len(all) != c.sessions || output != c.output {
				t.Errorf("%d sessions of %d tokens, want %d of %d", len(all), output, c.sessions, c.output)
			}
		})
	}
}

// TestSubagentsOfGeminiAreNoSessions has those of the versions whose files look like the session's.
func TestSubagentsOfGeminiAreNoSessions(t *testing.T) {
	row := func(id string, n int, kind, text, calls string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-25T20:45:%02dZ","type":%q,"content":%q,"model":"m","tokens":{"input":5,"output":6},"toolCalls":[%s]}`, id, n, kind, text, calls)
	}
	file := func(rows ...string) string {
		return fmt.Sprintf(`{"sessionId":"eeeeeeee-1","startTime":%q,"messages":[%s]}`, rows[0][23:43], strings.Join(rows, ","))
	}
	call := func(id, name string) string {
		return fmt.Sprintf(`{"id":%q,"name":%q,"args":{},"status":"success","timestamp":"2026-01-25T20:45:30Z","result":[]}`, id, name)
	}
	main := file(row("1", 10, "user", "go", ""), row("2", 12, "gemini", "I ask.", call("c", "codebase_investigator")), row("3", 32, "gemini", "Done.", ""))
	task := file(row("a", 13, "user", "Your task is to do a deep investigation of the codebase to x", ""), row("b", 19, "gemini", "Found.", ""), row("d", 20, "user", "You have exceeded the time limit. x", ""), row("e", 22, "gemini", "Late.", ""))
	end := file(row("a", 13, "user", "look", ""), row("b", 19, "gemini", "Found.", call("f", "complete_task")))
	for name, c := range map[string]struct {
		files   []string
		prompts int
	}{
		"by its task": {[]string{main, task}, 1}, "by its end": {[]string{main, end}, 1}, "by its task, alone": {[]string{task}, 0}, "by its end, alone": {[]string{end}, 1},
	} {
		home := t.TempDir()
		for i, text := range c.files {
			transcripttest.Write(t, fmt.Sprintf("%s/.gemini/tmp/p/chats/session-2026-01-25T20-4%d-eeeeeeee.json", home, i), text)
		}
		all := read(t, home)
		if len(all) == 0 {
			t.Errorf("%s: no session", name)
			continue
		}
		sums := new(Sums)
		sums.Add(all[0].spans...)
		if len(sums.prompts) != c.prompts || len(sums.requests) == 0 {
			t.Errorf("%s: prompts %v and requests %v", name, sums.prompts, sums.requests)
		}
		for _, d := range all[0].differences(t, all[0].spans) {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestASoftDenialIsNoFailureTooMuch has a call that a hook denied by an input with which it
// fails: the file says that it failed, the trace that it was denied. A trace that says it
// succeeded is wrong.
func TestASoftDenialIsNoFailureTooMuch(t *testing.T) {
	home, w := t.TempDir(), work()
	w[0].steps[0].calls[0].failed = true
	clineWork(t, home, w)
	r := &read(t, home)[0]
	call := func(s *tracepb.Span) bool {
		return otlp.Text(s.Attributes, otelmap.KeyToolCallID) == w[0].steps[0].calls[0].id
	}
	for name, c := range map[string]struct {
		change func(*tracepb.Span)
		differ bool
	}{
		"denied": {fail(otelmap.ErrorToolDenied), false}, "failed": {fail(otelmap.ErrorToolFailure), false}, "done": {succeed, true},
	} {
		for s := range otlp.Spans(r.spans) {
			if call(s) {
				c.change(s)
			}
		}
		if got := r.differences(t, r.spans); (len(got) > 0) != c.differ {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestATaskThatFailedInTheTraceAloneIsFound has the files of completed tasks, of which a trace says
// that one failed. Of an agent whose files never say so, nothing is found.
func TestATaskThatFailedInTheTraceAloneIsFound(t *testing.T) {
	unsaid := []string{hook.HostCline, hook.HostGemini}
	for _, a := range agents.All() {
		write, home := workOf(a.Host), t.TempDir()
		if write == nil {
			continue // TestEachChangeInTheFilesIsFound says so
		}
		write(t, home, work())
		r := &read(t, home)[0]
		for s := range otlp.Spans(r.spans[:1]) {
			if len(s.ParentSpanId) == 0 {
				set(s, otlp.String(otelmap.KeyOutcome, otelmap.OutcomeFailed))
			}
		}
		if got := r.differences(t, r.spans); (len(got) > 0) == slices.Contains(unsaid, a.Host) {
			t.Errorf("%s: found %v: outcomes.txt lists how its files show that a task failed", a.Host, got)
		}
	}
}

// TestRecordedSessionsHaveNoUnknownKinds has what the real programs wrote.
func TestRecordedSessionsHaveNoUnknownKinds(t *testing.T) {
	for _, r := range recordings(t) {
		got, err := agentfiles.Read(t.Context(), r.host, agentfiles.Env{Home: r.home})
		if err != nil {
			t.Fatalf("agentfiles.go has no folders of %s: %v", r.host, err)
		}
		if len(got.Unknown) > 0 {
			t.Errorf("%s session %s: %v; kinds.txt has those that are known", r.host, r.id, got.Unknown)
		}
	}
}

// TestADatabaseThatIsNamedIsRead has one at the place that a variable names: a relative path is
// one below the folder of the agent's data.
func TestADatabaseThatIsNamedIsRead(t *testing.T) {
	for _, a := range []hook.Agent{hook.AgentOf(hook.HostOpencode), hook.AgentOf(hook.HostKilo)} {
		elsewhere := t.TempDir()
		opencodeWork(a.Word)(t, elsewhere, work())
		made := filepath.Join(elsewhere, ".local", "share", a.Word, a.Word+".db")
		for name, c := range map[string]struct {
			at, data string
			named    string
		}{
			"absolute":                    {at: made, named: made},
			"relative":                    {at: "home/.local/share/" + a.Word + "/mine.db", named: "mine.db"},
			"relative, beside the folder": {at: "home/.local/share/other/mine.db", named: "../other/mine.db"},
			"relative to XDG_DATA_HOME":   {at: "data/" + a.Word + "/below/mine.db", data: "data", named: "below/mine.db"},
		} {
			dir := t.TempDir()
			vars := map[string]string{a.Folders[0]: c.named}
			if c.data != "" {
				vars["XDG_DATA_HOME"] = filepath.Join(dir, c.data)
			}
			if !filepath.IsAbs(c.at) {
				for _, folder := range []string{filepath.Dir(c.at), "home/.local/share/" + a.Word, "data/" + a.Word} {
					if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Link(made, filepath.Join(dir, c.at)); err != nil {
					t.Fatal(err)
				}
			}
			getenv := func(key string) string { return vars[key] }
			got, err := agentfiles.Read(t.Context(), a.Host, agentfiles.Env{Home: filepath.Join(dir, "home"), Getenv: getenv})
			if err != nil || got.Sessions["ses_main"] == nil || len(got.Sessions["ses_main"].Prompts) != len(work()) {
				t.Errorf("%s, %s: %+v, %v; want the session", a.Word, name, got, err)
			}
		}
	}
}

// TestDatabaseThatALinkLeadsToIsReadWithItsLog has the newest rows in the log beside the database.
func TestDatabaseThatALinkLeadsToIsReadWithItsLog(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	opencodeWork("opencode")(t, elsewhere, work())
	made := filepath.Join(elsewhere, ".local", "share", "opencode", "opencode.db")
	link := filepath.Join(home, ".local", "share", "opencode", "opencode.db")
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(made, link); err != nil {
		skip.Missing(t, "this system makes no symbolic links: %v", err)
	}
	opencodetest.Exec(t, made, "PRAGMA journal_mode = wal")
	opencodetest.Open(t, made, `INSERT INTO message (id, session_id, time_created, time_updated, data)
		VALUES ('msg_late', 'ses_main', 1795426715000, 1795426715000, '{"role":"user"}');`)
	got, err := agentfiles.Read(t.Context(), "opencode", agentfiles.Env{Home: home})
	if err != nil || got.Sessions["ses_main"] == nil || len(got.Sessions["ses_main"].Turns) != len(work())+1 {
		t.Errorf("%+v, %v; want the session with what is in the log", got, err)
	}
}

// TestWhatAProjectDidNotRecordIsNotMissing has a session of which the second turn was while its
// project had recording switched off. What is in the trace is compared all the same.
func TestWhatAProjectDidNotRecordIsNotMissing(t *testing.T) {
	home := t.TempDir()
	claudeWork(t, home, work())
	r := read(t, home)[0]
	for name, c := range map[string]struct {
		off    bool
		runs   []int
		change func(*tracepb.Span)
		differ bool
	}{
		"while it is off":          {off: true, runs: []int{0, 2}},
		"while it is on":           {runs: []int{0, 2}, differ: true},
		"wrong, while it is off":   {off: true, runs: []int{0, 2}, change: succeed, differ: true},
		"all, while it is off":     {off: true, runs: []int{0, 1, 2}},
		"another, while it is off": {off: true, runs: []int{0}},
	} {
		var spans []*tracepb.ResourceSpans
		for _, i := range c.runs {
			spans = append(spans, proto.CloneOf(r.spans[i]))
		}
		for s := range otlp.Spans(spans) {
			if c.change != nil && statusOf(step.Of(s)) == failed {
				c.change(s)
			}
		}
		files, err := agentfiles.Read(t.Context(), r.host, agentfiles.Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		sums := new(Sums)
		sums.Add(spans...)
		check := Check{Host: r.host, Files: files, Sums: map[string]*Sums{r.id: sums}, Off: func(dir string) bool { return c.off && dir == "/w" }}
		differ, err := check.Sessions(t.Context(), []string{r.id})
		if err != nil || (len(differ) > 0) != c.differ {
			t.Errorf("%s: %v, %v", name, differ, err)
		}
	}
}

// TestWrongTracesHaveADifference has what only one side of a trace shows.
func TestWrongTracesHaveADifference(t *testing.T) {
	home, w := t.TempDir(), work()
	w[0].steps[0].calls[0].agent, w[0].steps[0].calls[1].agent = "a1", "a1"
	claudeWork(t, home, w)
	r := read(t, home)[0]
	call := func(s *tracepb.Span) bool {
		return otlp.Text(s.Attributes, otelmap.KeyToolCallID) == w[0].steps[0].calls[0].id
	}
	for name, c := range map[string]struct {
		kind   Kind
		change func(run []*tracepb.Span) []*tracepb.Span
	}{
		"a call of a subagent that is not there": {Agent, func(run []*tracepb.Span) []*tracepb.Span {
			agent := proto.CloneOf(run[slices.IndexFunc(run, role(step.KindAgent))])
			agent.SpanId = []byte("invented")
			set(agent, otlp.String(otelmap.KeyAgent, "a9"))
			run[slices.IndexFunc(run, call)].ParentSpanId = agent.SpanId
			return append(run, agent)
		}},
		"a call of an hour before": {Time, func(run []*tracepb.Span) []*tracepb.Span {
			run[slices.IndexFunc(run, call)].StartTimeUnixNano -= uint64(time.Hour)
			return run
		}},
		"a call of an hour after": {Time, func(run []*tracepb.Span) []*tracepb.Span {
			s := run[slices.IndexFunc(run, call)]
			s.StartTimeUnixNano, s.EndTimeUnixNano = s.StartTimeUnixNano+uint64(time.Hour), s.EndTimeUnixNano+uint64(time.Hour)
			return run
		}},
		"a prompt of one word": {Text, func(run []*tracepb.Span) []*tracepb.Span {
			for _, e := range run[0].Events {
				if isPrompt(e) {
					e.Attributes = []*commonpb.KeyValue{otlp.String(otelmap.KeyText, "Add")}
				}
			}
			return run
		}},
	} {
		spans := []*tracepb.ResourceSpans{}
		for i, run := range runsOf(r.spans) {
			if i == 0 {
				run = c.change(run)
			}
			spans = append(spans, resource(run...))
		}
		if got := r.differences(t, spans); !slices.ContainsFunc(got, func(d Difference) bool { return d.Kind == c.kind }) {
			t.Errorf("%s: %v, want one of the kind %s", name, got, c.kind)
		}
	}
	for _, d := range r.differences(t, r.spans) {
		t.Errorf("unchanged: %s", d)
	}
}

// TestWhatASessionDidInAPrivateFolderIsNotMissing has sessions that went to a private folder and
// back, as an import leaves them: at each time of the rows from which they were there.
func TestWhatASessionDidInAPrivateFolderIsNotMissing(t *testing.T) {
	other, err := store.Open(t.Context(), t.TempDir()+"/traces.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	hidden := 0
	for _, host := range []string{"claude-code", "qwen-code", "codex"} {
		for from := 105; from < 340; from += 15 {
			for _, until := range []int{from + 10, from + 25, from + 110, 900} {
				home := t.TempDir()
				w := work()
				if host != "codex" { // whose subagents name their folders
					w[0].steps[0].calls[1].agent = "a1"
				}
				workOf(host)(t, home, w)
				moveTo(t, home, "/private", workTime(from), workTime(until))
				off := func(dir string) bool { return dir == "/private" }
				r := recordedOutside(t, host, home, off)
				files, err := agentfiles.Read(t.Context(), host, agentfiles.Env{Home: home})
				if err != nil {
					t.Fatal(err)
				}
				if r == nil {
					continue
				}
				sums := new(Sums)
				sums.Add(r.spans...)
				check := Check{Host: host, Files: files, Store: other, Sums: map[string]*Sums{r.id: sums}, Off: off}
				differ, err := check.Sessions(t.Context(), []string{r.id})
				if err != nil || len(differ) > 0 {
					t.Errorf("%s, private from %d until %d: %v, %v", host, from, until, differ, err)
				}
				hidden += check.Private
				for n := range r.spans { // what is recorded is compared all the same
					i := slices.IndexFunc(sums.requests, func(q request) bool { return q.run == n && q.id != "" && q.usage != (store.Usage{}) })
					if i >= 0 {
						sums.requests[i].usage.Output++
						if differ, err = check.Sessions(t.Context(), []string{r.id}); err != nil || len(differ) == 0 {
							t.Errorf("%s, private from %d until %d: a wrong request is not found, %v", host, from, until, err)
						}
						break
					}
				}
			}
		}
	}
	if hidden == 0 {
		t.Error("no request was left out")
	}
}

// TestWhatIsPrivateIsLeftOutBesideARequestWithoutAnID has a trace with such a request.
func TestWhatIsPrivateIsLeftOutBesideARequestWithoutAnID(t *testing.T) {
	home, off := t.TempDir(), func(dir string) bool { return dir == "/private" }
	claudeWork(t, home, work())
	moveTo(t, home, "/private", workTime(195), workTime(290))
	r := recordedOutside(t, "claude-code", home, off)
	for s := range otlp.Spans(r.spans) {
		drop(s, otelmap.KeyResponseID)
	}
	files, err := agentfiles.Read(t.Context(), r.host, agentfiles.Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	sums := new(Sums)
	sums.Add(r.spans...)
	check := Check{Host: r.host, Files: files, Sums: map[string]*Sums{r.id: sums}, Off: off}
	differ, err := check.Sessions(t.Context(), []string{r.id})
	if err != nil || len(differ) > 0 {
		t.Errorf("%v, %v; want no difference", differ, err)
	}
}

// moveTo has the rows of files between two times in another folder.
func moveTo(t *testing.T, home, dir string, from, until time.Time) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var out strings.Builder
		was, context := "", ""
		for line := range strings.Lines(string(text)) {
			var row struct {
				At time.Time `json:"timestamp"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return err
			}
			now, at := "/w", until
			if !row.At.Before(from) && row.At.Before(until) {
				now, at = dir, from
			}
			if strings.Contains(line, "turn_context") {
				context = line
			}
			if was != "" && was != now && context != "" { // Codex names a folder when it changes
				_, payload, _ := strings.Cut(context, `"payload":`)
				payload, _, _ = strings.Cut(payload, "}")
				fmt.Fprintf(&out, `{"type":"turn_context","timestamp":%q,"payload":%s}}`+"\n", at.Format(time.RFC3339), strings.ReplaceAll(payload, "/w", now))
			}
			was = now
			out.WriteString(strings.ReplaceAll(line, `"cwd":"/w"`, `"cwd":"`+now+`"`))
		}
		return os.WriteFile(path, []byte(out.String()), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// recordedOutside reads a session as an import does, which leaves some folders out; nil if nothing
// is left.
func recordedOutside(t *testing.T, host, home string, off func(string) bool) *recording {
	t.Helper()
	a := agents.All()[slices.IndexFunc(agents.All(), func(a agents.Agent) bool { return a.Host == host })]
	files := (&transcript.Files{Home: home}).Remember()
	list, err := files.Sessions(t.Context(), a.Transcript)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	tr, err := files.Read(t.Context(), a.Transcript, transcript.Query{Session: list[0].ID, Dialect: list[0].Dialect, Path: list[0].Path, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	tr.Session = list[0].ID
	events := slices.DeleteFunc(slices.Collect(a.Transcript.Events(list[0].Dialect, tr)), func(e hook.Event) bool { return off(e.Cwd) })
	tr.Leave(off)
	b := otelmap.NewBuilder(a.Host, tr.Session, otelmap.Options{Agent: a.Mapping}, otelmap.Carry{})
	for _, e := range events {
		b.Add(e)
	}
	r := &recording{host: host, id: tr.Session, home: home}
	for _, run := range b.Runs(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)) {
		r.spans = append(r.spans, b.Spans(run, tr))
	}
	if len(r.spans) == 0 {
		return nil
	}
	return r
}
