package deliver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
)

// TestSessionOfOtherSettingsIsNotSent has a session whose hooks ran under
// the settings of another project, which wants no texts captured.
func TestSessionOfOtherSettingsIsNotSent(t *testing.T) {
	b := newBench(t)
	recs := oneRun(t, "")
	for i := range recs {
		recs[i].Settings = "none/there"
	}
	k := b.append(recs...)
	b.clock.Advance(time.Minute)
	local, remote := &memory{}, &memory{}
	d := b.deliverer(Destination{Name: "store", Client: local, Local: true}, Destination{Name: "otlp", Client: remote})
	d.Judge = judgeAt("here")

	for _, p := range []Pass{{}, {Force: true}} {
		if r := b.run(d, p)["otlp"]; r.Elsewhere != 1 || r.Runs != 0 || r.Waiting != 0 {
			t.Errorf("%+v: %+v, want one session elsewhere", p, r)
		}
	}
	if len(remote.spans) != 0 || b.state(k, "otlp").Offset != 0 {
		t.Errorf("%d spans went to another project's collector, position %d", len(remote.spans), b.state(k, "otlp").Offset)
	}
	if len(local.spans) == 0 {
		t.Error("the local store has nothing")
	}
	for _, s := range local.spans {
		if text := fmt.Sprint(s.Attributes, s.Events); strings.Contains(text, otelmap.KeyTask) || strings.Contains(text, "hookspan.text") {
			t.Errorf("a text was captured: %s", text)
		}
	}
	if r := b.run(d, Pass{Force: true, Elsewhere: true})["otlp"]; r.Runs == 0 {
		t.Errorf("asked for: %+v", r)
	}
}

// judgeAt is the Judge of a process that sends to a place.
func judgeAt(place string) func(string) Terms {
	return func(settings string) Terms {
		capture, where, _ := strings.Cut(settings, "/")
		return Terms{Here: where == place, Capture: otelmap.Capture(capture)}
	}
}
