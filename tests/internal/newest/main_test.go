package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestDifferencesAreNamed(t *testing.T) {
	out := fmt.Sprintf(`{"Action":"output","Test":"TestA/tools","Output":"    check.go:12: %s [cwd new_member]\n"}
{"Action":"output","Test":"TestA/tools","Output":"verify: not known: 2 rows of kind odd\n"}
{"Action":"fail","Test":"TestA/tools"}
{"Action":"output","Test":"TestB","Output":"fine\n"}
{"Action":"pass","Test":"TestB"}
`, scenario.Members)
	got, err := differ([]byte(out), map[string]bool{"cwd": true})
	want := []string{"  failed: TestA/tools\nverify: not known: 2 rows of kind odd\n", "  a new member of payloads: new_member\n"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
