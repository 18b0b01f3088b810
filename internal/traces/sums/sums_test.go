package sums

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestAttributesAreJSON(t *testing.T) {
	for _, texts := range [][]string{{}, {"a", ""}, {"", "x,y", ","}, {`"\`, "<>&", "\x00\n\x7f", "é\xff", "日本\u2028"}} {
		want, err := json.Marshal(append(texts, "more"))
		got := encode(texts, []string{"more"})
		if err != nil || got != string(want) {
			t.Errorf("%q is %s, want %s, %v", texts, got, want, err)
		}
		var pairs []string
		if err := json.Unmarshal(want, &pairs); err != nil || !slices.Equal(Series{Attributes: got}.pairs(), pairs) {
			t.Errorf("%s has %q, want %q, %v", got, Series{Attributes: got}.pairs(), pairs, err)
		}
	}
}
