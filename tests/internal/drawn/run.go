package drawn

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

var (
	number = flag.Int("drawn", -1, "draw this many sessions")
	first  = flag.Uint64("seed", 1, "the seed of the first drawn session; the others follow")
)

// soaked is how many sessions of an agent the long form draws.
const soaked = 200

// Host is an agent to be put through drawn sessions.
type Host struct {
	// Agent is the name by which hookspan knows it.
	Agent string
	// Bin is the folder of hookspan's programs.
	Bin string
	// Short is how many sessions the short form draws.
	Short int
	// Subagents reports that the agent has subagents for whose end it waits.
	Subagents bool
	// Prompt is the process that submits prompt i of a session.
	Prompt func(s *Session, i int) rig.Step
	// Play executes the steps in dir with hookspan installed and a model that plays the
	// session. The log's requests have their index in the answers of their part.
	Play func(t *testing.T, dir string, s *Session, steps []rig.Step) *rig.Result
	// Say changes a story of the truth to what the agent lets be known; may be nil.
	// imported is set for what its own files say.
	Say func(s *Story, imported bool)
	// Open reports that the agent's files do not say that a run with this outcome has
	// ended, so that an import may leave it out where no other prompt follows; may be nil.
	Open func(outcome string) bool
	// Forgets changes a story of the truth to what the agent's files still say of it when
	// another prompt has followed; may be nil.
	Forgets func(s *Story)
	// Removes reports that the agent removes a session's file in which no prompt was
	// answered when it starts again.
	Removes bool

	// found counts the planted changes that were found, by what they change.
	found map[string]int
}

// Run draws sessions, one after the other, and puts the agent through them.
func (h *Host) Run(t *testing.T) {
	t.Helper()
	n := h.Short
	switch {
	case *number >= 0:
		n = *number
	case proof.Soak():
		n = soaked
	}
	h.found = make(map[string]int)
	if n == 0 {
		skip.Elsewhere(t, "draws sessions of %s; make soak does", h.Agent)
	}
	for i := range uint64(n) { //nolint:gosec // Not negative.
		t.Run(fmt.Sprintf("seed %d", *first+i), func(t *testing.T) { h.session(t, *first+i) })
	}
	t.Logf("planted changes that were found: %v", h.found)
	for name := range planted {
		if n >= soaked && h.found[name] == 0 && (h.Subagents || name != ofSubagent) {
			t.Errorf("%s: planted in none of %d sessions", name, n)
		}
	}
}

// delivered waits until hookspan has a trace of each prompt: a turn of which no hook
// reports the end needs a later look.
const delivered = `for i in $(seq 60); do "$1" flush --wait >&2; [ "$("$1" list --all --json | grep '"outcome":' | grep -vc '"running"')" -ge "$2" ] && exit; sleep 0.3; done; exit 1`

// Delivered is a step that ends when hookspan has so many traces of runs that have ended.
func Delivered(bin string, traces int) rig.Step {
	return rig.Step{Program: []string{"sh", "-c", delivered, "sh", filepath.Join(bin, "hookspan")}, Args: []string{fmt.Sprint(traces)}, Timeout: stepLimit}
}

// stepLimit ends a prompt, and the wait for the traces, that hang: on a busy machine an agent
// takes minutes to start.
const stepLimit = 6 * time.Minute

