package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/copilot"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/bench/way"
)

// growthSizes are the numbers of events that are compared. The last may take so many
// times as long as the second: it is ten times as large.
var growthSizes = []int{1_000, 10_000, 30_000, 100_000}

const growthMostTimes = 15.0

// growthLongest is the time of one size after which no larger one is measured.
const growthLongest = 20 * time.Second

// growthTurns are the sizes of the sessions that are imported, in turns of six rows, and
// importTime and importPeak what the largest may need.
var growthTurns = []int{1_000, 2_000, 8_000, 16_000}

const (
	importTime = 10 * time.Second
	importPeak = 200 << 10 // KiB
)

// growing is one session whose events increase. measured returns the part that is timed.
type growing struct {
	name     string
	measured func(events int) func() error
}

func growingSessions(ctx context.Context, f *field) []growing {
	return []growing{
		{"spans, one run, tools only", mapped(oneRun, true)},
		{"spans, Claude Code, 4 events a turn", mapped(manyTurns, true)},
		{"spans, one turn of n/4 subagents", mapped(manyAgents, true)},
		{"runs, the same", mapped(manyAgents, false)},
		{"spans, ends that no start fits", mapped(unmatchedEnds, true)},
		{"spans, subagents that only the files name", mapped(unnamedAgents, true)},
		{"Copilot's reader, n/4 subagents", func(events int) func() error { return copilotFile(ctx, f, events) }},
		{"a delivery after an outage, n/22 turns", func(events int) func() error { return outage(ctx, f, events/22) }},
	}
}

// growth measures how the time of a session increases with its length, in processor time
// of this process, and imports sessions of many turns.
func growth(ctx context.Context, f *field, o options) (report, error) {
	var b strings.Builder
	b.WriteString("| what, ms |")
	for _, n := range growthSizes {
		fmt.Fprintf(&b, " %d |", n)
	}
	fmt.Fprintf(&b, " %d to %d |\n|---|--:|--:|--:|--:|--:|\n", growthSizes[3], growthSizes[1])
	worst, name := 0.0, ""
	for _, g := range growingSessions(ctx, f) {
		if !strings.Contains(g.name, o.only) {
			continue
		}
		took, err := g.times()
		if err != nil {
			return report{}, fmt.Errorf("%s: %w", g.name, err)
		}
		b.WriteString("| " + g.name + " |")
		for i := range growthSizes {
			if i < len(took) {
				fmt.Fprintf(&b, " %.0f |", took[i].Seconds()*1e3)
			} else {
				b.WriteString(" not measured |")
			}
		}
		times := growthMostTimes * 10
		if len(took) == len(growthSizes) {
			times = took[3].Seconds() / took[1].Seconds()
			fmt.Fprintf(&b, " %.1f |\n", times)
		} else {
			b.WriteString(" - |\n")
		}
		if times > worst {
			worst, name = times, g.name
		}
	}
	rows, slowest, peak, err := f.importTurns(ctx)
	if err != nil {
		return report{}, err
	}
	b.WriteString(rows)
	return report{text: b.String(), budgets: []budget{
		{
			what:  fmt.Sprintf("ten times the events take at most %g times the time", growthMostTimes),
			found: fmt.Sprintf("%.1f at worst, %s", worst, name), kept: worst <= growthMostTimes,
		},
		{
			what:  fmt.Sprintf("a session of %d turns is imported in %g s and %d MiB", growthTurns[3], importTime.Seconds(), importPeak>>10),
			found: fmt.Sprintf("%.2f s, %s MiB", slowest.Seconds(), mebi(peak)), kept: slowest <= importTime && peak <= importPeak,
		},
	}}, nil
}

