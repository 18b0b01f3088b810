package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// askLimit is what a command may take in a store of a million spans.
const askLimit = 150 * time.Millisecond

// askRounds is how often each question is asked.
const askRounds = 11

// ask fills a store with traces of 7 to 80 spans and asks it what the commands
// ask, each question with a store that has just been opened and by the program.
func ask(ctx context.Context, f *field, o options) (_ report, err error) {
	path := filepath.Join(f.root, "state", "hookspan", "traces.db")
	s, err := store.Open(ctx, path)
	if err != nil {
		return report{}, err
	}
	begin := time.Now()
	id, err := fillStore(ctx, s, o.most)
	stored := time.Since(begin)
	if err == nil {
		begin = time.Now()
		_, err = s.Index(ctx, 0)
	}
	indexed := time.Since(begin)
	size, sizeErr := s.Size(ctx)
	if err := errors.Join(err, sizeErr, s.Close()); err != nil {
		return report{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d spans, stored in %.1f s, full text in %.1f s, %d MB\n\n", o.most, stored.Seconds(), indexed.Seconds(), size>>20)
	b.WriteString("| question | p50 ms | p95 ms |\n|---|--:|--:|\n")
	slowest, which := time.Duration(0), ""
	line := func(name string, took []time.Duration) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, millis(quantile(took, 0.5)), millis(quantile(took, 0.95)))
		if p50 := quantile(took, 0.5); p50 > slowest {
			slowest, which = p50, name
		}
	}
	for _, q := range questions(id) {
		took, err := times(func() error { return q.ask(ctx, path) })
		if err != nil {
			return report{}, fmt.Errorf("%s: %w", q.name, err)
		}
		line(q.name, took)
	}
	for _, args := range [][]string{
		{"list"},
		{"list", "--failed"},
		{"list", "--tool", "Bash"},
		{"list", "--grep", "needle"},
		{"list", "--grep", "handler"},
		{"list", "--since", "24h"},
		{"show", id},
		{"stats"},
		{"stats", "--by", "model"},
		{"stats", "--by", "tool"},
		{"stats", "--by", "command"},
		{"stats", "--by", "hook"},
		{"stats", "--by", "session"},
		{"stats", "--by", "tool", "--since", "24h"},
	} {
		missing := false
		took, err := times(func() error {
			cmd := exec.CommandContext(ctx, f.program("hookspan"), args...) //nolint:gosec // Built just now.
			cmd.Env = append(f.environ(f.home), "XDG_STATE_HOME="+filepath.Join(f.root, "state"), "HOOKSPAN_RETENTION=0")
			out, err := cmd.CombinedOutput()
			if missing = strings.Contains(string(out), "unknown"); err != nil && !missing {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
		if err != nil {
			return report{}, fmt.Errorf("hookspan %s: %w", strings.Join(args, " "), err)
		}
		if !missing {
			line("`hookspan "+strings.Join(args, " ")+"`", took)
		}
	}
	return report{text: b.String(), budgets: []budget{{
		what:  fmt.Sprintf("in a store of 1,000,000 spans each question is answered in %v", askLimit),
		found: fmt.Sprintf("%s ms for %s", millis(slowest), which), kept: slowest <= askLimit || o.most < 1_000_000,
	}}}, nil
}

func times(f func() error) (took []time.Duration, err error) {
	for range askRounds {
		begin := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, nil
}

// question is a call of the store's API.
type question struct {
	name string
	f    func(context.Context, *store.Store) error
}

func (q question) ask(ctx context.Context, path string) (err error) {
	s, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return q.f(ctx, s)
}

func questions(id string) (out []question) {
	add := func(name string, f func(context.Context, *store.Store) error) { out = append(out, question{name, f}) }
	add("open", func(context.Context, *store.Store) error { return nil })
	for _, c := range []struct {
		name string
		f    store.Filter
	}{
		{"newest", store.Filter{}},
		{"session", store.Filter{Session: "session-77"}},
		{"project", store.Filter{Directory: "/home/dev/project-3"}},
		{"model", store.Filter{Model: "opus"}},
		{"tool", store.Filter{Tool: "Bash"}},
		{"rare tool", store.Filter{Tool: "mcp__rare__tool"}},
		{"denied", store.Filter{Denied: true}},
		{"rare word", store.Filter{Text: "needle"}},
		{"common word", store.Filter{Text: "handler"}},
		{"beginning of words", store.Filter{Text: "conba"}},
		{"two words", store.Filter{Text: "handler kale"}},
	} {
		add("list: "+c.name, func(ctx context.Context, s *store.Store) error { _, err := s.List(ctx, c.f); return err })
		add("totals: "+c.name, func(ctx context.Context, s *store.Store) error { _, err := s.Totals(ctx, c.f); return err })
		if c.f.Text != "" {
			add("search: "+c.name, func(ctx context.Context, s *store.Store) error { _, err := s.Search(ctx, c.f); return err })
		}
	}
	for _, by := range store.Keys {
		add("group by "+string(by), func(ctx context.Context, s *store.Store) error {
			_, err := s.Group(ctx, store.Filter{}, by, time.UTC)
			return err
		})
	}
	add("hook runs", func(ctx context.Context, s *store.Store) error { _, err := s.HookRuns(ctx, store.Filter{}); return err })
	add("hook runs, denied", func(ctx context.Context, s *store.Store) error {
		_, err := s.HookRuns(ctx, store.Filter{Denied: true})
		return err
	})
	add("show", func(ctx context.Context, s *store.Store) error { _, err := s.Trace(ctx, id); return err })
	return out
}

// fillStore stores so many spans and returns the id of a trace in the middle.
func fillStore(ctx context.Context, s *store.Store, spans int) (id string, err error) {
	w := &askWriter{r: rand.New(rand.NewPCG(1, 2)), now: time.Now().Add(-90 * 24 * time.Hour)} //nolint:gosec // not for secrets
	w.step = 90 * 24 * time.Hour / time.Duration(spans/43+1)
	for done := 0; done < spans; {
		var batch []*tracepb.Span
		for len(batch) < 4000 {
			batch = append(batch, w.trace(min(7+w.r.IntN(74), max(1, spans-done-len(batch))))...)
			if done+len(batch) >= spans {
				break
			}
		}
		done += len(batch)
		if done >= spans/2 && id == "" {
			id = otlp.TraceID(batch[0])
		}
		if err := s.UploadTraces(ctx, []*tracepb.ResourceSpans{{
			Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyServiceName, "claude-code")}},
			ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: otelmap.ScopeName}, Spans: batch}},
		}}); err != nil {
			return "", err
		}
	}
	return id, nil
}

