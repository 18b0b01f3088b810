package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// said is a payload of Claude Code; more are further members.
func said(event, turn, more string) spool.Record {
	p := fmt.Sprintf(`{"session_id":"s1","transcript_path":"/t/s1.jsonl","cwd":"/w","hook_event_name":%q`, event)
	if turn != "" {
		p += fmt.Sprintf(`,"prompt_id":%q`, turn)
	}
	if more != "" {
		p += "," + more
	}
	return spool.Record{Host: hook.HostClaude, Session: "s1", Event: event, Payload: []byte(p + "}")}
}

func turn(id string) []spool.Record {
	return []spool.Record{
		said("UserPromptSubmit", id, `"prompt":"do it"`),
		said("PreToolUse", id, fmt.Sprintf(`"tool_name":"Bash","tool_input":{},"tool_use_id":"t-%s"`, id)),
		said("PostToolUse", id, fmt.Sprintf(`"tool_name":"Bash","tool_input":{},"tool_use_id":"t-%s","tool_response":"ok"`, id)),
		said("Stop", id, `"stop_hook_active":false,"last_assistant_message":"done"`),
	}
}

// claudeDeliverer delivers sessions of Claude Code, whose files say what tr does.
func (b *bench) claudeDeliverer(tr func(Facts) *hook.Transcript, dsts ...Destination) *Deliverer {
	d := b.deliverer(dsts...)
	d.Map.IdleTimeout = 30 * time.Minute
	d.Sources[hook.HostClaude] = Source{
		Agent: agentstest.Mapping(hook.HostClaude),
		Decode: func(r *spool.Record) ([]hook.Event, error) {
			return claude.Decode(claude.Raw{Payload: r.Payload, Event: r.Event, StoredAt: r.At, Offset: r.Offset, Cwd: r.Cwd})
		},
		Transcript: func(_ context.Context, _ string, f Facts) (*hook.Transcript, error) {
			if tr == nil {
				return nil, nil
			}
			return tr(f), nil
		},
	}
	return d
}

// joined keeps the first run's root and hangs nothing anew: what it gets shows
// which runs went together.
type joined struct {
	taken  [][]string // the turns of each export
	refuse error
}

func (j *joined) join(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans {
	return message(slices.Collect(otlp.Spans(runs))...)[0]
}

func (j *joined) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	if j.refuse != nil {
		return j.refuse
	}
	var turns []string
	for s := range otlp.Spans(spans) {
		if id := otlp.Text(s.Attributes, "hookspan.prompt.id"); id != "" {
			turns = append(turns, id)
		}
	}
	j.taken = append(j.taken, turns)
	return nil
}

func TestTurnsAreSentTogetherAtSessionEnd(t *testing.T) {
	b := newBench(t)
	whole, single := &joined{}, &joined{}
	d := b.claudeDeliverer(nil,
		Destination{Name: "infinium", Client: whole, Join: whole.join}, Destination{Name: "otlp", Client: single})
	deliver := func(recs ...spool.Record) {
		b.append(recs...)
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
	}
	deliver(turn("p1")...)
	deliver(turn("p2")...)
	if len(whole.taken) != 0 || len(single.taken) != 2 {
		t.Fatalf("while the session goes on: %v together, %v singly", whole.taken, single.taken)
	}
	// The last turn is still settling when the session's end starts a delivery.
	b.append(said("SessionEnd", "p2", `"reason":"other"`))
	b.run(d, Pass{})
	b.run(d, Pass{})
	if diff := cmp.Diff([][]string{{"p1", "p2"}}, whole.taken); diff != "" {
		t.Fatalf("after its end (-want +got):\n%s", diff)
	}
	deliver(said("SessionStart", "", `"source":"resume"`))
	deliver(turn("p3")...)
	if len(whole.taken) != 1 {
		t.Fatalf("resumed: %v", whole.taken)
	}
	// Nobody says goodbye: the silence does.
	b.clock.Advance(time.Hour)
	b.run(d, Pass{})
	if diff := cmp.Diff([][]string{{"p1", "p2"}, {"p3"}}, whole.taken); diff != "" {
		t.Errorf("after a long silence (-want +got):\n%s", diff)
	}
	k := spool.SessionKey(hook.HostClaude, "s1")
	if st := b.state(k, "infinium"); st.Offset != b.size(k) {
		t.Errorf("position %d of %d", st.Offset, b.size(k))
	}
}