// times are the best of three times of each size.
func (g *growing) times() ([]time.Duration, error) {
	var out []time.Duration
	for _, n := range growthSizes {
		best := time.Duration(1 << 62)
		for range 3 {
			do := g.measured(n)
			runtime.GC()
			begin := way.CPUTime()
			if err := do(); err != nil {
				return nil, err
			}
			if best = min(best, way.CPUTime()-begin); best > time.Second {
				break // long enough to be exact
			}
		}
		if out = append(out, best); best > growthLongest {
			break
		}
	}
	return out, nil
}

// sample is a session: what hooks reported, and the agent's files.
type sample struct {
	host   string
	events []hook.Event
	files  hook.Transcript
	now    time.Time
}

// add adds an event a second after the last.
func (s *sample) add(e hook.Event) {
	s.now = s.now.Add(time.Second)
	e.Host, e.Session, e.StoredAt = s.host, turnSession, s.now
	e.Offset, e.Hash = int64(len(s.events))*100, uint64(len(s.events))+1
	s.events = append(s.events, e)
}

func newSample(host string) *sample {
	return &sample{host: host, now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
}

func (s *sample) tool(kind hook.Kind, turn, name, id string, e hook.Event) {
	e.Kind, e.Turn = kind, turn
	e.Tool = &hook.Tool{ID: id, Name: name, Input: `{"path":"` + id + `"}`, Duration: hook.UnknownDuration}
	if kind == hook.KindToolEnd {
		e.Tool.Output = "text"
	}
	s.add(e)
}

// mapped maps the session that make gives; spans asks for its spans, not for its runs alone.
func mapped(build func(events int) *sample, spans bool) func(int) func() error {
	return func(events int) func() error {
		s := build(events)
		b := otelmap.NewBuilder(s.host, turnSession, otelmap.Options{Agent: agentstest.Mapping(s.host)}, otelmap.Carry{})
		for _, e := range s.events {
			b.Add(e)
		}
		return func() error {
			runs := b.Runs(s.now.Add(time.Hour))
			if len(runs) == 0 {
				return errors.New("no run")
			}
			for _, r := range runs {
				if !spans {
					break
				}
				for range b.Batches(r, &s.files)(512) {
				}
			}
			return nil
		}
	}
}

func oneRun(n int) *sample {
	s := newSample(hook.HostClaude)
	s.add(hook.Event{Kind: hook.KindPrompt, Turn: "p"})
	for i := range n / 2 {
		id := strconv.Itoa(i)
		s.tool(hook.KindToolStart, "p", "Read", id, hook.Event{})
		s.tool(hook.KindToolEnd, "p", "Read", id, hook.Event{})
	}
	s.add(hook.Event{Kind: hook.KindRunComplete, Turn: "p"})
	return s
}

func manyTurns(n int) *sample {
	s := newSample(hook.HostClaude)
	for i := range n / 4 {
		turn := "p" + strconv.Itoa(i)
		s.files.Prompts = append(s.files.Prompts, hook.Prompt{At: s.now, Text: "go on", Turn: turn})
		s.add(hook.Event{Kind: hook.KindPrompt, Turn: turn, Prompt: "go on"})
		s.request(turn, "", turn)
		s.tool(hook.KindToolStart, turn, "Read", turn, hook.Event{})
		s.tool(hook.KindToolEnd, turn, "Read", turn, hook.Event{})
		s.files.ToolResults = append(s.files.ToolResults, hook.ToolResult{ID: turn, Turn: turn, Name: "Read", Text: "text", Asked: s.now, At: s.now})
		s.request(turn, "")
		s.add(hook.Event{Kind: hook.KindRunComplete, Turn: turn})
		s.files.Ends = append(s.files.Ends, hook.TurnEnd{Turn: turn, At: s.now, Kind: hook.KindRunComplete})
	}
	return s
}

// request adds a request to the model that has just been answered.
func (s *sample) request(turn, agent string, asks ...string) {
	s.files.Requests = append(s.files.Requests, hook.Request{
		ID: "m" + strconv.Itoa(len(s.files.Requests)), Turn: turn, Agent: agent, Model: "m", Start: s.now, End: s.now.Add(time.Millisecond),
		Usage: &hook.Usage{Input: 1, Output: 1}, ToolCallIDs: asks,
	})
}

func manyAgents(n int) *sample {
	s := newSample(hook.HostClaude)
	s.add(hook.Event{Kind: hook.KindPrompt, Turn: "p", Prompt: "go on"})
	for i := range n / 4 {
		id := strconv.Itoa(i)
		agent := hook.Event{Kind: hook.KindRunStart, Turn: "p", Agent: "a" + id, ParentAgent: hook.ParentUnknown, AgentType: "Explore"}
		s.tool(hook.KindToolStart, "p", "Agent", id, hook.Event{})
		s.add(agent)
		s.request("p", agent.Agent)
		agent.Kind = hook.KindRunComplete
		s.add(agent)
		s.files.Agents = append(s.files.Agents, hook.Subagent{ID: agent.Agent, Type: "Explore", CallID: id, Turn: "p", Start: s.now.Add(-time.Second), End: s.now})
		s.tool(hook.KindToolEnd, "p", "Agent", id, hook.Event{})
	}
	s.add(hook.Event{Kind: hook.KindRunComplete, Turn: "p"})
	return s
}

func unmatchedEnds(n int) *sample {
	s := newSample(hook.HostGemini)
	s.add(hook.Event{Kind: hook.KindPrompt, Turn: "p", Prompt: "go on"})
	for range n / 2 {
		s.tool(hook.KindToolEnd, "p", "write_file", "", hook.Event{})
		s.tool(hook.KindToolStart, "p", "read_file", "", hook.Event{})
	}
	s.add(hook.Event{Kind: hook.KindRunComplete, Turn: "p"})
	return s
}

func unnamedAgents(n int) *sample {
	s := newSample(hook.HostGemini)
	s.add(hook.Event{Kind: hook.KindPrompt, Turn: "p", Prompt: "go on"})
	for i := range n / 4 {
		id, agent := strconv.Itoa(i), "a"+strconv.Itoa(i)
		s.files.ToolResults = append(s.files.ToolResults,
			hook.ToolResult{ID: id, Turn: "p", Name: "task", Input: `{"path":""}`, Asked: s.now, At: s.now.Add(3 * time.Second)},
			hook.ToolResult{ID: "in" + id, Agent: agent, Turn: "p", Name: "Read", Input: `{"path":""}`, Asked: s.now, At: s.now.Add(2 * time.Second)})
		s.tool(hook.KindToolStart, "p", "task", "", hook.Event{})
		s.tool(hook.KindToolStart, "p", "Read", "", hook.Event{})
		s.request("p", agent, "in"+id)
		s.tool(hook.KindToolEnd, "p", "Read", "", hook.Event{})
		s.files.Agents = append(s.files.Agents, hook.Subagent{ID: agent, Type: "task", CallID: id, Turn: "p", Start: s.now.Add(-time.Second), End: s.now})
		s.tool(hook.KindToolEnd, "p", "task", "", hook.Event{})
	}
	s.add(hook.Event{Kind: hook.KindRunComplete, Turn: "p"})
	return s
}

// copilotFile writes a session's file of Copilot CLI with many subagents and returns its
// reading.
func copilotFile(ctx context.Context, f *field, n int) func() error {
	home := filepath.Join(f.root, "copilot-"+strconv.Itoa(n))
	dir := filepath.Join(home, ".copilot", "session-state", turnSession)
	path := filepath.Join(dir, "events.jsonl")
	var b strings.Builder
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	row := func(kind, agent string, data map[string]any) {
		now = now.Add(time.Second)
		line, _ := json.Marshal(map[string]any{"type": kind, "agentId": agent, "timestamp": now.Format(time.RFC3339Nano), "data": data})
		b.Write(append(line, '\n'))
	}
	row("session.start", "", map[string]any{"sessionId": turnSession})
	row("user.message", "", map[string]any{"content": "go on"})
	for i := range n / 4 {
		id := strconv.Itoa(i)
		row("tool.execution_start", "", map[string]any{"toolCallId": id, "toolName": "task"})
		row("subagent.started", "a"+id, map[string]any{"toolCallId": id, "agentName": "task"})
		row("subagent.completed", "a"+id, map[string]any{"toolCallId": id, "agentName": "task"})
		row("tool.execution_complete", "", map[string]any{"toolCallId": id, "success": true})
	}
	err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte(b.String()), 0o600))
	files := &transcript.Files{Home: home, Now: func() time.Time { return now }}
	return func() error {
		if err != nil {
			return err
		}
		tr, err := files.Read(ctx, copilot.Agent, transcript.Query{Session: turnSession, Path: path})
		if err == nil && len(tr.Agents) != n/4 {
			err = fmt.Errorf("%d subagents were read, want %d", len(tr.Agents), n/4)
		}
		return err
	}
}

