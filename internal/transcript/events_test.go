package transcript

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/hookspan/hookspan/hook"
)

// TestEventsOfCallsAreMadeOneByOne counts the calls' events that are in memory while they are read.
func TestEventsOfCallsAreMadeOneByOne(t *testing.T) {
	const calls = 200
	begin := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	tr := &hook.Transcript{Session: "s"}
	for i := range calls {
		at := begin.Add(time.Duration(i) * time.Minute)
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: fmt.Sprint(i), Name: "Bash", Asked: at, At: at.Add(time.Second), Text: "ok"})
	}
	var made []weak.Pointer[hook.Tool]
	held := 0
	for e := range (Reader{AddEvents: func(b *EventBuilder, _ string) { b.AddTools(nil) }}).Events("", tr) {
		made = append(made, weak.Make(e.Tool))
		n, ends := len(made), len(made)%2 == 0
		if e.Tool.ID != fmt.Sprint((n-1)/2) || (e.Kind == hook.KindToolEnd) != ends || (e.Tool.Output == "ok") != ends {
			t.Fatalf("event %d is %v of call %s with %q", n, e.Kind, e.Tool.ID, e.Tool.Output)
		}
		if n < 2*calls {
			continue
		}
		runtime.GC()
		for _, tool := range made {
			if tool.Value() != nil {
				held++
			}
		}
	}
	if len(made) != 2*calls || held > 2 {
		t.Errorf("%d of %d events of calls are in memory, want at most 2 of %d", held, len(made), 2*calls)
	}
}
