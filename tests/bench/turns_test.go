package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/llmusage"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// BenchmarkTurn delivers a session of Claude Code turn by turn into the local
// store, log and transcript growing as they would, and compares what a late turn
// costs with what an early one does: each is the median of ten in a row.
//
// A turn is ten tools and eleven requests, 40 KB of transcript.
func BenchmarkTurn(b *testing.B) {
	const turns, of = 1000, 10
	var early, at200, late []float64
	for b.Loop() {
		b.StopTimer()
		s := newTurnBench(b)
		took := make([]time.Duration, turns+of)
		for i := range took {
			s.turn(b, i)
			b.StartTimer()
			begin := time.Now()
			s.deliver(b)
			took[i] = time.Since(begin)
			b.StopTimer()
		}
		early = append(early, median(took[1:1+of]))
		at200 = append(at200, median(took[199:199+of]))
		late = append(late, median(took[turns-1:turns-1+of]))
		b.StartTimer()
	}
	slices.Sort(early)
	slices.Sort(at200)
	slices.Sort(late)
	mid := len(early) / 2
	b.ReportMetric(early[mid]*1e3, "ms/turn2")
	b.ReportMetric(at200[mid]/early[mid], "turn200/turn2")
	b.ReportMetric(late[mid]/early[mid], "turn1000/turn2")
}

func median(d []time.Duration) float64 { return quantile(slices.Clone(d), 0.5).Seconds() }

// turnBench is a session that goes on.
type turnBench struct {
	d          *deliver.Deliverer
	spool      *spool.Spool
	transcript string
	now        time.Time
	turns      int
}

const turnSession = "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17"

func newTurnBench(b *testing.B) *turnBench {
	b.Helper()
	dir := b.TempDir()
	sp, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sp.Close() })
	st, err := store.Open(b.Context(), filepath.Join(dir, "traces.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	s := &turnBench{
		spool: sp, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		transcript: filepath.Join(dir, turnSession+".jsonl"),
	}
	files := &llmusage.Finder{Home: dir, Now: func() time.Time { return s.now }}
	s.d = &deliver.Deliverer{
		Spool: sp, Map: otelmap.Options{},
		Destinations: []deliver.Destination{{Name: "store", Exporter: st, Local: true, Batch: 512}},
		Now:          func() time.Time { return s.now },
		Sleep:        func(_ context.Context, d time.Duration) error { s.now = s.now.Add(d); return nil },
		Sources: map[string]deliver.Source{claude.Host: {
			Decode: func(r *spool.Record) ([]hook.Event, error) {
				return claude.Decode(claude.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd})
			},
			Transcript: func(ctx context.Context, session string, f deliver.Facts) (*hook.Transcript, error) {
				return files.Claude(ctx, llmusage.ClaudeQuery{Session: session, Path: f.Transcript, Since: f.Since})
			},
		}},
	}
	return s
}

// deliver is what a hook starts at a turn's end.
func (s *turnBench) deliver(b *testing.B) {
	s.now = s.now.Add(5 * time.Second)
	res, err := s.d.Run(b.Context(), deliver.Pass{Sessions: []spool.Key{spool.SessionKey(claude.Host, turnSession)}})
	if err != nil || res[0].Runs != 1 || res[0].Spans != 22 {
		b.Fatalf("%+v, %v", res, err)
	}
}

// turn adds a turn to log and transcript.
func (s *turnBench) turn(b *testing.B, n int) {
	f, err := os.OpenFile(s.transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	prompt := fmt.Sprintf("prompt-%d", n)
	text := strings.Repeat("a line of the file\n", 100)
	row := func(kind string, more map[string]any) {
		more["type"], more["sessionId"], more["timestamp"] = kind, turnSession, s.now.Format("2006-01-02T15:04:05.000Z")
		more["version"], more["uuid"] = "2.1.329", fmt.Sprintf("%s-%d", prompt, s.turns)
		s.turns++
		line, err := json.Marshal(more)
		if err == nil {
			_, err = f.Write(append(line, '\n'))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	answer := func(i int, block map[string]any, stop string) {
		row("assistant", map[string]any{"requestId": fmt.Sprintf("req-%d-%d", n, i), "message": map[string]any{
			"id": fmt.Sprintf("msg-%d-%d", n, i), "role": "assistant", "model": "claude-opus-5-5", "stop_reason": stop,
			"content": []any{block}, "usage": map[string]int{"input_tokens": 3, "output_tokens": 40, "cache_read_input_tokens": 900},
		}})
	}
	event := func(name string, more map[string]any) {
		more["session_id"], more["prompt_id"], more["hook_event_name"] = turnSession, prompt, name
		more["transcript_path"], more["cwd"] = s.transcript, "/p"
		payload, err := json.Marshal(more)
		if err == nil {
			err = s.spool.Append(&spool.Record{Host: claude.Host, Session: turnSession, Event: name, At: s.now, Payload: payload})
		}
		if err != nil {
			b.Fatal(err)
		}
		s.now = s.now.Add(10 * time.Millisecond)
	}
	event("UserPromptSubmit", map[string]any{"prompt": "go on"})
	row("user", map[string]any{"promptId": prompt, "promptSource": "typed", "message": map[string]any{"role": "user", "content": "go on"}})
	for i := range 10 {
		s.now = s.now.Add(time.Second)
		id := fmt.Sprintf("toolu-%d-%d", n, i)
		input := map[string]string{"file_path": "/p/main.go"}
		answer(i, map[string]any{"type": "tool_use", "id": id, "name": "Read", "input": input}, "tool_use")
		event("PreToolUse", map[string]any{"tool_name": "Read", "tool_use_id": id, "tool_input": input})
		event("PostToolUse", map[string]any{"tool_name": "Read", "tool_use_id": id, "tool_input": input, "tool_response": map[string]any{"file": map[string]string{"content": text}}})
		row("user", map[string]any{"promptId": prompt, "message": map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "tool_result", "tool_use_id": id, "content": text},
		}}})
	}
	s.now = s.now.Add(time.Second)
	answer(10, map[string]any{"type": "text", "text": "done"}, "end_turn")
	event("Stop", map[string]any{"stop_hook_active": false, "last_assistant_message": "done"})
	row("system", map[string]any{"subtype": "stop_hook_summary", "hookErrors": []string{}})
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