func TestRefusedSessionIsSentAgainAsOne(t *testing.T) {
	b := newBench(t)
	whole := &joined{refuse: &Error{Err: errors.New("401 Unauthorized"), Permanent: true}}
	d := b.claudeDeliverer(nil,
		Destination{Name: "infinium", Client: whole, Join: whole.join})
	k := b.append(slices.Concat(turn("p1"), turn("p2"), []spool.Record{said("SessionEnd", "p2", "")})...)
	b.clock.Advance(time.Minute)
	if r := b.run(d, Pass{})["infinium"]; r.Parked != 1 {
		t.Fatalf("refused: %+v", r)
	}
	if p := b.state(k, "infinium").Parked; len(p) != 1 || len(p[0].Joined) != 1 {
		t.Fatalf("noted as refused: %+v", p)
	}
	whole.refuse = nil
	b.run(d, Pass{Force: true})
	if diff := cmp.Diff([][]string{{"p1", "p2"}}, whole.taken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUndecidedEndIsAwaited(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // when the host writes that the end stands; 0 for never
		want  time.Duration // how long was waited at least
	}{
		{"decided after a while", 20 * time.Second, 20 * time.Second},
		{"never decided", 0, undecided},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dst := &joined{}
			stopped := b.clock.Now()
			d := b.claudeDeliverer(func(Facts) *hook.Transcript {
				waits := tt.after == 0 || b.clock.Now().Sub(stopped) < tt.after
				return &hook.Transcript{Pending: waits, Undecided: waits}
			}, Destination{Name: "otlp", Client: dst})
			b.append(turn("p1")...)
			b.run(d, Pass{})
			if diff := cmp.Diff([][]string{{"p1"}}, dst.taken); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if waited := b.clock.Now().Sub(stopped); waited < tt.want || waited > tt.want+10*time.Second {
				t.Errorf("waited %s, want about %s", waited, tt.want)
			}
		})
	}
}

