package deliver

import (
	"context"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// deadline notes how long a call may take.
type deadline struct{ most time.Duration }

func (d *deadline) UploadTraces(ctx context.Context, _ []*tracepb.ResourceSpans) error {
	end, _ := ctx.Deadline()
	d.most = time.Until(end)
	return nil
}

// TestALargeTaskHasLonger sends a task of which all spans go in one call: it may take
// longer than that of one span, unless the destination has a limit.
func TestALargeTaskHasLonger(t *testing.T) {
	large := []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: make([]*tracepb.Span, 100_000)}}}}
	for _, c := range []struct {
		name           string
		limit          time.Duration
		spans          []*tracepb.ResourceSpans
		atLeast, below time.Duration
	}{
		{"one span", 0, message(sample()), 25 * time.Second, 31 * time.Second},
		{"many spans", 0, large, 120 * time.Second, 131 * time.Second},
		{"many spans, a limit", 10 * time.Second, large, 5 * time.Second, 11 * time.Second},
	} {
		var client deadline
		if err := new(Deliverer).call(t.Context(), &Destination{Client: &client, Timeout: c.limit}, c.spans); err != nil {
			t.Fatal(err)
		}
		if client.most < c.atLeast || client.most > c.below {
			t.Errorf("%s: a call may take %v, want %v to %v", c.name, client.most, c.atLeast, c.below)
		}
	}
}
