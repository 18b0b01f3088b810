package fault_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/testkit/otlptest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// lateRows draw what happens to a session whose events are stored late.
var lateRows = []proof.Row{{
	Name:  "drawn histories: late events, refusals, keys that change, deletions, and SIGKILL at random system calls of deliveries",
	Rule:  "each destination has each span as the whole log gives it, the store once, but for what was deleted",
	Short: 6, Long: 300,
	Run: lateHistories,
}}

// lateHistory is a session of Claude Code's by real programs. late are events that are held back.
type lateHistory struct {
	*lab.World
	t       *testing.T
	rnd     *rand.Rand
	turns   int
	late    []string
	key     string
	deleted map[string]bool
	// calls are those of a delivery, from which the one to be killed at is drawn.
	calls map[string]int
	kills *atomic.Int64
}

func lateHistories(t *testing.T, r *proof.Result) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	var kills atomic.Int64
	t.Run("in", func(t *testing.T) {
		for i := range r.N {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				h := &lateHistory{
					World: lab.New(t, "HOOKSPAN_EXPORTERS=store,otlp,file"), t: t, deleted: make(map[string]bool), kills: &kills,
					rnd: rand.New(rand.NewPCG(uint64(i), 48)), key: "a", //nolint:gosec // No secret hangs on it.
				}
				for range 8 + h.rnd.IntN(10) {
					h.step()
				}
				h.end(r)
				r.Trial(1)
			})
		}
	})
	r.Note("%d deliveries were killed", kills.Load())
}

// give stores events by hooks under the key of now.
func (h *lateHistory) give(payloads ...string) {
	h.HoldSweeps()
	for _, p := range payloads {
		cmd := h.Program("claude-hook", p[:strings.IndexByte(p, ' ')])
		cmd.Env = h.env()
		cmd.Stdin = strings.NewReader(p[strings.IndexByte(p, ' ')+1:])
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil || said.Len() > 0 {
			h.t.Fatalf("%s: %v, said %q", p, err, &said)
		}
	}
}

func (h *lateHistory) env() []string {
	return append(slices.Clone(h.Environ), "OTEL_EXPORTER_OTLP_HEADERS=x-api-key="+h.key)
}

// turn gives the events of a turn, without those that are drawn to be late.
func (h *lateHistory) turn() {
	id := fmt.Sprintf("p%d", h.turns)
	h.turns++
	event := func(name, members string) string {
		return fmt.Sprintf(`%s {"session_id":"s1","cwd":%q,"hook_event_name":%q,"prompt_id":%q,%s}`, name, h.Work, name, id, members)
	}
	events := []string{event("UserPromptSubmit", `"prompt":"do it"`)}
	for n := range 1 + h.rnd.IntN(2) {
		call := fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t-%s-%d"`, id, n)
		events = append(events, event("PreToolUse", call))
		if done := event("PostToolUse", call+`,"tool_response":"ok"`); h.rnd.IntN(2) == 0 {
			h.late = append(h.late, done)
		} else {
			events = append(events, done)
		}
	}
	h.give(append(events, event("Stop", `"stop_hook_active":false,"last_assistant_message":"done"`))...)
}

var lateAnswers = []otlptest.Answer{
	{},
	otlptest.Status(401, ""), otlptest.Status(404, ""), otlptest.Status(400, "no"), otlptest.Status(413, ""), otlptest.Status(429, ""),
	otlptest.Status(500, ""), otlptest.Status(503, ""), otlptest.CloseBefore(), otlptest.CloseHalfway(), otlptest.Partial(1, "no"),
}

func (h *lateHistory) step() {
	switch n := h.rnd.IntN(10); {
	case n < 3 || h.turns == 0:
		h.turn()
	case n < 5 && len(h.late) > 0:
		i := h.rnd.IntN(len(h.late))
		event := h.late[i]
		h.late = slices.Delete(h.late, i, i+1)
		h.give(event)
	case n < 8:
		for range h.rnd.IntN(3) {
			if a := lateAnswers[h.rnd.IntN(len(lateAnswers))]; a.Status != 0 || a.CloseBefore || a.CloseHalfway {
				h.OTLP.Script(a)
			}
		}
		h.deliver()
		h.OTLP.Reset()
	case n < 9:
		h.key = []string{"a", "b"}[h.rnd.IntN(2)]
	default:
		h.delete()
	}
	h.Settle()
}

