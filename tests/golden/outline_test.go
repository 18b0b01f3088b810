package golden_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/testkit/otlpstub"
	"github.com/hookspan/hookspan/internal/testkit/recorded"
	"github.com/hookspan/hookspan/otelmap"
)

// outline is the form in which a person reviews a session. It shows everything that spans
// have; what is no reading for a person is in each run's digest.
func outline(t testing.TB, b *otelmap.Builder, runs []*otelmap.Run, tr *hook.Transcript) []byte {
	t.Helper()
	var out bytes.Buffer
	for i, r := range runs {
		fmt.Fprintf(&out, "run %d: %s, ", i+1, r.Outcome)
		outlineOf(t, &out, b.Spans(r, tr))
	}
	return out.Bytes()
}

func outlineOf(t testing.TB, out io.Writer, run *tracepb.ResourceSpans) {
	t.Helper()
	spans := run.GetScopeSpans()[0].GetSpans()
	root := spans[0]
	fmt.Fprintf(out, "%d spans, starts %s, digest %s\n", len(spans), otlp.Start(root).Format(time.RFC3339Nano), digest(t, run))
	fmt.Fprintf(out, "  resource%s\n", inline(run.GetResource().GetAttributes()))
	for _, l := range root.Links {
		fmt.Fprintf(out, "  follows %x\n", l.TraceId)
	}
	children(out, spans, root, "  ", otlp.Start(root))
}

// digest is of all that an outline does not show: ids and links, flags, kinds, the scope and
// counts of what was dropped.
func digest(t testing.TB, message *tracepb.ResourceSpans) string {
	t.Helper()
	rest := proto.CloneOf(message)
	rest.GetResource().Attributes = nil
	for s := range otlp.Spans([]*tracepb.ResourceSpans{rest}) {
		s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano, s.Status, s.Attributes = "", 0, 0, nil, nil
		for _, e := range s.Events {
			e.Name, e.TimeUnixNano, e.Attributes = "", 0, nil
		}
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// common are attributes that most spans have and that rarely differ. They share lines.
var common = []string{
	otelmap.KeyOperation, otelmap.KeyToolName, otelmap.KeyToolType, otelmap.KeyAgentName,
	otelmap.KeyHost, otelmap.KeyHostProvider, otelmap.KeyUser, otelmap.KeyProvider, otelmap.KeyConversationID,
}

func children(out io.Writer, spans []*tracepb.Span, s *tracepb.Span, pad string, zero time.Time) {
	ms := func(t time.Time) string { return strconv.FormatFloat(float64(t.Sub(zero))/1e6, 'f', -1, 64) }
	status := strings.TrimPrefix(s.Status.GetCode().String(), "STATUS_CODE_")
	fmt.Fprintf(out, "%s%s  [%s..%s ms] %s", pad, s.Name, ms(otlp.Start(s)), ms(otlp.End(s)), status)
	if text := s.Status.GetMessage(); text != "" {
		fmt.Fprintf(out, " %s", shown(otlp.String("", text).Value))
	}
	fmt.Fprintln(out)
	for rest := s.Attributes; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(kv *commonpb.KeyValue) bool { return !slices.Contains(common, kv.Key) })
		switch n {
		case 0:
			fmt.Fprintf(out, "%s    %s=%s\n", pad, rest[0].Key, shown(rest[0].Value))
			n = 1
		case -1:
			n = len(rest)
			fallthrough
		default:
			fmt.Fprintf(out, "%s   %s\n", pad, inline(rest[:n]))
		}
		rest = rest[n:]
	}
	for _, e := range s.Events {
		fmt.Fprintf(out, "%s    @%s %s%s\n", pad, ms(otlp.Time(e.TimeUnixNano)), e.Name, inline(e.Attributes))
	}
	kids := slices.DeleteFunc(slices.Clone(spans), func(c *tracepb.Span) bool {
		return otlp.ParentID(c) != otlp.SpanID(s)
	})
	slices.SortStableFunc(kids, func(x, y *tracepb.Span) int {
		return cmp.Compare(otlp.Start(x).UnixNano(), otlp.Start(y).UnixNano())
	})
	for _, c := range kids {
		children(out, spans, c, pad+"  ", zero)
	}
}

