package rig_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

func TestMain(m *testing.M) { rig.Main(m) }

func sh(script string) rig.Step {
	return rig.Step{Program: []string{"sh", "-c"}, Args: []string{script}, Timeout: 20 * time.Second}
}

// TestRunIsClosedOff checks what every scenario relies on: only loopback, what
// a step leaves behind does not outlive the run, signals reach the whole group.
func TestRunIsClosedOff(t *testing.T) {
	// As in what a shell starts in the background.
	signal.Ignore(syscall.SIGINT)
	t.Cleanup(func() { signal.Reset(syscall.SIGINT) })
	interrupted := sh("trap 'kill $!; echo caught; exit 7' INT; echo ready > " + rig.WordMark + "; sleep 15 & wait $!")
	interrupted.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
	// Written in two parts, so that neither holds all of the text.
	said := sh("trap 'kill $!; exit 8' INT; printf are; sleep 0.05; echo ' you'; sleep 15 & wait $!")
	said.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Output: "re yo"}}
	slow := sh("sleep 15")
	slow.Timeout = 200 * time.Millisecond
	a, err := rig.NewArena(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	res, err := rig.Execute(t.Context(), a, &rig.Run{Steps: []rig.Step{
		sh("cat /proc/net/dev | grep -c :"),
		interrupted,
		slow,
		sh("echo $HOME; pwd"),
		// Leaves a process behind in a separate session.
		sh("setsid sh -c 'echo $$ > " + rig.WordRecords + "/left; exec sleep 60' </dev/null >/dev/null 2>&1 &"),
		sh("echo " + rig.WordSession),
		said,
	}})
	if errors.Is(err, rig.ErrNoNamespace) {
		skip.Missing(t, "no run is possible here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(res.Steps))
	for i, s := range res.Steps {
		got[i] = strings.TrimSpace(s.Stdout)
	}
	want := []string{"1", "caught", "", a.Home + "\n" + a.Workspace, "", "", "are you"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output of the steps (-want +got):\n%s", diff)
	}
	if s := res.Steps[1]; s.ExitCode != 7 || !s.Signalled {
		t.Errorf("interrupted step: code %d, signalled %v, want 7, true", s.ExitCode, s.Signalled)
	}
	if s := res.Steps[2]; !s.TimedOut || s.Signal != "killed" {
		t.Errorf("slow step: timed out %v by signal %q, want true, killed", s.TimedOut, s.Signal)
	}
	if s := res.Steps[6]; s.ExitCode != 8 || !s.Signalled {
		t.Errorf("step that said what was waited for: code %d, signalled %v, want 8, true", s.ExitCode, s.Signalled)
	}
	if s := res.Steps[5]; !strings.Contains(s.Error, "cannot be ordered by age") {
		t.Errorf("a session where there are none: error %q", s.Error)
	}
	left, err := os.ReadFile(filepath.Join(a.Records, "left"))
	if err != nil {
		t.Fatal(err)
	}
	if pid := strings.TrimSpace(string(left)); len(res.Killed) != 1 || !strings.HasPrefix(res.Killed[0], pid+" sleep") {
		t.Errorf("killed %q, want the one process %s", res.Killed, pid)
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
			_, wrong := rig.Traces(tt.spans)
			got := strings.Join(wrong, "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Traces says %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompareTokens(t *testing.T) {
	t.Parallel()
	chat := func(id string, in, out int64) sink.Span {
		s := sink.Span{TraceID: "t", SpanID: id, ParentID: "r", Attrs: sink.Attrs{"gen_ai.operation.name": "chat"}}
		if in > 0 {
			s.Attrs["gen_ai.usage.input_tokens"], s.Attrs["gen_ai.usage.output_tokens"] = in, out
		}
		return s
	}
	root := func(in, out int64) sink.Span {
		return sink.Span{TraceID: "t", SpanID: "r", Attrs: sink.Attrs{"hookspan.usage.input_tokens": in, "hookspan.usage.output_tokens": out}}
	}
	want := []rig.Tokens{{Input: 10, Output: 1}, {Input: 20, Output: 2}}
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
			traces, _ := rig.Traces(tt.spans)
			if got := traces[0].CompareTokens(want, tt.lastOpen); len(got) != tt.wrong {
				t.Errorf("CompareTokens says %q, want %d lines", got, tt.wrong)
			}
		})
	}
}
