package deliver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/spool"
)

// later does things while the delivery sleeps, each once so much time has passed.
func (b *bench) later(d *Deliverer, steps map[time.Duration]func()) {
	start := b.clock.Now()
	d.Sleep = func(ctx context.Context, pause time.Duration) error {
		err := b.clock.Sleep(ctx, pause)
		for after, step := range steps {
			if b.clock.Now().Sub(start) >= after {
				delete(steps, after)
				step()
			}
		}
		return err
	}
}

// TestEventsDecideAnUndecidedEnd stores an event while the agent's files do not tell whether
// one of the user's hooks has refused the turn's end.
func TestEventsDecideAnUndecidedEnd(t *testing.T) {
	goes := []spool.Record{said("PreToolUse", "p1", `"tool_name":"Bash","tool_input":{},"tool_use_id":"t-2"`)}
	for _, tt := range []struct {
		name  string
		after []spool.Record
		want  [][]string
	}{
		{"the model works again", goes, nil},
		{"the model works again and stops", slices.Concat(goes, []spool.Record{said("Stop", "p1", `"stop_hook_active":true`)}), [][]string{{"p1"}}},
		{"a note", []spool.Record{said("Notification", "p1", `"message":"idle"`)}, [][]string{{"p1"}}},
	} {
		for _, undecided := range []bool{true, false} { // then
			t.Run(fmt.Sprintf("%s, undecided %v", tt.name, undecided), func(t *testing.T) {
				b := newBench(t)
				dst := &joined{}
				tr := hook.Transcript{Pending: true, Undecided: true}
				d := b.claudeDeliverer(func(Facts) *hook.Transcript { files := tr; return &files }, Destination{Name: "otlp", Client: dst})
				b.append(turn("p1")...)
				b.later(d, map[time.Duration]func(){5 * time.Second: func() {
					b.append(tt.after...)
					tr.Pending, tr.Undecided = undecided, undecided
				}})
				b.run(d, Pass{})
				if diff := cmp.Diff(tt.want, dst.taken); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// qwenSession is a session of Qwen Code's: what hooks report, and its file.
type qwenSession struct {
	*bench
	path string
}

const qwenTurn = "s1########0"

func (q *qwenSession) hook(event, members string) {
	q.t.Helper()
	payload := fmt.Sprintf(`{"session_id":"s1","transcript_path":%q,"cwd":"/w","hook_event_name":%q,"timestamp":%q,"prompt_id":%q,%s}`,
		q.path, event, q.clock.Now().Format(time.RFC3339Nano), qwenTurn, members)
	q.append(spool.Record{Host: hook.HostQwen, Session: "s1", Event: event, Payload: []byte(payload)})
}

func (q *qwenSession) row(members string) {
	q.t.Helper()
	q.clock.Advance(5 * time.Millisecond)
	f, err := os.OpenFile(q.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, `{"sessionId":"s1","timestamp":%q,%s}`+"\n", q.clock.Now().Format(time.RFC3339Nano), members)
	}
	if err != nil {
		q.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		q.t.Fatal(err)
	}
}

// answer is a request of Qwen Code's and what came of it.
func (q *qwenSession) answer(text string) {
	q.t.Helper()
	q.clock.Advance(100 * time.Millisecond)
	q.row(fmt.Sprintf(`"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","event.timestamp":%q,"response_id":%q,"prompt_id":%q,"duration_ms":50,"input_token_count":10,"output_token_count":2}}`,
		q.clock.Now().Format(time.RFC3339Nano), "r-"+text, qwenTurn))
	q.row(fmt.Sprintf(`"type":"assistant","message":{"parts":[{"text":%q}]}`, text))
	q.clock.Advance(time.Millisecond)
}

// TestStopThatAHookRefusesLate has a hook of the user's that refuses the end of a turn of
// Qwen Code's after a while: until then its files look as if the turn had ended.
func TestStopThatAHookRefusesLate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
		want  [][]string
	}{
		{"while the delivery waits", 5 * time.Second, [][]string{{qwenTurn}}},
		{"before the delivery looks", 10 * time.Millisecond, [][]string{{qwenTurn}}},
		{"after the turn was delivered: a second run has the rest", undecided + 10*time.Second, [][]string{{qwenTurn}, {qwenTurn}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dst := &joined{}
			d := b.deliverer(Destination{Name: "otlp", Client: dst})
			home := t.TempDir()
			q := &qwenSession{b, filepath.Join(home, ".qwen", "projects", "w", "chats", "s1.jsonl")}
			if err := os.MkdirAll(filepath.Dir(q.path), 0o700); err != nil {
				t.Fatal(err)
			}
			agent, _ := agents.All().Named("qwen")
			files := &transcript.Files{Home: home, Now: b.clock.Now, Sleep: b.clock.Sleep}
			d.Sources[hook.HostQwen] = Source{
				Agent: agent.Mapping, Decode: agent.Events,
				Transcript: func(ctx context.Context, session string, f Facts) (*hook.Transcript, error) {
					return files.Read(ctx, agent.Transcript, transcript.Query{Session: session, Path: f.Transcript, Since: f.Since, Until: f.Until})
				},
			}
			q.hook("UserPromptSubmit", `"prompt":"do it","submitted_prompt":"do it"`)
			q.row(`"type":"user","provenance":"real_user","message":{"parts":[{"text":"do it"}]}`)
			q.answer("First.")
			q.hook("Stop", `"stop_hook_active":false,"last_assistant_message":"First."`)
			b.later(d, map[time.Duration]func(){tt.after: func() {
				q.hook("UserPromptSubmit", `"prompt":"keep going"`)
				b.clock.Advance(time.Minute) // the model takes its time
				q.answer("Second.")
				q.hook("Stop", `"stop_hook_active":true,"last_assistant_message":"Second."`)
			}})
			b.run(d, Pass{})
			b.clock.Advance(tt.after)
			_ = d.Sleep(t.Context(), 0)
			b.clock.Advance(time.Minute)
			b.run(d, Pass{})
			if diff := cmp.Diff(tt.want, dst.taken); diff != "" {
				t.Errorf("runs that were delivered (-want +got):\n%s", diff)
			}
			k := spool.SessionKey(hook.HostQwen, "s1")
			if st := b.state(k, "otlp"); st.Offset != b.size(k) {
				t.Errorf("position %d of %d", st.Offset, b.size(k))
			}
		})
	}
}

// TestGrowingLogDelaysNoRun stores an event every two seconds behind an end that the files
// leave open: each is a reason to look again, but not to wait as long again. After the clock
// was set back the run ends in the future.
func TestGrowingLogDelaysNoRun(t *testing.T) {
	for _, back := range []time.Duration{0, time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			b := newBench(t)
			dst := &joined{}
			reads := 0
			d := b.claudeDeliverer(func(Facts) *hook.Transcript {
				reads++
				return &hook.Transcript{Pending: true, Undecided: true}
			}, Destination{Name: "otlp", Client: dst})
			b.append(turn("p1")...)
			b.clock.Advance(-back)
			start := b.clock.Now()
			last := start
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d.Sleep = func(ctx context.Context, pause time.Duration) error {
				err := b.clock.Sleep(ctx, pause)
				now := b.clock.Now()
				if now.Sub(last) >= 2*time.Second {
					last = now
					b.append(said("Notification", "p1", `"message":"idle"`))
				}
				if now.Sub(start) > undecided+5*time.Second {
					cancel()
				}
				return err
			}
			_, _ = d.Run(ctx, Pass{})
			if diff := cmp.Diff([][]string{{"p1"}}, dst.taken); diff != "" {
				t.Errorf("%d reads in %v (-want +got):\n%s", reads, b.clock.Now().Sub(start), diff)
			}
		})
	}
}

// TestWaitingKnowsARunBehindWhichTheLogGrows: what is not named is exported, and then
// delivered, too.
func TestWaitingKnowsARunBehindWhichTheLogGrows(t *testing.T) {
	b := newBench(t)
	dst := Destination{Name: "otlp", Client: &joined{}}
	d := b.claudeDeliverer(func(Facts) *hook.Transcript { return &hook.Transcript{Pending: true, Undecided: true} }, dst)
	b.append(turn("p1")...)
	last := b.clock.Now()
	d.Sleep = func(ctx context.Context, pause time.Duration) error {
		err := b.clock.Sleep(ctx, pause)
		if now := b.clock.Now(); now.Sub(last) >= 2*time.Second {
			last = now
			b.append(said("Notification", "p1", `"message":"idle"`))
		}
		return err
	}
	if waiting, err := d.Waiting(t.Context(), &dst); err != nil || len(waiting) != 1 {
		t.Errorf("%v, %v; want the run", waiting, err)
	}
}