// outage returns the delivery of a session of Claude Code of which nothing was delivered.
func outage(ctx context.Context, f *field, turns int) func() error {
	dir, err := os.MkdirTemp(f.root, "outage")
	if err != nil {
		return func() error { return err }
	}
	s, err := newTurnBench(ctx, filepath.Join(dir, "s"), 0)
	for range turns {
		if err == nil {
			err = s.turn()
		}
	}
	return func() error {
		if err != nil {
			return err
		}
		return errors.Join(s.deliver(ctx, turns), s.close())
	}
}

// importTurns imports one session of each size. It returns the rows of the table and what
// the largest needed.
func (f *field) importTurns(ctx context.Context) (rows string, took time.Duration, peak int, err error) {
	var b strings.Builder
	b.WriteString("\n| an import of one session | s | CPU s | peak MiB |\n|---|--:|--:|--:|\n")
	for _, turns := range growthTurns {
		home := filepath.Join(f.root, "turns"+strconv.Itoa(turns))
		if err := writeTurns(filepath.Join(home, ".claude", "projects", "-p"), turns); err != nil {
			return "", 0, 0, err
		}
		c := &contestant{name: "import", dir: f.root, argv: []string{f.program("hookspan"), "import", "claude", "--to", "store", "--json"}}
		c.env = append(f.environ(home), "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_DATA_HOME="+filepath.Join(home, "data"), "HOOKSPAN_RETENTION=0")
		u, err := f.measured(ctx, c, nil, 10*longest)
		if err != nil {
			return "", 0, 0, err
		}
		var said struct{ Spans int }
		if err := json.Unmarshal(u.said, &said); err != nil || said.Spans != 4*turns {
			return "", 0, 0, fmt.Errorf("%d turns: said %.200q, want %d spans: %w", turns, u.said, 4*turns, err)
		}
		fmt.Fprintf(&b, "| %d turns of 6 rows | %.2f | %.2f | %s |\n", turns, u.took.Seconds(), u.cpu.Seconds(), mebi(u.peak))
		took, peak = u.took, u.peak
	}
	return b.String(), took, peak, nil
}

// writeTurns writes a session's file of turns with one call: six rows and four spans each.
func writeTurns(dir string, turns int) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, turnSession+".jsonl")
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	s := &turnBench{now: time.Now().Add(-time.Duration(turns)*3*time.Second - 2*time.Hour)}
	for i := 0; i < turns && err == nil; i++ {
		t := &turnWriter{s: s, transcript: w, session: turnSession, prompt: "prompt-" + strconv.Itoa(i), tools: 1, text: "a line of the file\n"}
		t.write()
		t.row("system", map[string]any{"subtype": "turn_duration"})
		err = t.err
	}
	return errors.Join(err, w.Flush(), file.Close(), os.Chtimes(path, s.now, s.now))
}
