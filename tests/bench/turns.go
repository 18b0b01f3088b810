package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
	"github.com/hookspan/hookspan/tests/bench/way"
)

// turnRounds is how many turns of each age are measured.
const turnRounds = 100

// ages are the numbers of the turns that are compared. The first stands apart: it
// makes what the later ones find made.
var ages = []int{1, 2, 200, 1000}

// turns delivers sessions of Claude Code of several ages into the local store, one
// turn each alternately, log and transcript growing as they would, and compares what
// a late turn costs with what an early one does. A turn is ten tools and eleven
// requests, 40 KB of transcript.
func turns(ctx context.Context, f *field, _ options) (report, error) {
	took, cpu := make([][]time.Duration, len(ages)), make([][]time.Duration, len(ages))
	sessions := make([]*turnBench, len(ages))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				_ = s.close()
			}
		}
	}()
	for round := range turnRounds {
		for i, age := range ages {
			if age == 1 && sessions[i] != nil {
				if err := sessions[i].close(); err != nil {
					return report{}, err
				}
				sessions[i] = nil
			}
			if sessions[i] == nil {
				s, err := newTurnBench(ctx, filepath.Join(f.root, fmt.Sprintf("turn%d-%d", age, round)), age-1)
				if err != nil {
					return report{}, err
				}
				sessions[i] = s
			}
			s := sessions[i]
			if err := s.turn(); err != nil {
				return report{}, err
			}
			begin, used := time.Now(), way.CPUTime()
			if err := s.deliver(ctx, 1); err != nil {
				return report{}, err
			}
			took[i], cpu[i] = append(took[i], time.Since(begin)), append(cpu[i], way.CPUTime()-used)
		}
	}
	return turnsReport(took, cpu), nil
}

func turnsReport(took, cpu [][]time.Duration) report {
	var b strings.Builder
	b.WriteString("| turn | p50 ms | p95 ms | CPU ms, p50 | p50 to turn 2 and after |\n|---|--:|--:|--:|--:|\n")
	early := quantile(took[1], 0.5).Seconds()
	last := 0.0
	for i, age := range ages {
		name := fmt.Sprintf("%d to %d", age, age+turnRounds-1)
		if age == 1 {
			name = "1"
		}
		last = quantile(took[i], 0.5).Seconds() / early
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f |\n", name, millis(quantile(took[i], 0.5)), millis(quantile(took[i], 0.95)), millis(quantile(cpu[i], 0.5)), last)
	}
	// Both wait for the disk, which others may be using.
	used := quantile(cpu[len(ages)-1], 0.5).Seconds() / quantile(cpu[1], 0.5).Seconds()
	return report{text: b.String(), budgets: []budget{{
		what: "task 1,000 of a session costs within 10 % of what the first but one does", found: fmt.Sprintf("%.2f times, %.2f by processor time", last, used),
		kept: last <= 1.1, busy: quantile(took[1], 0.95) > 3*quantile(took[1], 0.5),
	}}}
}

// eventTime is how long a hook's event takes.
const eventTime = 10 * time.Millisecond

// turnBench is a session that continues.
type turnBench struct {
	d          *deliver.Deliverer
	spool      *spool.Spool
	transcript string
	store      *store.Store
	now        time.Time
	turns      int
	rows       int
}

// turnTools is how many tools a turn has.
const turnTools = 10

const turnSession = "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17"

// newTurnBench makes a session that has so many turns behind it.
func newTurnBench(ctx context.Context, dir string, before int) (_ *turnBench, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	s := &turnBench{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), transcript: filepath.Join(dir, turnSession+".jsonl")}
	if s.spool, err = spool.Open(filepath.Join(dir, "spool"), spool.Options{}); err != nil {
		return nil, err
	}
	if s.store, err = store.Open(ctx, filepath.Join(dir, "traces.db")); err != nil {
		return nil, errors.Join(err, s.spool.Close())
	}
	files := &transcript.Files{Home: dir, Now: func() time.Time { return s.now }}
	s.d = &deliver.Deliverer{
		Spool: s.spool, Map: otelmap.Options{},
		Destinations: []deliver.Destination{{Name: "store", Client: s.store, Local: true, Batch: 512}},
		Now:          func() time.Time { return s.now },
		Sleep:        func(_ context.Context, d time.Duration) error { s.now = s.now.Add(d); return nil },
		Sources: map[string]deliver.Source{hook.HostClaude: {
			Decode: func(r *spool.Record) ([]hook.Event, error) {
				return claude.Decode(claude.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd})
			},
			Transcript: func(ctx context.Context, session string, f deliver.Facts) (*hook.Transcript, error) {
				return files.Read(ctx, claudefiles.Agent, transcript.Query{Session: session, Path: f.Transcript, Since: f.Since, Until: f.Until})
			},
		}},
	}
	for range before {
		if err == nil {
			err = s.turn()
		}
	}
	if err == nil && before > 0 {
		err = s.deliver(ctx, before)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *turnBench) close() error { return errors.Join(s.store.Close(), s.spool.Close()) }