func TestTurnWithRefusedEndWaitsForNextEnd(t *testing.T) {
	b := newBench(t)
	dst := &joined{}
	var asked []Facts
	var refusedAt time.Time
	d := b.claudeDeliverer(func(f Facts) *hook.Transcript {
		asked = append(asked, f)
		return &hook.Transcript{Ends: []hook.TurnEnd{{Turn: "p1", Kind: hook.KindRunResume, At: refusedAt}}}
	}, Destination{Name: "otlp", Client: dst})
	start := b.clock.Now()
	b.append(turn("p1")...)
	refusedAt = b.clock.Now().Add(time.Second)
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	if len(dst.taken) != 0 {
		t.Fatalf("sent although a hook of the user's made the agent go on: %v", dst.taken)
	}
	if len(asked) == 0 || asked[0].Transcript != "/t/s1.jsonl" || !asked[0].Since.Equal(start.Add(-fileLead)) {
		t.Errorf("the host's files were asked for %+v", asked)
	}
	b.append(said("Stop", "p1", `"stop_hook_active":true`))
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	if diff := cmp.Diff([][]string{{"p1"}}, dst.taken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTurnWaitsForBackgroundAgent(t *testing.T) {
	b := newBench(t)
	dst := &joined{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: dst})
	const agent = `"agent_id":"a1","agent_type":"Explore"`
	recs := turn("p1")
	recs = slices.Insert(recs, 3, said("SubagentStart", "p1", agent))
	b.append(recs...)
	b.append(turn("p2")...)
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	if diff := cmp.Diff([][]string{{"p2"}}, dst.taken); diff != "" {
		t.Fatalf("while the agent works (-want +got):\n%s", diff)
	}
	b.append(said("SubagentStop", "p1", agent+`,"stop_hook_active":false`))
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	b.run(d, Pass{Force: true})
	if diff := cmp.Diff([][]string{{"p2"}, {"p1"}}, dst.taken); diff != "" {
		t.Errorf("after it has stopped (-want +got):\n%s", diff)
	}
	k := spool.SessionKey(hook.HostClaude, "s1")
	if st := b.state(k, "otlp"); st.Offset != b.size(k) || len(st.Done) != 0 {
		t.Errorf("position %d of %d, done %v", st.Offset, b.size(k), st.Done)
	}
}

func TestEndOfAgentInItsFileIsAwaited(t *testing.T) {
	const agent = `"agent_id":"a1","agent_type":"Explore"`
	for _, tt := range []struct {
		name    string
		stopped bool          // whether hooks tell of the agent's end
		after   time.Duration // when the agent's file holds its end; negative for never
		waited  time.Duration
	}{
		{"there at once", true, 0, 0},
		{"there after a while", true, time.Second, time.Second},
		{"never there", true, -1, lateUsage},
		{"another agent's that works on", false, -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dst := &joined{}
			var ended time.Time
			d := b.claudeDeliverer(func(Facts) *hook.Transcript {
				a := hook.Subagent{ID: "a2", Start: ended.Add(-time.Minute)}
				if tt.stopped {
					a.ID = "a1"
				}
				if tt.after >= 0 && b.clock.Now().Sub(ended) >= tt.after {
					a.End = ended
				}
				return &hook.Transcript{Agents: []hook.Subagent{a}}
			}, Destination{Name: "otlp", Client: dst})
			b.append(slices.Insert(turn("p1"), 3, said("SubagentStart", "p1", agent), said("SubagentStop", "p1", agent+`,"stop_hook_active":false`))...)
			ended = b.clock.Now()
			b.run(d, Pass{})
			if diff := cmp.Diff([][]string{{"p1"}}, dst.taken); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Until all hooks of the run have written, and between two reads.
			const slack = 500 * time.Millisecond
			if waited := b.clock.Now().Sub(ended); waited < tt.waited || waited > tt.waited+slack {
				t.Errorf("waited %s, want about %s", waited, tt.waited)
			}
		})
	}
}

func TestSessionIsLinkedToItsOrigin(t *testing.T) {
	as := func(session string, ppid int, recs ...spool.Record) []spool.Record {
		for i := range recs {
			recs[i].Session, recs[i].PPID = session, ppid
			recs[i].Payload = bytes.ReplaceAll(recs[i].Payload, []byte(`"s1"`), []byte(`"`+session+`"`))
		}
		return recs
	}
	start := func(source string) spool.Record { return said("SessionStart", "", `"source":"`+source+`"`) }
	clear := said("SessionEnd", "p1", `"reason":"clear"`)
	tests := []struct {
		name   string
		other  []spool.Record
		pause  time.Duration
		began  string
		follow bool
	}{
		{"cleared by the same program", append(turn("p1"), clear), time.Second, "clear", true},
		{"cleared by the same program long ago", append(turn("p1"), clear), time.Hour, "clear", false},
		{"not cleared but left", append(turn("p1"), said("SessionEnd", "p1", `"reason":"other"`)), time.Second, "clear", false},
		{"started anew", append(turn("p1"), clear), time.Second, "startup", false},
		{"forked", turn("p1"), time.Second, "fork", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			kept := &memory{}
			d := b.claudeDeliverer(nil, Destination{Name: "store", Client: kept})
			src := d.Sources[hook.HostClaude]
			src.Origin = func(_ context.Context, session string, f Facts) (string, string, error) {
				if session != "new" || f.Transcript != "/t/s1.jsonl" {
					t.Errorf("asked for the origin of %q with %+v", session, f)
				}
				return "old", "p1", nil
			}
			d.Sources[hook.HostClaude] = src
			b.append(as("other", 1, append(turn("p0"), clear)...)...)
			b.append(as("old", 7, tt.other...)...)
			b.clock.Advance(tt.pause)
			b.append(as("new", 7, append([]spool.Record{start(tt.began)}, turn("p2")...)...)...)
			b.clock.Advance(time.Minute)
			b.run(d, Pass{})
			roots := map[string]*tracepb.Span{}
			for _, s := range kept.spans {
				if otlp.ParentID(s) == "" {
					roots[otlp.Text(s.Attributes, "gen_ai.conversation.id")] = s
				}
			}
			links := roots["new"].Links
			if !tt.follow {
				if len(links) != 0 {
					t.Errorf("linked to %v", links)
				}
				return
			}
			if len(links) != 1 || !bytes.Equal(links[0].TraceId, roots["old"].TraceId) || !bytes.Equal(links[0].SpanId, roots["old"].SpanId) {
				t.Errorf("links %v, want the root %v", links, idOf(roots["old"]))
			}
		})
	}
}

