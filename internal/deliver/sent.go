package deliver

import (
	"encoding/binary"
	"hash/crc32"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/otlp"
)

// Sent are the spans of a run that a destination has taken while others wait. A run
// that is longer than the time of a delivery, or than what a destination takes at
// once, is sent in several deliveries.
type Sent struct {
	// To is the destination's address and account: another one gets the whole run.
	To string `json:"to,omitempty"`
	// Spans are the ids, each followed by a checksum of the span.
	Spans []byte `json:"spans"`
}

// The lengths of a span's id and of its entry in Sent.Spans, in bytes.
const (
	spanIDLen = 8
	sentLen   = spanIDLen + crc32.Size
)

// place is where a destination's spans are: the address, and the account there.
func (d *Destination) place() string {
	if d.Account == "" {
		return d.Target
	}
	return d.Target + " " + d.Account
}

// sending knows which spans of a run the destination has.
type sending struct {
	sent *Sent
	have map[[spanIDLen]byte]uint32
	buf  []byte
}

// resume returns what the destination has of a run.
func (st *State) resume(run, to string) *sending {
	s := &sending{sent: st.Sent[run], have: make(map[[spanIDLen]byte]uint32)}
	if s.sent == nil || s.sent.To != to {
		s.sent = &Sent{To: to}
	}
	for b := s.sent.Spans; len(b) >= sentLen; b = b[sentLen:] {
		s.have[[spanIDLen]byte(b)] = binary.LittleEndian.Uint32(b[spanIDLen:])
	}
	return s
}

// rest returns the spans that the destination does not have as they are now.
func (s *sending) rest(batch []*tracepb.ResourceSpans) []*tracepb.ResourceSpans {
	if len(s.have) == 0 {
		return batch
	}
	return otlp.Select(batch, func(span *tracepb.Span) bool {
		sum, known := s.have[idBytes(span)]
		return !known || sum != s.checksum(span)
	})
}

// took notes spans that the destination took.
func (s *sending) took(batch []*tracepb.ResourceSpans) {
	for span := range otlp.Spans(batch) {
		id := idBytes(span)
		s.sent.Spans = binary.LittleEndian.AppendUint32(append(s.sent.Spans, id[:]...), s.checksum(span))
	}
}

func (s *sending) checksum(span *tracepb.Span) uint32 {
	// A span that cannot be encoded is not sent, either.
	s.buf, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(s.buf[:0], span)
	return crc32.Checksum(s.buf, crc32.MakeTable(crc32.Castagnoli))
}

func idBytes(span *tracepb.Span) (id [spanIDLen]byte) {
	copy(id[:], span.GetSpanId())
	return id
}