// inline are attributes on one line.
func inline(attributes []*commonpb.KeyValue) (out string) {
	for _, kv := range attributes {
		text := shown(kv.Value)
		if strings.ContainsRune(kv.Value.GetStringValue(), ' ') && !strings.HasPrefix(text, `"`) {
			text = rawjson.Encode(text)
		}
		out += " " + kv.Key + "=" + text
	}
	return out
}

// shown is a value by which its type is known too: a string is in quotes where it could be
// taken for another value, or has more than one line.
func shown(v *commonpb.AnyValue) string {
	switch value := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		s := value.StringValue
		object := strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[{")
		if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || json.Valid([]byte(s)) && !object {
			return rawjson.Encode(s)
		}
		return s
	case *commonpb.AnyValue_DoubleValue:
		s := strconv.FormatFloat(value.DoubleValue, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	return otlpstub.Value(v).String()
}

// TestOutlineShowsEveryDifference changes one thing of a run at a time.
func TestOutlineShowsEveryDifference(t *testing.T) {
	type spans = []*tracepb.Span
	shown := map[string]func(spans){
		"an attribute more": func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.String("new", "x")) },
		"one fewer":         func(s spans) { s[1].Attributes = s[1].Attributes[1:] },
		"one on another span": func(s spans) {
			s[2].Attributes, s[1].Attributes = append(s[2].Attributes, s[1].Attributes[0]), s[1].Attributes[1:]
		},
		"their order":            func(s spans) { slices.Reverse(s[1].Attributes) },
		"a value":                func(s spans) { s[0].Attributes[0] = otlp.String(s[0].Attributes[0].Key, "x") },
		"a text of a number":     func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.String("n", "5")) },
		"a number":               func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.Int("n", 5)) },
		"a floating-point":       func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.Float("n", 5)) },
		"a list":                 func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.Strings("n", []string{"5"})) },
		"a text of a list":       func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.String("n", `["5"]`)) },
		"a line's end":           func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.String("n", "a\nb")) },
		"a text of a line's end": func(s spans) { s[1].Attributes = append(s[1].Attributes, otlp.String("n", `a\nb`)) },
		"an event's attribute":   func(s spans) { s[0].Events[0].Attributes[0] = otlp.String("x", "y") },
		"an event's time":        func(s spans) { s[0].Events[0].TimeUnixNano++ },
		"a name":                 func(s spans) { s[1].Name = "x" },
		"a start":                func(s spans) { s[1].StartTimeUnixNano++ },
		"an end":                 func(s spans) { s[1].EndTimeUnixNano++ },
		"a status":               func(s spans) { s[1].Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK} },
		"its text":               func(s spans) { s[1].Status = &tracepb.Status{Message: "x"} },
	}
	hidden := map[string]func(spans){
		"a trace id":     func(s spans) { s[1].TraceId[0]++ },
		"a span id":      func(s spans) { s[1].SpanId[0]++ },
		"a parent":       func(s spans) { s[1].ParentSpanId = s[2].SpanId },
		"flags":          func(s spans) { s[1].Flags++ },
		"a kind":         func(s spans) { s[1].Kind++ },
		"a trace state":  func(s spans) { s[1].TraceState = "a=b" },
		"no link":        func(s spans) { s[0].Links = nil },
		"a link's span":  func(s spans) { s[0].Links[0].SpanId[0]++ },
		"a link's flags": func(s spans) { s[0].Links[0].Flags++ },
		"a lost event":   func(s spans) { s[0].DroppedEventsCount++ },
		"the order":      func(s spans) { s[1], s[2] = s[2], s[1] },
	}
	seen := make(map[string]string)
	try := func(name string, change func(spans)) string {
		run := recorded.Spans(t, "classic-session")[1]
		change(run.GetScopeSpans()[0].GetSpans())
		var out bytes.Buffer
		outlineOf(t, &out, run)
		if other, ok := seen[out.String()]; ok {
			t.Errorf("%s gives the outline of %s", name, other)
		}
		seen[out.String()] = name
		return digest(t, run)
	}
	whole := try("no change", func(spans) {})
	for name, change := range shown {
		if try(name, change) != whole {
			t.Errorf("%s changes the digest", name)
		}
	}
	for name, change := range hidden {
		if try(name, change) == whole {
			t.Errorf("%s leaves the digest as it is", name)
		}
	}
}
