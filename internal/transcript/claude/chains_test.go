package claude

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/transcript"
)

// TestResponsesOfOneMessage compares where rows belong with a search through all responses of
// their message.
func TestResponsesOfOneMessage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type known struct {
			id, request, agent string
			sidechain          bool
			call               *response
		}
		var all []*known
		var c responses
		for range rapid.IntRange(1, 30).Draw(rt, "rows") {
			id, request := rapid.SampledFrom([]string{"m", "n"}).Draw(rt, "id"), rapid.SampledFrom([]string{"", "q", "r"}).Draw(rt, "request")
			agent, side := rapid.SampledFrom([]string{"", "a"}).Draw(rt, "agent"), rapid.Bool().Draw(rt, "sidechain")
			i := slices.IndexFunc(all, func(k *known) bool {
				return k.id == id && k.agent == agent && k.sidechain == side && (k.request == request || k.request == "" || request == "")
			})
			call, fresh := c.at(id, request, agent, side)
			if fresh != (i < 0) || i >= 0 && call != all[i].call {
				rt.Fatalf("row of %s, %q: fresh is %v, want response %d", id, request, fresh, i)
			}
			switch {
			case i < 0:
				all = append(all, &known{id, request, agent, side, call})
			case all[i].request == "":
				all[i].request = request
			}
			if of := all[max(i, 0)]; i >= 0 && call.RequestID != of.request {
				rt.Fatalf("the response has request %q, want %q", call.RequestID, of.request)
			}
		}
	})
}

// TestTextOfManyRowsIsNotCopiedForEach counts the bytes that the texts of one answer take.
func TestTextOfManyRowsIsNotCopiedForEach(t *testing.T) {
	read := func(rows int) (text string, allocated uint64) {
		texts := transcript.Texts{Max: 64 << 20}
		var c response
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range rows {
			c.say(&texts, fmt.Sprintf("line %06d", i), "thought")
		}
		runtime.ReadMemStats(&after)
		return c.Text, after.TotalAlloc - before.TotalAlloc
	}
	_, few := read(1000)
	text, many := read(10_000)
	if strings.Count(text, "\n") != 9999 || !strings.HasSuffix(text, "line 009999") {
		t.Errorf("%d lines", strings.Count(text, "\n"))
	}
	if many > 20*few {
		t.Errorf("ten times the rows take %d bytes after %d", many, few)
	}
}

// TestTheLastRowsOfAResponseHaveItsCounts has a gateway that guesses the input at first.
func TestTheLastRowsOfAResponseHaveItsCounts(t *testing.T) {
	row := func(at int, stop, usage string) string {
		return crow("assistant", at, `"message":{"id":"m1","model":"glm-5","content":[{"type":"text","text":"t`+usage+`"}],"stop_reason":`+stop+`,"usage":{`+strings.ReplaceAll(usage, "'", `"`)+`}}`)
	}
	first, last := row(2, "null", "'input_tokens':900"), row(3, `"tool_use"`, "'input_tokens':700,'output_tokens':5")
	for i, rows := range [][]string{{first, last, last}, {last, first}, {first, row(3, `"end_turn"`, "'output_tokens':5"), last}} {
		got := readLines(t, append([]string{userRow("p", 1, "go")}, rows...)...)
		if u := got.Requests[0].Usage; len(got.Requests) != 1 || u == nil || u.Input != 700 || u.Output != 5 {
			t.Errorf("%d: the requests are %+v, usage %+v", i, got.Requests, u)
		}
	}
}
