package sums

import (
	"encoding/json"
	"testing"
)

func TestAttributesAreJSON(t *testing.T) {
	for _, texts := range [][]string{{}, {"a", ""}, {`"\`, "<>&", "\x00\n\x7f", "é\xff", "日本\u2028"}} {
		want, err := json.Marshal(append(texts, "more"))
		if got := encode(texts, []string{"more"}); err != nil || got != string(want) {
			t.Errorf("%q is %s, want %s, %v", texts, got, want, err)
		}
	}
}
