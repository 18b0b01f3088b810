package deliver

import (
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
)

// recalling is a Memory that knows one secret by its name.
type recalling struct {
	at    int64
	found []int64
}

func (m *recalling) At(offset int64) { m.at = offset }

func (m *recalling) Clean(text string, _ int) string {
	if strings.Contains(text, "key=s3cret") {
		m.found = append(m.found, m.at)
	}
	return strings.ReplaceAll(text, "key=s3cret", "key=***")
}

func (m *recalling) Redact(spans *tracepb.ResourceSpans, belongs func(int64) bool) *tracepb.ResourceSpans {
	for _, at := range m.found {
		if belongs(at) {
			out := &tracepb.ResourceSpans{}
			b, _ := protojson.Marshal(proto.CloneOf(spans))
			_ = protojson.Unmarshal([]byte(strings.ReplaceAll(string(b), "s3cret", "***")), out)
			return out
		}
	}
	return spans
}

// TestSecretOfTheFilesIsRemembered has a secret with its name in the agent's files, and
// without it in an event of the same run, which is sent at once or in batches.
func TestSecretOfTheFilesIsRemembered(t *testing.T) {
	for name, window := range map[string]int64{"at once": 0, "in batches": 100} {
		b, m := newBench(t), &memory{}
		files := &hook.Transcript{}
		d := b.claudeDeliverer(func(Facts) *hook.Transcript { return files }, Destination{Name: "otlp", Client: m, Batch: 512})
		d.Memory = func([]string) (Memory, error) { return &recalling{}, nil }
		d.Window = window
		recs := turn("p1")
		recs[2].Payload = []byte(strings.Replace(string(recs[2].Payload), `"ok"`, `"s3cret"`, 1))
		b.append(recs...)
		now := b.clock.Now()
		files.Requests = []hook.Request{{Turn: "p1", ID: "m1", Start: now, End: now, Text: "with key=s3cret"}}
		b.clock.Advance(time.Minute)
		b.append(turn("p2")...)
		b.append(turn("p3")...)
		b.clock.Advance(time.Minute)
		b.run(d, Pass{})
		if len(m.spans) == 0 {
			t.Errorf("%s: nothing was sent", name)
		}
		cleaned := false
		for _, s := range m.spans {
			text := protojson.Format(s)
			if strings.Contains(text, "s3cret") {
				t.Errorf("%s: %s", name, text)
			}
			cleaned = cleaned || strings.Contains(text, "key=***")
		}
		if !cleaned {
			t.Errorf("%s: the files' text was not sent", name)
		}
	}
}
