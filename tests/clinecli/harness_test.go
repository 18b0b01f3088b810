package clinecli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/clinecli/sink"
)

func sh(script string) clinecli.Step {
	return clinecli.Step{Program: []string{"sh", "-c"}, Args: []string{script}, Timeout: 20 * time.Second}
}

// TestRunIsClosedOff checks what every scenario relies on: only loopback, what
// a step leaves behind does not outlive the run, signals reach the whole group.
func TestRunIsClosedOff(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	interrupted := sh("trap 'kill $!; echo caught; exit 7' INT; echo ready > " + clinecli.WordMark + "; sleep 15 & wait $!")
	interrupted.Signal = &clinecli.Signal{Number: syscall.SIGINT, When: clinecli.Condition{Mark: true}}
	slow := sh("sleep 15")
	slow.Timeout = 200 * time.Millisecond
	res := do(t, h, &clinecli.Run{CLI: clinecli.CLI3, Steps: []clinecli.Step{
		sh("cat /proc/net/dev | grep -c :"),
		interrupted,
		slow,
		sh("echo $HOME; pwd"),
		// Leaves a process behind in a session of its own.
		sh("setsid sh -c 'echo $$ > " + clinecli.WordRecords + "/left; exec sleep 60' </dev/null >/dev/null 2>&1 &"),
	}})
	got := make([]string, len(res.Steps))
	for i, s := range res.Steps {
		got[i] = strings.TrimSpace(s.Stdout)
	}
	want := []string{"1", "caught", "", res.Arena.Home + "\n" + res.Arena.Workspace, ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output of the steps (-want +got):\n%s", diff)
	}
	if s := res.Steps[1]; s.ExitCode != 7 || !s.Signalled {
		t.Errorf("interrupted step: code %d, signalled %v, want 7, true", s.ExitCode, s.Signalled)
	}
	if s := res.Steps[2]; !s.TimedOut || s.Signal != "killed" {
		t.Errorf("slow step: timed out %v by signal %q, want true, killed", s.TimedOut, s.Signal)
	}
	left, err := os.ReadFile(filepath.Join(res.Arena.Records, "left"))
	if err != nil {
		t.Fatal(err)
	}
	if pid := strings.TrimSpace(string(left)); len(res.Killed) != 1 || !strings.HasPrefix(res.Killed[0], pid+" sleep") {
		t.Errorf("killed %q, want the one process %s", res.Killed, pid)
	}
}

// TestPreToolUseStopsClassic is the evidence for where hookspan does not
// install PreToolUse: with any such file in a folder the classic core reads, a
// task that reads a missing file as its second tool asks the model twice and
// then never goes on. Without it the same script completes, see classicTools.
func TestPreToolUseStopsClassic(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stuck := cliStep("-y", "--json", "read what is not there")
	stuck.Timeout = 15 * time.Second
	script := []mockllm.Turn{
		turn("List.", call("list_files", "path", "src")), turn("Look.", call("read_file", "path", "src/missing.js")), finish("Never."),
	}
	for i := range script {
		// The usage comes when the tool has run already, as real models have it.
		script[i].Tail = 500 * time.Millisecond
	}
	res := do(t, h, &clinecli.Run{
		CLI: clinecli.CLI2, Script: script, Steps: []clinecli.Step{stuck},
		Setup: func(a *clinecli.Arena) error { return clinecli.RecordHooks(a, pre) },
	})
	if s := res.Steps[0]; !s.TimedOut || len(res.Requests) != 2 {
		t.Errorf("timed out %v after %d requests, want true after 2: if Cline has mended this, PreToolUse may be installed for it",
			s.TimedOut, len(res.Requests))
	}
}

func TestTracesFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	span := func(id, parent string) sink.Span {
		return sink.Span{TraceID: "t", SpanID: id, ParentID: parent, Name: "n" + id, Start: at, End: at.Add(time.Second)}
	}
	changed := span("b", "a")
	changed.Name = "other"
	backwards := span("b", "a")
	backwards.End = at.Add(-time.Second)
	tests := map[string]struct {
		spans []sink.Span
		want  string
	}{
		"a root and its child":           {[]sink.Span{span("b", "a"), span("a", "")}, ""},
		"the same span twice":            {[]sink.Span{span("a", ""), span("a", "")}, ""},
		"two forms of one span":          {[]sink.Span{span("a", ""), span("b", "a"), changed}, "came twice and differs"},
		"a parent that did not come":     {[]sink.Span{span("a", ""), span("b", "x")}, "did not come"},
		"two roots":                      {[]sink.Span{span("a", ""), span("b", "")}, "second root"},
		"no root":                        {[]sink.Span{span("b", "b")}, "no root"},
		"an end that precedes the start": {[]sink.Span{span("a", ""), backwards}, "before it starts"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, wrong := clinecli.Traces(tt.spans)
			got := strings.Join(wrong, "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Traces says %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompareModel(t *testing.T) {
	t.Parallel()
	chat := func(id string, in, out int64) sink.Span {
		s := sink.Span{TraceID: "t", SpanID: id, ParentID: "r", Attrs: sink.Attrs{"gen_ai.operation.name": "chat"}}
		if in > 0 {
			s.Attrs["gen_ai.usage.input_tokens"], s.Attrs["gen_ai.usage.output_tokens"] = in, out
		}
		return s
	}
	root := func(in, out int64) sink.Span {
		return sink.Span{TraceID: "t", SpanID: "r", Attrs: sink.Attrs{"gen_ai.usage.input_tokens": in, "gen_ai.usage.output_tokens": out}}
	}
	requests := []mockllm.Request{
		{Usage: &mockllm.Usage{Prompt: 10, Completion: 1}, Complete: true},
		{Status: 400},
		{Usage: &mockllm.Usage{Prompt: 20, Completion: 2}, Complete: true},
	}
	tests := map[string]struct {
		spans    []sink.Span
		lastOpen bool
		wrong    int
	}{
		"all counts right":                        {[]sink.Span{root(30, 3), chat("a", 10, 1), chat("b", 20, 2)}, false, 0},
		"the last one missing where it must be":   {[]sink.Span{root(10, 1), chat("a", 10, 1), chat("b", 0, 0)}, false, 2},
		"the last one missing where it may be":    {[]sink.Span{root(10, 1), chat("a", 10, 1), chat("b", 0, 0)}, true, 0},
		"the last one there though it may be not": {[]sink.Span{root(30, 3), chat("a", 10, 1), chat("b", 20, 2)}, true, 0},
		"a wrong count":                           {[]sink.Span{root(30, 3), chat("a", 10, 1), chat("b", 20, 3)}, false, 1},
		"a wrong sum":                             {[]sink.Span{root(31, 3), chat("a", 10, 1), chat("b", 20, 2)}, false, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			traces, _ := clinecli.Traces(tt.spans)
			if got := traces[0].CompareModel(requests, tt.lastOpen); len(got) != tt.wrong {
				t.Errorf("CompareModel says %q, want %d lines", got, tt.wrong)
			}
		})
	}
}