// TestEndedSessionLeavesItsLinkForADay removes the events of an ended session before it is
// resumed, and looks at what a destination gets that must get nothing twice.
func TestEndedSessionLeavesItsLinkForADay(t *testing.T) {
	b := newBench(t)
	var got memory
	whole := &joined{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: &got}, Destination{Name: "infinium", Client: whole, Join: whole.join})
	roots := func() map[string]*tracepb.Span {
		out := map[string]*tracepb.Span{}
		for _, s := range got.spans {
			if id := otlp.Text(s.Attributes, "hookspan.prompt.id"); id != "" {
				out[id] = s
			}
		}
		return out
	}
	keep := func(after time.Duration) {
		t.Helper()
		b.clock.Advance(after)
		b.run(d, Pass{})
		if err := d.Housekeep(t.Context(), Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	k := b.append(slices.Concat(turn("p1"), turn("p2"))...)
	b.at(k, b.clock.Now())
	keep(2 * keepEnded)
	if !b.there(k) {
		t.Fatal("the log of a session that goes on is gone")
	}
	b.append(said("SessionEnd", "p2", `"reason":"other"`))
	b.at(k, b.clock.Now())
	keep(keepEnded / 2)
	if !b.there(k) {
		t.Fatal("the log is gone at once: a slow hook may still store an event")
	}
	keep(keepEnded)
	if b.there(k) {
		t.Fatal("the log of an ended session that was delivered is there")
	}
	// One of its hooks was much slower than it could be; then the session is resumed.
	b.append(said("PostToolUse", "p2", `"tool_name":"Bash","tool_input":{},"tool_use_id":"t-p2","tool_response":"ok"`))
	b.append(said("SessionStart", "", `"source":"resume"`))
	b.append(turn("p3")...)
	b.at(k, b.clock.Now())
	keep(time.Minute)
	r := roots()
	if n := got.doubles(); n > 0 || len(r) != 3 {
		t.Errorf("%d spans twice, %d roots", n, len(r))
	}
	if links := r["p3"].GetLinks(); len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), r["p2"].GetSpanId()) {
		t.Errorf("the resumed session is not linked: %v", links)
	}
	// A hook of p3 is slow, so that the run is mapped once more from the log's start.
	b.append(said("PostToolUse", "p3", `"tool_name":"Read","tool_input":{},"tool_use_id":"late","tool_response":"ok"`))
	keep(time.Minute)
	if n := got.doubles(); n > 0 {
		t.Errorf("%d spans twice after a late event", n)
	}
	b.append(said("SessionEnd", "p3", `"reason":"other"`))
	b.at(k, b.clock.Now())
	keep(2 * keepEnded)
	if d := cmp.Diff([][]string{{"p1", "p2"}, {"p3"}}, whole.taken); d != "" {
		t.Errorf("sessions as one (-want +got):\n%s", d)
	}
	if _, err := b.session(k).ReadFile("delivery-otlp.json"); err != nil || b.there(k) {
		t.Errorf("of the ended session: log %v, link %v", b.there(k), err)
	}
	if err := os.Chtimes(b.path(k, "."), b.clock.Now(), b.clock.Now().Add(-2*keepDelivered)); err != nil {
		t.Fatal(err)
	}
	keep(0)
	if _, err := os.Lstat(b.path(k, ".")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after a day: %v", err)
	}
}

