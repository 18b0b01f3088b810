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
	"github.com/hookspan/hookspan/otelmap"
)

// outline is the form in which a person reviews a session. It shows everything that spans
// have; what is no reading for a person is in each run's digest.
func outline(t testing.TB, b *otelmap.Builder, runs []*otelmap.Run, tr *hook.Transcript) []byte {
	t.Helper()
	var out bytes.Buffer
	for i, r := range runs {
		message := b.Spans(r, tr)
		spans := message.GetScopeSpans()[0].GetSpans()
		root := spans[0]
		fmt.Fprintf(&out, "run %d: %s, %d spans, starts %s, digest %s\n", i+1, r.Outcome, len(spans),
			otlp.Start(root).Format(time.RFC3339Nano), digest(t, message))
		fmt.Fprintf(&out, "  resource%s\n", inline(message.GetResource().GetAttributes()))
		for _, l := range root.Links {
			fmt.Fprintf(&out, "  follows %x\n", l.TraceId)
		}
		children(&out, spans, root, "  ", otlp.Start(root))
	}
	return out.Bytes()
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