// deliver is what a hook starts at a turn's end; so many are due.
func (s *turnBench) deliver(ctx context.Context, turns int) error {
	s.now = s.now.Add(5 * time.Second)
	res, err := s.d.Run(ctx, deliver.Pass{Sessions: []spool.Key{spool.SessionKey(hook.HostClaude, turnSession)}})
	if err == nil && (res[0].Runs != turns || res[0].Spans != 22*turns) {
		err = fmt.Errorf("turn %d: delivered %d runs and %d spans, want %d and %d", s.turns, res[0].Runs, res[0].Spans, turns, 22*turns)
	}
	return err
}

// turn adds a turn to log and transcript.
func (s *turnBench) turn() (err error) {
	s.turns++
	f, err := os.OpenFile(s.transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	defer func() { err = errors.Join(err, w.Flush(), f.Close()) }()
	t := &turnWriter{s: s, transcript: w, session: turnSession, tools: turnTools, prompt: fmt.Sprintf("prompt-%d", s.turns), text: strings.Repeat("a line of the file\n", 100)}
	t.write()
	return t.err
}

// turnWriter writes one turn. After the first error it does nothing.
type turnWriter struct {
	s          *turnBench
	transcript *bufio.Writer
	session    string
	prompt     string
	// tools is the number of tool calls.
	tools int
	// text is what each tool answers.
	text string
	// wrote counts the transcript's bytes.
	wrote int64
	err   error
}

// row adds a line to the transcript.
func (t *turnWriter) row(kind string, more map[string]any) {
	more["type"], more["sessionId"], more["timestamp"] = kind, t.session, t.s.now.Format("2006-01-02T15:04:05.000Z")
	more["version"], more["uuid"] = "2.1.329", fmt.Sprintf("%s-%d", t.prompt, t.s.rows)
	t.s.rows++
	line, err := json.Marshal(more)
	if err == nil {
		_, err = t.transcript.Write(append(line, '\n'))
		t.wrote += int64(len(line)) + 1
	}
	t.err = errors.Join(t.err, err)
}

// answer adds a request's answer to the transcript.
func (t *turnWriter) answer(i int, block map[string]any, stop string) {
	t.row("assistant", map[string]any{"requestId": fmt.Sprintf("req-%s-%d", t.prompt, i), "message": map[string]any{
		"id": fmt.Sprintf("msg-%s-%d", t.prompt, i), "role": "assistant", "model": "claude-opus-5-5", "stop_reason": stop,
		"content": []any{block}, "usage": map[string]int{"input_tokens": 3, "output_tokens": 40, "cache_read_input_tokens": 900},
	}})
}

// event adds a record to the log, if there is one.
func (t *turnWriter) event(name string, more map[string]any) {
	t.s.now = t.s.now.Add(eventTime)
	if t.s.spool == nil {
		return
	}
	more["session_id"], more["prompt_id"], more["hook_event_name"] = t.session, t.prompt, name
	more["transcript_path"], more["cwd"] = t.s.transcript, "/p"
	payload, err := json.Marshal(more)
	if err == nil {
		err = t.s.spool.Append(&spool.Record{Host: hook.HostClaude, Session: t.session, Event: name, At: t.s.now, Payload: payload})
	}
	t.err = errors.Join(t.err, err)
}

func (t *turnWriter) write() {
	t.event("UserPromptSubmit", map[string]any{"prompt": "go on"})
	t.row("user", map[string]any{"promptId": t.prompt, "promptSource": "typed", "message": map[string]any{"role": "user", "content": "go on"}})
	for i := range t.tools {
		t.s.now = t.s.now.Add(time.Second)
		id := fmt.Sprintf("toolu-%s-%d", t.prompt, i)
		input := map[string]string{"file_path": "/p/main.go"}
		t.answer(i, map[string]any{"type": "tool_use", "id": id, "name": "Read", "input": input}, "tool_use")
		t.event("PreToolUse", map[string]any{"tool_name": "Read", "tool_use_id": id, "tool_input": input})
		t.event("PostToolUse", map[string]any{"tool_name": "Read", "tool_use_id": id, "tool_input": input, "tool_response": map[string]any{"file": map[string]string{"content": t.text}}})
		t.row("user", map[string]any{"promptId": t.prompt, "message": map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": id, "content": t.text},
		}}})
	}
	t.s.now = t.s.now.Add(time.Second)
	t.answer(t.tools, map[string]any{"type": "text", "text": "done"}, "end_turn")
	t.event("Stop", map[string]any{"stop_hook_active": false, "last_assistant_message": "done"})
	t.row("system", map[string]any{"subtype": "stop_hook_summary", "hookErrors": []string{}})
}
