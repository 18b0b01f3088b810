package ui

import (
	"net/url"
	"slices"
	"testing"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestFindSeesWhatPeopleRead looks for texts that JSON writes in another way, in upper case, too, and
// for what only JSON has.
func TestFindSeesWhatPeopleRead(t *testing.T) {
	s, _ := emptyStore(t)
	k := &task{id: 0x21}
	run := k.run("codex", "s", "/w", otelmap.OutcomeCompleted, 0, 60)
	for i, call := range [][2]string{
		{`{"command":"echo \"hello there\" > out"}`, "done"},
		{`{"path":"C:\\Users\\dev\\new"}`, "{\"text\":\"na\\u00efve caf\u00e9\"}"},
		{`{"content":"one\ntwo","tags":["a","b"]}`, "<\u00e4>"},
	} {
		k.tool(run, "Tool", call[0], call[1], float64(i), float64(i)+0.5)
	}
	if err := s.UploadTraces(t.Context(), messagesOf(k)); err != nil {
		t.Fatal(err)
	}
	_, get := asks(Options{Store: s})
	for text, want := range map[string][]int{
		`"hello there"`: {1}, `ECHO "Hello`: {1}, `C:\Users\dev`: {2}, `\new`: {2}, `naïve`: {2}, `NAÏVE CAFÉ`: {2},
		"command: echo": {1}, "a, b": {3}, "ä": {3}, "two": {3}, `\u00ef`: {}, `{"command"`: {}, `\\`: {}, "tool": {1, 2, 3},
	} {
		var rows []int
		get(t, "traces/2121212121212121"+"2121212121212121/find?text="+url.QueryEscape(text), &rows)
		if !slices.Equal(rows, want) {
			t.Errorf("%s is in rows %v, want %v", text, rows, want)
		}
	}
	// What the list finds by a phrase is found here.
	page, err := s.Page(t.Context(), store.Filter{Text: `"naïve café"`})
	if err != nil || len(page.Traces) != 1 {
		t.Errorf("the list finds %d tasks, %v", len(page.Traces), err)
	}
}