// TestDestinationThatIsAddedBeforeAResumeSharesNoLink has one destination know the session from
// before its log was removed. Both read the later log from its start.
func TestDestinationThatIsAddedBeforeAResumeSharesNoLink(t *testing.T) {
	b := newBench(t)
	var old, added memory
	k := b.append(append(turn("p1"), said("SessionEnd", "p1", `"reason":"other"`))...)
	b.at(k, b.clock.Now())
	b.clock.Advance(2 * keepEnded)
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &old})
	b.run(d, Pass{})
	if err := d.Housekeep(t.Context(), Limits{}); err != nil || b.there(k) {
		t.Fatalf("the log is there: %v, error %v", b.there(k), err)
	}
	b.append(append([]spool.Record{said("SessionStart", "", `"source":"resume"`)}, turn("p2")...)...)
	b.clock.Advance(time.Minute)
	b.run(b.claudeDeliverer(nil, Destination{Name: "store", Client: &old}, Destination{Name: "otlp", Client: &added}), Pass{})
	links := func(m *memory) (n int) {
		for _, s := range m.spans {
			n += len(s.GetLinks())
		}
		return n
	}
	if links(&old) != 1 || links(&added) != 0 {
		t.Errorf("%d links in the old destination, want 1; %d in the added one, want 0", links(&old), links(&added))
	}
}

// TestEventThatIsMissingAtTheEndOfASessionKeepsItsLog has the hook of a call that was under way
// at the session's end be suspended for an hour.
func TestEventThatIsMissingAtTheEndOfASessionKeepsItsLog(t *testing.T) {
	b := newBench(t)
	var got memory
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &got, Batch: 512})
	recs := turn("p1")
	k := b.append(recs[0], recs[1], recs[3], said("SessionEnd", "p1", `"reason":"other"`))
	for _, rec := range []*spool.Record{nil, &recs[2]} {
		if rec != nil {
			b.append(*rec)
		}
		b.at(k, b.clock.Now())
		b.clock.Advance(time.Hour)
		b.run(d, Pass{})
		if err := d.Housekeep(t.Context(), Limits{}); err != nil || !b.there(k) {
			t.Fatalf("the log is there: %v, error %v", b.there(k), err)
		}
	}
	for _, s := range got.spans {
		if typ := otlp.Text(s.Attributes, otelmap.KeyErrorType); typ != "" {
			t.Errorf("%s has the error %s", s.Name, typ)
		}
	}
}

// TestClearedSessionWaitsForTheOneInItsPlace has the first turn after a session was cleared
// take longer than an ended session's log stays.
func TestClearedSessionWaitsForTheOneInItsPlace(t *testing.T) {
	b := newBench(t)
	var got memory
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &got})
	k := b.append(append(turn("p1"), said("SessionEnd", "p1", `"reason":"clear"`))...)
	b.at(k, b.clock.Now())
	next := append([]spool.Record{said("SessionStart", "", `"source":"clear"`)}, turn("p2")...)
	for i := range next {
		next[i].Session, next[i].Payload = "s2", bytes.ReplaceAll(next[i].Payload, []byte(`"s1"`), []byte(`"s2"`))
	}
	b.at(b.append(next[:3]...), b.clock.Now())
	b.clock.Advance(2 * keepEnded)
	b.run(d, Pass{})
	if err := d.Housekeep(t.Context(), Limits{}); err != nil {
		t.Fatal(err)
	}
	b.append(next[3:]...)
	b.clock.Advance(time.Minute)
	b.run(d, Pass{})
	for _, s := range got.spans {
		if otlp.Text(s.Attributes, "hookspan.prompt.id") == "p2" && len(s.Links) != 1 {
			t.Errorf("the session has the links %v to the one that was cleared", s.Links)
		}
	}
	if r := got.doubles(); len(got.spans) != 4 || r > 0 {
		t.Errorf("%d spans, %d twice", len(got.spans), r)
	}
}

