package otelmap

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
)

// worker is an agent of a drawn session: the lead of a terminal, or a subagent.
type worker struct {
	// turn is the turn that it works for, "" while it rests. busy is the call in progress.
	id, turn, busy string
	// background says that it works on when its turn ends, killed that its program ended.
	terminal           int
	background, killed bool
}

// drawn is a session of several terminals, with what its hooks report and its files hold.
type drawn struct {
	t      *rapid.T
	now    float64
	events []hook.Event
	tr     hook.Transcript
	// requests and calls are their ids.
	requests, calls []string
	leads           []*worker
	agents          []*worker
	turns           int
	// open says which terminals run.
	open []bool
}

func (d *drawn) at() time.Time { return epoch.Add(time.Duration(d.now * float64(time.Second))) }

func (d *drawn) pick(name string, of ...int) int { return rapid.SampledFrom(of).Draw(d.t, name) }

func (d *drawn) add(w *worker, e hook.Event) {
	if w.id != "" {
		e = asAgent(e, w.id, "Explore")
	}
	e.Hash = uint64(len(d.events)) + 1
	d.events = append(d.events, e)
	d.now += 0.01
}

// work has a worker ask its model, and then call a tool or end a call.
func (d *drawn) work(w *worker) {
	if w.busy == "" {
		id := "m" + strconv.Itoa(len(d.requests))
		begin := d.at()
		d.now += 0.3
		c := hook.Request{ID: id, Turn: w.turn, Agent: w.id, Model: "m", Start: begin, End: d.at(), Usage: &hook.Usage{Input: 1}}
		d.requests = append(d.requests, id)
		d.now += 0.01
		w.busy = "c" + strconv.Itoa(len(d.calls))
		d.calls = append(d.calls, w.busy)
		c.ToolCallIDs = []string{w.busy}
		d.tr.Requests = append(d.tr.Requests, c)
		d.add(w, turnTool(d.now, hook.KindToolStart, w.turn, "Read", w.busy))
		return
	}
	d.now += 0.2
	d.tr.ToolResults = append(d.tr.ToolResults, hook.ToolResult{
		ID: w.busy, Agent: w.id, Turn: w.turn, Name: "Read", Input: `{"path":"` + w.busy + `"}`, Asked: d.at().Add(-200 * time.Millisecond), At: d.at(),
	})
	if d.pick("lost", 0, 0, 0, 0, 1) == 0 {
		d.add(w, turnTool(d.now, hook.KindToolEnd, w.turn, "Read", w.busy))
	}
	w.busy = ""
}

// begin has a subagent work for a turn, as a new one or sent on.
func (d *drawn) begin(w *worker, lead *worker) {
	w.turn, w.busy, w.terminal, w.killed = lead.turn, "", lead.terminal, false
	w.background = d.pick("background", 0, 1) == 1
	e := turnEv(d.now, hook.KindRunStart, w.turn)
	d.add(w, e)
}

func (d *drawn) end(w *worker) {
	if w.busy != "" {
		d.work(w)
	}
	e := turnEv(d.now, hook.KindRunComplete, w.turn)
	e.Result = "did it"
	d.add(w, e)
	w.turn = ""
}

// stop ends a lead's turn, with the subagents that it waits for.
func (d *drawn) stop(lead *worker) {
	for _, w := range d.agents {
		if w.turn == lead.turn && !w.background {
			d.end(w)
		}
	}
	if lead.busy != "" {
		d.work(lead)
	}
	d.add(lead, turnStop(d.now, lead.turn))
	lead.turn = ""
}

// quit ends a terminal's program, with all that works in it.
func (d *drawn) quit(lead *worker, turn string) {
	d.add(lead, turnEv(d.now, hook.KindSessionEnd, turn))
	for _, w := range append(d.agents, lead) {
		if w.terminal == lead.terminal && w.turn != "" {
			w.turn, w.busy, w.killed = "", "", true
		}
	}
	d.open[lead.terminal] = false
}

func (d *drawn) step() {
	pause := rapid.SampledFrom([]float64{0.01, 0.4, 1.5, 4, 30, 4000}).Draw(d.t, "pause")
	for _, w := range append(d.leads, d.agents...) {
		// A call that takes longer than a run may be silent is in both parts of it.
		if pause > 1000 && w.busy != "" {
			d.work(w)
		}
	}
	d.now += pause
	lead := rapid.SampledFrom(d.leads).Draw(d.t, "terminal")
	if !d.open[lead.terminal] {
		d.open[lead.terminal] = true
		d.add(lead, session(d.now, "resume", "m"))
		return
	}
	if lead.turn == "" || d.pick("next", 0, 0, 0, 0, 0, 0, 1) == 1 {
		// A turn that is still open was interrupted, with the agents that it waits for.
		for _, w := range d.agents {
			if w.turn == lead.turn && lead.turn != "" && !w.background {
				w.turn, w.killed = "", true
			}
		}
		d.turns++
		lead.turn, lead.busy = "p"+strconv.Itoa(d.turns), ""
		d.tr.Prompts = append(d.tr.Prompts, hook.Prompt{At: d.at(), Text: "do", Turn: lead.turn})
		d.add(lead, turnPrompt(d.now, lead.turn))
		return
	}
	who := rapid.SampledFrom(d.agents).Draw(d.t, "agent")
	switch d.pick("what", 0, 0, 0, 1, 1, 2, 2, 3, 4) {
	case 0:
		d.work(lead)
	case 1:
		switch {
		case who.turn == "" && lead.busy == "":
			d.begin(who, lead)
		case who.turn != "":
			d.work(who)
		}
	case 2:
		if who.turn != "" && d.pick("ends", 0, 1) == 1 {
			d.end(who)
		} else if who.turn != "" {
			d.work(who)
		}
	case 3:
		d.stop(lead)
	case 4:
		d.quit(lead, lead.turn)
	}
}

