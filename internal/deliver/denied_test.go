package deliver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestRefusedSenderEndsThePass answers each request with a status that speaks of the sender.
// Two runs are set aside, the rest waits behind the position, and all are sent by themselves
// once the destination takes one.
func TestRefusedSenderEndsThePass(t *testing.T) {
	for _, code := range []int{401, 402, 403, 404, 405, 407, 410} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			answer, requests := code, 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.WriteHeader(answer)
			}))
			t.Cleanup(server.Close)
			b := newBench(t)
			dst := otlpDestination(t, "otlp", OTLP{Endpoint: server.URL})
			var taken time.Time
			denials := 0
			dst.Taken, dst.Denials = func() time.Time { return taken }, func() int { return denials }
			d := b.claudeDeliverer(nil, dst)
			d.Answered = func(_ string, err error) {
				if denials++; err == nil {
					taken, denials = b.clock.Now(), 0
				}
			}
			k := b.append(turn("p0")...)
			for n := range 9 {
				b.append(turn(fmt.Sprint("p", n+1))...)
			}
			b.clock.Advance(time.Minute)
			r := b.run(d, Pass{})["otlp"]
			if r.Parked != 2 || r.Waiting != 8 || requests != 3 {
				t.Errorf("%s after %d requests; want two rejected and the rest waiting", mustJSON(r), requests)
			}
			if st := b.state(k, "otlp"); st.LastError == "" || st.NextTry.IsZero() {
				t.Errorf("state %s, want a back-off", mustJSON(st))
			}
			for range 5 {
				b.clock.Advance(time.Hour)
				b.run(d, Pass{})
			}
			if n := len(b.state(k, "otlp").Parked); n != 2 || requests != 8 {
				t.Errorf("%d set aside after %d requests, want one request a pass", n, requests)
			}
			answer = 200
			for range 3 {
				b.clock.Advance(time.Hour)
				r = b.run(d, Pass{})["otlp"]
			}
			if st := b.state(k, "otlp"); st.Runs != 10 || len(st.Parked) != 0 || st.Offset != b.size(k) {
				t.Errorf("%s, state %s; want all sent", mustJSON(r), mustJSON(st))
			}
		})
	}
}
