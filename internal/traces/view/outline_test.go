package view

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// shapeless makes a trace of spans with any parent, such as a later one, a missing one
// and themselves, and with times of which many are equal.
func shapeless(r *rand.Rand, n int) *build {
	b := newBuild(fmt.Sprint("shapeless ", n))
	for range n {
		parent := r.IntN(n+3) - 1
		from := time.Duration(r.IntN(4)) * time.Second
		switch r.IntN(5) {
		case 0:
			b.Root("task", otelmap.OutcomeCompleted, 9*time.Second)
		case 1:
			b.Chat(parent, from, from+time.Second, usageAttrs(10, 1, 5, 0.25)...)
		case 2:
			b.Add(parent, "invoke_agent sub", from, from+time.Second, str(otelmap.KeyOperation, otelmap.OpInvokeAgent), str(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, "look")))
		default:
			b.Tool(parent, "bash", `{"command":"ls"}`, from, from+time.Second)
		}
		switch r.IntN(6) {
		case 0:
			b.Fail(otelmap.ErrorTool, "no")
		case 1:
			b.Last().EndTimeUnixNano = 0
		case 2:
			b.Event(len(b.Spans), otelmap.EventHook, from, str(otelmap.KeyHookDecision, "deny"), num(otelmap.KeyHookDuration, 20))
			b.Event(len(b.Spans), otelmap.EventNotification, from, str(otelmap.KeyText, "hello"))
		case 3:
			b.Last().Attributes = append(b.Last().Attributes, num(otelmap.KeyHostDuration, 300), str(otelmap.KeyToolOutcome, otelmap.ToolOutcomeUnknown))
		}
	}
	return b
}

// TestOutlineHasTheRowsOfTheTrace compares the rows of skimmed messages with those of
// decoded ones, and checks that a row with its span is the same again.
func TestOutlineHasTheRowsOfTheTrace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // not for secrets
	builds := []*build{clineTrace(), newBuild("empty")}
	for n := range 40 {
		builds = append(builds, shapeless(r, n+1))
	}
	for _, b := range builds {
		tr := store.Trace{ResourceSpans: b.Messages()}
		tr.Model = "claude-sonnet-4-5"
		o, k := NewOutline(&tr.Summary), NewSkimmer()
		for _, s := range b.Spans {
			message, err := proto.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			skimmed, err := k.Span(message)
			if err != nil {
				t.Fatal(err)
			}
			o.Add(skimmed)
			clear(message) // The outline must not keep it.
		}
		o.Arrange()
		want := Rows(&tr)
		if o.Len() != len(want) {
			t.Fatalf("%d rows, want %d", o.Len(), len(want))
		}
		for i := range want {
			bare := o.Row(i)
			row := &bare
			if p := bare.Place(); p >= 0 {
				row = bare.With(b.Spans[p])
			}
			describe := func(r *Row) string {
				return fmt.Sprintf("%d %s %q %q %v %v #%d %v %s %v %v %q %v %v", r.Depth, r.Kind, r.Status, r.Label, r.Start, r.End, r.Number, r.Detached,
					r.SpanID(), usage(r.Usage()), r.ran, r.Event, r.Details(), r.Parts())
			}
			if d := cmp.Diff(describe(&want[i]), describe(row)); d != "" {
				t.Errorf("row %d (-want +got):\n%s", i, d)
			}
			if at := o.Find(bare.SpanID()); bare.Kind != KindEvent && bare.Kind != KindNoRoot && at != i {
				t.Errorf("the span of row %d is found at %d", i, at)
			}
			if above := o.Above(i); above >= i || above < 0 != (bare.Depth == 0) || above >= 0 && o.Row(above).Depth != bare.Depth-1 {
				t.Errorf("above row %d is %d", i, above)
			}
		}
		if at := o.Find("ffffffffffffffff"); at != -1 {
			t.Errorf("a missing span is found at %d", at)
		}
	}
}

func BenchmarkOutline(b *testing.B) {
	const n = 100_000
	made := newBuild("large")
	made.Root("task", otelmap.OutcomeCompleted, time.Hour)
	for i := range n {
		at := time.Duration(i) * time.Millisecond
		made.Tool(1, "bash", `{"command":"ls"}`, at, at+time.Millisecond)
	}
	var messages [][]byte
	for _, s := range made.Spans {
		m, err := proto.Marshal(s)
		if err != nil {
			b.Fatal(err)
		}
		messages = append(messages, m)
	}
	b.ReportAllocs()
	for b.Loop() {
		o, k := NewOutline(&store.Summary{Spans: n}), NewSkimmer()
		for _, m := range messages {
			s, err := k.Span(m)
			if err != nil {
				b.Fatal(err)
			}
			o.Add(s)
		}
		if o.Arrange(); o.Len() != n+1 {
			b.Fatal(o.Len())
		}
	}
}

// TestOutlineHasTheAnswerToAQuestion has a call that is under way, and that the user has allowed.
func TestOutlineHasTheAnswerToAQuestion(t *testing.T) {
	call := &tracepb.Span{
		SpanId: []byte("12345678"), Name: "execute_tool run", StartTimeUnixNano: 1e9,
		Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool)},
		Events:     []*tracepb.Span_Event{{Name: otelmap.EventPermission, TimeUnixNano: 2e9, Attributes: []*commonpb.KeyValue{otlp.Int(otelmap.KeyWaited, 3000)}}},
	}
	message, err := proto.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	skimmed, err := NewSkimmer().Span(message)
	if err != nil {
		t.Fatal(err)
	}
	o := NewOutline(&store.Summary{Spans: 1})
	o.Add(skimmed)
	o.Arrange()
	for i := range o.Len() {
		if row := o.Row(i); row.Event == otelmap.EventPermission {
			if waited := row.End.Sub(row.Start); waited != 3*time.Second {
				t.Errorf("the question has the answer after %v, want 3s", waited)
			}
			return
		}
	}
	t.Error("no row is the question")
}