// drawSession draws a session of one to three terminals, whose subagents are sent on, work in
// the background, are killed, resumed and silent.
func drawSession(t *rapid.T) *drawn {
	d := &drawn{t: t}
	for i := range rapid.IntRange(1, 3).Draw(t, "terminals") {
		d.leads = append(d.leads, &worker{terminal: i})
		d.open = append(d.open, false)
	}
	for _, id := range []string{"x", "y"} {
		d.agents = append(d.agents, &worker{id: id})
	}
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		d.step()
	}
	d.events = logged(d.events...)
	return d
}

// TestEachRequestAndCallIsInOneRun has sessions of several terminals whose subagents are sent
// on, interrupted and killed: each request to the model, and each call, is in exactly one
// trace.
func TestEachRequestAndCallIsInOneRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawSession(rt)
		b := buildTurns(Carry{}, d.events)
		seen := make(map[string]int)
		for _, r := range b.Runs(d.at().Add(time.Hour)) {
			for _, s := range spansOf(b, r, &d.tr)[1:] {
				seen[value(s, KeyResponseID)]++
				seen[value(s, KeyToolCallID)]++
			}
		}
		for _, id := range append(d.requests, d.calls...) {
			if seen[id] != 1 {
				rt.Errorf("%s is %d times in the traces\n%s", id, seen[id], d)
			}
		}
	})
}

// TestReadingFromABoundaryGivesTheSameFiles is TestReadingTurnsFromABoundaryGivesTheSameRuns
// for such sessions, with the agent's files.
func TestReadingFromABoundaryGivesTheSameFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawSession(rt)
		defer func() {
			if rt.Failed() {
				rt.Logf("%s", d)
			}
		}()
		readOnFiles(rt, d.events, &d.tr, d.at().Add(time.Hour), buildTurns)
	})
}

// String lists the events.
func (d *drawn) String() string {
	var b strings.Builder
	for _, e := range d.events {
		fmt.Fprintf(&b, "%9.2f %s turn %q agent %q", e.StoredAt.Sub(epoch).Seconds(), e.Kind, e.Turn, e.Agent)
		if e.Tool != nil {
			b.WriteString(" " + e.Tool.ID)
		}
		b.WriteByte('\n')
	}
	for _, c := range d.tr.Requests {
		fmt.Fprintf(&b, "%9.2f to %.2f request %s turn %q agent %q\n", c.Start.Sub(epoch).Seconds(), c.End.Sub(epoch).Seconds(), c.ID, c.Turn, c.Agent)
	}
	return b.String()
}

// TestAnAgentThatWorksOnTakesNoRequestOfTheLead has an agent work on for a turn that the next
// prompt has interrupted: what the lead asked its model before belongs to the interrupted part,
// also if that is before the place where reading began.
func TestAnAgentThatWorksOnTakesNoRequestOfTheLead(t *testing.T) {
	events := logged(
		turnPrompt(0, "p1"), asAgent(turnEv(0.1, hook.KindRunStart, "p1"), "x", "Explore"),
		turnTool(0.5, hook.KindToolStart, "p1", "Read", "c0"), turnTool(0.6, hook.KindToolEnd, "p1", "Read", "c0"),
		turnPrompt(1, "p2"), turnStop(2, "p2"),
		asAgent(turnTool(3, hook.KindToolStart, "p1", "Read", "c1"), "x", "Explore"), turnPrompt(4, "p3"),
	)
	at := func(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }
	tr := &hook.Transcript{Requests: []hook.Request{{ID: "m0", Turn: "p1", Model: "m", Start: at(0.2), End: at(0.4), Usage: &hook.Usage{Input: 1}}}}
	later := func(from int, c Carry) string {
		b := buildTurns(c, events[from:])
		for _, r := range b.Runs(at(3600)) {
			if r.later {
				return fmt.Sprint(plain(b.Spans(r, tr)))
			}
		}
		return ""
	}
	b := buildTurns(Carry{}, events)
	runs := b.Runs(at(3600))
	from, carry := b.Boundary(func(id RunID) bool { return id == runs[0].ID || id == runs[1].ID }, int64(len(events)*100))
	if want, got := later(0, Carry{}), later(int(from/100), carry); from == 0 || want == "" || got != want {
		t.Errorf("from the boundary %d (-whole +rest):\n%s", from, gocmp.Diff(want, got))
	}
}
