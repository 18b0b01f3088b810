package findings

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// task makes the spans of a task, one after the other.
type task struct {
	store.Summary
	now   time.Time
	root  *tracepb.Span
	spans []*tracepb.Span
	agent []byte // the subagent that works, nil for the lead agent
	asked []string
}

var day = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func newTask(n int, at time.Time) *task {
	t := &task{now: at, Summary: store.Summary{
		TraceID: fmt.Sprintf("%032x", n+1), Session: "s", Host: "claude-code", Directory: "/w/shop", Started: at, Outcome: otelmap.OutcomeCompleted, Evidence: otelmap.EvidenceComplete,
	}}
	t.root = t.span(otelmap.OpInvokeAgent, 0, otlp.String(otelmap.KeyHost, "claude-code"))
	t.root.ParentSpanId = nil
	t.mark(otelmap.EventPrompt)
	return t
}

func (t *task) id() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(len(t.spans)+1)<<32|uint64(t.Started.Unix()&0xffffffff)) //nolint:gosec // small
}

func (t *task) span(op string, took time.Duration, more ...*commonpb.KeyValue) *tracepb.Span {
	s := &tracepb.Span{SpanId: t.id(), Name: op, StartTimeUnixNano: otlp.UnixNano(t.now), EndTimeUnixNano: otlp.UnixNano(t.now.Add(took)), Attributes: append(more, otlp.String(otelmap.KeyOperation, op))}
	if t.root != nil {
		s.ParentSpanId = t.root.SpanId
	}
	if t.agent != nil {
		s.ParentSpanId = t.agent
	}
	t.now = t.now.Add(took + time.Second)
	t.spans = append(t.spans, s)
	return s
}

func (t *task) mark(name string, more ...*commonpb.KeyValue) {
	t.root.Events = append(t.root.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: otlp.UnixNano(t.now), Attributes: more})
	t.now = t.now.Add(time.Second)
}

// call adds a call of a tool. A result that begins with "!" is a failure, one that begins with "-"
// a denial.
func (t *task) call(tool string, args any, result string) *tracepb.Span {
	s := t.span(otelmap.OpExecuteTool, time.Second, otlp.String(otelmap.KeyToolName, tool), otlp.String(otelmap.KeyToolArguments, rawjson.Encode(args)))
	id := fmt.Sprintf("call-%d", len(t.spans))
	s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyToolCallID, id))
	t.asked = append(t.asked, id)
	why, failed := strings.CutPrefix(result, "!")
	no, denied := strings.CutPrefix(result, "-")
	switch {
	case failed, denied:
		kind := otelmap.ErrorTool
		if denied {
			why, kind = no, otelmap.ErrorToolDenied
		}
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: why}
		s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyErrorType, kind))
		s.Events = append(s.Events, &tracepb.Span_Event{Name: otelmap.EventException, TimeUnixNano: s.EndTimeUnixNano, Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyExceptionMessage, why)}})
	default:
		s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyToolResult, result))
	}
	return s
}

func (t *task) bash(command, result string) *tracepb.Span {
	return t.call("Bash", map[string]string{"command": command}, result)
}

func (t *task) read(file, result string) *tracepb.Span {
	return t.call("Read", map[string]string{"file_path": file}, result)
}

func (t *task) edit(file string) *tracepb.Span {
	return t.call("Edit", map[string]string{"file_path": file, "old_string": "a", "new_string": "b"}, "ok")
}

// request adds a request of a model with so many tokens of input, read from and written to the cache.
func (t *task) request(model string, input, read, write int64) *tracepb.Span {
	return t.span(otelmap.OpChat, 2*time.Second, otlp.String(otelmap.KeyRequestModel, model), otlp.Int(otelmap.KeyInputTokens, input), otlp.Int(otelmap.KeyOutputTokens, 100),
		otlp.Int(otelmap.KeyCacheReadTokens, read), otlp.Int(otelmap.KeyCacheWriteTokens, write), otlp.Float(otelmap.KeyCost, 0.01))
}

