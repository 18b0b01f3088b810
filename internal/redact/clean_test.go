package redact

import (
	"fmt"
	"strings"
	"testing"
)

// TestCleanTextsAreNotScannedAgain checks that only texts in which redaction changes
// nothing are remembered, and that what is cut from them is looked at again.
func TestCleanTextsAreNotScannedAgain(t *testing.T) {
	r := New(nil)
	knows := func(s string) bool { return r.clean.has(r.clean.hash(s)) }
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	for _, s := range []string{"plain", key, "name " + key + " end", "gh" + "p_aB3daB3daB3d", "é\xff"} {
		clean := r.Tail(s)
		if !knows(clean) {
			t.Errorf("%q: the result %q is not remembered", s, clean)
		}
		if s != clean && knows(s) {
			t.Errorf("%q is remembered, and is %q without secrets", s, clean)
		}
		r.String(s + " whole")
		if knows(s + " whole") {
			t.Errorf("%q is remembered, but was taken for complete", s+" whole")
		}
	}
	whole := strings.Repeat("plain ", 50)
	if r.Preview(whole, 200); knows(whole) {
		t.Error("a text of which only the beginning is kept is remembered")
	}
	if r.Preview(whole, 300); !knows(whole) {
		t.Error("a preview that is the whole text is not remembered")
	}
	// The newest texts are remembered, however many there are.
	for n := range 2 * cleanSize {
		r.Tail(fmt.Sprint(n))
	}
	kept := 0
	for n := range 2 * cleanSize {
		if knows(fmt.Sprint(n)) {
			kept++
		}
	}
	if !knows(fmt.Sprint(2*cleanSize-1)) || kept < cleanSize/2 || kept > cleanSize {
		t.Errorf("%d of %d texts are remembered, and the newest one: %t", kept, 2*cleanSize, knows(fmt.Sprint(2*cleanSize-1)))
	}
}
