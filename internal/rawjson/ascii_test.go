package rawjson

import (
	"encoding/json"
	"testing"
)

func TestASCIIKeepsTheText(t *testing.T) {
	const text = "a\u00adb\U0001f600\u202e\\\"\x1bz"
	b, _ := json.Marshal(text)
	got := ASCII(b)
	for _, c := range got {
		if c >= 0x80 {
			t.Fatalf("%q", got)
		}
	}
	var back string
	if err := json.Unmarshal(got, &back); err != nil || back != text {
		t.Errorf("%q, %v", back, err)
	}
}