var syllables = [20]string{
	"ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "xa", "ze", "con", "ter", "ing",
}

// askWriter writes traces whose words are as unevenly used as those of a language.
type askWriter struct {
	r    *rand.Rand
	now  time.Time
	step time.Duration
	n    int
}

func (w *askWriter) text(words int) string {
	var b strings.Builder
	for range words {
		// Half of the text are the hundred commonest words.
		n := w.r.IntN(100)
		if w.r.IntN(2) == 0 {
			n = w.r.IntN(30_000)
		}
		switch {
		case n == 7:
			b.WriteString("handler ")
		case n == 29_999 && w.r.IntN(20) == 0:
			b.WriteString("needle ")
		default:
			// Syllables, so that words share their beginnings.
			for i := n + 11; i > 0; i /= 20 {
				b.WriteString(syllables[i%20])
			}
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (w *askWriter) pick(of ...string) string { return of[w.r.IntN(len(of))] }

func (w *askWriter) trace(spans int) (out []*tracepb.Span) {
	w.n++
	at := w.now
	w.now = w.now.Add(w.step)
	trace := binary.BigEndian.AppendUint64(nil, w.r.Uint64()|1)
	trace = binary.BigEndian.AppendUint64(trace, uint64(w.n)) //nolint:gosec // counts
	model := w.pick("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "gpt-5-codex")
	add := func(name string, took time.Duration, a ...*commonpb.KeyValue) *tracepb.Span {
		s := &tracepb.Span{
			Name: name, TraceId: trace, SpanId: binary.BigEndian.AppendUint64(nil, uint64(len(out)+1)), //nolint:gosec // counts
			StartTimeUnixNano: otlp.UnixNano(at), EndTimeUnixNano: otlp.UnixNano(at.Add(took)), Attributes: a,
		}
		if len(out) > 0 {
			s.ParentSpanId = out[0].GetSpanId()
		}
		at = at.Add(took)
		out = append(out, s)
		return s
	}
	ms := func(n int) time.Duration { return time.Duration(1+w.r.IntN(n)) * time.Millisecond }
	add("invoke_agent claude-code", ms(600_000), otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent),
		otlp.String(otelmap.KeyHost, w.pick("claude-code", "claude-code", "cline", "codex")),
		otlp.String(otelmap.KeyConversationID, fmt.Sprintf("session-%d", w.n/3)),
		otlp.String(otelmap.KeyOutcome, w.pick(otelmap.OutcomeCompleted, otelmap.OutcomeCompleted, otelmap.OutcomeInterrupted, otelmap.OutcomeFailed)),
		otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, w.text(20))), otlp.String(otelmap.KeyRequestModel, model),
		otlp.String(otelmap.KeyWorkingDirectory, fmt.Sprintf("/home/dev/project-%d", w.r.IntN(12))),
		otlp.Int(otelmap.KeyInputTokens, 1_000_000), otlp.Int(otelmap.KeyOutputTokens, 20_000), otlp.Float(otelmap.KeyCost, 1.25))
	for len(out) < spans {
		if w.r.IntN(5) < 2 {
			add("chat "+model, ms(20_000), otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, model),
				otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages(w.text(25), "")), otlp.Int(otelmap.KeyInputTokens, 20_000), otlp.Int(otelmap.KeyOutputTokens, 400),
				otlp.Int(otelmap.KeyCacheReadTokens, 18_000), otlp.Float(otelmap.KeyCost, 0.03))
			continue
		}
		tool, arguments := w.pick("Read", "Edit", "Grep", "Glob", "Write", "Task"), `{"file_path":"/src/`+w.text(1)+`.go"}`
		switch n := w.r.IntN(1000); {
		case n < 350:
			tool, arguments = "Bash", `{"command":"`+w.pick("go test ./...", "git status", "npm run build", "ls -la", "rg handler", "make lint")+`"}`
		case n == 999 && w.r.IntN(100) == 0:
			tool = "mcp__rare__tool"
		}
		s := add("execute_tool "+tool, ms(5_000), otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool),
			otlp.String(otelmap.KeyToolName, tool), otlp.String(otelmap.KeyToolArguments, arguments), otlp.String(otelmap.KeyToolResult, w.text(30)))
		if n := w.r.IntN(100); n < 6 {
			kind := otelmap.ErrorToolFailure
			if n == 0 {
				kind = otelmap.ErrorToolDenied
			}
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: w.text(10)}
			s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyErrorType, kind))
		}
		if w.r.IntN(4) == 0 {
			s.Events = append(s.Events, &tracepb.Span_Event{
				Name: otelmap.EventHook, TimeUnixNano: s.GetStartTimeUnixNano(), Attributes: []*commonpb.KeyValue{
					otlp.String(otelmap.KeyHookEvent, "PreToolUse"), otlp.String(otelmap.KeyHookTool, tool),
					otlp.String(otelmap.KeyHookCommand, w.pick("guard.sh", "lint.sh", "format.sh")), otlp.String(otelmap.KeyHookStatus, "ok"),
					otlp.String(otelmap.KeyHookDecision, w.pick("", "", "", "", "deny")), otlp.Int(otelmap.KeyHookDuration, int64(w.r.IntN(200))),
				},
			})
		}
	}
	return out
}