// sub has a subagent do something.
func (t *task) sub(do func()) {
	call := t.call("Task", map[string]string{"prompt": "look"}, "done")
	agent := t.span(otelmap.OpInvokeAgent, 0, otlp.String(otelmap.KeyAgentName, "explorer"))
	agent.ParentSpanId = call.SpanId
	before := t.agent
	t.agent = agent.SpanId
	do()
	t.agent = before
}

func (t *task) work() *store.Work {
	if t.Ended.IsZero() {
		t.Ended = t.now
	}
	return store.WorkOf(&store.Trace{Summary: t.Summary, ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: t.spans}}}}})
}

func works(tasks ...*task) (out []*store.Work) {
	for _, t := range tasks {
		out = append(out, t.work())
	}
	return out
}

// kinds are the kinds of what is found in a session, with how many spans each has.
func kinds(found []view.Finding) (out []string) {
	for _, f := range found {
		out = append(out, fmt.Sprintf("%s %d", f.Kind, len(f.Spans)))
	}
	slices.Sort(out)
	return out
}

const (
	failure = "!--- FAIL: TestLogin (0.01s)\n    login_test.go:12: got nil\nFAIL"
	text    = "package auth\n\nfunc Login() error { return nil }\n"
	claude  = "claude-sonnet-4-5"
)

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *task)
		want string
	}{
		{"a test that fails again", func(t *task) { t.bash("go test ./...", failure); t.bash("go test ./...", failure) }, "failed-again 2"},
		{"three times, with reading between", func(t *task) {
			t.bash("go test ./...", failure)
			t.read("a.go", text)
			t.bash("go test ./...", failure)
			t.bash("git diff | head", "x")
			t.bash("go test ./...", failure)
		}, "failed-again 3"},
		{"other times in the failure", func(t *task) {
			t.bash("go test ./...", "!FAIL shop 0.012s")
			t.bash("go test ./...", "!FAIL shop 1.4s")
		}, "failed-again 2"},
		{"an edit that fails again", func(t *task) {
			for range 2 {
				t.call("Edit", map[string]string{"file_path": "a.go", "old_string": "x", "new_string": "y"}, "!String to replace not found in file.")
			}
		}, "failed-again 2"},
		{"an edit that wants a read, which came", func(t *task) {
			for range 2 {
				t.call("Edit", map[string]string{"file_path": "a.go", "old_string": "x", "new_string": "y"}, "!File has not been read yet. Read it first before writing to it.")
				t.read("a.go", "")
			}
		}, ""},
		{"an edit that wants a read of another file", func(t *task) {
			for range 2 {
				t.call("Edit", map[string]string{"file_path": "a.go", "old_string": "x", "new_string": "y"}, "!File has been modified since read, either by the user or by a linter.")
				t.read("b.go", "")
			}
		}, "failed-again 2"},
		{"an edit between", func(t *task) { t.bash("go test ./...", failure); t.edit("a.go"); t.bash("go test ./...", failure) }, ""},
		{"a command between that may write", func(t *task) {
			t.bash("go test ./...", failure)
			t.bash("go generate ./...", "")
			t.bash("go test ./...", failure)
		}, ""},
		{"a prompt between", func(t *task) {
			t.bash("go test ./...", failure)
			t.mark(otelmap.EventPrompt)
			t.bash("go test ./...", failure)
		}, ""},
		{"another failure", func(t *task) { t.bash("go test ./...", failure); t.bash("go test ./...", "!--- FAIL: TestOther") }, ""},
		{"other arguments", func(t *task) { t.bash("go test ./...", failure); t.bash("go test ./auth", failure) }, ""},
		{"a denied call", func(t *task) { t.bash("go test ./...", "-denied"); t.bash("go test ./...", "-denied") }, ""},
		{"a polling command", func(t *task) {
			t.bash("curl -f localhost:8080", "!exit 7: refused")
			t.bash("curl -f localhost:8080", "!exit 7: refused")
		}, ""},
		{"a failure that may pass", func(t *task) {
			t.bash("make e2e", "!Error: connect ECONNREFUSED 127.0.0.1:80")
			t.bash("make e2e", "!Error: connect ECONNREFUSED 127.0.0.1:80")
		}, ""},
		{"arguments that were cut", func(t *task) { t.bash("go test ./very/long…", failure); t.bash("go test ./very/long…", failure) }, ""},
		{"a failure that was cut", func(t *task) { t.bash("go test ./...", failure+"…"); t.bash("go test ./...", failure+"…") }, ""},
		{"a failure that the tool has cut", func(t *task) {
			t.bash("go test ./...", failure+"\n\n... [212 lines truncated] ...\nFAIL")
			t.bash("go test ./...", failure+"\n\n... [212 lines truncated] ...\nFAIL")
		}, ""},
		{"a server in the background", func(t *task) {
			t.bash("npm start &", "")
			t.bash("go test ./...", failure)
			t.bash("go test ./...", failure)
		}, ""},
		{"two agents", func(t *task) {
			t.sub(func() { t.bash("go test ./...", failure) })
			t.sub(func() { t.bash("go test ./...", failure) })
		}, ""},
		{"one subagent", func(t *task) {
			t.sub(func() { t.bash("go test ./...", failure); t.bash("go test ./...", failure) })
		}, "failed-again 2"},

		{"a file that is read again", func(t *task) { t.read("a.go", text); t.bash("go vet ./...", ""); t.read("a.go", text) }, "read-again 2"},
		{"an answer that it is unchanged", func(t *task) {
			t.read("a.go", text+"…")
			t.read("a.go", "File unchanged since last read. The content from the earlier Read is still current.")
		}, "read-again 2"},
		{"cat", func(t *task) { t.bash("cat a.go", text); t.bash("cat a.go", text) }, "read-again 2"},
		{"other lines", func(t *task) {
			t.read("a.go", text)
			t.call("Read", map[string]any{"file_path": "a.go", "offset": 10}, text)
		}, ""},
		{"a changed file", func(t *task) { t.read("a.go", text); t.read("a.go", text+"x") }, ""},
		{"a file that was edited", func(t *task) { t.read("/w/shop/a.go", text); t.edit("a.go"); t.read("/w/shop/a.go", text) }, ""},
		{"a result that was cut", func(t *task) { t.read("a.go", text+"…"); t.read("a.go", text+"…") }, ""},
		{"a checkout between", func(t *task) { t.read("a.go", text); t.bash("git stash", ""); t.read("a.go", text) }, ""},
		{"a log", func(t *task) { t.read("server.log", text); t.read("server.log", text) }, ""},
		{"another agent's read", func(t *task) { t.read("a.go", text); t.sub(func() { t.read("a.go", text) }) }, ""},

		{"a read after a compaction", func(t *task) {
			t.read("a.go", text)
			t.read("b.go", text+"…")
			t.mark(otelmap.EventCompaction)
			t.read("b.go", text+"…")
			t.read("a.go", text)
			t.read("c.go", text)
		}, "read-after-compaction 2"},
		{"a compaction after which the context is as long", func(t *task) {
			t.request(claude, 30_000, 0, 0)
			t.read("a.go", text)
			t.mark(otelmap.EventCompaction)
			t.request(claude, 31_000, 0, 0)
			t.read("a.go", text)
		}, ""},
		{"a compaction after which it is shorter", func(t *task) {
			t.request(claude, 30_000, 0, 0)
			t.read("a.go", text)
			t.mark(otelmap.EventCompaction)
			t.request(claude, 9_000, 0, 0)
			t.read("a.go", text)
		}, "read-after-compaction 1"},
		{"a context that was shortened in silence", func(t *task) {
			t.request(claude, 30_000, 0, 0)
			t.read("a.go", text)
			t.request(claude, 9_000, 0, 0)
			t.read("a.go", text)
		}, ""},
		{"a file that is not there", func(t *task) { t.read("a.go", "Error: no such file"); t.read("a.go", "Error: no such file") }, ""},
		{"a result that the tool has cut", func(t *task) { t.read("a.go", text+"[truncated]"); t.read("a.go", text+"[truncated]") }, ""},
		{"a file that was edited before the compaction", func(t *task) {
			t.read("a.go", text)
			t.edit("a.go")
			t.mark(otelmap.EventCompaction)
			t.read("a.go", text)
		}, ""},
		{"a read on both sides and one more", func(t *task) {
			t.read("a.go", text)
			t.mark(otelmap.EventCompaction)
			t.read("a.go", text)
			t.read("a.go", text)
		}, "read-after-compaction 1, read-again 2"},

		{"a cache that expired", func(t *task) {
			t.request(claude, 30_000, 25_000, 5_000)
			t.now = t.now.Add(7 * time.Minute)
			t.request(claude, 31_000, 0, 31_000)
		}, "cache-expired 2"},
		{"a short pause", func(t *task) {
			t.request(claude, 30_000, 25_000, 5_000)
			t.now = t.now.Add(4 * time.Minute)
			t.request(claude, 31_000, 0, 31_000)
		}, ""},
		{"a cache of an hour", func(t *task) {
			t.request(claude, 30_000, 25_000, 5_000).Attributes = append(t.spans[len(t.spans)-1].Attributes, otlp.Int(otelmap.KeyCacheWriteHourTokens, 5_000))
			t.now = t.now.Add(7 * time.Minute)
			t.request(claude, 31_000, 0, 31_000)
		}, ""},
		{"a hit after a longer pause", func(t *task) {
			t.request(claude, 30_000, 25_000, 5_000)
			t.now = t.now.Add(9 * time.Minute)
			t.request(claude, 31_000, 30_000, 1_000)
			t.now = t.now.Add(7 * time.Minute)
			t.request(claude, 32_000, 0, 32_000)
		}, ""},
		{"another model", func(t *task) {
			t.request(claude, 30_000, 25_000, 5_000)
			t.now = t.now.Add(7 * time.Minute)
			t.request("claude-opus-4-1", 31_000, 0, 31_000)
		}, ""},
		{"a compaction in the pause", func(t *task) {
			t.request(claude, 30_000, 25_000, 5_000)
			t.mark(otelmap.EventCompaction)
			t.now = t.now.Add(7 * time.Minute)
			t.request(claude, 31_000, 0, 31_000)
		}, ""},
		{"a model whose cache has no known lifetime", func(t *task) {
			t.request("gpt-5", 30_000, 25_000, 5_000)
			t.now = t.now.Add(7 * time.Minute)
			t.request("gpt-5", 31_000, 0, 31_000)
		}, ""},
	} {
		task := newTask(0, day)
		c.do(task)
		if got := strings.Join(kinds(newSession(works(task)).found()), ", "); got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCostIsThatOfRequestsForTheFindingAlone repeats a call. A request that asked for this call
// alone counts; one that asked for another call, too, does not.
func TestCostIsThatOfRequestsForTheFindingAlone(t *testing.T) {
	for _, several := range []bool{false, true} {
		task := newTask(0, day)
		task.bash("go test ./...", failure)
		r := task.request(claude, 1_000, 0, 0)
		task.asked = nil
		task.bash("go test ./...", failure)
		if several {
			task.read("a.go", text)
		}
		var parts []string
		for _, id := range task.asked {
			parts = append(parts, `{"type":"tool_call","id":"`+id+`"}`)
		}
		r.Attributes = append(r.Attributes, otlp.String(otelmap.KeyOutputMessages, `[{"role":"assistant","parts":[`+strings.Join(parts, ",")+`]}]`))
		found := newSession(works(task)).found()
		if len(found) != 1 || found[0].Took != time.Second || (found[0].Usage == nil) != several {
			t.Errorf("with several calls %t: %+v", several, found)
		}
	}
}

func TestCheckThatDidNotRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		earlier int
		check   string
		do      func(t *task)
		found   bool
	}{
		{"no check", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.bash("git status", "") }, true},
		{"too few tasks before", 4, "go test ./...", func(t *task) { t.edit("a.go") }, false},
		{"the check ran", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.bash("cd x && go test .", "ok") }, false},
		{"the check was denied", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.bash("go test ./...", "-no") }, false},
		{"another command that may run it", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.bash("make ci", "ok") }, false},
		{"a commit, whose hooks may run it", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.bash("git commit -am x", "ok") }, false},
		{"a hook", 5, "go test ./...", func(t *task) {
			t.edit("a.go")
			t.mark(otelmap.EventHook, otlp.String(otelmap.KeyHookCommand, "make check"))
		}, false},
		{"a document", 5, "go test ./...", func(t *task) { t.edit("README.md") }, false},
		{"a file of another kind", 5, "go test ./...", func(t *task) { t.edit("web/a.ts") }, false},
		{"a file outside", 5, "go test ./...", func(t *task) { t.edit("/tmp/a.go") }, false},
		{"an edit that was denied", 5, "go test ./...", func(t *task) {
			t.call("Edit", map[string]string{"file_path": "a.go", "old_string": "a", "new_string": "b"}, "-no")
		}, false},
		{"a command that is no check", 5, "git status", func(t *task) { t.edit("a.go") }, false},
		{"an interrupted task", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.Outcome = otelmap.OutcomeInterrupted }, false},
		{"an edit after the check", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.bash("go test ./...", "ok"); t.edit("c.go") }, true},
		{"a check in the background", 5, "go test ./...", func(t *task) {
			t.bash("go test ./... &", "")
			t.bash("make x", "ok")
			t.edit("a.go")
		}, false},
		{"a folder that is not known", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.Directory = "" }, false},
		{"a prompt that wants no tests", 5, "go test ./...", func(t *task) { t.edit("a.go"); t.Title = "Rename it, don't run the tests" }, false},
	} {
		var others []Edited
		for i := range c.earlier {
			e := newTask(i, day.Add(time.Duration(-1-i)*time.Hour))
			e.edit("b.go")
			e.bash(c.check, "ok")
			others = append(others, EditedBy(e.work()))
		}
		task := newTask(99, day)
		c.do(task)
		e := EditedBy(task.work())
		found := false
		if len(e.Last) > 0 {
			_, found = e.Unchecked(others)
		}
		if found != c.found {
			t.Errorf("%s: found %t, want %t", c.name, found, c.found)
		}
	}
}

// TestCheckIsThatOfTheKindEditedLast has tasks before whose edits of two kinds the same check followed:
// it is not by chance of which kind one is found.
func TestCheckIsThatOfTheKindEditedLast(t *testing.T) {
	earlier := func(n, first int, file string) (out []Edited) {
		for i := range n {
			e := newTask(i, day.Add(time.Duration(-first-i)*time.Minute))
			e.edit(file)
			e.edit("a.json")
			e.bash("npm test", "ok")
			out = append(out, EditedBy(e.work()))
		}
		return out
	}
	task := newTask(999, day)
	task.edit("a.json")
	task.bash("npm test", "ok")
	task.edit("a.ts")
	e := EditedBy(task.work())
	for range 20 {
		if f, ok := e.Unchecked(earlier(6, 1, "b.ts")); !ok || len(f.Spans) != 1 {
			t.Fatalf("found %t: %+v", ok, f)
		}
	}
	// A hundred tasks with edits of other files are the project's newest, whatever else is given.
	if f, ok := e.Unchecked(append(earlier(history, 1, "b.go"), earlier(6, 200, "b.ts")...)); ok {
		t.Errorf("found %s", f.What)
	}
}