// session puts the agent through the session of a seed.
func (h *Host) session(t *testing.T, seed uint64) {
	s := Draw(seed, h.Subagents)
	dir := t.ArtifactDir()
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(h.Bin, "hookspan")}, Args: args}
	}
	elsewhere := func(args ...string) rig.Step {
		step, other := hookspan(args...), filepath.Join(dir, "elsewhere")
		step.Env = map[string]string{"XDG_STATE_HOME": other, "XDG_CONFIG_HOME": other}
		return step
	}
	var steps []rig.Step
	for i := range s.Prompts {
		step := h.Prompt(s, i)
		step.Signal = &rig.Signal{Number: syscall.SIGINT, When: rig.Condition{Mark: true}}
		step.Timeout = stepLimit
		steps = append(steps, step)
	}
	wait := Delivered(h.Bin, len(s.Prompts))
	verify := []string{"verify", "--all"}
	if !h.Removes {
		verify = append(verify, "--strict") // a trace that cannot be verified is a difference
	}
	res := h.Play(t, dir, s, append(steps, wait, hookspan(verify...), elsewhere("import", h.Agent, "--json"), elsewhere("export", "--all", "--format", "otlp")))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("session %+v", *s)
			res.Report(t, nil)
		}
	})
	for i, step := range res.Steps[:len(s.Prompts)] {
		// An agent tells an editor that a prompt failed. What one that was cut off did not do says nothing.
		if step.TimedOut || step.Error != "" && steps[i].ACP == nil {
			t.Fatalf("prompt %d: timed out %v, %s", i, step.TimedOut, step.Error)
		}
	}
	own := res.Steps[len(s.Prompts):]
	for i, name := range []string{"delivery", strings.Join(verify, " "), "import"} {
		if own[i].ExitCode != 0 {
			t.Errorf("%s ended with code %d: %s\n%s%s", name, own[i].ExitCode, own[i].Error, own[i].Stdout, own[i].Stderr)
		}
	}
	if len(res.Requests) == 0 {
		t.Error("the agent has asked the model nothing")
	}
	for _, stray := range res.Strays {
		t.Errorf("the receivers got what they do not take: %s", stray)
	}
	f := &facts{Session: s, Log: res.Requests, Steps: res.Steps}
	h.compare(t, f, res.Spans, false)
	var imported []sink.Span
	if err := error(nil); own[3].ExitCode == 0 {
		if imported, err = sink.Decode([]byte(own[3].Stdout)); err != nil {
			t.Errorf("export of what was imported: %v", err)
		}
	} else if !strings.Contains(own[3].Stderr, "nothing was written") {
		t.Errorf("export of what was imported ended with code %d: %s\n%s", own[3].ExitCode, own[3].Error, own[3].Stderr)
	}
	h.compare(t, f, imported, true)
}

// compare compares the truth with the traces, and looks that it finds what is planted.
func (h *Host) compare(t *testing.T, f *facts, spans []sink.Span, imported bool) {
	t.Helper()
	from := "hooks"
	if imported {
		from = "import"
	}
	traces, wrong := rig.Traces(spans)
	got := make([]Story, len(traces))
	for i, trace := range traces {
		got[i] = Read(f.Session, trace)
		wrong = append(wrong, miscounted(trace)...)
	}
	for _, w := range append(wrong, h.differ(f.truth(), got, imported)...) {
		t.Errorf("by the %s: %s", from, w)
	}
	if t.Failed() {
		return
	}
	if diff := cmp.Diff(f.truth(), f.clone().truth()); diff != "" {
		t.Errorf("a copy of the truth without a change (-want +got):\n%s", diff)
	}
	for name, plant := range planted {
		other := f.clone()
		if !plant(other) || cmp.Equal(h.said(f.truth(), got, imported), h.said(other.truth(), got, imported)) {
			continue // The agent's own files would not show it either.
		}
		if len(h.differ(other.truth(), got, imported)) == 0 {
			t.Errorf("by the %s: not found: %s", from, name)
			continue
		}
		h.found[name]++
	}
}

// said are the stories as the agent lets them be known, without those that its files
// leave open and that got lacks.
func (h *Host) said(want, got []Story, imported bool) (out []Story) {
	answered := !h.Removes
	for i, s := range want {
		answered = answered || len(s.Requests) > 0
		open := (i == len(want)-1 || !answered) && imported && h.Open != nil && h.Open(s.Outcome)
		if h.Say != nil {
			h.Say(&s, imported)
		}
		if h.Forgets != nil && imported && i < len(want)-1 {
			h.Forgets(&s)
		}
		if len(s.Calls) == 0 {
			s.Calls = nil // as in a trace without calls
		}
		if open && !slices.ContainsFunc(got, func(g Story) bool { return g.Prompt == s.Prompt }) {
			continue
		}
		out = append(out, s)
	}
	return out
}

// differ returns what differs, one text each.
func (h *Host) differ(want, got []Story, imported bool) (wrong []string) {
	want = h.said(want, got, imported)
	if len(want) != len(got) {
		wrong = append(wrong, fmt.Sprintf("%d traces, want %d", len(got), len(want)))
	}
	for i := range min(len(want), len(got)) {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			wrong = append(wrong, fmt.Sprintf("prompt %d (-want +got):\n%s", i, strings.ReplaceAll(diff, "\u00a0", " ")))
		}
	}
	return wrong
}