// deliver runs a delivery, and kills it at a system call that is drawn if it comes to it.
func (h *lateHistory) deliver() {
	var f *trace.Fault
	if len(h.calls) > 0 && h.rnd.IntN(4) > 0 {
		all := points(h.calls, 1<<30, func(name string) bool { return slices.Contains(changing, name) })
		f = &trace.Fault{At: all[h.rnd.IntN(len(all))]}
	}
	end, err := trace.Run(trace.Program{Path: filepath.Join(lab.Programs, "hookspan"), Args: []string{"flush", "--wait"}, Env: h.env(), Dir: h.Work}, f)
	switch {
	case err != nil:
		h.t.Fatal(err)
	case end.Hit:
		h.kills.Add(1)
	case f == nil:
		h.calls = end.Calls
	}
}

// delete deletes a trace that the store has.
func (h *lateHistory) delete() {
	stored := h.Stored()
	if len(stored) == 0 {
		return
	}
	id := stored[h.rnd.IntN(len(stored))].Trace
	if out, errs, code := h.Hookspan("delete", id, "--yes"); code != 0 {
		h.t.Fatalf("delete: %s%s", out, errs)
	}
	h.deleted[id] = true
}

// end stores what is late, delivers everything, and compares with a machine that reads the whole log
// once.
func (h *lateHistory) end(r *proof.Result) {
	h.turn()
	h.give(h.late...)
	h.Settle()
	settled := func(w *lab.World) {
		for range 5 {
			if out, _, code := w.Hookspan("flush", "--wait", "--other-settings"); code == 0 {
				return
			} else if w != h.World {
				h.t.Fatal(out)
			}
		}
		r.Break("something still waits: %+v", w.Flush())
	}
	settled(h.World)
	fresh := lab.New(h.t, "HOOKSPAN_EXPORTERS=store,otlp,file")
	logs, err := filepath.Glob(filepath.Join(h.State(), "spool", "claude-code", "*", "events.json-seq"))
	if err != nil || len(logs) != 1 {
		h.t.Fatalf("logs %q: %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		h.t.Fatal(err)
	}
	rel, _ := filepath.Rel(h.Home, logs[0])
	fresh.Write(rel, string(text))
	for _, dir := range []string{filepath.Dir(rel), filepath.Dir(filepath.Dir(rel)), filepath.Join(filepath.Dir(rel), "..", "..")} {
		if err := os.Chmod(filepath.Join(fresh.Home, dir), 0o700); err != nil { //nolint:gosec // A folder.
			h.t.Fatal(err)
		}
	}
	settled(fresh)
	there := func(w *lab.World) map[string][]otlptest.Span {
		return map[string][]otlptest.Span{"otlp": w.OTLP.Spans(), "store": w.Stored(), "file": w.Filed()}
	}
	whole := there(fresh)
	for name, spans := range there(h.World) {
		want, got, missing := newest(whole[name]), newest(spans), 0
		for id, w := range want {
			switch g := got[id]; {
			case h.deleted[id.Trace]:
			case g == nil:
				missing++
			case !proto.Equal(w.Proto, g.Proto):
				r.Break("history %s, %s: span %v %q (-whole log +got):\n%s", h.t.Name(), name, id, w.Name, cmp.Diff(protojson.Format(w.Proto), protojson.Format(g.Proto)))
			}
		}
		if missing > 0 {
			r.Break("history %s: %d spans never came to %s", h.t.Name(), missing, name)
		}
		for id := range got {
			if want[id] == nil || name == "store" && h.deleted[id.Trace] {
				r.Break("history %s: %s has span %v, which it should not", h.t.Name(), name, id)
			}
		}
		if name == "store" && len(got) != len(spans) {
			r.Break("history %s: the store has %d spans twice", h.t.Name(), len(spans)-len(got))
		}
	}
}

// newest are the last copies by id.
func newest(spans []otlptest.Span) map[otlptest.ID]*otlptest.Span {
	out := make(map[otlptest.ID]*otlptest.Span, len(spans))
	for i := range spans {
		out[spans[i].ID] = &spans[i]
	}
	return out
}
