package opencode

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// FuzzMessage reads a message with a part, of the lead agent and of a subagent.
func FuzzMessage(f *testing.F) {
	f.Add(`{"role":"user","time":{"created":1795425994560}}`, `{"type":"text","text":"go"}`)
	f.Add(`{"role":"assistant","parentID":"m","cost":0.1,"tokens":{"input":1,"cache":{"read":2}},"time":{"created":1795425994560,"completed":1795425994570},"finish":"stop"}`,
		`{"type":"tool","tool":"task","callID":"c","state":{"status":"completed","metadata":{"sessionId":"s"},"time":{"start":1795425994560,"end":1795425994561}}}`)
	f.Fuzz(func(t *testing.T, data, part string) {
		gather := func() *hook.Transcript {
			l := &log{
				Log: transcript.NewLog(1 << 10), query: transcript.Query{Full: true}, spawned: make(map[string]spawn),
				turns: make(map[string]string), turnAt: func(id string) string { return id }, t: &hook.Transcript{Session: "s"},
			}
			for _, agent := range []*hook.Subagent{{}, {ID: "a"}} {
				l.add(&message{id: "m", row: 1, data: rawjson.Members([]byte(data)), parts: []rawjson.Object{rawjson.Members([]byte(part))}}, agent)
			}
			return l.done(&transcript.Files{Now: func() time.Time { return time.Unix(1795425994, 0) }})
		}
		tr := gather()
		for _, c := range tr.Requests {
			if !c.End.IsZero() && c.End.Before(c.Start) || c.Usage != nil && (c.Usage.Input < 0 || c.Usage.Output < 0) {
				t.Fatalf("call %+v", c)
			}
		}
		for _, r := range tr.ToolResults {
			if r.Input != "" && !json.Valid([]byte(r.Input)) {
				t.Fatalf("input %q is not JSON", r.Input)
			}
		}
		reader.Events("opencode", tr)
		if diff := cmp.Diff(tr, gather()); diff != "" {
			t.Fatalf("a second time (-first +second):\n%s", diff)
		}
	})
}