// TestLinksAreNotRemovedForTheirSize has a spool that is too large by a session that is at
// work: the link of an ended one takes no space.
func TestLinksAreNotRemovedForTheirSize(t *testing.T) {
	b := newBench(t)
	k := b.append(append(turn("p1"), said("SessionEnd", "p1", `"reason":"other"`))...)
	b.at(k, b.clock.Now())
	b.clock.Advance(2 * keepEnded)
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: &memory{}})
	b.run(d, Pass{})
	if err := d.Housekeep(t.Context(), Limits{}); err != nil || b.there(k) {
		t.Fatalf("the log is there: %v, error %v", b.there(k), err)
	}
	hourAgo := b.clock.Now().Add(-time.Hour)
	if err := os.Chtimes(b.path(k, "."), hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	other := said("UserPromptSubmit", "q1", `"prompt":"do it"`)
	other.Session = "s2"
	b.at(b.append(other), b.clock.Now())
	if err := d.Housekeep(t.Context(), Limits{MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.session(k).ReadFile("delivery-store.json"); err != nil || len(b.logged("spool over")) > 0 {
		t.Errorf("the link: %v; log %q", err, b.logged("spool over"))
	}
}

func TestSessionEndSendsOnlyWhatNoTraceHad(t *testing.T) {
	b := newBench(t)
	var got memory
	d := b.claudeDeliverer(nil, Destination{Name: "infinium", Client: &got})
	deliver := func(traces int, recs ...spool.Record) {
		t.Helper()
		b.append(recs...)
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
		seen := map[string]bool{}
		for _, s := range got.spans {
			seen[otlp.TraceID(s)] = true
		}
		if n := got.doubles(); len(seen) != traces || n > 0 {
			t.Errorf("%d traces, want %d; %d spans twice", len(seen), traces, n)
		}
	}
	deliver(1, turn("p1")...)
	deliver(2, turn("p2")...)
	deliver(2, turn("p3")[:2]...)
	deliver(3, said("SessionEnd", "p3", `"reason":"other"`))
	deliver(3, said("SessionEnd", "p3", `"reason":"other"`))
}

// TestTurnsThatEndWithoutAPauseAreDelivered ends a turn every 150 ms for a minute.
func TestTurnsThatEndWithoutAPauseAreDelivered(t *testing.T) {
	const turns = 400
	b, m := newBench(t), &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "otlp", Client: m, Batch: 512})
	decoded, src := 0, d.Sources[hook.HostClaude]
	src.Decode = hooked(src.Decode, func() { decoded++ })
	d.Sources[hook.HostClaude] = src
	stored, behind := 0, 0
	next := func() { b.append(turn(fmt.Sprintf("p%d", stored))...); stored++ }
	next()
	m.before = func(context.Context, []*tracepb.ResourceSpans) error {
		behind = max(behind, stored-len(m.spans)/2)
		return nil
	}
	start := b.clock.Now()
	d.Sleep = func(ctx context.Context, pause time.Duration) error {
		err := b.clock.Sleep(ctx, pause)
		for stored < turns && b.clock.Now().Sub(start) >= time.Duration(stored)*150*time.Millisecond {
			next()
		}
		return err
	}
	if r := b.run(d, Pass{})["otlp"]; r.Runs != turns || behind > 10 {
		t.Errorf("%s, %d turns were behind; want all sent as they end", mustJSON(r), behind)
	}
	if decoded > 20*turns {
		t.Errorf("%d events decoded for %d turns of 4", decoded, turns)
	}
}
