package deliver

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/hookspan/hookspan/spool"
)

// growing is the number of turns of TestWorkGrowsWithTheTurns.
var growing = flag.Int("turns", 500, "turns of a session that is delivered as it grows")

// bytesRead is how much this process has read, in bytes, zero if that is not known.
func bytesRead() int64 {
	b, _ := os.ReadFile("/proc/self/io")
	if m := regexp.MustCompile(`rchar: (\d+)`).FindSubmatch(b); m != nil {
		n, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return n
	}
	return 0
}

// TestWorkGrowsWithTheTurns delivers a session after each of its turns, and in between the late
// end of a call of any turn before: the last tenth of the turns costs what the second one does.
func TestWorkGrowsWithTheTurns(t *testing.T) {
	b, store, m := newBench(t), &memory{}, &memory{}
	d := b.claudeDeliverer(nil, Destination{Name: "store", Client: store, Local: true, Batch: 512}, Destination{Name: "otlp", Client: m, Batch: 512})
	d.Map.IdleTimeout = 10000 * time.Hour
	decoded, src := 0, d.Sources["claude-code"]
	src.Decode = hooked(src.Decode, func() { decoded++ })
	d.Sources["claude-code"] = src
	var ends []spool.Record
	var k spool.Key
	var decodes, reads [10]int64
	tenth := *growing / 10
	for i := range 10 * tenth {
		recs := turn(fmt.Sprintf("p%d", i))
		ends = append(ends, recs[2])
		events, bytes := decoded, bytesRead()
		k = b.append(recs[0], recs[1], recs[3])
		b.clock.Advance(3 * time.Second)
		b.run(d, Pass{})
		if i%10 == 9 {
			b.append(ends[(i*7919)%len(ends)])
			b.clock.Advance(3 * time.Second)
			b.run(d, Pass{})
		}
		decodes[i/tenth] += int64(decoded - events)
		reads[i/tenth] += bytesRead() - bytes
		for _, p := range []*memory{store, m} { // the test's own memory
			clear(p.spans)
			clear(p.count)
		}
	}
	t.Logf("%d turns: events decoded by tenths %v, bytes read %v, log %d, index %d", *growing, decodes, reads, b.size(k), b.state(k, "otlp").Index.Size)
	if decodes[9] > decodes[1]*5/4 || reads[9] > reads[1]*2 {
		t.Errorf("the last tenth of %d turns decodes %d events and reads %d bytes, the second %d and %d", *growing, decodes[9], reads[9], decodes[1], reads[1])
	}
	if st := b.state(k, "otlp"); st.Offset != b.size(k) || len(st.Parked) != 0 {
		t.Errorf("position %s", mustJSON(st))
	}
}
