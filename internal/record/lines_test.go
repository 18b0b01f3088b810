package record

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// lineAgent is an agent that writes its events as lines.
func lineAgent() Agent {
	return Agent{
		Facts: hook.Agent{Host: "liner", Program: "claude-hook"},
		Peek: func(payload []byte, event string) hook.Head {
			o := rawjson.Members(payload)
			kind := map[string]hook.Kind{"prompt": hook.KindPrompt, "end": hook.KindRunComplete}[o.Text("type")]
			return hook.Head{Session: o.Text("s"), Name: o.Text("type"), Kind: kind, RunEnds: kind.Terminal()}
		},
		StreamEnded: func(session string) []byte { return []byte(`{"s":"` + session + `","type":"gone"}`) },
	}
}

// TestLinesAreEvents stores each line in order, a long one cut and a torn one as it is,
// and adds the end of the sessions that are in the middle of a run.
func TestLinesAreEvents(t *testing.T) {
	long := `{"s":"a","type":"tool","text":"` + strings.Repeat("x", 3<<20) + `"}`
	lines := `{"s":"a","type":"prompt"}` + "\n" + long + "\n" + `{"s":"b","type":"prompt"}` + "\n" +
		`{"s":"a","type":"end"}` + "\n" + `{"s":"a","type":"late"}` + "\n" + `{"s":"b","ty`
	for name, in := range map[string]io.Reader{
		"at once":      strings.NewReader(lines),
		"byte by byte": iotest.OneByteReader(strings.NewReader(lines)),
		"then broken":  io.MultiReader(strings.NewReader(lines), iotest.ErrReader(io.ErrUnexpectedEOF)),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.Agent, c.Event, c.Stdin = lineAgent(), "", in
			c.runLines()
			var got []string
			for _, rec := range c.records() {
				kind := rec.Event
				if rec.Raw {
					kind = "raw " + string(rec.Payload)
				}
				if rec.Cut > 0 {
					kind += " cut"
				}
				got = append(got, rec.Session+" "+kind)
			}
			slices.SortStableFunc(got, func(x, y string) int { return cmp.Compare(x[:1], y[:1]) }) // the order within a session counts
			want := []string{` raw {"s":"b","ty`, "a prompt", "a tool cut", "a end", "a late", "b prompt", "b gone"}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if len(c.spawned) == 0 || c.stdout.Len() > 0 {
				t.Errorf("started %q, answered %q", c.spawned, &c.stdout)
			}
		})
	}
}
